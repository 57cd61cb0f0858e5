// SPDX-License-Identifier: Apache-2.0
// The order of a nest's body, and its loads and stores. Its operations: nest_operations.cpp.
#include "compiler/targets/ascend/nest_vectorizer.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/place_of.h"
#include "compiler/targets/ascend/operation_name.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/value_names.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

NestVectorizer::NestVectorizer(tile::ParallelOp nest, bool waits)
    : nest(nest), waits(waits), builder(nest.getLoc(), nest), make(builder),
      indices(nest, uniform, builder), tiles(builder, waits) {}

std::optional<std::string> NestVectorizer::run() {
  Operation* before = nest->getPrevNode();
  if (vectorize()) {
    nest.erase();
    return std::nullopt;
  }
  while (nest->getPrevNode() != before)
    nest->getPrevNode()->erase();
  return reason.empty() ? tiles.reason : reason;
}

/// An extent, also of a slice `[i[k] : i[k] + 8]` that reads memory twice.
static std::optional<int64_t> extentOf(OpFoldResult extent) {
  const std::optional<int64_t> known = getConstantIntValue(extent);
  return known ? known : differenceOf(cast<Value>(extent), Value());
}

bool NestVectorizer::readShape() {
  SmallVector<int64_t> extents;
  for (OpFoldResult extent : nest.getMixedExtents())
    extents.push_back(extentOf(extent).value_or(ShapedType::kDynamic));
  if (extents.size() > 2)
    return refuse("it has " + std::to_string(extents.size()) +
                  " dims, but vector instructions take one or two");
  if (llvm::is_contained(extents, ShapedType::kDynamic))
    return refuse(extents.size() == 1 ? "its extent is known at run time only"
                                      : "one of its extents is known at run time only");
  columns = extents.back();
  rows = extents.size() == 2 ? extents[0] : 1;
  if (rows * columns == 0)
    return refuse("it has no iterations");
  tiles.setShape(rows, columns);
  return true;
}

bool NestVectorizer::vectorize() {
  if (!readShape())
    return false;
  Block& body = *nest.getBodyBlock();
  for (Operation& op : body)
    if (!hoist(op))
      return false;
  if (!checkOverlaps())
    return false;
  if (const std::optional<npu::Rounding> rounding = namedRounding())
    return castBy(*rounding);
  if (countUp())
    return true;
  atOnce = fused();
  for (Operation& op : body.without_terminator()) {
    builder.setLoc(op.getLoc());
    const bool isKnown = op.getNumResults() == 1 &&
                         (uniform.contains(op.getResult(0)) || indices.of(op.getResult(0)));
    if (isKnown || (atOnce && llvm::is_contained(atOnce->inner, &op)))
      continue;
    if (auto read = dyn_cast<tile::LoadOp>(op)) {
      if (!load(read))
        return false;
    } else if (auto write = dyn_cast<tile::StoreOp>(op)) {
      if (!store(write))
        return false;
    } else if (Tile made = atOnce && &op == atOnce->last ? computedAtOnce() : computed(&op)) {
      values[op.getResult(0)] = *made;
    } else {
      return false;
    }
    nameTile(&op);
  }
  return true;
}

/// A tile that is there for a value of the kernel's has its name, the first one where it holds several.
void NestVectorizer::nameTile(Operation* op) {
  const auto made = op->getNumResults() == 1 ? values.find(op->getResult(0)) : values.end();
  const StringRef name = made == values.end() ? "" : nameOfVariable(op->getResult(0));
  if (name.empty())
    return;
  auto alloc = npu::storageOf(made->second.buffer).getDefiningOp<tile::AllocOp>();
  if (alloc && alloc->hasAttr(kTemporaryAttr) &&
      (alloc.getSymName() == TileOperations::kTileName ||
       alloc.getSymName() == TileOperations::kMaskName))
    alloc.setSymName(name);
}

// --- what is the same in all iterations ---------------------------------------------------------

bool NestVectorizer::hoist(Operation& op) {
  builder.setLoc(op.getLoc());
  if (isa<tile::StoreOp, tile::YieldOp>(op))
    return true;
  const std::string name = operationName(&op);
  if (op.getNumRegions() != 0 || op.getNumResults() != 1)
    return refuse("it holds '" + name + "'");
  const bool isUniform =
      llvm::all_of(op.getOperands(), [&](Value operand) { return bool(scalarOf(operand)); });
  if (auto read = dyn_cast<tile::LoadOp>(op)) {
    if (isTileOfOne(read.getBuffer().getType()))
      return true;
    if (!isUniform || !isHoistable(read))
      return reason.empty();
    if (waits && !read.getBuffer().getType().isPerThread())
      PipeBarrierOp::create(builder, Pipe::All);
    builder.clone(op, uniform);
    return true;
  }
  if (!isPure(&op))
    return refuse("it holds '" + name + "'");
  if (isUniform)
    builder.clone(op, uniform);
  else
    indices.add(&op);
  return true;
}

/// Whether the nest's only iteration takes all of a buffer.
bool NestVectorizer::isTileOfOne(BufferType type) const {
  return rows * columns == 1 && type.getSpace() == MemorySpace::UB && type.hasStaticShape() &&
         type.getNumElements() == 1;
}

/// An element that the nest itself writes may be another one in each iteration.
bool NestVectorizer::isHoistable(tile::LoadOp load) {
  Value storage = npu::storageOf(load.getBuffer());
  for (auto write : nest.getBodyBlock()->getOps<tile::StoreOp>())
    if (npu::storageOf(write.getBuffer()) == storage)
      return refuse("it reads one element of a buffer that it writes");
  return true;
}

Value NestVectorizer::scalarOf(Value value) {
  if (isa<BufferType>(value.getType()))
    return value;
  if (!nest.getBody().isAncestor(value.getParentRegion()))
    return value;
  return uniform.lookupOrNull(value);
}

// --- accesses -----------------------------------------------------------------------------------

std::optional<SmallVector<IndexForm>> NestVectorizer::formsOf(ValueRange given) {
  SmallVector<IndexForm> forms;
  for (Value index : given) {
    std::optional<IndexForm> form = indices.of(index);
    if (!form)
      return none("it accesses a buffer by indices that it reads or computes");
    forms.push_back(*form);
  }
  return forms;
}

/// Whether two values stand for the same elements by the same indices.
static bool isSameBuffer(Value a, Value b) {
  auto left = a.getDefiningOp<tile::ViewOp>(), right = b.getDefiningOp<tile::ViewOp>();
  return a == b || (left && right && a.getType() == b.getType() &&
                    isSameBuffer(left.getSource(), right.getSource()));
}

/// Where a buffer is both read and written, each iteration must touch the same place, or the two never
/// meet. Places that only memory or a loop tells apart don't meet either: the language has no nest in which
/// one iteration reads what another one writes.
bool NestVectorizer::checkOverlaps() {
  const auto isSame = [](const IndexForm& a, const IndexForm& b) {
    return a.factors == b.factors && isSameNumber(a.base, b.base);
  };
  // From the first iteration to the last.
  const auto widthOf = [&](const IndexForm& form) {
    return std::max<int64_t>(form.factors[0], 0) * (rows - 1) +
           std::max<int64_t>(form.factors[1], 0) * (columns - 1);
  };
  const auto isApart = [&](const IndexForm& a, const IndexForm& b) {
    const bool isUpwards = llvm::all_of(llvm::concat<const int64_t>(a.factors, b.factors),
                                        [](int64_t factor) { return factor >= 0; });
    const std::optional<int64_t> distance = differenceOf(a.base, b.base);
    return isUpwards && distance && (*distance > widthOf(b) || -*distance > widthOf(a));
  };
  for (auto write : nest.getBodyBlock()->getOps<tile::StoreOp>())
    for (auto read : nest.getBodyBlock()->getOps<tile::LoadOp>()) {
      if (npu::storageOf(write.getBuffer()) != npu::storageOf(read.getBuffer()))
        continue;
      if (isTileOfOne(write.getBuffer().getType()) && isTileOfOne(read.getBuffer().getType()))
        continue;
      const auto to = formsOf(write.getIndices()), from = formsOf(read.getIndices());
      if (!to || !from)
        return false;
      const bool isComparable = isSameBuffer(write.getBuffer(), read.getBuffer());
      bool isEqual = isComparable, isDisjoint = false, isAlike = isComparable, isKnown = true;
      for (auto [a, b] : llvm::zip(*to, *from)) {
        isEqual &= isSame(a, b);
        isDisjoint |= isComparable && isApart(a, b);
        isAlike &= a.factors == b.factors;
        isKnown &= differenceOf(a.base, b.base).has_value();
      }
      if (!isEqual && !isDisjoint && (isKnown || !isAlike))
        return refuse("it reads a buffer at other places than it writes");
    }
  return true;
}

/// Instructions over all rows also take what lies between them, up to a block of 32 bytes.
bool NestVectorizer::isPaddingBehind(BufferType type) const {
  return rows == 1 || columns == tiles.pitchOf(type.getElementType()) ||
         columns == type.getShape().back();
}

std::optional<NestVectorizer::Access> NestVectorizer::accessOf(BufferType type, Value buffer,
                                                               ValueRange given) {
  const std::optional<SmallVector<IndexForm>> forms = formsOf(given);
  if (!forms)
    return std::nullopt;
  const SmallVector<int64_t> strides = ubStrides(type);
  OpFoldResult offset = make.index(0);
  int64_t rowStride = 0, columnStride = 0;
  for (auto [form, stride] : llvm::zip(*forms, strides)) {
    if (form.base)
      offset = make.add(offset, make.mul(getAsOpFoldResult(form.base), stride));
    rowStride += form.factors[0] * stride;
    columnStride += form.factors[1] * stride;
  }
  Access access{Walk::Fixed, {buffer, make.value(offset), rows == 1 ? columns : rowStride}};
  if (isTileOfOne(type))
    access.walk = Walk::Tile;
  if (rowStride == 0 && columnStride == 0)
    return access;
  if (type.getSpace() != MemorySpace::UB)
    return none("it accesses memory other than UB");
  const bool isOneColumn = columns == 1 && rowStride == 1;
  if (isOneColumn ||
      (columnStride == 1 && (rows == 1 || rowStride == tiles.pitchOf(type.getElementType()))))
    access.walk = Walk::Tile;
  else if (columnStride == 1 && rowStride == 0)
    access.walk = Walk::Columns;
  else if (columnStride == 0 && rowStride == 1)
    access.walk = Walk::Rows;
  else
    return none("it walks through a buffer in steps");
  if (!isMultipleOf(offset, npu::blockElements(type)))
    return none("it begins within a block of 32 bytes of a buffer");
  return access;
}

bool NestVectorizer::load(tile::LoadOp op) {
  const BufferType type = op.getBuffer().getType();
  std::optional<Access> access = accessOf(type, op.getBuffer(), op.getIndices());
  if (!access)
    return false;
  if (access->walk == Walk::Fixed)
    return refuse("it reads one element of a buffer that it writes");
  Tile tile = access->tile;
  const bool isSmall = type.getElementBits() == 8;
  if (isSmall && access->walk != Walk::Tile)
    tile = spreadSmall(*tile, access->walk == Walk::Rows);
  else if (op.getValue().getType().isInteger(1))
    tile = tiles.maskOf(*tile);
  // The vector unit computes with signed integers; bytes are only converted.
  else if (!isSmall)
    tile = tiles.viewed(*tile, storedType(op.getValue().getType()));
  if (tile && !isSmall && access->walk == Walk::Columns && keepsLine(*tile)) {
    lines[op.getValue()] = *tile;
    return true;
  }
  if (tile && !isSmall && access->walk == Walk::Rows && keepsNumbers(op, *tile)) {
    rowNumbers[op.getValue()] = *tile;
    return true;
  }
  if (tile && !isSmall && access->walk != Walk::Tile) {
    // Where only a store takes it, straight into what that writes.
    const VectorTile target = targetOf(op, storedType(op.getValue().getType()));
    tile = tiles.broadcast(*tile, access->walk == Walk::Rows, &target);
  }
  if (!tile)
    return false;
  values[op.getValue()] = *tile;
  return true;
}

/// Bytes or bools of a row or column as 16 bits, or as a mask, for all rows or columns.
NestVectorizer::Tile NestVectorizer::spreadSmall(const VectorTile& given, bool isNumberPerRow) {
  const bool isBool = tiles.elementOf(given).isInteger(1);
  const Type number = isBool ? Type(builder.getF16Type()) : storedType(builder.getI16Type());
  const int64_t held = isNumberPerRow ? rows : columns;
  TileOperations line(builder, waits);
  line.setShape(1, held);
  VectorTile source = given;
  source.pitch = held;
  const Type byte = isBool ? IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned)
                           : tiles.elementOf(given);
  const Tile bytes = line.viewed(source, byte);
  const Tile numbers = bytes ? line.convert(*bytes, number, std::nullopt, nullptr) : std::nullopt;
  const Tile spread = numbers ? tiles.broadcast(*numbers, isNumberPerRow) : std::nullopt;
  if (!spread || !isBool)
    return spread;
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(number));
  return tiles.compareFloats(npu::CompareMode::NE, *spread, nullptr, zero);
}

bool NestVectorizer::store(tile::StoreOp op) {
  if (!storedDirectly.contains(op)) {
    const BufferType type = op.getBuffer().getType();
    std::optional<Access> access = accessOf(type, op.getBuffer(), op.getIndices());
    if (!access)
      return false;
    if (access->walk != Walk::Tile)
      return refuse("it writes other than each element of a tile once");
    if (!isPaddingBehind(type))
      return refuse("it writes some columns of wider rows");
    if (op.getValue().getType().isInteger(1))
      return storeCondition(access->tile, op.getValue()) && checkLaterUses(op);
    const bool isByte = op.getValue().getType().isInteger(8);
    const Tile target =
        isByte ? access->tile : tiles.viewed(access->tile, storedType(op.getValue().getType()));
    if (!target)
      return false;
    if (Value scalar = scalarOf(op.getValue())) {
      if (!tiles.fillWith(*target, scalar))
        return false;
    } else {
      const Tile source = tileOf(op.getValue());
      if (!source)
        return false;
      if (isByte && !tiles.elementOf(*source).isInteger(8))
        return storeBytes(*target, op.getValue()) && checkLaterUses(op);
      if (isOfIndices(*source, op.getValue()))
        return storeIndices(*target, *source, op);
      if (!tiles.copyInto(*target, *source))
        return false;
    }
  }
  return checkLaterUses(op);
}

/// Whether these are integers of 64 bits that were computed from the nest's indices, in 32 bits.
bool NestVectorizer::isOfIndices(const VectorTile& tile, Value value) {
  return value.getType().isInteger(64) && tiles.elementOf(tile).isSignedInteger(32);
}

bool NestVectorizer::storeIndices(const VectorTile& target, const VectorTile& source,
                                  tile::StoreOp op) {
  constexpr int64_t least = std::numeric_limits<int32_t>::min(),
                    most = std::numeric_limits<int32_t>::max();
  if (!IndexRanges().rangeOf(op.getValue()).isWithin(least, most))
    return refuse("it stores integers that may need more than 32 bits");
  return tiles.convert(source, storedType(op.getValue().getType()), std::nullopt, &target) &&
         checkLaterUses(op);
}

/// A number read before a store is that of before: a later use would take the new one.
bool NestVectorizer::checkLaterUses(tile::StoreOp op) {
  Value storage = npu::storageOf(op.getBuffer());
  for (const auto* read : {&values, &lines, &rowNumbers})
    for (auto& [value, tile] : *read) {
      if (value == op.getValue() || npu::storageOf(tile.buffer) != storage)
        continue;
      for (Operation* user : value.getUsers())
        if (op->isBeforeInBlock(user))
          return refuse("it uses what a buffer held before it was written");
    }
  return true;
}

VectorTile NestVectorizer::targetOf(Operation* op, Type element, bool mayBeSource) {
  Value result = op->getResult(0);
  auto write = result.hasOneUse() ? dyn_cast<tile::StoreOp>(*result.user_begin()) : nullptr;
  if (!write || write->getBlock() != op->getBlock())
    return spareTile(op, element, mayBeSource);
  // Nothing between here and the store may still need what the buffer holds.
  if (isNeededBehind(op, npu::storageOf(write.getBuffer()), write))
    return spareTile(op, element, mayBeSource);
  std::optional<Access> access =
      accessOf(write.getBuffer().getType(), write.getBuffer(), write.getIndices());
  const bool isTile =
      access && access->walk == Walk::Tile && isPaddingBehind(write.getBuffer().getType());
  const Tile target = isTile ? tiles.viewed(access->tile, element) : std::nullopt;
  if (!target)
    return tiles.makeTile(element); // the store says why it can't be
  storedDirectly[write] = *target;
  return *target;
}

bool NestVectorizer::isNeededBehind(Operation* op, Value storage, Operation* end) {
  for (Operation* next = op->getNextNode(); next && next != end; next = next->getNextNode()) {
    auto read = dyn_cast<tile::LoadOp>(next);
    if (read && npu::storageOf(read.getBuffer()) == storage)
      return true;
    for (Value operand : next->getOperands())
      if (auto known = values.find(operand); known != values.end())
        if (npu::storageOf(known->second.buffer) == storage)
          return true;
  }
  return false;
}

/// A function of T.tile is one statement of the kernel: between its parts its own target holds what it can.
/// Nests that are loops write theirs last, so that a store of what it held before takes no time of theirs.
VectorTile NestVectorizer::spareTile(Operation* op, Type element, bool mayBeSource) {
  if (!nest->hasAttr("function"))
    return tiles.makeTile(element);
  const auto isFree = [&](const VectorTile& tile) {
    Value storage = npu::storageOf(tile.buffer);
    const auto isHere = [&](Value operand) {
      auto known = values.find(operand);
      return known != values.end() && npu::storageOf(known->second.buffer) == storage;
    };
    return tiles.elementOf(tile).getIntOrFloatBitWidth() == element.getIntOrFloatBitWidth() &&
           !isNeededBehind(op, storage, nullptr) &&
           (mayBeSource || llvm::none_of(op->getOperands(), isHere));
  };
  auto stores = nest.getBodyBlock()->getOps<tile::StoreOp>();
  if (spares.empty() && llvm::hasSingleElement(stores)) {
    tile::StoreOp write = *stores.begin();
    const BufferType type = write.getBuffer().getType();
    const auto access = accessOf(type, write.getBuffer(), write.getIndices());
    if (access && access->walk == Walk::Tile && isPaddingBehind(type))
      spares.push_back(access->tile);
  }
  for (const VectorTile& spare : spares)
    if (isFree(spare))
      if (const Tile tile = tiles.viewed(spare, element))
        return *tile;
  spares.push_back(tiles.makeTile(element));
  return spares.back();
}

NestVectorizer::Tile NestVectorizer::tileOf(Value value) {
  if (auto known = values.find(value); known != values.end())
    return known->second;
  Tile made;
  if (const auto line = lines.find(value); line != lines.end()) {
    made = tiles.broadcast(line->second, /*isNumberPerRow=*/false);
  } else if (const auto numbers = rowNumbers.find(value); numbers != rowNumbers.end()) {
    made = tiles.broadcast(numbers->second, /*isNumberPerRow=*/true);
  } else if (Value scalar = scalarOf(value)) {
    if (scalar.getType().isInteger(1))
      return none("it spreads a condition over a tile");
    if (scalar.getType().isIndex())
      scalar = arith::IndexCastOp::create(builder, builder.getI32Type(), scalar);
    if (scalar.getType().isInteger(8))
      scalar = builder.createOrFold<arith::ExtSIOp>(builder.getI16Type(), scalar);
    made = tiles.duplicate(scalar, storedType(scalar.getType()));
  } else if (std::optional<IndexForm> form = indices.of(value)) {
    const Type type = value.getType();
    made = tiles.sequence(form->factors[0], form->factors[1], form->base);
    if (made && (type.isInteger(8) || type.isInteger(16)))
      made = lowHalves(*made, tiles.makeTile(storedType(builder.getI16Type())));
  } else {
    return none("it uses a value that is no number of the vector unit");
  }
  if (made)
    values[value] = *made;
  return made;
}

} // namespace tilewright::ascend
