// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/vector_nest.h"

#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/float_formats.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/stream_stores.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferType;

namespace {

/// Whether consecutive indices of the last dim are consecutive in memory.
bool isDense(Value buffer) {
  return buffer.getDefiningOp<tile::AllocOp>() || isDenseTensor(buffer);
}

bool isFloatOnVectors(Type type) {
  return type.isF32() || type.isF16() || type.isBF16();
}

Type elementOf(Value buffer) {
  return cast<BufferType>(buffer.getType()).getElementType();
}

/// Lanes `first`, `first + step`, ... of the lanes of `a` and, behind them, of `b`.
Value pick(ImplicitLocOpBuilder& builder, Value a, Value b, int64_t first, int64_t step,
           int64_t count) {
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < count; ++lane)
    lanes.push_back(first + lane * step);
  return vector::ShuffleOp::create(builder, a, b, lanes);
}

Value part(ImplicitLocOpBuilder& builder, Value vector, int64_t first, int64_t count) {
  return pick(builder, vector, vector, first, 1, count);
}

Value joined(ImplicitLocOpBuilder& builder, Value a, Value b) {
  return pick(builder, a, b, 0, 1, 2 * cast<VectorType>(a.getType()).getNumElements());
}

/// The even lanes of a vector, then the odd ones; and back.
Value apart(ImplicitLocOpBuilder& builder, Value vector) {
  const int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  return joined(builder, pick(builder, vector, vector, 0, 2, count / 2),
                pick(builder, vector, vector, 1, 2, count / 2));
}

Value inTurns(ImplicitLocOpBuilder& builder, Value vector) {
  const int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < count; ++lane)
    lanes.push_back(lane / 2 + (lane % 2) * count / 2);
  return vector::ShuffleOp::create(builder, vector, vector, lanes);
}

Value splat(ImplicitLocOpBuilder& builder, VectorType type, uint32_t number) {
  Attribute element = builder.getI32IntegerAttr(int32_t(number));
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(type, element));
}

} // namespace

bool isApart(tile::ParallelOp nest) {
  return llvm::any_of(nest->getRegion(0).front(),
                      [](Operation& op) { return op.hasAttr(kApartAttr); });
}

VectorNest::VectorNest(tile::ParallelOp nest, const Machine& machine)
    : nest(nest), lanes(machine.vectorBits / 32),
      hasPairs(machine.isX86 && machine.vectorBits >= 256),
      hasWideVectors(machine.vectorBits == 512) {}

bool VectorNest::fits(llvm::function_ref<bool(Operation*)> mayAccess) {
  moving.insert(nest.getInductionVars().back());
  for (Operation& op : nest.getBodyBlock()->without_terminator())
    if (!take(&op, mayAccess))
      return false;
  return true;
}

/// Whether an op can be done once a row or on vectors.
bool VectorNest::take(Operation* op, llvm::function_ref<bool(Operation*)> mayAccess) {
  const bool moves = llvm::any_of(op->getOperands(), [&](Value value) { return isMoving(value); });
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (!load.getInBounds() || !mayAccess(op) ||
        (moves && !isAlongRow(load.getBuffer(), load.getIndices())))
      return false;
  } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
    return store.getInBounds() && mayAccess(op) &&
           isAlongRow(store.getBuffer(), store.getIndices());
  } else if (op->getNumRegions() || op->getNumResults() != 1 || !isPure(op)) {
    return false;
  } else if (moves && !isOnVectors(op)) {
    return false;
  }
  if (moves)
    moving.insert(op->getResult(0));
  return true;
}

/// Whether the last variable moves the last index alone, element by element.
bool VectorNest::isAlongRow(Value buffer, ValueRange indices) const {
  const auto type = cast<BufferType>(buffer.getType());
  return !indices.empty() && isDense(buffer) && !type.isPerThread() &&
         isFloatOnVectors(type.getElementType()) && isMoving(indices.back()) &&
         llvm::none_of(indices.drop_back(), [&](Value index) { return isMoving(index); });
}

/// A sum of the last variable and what stays, or arithmetic on floats.
bool VectorNest::isOnVectors(Operation* op) const {
  if (isa<arith::AddIOp>(op) && op->getResult(0).getType().isIndex())
    return isMoving(op->getOperand(0)) != isMoving(op->getOperand(1));
  if (isa_and_nonnull<math::MathDialect>(op->getDialect())) {
    if (!isa<math::ExpOp, math::Exp2Op, math::FmaOp, math::AbsFOp, math::SqrtOp>(op))
      return false;
  } else if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
                  arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                  arith::CmpFOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp>(op)) {
    return false;
  }
  auto isFine = [](Type type) { return isFloatOnVectors(type) || type.isInteger(1); };
  return llvm::all_of(op->getOperandTypes(), isFine) && llvm::all_of(op->getResultTypes(), isFine);
}

/// By pairs, bfloat16 is float32 from the load on and up to the store.
bool VectorNest::isFineForPairs(Operation* op) const {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return isMoving(store.getValue()) && !elementOf(store.getBuffer()).isF16();
  if (!isMoving(op->getResult(0)) || op->getResult(0).getType().isIndex())
    return true;
  const Type type = op->getResult(0).getType();
  auto isUser = [](Operation* user) { return isa<tile::StoreOp>(user); };
  if (isa<tile::LoadOp>(op))
    return type.isF32() || (type.isBF16() && llvm::all_of(op->getUsers(), [&](Operation* user) {
                              return isUser(user) || isa<arith::ExtFOp>(user);
                            }));
  if (isa<arith::TruncFOp>(op))
    return type.isBF16() && llvm::all_of(op->getUsers(), isUser);
  if (isa<arith::ExtFOp>(op))
    return isMoving(op->getOperand(0)) && op->getOperand(0).getType().isBF16();
  auto isWide = [](Type of) { return of.isF32() || of.isInteger(1); };
  return isWide(type) && llvm::all_of(op->getOperandTypes(), isWide);
}

bool VectorNest::goesByPairs(int64_t count) const {
  const std::optional<int64_t> gain = gainByPairs(count);
  return gain && (*gain > 0 || isApart(nest));
}

int64_t VectorNest::lanesOfRow() {
  int64_t count = 4 * lanes;
  while (count > 1 && (ShapedType::isDynamic(columns()) || columns() % count != 0))
    count /= 2;
  return count;
}

std::optional<int64_t> VectorNest::gainByPairs(int64_t count) const {
  if (!hasPairs || count % (2 * lanes) != 0)
    return std::nullopt;
  // In vector operations: on AVX-512 elements in order cost two shuffles for each access of float32, and one for each
  // store of bfloat16; widening in order costs three more for each load. AVX2 shuffles within halves of a vector, twice
  // as often, and stores words of two elements as they are; in order it packs, shuffles and shifts once more.
  int64_t gain = 0;
  for (Operation& op : nest->getRegion(0).front().without_terminator()) {
    if (!isFineForPairs(&op))
      return std::nullopt;
    if (auto apart = op.getAttrOfType<IntegerAttr>(kApartAttr)) {
      if (apart.getInt() != count)
        return std::nullopt;
    } else if (auto load = dyn_cast<tile::LoadOp>(op); load && isMoving(load.getResult()))
      gain += load.getResult().getType().isBF16() ? 3 : -shufflesOfFloats();
    else if (auto store = dyn_cast<tile::StoreOp>(op); store && store != unstored)
      gain -=
          elementOf(store.getBuffer()).isBF16() ? (hasWideVectors ? 1 : -2) : shufflesOfFloats();
  }
  return gain;
}

std::optional<VectorBody> VectorBody::make(VectorNest& nest, int64_t lanes, bool byPairs,
                                           bool roundsNatively) {
  const bool isHeld = llvm::all_of(*nest.nest.getBodyBlock(), [&](Operation& op) {
    auto apart = op.getAttrOfType<IntegerAttr>(kApartAttr);
    return !apart || (byPairs && apart.getInt() == lanes);
  });
  if (!isHeld)
    return std::nullopt;
  return VectorBody(nest, lanes, byPairs, roundsNatively);
}

Value VectorBody::spread(ImplicitLocOpBuilder& builder, Value value) const {
  return vector::BroadcastOp::create(builder, VectorType::get({lanes}, value.getType()), value);
}

void VectorBody::spreadInvariants(ImplicitLocOpBuilder& builder, const IRMapping& known,
                                  IRMapping& values) const {
  auto spreadOut = [&](Value value) {
    if (!nest.isMoving(value) && !values.contains(value))
      values.map(value, spread(builder, known.lookupOrDefault(value)));
  };
  for (Operation& op : nest.nest.getBodyBlock()->without_terminator()) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      spreadOut(store.getValue());
    else if (nest.isMoving(op.getResult(0)) && !isa<tile::LoadOp, arith::AddIOp>(op))
      llvm::for_each(op.getOperands(), spreadOut);
  }
}

Value VectorBody::vectorOf(ImplicitLocOpBuilder& builder, Value value, const IRMapping& scalars,
                           IRMapping& values) const {
  if (!values.contains(value))
    values.map(value, spread(builder, scalars.lookupOrDefault(value)));
  return values.lookup(value);
}

Value VectorBody::load(ImplicitLocOpBuilder& builder, tile::LoadOp op, ValueRange at) const {
  Value buffer = op.getBuffer();
  if (!byPairs || op->hasAttr(kApartAttr))
    return loadVector(builder, buffer, at, lanes);
  if (!elementOf(buffer).isBF16())
    return apart(builder, loadVector(builder, buffer, at, lanes));
  auto type = VectorType::get({lanes / 2}, builder.getI32Type());
  auto floats = type.clone(builder.getF32Type());
  Value words = LLVM::LoadOp::create(builder, type, addressOf(builder, buffer, at), 2);
  Value even = arith::ShLIOp::create(builder, words, splat(builder, type, 16));
  Value odd = arith::AndIOp::create(builder, words, splat(builder, type, 0xffff0000));
  return joined(builder, arith::BitcastOp::create(builder, floats, even),
                arith::BitcastOp::create(builder, floats, odd));
}

/// All lanes rounded to bfloat16, in the elements' order, as bits.
Value VectorBody::toBfloat(ImplicitLocOpBuilder& builder, Value value, Rounding how) const {
  const auto bits = VectorType::get({lanes}, builder.getI16Type());
  if (!roundsNatively && byPairs)
    return vector::BitCastOp::create(builder, bits,
                                     roundToBfloatPairs(builder, part(builder, value, 0, lanes / 2),
                                                        part(builder, value, lanes / 2, lanes / 2),
                                                        how));
  if (!roundsNatively)
    return arith::BitcastOp::create(builder, bits,
                                    roundToSmall(builder, value, builder.getBF16Type(), how));
  // One instruction rounds two vectors.
  const int64_t width = nest.lanes;
  auto two = VectorType::get({2 * width}, builder.getBF16Type());
  Value result;
  for (int64_t at = 0; at < lanes; at += 2 * width) {
    Value low = part(builder, value, byPairs ? at / 2 : at, width);
    Value high = part(builder, value, byPairs ? lanes / 2 + at / 2 : at + width, width);
    Value rounded =
        LLVM::CallIntrinsicOp::create(
            builder, two, builder.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
            ValueRange{high, low})
            .getResult(0);
    rounded = arith::BitcastOp::create(builder, two.clone(builder.getI16Type()), rounded);
    if (byPairs)
      rounded = inTurns(builder, rounded);
    result = result ? joined(builder, result, rounded) : rounded;
  }
  return result;
}

void VectorBody::store(ImplicitLocOpBuilder& builder, Value value, tile::StoreOp op,
                       ValueRange at) const {
  Value buffer = op.getBuffer();
  if (elementOf(buffer).isBF16() && getElementTypeOrSelf(value.getType()).isF32())
    value = toBfloat(builder, value, roundingOf(op.getValue()));
  else if (byPairs && !op->hasAttr(kApartAttr))
    value = inTurns(builder, value);
  storeVector(builder, value, buffer, at, op->hasAttr(kStreamAttr));
}

/// Whether a conversion happens when its operand is loaded, or its result is stored.
bool VectorBody::convertsWithAccess(Operation& op) const {
  if (byPairs && isa<arith::ExtFOp>(op))
    return true;
  return isa<arith::TruncFOp>(op) && op.getResult(0).getType().isBF16() &&
         op.getOperand(0).getType().isF32() && (byPairs || roundsNatively) &&
         llvm::all_of(op.getUsers(), llvm::IsaPred<tile::StoreOp>);
}

Value VectorBody::step(ImplicitLocOpBuilder& builder, Operation& op, IRMapping& indices,
                       IRMapping& values, tile::StoreOp dead) const {
  auto places = [&](ValueRange at) {
    return llvm::map_to_vector(at, [&](Value index) { return indices.lookupOrDefault(index); });
  };
  if (auto store = dyn_cast<tile::StoreOp>(op)) {
    Value value = vectorOf(builder, store.getValue(), indices, values);
    if (store != dead)
      this->store(builder, value, store, places(store.getIndices()));
    return value;
  }
  if (!nest.isMoving(op.getResult(0)))
    return {};
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    values.map(load.getResult(), this->load(builder, load, places(load.getIndices())));
  } else if (op.getResult(0).getType().isIndex()) {
    builder.clone(op, indices);
  } else if (convertsWithAccess(op)) {
    values.map(op.getResult(0), vectorOf(builder, op.getOperand(0), indices, values));
  } else {
    OperationState state(op.getLoc(), op.getName());
    for (Value operand : op.getOperands())
      state.addOperands(vectorOf(builder, operand, indices, values));
    state.addTypes(VectorType::get({lanes}, op.getResult(0).getType()));
    state.attributes = op.getDiscardableAttrDictionary();
    state.propertiesAttr = op.getPropertiesAsAttribute();
    values.map(op.getResult(0), builder.create(state)->getResult(0));
  }
  return {};
}

/// With fast math: exponentials and quotients, which the machine has instructions for that LLVM's vectoriser doesn't
/// find (cpu-expand-exponentials, cpu-expand-divisions).
static bool hasExpansions(VectorNest& vectors) {
  return llvm::any_of(*vectors.nest.getBodyBlock(), [&](Operation& op) {
    return isa<arith::DivFOp, math::ExpOp, math::Exp2Op>(op) && op.getResult(0).getType().isF32() &&
           vectors.isMoving(op.getResult(0));
  });
}

bool emitOnVectors(ImplicitLocOpBuilder& builder, tile::ParallelOp nest, const Machine& machine,
                   bool isFast) {
  const ArrayRef<int64_t> extents = nest.getStaticExtents();
  VectorNest vectors(nest, machine);
  const int64_t lanes = vectors.lanesOfRow();
  if (lanes < 2 * vectors.lanes || !vectors.fits([](Operation*) { return true; }))
    return false;
  auto isRounded = [&](Operation& op) {
    auto store = dyn_cast<tile::StoreOp>(op);
    return store && elementOf(store.getBuffer()).isBF16() &&
           isa_and_nonnull<arith::TruncFOp>(store.getValue().getDefiningOp());
  };
  const bool rounds = isFast && machine.hasBf16Dot && llvm::any_of(*nest.getBodyBlock(), isRounded);
  const bool byPairs = vectors.goesByPairs(lanes);
  const std::optional<VectorBody> body = VectorBody::make(vectors, lanes, byPairs, rounds);
  const bool expands = isFast && machine.hasTwoWideMultipliers && hasExpansions(vectors);
  if (!body || (!byPairs && !rounds && !expands))
    return false;
  IndexMath math(builder);
  SmallVector<Range> ranges;
  for (OpFoldResult extent : nest.getMixedExtents())
    ranges.push_back({math.constant(0), math.value(extent)});
  buildNest(builder, ArrayRef(ranges).drop_back(), [&](ImplicitLocOpBuilder& row, ValueRange at) {
    IRMapping known, still;
    known.map(nest.getInductionVars().drop_back(), at);
    for (Operation& op : nest.getBodyBlock()->without_terminator())
      if (!isa<tile::StoreOp>(op) && !vectors.isMoving(op.getResult(0)))
        row.clone(op, known);
    body->spreadInvariants(row, known, still);
    IndexMath rowMath(row);
    auto loop = scf::ForOp::create(row, rowMath.constant(0), rowMath.constant(extents.back()),
                                   rowMath.constant(lanes));
    OpBuilder::InsertionGuard guard(row);
    row.setInsertionPointToStart(loop.getBody());
    known.map(nest.getInductionVars().back(), loop.getInductionVar());
    for (Operation& op : nest.getBodyBlock()->without_terminator())
      body->step(row, op, known, still);
  });
  return true;
}

} // namespace tilewright::cpu
