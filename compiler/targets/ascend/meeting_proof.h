// SPDX-License-Identifier: Apache-2.0
/// Whether two statements can touch the same elements of a tensor, or of a tile, in one turn of the loops around both, in two
/// turns of one of these, or on the two vector cores of a block, by all that the kernel computes their places from: what a
/// guard leaves lies in parts beside each other, of which often only one has any element, and what lies behind the first
/// rows of a tile is filled. What the analyses know of an access (its least and greatest numbers) can't tell.
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/npu_access.h"
#include "compiler/targets/ascend/integer_choices.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <optional>

namespace tilewright::ascend {

class MeetingProof {
public:
  /// An access, and the instruction that it is one of.
  struct Use {
    mlir::Operation* op;
    const npu::Access& access;
  };
  /// When two statements run, of the loops around both: in the same turn of the outermost ones, as many as `same` says, and
  /// in two turns of the next one, if there is one more.
  struct Turns {
    llvm::ArrayRef<mlir::Operation*> loops;
    size_t same = 0;
  };

  /// More pairs, or steps for one of them, take longer than flags are worth.
  struct Limits {
    unsigned asked = 200, steps = 400;
  };

  explicit MeetingProof(mlir::func::FuncOp kernel) : MeetingProof(kernel, Limits()) {}
  MeetingProof(mlir::func::FuncOp kernel, Limits limits);

  /// Whether numbers decide if, or where, an access happens: else there is nothing to prove here.
  static bool isDecidedByNumbers(mlir::Operation* op, const npu::Access& access);
  /// Whether anything is known of which elements of a tile an access takes.
  static bool isFollowedOnChip(mlir::Operation* op, const npu::Access& access);
  /// Whether a statement is never reached by a kernel whose parts lie within their tiles.
  bool neverRuns(mlir::Operation* op, llvm::ArrayRef<npu::Access> accesses);
  /// Whether two accesses of one tensor, or of one tile, never meet. False also where that isn't known.
  bool areApart(Use earlier, Use later, Turns turns, bool areOfOneCore);
  /// Whether vector core `vid` and the other one of its block never meet in `op` and `other`, in whatever turns.
  bool areApartOnVectors(int64_t vid, mlir::Operation* op, const npu::Access& access,
                         mlir::Operation* other, const npu::Access& itsAccess);

private:
  IndexRanges ranges;
  Limits left;
};

} // namespace tilewright::ascend
