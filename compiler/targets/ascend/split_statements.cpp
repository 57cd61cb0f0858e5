// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/split_statements.h"

#include "compiler/ir/index_growth.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// What a value is computed from in its block, from `op` on backwards.
template <typename Visit> void forEachSource(Operation* op, Visit visit) {
  SmallVector<Operation*> work = {op};
  DenseSet<Operation*> seen;
  while (!work.empty()) {
    Operation* next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    visit(next);
    for (Operation* source : llvm::map_range(next->getOperands(),
                                             [](Value operand) { return operand.getDefiningOp(); }))
      if (source && source->getBlock() == op->getBlock())
        work.push_back(source);
  }
}

/// The nest's variables that an index tells: of different ones, the index is another.
SmallVector<Value> toldBy(Value index, tile::ParallelOp nest) {
  struct Growth {
    int64_t by, extent;
    Value variable;
  };
  SmallVector<Growth> growths;
  for (auto [variable, extent] : llvm::zip(nest.getInductionVars(), nest.getMixedExtents())) {
    const std::optional<int64_t> by = tile::growthWith(index, variable);
    if (!by)
      return {};
    if (*by != 0)
      growths.push_back({std::abs(*by), getConstantIntValue(extent).value_or(0), variable});
  }
  if (growths.size() == 1)
    return {growths.front().variable};
  llvm::sort(growths, [](const Growth& a, const Growth& b) { return a.by < b.by; });
  int64_t reach = 0;
  for (const Growth& growth : growths) {
    if (growth.by <= reach || growth.extent == 0)
      return {};
    reach += growth.by * (growth.extent - 1);
  }
  return llvm::map_to_vector(growths, [](const Growth& growth) { return growth.variable; });
}

/// Whether an element that the store has written holds what its own iteration has stored, also once all iterations have
/// run: each has an element of its own, or all that share one store the same.
bool keepsItsOwn(tile::StoreOp store, tile::ParallelOp nest) {
  DenseSet<Value> told;
  for (Value index : store.getIndices())
    told.insert_range(toldBy(index, nest));
  DenseSet<Value> shared;
  for (auto [variable, extent] : llvm::zip(nest.getInductionVars(), nest.getMixedExtents()))
    if (!told.contains(variable) && getConstantIntValue(extent) != 1)
      shared.insert(variable);
  if (shared.empty())
    return true;
  const Value storage = npu::storageOf(store.getBuffer());
  bool isSame = !shared.contains(store.getValue());
  Operation* value = store.getValue().getDefiningOp();
  if (value && nest->isAncestor(value))
    forEachSource(value, [&](Operation* op) {
      isSame &=
          !npu::usesStorage(op, storage) &&
          llvm::none_of(op->getOperands(), [&](Value operand) { return shared.contains(operand); });
    });
  return isSame;
}

/// Whether a store by itself would find other numbers in what earlier stores of the body write: those from before
/// them, or other iterations'.
bool readsWhatChanges(tile::StoreOp store, ArrayRef<tile::StoreOp> earlier, tile::ParallelOp nest) {
  bool changes = false;
  forEachSource(store, [&](Operation* op) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      for (tile::StoreOp other : earlier)
        changes |= npu::storageOf(load.getBuffer()) == npu::storageOf(other.getBuffer()) &&
                   (load->isBeforeInBlock(other) || !keepsItsOwn(other, nest));
  });
  return changes;
}

} // namespace

SmallVector<tile::ParallelOp> splitStatements(tile::ParallelOp nest) {
  SmallVector<tile::StoreOp> stores;
  for (Operation& op : nest.getBodyBlock()->without_terminator()) {
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (readsWhatChanges(store, stores, nest))
        return {};
      stores.push_back(store);
    } else if (op.getNumRegions() != 0 || !(isPure(&op) || isa<tile::LoadOp>(op))) {
      return {};
    }
  }
  if (stores.size() < 2)
    return {};
  SmallVector<tile::ParallelOp> parts;
  OpBuilder builder(nest);
  for (size_t kept = 0; kept < stores.size(); ++kept) {
    auto part = cast<tile::ParallelOp>(builder.clone(*nest));
    SmallVector<Operation*> body;
    for (Operation& op : part.getBodyBlock()->without_terminator())
      body.push_back(&op);
    size_t number = stores.size();
    for (Operation* op : llvm::reverse(body))
      if (isa<tile::StoreOp>(op) ? --number != kept : op->use_empty())
        op->erase();
    parts.push_back(part);
  }
  nest.erase();
  return parts;
}

} // namespace tilewright::ascend
