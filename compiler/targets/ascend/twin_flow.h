// SPDX-License-Identifier: Apache-2.0
/// Which of two twins holds what a kernel has computed last: a tile that gemms write in L0C, or its twin in
/// UB, which vector instructions use. Followed for each part of the tile, on all ways through the kernel.
///
///   tile.for %p = %c0 to %c2 step %c1 {
///     tile.gemm ... into %c[%p, 0, 0] [1, 64, 64] {clear_accum}   // part %p: the tile is newer
///     tile.copy %c[%p, 0, 0] [1, 64, 64] to %c_ub[%p, 0, 0] ...    // part %p: both are the same
///     tile.parallel ... { tile.store ... %c_ub[%p, %i, %j] }       // part %p: the twin is newer
///   }
///
/// A loop of few turns is followed turn by turn where its number matters (so parts 0 and 1 are told apart
/// here), any other one by its first turn and by what is the same in all others. Ways on which a condition
/// that loops don't change holds are kept apart from those on which it doesn't. Exits (`break`, `continue`)
/// carry what is known to where they lead.
#pragma once

#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// What an operation does to a part of the twin.
struct TwinUse {
  mlir::Operation* op = nullptr;
  tile::BufferRegion region; ///< of the tile
  bool isReader = false;     ///< that writes nothing for sure
  bool overwrites = false;   ///< all of the region, and reads nothing of the tile
};

/// All uses of a tile, in text order.
struct TwinUses {
  mlir::Value tile;
  llvm::SmallVector<tile::GemmOp> gemms;
  llvm::SmallVector<TwinUse> others; ///< of the twin
};

/// A copy of a part of the tile to the twin.
struct TwinCopy {
  mlir::Operation* before = nullptr; ///< where it stands
  tile::BufferRegion region;
  tile::GemmOp gemm; ///< the copy stands right behind it and takes what it writes; or null
  tile::ForOp
      ifRuns; ///< the copy stands right behind it and is left out if it runs no turn; or null
};

struct TwinPlan {
  llvm::SmallVector<TwinCopy> copies;
  /// They clear the tile as they clear the twin.
  llvm::DenseSet<mlir::Operation*> clears;
};

struct TwinVerdict {
  /// Every use of the twin finds what the gemms before it have computed, no copy undoes what vector
  /// instructions have written, and none takes what nothing has written.
  bool isRight = true;
  /// The first one that may add to what vector instructions have written; or null.
  tile::GemmOp conflict;
};

TwinVerdict followTwins(mlir::func::FuncOp kernel, const TwinUses& uses, const TwinPlan& plan);

/// Whether `op` uses the twin or holds something that does.
bool holdsTwinUses(const TwinUses& uses, mlir::Operation* op);

} // namespace tilewright::ascend
