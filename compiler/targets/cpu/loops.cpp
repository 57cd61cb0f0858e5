// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/loops.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/targets/cpu/carried_memory.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferType;

Value IndexMath::constant(int64_t value) const {
  return arith::ConstantIndexOp::create(builder, value);
}
Value IndexMath::value(OpFoldResult number) const {
  if (auto attribute = dyn_cast<Attribute>(number))
    return constant(cast<IntegerAttr>(attribute).getInt());
  return cast<Value>(number);
}
Value IndexMath::add(Value a, Value b) const {
  return builder.createOrFold<arith::AddIOp>(a, b);
}
Value IndexMath::sub(Value a, Value b) const {
  return builder.createOrFold<arith::SubIOp>(a, b);
}
Value IndexMath::mul(Value a, Value b) const {
  return builder.createOrFold<arith::MulIOp>(a, b);
}
Value IndexMath::min(Value a, Value b) const {
  return builder.createOrFold<arith::MinSIOp>(a, b);
}
Value IndexMath::max(Value a, Value b) const {
  return builder.createOrFold<arith::MaxSIOp>(a, b);
}
Value IndexMath::both(Value a, Value b) const {
  if (!a || !b)
    return a ? a : b;
  return builder.createOrFold<arith::AndIOp>(a, b);
}
Value IndexMath::atMost(Value a, Value b) const {
  return builder.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, a, b);
}
Value IndexMath::equal(Value a, Value b) const {
  return builder.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
}
Value IndexMath::dim(Value buffer, int64_t number) const {
  auto type = cast<BufferType>(buffer.getType());
  if (!type.isDynamicDim(number))
    return constant(type.getShape()[number]);
  return tile::DimOp::create(builder, buffer, number);
}

void buildNest(ImplicitLocOpBuilder& builder, ArrayRef<Range> ranges, NestBody body) {
  OpBuilder::InsertionGuard guard(builder);
  Value one = arith::ConstantIndexOp::create(builder, 1);
  SmallVector<Value> variables;
  for (const Range& range : ranges) {
    auto loop = scf::ForOp::create(builder, range.lower, range.upper, one);
    variables.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  body(builder, variables);
}

VectorShape chooseVectors(Operation* innermost, ArrayRef<Range> ranges, const Machine& machine) {
  if (!machine.isX86 || machine.vectorBits != 256)
    return {};
  int64_t turns = 1, length = 0;
  for (const Range& range : ranges) {
    std::optional<int64_t> lower = getConstantIntValue(range.lower);
    std::optional<int64_t> upper = getConstantIntValue(range.upper);
    if (!lower || !upper)
      return {};
    length = *upper - *lower;
    turns *= length;
  }
  int64_t exponentials = 0;
  bool roundsToBfloat = false;
  innermost->walk([&](Operation* op) {
    exponentials += isa<math::ExpOp, math::Exp2Op>(op);
    if (auto store = dyn_cast<tile::StoreOp>(op))
      roundsToBfloat |= cast<BufferType>(store.getBuffer().getType()).getElementType().isBF16();
  });
  const int64_t lanes = machine.vectorBits / 32;
  constexpr int64_t fewTurns = 256; // longer code gains nothing there
  if (exponentials && turns >= fewTurns) {
    for (int64_t count = exponentials == 1 ? 4 : 2; count > 1; count /= 2)
      if (length % (lanes * count) == 0)
        return {0, count};
  } else if (roundsToBfloat && length % (2 * lanes) == 0) {
    return {2 * lanes, 0};
  }
  return {};
}

static void markParallel(scf::ForOp innermost, VectorShape shape) {
  if (carriesMemory(innermost))
    return;
  MLIRContext* context = innermost->getContext();
  auto number = [&](int64_t value) {
    return value ? Builder(context).getI32IntegerAttr(int32_t(value)) : IntegerAttr();
  };
  auto group = LLVM::AccessGroupAttr::get(context);
  auto vectorize = LLVM::LoopVectorizeAttr::get(context, BoolAttr::get(context, false), {}, {},
                                                number(shape.width), {}, {}, {});
  LLVM::LoopInterleaveAttr sideBySide;
  LLVM::LoopUnrollAttr unroll;
  if (shape.sideBySide) {
    sideBySide = LLVM::LoopInterleaveAttr::get(context, number(shape.sideBySide));
    // That is long enough.
    unroll =
        LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
  }
  innermost->setAttr(kLoopAttr,
                     LLVM::LoopAnnotationAttr::get(context, {}, vectorize, sideBySide, unroll, {},
                                                   {}, {}, {}, {}, {}, {}, {}, {}, {}, group));
  innermost->walk([&](Operation* op) {
    Value buffer;
    if (auto load = dyn_cast<tile::LoadOp>(op))
      buffer = load.getBuffer();
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      buffer = store.getBuffer();
    if (buffer && !cast<BufferType>(buffer.getType()).isPerThread())
      op->setAttr(kAccessGroupAttr, group);
  });
}

void buildParallelNest(ImplicitLocOpBuilder& builder, ArrayRef<Range> ranges, NestBody body,
                       const Machine* machine) {
  buildNest(builder, ranges, [&](ImplicitLocOpBuilder& inner, ValueRange variables) {
    body(inner, variables);
    if (variables.empty())
      return;
    auto innermost = cast<scf::ForOp>(variables.back().getParentBlock()->getParentOp());
    markParallel(innermost, machine ? chooseVectors(innermost, ranges, *machine) : VectorShape());
  });
}

Value loadElement(ImplicitLocOpBuilder& builder, Value buffer, ValueRange indices) {
  auto type = cast<BufferType>(buffer.getType());
  return tile::LoadOp::create(builder, type.getScalarType(), buffer, indices, /*in_bounds=*/true);
}

void storeElement(ImplicitLocOpBuilder& builder, Value value, Value buffer, ValueRange indices) {
  tile::StoreOp::create(builder, value, buffer, indices, /*in_bounds=*/true);
}

Value zero(ImplicitLocOpBuilder& builder, Type type) {
  return arith::ConstantOp::create(builder, builder.getZeroAttr(type));
}

static bool isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

static Value convertFloat(ImplicitLocOpBuilder& builder, Value value, Type to) {
  const unsigned fromWidth = value.getType().getIntOrFloatBitWidth();
  const unsigned toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return arith::TruncFOp::create(
        builder, to, arith::ExtFOp::create(builder, builder.getF32Type(), value).getResult());
  if (fromWidth < toWidth)
    return arith::ExtFOp::create(builder, to, value);
  return arith::TruncFOp::create(builder, to, value);
}

Value convertElement(ImplicitLocOpBuilder& builder, Value value, Type from, Type to) {
  if (from == to)
    return value;
  auto toInteger = dyn_cast<IntegerType>(to);
  Type scalar = toInteger ? Type(builder.getIntegerType(toInteger.getWidth())) : to;
  const bool fromFloat = isa<FloatType>(from);
  if (to.isInteger(1)) {
    if (isa<Float8E8M0FNUType>(from)) // it has no 0 to compare with
      value = arith::ExtFOp::create(builder, builder.getF32Type(), value);
    Value none = zero(builder, value.getType());
    if (fromFloat)
      return arith::CmpFOp::create(builder, arith::CmpFPredicate::UNE, value, none);
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, value, none);
  }
  if (fromFloat && !toInteger)
    return convertFloat(builder, value, to);
  if (fromFloat)
    return isUnsigned(to) ? Value(arith::FPToUIOp::create(builder, scalar, value))
                          : Value(arith::FPToSIOp::create(builder, scalar, value));
  if (!toInteger)
    return isUnsigned(from) ? Value(arith::UIToFPOp::create(builder, scalar, value))
                            : Value(arith::SIToFPOp::create(builder, scalar, value));
  const unsigned fromWidth = from.getIntOrFloatBitWidth();
  if (fromWidth == toInteger.getWidth())
    return value;
  if (fromWidth > toInteger.getWidth())
    return arith::TruncIOp::create(builder, scalar, value);
  return isUnsigned(from) ? Value(arith::ExtUIOp::create(builder, scalar, value))
                          : Value(arith::ExtSIOp::create(builder, scalar, value));
}

} // namespace tilewright::cpu
