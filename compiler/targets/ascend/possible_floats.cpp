// SPDX-License-Identifier: Apache-2.0
/// What is known of floats, and of elements of tiles and tensors: those that are one small number in a state.
#include "compiler/targets/ascend/possible_states.h"

#include <mlir/IR/Matchers.h>

#include <bit>
#include <cmath>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// All types of floats have these, and sums of two of them are what they are on each chip.
bool isPlain(double number) {
  constexpr double most = 128;
  return std::abs(number) <= most && std::trunc(number) == number;
}

std::optional<double> plainOf(double number) {
  return isPlain(number) ? std::optional(number) : std::nullopt;
}

std::optional<bool> comparedFloats(arith::CmpFPredicate asked, double a, double b) {
  switch (asked) {
  case arith::CmpFPredicate::OEQ:
  case arith::CmpFPredicate::UEQ:
    return a == b;
  case arith::CmpFPredicate::ONE:
  case arith::CmpFPredicate::UNE:
    return a != b;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    return a < b;
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULE:
    return a <= b;
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::UGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::UGE:
    return a >= b;
  default:
    return std::nullopt;
  }
}

} // namespace

unsigned StateSpace::addElement(Value tile, ArrayRef<int64_t> place) {
  for (const Element& each : elements[tile])
    if (ArrayRef(each.place) == place)
      return each.slot;
  const auto slot = unsigned(firstRanges.size());
  firstRanges.push_back(rangeOfType(cast<tile::BufferType>(tile.getType()).getElementType()));
  elements[tile].push_back({SmallVector<int64_t>(place), slot});
  return slot;
}

ArrayRef<StateSpace::Element> StateSpace::elementsOf(Value tile) const {
  const auto found = elements.find(tile);
  return found == elements.end() ? ArrayRef<Element>() : ArrayRef<Element>(found->second);
}

std::optional<double> StateSpace::floatOf(const PossibleState& state, Value value) {
  constexpr unsigned most = 300;
  fuel = most;
  return computeFloat(state, value);
}

IndexRange StateSpace::contentOf(const PossibleState& state, Value value) {
  if (value.getType().isIntOrIndex())
    return rangeOf(state, value);
  const std::optional<double> number = floatOf(state, value);
  if (!number)
    return {};
  const auto bits = std::bit_cast<int64_t>(*number);
  return {bits, bits};
}

/// What lies behind a tensor's end is 0.
IndexRange StateSpace::computeLoad(const PossibleState& state, tile::LoadOp load) {
  const IndexRange all = rangeOfType(load.getValue().getType());
  const auto type = cast<tile::BufferType>(load.getBuffer().getType());
  SmallVector<IndexRange> place;
  for (Value index : load.getIndices())
    place.push_back(compute(state, index));
  const bool isGlobal = type.getSpace() == tile::MemorySpace::Global;
  for (const auto& [range, dim] : llvm::zip_equal(place, type.getShape()))
    if (isGlobal && !ShapedType::isDynamic(dim) && range.low >= dim)
      return {0, 0}; // of a float, too
  for (const Element& each : elementsOf(load.getBuffer())) {
    const bool isIt = llvm::all_of(llvm::zip_equal(place, each.place), [](const auto& dim) {
      const auto& [range, at] = dim;
      return range.low == at && range.high == at;
    });
    if (isIt)
      return state.ranges[each.slot];
  }
  return all;
}

std::optional<double> StateSpace::computeFloat(const PossibleState& state, Value value) {
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return plainOf(constant.getValueAsDouble());
  Operation* op = value.getDefiningOp();
  if (slotOf(value) || isa_and_nonnull<tile::LoadOp>(op)) {
    const IndexRange bits = compute(state, value);
    return bits.low == bits.high ? plainOf(std::bit_cast<double>(bits.low)) : std::nullopt;
  }
  if (!op || fuel == 0)
    return std::nullopt;
  --fuel;
  if (isa<arith::SIToFPOp>(op)) {
    const IndexRange from = compute(state, op->getOperand(0));
    return from.low == from.high ? plainOf(double(from.low)) : std::nullopt;
  }
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    const IndexRange asked = compute(state, choice.getCondition());
    if (asked.low != asked.high)
      return std::nullopt;
    return computeFloat(state, asked.low ? choice.getTrueValue() : choice.getFalseValue());
  }
  if (!isa<arith::ExtFOp, arith::TruncFOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
           arith::MinNumFOp, arith::MaxNumFOp>(op))
    return std::nullopt;
  const std::optional<double> a = computeFloat(state, op->getOperand(0));
  if (!a || op->getNumOperands() == 1)
    return a;
  const std::optional<double> b = computeFloat(state, op->getOperand(1));
  if (!b)
    return std::nullopt;
  if (isa<arith::AddFOp>(op))
    return plainOf(*a + *b);
  if (isa<arith::SubFOp>(op))
    return plainOf(*a - *b);
  if (isa<arith::MulFOp>(op))
    return plainOf(*a * *b);
  return isa<arith::MinNumFOp>(op) ? std::min(*a, *b) : std::max(*a, *b);
}

IndexRange StateSpace::computeOfFloats(const PossibleState& state, Operation* op, IndexRange all) {
  const std::optional<double> a = computeFloat(state, op->getOperand(0));
  if (!a)
    return all;
  auto compare = dyn_cast<arith::CmpFOp>(op);
  if (!compare) {
    const auto number = int64_t(*a);
    return number >= all.low && number <= all.high ? IndexRange{number, number} : all;
  }
  const std::optional<double> b = computeFloat(state, op->getOperand(1));
  const std::optional<bool> known =
      b ? comparedFloats(compare.getPredicate(), *a, *b) : std::nullopt;
  return known ? IndexRange{*known, *known} : all;
}

} // namespace tilewright::ascend
