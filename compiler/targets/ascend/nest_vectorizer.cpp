// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/nest_vectorizer.h"

#include "compiler/targets/ascend/cast_steps.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

static std::optional<npu::BinaryKind> binaryKind(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<npu::BinaryKind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return npu::BinaryKind::Add; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return npu::BinaryKind::Sub; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return npu::BinaryKind::Mul; })
      .Case<arith::DivFOp>([](auto) { return npu::BinaryKind::Div; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [](auto) { return npu::BinaryKind::Max; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [](auto) { return npu::BinaryKind::Min; })
      .Default([](auto) { return std::nullopt; });
}

/// The form with a scalar on the right.
static std::optional<npu::ScalarKind> scalarKind(npu::BinaryKind kind) {
  switch (kind) {
  case npu::BinaryKind::Add:
    return npu::ScalarKind::Add;
  case npu::BinaryKind::Mul:
    return npu::ScalarKind::Mul;
  case npu::BinaryKind::Max:
    return npu::ScalarKind::Max;
  case npu::BinaryKind::Min:
    return npu::ScalarKind::Min;
  default:
    return std::nullopt;
  }
}

static std::optional<npu::UnaryKind> unaryKind(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<npu::UnaryKind>>(op)
      .Case<math::ExpOp>([](auto) { return npu::UnaryKind::Exp; })
      .Case<math::LogOp>([](auto) { return npu::UnaryKind::Ln; })
      .Case<math::SqrtOp>([](auto) { return npu::UnaryKind::Sqrt; })
      .Case<math::RsqrtOp>([](auto) { return npu::UnaryKind::Rsqrt; })
      .Case<math::AbsFOp>([](auto) { return npu::UnaryKind::Abs; })
      .Default([](auto) { return std::nullopt; });
}

static bool isCast(Operation* op) {
  return isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::FPToSIOp>(op);
}

/// As it lies in a buffer: integers get a sign.
static Type storedType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? IntegerType::get(type.getContext(), integer.getWidth(), IntegerType::Signed)
                 : type;
}

static bool isVectorType(Type type) {
  return type.isF16() || type.isF32() || type.isInteger(16) || type.isInteger(32);
}

NestVectorizer::NestVectorizer(tile::ParallelOp nest, bool waits)
    : nest(nest), waits(waits), builder(nest.getLoc(), nest), make(builder) {}

bool NestVectorizer::isUniform(Value value) {
  return !nest.getBody().isAncestor(value.getParentRegion());
}

NestVectorizer::Walk NestVectorizer::walkOf(BufferType type, ValueRange indices) {
  const ValueRange own = nest.getInductionVars();
  SmallVector<int> used; // the nest's dim that stands at each index; -1: none of them
  for (Value index : indices) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (argument && argument.getOwner() == own[0].getParentBlock())
      used.push_back(int(argument.getArgNumber()));
    else if (isUniform(index))
      used.push_back(-1);
    else
      return Walk::None;
  }
  const int last = int(own.size()) - 1;
  SmallVector<int> wide;
  for (auto [dim, number] : llvm::enumerate(used))
    if (number >= 0)
      wide.push_back(number);
  if (wide.empty())
    return Walk::Fixed;
  const bool endsInRow = used.back() >= 0;
  const SmallVector<int64_t> strides = ubStrides(type);
  if (int(wide.size()) == last + 1 && endsInRow && llvm::is_sorted(wide)) {
    if (last == 0)
      return Walk::Tile;
    const bool isWholeRow = type.getShape().back() == columns;
    const bool isNeighbour = used.size() >= 2 && used[used.size() - 2] == 0;
    return isWholeRow && isNeighbour ? Walk::Tile : Walk::None;
  }
  if (last == 1 && wide.size() == 1 && wide[0] == 1 && endsInRow)
    return Walk::Columns;
  if (last == 1 && wide.size() == 1 && wide[0] == 0)
    for (auto [dim, number] : llvm::enumerate(used))
      if (number == 0 && strides[dim] == 1)
        return Walk::Rows;
  return Walk::None;
}

std::optional<std::string> NestVectorizer::obstacleOfAccess(Operation* op, BufferType type,
                                                            ValueRange indices, bool isStore) {
  const Walk walk = walkOf(type, indices);
  if (walk == Walk::Fixed && !isStore)
    return type.getSpace() == MemorySpace::UB || type.isPerThread()
               ? std::nullopt
               : std::optional<std::string>("it reads single elements of global memory");
  if (type.getSpace() != MemorySpace::UB)
    return "it accesses memory other than UB";
  if (!isVectorType(type.getElementType()))
    return "the vector unit does not compute in its element type";
  if (walk == Walk::None || (isStore && walk != Walk::Tile))
    return "it accesses a buffer by other indices than the nest's own";
  if ((walk == Walk::Rows || walk == Walk::Columns) && !type.getElementType().isF16() &&
      !type.getElementType().isF32())
    return "it spreads integers over rows or columns";
  if (walk == Walk::Rows && rows % 8 != 0)
    return "it spreads a number per row over rows that are no multiple of 8";
  return std::nullopt;
}

std::optional<std::string> NestVectorizer::obstacleOf(Operation* op) {
  if (isa<tile::YieldOp>(op))
    return std::nullopt;
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return obstacleOfAccess(op, load.getBuffer().getType(), load.getIndices(), false);
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return obstacleOfAccess(op, store.getBuffer().getType(), store.getIndices(), true);
  if (isa<arith::ConstantOp>(op))
    return std::nullopt;
  const std::string name = op->getName().getStringRef().str();
  if (op->getNumRegions() != 0 || op->getNumResults() != 1)
    return "it holds '" + name + "'";
  if (llvm::any_of(op->getOperands(),
                   [&](Value v) { return isa<BlockArgument>(v) && !isUniform(v); }))
    return "it computes with its indices";
  const Type type = op->getResult(0).getType();
  if (isCast(op)) {
    std::optional<SmallVector<CastStep>> steps =
        castSteps(storedType(op->getOperand(0).getType()), storedType(type));
    return steps && steps->size() == 1 ? std::nullopt
                                       : std::optional<std::string>("it converts in two steps");
  }
  if ((binaryKind(op) || unaryKind(op) || isa<arith::NegFOp>(op)) && isVectorType(type))
    return std::nullopt;
  return "the vector unit has no '" + name + "' of its element type";
}

std::optional<std::string> NestVectorizer::obstacle() {
  SmallVector<int64_t> extents;
  for (OpFoldResult extent : nest.getMixedExtents())
    extents.push_back(getConstantIntValue(extent).value_or(ShapedType::kDynamic));
  if (extents.size() > 2 || llvm::is_contained(extents, ShapedType::kDynamic))
    return "its extents are not one or two numbers";
  columns = extents.back();
  rows = extents.size() == 2 ? extents[0] : 1;
  if (rows * columns == 0)
    return "it has no iterations";
  DenseSet<Value> stored;
  for (Operation& op : *nest.getBodyBlock()) {
    if (std::optional<std::string> reason = obstacleOf(&op))
      return reason;
    // A number read before a store is that of before: a later read would take the new one.
    if (auto store = dyn_cast<tile::StoreOp>(op))
      stored.insert(npu::storageOf(store.getBuffer()));
    for (Value operand : op.getOperands())
      if (auto load = operand.getDefiningOp<tile::LoadOp>();
          load && !isa<tile::StoreOp>(op) && stored.contains(npu::storageOf(load.getBuffer())) &&
          !isUniform(operand))
        return "it uses what a buffer held before it was written";
  }
  return std::nullopt;
}

Value NestVectorizer::firstElement(BufferType type, ValueRange indices) {
  SmallVector<OpFoldResult> first;
  for (Value index : indices)
    first.push_back(isUniform(index) ? OpFoldResult(index) : make.index(0));
  return make.value(ubOffset(make, type, first));
}

void NestVectorizer::barrier() {
  if (waits)
    PipeBarrierOp::create(builder, Pipe::V);
}

NestValue NestVectorizer::makeTile(Type element) {
  SmallVector<int64_t> shape{columns};
  if (rows != 1)
    shape.insert(shape.begin(), rows);
  Value buffer =
      tile::AllocOp::create(builder, BufferType::get(shape, storedType(element), MemorySpace::UB),
                            builder.getStringAttr("t"), IntegerAttr());
  return {Value(), buffer, make.constant(0)};
}

/// Elements of the tile as it lies in UB, with what pads its rows.
static Value countOf(const IndexMaker& make, int64_t rows, int64_t columns, Type element) {
  const auto type = BufferType::get({rows, columns}, storedType(element), MemorySpace::UB);
  return make.constant((rows - 1) * npu::rowPitch(type) + columns);
}

NestValue NestVectorizer::makeTarget(Operation* op) {
  Value result = op->getResult(0);
  if (result.hasOneUse())
    if (auto store = dyn_cast<tile::StoreOp>(*result.user_begin());
        store && store->getBlock() == op->getBlock()) {
      // Nothing between here and the store may still need what the buffer holds.
      bool isNeeded = false;
      for (Operation* next = op->getNextNode(); next != store; next = next->getNextNode())
        for (Value operand : next->getOperands())
          if (auto load = operand.getDefiningOp<tile::LoadOp>())
            isNeeded |= npu::storageOf(load.getBuffer()) == npu::storageOf(store.getBuffer());
      if (!isNeeded) {
        storedDirectly.insert(store);
        return {Value(), store.getBuffer(),
                firstElement(store.getBuffer().getType(), store.getIndices())};
      }
    }
  return makeTile(result.getType());
}

NestValue NestVectorizer::valueOf(Value value) {
  auto found = values.find(value);
  return found == values.end() ? NestValue{value, Value(), Value()} : found->second;
}

NestValue NestVectorizer::asTile(Value value) {
  NestValue known = valueOf(value);
  if (!known.scalar)
    return known;
  NestValue made = makeTile(value.getType());
  npu::DuplicateOp::create(builder, made.buffer, made.offset, known.scalar,
                           countOf(make, rows, columns, value.getType()), npu::RepeatAttr());
  barrier();
  values[value] = made;
  return made;
}

void NestVectorizer::load(tile::LoadOp op) {
  const BufferType type = op.getBuffer().getType();
  const Walk walk = walkOf(type, op.getIndices());
  if (walk == Walk::Fixed) {
    op->moveBefore(nest);
    builder.setInsertionPoint(nest);
    return;
  }
  const NestValue source{Value(), op.getBuffer(), firstElement(type, op.getIndices())};
  if (walk == Walk::Tile) {
    values[op.getValue()] = source;
    return;
  }
  const int64_t scratch = walk == Walk::Rows ? rows * npu::kBlockBytes : npu::kBlockBytes;
  Value space = tile::AllocOp::create(
      builder,
      BufferType::get({scratch}, IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned),
                      MemorySpace::UB),
      builder.getStringAttr("scratch"), IntegerAttr());
  NestValue made = makeTile(op.getValue().getType());
  const auto pitch = uint64_t(npu::rowPitch(cast<BufferType>(made.buffer.getType())));
  npu::BroadcastOp::create(builder, made.buffer, made.offset, source.buffer, source.offset, space,
                           make.constant(0), uint64_t(scratch), uint64_t(rows), uint64_t(columns),
                           pitch, uint64_t(walk == Walk::Rows ? 1 : 0));
  barrier();
  values[op.getValue()] = made;
}

void NestVectorizer::binary(Operation* op) {
  npu::BinaryKind kind = *binaryKind(op);
  Value left = op->getOperand(0), right = op->getOperand(1);
  std::optional<npu::ScalarKind> withScalar = scalarKind(kind);
  if (withScalar && valueOf(left).scalar)
    std::swap(left, right);
  Value factor = valueOf(right).scalar;
  if (factor && kind == npu::BinaryKind::Sub) {
    // x - s is x + (-s), to the last bit.
    withScalar = npu::ScalarKind::Add;
    if (isa<FloatType>(factor.getType())) {
      factor = arith::NegFOp::create(builder, factor);
    } else {
      Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(factor.getType()));
      factor = arith::SubIOp::create(builder, zero, factor);
    }
  }
  const NestValue a = asTile(left);
  const NestValue b = factor && withScalar ? NestValue{} : asTile(right);
  const NestValue target = makeTarget(op);
  Value count = countOf(make, rows, columns, op->getResult(0).getType());
  if (factor && withScalar)
    npu::ScalarOp::create(builder, *withScalar, target.buffer, target.offset, a.buffer, a.offset,
                          factor, count, npu::RepeatAttr());
  else
    npu::BinaryOp::create(builder, kind, target.buffer, target.offset, a.buffer, a.offset, b.buffer,
                          b.offset, count, npu::RepeatAttr());
  values[op->getResult(0)] = target;
}

void NestVectorizer::unary(Operation* op) {
  const NestValue source = asTile(op->getOperand(0));
  const NestValue target = makeTarget(op);
  const Type type = op->getResult(0).getType();
  Value count = countOf(make, rows, columns, type);
  if (isCast(op)) {
    const CastStep step =
        castSteps(storedType(op->getOperand(0).getType()), storedType(type))->front();
    npu::CastOp::create(builder, target.buffer, target.offset, source.buffer, source.offset,
                        step.rounding, count, npu::RepeatAttr());
  } else if (isa<arith::NegFOp>(op)) {
    Value minusOne = arith::ConstantOp::create(builder, builder.getFloatAttr(type, -1.0));
    npu::ScalarOp::create(builder, npu::ScalarKind::Mul, target.buffer, target.offset,
                          source.buffer, source.offset, minusOne, count, npu::RepeatAttr());
  } else {
    npu::UnaryOp::create(builder, *unaryKind(op), target.buffer, target.offset, source.buffer,
                         source.offset, count, npu::RepeatAttr());
  }
  values[op->getResult(0)] = target;
}

void NestVectorizer::compute(Operation* op) {
  const bool isScalar =
      llvm::all_of(op->getOperands(), [&](Value v) { return bool(valueOf(v).scalar); });
  if (isScalar) {
    op->moveBefore(nest);
    builder.setInsertionPoint(nest);
    return;
  }
  binaryKind(op) ? binary(op) : unary(op);
  barrier();
}

void NestVectorizer::store(tile::StoreOp op) {
  if (storedDirectly.contains(op))
    return;
  const BufferType type = op.getBuffer().getType();
  Value offset = firstElement(type, op.getIndices());
  Value count = countOf(make, rows, columns, op.getValue().getType());
  const NestValue source = valueOf(op.getValue());
  if (source.scalar)
    npu::DuplicateOp::create(builder, op.getBuffer(), offset, source.scalar, count,
                             npu::RepeatAttr());
  else
    npu::BinaryOp::create(builder, npu::BinaryKind::Max, op.getBuffer(), offset, source.buffer,
                          source.offset, source.buffer, source.offset, count, npu::RepeatAttr());
  barrier();
}

void NestVectorizer::run() {
  for (Operation& op : llvm::make_early_inc_range(*nest.getBodyBlock())) {
    builder.setLoc(op.getLoc());
    if (auto read = dyn_cast<tile::LoadOp>(op))
      load(read);
    else if (auto write = dyn_cast<tile::StoreOp>(op))
      store(write);
    else if (!isa<tile::YieldOp>(op))
      compute(&op);
  }
  nest.erase();
}

} // namespace tilewright::ascend
