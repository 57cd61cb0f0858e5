// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/tile_operations.h"

#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;
using Result = TileOperations::Result;

/// What the functions that Ascend C composes of several instructions need at least.
static constexpr int64_t kFunctionScratchBytes = 8192;
/// Brcb reads so many numbers at once.
static constexpr int64_t kBroadcastRows = 8;

/// In memory, where a bool takes a byte.
static int64_t bitsOf(Type element) {
  return element.isInteger(1) ? 8 : int64_t(element.getIntOrFloatBitWidth());
}

Type storedType(Type type) {
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 32, IntegerType::Signed);
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.isSignless()
             ? IntegerType::get(type.getContext(), integer.getWidth(), IntegerType::Signed)
             : type;
}

static Type signedInteger(MLIRContext* context, unsigned bits) {
  return IntegerType::get(context, bits, IntegerType::Signed);
}

// --- tiles --------------------------------------------------------------------------------------

int64_t TileOperations::pitchOf(Type element) const {
  return rows == 1 ? columns
                   : npu::rowPitch(BufferType::get({rows, columns}, element, MemorySpace::UB));
}

Value TileOperations::makeBuffer(int64_t size, Type element, const char* name) {
  return makeTemporary(builder, builder.getLoc(), {size}, element, name);
}

Value TileOperations::makeScratch(int64_t bytes) {
  return makeBuffer(bytes, IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned),
                    "scratch");
}

VectorTile TileOperations::makeTile(Type element) {
  SmallVector<int64_t> shape{columns};
  if (rows != 1)
    shape.insert(shape.begin(), rows);
  Value buffer = makeTemporary(builder, builder.getLoc(), shape, element, kTileName);
  return {buffer, make.constant(0), pitchOf(element)};
}

Type TileOperations::elementOf(const VectorTile& tile) const {
  return cast<BufferType>(tile.buffer.getType()).getElementType();
}

Result TileOperations::viewed(const VectorTile& tile, Type element) {
  const auto type = cast<BufferType>(tile.buffer.getType());
  if (type.getElementType() == element)
    return tile;
  const int64_t from = bitsOf(type.getElementType()), to = bitsOf(element);
  SmallVector<int64_t> shape(type.getShape());
  const bool isMask = tile.maskBits != 0;
  if (shape.empty() || shape.back() * from % to != 0 || (!isMask && tile.pitch * from % to != 0))
    return refuse("it computes with an odd number of bytes");
  shape.back() = shape.back() * from / to;
  VectorTile result = tile;
  result.buffer = tile::ViewOp::create(builder, BufferType::get(shape, element, MemorySpace::UB),
                                       tile.buffer, ValueRange());
  if (!isMask)
    result.pitch = tile.pitch * from / to;
  const OpFoldResult offset = getAsOpFoldResult(tile.offset);
  result.offset =
      make.value(from >= to ? make.mul(offset, from / to) : make.div(offset, to / from));
  return result;
}

void TileOperations::barrier() {
  if (waits)
    PipeBarrierOp::create(builder, Pipe::V);
}

VectorTile TileOperations::duplicate(Value scalar, Type element) {
  const VectorTile made = makeTile(element);
  if (bitsOf(element) == 64) {
    fillWide(made, scalar);
    return made;
  }
  npu::DuplicateOp::create(builder, made.buffer, made.offset, scalar, count(made),
                           npu::RepeatAttr());
  barrier();
  return made;
}

bool TileOperations::fillWith(const VectorTile& target, Value scalar) {
  if (const int64_t bits = bitsOf(elementOf(target)); bits != 16 && bits != 32)
    return bits == 8 ? fillBytes(target, scalar) : fillWide(target, scalar);
  npu::DuplicateOp::create(builder, target.buffer, target.offset, scalar, count(target),
                           npu::RepeatAttr());
  barrier();
  return true;
}

TileOperations TileOperations::asRow(const VectorTile& tile) const {
  TileOperations row(builder, waits);
  row.setShape(1, elements(tile.pitch));
  return row;
}

/// Bytes come from float16, which holds them all; whole pairs are 16-bit integers.
bool TileOperations::fillBytes(const VectorTile& target, Value scalar) {
  const Type element = elementOf(target);
  if (isOfPairs(target)) {
    Value twice = arith::ConstantOp::create(builder, builder.getI16IntegerAttr(0x101));
    Value byteOf = builder.createOrFold<arith::ExtUIOp>(builder.getI16Type(), scalar);
    const Result pairs = viewed(target, signedInteger(builder.getContext(), 16));
    npu::DuplicateOp::create(builder, pairs->buffer, pairs->offset,
                             builder.createOrFold<arith::MulIOp>(byteOf, twice),
                             make.constant(elements(target.pitch) / 2), npu::RepeatAttr());
    barrier();
    return true;
  }
  TileOperations row = asRow(target);
  const Type number = builder.getF16Type();
  scalar = element.isUnsignedInteger() ? builder.createOrFold<arith::UIToFPOp>(number, scalar)
                                       : builder.createOrFold<arith::SIToFPOp>(number, scalar);
  return row.castTo(row.duplicate(scalar, number), target, {element, npu::Rounding::Trunc})
      .has_value();
}

bool TileOperations::copyBytes(const VectorTile& target, const VectorTile& source) {
  TileOperations row = asRow(target);
  const Type byte = IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned);
  const Result to = viewed(target, byte), from = viewed(source, byte);
  const VectorTile numbers = row.makeTile(builder.getF16Type());
  return to && from && row.castTo(*from, numbers, {builder.getF16Type(), npu::Rounding::None}) &&
         row.castTo(numbers, *to, {byte, npu::Rounding::Trunc});
}

/// 64 bits are two numbers of 32, of which a mask takes every other one.
bool TileOperations::fillWide(const VectorTile& target, Value scalar) {
  const Type half = signedInteger(builder.getContext(), 32), type = builder.getI32Type();
  TileOperations row(builder, waits);
  row.setShape(1, 2 * elements(target.pitch));
  const Result into = viewed(target, half);
  Value bits = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(32));
  Value low = builder.createOrFold<arith::TruncIOp>(type, scalar);
  Value high = builder.createOrFold<arith::TruncIOp>(
      type, builder.createOrFold<arith::ShRUIOp>(scalar, bits));
  VectorTile halves = *into;
  halves.pitch = row.columns;
  if (low == high ||
      (getConstantIntValue(low) && getConstantIntValue(low) == getConstantIntValue(high)))
    return row.fillWith(halves, low);
  constexpr int64_t unit = 128;
  const int64_t maskBits = roundUp(row.columns, unit);
  const Type byte = IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned);
  const VectorTile mask{makeBuffer(roundUp(maskBits / 8, npu::kBlockBytes), byte, kMaskName),
                        make.constant(0), row.columns, maskBits};
  Value pattern = arith::ConstantOp::create(builder, builder.getI16IntegerAttr(0x5555));
  const Result pairs = viewed(mask, signedInteger(builder.getContext(), 16));
  npu::DuplicateOp::create(builder, pairs->buffer, pairs->offset, pattern,
                           make.constant(maskBits / 16), npu::RepeatAttr());
  const VectorTile a = row.duplicate(low, half), b = row.duplicate(high, half);
  return row.select(mask, a, &b, Value(), halves).has_value();
}

/// The larger of a number and itself, as integers: an exact copy of any count.
bool TileOperations::copyInto(const VectorTile& target, const VectorTile& source) {
  const int64_t bits = bitsOf(elementOf(source)), taken = bits == 32 ? 32 : 16;
  const int64_t all = elements(target.pitch) * bits / taken;
  if (bits == 8 && (!isOfPairs(target) || !isOfPairs(source)))
    return copyBytes(target, source);
  const Type integer = signedInteger(builder.getContext(), unsigned(taken));
  const Result to = viewed(target, integer), from = viewed(source, integer);
  if (!to || !from)
    return false;
  npu::BinaryOp::create(builder, npu::BinaryKind::Max, to->buffer, to->offset, from->buffer,
                        from->offset, from->buffer, from->offset, make.constant(all),
                        npu::RepeatAttr());
  barrier();
  return true;
}

bool TileOperations::isOfPairs(const VectorTile& tile) const {
  const ArrayRef<int64_t> shape = cast<BufferType>(tile.buffer.getType()).getShape();
  return !shape.empty() && shape.back() % 2 == 0 && tile.pitch % 2 == 0 &&
         elements(tile.pitch) % 2 == 0;
}

/// The tile's elements with zeros behind, `size` in all.
VectorTile TileOperations::filledUp(const VectorTile& tile, int64_t size) {
  const Type element = elementOf(tile);
  Value buffer = makeBuffer(size, element, "filled_up");
  const Type scalar = isa<IntegerType>(element)
                          ? IntegerType::get(builder.getContext(), unsigned(bitsOf(element)))
                          : element;
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(scalar));
  npu::DuplicateOp::create(builder, buffer, make.constant(0), zero, make.constant(size),
                           npu::RepeatAttr());
  barrier();
  const VectorTile made{buffer, make.constant(0), tile.pitch};
  copyInto(made, tile);
  return made;
}

VectorTile TileOperations::numbersOf(const VectorTile& given, int64_t held, int64_t needed) {
  if (needed == held)
    return given;
  // All that the instruction reads must be there.
  TileOperations line(builder, waits);
  line.setShape(1, held);
  VectorTile source = given;
  source.pitch = held;
  return line.filledUp(source, needed);
}

void TileOperations::binaryByRows(npu::BinaryKind kind, const VectorTile& target,
                                  const VectorTile& source, const VectorTile& numbers) {
  const int64_t taken = roundUp(rows, kBroadcastRows), scratch = npu::kBlockBytes * taken;
  const VectorTile other = numbersOf(numbers, rows, taken);
  Value space = makeScratch(scratch);
  npu::RowBinaryOp::create(builder, kind, target.buffer, target.offset, source.buffer,
                           source.offset, other.buffer, other.offset, space, make.constant(0),
                           uint64_t(scratch), uint64_t(rows), uint64_t(columns));
  barrier();
}

Result TileOperations::broadcast(const VectorTile& given, bool isNumberPerRow,
                                 const VectorTile* target) {
  const Type element = elementOf(given);
  if (element.isBF16()) { // moved as they are, so they go as integers
    const Type integer = signedInteger(builder.getContext(), 16);
    const Result bits = viewed(given, integer), into = target ? viewed(*target, integer) : bits;
    const Result made =
        bits && into ? broadcast(*bits, isNumberPerRow, target ? &*into : nullptr) : std::nullopt;
    return made ? viewed(*made, element) : std::nullopt;
  }
  if (bitsOf(element) != 16 && bitsOf(element) != 32)
    return refuse("it spreads bytes over rows or columns");
  if (rows > 1 && columns == 1)
    return refuse("it spreads a number over rows of one element");
  const VectorTile made = target ? *target : makeTile(element);
  // What lies between rows is computed with as well.
  const int64_t width = made.pitch, numbers = roundUp(rows, kBroadcastRows);
  const int64_t held = isNumberPerRow ? rows : columns, needed = isNumberPerRow ? numbers : width;
  const VectorTile source = numbersOf(given, held, needed);
  const int64_t scratch = npu::kBlockBytes * (isNumberPerRow ? numbers : 1);
  Value space = makeScratch(scratch);
  npu::BroadcastOp::create(builder, made.buffer, made.offset, source.buffer, source.offset, space,
                           make.constant(0), uint64_t(scratch), uint64_t(rows), uint64_t(width),
                           uint64_t(width), uint64_t(isNumberPerRow ? 1 : 0));
  barrier();
  return made;
}

Result TileOperations::sequence(int64_t rowFactor, int64_t columnFactor, Value base) {
  const Type element = signedInteger(builder.getContext(), 32);
  const auto line = [&](int64_t size, int64_t factor) {
    const VectorTile made{makeBuffer(size, element, "numbers"), make.constant(0), size};
    Value zero = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(0));
    Value step = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(int32_t(factor)));
    npu::SequenceOp::create(builder, made.buffer, made.offset, zero, step, make.constant(size));
    barrier();
    return made;
  };
  Result result;
  if (rows == 1) {
    result = line(columns, columnFactor);
  } else {
    if (columnFactor != 0 && !(result = broadcast(line(columns, columnFactor), false)))
      return std::nullopt;
    if (rowFactor != 0) {
      const Result byRow = broadcast(line(roundUp(rows, kBroadcastRows), rowFactor), true);
      if (!byRow)
        return std::nullopt;
      if (result) {
        const VectorTile sum = makeTile(element);
        binary(npu::BinaryKind::Add, sum, *result, *byRow);
        result = sum;
      } else {
        result = byRow;
      }
    }
  }
  if (!base || getConstantIntValue(base) == 0)
    return result;
  if (base.getType().isIndex())
    base = arith::IndexCastOp::create(builder, builder.getI32Type(), base);
  else if (base.getType().isInteger(64))
    base = arith::TruncIOp::create(builder, builder.getI32Type(), base);
  else if (!base.getType().isInteger(32))
    base = builder.createOrFold<arith::ExtSIOp>(builder.getI32Type(), base);
  const VectorTile moved = makeTile(element);
  withScalar(npu::ScalarKind::Add, moved, *result, base);
  return moved;
}

void TileOperations::countUp(const VectorTile& target, Value first) {
  const Type type = first.getType();
  Value one = arith::ConstantOp::create(builder, isa<FloatType>(type)
                                                     ? TypedAttr(builder.getFloatAttr(type, 1.0))
                                                     : TypedAttr(builder.getIntegerAttr(type, 1)));
  npu::SequenceOp::create(builder, target.buffer, target.offset, first, one, count(target));
  barrier();
}

// --- arithmetic ---------------------------------------------------------------------------------

void TileOperations::unary(npu::UnaryKind kind, const VectorTile& target,
                           const VectorTile& source) {
  npu::UnaryOp::create(builder, kind, target.buffer, target.offset, source.buffer, source.offset,
                       count(target), npu::RepeatAttr());
  barrier();
}

void TileOperations::binary(npu::BinaryKind kind, const VectorTile& target, const VectorTile& a,
                            const VectorTile& b) {
  npu::BinaryOp::create(builder, kind, target.buffer, target.offset, a.buffer, a.offset, b.buffer,
                        b.offset, count(target), npu::RepeatAttr());
  barrier();
}

void TileOperations::withScalar(npu::ScalarKind kind, const VectorTile& target,
                                const VectorTile& source, Value scalar) {
  npu::ScalarOp::create(builder, kind, target.buffer, target.offset, source.buffer, source.offset,
                        scalar, count(target), npu::RepeatAttr());
  barrier();
}

void TileOperations::function(npu::FunctionKind kind, const VectorTile& target,
                              const VectorTile& source, const VectorTile* other) {
  Value space = makeScratch(kFunctionScratchBytes);
  npu::FunctionOp::create(builder, kind, target.buffer, target.offset, source.buffer, source.offset,
                          other ? other->buffer : Value(), other ? other->offset : Value(), space,
                          make.constant(0), uint64_t(kFunctionScratchBytes), count(target));
  barrier();
}

std::optional<int64_t> TileOperations::halvesIn(const VectorTile& tile) {
  const int64_t all =
      tile.maskBits ? tile.maskBits : elements(tile.pitch) * bitsOf(elementOf(tile));
  if (all % 16 != 0)
    return refuse("it computes with an odd number of bytes");
  return all / 16;
}

VectorTile TileOperations::makeLike(const VectorTile& tile) {
  if (!tile.maskBits)
    return makeTile(elementOf(tile));
  const auto type = cast<BufferType>(tile.buffer.getType());
  return {makeBuffer(type.getShape()[0], type.getElementType(), kMaskName), make.constant(0),
          tile.pitch, tile.maskBits};
}

/// The vector unit has them for 16 bits; wider numbers are two of these, bytes halves.
Result TileOperations::combinedBits(npu::BinaryKind kind, const VectorTile& a, const VectorTile& b,
                                    const VectorTile* into) {
  const Type half = signedInteger(builder.getContext(), 16);
  const VectorTile made = into ? *into : makeLike(a.maskBits <= b.maskBits ? a : b);
  const std::optional<int64_t> number = halvesIn(made);
  const Result left = viewed(a, half), right = viewed(b, half), target = viewed(made, half);
  if (!number || !left || !right || !target)
    return std::nullopt;
  npu::BinaryOp::create(builder, kind, target->buffer, target->offset, left->buffer, left->offset,
                        right->buffer, right->offset, make.constant(*number), npu::RepeatAttr());
  barrier();
  return made;
}

Result TileOperations::bits(Operation* op, const VectorTile& a, const VectorTile& b,
                            const VectorTile* into) {
  using npu::BinaryKind;
  if (isa<arith::XOrIOp>(op))
    return exclusiveBits(a, b, into);
  return combinedBits(isa<arith::AndIOp>(op) ? BinaryKind::And : BinaryKind::Or, a, b, into);
}

/// a xor b = (a or b) and not (a and b)
Result TileOperations::exclusiveBits(const VectorTile& a, const VectorTile& b,
                                     const VectorTile* into) {
  using npu::BinaryKind;
  const Result shared = combinedBits(BinaryKind::And, a, b);
  if (!shared || !invertedBits(*shared, &*shared))
    return std::nullopt;
  const Result either = combinedBits(BinaryKind::Or, a, b, into);
  return either ? combinedBits(BinaryKind::And, *either, *shared, &*either) : std::nullopt;
}

Result TileOperations::invertedBits(const VectorTile& tile, const VectorTile* into) {
  const Type half = signedInteger(builder.getContext(), 16);
  const VectorTile made = into ? *into : makeLike(tile);
  const std::optional<int64_t> number = halvesIn(made);
  const Result source = viewed(tile, half), target = viewed(made, half);
  if (!number || !source || !target)
    return std::nullopt;
  npu::UnaryOp::create(builder, npu::UnaryKind::Not, target->buffer, target->offset, source->buffer,
                       source->offset, make.constant(*number), npu::RepeatAttr());
  barrier();
  return made;
}

// --- conversions --------------------------------------------------------------------------------

/// From integers by way of float32, which has no room for all of them. Rounded to the nearest that would be twice:
/// of the two floats around a number the one whose last bit is 1 takes its place, which lies on no tie of bfloat16.
Result TileOperations::integersToBfloat16(const VectorTile& source, npu::Rounding rounding,
                                          const VectorTile* target) {
  using npu::Rounding;
  const Type wide = builder.getF32Type(), number = signedInteger(builder.getContext(), 32);
  const auto rounded = [&](Rounding how) { return castTo(source, makeTile(wide), {wide, how}); };
  const bool isNearest = rounding == Rounding::Rint || rounding == Rounding::Round;
  Result around = rounded(isNearest ? Rounding::Floor : rounding);
  if (isNearest) {
    const Result above = rounded(Rounding::Ceil);
    if (!around || !above)
      return std::nullopt;
    // As bits: the greater one is further from zero, by 1 if it is another one.
    const Result low = viewed(*around, number), high = viewed(*above, number);
    const VectorTile inner = makeTile(number);
    binary(npu::BinaryKind::Min, inner, *low, *high);
    binary(npu::BinaryKind::Max, *high, *low, *high);
    binary(npu::BinaryKind::Sub, *high, *high, inner);
    const Type half = signedInteger(builder.getContext(), 16);
    const Result bits = viewed(inner, half), last = viewed(*high, half);
    npu::BinaryOp::create(builder, npu::BinaryKind::Or, bits->buffer, bits->offset, bits->buffer,
                          bits->offset, last->buffer, last->offset, make.constant(*halvesIn(inner)),
                          npu::RepeatAttr());
    barrier();
    around = viewed(inner, wide);
  }
  if (!around)
    return std::nullopt;
  const Type to = builder.getBF16Type();
  return castTo(*around, target ? *target : makeTile(to), {to, rounding});
}

Result TileOperations::convert(const VectorTile& source, Type to,
                               std::optional<npu::Rounding> rounding, const VectorTile* target) {
  const Type from = elementOf(source);
  if (to.isBF16() && (from.isSignedInteger(32) || from.isSignedInteger(64))) {
    const bool isNearest = !rounding || rounding == npu::Rounding::None;
    return integersToBfloat16(source, isNearest ? npu::Rounding::Rint : *rounding, target);
  }
  std::optional<SmallVector<CastStep>> steps = castSteps(elementOf(source), to);
  // From float32 to itself there is only the rounding to an integral value.
  if (rounding && elementOf(source) == to)
    steps = SmallVector<CastStep>{{to, *rounding}};
  if (!steps)
    return refuse("the vector unit converts no " + tile::dtypeName(from) + " to " +
                  tile::dtypeName(to));
  VectorTile current = source;
  for (auto [number, step] : llvm::enumerate(*steps)) {
    const bool isLast = number + 1 == steps->size();
    const VectorTile next = isLast && target ? *target : makeTile(step.to);
    const bool isRounded = rounding && step.rounding != npu::Rounding::None;
    const Result made = castTo(current, next, {step.to, isRounded ? *rounding : step.rounding});
    if (!made)
      return std::nullopt;
    current = *made;
  }
  return current;
}

Result TileOperations::castTo(const VectorTile& source, const VectorTile& target,
                              const CastStep& step) {
  if (rows > 1 && target.pitch != source.pitch)
    return refuse("its rows are padded differently before and after a conversion");
  npu::CastOp::create(builder, target.buffer, target.offset, source.buffer, source.offset,
                      step.rounding, count(target), npu::RepeatAttr());
  barrier();
  return target;
}

// --- comparisons --------------------------------------------------------------------------------

Result TileOperations::compareFloats(npu::CompareMode mode, const VectorTile& a,
                                     const VectorTile* b, Value scalar, const VectorTile* target) {
  const Type element = elementOf(a);
  const int64_t unit = npu::kRepeatBytes * 8 / bitsOf(element);
  const int64_t size = elements(a.pitch), whole = roundUp(size, unit);
  const VectorTile left = size == whole ? a : filledUp(a, whole);
  VectorTile right;
  if (b)
    right = size == whole ? *b : filledUp(*b, whole);
  const int64_t bytes = roundUp(whole / 8, npu::kBlockBytes);
  const Type byte = IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned);
  const VectorTile mask =
      target ? *target
             : VectorTile{makeBuffer(bytes, byte, kMaskName), make.constant(0), a.pitch, whole};
  if (b)
    npu::CompareOp::create(builder, mode, mask.buffer, mask.offset, left.buffer, left.offset,
                           right.buffer, right.offset, make.constant(whole));
  else
    npu::CompareScalarOp::create(builder, mode, mask.buffer, mask.offset, left.buffer, left.offset,
                                 scalar, make.constant(whole));
  barrier();
  return mask;
}

arith::CmpIPredicate withSign(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::ult:
    return P::slt;
  case P::ule:
    return P::sle;
  case P::ugt:
    return P::sgt;
  case P::uge:
    return P::sge;
  default:
    return predicate;
  }
}

static Value topBit(ImplicitLocOpBuilder& builder, unsigned width) {
  return arith::ConstantOp::create(
      builder,
      builder.getIntegerAttr(builder.getIntegerType(width), APInt::getSignedMinValue(width)));
}

Result TileOperations::withTopBitFlipped(const VectorTile& source) {
  const unsigned width = elementOf(source).getIntOrFloatBitWidth();
  const Type element = signedInteger(builder.getContext(), width);
  const Result numbers = viewed(source, element);
  if (!numbers)
    return std::nullopt;
  const VectorTile made = makeTile(element);
  withScalar(npu::ScalarKind::Add, made, *numbers, topBit(builder, width));
  return made;
}

Value TileOperations::withTopBitFlipped(Value number) {
  return builder.createOrFold<arith::XOrIOp>(
      number, topBit(builder, number.getType().getIntOrFloatBitWidth()));
}

/// Of 32-bit integers there is equality only: a <= b where the smaller one of both is a.
Result TileOperations::compareIntegers(arith::CmpIPredicate predicate, const VectorTile& a,
                                       const VectorTile& b) {
  using P = arith::CmpIPredicate;
  const auto equal = [&](const VectorTile& x, const VectorTile& y) {
    return compareFloats(npu::CompareMode::EQ, x, &y, Value());
  };
  if (predicate == P::eq)
    return equal(a, b);
  if (predicate == P::ne)
    return invertedBits(*equal(a, b));
  const bool isLess = predicate == P::slt || predicate == P::sle;
  if (!isLess && predicate != P::sgt && predicate != P::sge)
    return refuse("it compares unsigned integers");
  const VectorTile outer = makeTile(elementOf(a));
  binary(isLess ? npu::BinaryKind::Min : npu::BinaryKind::Max, outer, a, b);
  // a < b is not b <= a.
  if (predicate == P::sle || predicate == P::sge)
    return equal(outer, a);
  return invertedBits(*equal(outer, b));
}

Result TileOperations::maskOf(const VectorTile& bools) {
  MLIRContext* context = builder.getContext();
  const Type byte = IntegerType::get(context, 8, IntegerType::Unsigned),
             number = Float16Type::get(context);
  const Result bytes = viewed(bools, byte);
  const Result numbers = bytes ? convert(*bytes, number, std::nullopt, nullptr) : std::nullopt;
  if (!numbers)
    return std::nullopt;
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(number));
  return compareFloats(npu::CompareMode::NE, *numbers, nullptr, zero);
}

VectorTile TileOperations::spreadCondition(Value condition, int64_t pitch) {
  MLIRContext* context = builder.getContext();
  constexpr int64_t unit =
      npu::kRepeatBytes * 8 / 16; // as comparisons of 16 bits, which make the most bits
  const int64_t bits = roundUp(elements(pitch), unit);
  const VectorTile mask{makeBuffer(roundUp(bits / 8, npu::kBlockBytes),
                                   IntegerType::get(context, 8, IntegerType::Unsigned), kMaskName),
                        make.constant(0), pitch, bits};
  Value all = arith::ConstantOp::create(builder, builder.getI16IntegerAttr(-1));
  Value none = arith::ConstantOp::create(builder, builder.getI16IntegerAttr(0));
  Value pattern = builder.createOrFold<arith::SelectOp>(condition, all, none);
  const Result halves = viewed(mask, signedInteger(context, 16));
  npu::DuplicateOp::create(builder, halves->buffer, halves->offset, pattern,
                           make.constant(bits / 16), npu::RepeatAttr());
  barrier();
  return mask;
}

bool TileOperations::copyMask(const VectorTile& target, const VectorTile& source) {
  const Type half = signedInteger(builder.getContext(), 16);
  const Result to = viewed(target, half), from = viewed(source, half);
  const std::optional<int64_t> number = halvesIn(target);
  if (!to || !from || !number)
    return false;
  npu::BinaryOp::create(builder, npu::BinaryKind::Or, to->buffer, to->offset, from->buffer,
                        from->offset, from->buffer, from->offset, make.constant(*number),
                        npu::RepeatAttr());
  barrier();
  return true;
}

Result TileOperations::select(const VectorTile& mask, const VectorTile& a, const VectorTile* b,
                              Value scalar, const VectorTile& target) {
  const int64_t width = bitsOf(elementOf(a));
  if (width != 16 && width != 32)
    return refuse("it chooses between bytes");
  if (rows > 1 && mask.pitch != a.pitch)
    return refuse("it chooses between numbers of another width than those it compares");
  // Bits are moved as they are, so integers go as floats.
  const Type floats = width == 32 ? Type(builder.getF32Type()) : Type(builder.getF16Type());
  const Result first = viewed(a, floats), into = viewed(target, floats);
  if (!first || !into)
    return std::nullopt;
  if (scalar) {
    npu::SelectScalarOp::create(builder, into->buffer, into->offset, mask.buffer, mask.offset,
                                first->buffer, first->offset, scalar, count(target));
  } else {
    const Result second = viewed(*b, floats);
    if (!second)
      return std::nullopt;
    npu::SelectOp::create(builder, into->buffer, into->offset, mask.buffer, mask.offset,
                          first->buffer, first->offset, second->buffer, second->offset,
                          count(target));
  }
  barrier();
  return target;
}

} // namespace tilewright::ascend
