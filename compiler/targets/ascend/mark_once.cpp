// SPDX-License-Identifier: Apache-2.0
/// MarkOnce: marks what a block of two vector cores does once to global memory, though both come there:
/// the work on tiles of gemms, of which a block has one.
///
///   tile.gemm %a, %a into %c
///   tile.atomic_tile add %c into %Z                      ->  ... {ascend.once}
///   tile.parallel (%i, %j) in [64, 64] { .. tile.atomic add %Z[%i, %j], tile.load %c[%i, %j] }   ->  ... {ascend.once}
///   tile.atomic_tile add %x into %Z                          // of a tile in UB, which both have: twice
///
/// In T.Scope("V") each vector core does what stands there. It stands before what gives nests tiles in UB and
/// gemms' tiles twins there; what each core does with those, GuardOnce decides.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/tile_addresses.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

/// Whether a buffer on chip is the cube core's: in one of its memories, or a tile of gemms.
bool isOfCube(Value buffer) {
  const Value storage = npu::storageOf(buffer);
  const MemorySpace space = cast<BufferType>(storage.getType()).getSpace();
  if (space != MemorySpace::Shared && space != MemorySpace::Fragment)
    return space != MemorySpace::UB;
  return llvm::any_of(npu::usersOf(storage), [](Operation* user) {
    auto copy = dyn_cast<tile::CopyOp>(user);
    return isa<tile::GemmOp>(user) || (copy && isL0(copy.getTarget()));
  });
}

/// What an operation and those in it do to tiles.
struct Touched {
  bool ofVectors = false, ofCube = false, writesCube = false, writesGlobal = false;
};

Touched touchedBy(Operation* op) {
  Touched touched;
  op->walk([&](Operation* inner) {
    auto interface = dyn_cast<MemoryEffectOpInterface>(inner);
    if (!interface || isa<tile::ParallelOp>(inner))
      return;
    for (Value operand : inner->getOperands()) {
      const auto type = dyn_cast<BufferType>(operand.getType());
      if (!type || type.isPerThread())
        continue;
      SmallVector<MemoryEffects::EffectInstance> effects;
      interface.getEffectsOnValue(operand, effects);
      const bool isWritten = llvm::any_of(effects, [](const MemoryEffects::EffectInstance& effect) {
        return isa<MemoryEffects::Write>(effect.getEffect());
      });
      if (type.isGlobal()) {
        touched.writesGlobal |= isWritten;
      } else if (isOfCube(operand)) {
        touched.ofCube = true;
        touched.writesCube |= isWritten;
      } else {
        touched.ofVectors = true;
      }
    }
  });
  return touched;
}

/// As the interpreter shares work out: both vector cores do what touches their own tiles, but for what they
/// would both do to a tile of gemms.
bool happensOnce(Operation* op) {
  const Touched touched = touchedBy(op);
  return touched.writesGlobal && touched.ofCube &&
         (!touched.ofVectors || (touched.writesCube && !isa<tile::CopyOp>(op)));
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
