// SPDX-License-Identifier: Apache-2.0
// Printing, assumptions and assertions.
#include "compiler/builder/construction.h"
#include "compiler/ir/thread_groups.h"

namespace tilewright {

void KernelBuilder::print(const std::variant<std::monostate, Value, Buffer>& what,
                          std::string_view message, const Attributes& attributes,
                          std::string_view name) {
  if (!state->requireLaunch(name))
    return;
  mlir::Value printed;
  std::string bufferName; // targets may have another one in its place when they print
  bool isUnsigned = false;
  if (const auto* value = std::get_if<Value>(&what)) {
    if (!state->isUsable(*value))
      return;
    printed = state->toIr(*value);
    isUnsigned = value->dtype().isInteger() && !value->dtype().isSigned();
  } else if (const auto* buffer = std::get_if<Buffer>(&what)) {
    if (!state->isUsable(*buffer))
      return;
    const BufferRecord& record = state->record(*buffer);
    printed = record.ir;
    bufferName = record.name;
    const Attribute* given = builder::find(attributes, "count");
    const auto* count = given ? std::get_if<int64_t>(given) : nullptr;
    const auto type = mlir::cast<tile::BufferType>(printed.getType());
    if (count && type.hasStaticShape() && *count > type.getNumElements()) {
      state->error(std::string(name) + " prints " + std::to_string(*count) + " elements, but " +
                   quoted(bufferName) + " has " + std::to_string(type.getNumElements()));
      return;
    }
  }
  auto op =
      tile::PrintOp::create(state->ir, state->location(),
                            llvm::StringRef(message.data(), message.size()), printed, isUnsigned);
  if (!bufferName.empty())
    op->setAttr(tile::kNameAttr, state->ir.getStringAttr(bufferName));
  annotate(*state, op, name, attributes, {});
}

/// Whether a value is computed of the kernel's arguments and symbols alone.
static bool isOfArguments(mlir::Value value) {
  if (mlir::isa<mlir::BlockArgument>(value))
    return mlir::isa<mlir::func::FuncOp>(value.getParentBlock()->getParentOp());
  mlir::Operation* op = value.getDefiningOp();
  return mlir::isa<mlir::arith::ArithDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperands(), isOfArguments);
}

void KernelBuilder::assume(Value condition, bool isChecked) {
  if (!state->isUsable(condition))
    return;
  auto constant = state->constantOf(condition);
  if (constant && (constant->isReal || constant->integer != 0))
    return;
  if (constant) {
    state->error("the condition of T.assume never holds");
    return;
  }
  const mlir::Value held = state->toBool(condition);
  state->promise(held);
  mlir::Operation* around = state->ir.getInsertionBlock()->getParentOp();
  if (isChecked && mlir::isa_and_nonnull<tile::LaunchOp>(around) && isOfArguments(held))
    tile::AssertOp::check(state->ir, state->location(), held, "T.assume does not hold");
}

void KernelBuilder::deviceAssert(Value condition, std::string_view message) {
  if (!state->isUsable(condition) || !state->requireLaunch("T.device_assert"))
    return;
  auto constant = state->constantOf(condition);
  if (constant && !constant->isReal && constant->integer == 0) {
    state->error("the assertion is always false" +
                 (message.empty() ? "" : ": " + std::string(message)));
    return;
  }
  const mlir::Value held = state->toBool(condition);
  state->promise(held);
  tile::AssertOp::create(state->ir, state->location(), held,
                         llvm::StringRef(message.data(), message.size()));
}

void KernelBuilder::waitUntil(Value condition, std::string_view message) {
  if (!state->isUsable(condition) || !state->requireTileScope("a wait for a memory barrier"))
    return;
  auto wait = tile::AssertOp::check(state->ir, state->location(), state->toBool(condition),
                                    llvm::StringRef(message.data(), message.size()));
  wait->setAttr(tile::kWaitAttr, state->ir.getUnitAttr());
}

} // namespace tilewright
