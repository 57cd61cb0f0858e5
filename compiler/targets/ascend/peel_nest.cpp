// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/peel_nest.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/targets/ascend/tile_addresses.h"

namespace tilewright::ascend {

using namespace mlir;

Value makeLoop(ImplicitLocOpBuilder& builder, OpFoldResult extent) {
  const IndexMaker make(builder);
  auto loop = tile::ForOp::create(builder, make.constant(0), make.value(extent), make.constant(1));
  builder.setInsertionPointToStart(loop.getBodyBlock());
  return loop.getInductionVar();
}

Value makeLoopFor(ImplicitLocOpBuilder& builder, Value index, OpFoldResult extent) {
  Value counted = makeLoop(builder, extent);
  if (const StringRef name = nameOf(index.getLoc()); !name.empty())
    cast<BlockArgument>(counted).getOwner()->getParentOp()->setAttr(tile::kNameAttr,
                                                                    builder.getStringAttr(name));
  return counted;
}

tile::ParallelOp peelNest(tile::ParallelOp nest) {
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  SmallVector<OpFoldResult> extents = nest.getMixedExtents();
  Value index = makeLoopFor(builder, nest.getInductionVars()[0], extents[0]);
  auto inner = tile::ParallelOp::create(builder, ArrayRef(extents).drop_front());
  for (const char* name : {"function", "mode"}) // of T.tile, which the body alone doesn't tell
    if (Attribute attribute = nest->getAttr(name))
      inner->setAttr(name, attribute);
  Block *from = nest.getBodyBlock(), *to = inner.getBodyBlock();
  from->getArgument(0).replaceAllUsesWith(index);
  for (auto [old, made] : llvm::zip(from->getArguments().drop_front(), to->getArguments())) {
    made.setLoc(old.getLoc());
    old.replaceAllUsesWith(made);
  }
  from->getTerminator()->erase();
  to->getOperations().splice(to->begin(), from->getOperations());
  nest.erase();
  return inner;
}

void moveViewsOut(tile::ParallelOp nest) {
  SmallVector<tile::ViewOp> views;
  nest.walk([&](tile::ViewOp view) { views.push_back(view); });
  for (tile::ViewOp view : views)
    if (llvm::all_of(view->getOperands(), [&](Value operand) {
          return !nest.getBody().isAncestor(operand.getParentRegion());
        }))
      view->moveBefore(nest);
}

} // namespace tilewright::ascend
