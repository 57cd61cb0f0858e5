// SPDX-License-Identifier: Apache-2.0
// Remainders and quotients of sums of loops' numbers and values that never change.
#include "compiler/targets/ascend/index_terms.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <numeric>

namespace tilewright::ascend {

using namespace mlir;

namespace {

bool isPowerOfTwo(int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

} // namespace

/// As `of`, or a number that has the same remainder: if the modulus is a power of two, a sum that wrapped round has that of
/// what it would have been.
std::optional<IndexSum> IndexTerms::congruent(Value value, int64_t modulus, bool& wrapped) {
  value = withoutCasts(value);
  Operation* op = value.getDefiningOp();
  constexpr int64_t most = int64_t{1} << 20;
  // Of the lowest bit alone, a sum is what tells whether two bits differ.
  const bool isSum = isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) ||
                     (isa_and_nonnull<arith::XOrIOp>(op) && modulus == 2 && isOffset);
  const bool isProduct = isa_and_nonnull<arith::MulIOp>(op) && isOffset;
  if ((!isSum && !isProduct) || !isPowerOfTwo(modulus) || modulus > most)
    return of(value);
  wrapped = wrapped || mayWrap(value) || isa<arith::XOrIOp>(op);
  if (isProduct)
    return congruentProduct(op, modulus, wrapped);
  std::optional<IndexSum> left = congruent(op->getOperand(0), modulus, wrapped),
                          right = congruent(op->getOperand(1), modulus, wrapped);
  if (!left || !right)
    return std::nullopt;
  return *left += *right *= isa<arith::SubIOp>(op) ? -1 : 1;
}

/// With a constant.
std::optional<IndexSum> IndexTerms::congruentProduct(Operation* op, int64_t modulus,
                                                     bool& wrapped) {
  for (const unsigned at : {0, 1})
    if (const std::optional<int64_t> factor =
            getConstantIntValue(withoutCasts(op->getOperand(at)))) {
      std::optional<IndexSum> sum = congruent(op->getOperand(1 - at), modulus, wrapped);
      return sum ? std::optional(*sum *= model::floorMod(*factor, modulus)) : std::nullopt;
    }
  return of(op->getResult(0));
}

/// Of `value ^ bits`; those above all that the value may have add up.
std::optional<IndexSum> IndexTerms::turnedBits(Value value, int64_t bits) {
  constexpr int64_t most = int64_t{1} << 20;
  const IndexRange range = ranges.rangeOf(value);
  if (!range.isWithin(0, most - 1) || bits < 0 || bits >= most)
    return std::nullopt;
  const auto end = static_cast<int64_t>(llvm::PowerOf2Ceil(range.high + 1));
  const int64_t above = bits / end * end, turned = bits - above;
  std::optional<IndexSum> sum =
      turned == 0 || turned == end - 1 ? of(value) : turnedRemainder(value, turned, end);
  if (sum && turned == end - 1)
    *sum *= -1;
  return sum ? std::optional(*sum += IndexSum{turned == end - 1 ? bits : above, {}}) : std::nullopt;
}

/// Of `(value ^ bits) % modulus`, a power of two, where values that never change have a part in it; tables of loops alone
/// tell of those.
std::optional<IndexSum> IndexTerms::turnedRemainder(Value value, int64_t bits, int64_t modulus) {
  constexpr int64_t longestTable = 64;
  std::optional<IndexSum> sum = modulo(value, modulus, /*isRoundedDown=*/true);
  if (!sum || sum->terms.size() != 1 || sum->terms.front().values.empty() ||
      sum->terms.front().modulus > longestTable)
    return std::nullopt;
  model::Term& term = sum->terms.front();
  std::vector<int64_t> turned;
  for (int64_t rest = 0; rest < term.modulus; ++rest)
    turned.push_back((sum->constant + term.bytes * term.ofRest(rest)) ^
                     model::floorMod(bits, modulus));
  term.bytes = 1;
  term.table = std::move(turned);
  sum->constant = 0;
  return sum;
}

/// Of a remainder that has the sign of a number that never changes: the one that is never negative, less the modulus if the
/// number is and the remainder isn't 0.
std::optional<IndexSum> IndexTerms::signedRemainder(Operation* op, int64_t modulus) {
  const Value number = op->getOperand(0);
  if (!isOffset || modulus < 2 || !isUnchanging(number))
    return std::nullopt;
  std::optional<IndexSum> sum = modulo(number, modulus, /*isRoundedDown=*/true);
  if (!sum)
    return std::nullopt;
  constexpr IndexRange bit{0, 1};
  sum->terms.push_back({numberIn(signs, op->getResult(0), bit, bit), -modulus});
  return sum;
}

/// Of a sum of loops' numbers and, for an offset, values that never change, each a few times, plus a constant, if it isn't
/// negative or the rest of a negative number were none, too. What all of them and the modulus are multiples of comes out:
/// (16 i + 16) % 64 is 16 times (i + 1) % 4.
std::optional<IndexSum> IndexTerms::modulo(Value value, int64_t modulus, bool isRoundedDown) {
  constexpr size_t mostTimes = 8;
  constexpr int64_t mostOfValues = 16; // choices
  Operation* op = withoutCasts(value).getDefiningOp();
  const std::optional<int64_t> bits = isa_and_nonnull<arith::XOrIOp, arith::AndIOp>(op)
                                          ? getConstantIntValue(withoutCasts(op->getOperand(1)))
                                          : std::nullopt;
  if (isOffset && bits && isa<arith::AndIOp>(op) && isPowerOfTwo(*bits + 1) && modulus > 0 &&
      (*bits + 1) % modulus == 0)
    return modulo(op->getOperand(0), modulus, /*isRoundedDown=*/true);
  if (isOffset && bits && isa<arith::XOrIOp>(op) && isPowerOfTwo(modulus) && modulus > 2 &&
      (isRoundedDown || ranges.rangeOf(value).low >= 0))
    return turnedRemainder(op->getOperand(0), *bits, modulus);
  // Of what is small enough itself there are no phases to tell apart.
  if (const IndexRange range = ranges.rangeOf(value);
      modulus > kMostInTable && range.low >= 0 && range.high < modulus)
    if (std::optional<IndexSum> itself = of(value))
      return itself;
  bool mayBeNegative = false;
  std::optional<IndexSum> sum =
      modulus < 1 ? std::nullopt : congruent(value, modulus, mayBeNegative);
  std::optional<Parts> parts = sum ? partsOf(*sum, modulus) : std::nullopt;
  if (!parts)
    return std::nullopt;
  mayBeNegative = mayBeNegative || sum->constant < 0 || !parts->isOfLoops;
  if (mayBeNegative && !isRoundedDown && ranges.rangeOf(value).low < 0)
    return std::nullopt;
  const int64_t constant = model::floorMod(parts->constant, modulus);
  int64_t unit = modulus;
  for (const std::map<unsigned, int64_t>* each : {&parts->loops, &parts->values})
    for (const auto& [number, factor] : *each)
      unit = std::gcd(unit, factor);
  const int64_t turns = modulus / unit, shift = constant / unit % turns;
  model::Term term{model::kNone, unit, turns, shift};
  const auto add = [&](const std::map<unsigned, int64_t>& factors, std::vector<unsigned>& list) {
    for (const auto& [number, factor] : factors) {
      const auto times = static_cast<size_t>(model::floorMod(factor / unit, turns));
      if (times > mostTimes)
        return false;
      list.insert(list.end(), times, number);
    }
    return true;
  };
  if (!add(parts->loops, term.others) || !add(parts->values, term.values))
    return std::nullopt;
  if (term.others.empty() && term.values.empty())
    return IndexSum{constant % unit + unit * shift, {}};
  // Of values alone that have many remainders, it is a value of its own.
  int64_t choices = 1;
  for (size_t each = 0; each < parts->values.size() && choices <= mostOfValues; ++each)
    choices *= turns;
  if (term.others.empty() && choices > mostOfValues)
    return std::nullopt;
  if (!term.others.empty()) {
    term.loop = term.others.front();
    term.others.erase(term.others.begin());
  }
  return IndexSum{constant % unit, {std::move(term)}};
}

/// What a sum is modulo something, if it is one that has remainders. Without a value that never changes, a loop's number
/// counts only if it grows: the tables tell the others.
std::optional<IndexTerms::Parts> IndexTerms::partsOf(const IndexSum& sum, int64_t modulus) const {
  Parts parts{sum.constant};
  for (const model::Term& term : sum.terms) {
    const bool isValue = term.loop >= firstSymbol && term.loop != model::kNone;
    // Of another remainder only if its modulus goes into this one.
    if (term.modulus ? isValue || !term.table.empty() || term.bytes * term.modulus % modulus != 0
                     : isValue && !isOffset)
      return std::nullopt;
    parts.isOfLoops = parts.isOfLoops && !isValue && !term.modulus && term.bytes >= 0;
    parts.constant += term.bytes * term.shift;
    if (term.loop != model::kNone)
      (isValue ? parts.values : parts.loops)[term.loop] += term.bytes;
    for (const unsigned other : term.others)
      parts.loops[other] += term.bytes;
    for (const unsigned value : term.values)
      parts.values[value] += term.bytes;
  }
  return parts.isOfLoops || !parts.values.empty() ? std::optional(std::move(parts)) : std::nullopt;
}

/// Of a sum of which all parts are multiples of the divisor.
std::optional<IndexSum> IndexTerms::quotient(Operation* op, int64_t divisor) {
  std::optional<IndexSum> sum = of(op->getOperand(0));
  const bool isUnsigned = isa<arith::DivUIOp>(op);
  if (!sum || divisor < 1 || sum->terms.empty() || sum->constant % divisor != 0 ||
      (isUnsigned && ranges.rangeOf(op->getOperand(0)).low < 0) ||
      llvm::any_of(sum->terms, [&](const model::Term& term) { return term.bytes % divisor != 0; }))
    return std::nullopt;
  sum->constant /= divisor;
  for (model::Term& term : sum->terms)
    term.bytes /= divisor;
  return sum;
}

} // namespace tilewright::ascend
