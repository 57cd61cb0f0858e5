// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/one_array.h"

#include "compiler/ir/address_attribute.h"
#include "compiler/ir/region_overlap.h"
#include "compiler/ir/tile.h"
#include "compiler/passes/analysis/iteration_overlap.h"

#include <set>

namespace tilewright {

using namespace mlir;

namespace {

/// Numbers of tensors, the written one first.
using Pairs = std::set<std::pair<int64_t, int64_t>>;

void add(Pairs& pairs, Value written, Value read) {
  auto to = dyn_cast<BlockArgument>(written), from = dyn_cast<BlockArgument>(read);
  if (to && from)
    pairs.emplace(to.getArgNumber(), from.getArgNumber());
}

bool areTensorsOfOneLayout(Value a, Value b) {
  const auto isTensor = [](Value buffer) {
    auto argument = dyn_cast<BlockArgument>(buffer);
    return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
  };
  return a != b && isTensor(a) && isTensor(b) && tile::haveOneLayout(a, b);
}

template <typename Move> void findIn(Move move, Pairs& pairs) {
  const tile::BufferRegion source = move.getSourceRegion(), target = move.getTargetRegion();
  if (areTensorsOfOneLayout(source.buffer, target.buffer) &&
      tile::compareParts(source, target) == tile::Overlap::Certain)
    add(pairs, target.buffer, source.buffer);
}

void findIn(tile::ParallelOp nest, Pairs& pairs) {
  const std::optional<SmallVector<int64_t>> extents = extentsOfStraightNest(nest);
  Block& body = *nest.getBodyBlock();
  if (!extents || !body.getOps<arith::SelectOp>().empty()) // what is chosen may be another one
    return;
  for (auto store : body.getOps<tile::StoreOp>())
    for (auto load : body.getOps<tile::LoadOp>())
      if (areTensorsOfOneLayout(store.getBuffer(), load.getBuffer()) &&
          isReadElsewhere(store, load, *extents, nest))
        add(pairs, store.getBuffer(), load.getBuffer());
}

} // namespace

void markTensorsApart(func::FuncOp kernel) {
  Pairs pairs;
  kernel.walk([&](Operation* op) {
    TypeSwitch<Operation*>(op).Case<tile::CopyOp, tile::AtomicTileOp, tile::ParallelOp>(
        [&](auto each) { findIn(each, pairs); });
  });
  llvm::MapVector<int64_t, SmallVector<int64_t>> others;
  for (auto [written, read] : pairs)
    others[written].push_back(read);
  Builder builder(kernel.getContext());
  for (const auto& [written, read] : others)
    kernel.setArgAttr(unsigned(written), tile::kApartAttr, builder.getDenseI64ArrayAttr(read));
}

} // namespace tilewright
