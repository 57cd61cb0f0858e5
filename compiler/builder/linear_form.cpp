// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/linear_form.h"

#include "compiler/ir/floor_divisor.h"
#include "compiler/ir/root_buffer.h"
#include "compiler/ir/tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::builder {
namespace {

bool addScaled(LinearForm& form, mlir::Value value, int64_t scale, int depth);

bool addTerm(LinearForm& form, mlir::Value variable, int64_t coefficient) {
  int64_t& sum = form.terms[variable];
  return !__builtin_add_overflow(sum, coefficient, &sum);
}

bool addConstant(LinearForm& form, int64_t number, int64_t scale) {
  int64_t product = 0;
  return !__builtin_mul_overflow(number, scale, &product) &&
         !__builtin_add_overflow(form.constant, product, &form.constant);
}

bool addProduct(LinearForm& form, mlir::arith::MulIOp product, int64_t scale, int depth) {
  for (auto [factor, other] : {std::pair(product.getLhs(), product.getRhs()),
                               std::pair(product.getRhs(), product.getLhs())}) {
    auto known = mlir::getConstantIntValue(factor);
    int64_t scaled = 0;
    if (known && !__builtin_mul_overflow(scale, *known, &scaled))
      return addScaled(form, other, scaled, depth);
  }
  return addTerm(form, product.getResult(),
                 scale); // of two that are unknown: a variable of its own
}

/// `vid * 64 // 2` is `vid * 32`: a sum of multiples of the divisor.
bool addQuotient(LinearForm& form, mlir::Value dividend, int64_t divisor, int64_t scale,
                 int depth) {
  LinearForm inner;
  if (!addScaled(inner, dividend, 1, depth) || inner.constant % divisor != 0)
    return false;
  inner.constant /= divisor;
  for (auto& [variable, coefficient] : inner.terms) {
    if (coefficient % divisor != 0)
      return false;
    coefficient /= divisor;
  }
  return form.add(inner, scale);
}

/// Numbers of fewer bits may well wrap around.
bool isWide(mlir::Type type) {
  return type.isIndex() || type.getIntOrFloatBitWidth() >= 32;
}

bool isOf64Bits(mlir::Type type) {
  return type.isIndex() || type.getIntOrFloatBitWidth() == 64;
}

bool addScaled(LinearForm& form, mlir::Value value, int64_t scale, int depth) {
  value = uncast(value);
  if (auto known = mlir::getConstantIntValue(value))
    return addConstant(form, *known, scale);
  mlir::Operation* op = value.getDefiningOp();
  // Indices are small expressions; what is deeper is let through.
  if (depth > 32)
    return false;
  if (!isWide(value.getType()))
    return addTerm(form, value, scale);
  if (auto sum = mlir::dyn_cast_if_present<mlir::arith::AddIOp>(op))
    return addScaled(form, sum.getLhs(), scale, depth + 1) &&
           addScaled(form, sum.getRhs(), scale, depth + 1);
  if (auto difference = mlir::dyn_cast_if_present<mlir::arith::SubIOp>(op))
    return addScaled(form, difference.getLhs(), scale, depth + 1) &&
           addScaled(form, difference.getRhs(), -scale, depth + 1);
  if (auto product = mlir::dyn_cast_if_present<mlir::arith::MulIOp>(op))
    return addProduct(form, product, scale, depth + 1);
  if (const std::optional<int64_t> divisor = tile::floorDivisor(op)) {
    LinearForm before = form;
    if (addQuotient(form, op->getOperand(0), *divisor, scale, depth + 1))
      return true;
    form = before;
  }
  return addTerm(form, value, scale);
}

/// Whether an operation leaves alone what `load` reads. An element that is stored is of one buffer.
bool leavesAlone(mlir::Operation& op, tile::LoadOp load) {
  if (auto store = mlir::dyn_cast<tile::StoreOp>(op)) {
    const mlir::Value read = rootBuffer(load.getBuffer());
    return read.getDefiningOp<tile::AllocOp>() && rootBuffer(store.getBuffer()) != read;
  }
  return mlir::isa<tile::LoadOp>(op) || mlir::isMemoryEffectFree(&op);
}

/// Whether all operations of a block before one do.
bool isLeftAloneBefore(mlir::Operation* end, tile::LoadOp load) {
  for (mlir::Operation* op = end->getPrevNode(); op; op = op->getPrevNode())
    if (!leavesAlone(*op, load))
      return false;
  return true;
}

/// The operation of a block in which a load stands that may be in branches; null if these write before it what it
/// reads, or other structures are in the way.
mlir::Operation* placeIn(mlir::Block* block, tile::LoadOp load) {
  mlir::Operation* op = load;
  for (; op->getBlock() != block; op = op->getParentOp())
    if (!mlir::isa_and_present<mlir::scf::IfOp>(op->getParentOp()) || !isLeftAloneBefore(op, load))
      return nullptr;
  return op;
}

/// Nothing is written from a load in the condition of the innermost `while` around another one to that.
bool isSameAsAsked(tile::LoadOp asked, tile::LoadOp load) {
  auto loop = mlir::dyn_cast<tile::WhileOp>(asked->getParentOp());
  if (!loop || load->getParentOfType<tile::WhileOp>() != loop ||
      asked->getParentRegion() != &loop.getCondition() ||
      !loop.getBody().isAncestor(load->getParentRegion()))
    return false;
  mlir::Operation* place = placeIn(&loop.getBody().front(), load);
  return place && isLeftAloneBefore(place, load) &&
         isLeftAloneBefore(asked->getBlock()->getTerminator(), load);
}

/// Nothing is written from the first of two loads to the second, which may stand in a branch, or in a loop of which the
/// first one asks: equal places give equal values.
bool nothingIsWrittenBetween(tile::LoadOp first, tile::LoadOp second) {
  if (isSameAsAsked(first, second) || isSameAsAsked(second, first))
    return true;
  if (!first->getBlock()->findAncestorOpInBlock(*second))
    std::swap(first, second);
  mlir::Operation *start = first, *end = placeIn(first->getBlock(), second);
  if (!end)
    return false;
  if (end->isBeforeInBlock(start))
    std::swap(start, end);
  for (mlir::Operation* op = start; op != end; op = op->getNextNode())
    if (!leavesAlone(*op, first))
      return false;
  return true;
}

/// `budget` bounds the comparisons.
bool isSame(mlir::Value left, mlir::Value right, int& budget) {
  if (left == right)
    return true;
  mlir::Operation *a = left.getDefiningOp(), *b = right.getDefiningOp();
  if (--budget < 0 || !a || !b || a->getNumRegions() || a->getNumResults() != 1)
    return false;
  bool isLoad = mlir::isa<tile::LoadOp>(a);
  if (!isLoad && !mlir::isMemoryEffectFree(a))
    return false;
  auto operandsAgree = [&](mlir::Value x, mlir::Value y) {
    return mlir::success(isSame(x, y, budget));
  };
  return mlir::OperationEquivalence::isEquivalentTo(a, b, operandsAgree, nullptr,
                                                    mlir::OperationEquivalence::IgnoreLocations) &&
         (!isLoad ||
          nothingIsWrittenBetween(mlir::cast<tile::LoadOp>(a), mlir::cast<tile::LoadOp>(b)));
}

} // namespace

mlir::Value uncast(mlir::Value number) {
  while (mlir::Operation* op = number.getDefiningOp()) {
    const mlir::Type type = op->getNumOperands() == 1 ? op->getOperand(0).getType() : mlir::Type();
    const bool keepsAll = mlir::isa<mlir::arith::ExtSIOp>(op) ||
                          (mlir::isa<mlir::arith::IndexCastOp>(op) && isWide(number.getType())) ||
                          (mlir::isa<mlir::arith::IndexCastUIOp>(op) && isOf64Bits(type) &&
                           isOf64Bits(number.getType()));
    if (!keepsAll)
      break;
    number = op->getOperand(0);
  }
  return number;
}

bool LinearForm::add(mlir::Value value, int64_t scale) {
  return addScaled(*this, value, scale, 0);
}

bool LinearForm::add(const LinearForm& other, int64_t scale) {
  if (!addConstant(*this, other.constant, scale))
    return false;
  for (auto [variable, coefficient] : other.terms) {
    int64_t product = 0;
    if (__builtin_mul_overflow(coefficient, scale, &product) || !addTerm(*this, variable, product))
      return false;
  }
  return true;
}

bool LinearForm::isConstant() const {
  return llvm::all_of(terms, [](const auto& term) { return term.second == 0; });
}

mlir::Value SameValues::firstLike(mlir::Value value) {
  for (mlir::Value first : firsts)
    if (isSame(first, value, budget))
      return first;
  firsts.push_back(value);
  return value;
}

void SameValues::join(LinearForm& form) {
  LinearForm joined;
  joined.constant = form.constant;
  for (auto [variable, coefficient] : form.terms)
    if (coefficient != 0 && !addTerm(joined, firstLike(variable), coefficient))
      return;
  form = std::move(joined);
}

} // namespace tilewright::builder
