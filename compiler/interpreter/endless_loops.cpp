// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/endless_loops.h"
#include "compiler/ir/root_buffer.h"

namespace tilewright::interpreter {
namespace {

/// Whether something in the loop may write the buffer, or anything has its address.
bool mayChange(mlir::Value buffer, tile::WhileOp loop) {
  return llvm::any_of(buffer.getUsers(), [&](mlir::Operation* user) {
    if (llvm::isa<tile::LoadOp, tile::DimOp>(user))
      return false;
    if (auto view = llvm::dyn_cast<tile::ViewOp>(user))
      return mayChange(view.getResult(), loop);
    return llvm::isa<tile::AddressOp>(user) || loop->isProperAncestor(user);
  });
}

/// A buffer that the condition of a loop reads: whether it stays as it is while the loop runs.
bool isFixed(mlir::Value buffer, tile::WhileOp loop, bool onlyOwn) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  return alloc && !alloc.getType().isGlobal() && (!onlyOwn || alloc.getType().isPerThread()) &&
         !mayChange(buffer, loop);
}

} // namespace

std::optional<std::vector<std::string>> fixedCondition(tile::WhileOp loop, bool onlyOwn) {
  const bool mayEnd = loop.walk([](mlir::Operation* op) {
                            return llvm::isa<tile::BreakOp, tile::AssertOp, tile::CallOp>(op)
                                       ? mlir::WalkResult::interrupt()
                                       : mlir::WalkResult::advance();
                          })
                          .wasInterrupted();
  if (mayEnd)
    return std::nullopt;
  std::vector<std::string> names;
  const mlir::WalkResult walked = loop.getCondition().walk([&](mlir::Operation* op) {
    if (op->getNumRegions() > 0 || op->hasTrait<mlir::OpTrait::IsTerminator>() || mlir::isPure(op))
      return mlir::WalkResult::advance();
    auto load = llvm::dyn_cast<tile::LoadOp>(op);
    const mlir::Value root = load ? rootBuffer(load.getBuffer()) : mlir::Value();
    if (!root || !isFixed(root, loop, onlyOwn))
      return mlir::WalkResult::interrupt();
    const auto name = root.getDefiningOp<tile::AllocOp>().getSymName();
    if (name && !llvm::is_contained(names, *name))
      names.push_back(name->str());
    return mlir::WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return std::nullopt;
  return names;
}

} // namespace tilewright::interpreter
