// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/counted_variables.h"

#include "compiler/targets/ascend/analysis/program.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {

using namespace mlir;

std::optional<int64_t> constantOf(tile::StoreOp store) {
  const std::optional<int64_t> value = getConstantIntValue(store.getValue());
  return value && *value >= 0 && *value < 100 ? value : std::nullopt;
}

std::optional<int64_t> stepOf(tile::StoreOp store) {
  constexpr int64_t most = 100;
  Operation* sum = store.getValue().getDefiningOp();
  const bool isTakenAway = isa_and_nonnull<arith::SubIOp>(sum);
  if (!isTakenAway && !isa_and_nonnull<arith::AddIOp>(sum))
    return std::nullopt;
  auto load = sum->getOperand(0).getDefiningOp<tile::LoadOp>();
  const std::optional<int64_t> by = getConstantIntValue(sum->getOperand(1));
  if (!by || *by == 0 || std::abs(*by) >= most || !load || load.getBuffer() != store.getBuffer() ||
      load->getBlock() != store->getBlock() || !load->isBeforeInBlock(store))
    return std::nullopt;
  for (Operation* op = load->getNextNode(); op != store; op = op->getNextNode())
    if (op->getNumRegions() > 0 || isa<tile::StoreOp>(op))
      return std::nullopt;
  return isTakenAway ? -*by : *by;
}

bool isCounter(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation* user) {
    auto store = dyn_cast<tile::StoreOp>(user);
    return store && !constantOf(store);
  });
}

bool isCountedFarEnough(arith::CmpIOp compare) {
  const std::optional<int64_t> bound = getConstantIntValue(compare.getRhs());
  return bound && *bound >= 0 && *bound < model::kMostCounted;
}

bool isWorthCounting(Value buffer) {
  return cast<tile::BufferType>(buffer.getType()).getElementBits() >= 32 &&
         llvm::any_of(buffer.getUsers(), [](Operation* load) {
           return llvm::any_of(load->getUsers(), [](Operation* user) {
             auto compare = dyn_cast<arith::CmpIOp>(user);
             return compare && isCountedFarEnough(compare);
           });
         });
}

Value askedBeforeMore(Value condition) {
  auto turned = condition.getDefiningOp<arith::XOrIOp>();
  auto both = turned && matchPattern(turned.getRhs(), m_One())
                  ? turned.getLhs().getDefiningOp<scf::IfOp>()
                  : scf::IfOp();
  if (!both || !both.elseBlock())
    return {};
  const unsigned number = cast<OpResult>(turned.getLhs()).getResultNumber();
  const Value other = both.elseBlock()->getTerminator()->getOperand(number);
  return matchPattern(other, m_Zero()) ? both.getCondition() : Value();
}

} // namespace tilewright::ascend
