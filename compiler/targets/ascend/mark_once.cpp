// SPDX-License-Identifier: Apache-2.0
/// MarkOnce: marks what a block of two vector cores does once, though both come there:
/// the work on tiles of gemms, of which a block has one.
///
///   tile.gemm %a, %a into %c
///   tile.atomic_tile add %c into %Z                      ->  ... {ascend.once}
///   tile.parallel (%i, %j) in [64, 64] { .. tile.atomic add %Z[%i, %j], tile.load %c[%i, %j] }   ->  ... {ascend.once}
///   tile.atomic_tile add %x into %Z                          // of a tile in UB, which both have: twice
///   tile.copy %x to %a                                       ->  ... {ascend.once}    // to a gemm's operand
///
/// block_cores.h says what that is. In T.Scope("V") each vector core does what stands there. It stands before what
/// gives nests tiles in UB and gemms' tiles twins there; what each core does with those, GuardOnce decides.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/tile_addresses.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;

bool happensOnce(Operation* op) {
  const npu::Touched touched = npu::touchedBy(op);
  const bool handsOver = isa<tile::CopyOp>(op) && touched.ofVectors && touched.writesCube;
  return (touched.writesGlobal || handsOver) && touched.ofCube &&
         npu::doerOf(op) != npu::Doer::EachVector;
}

struct MarkOnce : KernelPass<MarkOnce> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkOnce)
  static constexpr llvm::StringLiteral kArgument = "ascend-mark-once";
  static constexpr llvm::StringLiteral kDescription =
      "mark what a block of two vector cores does once to global memory";

  void runOnOperation() override {
    getOperation().walk<WalkOrder::PreOrder>([](Operation* op) {
      auto launch = dyn_cast<tile::LaunchOp>(op);
      if (isa<ScopeOp>(op) || (launch && !mayHaveTwoVectors(launch)))
        return WalkResult::skip();
      if (!isa<tile::CopyOp, tile::AtomicTileOp, tile::ParallelOp>(op))
        return WalkResult::advance();
      if (happensOnce(op))
        op->setAttr(kOnceAttr, UnitAttr::get(op->getContext()));
      return WalkResult::skip();
    });
  }
};

} // namespace

std::unique_ptr<Pass> createMarkOnce() {
  return std::make_unique<MarkOnce>();
}

} // namespace tilewright::ascend
