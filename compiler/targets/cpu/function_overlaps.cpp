// SPDX-License-Identifier: Apache-2.0
/// A function of T.tile whose destination may overlap an operand in part writes when all is read.
///
///   tile.parallel (%i) in [16] attributes {function = "exp"} {    // T.tile.exp(t[n:n + 16], t[0:16])
///     %x = tile.load %t[%i]
///     %y = math.exp %x
///     tile.store %y, %t[%i + %n]
///   }
/// becomes
///   %moved = tile.alloc : !tile.buffer<16xf32, shared>
///   tile.parallel (%i) in [16] attributes {function = "exp"} { ... tile.store %y, %moved[%i] }
///   tile.parallel (%i) in [16] { %y = tile.load %moved[%i]; tile.store %y, %t[%i + %n] }
///
/// What is known to overlap in part was refused (check_kernel.cpp), as on Ascend; what is known to be the same or apart
/// stays. It stands beside PartOverlaps, which does so for copies, behind all passes that tell threads apart.
#include "compiler/targets/cpu/function_overlaps.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferType;

std::optional<SmallVector<int64_t>> denseStrides(BufferType type) {
  if (type.isGlobal() || !type.hasStaticShape())
    return std::nullopt;
  SmallVector<int64_t> strides(size_t(type.getRank()), 1);
  for (int64_t dim = type.getRank() - 1; dim-- > 0;)
    strides[size_t(dim)] = strides[size_t(dim) + 1] * type.getShape()[size_t(dim) + 1];
  return strides;
}

namespace {

bool mayMeetInPart(tile::StoreOp store, tile::ParallelOp nest) {
  bool found = false;
  nest.walk([&](tile::LoadOp load) {
    const OperandOverlap overlap = compareOperands(store, load, nest, denseStrides);
    found |= overlap == OperandOverlap::InPart || overlap == OperandOverlap::Unknown;
  });
  return found;
}

/// A tile with an element for each iteration; as many as the target's longest dim has where their number isn't known.
Value tileForResults(ImplicitLocOpBuilder& builder, tile::ParallelOp nest, BufferType target) {
  SmallVector<int64_t> shape;
  for (OpFoldResult extent : nest.getMixedExtents())
    shape.push_back(getConstantIntValue(extent).value_or(*llvm::max_element(target.getShape())));
  const auto type = BufferType::get(shape, target.getElementType(), tile::MemorySpace::Shared);
  return tile::AllocOp::create(builder, type, builder.getStringAttr("moved"), IntegerAttr());
}

void eraseUnused(Block& body) {
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && (isOpTriviallyDead(&op) || isa<tile::LoadOp>(op)))
      op.erase();
}

void writeBehind(tile::StoreOp store, tile::ParallelOp nest) {
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  const Value moved = tileForResults(builder, nest, cast<BufferType>(store.getBuffer().getType()));
  builder.setInsertionPointAfter(nest);
  IRMapping copies;
  auto second = cast<tile::ParallelOp>(builder.clone(*nest, copies));
  second->removeAttr("function");
  auto later = cast<tile::StoreOp>(copies.lookup(store.getOperation()));
  builder.setInsertionPoint(later);
  auto value = tile::LoadOp::create(builder, store.getValue().getType(), moved,
                                    second.getInductionVars(), /*in_bounds=*/false);
  later.getValueMutable().assign(value.getValue());
  eraseUnused(*second.getBodyBlock());
  builder.setInsertionPoint(store);
  tile::StoreOp::create(builder, store.getValue(), moved, nest.getInductionVars(),
                        /*in_bounds=*/false);
  store.erase();
}

struct FunctionOverlaps : KernelPass<FunctionOverlaps> {
  static constexpr llvm::StringLiteral kArgument = "cpu-function-overlaps";
  static constexpr llvm::StringLiteral kDescription =
      "Functions of T.tile whose destination may overlap an operand write when all is read";

  void runOnOperation() override {
    SmallVector<std::pair<tile::StoreOp, tile::ParallelOp>> work;
    getOperation().walk([&](tile::ParallelOp nest) {
      if (!nest->hasAttr("function"))
        return;
      for (auto store : nest.getBodyBlock()->getOps<tile::StoreOp>()) // one: its result's
        if (mayMeetInPart(store, nest))
          work.emplace_back(store, nest);
    });
    for (auto [store, nest] : work)
      writeBehind(store, nest);
  }
};

} // namespace

std::unique_ptr<Pass> createFunctionOverlaps() {
  return std::make_unique<FunctionOverlaps>();
}

} // namespace tilewright::cpu
