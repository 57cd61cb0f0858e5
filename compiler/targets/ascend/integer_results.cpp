// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/integer_results.h"

#include <mlir/Dialect/Arith/IR/Arith.h>

#include <llvm/Support/MathExtras.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

unsigned bitsOfType(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

uint64_t unsignedOf(int64_t number, Type type) {
  return uint64_t(number) & llvm::maskTrailingOnes<uint64_t>(bitsOfType(type));
}

/// Of one bit, 1 is -1.
int64_t signedOf(int64_t number, Type type) {
  return llvm::SignExtend64(uint64_t(number), bitsOfType(type));
}

bool comparesTrue(arith::CmpIPredicate predicate, int64_t a, int64_t b, Type type) {
  const int64_t left = signedOf(a, type), right = signedOf(b, type);
  const uint64_t first = unsignedOf(a, type), second = unsignedOf(b, type);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return left == right;
  case arith::CmpIPredicate::ne:
    return left != right;
  case arith::CmpIPredicate::slt:
    return left < right;
  case arith::CmpIPredicate::sle:
    return left <= right;
  case arith::CmpIPredicate::sgt:
    return left > right;
  case arith::CmpIPredicate::sge:
    return left >= right;
  case arith::CmpIPredicate::ult:
    return first < second;
  case arith::CmpIPredicate::ule:
    return first <= second;
  case arith::CmpIPredicate::ugt:
    return first > second;
  case arith::CmpIPredicate::uge:
    return first >= second;
  }
  return false;
}

std::optional<int64_t> quotientOf(Operation* op, int64_t a, int64_t b, Type type) {
  const uint64_t first = unsignedOf(a, type), second = unsignedOf(b, type);
  const bool hasNoRoom = b == -1 && a == llvm::minIntN(bitsOfType(type));
  if (second == 0 || hasNoRoom)
    return std::nullopt;
  if (isa<arith::DivSIOp>(op))
    return a / b;
  if (isa<arith::RemSIOp>(op))
    return a % b;
  if (isa<arith::FloorDivSIOp>(op))
    return llvm::divideFloorSigned(a, b);
  if (isa<arith::CeilDivSIOp>(op))
    return llvm::divideCeilSigned(a, b);
  return int64_t(isa<arith::DivUIOp>(op) ? first / second : first % second);
}

std::optional<int64_t> shiftedOf(Operation* op, int64_t number, int64_t by, Type type) {
  if (by < 0 || by >= int64_t(bitsOfType(type)))
    return std::nullopt;
  if (isa<arith::ShLIOp>(op))
    return int64_t(uint64_t(number) << by);
  return isa<arith::ShRSIOp>(op) ? number >> by : int64_t(unsignedOf(number, type) >> by);
}

std::optional<int64_t> resultOfTwo(Operation* op, int64_t a, int64_t b, Type type) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return comparesTrue(compare.getPredicate(), a, b, type) ? 1 : 0;
  if (isa<arith::AddIOp>(op))
    return int64_t(uint64_t(a) + uint64_t(b));
  if (isa<arith::SubIOp>(op))
    return int64_t(uint64_t(a) - uint64_t(b));
  if (isa<arith::MulIOp>(op))
    return int64_t(uint64_t(a) * uint64_t(b));
  if (isa<arith::AndIOp>(op))
    return a & b;
  if (isa<arith::OrIOp>(op))
    return a | b;
  if (isa<arith::XOrIOp>(op))
    return a ^ b;
  if (bitsOfType(type) == 1)
    return std::nullopt; // what follows has signs
  if (isa<arith::MinSIOp>(op))
    return std::min(a, b);
  if (isa<arith::MaxSIOp>(op))
    return std::max(a, b);
  if (isa<arith::MinUIOp, arith::MaxUIOp>(op)) {
    const bool isFirstLess = unsignedOf(a, type) < unsignedOf(b, type);
    return isFirstLess == isa<arith::MinUIOp>(op) ? a : b;
  }
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return shiftedOf(op, a, b, type);
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivUIOp,
          arith::RemUIOp>(op))
    return quotientOf(op, a, b, type);
  return std::nullopt;
}

std::optional<int64_t> resultOfOne(Operation* op, int64_t number, Type type) {
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return signedOf(number, type);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op))
    return int64_t(unsignedOf(number, type));
  return isa<arith::TruncIOp>(op) ? std::optional(number) : std::nullopt;
}

} // namespace

int64_t asOfType(int64_t number, Type type) {
  return bitsOfType(type) == 1 ? number & 1 : signedOf(number, type);
}

std::optional<int64_t> integerResult(Operation* op, ArrayRef<int64_t> numbers) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return std::nullopt;
  std::optional<int64_t> result;
  if (isa<arith::SelectOp>(op))
    result = numbers[0] ? numbers[1] : numbers[2];
  else if (numbers.size() == 2)
    result = resultOfTwo(op, numbers[0], numbers[1], op->getOperand(0).getType());
  else if (numbers.size() == 1)
    result = resultOfOne(op, numbers[0], op->getOperand(0).getType());
  return result ? std::optional(asOfType(*result, op->getResult(0).getType())) : std::nullopt;
}

} // namespace tilewright::ascend
