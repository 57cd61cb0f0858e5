// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/model_variables.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/counted_variables.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/part_numbers.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/scalar_agents.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {

using namespace mlir;

std::optional<model::Comparison> comparisonOf(arith::CmpIPredicate predicate) {
  using model::Comparison;
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return Comparison::Equal;
  case arith::CmpIPredicate::ne:
    return Comparison::NotEqual;
  case arith::CmpIPredicate::slt:
    return Comparison::Less;
  case arith::CmpIPredicate::sle:
    return Comparison::LessOrEqual;
  case arith::CmpIPredicate::sgt:
    return Comparison::Greater;
  case arith::CmpIPredicate::sge:
    return Comparison::GreaterOrEqual;
  default:
    return std::nullopt;
  }
}

/// Such terms are numbered from here, behind all nodes and all values that never change.
static constexpr unsigned kFirstVariable = 1U << 28;

std::optional<unsigned> ModelVariables::of(Value buffer) {
  const auto known = numbers.find(buffer);
  if (known != numbers.end())
    return known->second;
  numbers[buffer] = std::nullopt; // it may be asked for meanwhile
  const std::optional<unsigned> number = add(buffer);
  return numbers[buffer] = number;
}

std::optional<unsigned> ModelVariables::add(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  if (const std::optional<int64_t> count =
          alloc ? countOfPartNumbers(buffer, haveCopies, indices) : std::nullopt;
      count && areSourcesFollowed(buffer)) {
    program.toldApart[program.variables] = static_cast<int>(*count);
    return program.variables++;
  }
  const auto isFollowed = [](Operation* user) {
    auto store = dyn_cast<tile::StoreOp>(user);
    return isa<tile::LoadOp>(user) || (store && (constantOf(store) || stepOf(store)));
  };
  const bool isVariable =
      alloc && alloc.getType().getSpace() == tile::MemorySpace::Var &&
      !(haveCopies && differsOnVectorCores(buffer) && !isOfOneAlone(buffer, Agent::Vector)) &&
      alloc.getType().getRank() == 0 && llvm::all_of(buffer.getUsers(), isFollowed) &&
      (!isCounter(buffer) || isWorthCounting(buffer));
  return isVariable ? std::optional(program.variables++) : std::nullopt;
}

/// Other variables of which it takes the number.
bool ModelVariables::areSourcesFollowed(Value buffer) {
  return llvm::all_of(buffer.getUsers(), [&](Operation* user) {
    auto store = dyn_cast<tile::StoreOp>(user);
    const Value source = store ? sourceOf(store) : Value();
    const std::optional<unsigned> number = source ? of(source) : std::nullopt;
    return !source || (number && program.toldApart.contains(*number));
  });
}

std::optional<IndexSum> ModelVariables::partAt(Value number, Operation* at) {
  tile::LoadOp load = readBehind(number);
  const std::optional<unsigned> variable =
      load && isStillHeld(load, at) ? of(load.getBuffer()) : std::nullopt;
  const auto count = variable ? program.toldApart.find(*variable) : program.toldApart.end();
  if (count == program.toldApart.end())
    return std::nullopt;
  model::Term term{kFirstVariable + *variable, 1, count->second};
  term.variable = *variable;
  for (int each = 0; each < count->second; ++each) {
    const std::optional<int64_t> result = numberBy(number, load.getBuffer(), each);
    if (!result)
      return std::nullopt;
    term.table.push_back(*result);
  }
  return IndexSum{0, {std::move(term)}};
}

void ModelVariables::setAssigned(tile::StoreOp store, model::Node& node) {
  node.variable = *of(store.getBuffer());
  const std::optional<int64_t> constant = constantOf(store);
  const auto count = program.toldApart.find(node.variable);
  if (count == program.toldApart.end()) {
    node.isStep = !constant;
    node.value = static_cast<int>(constant ? *constant : *stepOf(store));
    return;
  }
  const int most = count->second;
  if (constant) {
    node.value = static_cast<int>(std::min<int64_t>(*constant, most));
    return;
  }
  const Value source = sourceOf(store), from = source ? source : store.getBuffer();
  const std::optional<int64_t> swapped = sumOfSwapped(store);
  if (source)
    node.source = *of(source);
  for (int each = 0; each < program.toldApart.at(source ? node.source : node.variable); ++each) {
    const std::optional<int64_t> now =
        swapped ? std::optional(*swapped - each) : numberBy(store.getValue(), from, each);
    node.becomes.push_back(now && *now >= 0 ? static_cast<int>(std::min<int64_t>(*now, most))
                                            : model::kNoValue);
  }
  const std::optional<int64_t> step = source ? std::nullopt : stepOf(store);
  node.becomes.push_back(step && *step > 0 ? most : model::kNoValue);
}

void ModelVariables::forgetParts() {
  for (const auto& [buffer, variable] : numbers) {
    if (!variable || !program.toldApart.contains(*variable))
      continue;
    const auto isRead = [](Operation* user) { return isa<tile::LoadOp>(user); };
    const auto isLast = [&](const model::Node* node) {
      auto* op = static_cast<Operation*>(node->tag);
      return node->body.size() + node->otherwise.size() > 0 &&
             llvm::all_of(buffer.getUsers(), [&](Operation* user) {
               Operation* at = op->getBlock()->findAncestorOpInBlock(*user);
               return !isRead(user) || (at && (at == op || at->isBeforeInBlock(op)));
             });
    };
    const auto last = llvm::find_if(program.body, isLast);
    if (last != program.body.end() && !llvm::is_contained((*last)->forgets, *variable)) {
      (*last)->forgets.push_back(*variable);
      llvm::sort((*last)->forgets);
    }
  }
}

/// How a condition compares a variable with a number, if that is all.
std::optional<model::TurnCondition> ModelVariables::askedBy(Value condition) {
  constexpr int64_t most = 1000;
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  auto load = compare ? compare.getLhs().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  const std::optional<model::Comparison> kind =
      compare ? comparisonOf(compare.getPredicate()) : std::nullopt;
  const std::optional<int64_t> value =
      compare ? getConstantIntValue(compare.getRhs()) : std::nullopt;
  const bool isPlain = load && kind && value && std::abs(*value) <= most;
  const std::optional<unsigned> variable = isPlain ? of(load.getBuffer()) : std::nullopt;
  if (!variable || (isCounter(load.getBuffer()) && !program.toldApart.contains(*variable) &&
                    !isCountedFarEnough(compare)))
    return std::nullopt;
  return model::TurnCondition{*variable, *kind, static_cast<int>(*value)};
}

bool ModelVariables::ask(scf::IfOp branch, Value condition, model::Node& node) {
  const std::optional<model::TurnCondition> asked = askedBy(condition);
  if (!asked || node.variable != model::kNone)
    return false;
  Operation* load = condition.getDefiningOp()->getOperand(0).getDefiningOp();
  if (load->getBlock() != branch->getBlock())
    return false;
  for (Operation* op = load->getNextNode(); op != branch; op = op->getNextNode())
    if (op->walk([](tile::StoreOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return false;
  node.variable = asked->variable;
  node.compares = asked->compares;
  node.value = asked->value;
  return true;
}

void ModelVariables::askBeforeTurns(tile::WhileOp loop, model::Node& node) {
  const WhileQuestion asked = questionOf(loop);
  asking = &loop.getCondition();
  const std::optional<unsigned> state = asked.state ? of(asked.state) : std::nullopt;
  if (state)
    node.goesOn.push_back({*state, model::Comparison::NotEqual, kLeftState});
  const bool isAll = askAllOf(*asked.block, asked.condition, /*isLate=*/false, node);
  node.asksMore = !isAll || bool(asked.state) != bool(state);
}

/// Adds what a condition asks of variables, if its block does nothing but to read elements, or variables; whether that is all
/// of it.
bool ModelVariables::askAllOf(Block& block, Value condition, bool isLate, model::Node& node) {
  for (Operation& op : block) {
    auto store = dyn_cast<tile::StoreOp>(op);
    Operation* alloc = store ? store.getBuffer().getDefiningOp() : nullptr;
    if (isa<npu::GetValueOp>(op))
      isLate = true;
    else if (&op != condition.getDefiningOp() && !isPure(&op) && !isa<tile::LoadOp>(op) &&
             !op.hasTrait<OpTrait::IsTerminator>() && !(alloc && alloc->hasAttr(kExitStateAttr)))
      return false;
  }
  return askBehind(condition, isLate, node);
}

/// What is asked only where something else is so is done behind that.
bool ModelVariables::askBehind(Value condition, bool isLate, model::Node& node) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    const bool isFirstAll = askBehind(both.getLhs(), isLate, node);
    return askBehind(both.getRhs(), isLate, node) && isFirstAll;
  }
  if (auto both = condition.getDefiningOp<scf::IfOp>()) {
    const unsigned number = cast<OpResult>(condition).getResultNumber();
    if (!matchPattern(both.elseBlock()->getTerminator()->getOperand(number), m_Zero()))
      return false;
    const bool isFirstAll = askBehind(both.getCondition(), isLate, node);
    const Value more = both.thenBlock()->getTerminator()->getOperand(number);
    return askAllOf(*both.thenBlock(), more, isLate, node) && isFirstAll;
  }
  std::optional<model::TurnCondition> asked = askedBy(condition);
  const bool isReadThere =
      asked && asking->isAncestor(
                   condition.getDefiningOp()->getOperand(0).getDefiningOp()->getParentRegion());
  if (isReadThere) {
    asked->isLate = isLate;
    node.goesOn.push_back(*asked);
  }
  return isReadThere || matchPattern(condition, m_NonZero());
}

void ModelVariables::addForgotten(Operation* loop, model::Node& node) const {
  for (const auto& [buffer, variable] : numbers) {
    const auto isElsewhere = [&](Operation* user) {
      return isa<tile::LoadOp>(user) && !loop->isProperAncestor(user);
    };
    const bool isOfPart = variable && program.toldApart.contains(*variable); // its next run goes on
    if (variable && !isOfPart && llvm::none_of(buffer.getUsers(), isElsewhere))
      node.forgets.push_back(*variable);
  }
  llvm::sort(node.forgets);
}

} // namespace tilewright::ascend
