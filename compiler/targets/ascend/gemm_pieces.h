// SPDX-License-Identifier: Apache-2.0
/// A gemm of tiles in L1, as loads to L0A and L0B and multiplications: of a step of k, and of parts of the result.
#pragma once

#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/gemm_rooms.h"
#include "compiler/targets/ascend/run_time_extents.h"
#include "compiler/targets/ascend/tile_addresses.h"

namespace tilewright::ascend {

/// The sizes of one gemm, and how k is cut: into steps of which two fit into L0.
struct GemmShape {
  RunTimeExtent m, n, k;
  int64_t c0 = 0;             ///< elements of a block
  int64_t step = 0;           ///< of k; 0: not even 16 of it fit
  bool isInColumns = false;   ///< whether 16 columns of the result are made at a time
  bool hasLowColumns = false; ///< whether they lie as high as m asks for, not as c's tile is

  static GemmShape of(tile::GemmOp gemm, const GemmRooms& rooms);

  bool isKnown() const {
    return m.isKnown() && n.isKnown() && k.isKnown();
  }
  int64_t steps() const {
    return int64_t(llvm::divideCeil(k.most, step));
  }
};

class GemmPieces {
public:
  GemmPieces(tile::GemmOp gemm, mlir::ImplicitLocOpBuilder& builder, const GemmShape& shape,
             const GemmRooms& rooms)
      : gemm(gemm), builder(builder), make(builder), shape(shape), rooms(rooms),
        a(gemm.getARegion()), b(gemm.getBRegion()), c(gemm.getCRegion()) {}

  /// The operands' parts of a step go to the part of L0 that the turn has.
  void load(int64_t step, int64_t turn, mlir::Value l0a, mlir::Value l0b);
  /// What was loaded is multiplied.
  void multiply(int64_t step, int64_t turn, mlir::Value l0a, mlir::Value l0b, mlir::Value init);

private:
  /// Some of m, n or k.
  struct Stretch {
    mlir::OpFoldResult first;
    RunTimeExtent size;
  };

  Stretch stretchOfK(int64_t step) const;
  void forEachPart(llvm::function_ref<void(const Stretch&)> make);
  void loadOperand(const tile::BufferRegion& region, bool isTransposed, mlir::Value l0,
                   mlir::OpFoldResult at, const Stretch& ofK, const Stretch& ofResult);
  mlir::OpFoldResult startInB(const Stretch& part, const Stretch& ofK, int64_t turn) const;
  int64_t startInA(int64_t turn) const;
  bool isInPairs(const RunTimeExtent& depth);
  bool comesInSquares();
  mlir::OpFoldResult offsetOfResult(mlir::OpFoldResult firstColumn);

  tile::GemmOp gemm;
  mlir::ImplicitLocOpBuilder& builder;
  IndexMaker make;
  const GemmShape& shape;
  const GemmRooms& rooms;
  tile::BufferRegion a, b, c;
};

/// Rows of k are transposed in squares.
int64_t rowUnitOf(tile::BufferType operand);

/// The kernel ends where a gemm that clears what it writes would multiply nothing, and leave it as it is.
void requireDepth(mlir::ImplicitLocOpBuilder& builder, tile::GemmOp gemm, const RunTimeExtent& k,
                  llvm::StringRef name);

} // namespace tilewright::ascend
