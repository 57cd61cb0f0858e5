// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/first_turns.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/index_ranges.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

constexpr size_t mostRuns = 256; ///< of a part of a tensor
constexpr int64_t openTurns = 2; ///< of a loop of which nobody knows how many it makes

/// The storage of a variable that an operation loads from or stores to; null for all else.
Value variableOf(Value buffer, ValueRange indices) {
  return indices.empty() && cast<tile::BufferType>(buffer.getType()).isPerThread()
             ? npu::storageOf(buffer)
             : Value();
}

/// Whether a branch leaves its loop, or a turn of it.
bool isExit(Region& region) {
  return !region.empty() && llvm::any_of(region.front(), [](Operation& op) {
    auto store = dyn_cast<tile::StoreOp>(op);
    Operation* state = store ? npu::storageOf(store.getBuffer()).getDefiningOp() : nullptr;
    return isa<tile::BreakOp, tile::ContinueOp>(op) ||
           (state && state->hasAttr(kExitStateAttr) && !matchPattern(store.getValue(), m_Zero()));
  });
}

void keep(DenseMap<Value, int64_t>& numbers, Value value, std::optional<int64_t> number) {
  if (number)
    numbers[value] = *number;
  else
    numbers.erase(value);
}

} // namespace

void FirstTurns::run(tile::LaunchOp launch, ArrayRef<int64_t> ids) {
  for (auto [argument, id] : llvm::zip_equal(launch.getBlockIds(), ids))
    known[argument] = id;
  run(*launch.getBodyBlock(), isOurs);
}

/// `isOurs`: it is this kind of core that does what stands there and doesn't say whose it is.
void FirstTurns::run(Block& block, bool isOurs) {
  for (Operation& op : block) {
    if (isOfUse(&op))
      runOne(op, isOurs);
    if (way != Way::On)
      return;
  }
}

void FirstTurns::runOne(Operation& op, bool isOurs) {
  if (auto scope = dyn_cast<ScopeOp>(op)) {
    if (scope.getAgent() == core.agent)
      run(scope.getBody().front(), /*isOurs=*/true);
  } else if (auto loop = dyn_cast<tile::ForOp>(op)) {
    runLoop(loop, isOurs);
  } else if (auto loop = dyn_cast<tile::WhileOp>(op)) {
    runWhile(loop, isOurs);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    runBranch(branch, isOurs);
  } else if (auto instruction = dyn_cast<npu::Instruction>(op)) {
    const std::optional<Agent> agent = instruction.getAgent();
    if (agent ? *agent == core.agent : isOurs)
      visit(instruction);
  } else if (isa<tile::BreakOp, tile::ContinueOp>(op)) {
    way = isa<tile::BreakOp>(op) ? Way::Break : Way::Continue;
  } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
    if (Value variable = variableOf(store.getBuffer(), store.getIndices()))
      keep(variables, variable, numberOf(store.getValue()));
    pass(&op, isOurs);
  } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (Value variable = variableOf(load.getBuffer(), load.getIndices())) {
      const auto found = variables.find(variable);
      keep(known, load.getResult(),
           found == variables.end() ? std::nullopt : std::optional(found->second));
    }
    pass(&op, isOurs);
  } else {
    pass(&op, isOurs);
  }
}

void FirstTurns::runBranch(scf::IfOp branch, bool isOurs) {
  const std::optional<int64_t> taken = numberOf(branch.getCondition());
  const bool isAsked = !taken;
  if (isAsked && (!choice.branches || npu::differsByVid(branch.getCondition())))
    return leaveOut(branch, isOurs);
  const bool isTaken = taken ? *taken != 0 : isChosen(branch);
  Region& region = isTaken ? branch.getThenRegion() : branch.getElseRegion();
  if (region.empty())
    return;
  if (isAsked)
    asked.push_back(branch.getCondition());
  run(region.front(), isOurs);
  if (isAsked)
    asked.pop_back();
}

bool FirstTurns::isChosen(scf::IfOp branch) const {
  if (isExit(branch.getThenRegion()))
    return false;
  return isExit(branch.getElseRegion()) || choice.branches == Branches::All ||
         (choice.branches == Branches::Outermost && asked.empty());
}

void FirstTurns::runLoop(tile::ForOp loop, bool isOurs) {
  const std::optional<int64_t> lower = numberOf(loop.getLower()), upper = numberOf(loop.getUpper()),
                               step = numberOf(loop.getStep());
  const bool isOpen = !upper && choice.branches && !npu::differsByVid(loop.getUpper());
  if (!lower || !step || *step < 1 || (!upper && !isOpen))
    return leaveOut(loop, isOurs);
  const int64_t end = upper ? *upper : rangeAt(loop, loop.getUpper()).high; // not more, in any run
  const int64_t most = end == IndexRange::kHighest
                           ? openTurns
                           : std::max<int64_t>(0, llvm::divideCeilSigned(end - *lower, *step));
  const int64_t all = isOpen ? std::min(most, openTurns) : most;
  for (int64_t turn = 0; turn < std::min(all, choice.turns) && way == Way::On; ++turn) {
    known[loop.getInductionVar()] = *lower + turn * *step;
    run(*loop.getBodyBlock(), isOurs);
    if (way == Way::Continue)
      way = Way::On;
  }
  if (way == Way::Break)
    way = Way::On;
  else if (way == Way::On && (isOpen || all > choice.turns))
    cutShort(loop);
}

void FirstTurns::runWhile(tile::WhileOp loop, bool isOurs) {
  Block& condition = loop.getCondition().front();
  const Value asks = cast<tile::ConditionOp>(condition.getTerminator()).getCondition();
  if (!choice.branches || npu::differsByVid(asks))
    return leaveOut(loop, isOurs);
  for (int64_t turn = 0; way == Way::On; ++turn) {
    run(condition, isOurs);
    const std::optional<int64_t> goesOn = numberOf(asks);
    if (way != Way::On || goesOn == 0)
      break;
    if (turn >= (goesOn ? choice.turns : std::min(choice.turns, openTurns)))
      return cutShort(loop);
    run(loop.getBody().front(), isOurs);
    if (way == Way::Continue)
      way = Way::On;
  }
  if (way == Way::Break)
    way = Way::On;
}

/// Nothing is known of what it stores in variables.
void FirstTurns::leaveOut(Operation* op, bool isOurs) {
  op->walk([&](tile::StoreOp store) { variables.erase(npu::storageOf(store.getBuffer())); });
  pass(op, isOurs);
}

SmallVector<Bytes> FirstTurns::bytesOf(npu::Instruction op, const npu::Access& access) {
  const int64_t bytes = access.type().getElementType().getIntOrFloatBitWidth() / 8;
  if (bytes < 1 || access.isAtMost)
    return {};
  if (isa<npu::SetValueOp, npu::GetValueOp>(op)) {
    const std::optional<int64_t> at = access.offset ? numberOf(access.offset) : std::nullopt;
    return at ? SmallVector<Bytes>{{*at * bytes, (*at + 1) * bytes}} : SmallVector<Bytes>();
  }
  return access.region && op.getPipe() != Pipe::S ? rowsOf(*access.region, bytes)
                                                  : SmallVector<Bytes>();
}

SmallVector<Bytes> FirstTurns::rowsOf(const tile::BufferRegion& region, int64_t bytes) {
  const ArrayRef<int64_t> shape = region.type().getShape();
  SmallVector<std::pair<int64_t, int64_t>> parts; // of each dim
  size_t runs = 1;
  for (auto [offset, extent, dim] : llvm::zip_equal(region.offsets, region.extents, shape)) {
    const std::optional<int64_t> first = numberOf(offset), count = lengthOf(extent);
    const bool isOpen = ShapedType::isDynamic(dim);
    // How long the first dim is, no offset depends on.
    if (!first || !count || (isOpen && !parts.empty()) || *first < 0 || (!isOpen && *first >= dim))
      return {};
    parts.emplace_back(*first, isOpen ? *count : std::min(*count, dim - *first));
    runs *= parts.size() == shape.size()
                ? 1
                : static_cast<size_t>(std::max<int64_t>(parts.back().second, 0));
    if (runs == 0 || runs > mostRuns || parts.back().second < 1)
      return {};
  }
  SmallVector<Bytes> rows;
  for (size_t run = 0; run < runs; ++run) {
    int64_t begin = 0;
    size_t rest = run;
    int64_t pitch = 1;
    for (size_t dim = shape.size(); dim-- > 0;) {
      int64_t at = parts[dim].first;
      if (dim + 1 < shape.size()) {
        at += static_cast<int64_t>(rest) % parts[dim].second;
        rest /= static_cast<size_t>(parts[dim].second);
      }
      begin += at * pitch;
      pitch *= shape[dim];
    }
    rows.push_back({begin * bytes, (begin + parts.back().second) * bytes});
  }
  return rows;
}

/// Of a length that isn't known, but for both vector cores the same, the first element counts.
std::optional<int64_t> FirstTurns::lengthOf(OpFoldResult extent) {
  const std::optional<int64_t> known = numberOf(extent);
  const bool isOpen = !known && choice.branches && !npu::differsByVid(cast<Value>(extent));
  return isOpen ? 1 : known;
}

std::optional<int64_t> FirstTurns::numberOf(OpFoldResult number) {
  if (auto attribute = dyn_cast<Attribute>(number))
    return cast<IntegerAttr>(attribute).getInt();
  return numberOf(cast<Value>(number));
}

std::optional<int64_t> FirstTurns::numberOf(Value value) {
  if (const std::optional<int64_t> constant = getConstantIntValue(value))
    return constant;
  if (const auto found = known.find(value); found != known.end())
    return found->second;
  Operation* op = value.getDefiningOp();
  if (isa_and_nonnull<VectorIdOp>(op))
    return core.vid;
  if (!op || op->getNumRegions() != 0 || op->getNumResults() != 1 || !isPure(op))
    return std::nullopt;
  const auto numbers = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
    return operand.getType().isIntOrIndex() ? numberOf(operand) : std::nullopt;
  });
  if (isa<arith::AndIOp>(op) && llvm::is_contained(numbers, std::optional<int64_t>(0)))
    return 0; // whatever the other one is
  if (llvm::is_contained(numbers, std::nullopt))
    return std::nullopt;
  SmallVector<Attribute> operands;
  for (auto [operand, number] : llvm::zip_equal(op->getOperands(), numbers))
    operands.push_back(IntegerAttr::get(operand.getType(), *number));
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return std::nullopt;
  if (auto folded = dyn_cast<Value>(results[0]))
    return folded == value ? std::nullopt : numberOf(folded);
  auto attribute = dyn_cast<IntegerAttr>(cast<Attribute>(results[0]));
  return attribute
             ? std::optional(attribute.getType().isInteger(1) ? attribute.getValue().getZExtValue()
                                                              : attribute.getInt())
             : std::nullopt;
}

} // namespace tilewright::ascend
