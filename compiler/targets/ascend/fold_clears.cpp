// SPDX-License-Identifier: Apache-2.0
/// FoldClears: a tile that is cleared before a gemm adds to it is cleared by the gemm itself.
///
///   tile.fill %c with %zero
///   tile.for %k = %c0 to %n step %c1 { tile.gemm %a, %b into %c }
/// becomes
///   tile.for %k = %c0 to %n step %c1 {
///     %first = arith.cmpi eq, %k, %c0
///     tile.gemm %a, %b into %c clear(%first)
///   }
///
/// Nothing but the cube unit writes L0C. Where it isn't proven that a gemm follows (it may be skipped, or
/// a loop may run no turn, as one that counts to an argument, a block's number or a dynamic dim), a
/// product of zeros clears the tile instead:
///
///   %zeros = tile.alloc "zeros" : !tile.buffer<64x16xf16, L1>    // filled with 0 once
///   tile.gemm %zeros, %zeros into %c {clear_accum, transpose_b}
///
/// The same for a part of a tile. It stands before the placing of buffers: a fill would make it a tile of the vector cores.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/clear_conditions.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/tile_addresses.h"
#include "compiler/targets/ascend/zero_products.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;

struct FoldClears : KernelPass<FoldClears> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldClears)
  static constexpr llvm::StringLiteral kArgument = "ascend-fold-clears";
  static constexpr llvm::StringLiteral kDescription = "let gemms clear the tiles that they add to";

  void runOnOperation() override {
    zeroProducts = {};
    SmallVector<tile::FillOp> fills;
    getOperation().walk([&](tile::FillOp fill) {
      // What only one vector core clears is no clear of the cube core's, which has no vid.
      if (isZero(fill.getValue()) && (fill->getParentOfType<ScopeOp>() || !npu::asksVid(fill)))
        fills.push_back(fill);
    });
    for (tile::FillOp fill : fills)
      fold(fill);
  }

  void fold(tile::FillOp fill) {
    if (!foldIntoGemm(getOperation(), fill))
      multiplyZeros(fill, usersInOrder(getOperation(), fill.getTarget()));
  }

  /// Of a tile that only gemms write: others are not in L0C.
  void multiplyZeros(tile::FillOp fill, ArrayRef<Operation*> users) {
    const Value target = fill.getTarget();
    tile::GemmOp gemm;
    for (Operation* user : users) {
      auto copy = dyn_cast<tile::CopyOp>(user);
      auto multiply = dyn_cast<tile::GemmOp>(user);
      if (multiply && multiply.getC() == target)
        gemm = multiply;
      else if (!isa<tile::FillOp>(user) && !(copy && copy.getTarget() != target))
        return;
    }
    if (!gemm || !ZeroProducts::canClear(fill))
      return;
    zeroProducts.clear(fill, target, gemm.getA().getType().getElementType());
    fill.erase();
  }

  ZeroProducts zeroProducts;
};

} // namespace

std::unique_ptr<Pass> createFoldClears() {
  return std::make_unique<FoldClears>();
}

} // namespace tilewright::ascend
