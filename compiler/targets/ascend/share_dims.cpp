// SPDX-License-Identifier: Apache-2.0
/// ShareDims: a dim of a tensor that is one of the kernel's symbols is that symbol.
///
///   func.func @k(%A: !tile.buffer<?xf32, global> {tile.shape = (m)}, %B: (the same), %m: index {tile.symbol = "m"})
///     %a = tile.dim %A, 0
///     %rows = arith.minsi %a, %c16 : index
///     %b = tile.dim %B, 0
///     %others = arith.minsi %b, %c16 : index
/// becomes
///     %rows = arith.minsi %m, %c16 : index
///     %others = arith.minsi %m, %c16 : index
///
/// and the CSE that it stands before takes the second one away: rows that go in and out again are counted once.
#include "compiler/ir/index_ranges.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;

struct ShareDims : KernelPass<ShareDims> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShareDims)
  static constexpr llvm::StringLiteral kArgument = "ascend-share-dims";
  static constexpr llvm::StringLiteral kDescription = "dims of tensors are the kernel's symbols";

  void runOnOperation() override {
    getOperation().walk([](tile::DimOp dim) {
      const Value symbol = IndexRanges::symbolOf(dim.getBuffer(), dim.getDim());
      if (!symbol || symbol.getType() != dim.getType())
        return;
      dim.replaceAllUsesWith(symbol);
      dim.erase();
    });
  }
};

} // namespace

std::unique_ptr<Pass> createShareDims() {
  return std::make_unique<ShareDims>();
}

} // namespace tilewright::ascend
