// SPDX-License-Identifier: Apache-2.0
// Functions of T.tile whose expression is one instruction.
#include "compiler/targets/ascend/nest_vectorizer.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {

using namespace mlir;
using npu::BinaryKind;
using npu::ScalarKind;
using npu::UnaryKind;
using tile::BufferType;

static StringRef functionOf(tile::ParallelOp nest) {
  auto name = nest->getAttrOfType<StringAttr>("function");
  return name ? name.getValue() : StringRef();
}

/// The only store of a nest.
static tile::StoreOp storeOf(tile::ParallelOp nest) {
  auto stores = nest.getBodyBlock()->getOps<tile::StoreOp>();
  return llvm::hasSingleElement(stores) ? *stores.begin() : tile::StoreOp();
}

std::optional<NestVectorizer::Fused> NestVectorizer::fused() {
  const StringRef name = functionOf(nest);
  tile::StoreOp write = storeOf(nest);
  Operation* last = write ? write.getValue().getDefiningOp() : nullptr;
  if (!last || last->getBlock() != nest.getBodyBlock())
    return std::nullopt;
  const Type type = write.getValue().getType();
  if (!type.isF16() && !type.isF32())
    return std::nullopt;
  if (name == "axpy" || name == "mul_add_dst")
    return fusedSum(last, name == "axpy");
  if (name == "leaky_relu")
    return fusedSlope(last);
  auto quotient = dyn_cast<arith::DivFOp>(last);
  if (name == "reciprocal" && quotient && matchPattern(quotient.getLhs(), m_OneFloat())) {
    Fused found{last, {}, quotient.getRhs(), Value()};
    found.unary = UnaryKind::Reciprocal;
    return found;
  }
  return std::nullopt;
}

/// What the target held + source * factor.
std::optional<NestVectorizer::Fused> NestVectorizer::fusedSum(Operation* last, bool isByScalar) {
  auto sum = dyn_cast<arith::AddFOp>(last);
  auto product = sum ? sum.getRhs().getDefiningOp<arith::MulFOp>() : nullptr;
  auto before = sum ? sum.getLhs().getDefiningOp<tile::LoadOp>() : nullptr;
  if (!product || !product->hasOneUse() || !before ||
      before.getBuffer() != storeOf(nest).getBuffer() || scalarOf(product.getLhs()) ||
      bool(scalarOf(product.getRhs())) != isByScalar)
    return std::nullopt;
  Fused found{last, {product}, product.getLhs(), product.getRhs()};
  if (isByScalar)
    found.scalar = ScalarKind::Axpy;
  found.isUpdate = true;
  return found;
}

/// The source where it isn't negative, else the source * factor.
std::optional<NestVectorizer::Fused> NestVectorizer::fusedSlope(Operation* last) {
  auto choice = dyn_cast<arith::SelectOp>(last);
  auto condition = choice ? choice.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  auto scaled = choice ? choice.getTrueValue().getDefiningOp<arith::MulFOp>() : nullptr;
  if (!condition || !scaled || !condition->hasOneUse() || !scaled->hasOneUse() ||
      condition.getPredicate() != arith::CmpFPredicate::OLT ||
      condition.getLhs() != choice.getFalseValue() || scaled.getLhs() != choice.getFalseValue() ||
      !matchPattern(condition.getRhs(), m_AnyZeroFloat()) || !scalarOf(scaled.getRhs()))
    return std::nullopt;
  Fused found{last, {condition, scaled}, choice.getFalseValue(), scaled.getRhs()};
  found.scalar = ScalarKind::LeakyRelu;
  return found;
}

NestVectorizer::Tile NestVectorizer::computedAtOnce() {
  const Tile source = operandOf(atOnce->source);
  const bool isByTile = atOnce->factor && !atOnce->scalar;
  const Tile factor = isByTile ? operandOf(atOnce->factor) : Tile(VectorTile{});
  if (!source || !factor)
    return std::nullopt;
  const VectorTile target = targetOf(atOnce->last, tiles.elementOf(*source));
  if (atOnce->isUpdate && !storedDirectly.contains(storeOf(nest)))
    return none("it adds to other than each element of a tile once");
  if (atOnce->unary)
    tiles.unary(*atOnce->unary, target, *source);
  else if (atOnce->scalar)
    tiles.withScalar(*atOnce->scalar, target, *source, scalarOf(atOnce->factor));
  else
    tiles.binary(BinaryKind::MulAddDst, target, *source, *factor);
  return target;
}

/// Numbers that floats of this type count without a gap.
static int64_t exactNumbers(Type type) {
  return type.isF16() ? int64_t(1) << 11 : int64_t(1) << 24;
}

/// Behind conversions between integers, which count modulo the bits of the last one.
static Value withoutCasts(Value value) {
  while (
      isa_and_present<arith::IndexCastOp, arith::TruncIOp, arith::ExtSIOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool NestVectorizer::countUp() {
  tile::StoreOp write = storeOf(nest);
  if (functionOf(nest) != "createvecindex" || !write)
    return false;
  const Type type = write.getValue().getType();
  const bool isInteger = type.isInteger(16) || type.isInteger(32);
  if (!isInteger && ((!type.isF16() && !type.isF32()) || rows * columns > exactNumbers(type)))
    return false;
  Value number = withoutCasts(write.getValue()), first;
  if (Operation* sum = number.getDefiningOp(); isa_and_present<arith::AddFOp, arith::AddIOp>(sum))
    for (auto [one, other] : {std::pair{0U, 1U}, {1U, 0U}})
      if (Value scalar = scalarOf(sum->getOperand(one)); scalar && !first) {
        first = scalar;
        number = sum->getOperand(other);
      }
  if (auto real = number.getDefiningOp<arith::SIToFPOp>())
    number = real.getIn();
  number = withoutCasts(number);
  const std::optional<IndexForm> form = indices.of(number);
  const BufferType buffer = write.getBuffer().getType();
  const auto access = accessOf(buffer, write.getBuffer(), write.getIndices());
  if (!form || !access || access->walk != Walk::Tile || form->factors[1] != 1 ||
      (form->base && getConstantIntValue(form->base) != 0))
    return false;
  if (rows > 1 && (access->tile.pitch != columns || form->factors[0] != columns))
    return false;
  const Tile target = tiles.viewed(access->tile, storedType(type));
  if (!target)
    return false;
  if (!first)
    first = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  else if (first.getType().isIndex() && isInteger)
    first = arith::IndexCastOp::create(builder, type, first);
  else if (first.getType() != type)
    return false;
  tiles.countUp(*target, first);
  return true;
}

} // namespace tilewright::ascend
