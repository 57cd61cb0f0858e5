// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/operands.h"

#include "compiler/builder/index_facts.h"
#include "compiler/builder/index_range.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tilewright::builder {
namespace {

std::string counted(size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

const int64_t* known(const Index& index) {
  return std::get_if<int64_t>(&index);
}

bool isUnit(const Index& extent) {
  return known(extent) && *known(extent) == 1;
}

std::string what(size_t dim, const BufferRecord& buffer) {
  return "index " + std::to_string(dim) + " of " + quoted(buffer.name);
}

/// Refuses an index of an on-chip buffer that surely leaves it in some iteration.
bool checkRange(Construction& state, const BufferRecord& buffer, size_t dim, const Index& index,
                int64_t extent = 1) {
  if (buffer.space == tile::MemorySpace::Global || !known(buffer.shape[dim]) || !runsAlways(state))
    return true;
  auto range = rangeOf(state.indexIr(index));
  int64_t size = *known(buffer.shape[dim]);
  if (!range || (range->least >= 0 && range->greatest <= size - extent))
    return true;
  std::string reach = "from " + std::to_string(range->least) + " to " +
                      std::to_string(range->greatest + extent - 1);
  state.indexError(what(dim, buffer) + " goes " + reach + ", but the dim has " +
                       counted(size_t(size), "element", "elements"),
                   {state.allocatedHere(buffer)});
  return false;
}

/// `size + index`, as a negative index counts.
Index fromEnd(Construction& state, const Index& size, const Index& index) {
  return state.indexOf(state.ir.createOrFold<mlir::arith::AddIOp>(
      state.location(), state.indexIr(size), state.indexIr(index)));
}

/// Counts a negative known index from the end, and refuses known indices outside of an on-chip
/// buffer.
std::optional<Index> resolveIndex(Construction& state, const BufferRecord& buffer, size_t dim,
                                  const Index& index) {
  if (!known(index))
    return checkRange(state, buffer, dim, index) ? std::optional(index) : std::nullopt;
  int64_t value = *known(index);
  const Index& extent = buffer.shape[dim];
  if (!known(extent)) {
    if (value >= 0)
      return index;
    return fromEnd(state, extent, index);
  }
  int64_t size = *known(extent);
  bool isOutside = value < -size || (value >= size && buffer.space != tile::MemorySpace::Global);
  if (isOutside && size > 0 && neverRuns(state))
    return Index(int64_t{0}); // any is right
  if (isOutside) {
    state.indexError(what(dim, buffer) + " is " + std::to_string(value) + ", but the dim has " +
                         counted(size_t(size), "element", "elements"),
                     {state.allocatedHere(buffer)});
    return std::nullopt;
  }
  return Index(value < 0 ? value + size : value);
}

bool checkExtent(Construction& state, const BufferRecord& buffer, std::string_view role, size_t dim,
                 const Index& offset, const Index& extent) {
  if (!known(extent))
    return true;
  std::string number = std::to_string(dim);
  if (*known(extent) < 0) {
    state.error(std::string(role) + " has extent " + std::to_string(*known(extent)) + " in dim " +
                number + " of " + quoted(buffer.name) + ", but it cannot be negative");
    return false;
  }
  const int64_t* size = known(buffer.shape[dim]);
  if (buffer.space == tile::MemorySpace::Global || !size)
    return true;
  if (!known(offset) && !checkRange(state, buffer, dim, offset, *known(extent)))
    return false;
  int64_t start = known(offset) ? *known(offset) : 0;
  if (start + *known(extent) <= *size)
    return true;
  state.indexError(std::string(role) + " takes elements " + std::to_string(start) + " to " +
                       std::to_string(start + *known(extent) - 1) + " of dim " + number + " of " +
                       quoted(buffer.name) + ", but the dim has " +
                       counted(size_t(*size), "element", "elements"),
                   {state.allocatedHere(buffer)});
  return false;
}

} // namespace

std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

bool hasFewElements(Construction& state, std::string_view name, llvm::ArrayRef<int64_t> dims) {
  int64_t count = 64; // bits of the largest ones
  for (int64_t dim : dims)
    if (!mlir::ShapedType::isDynamic(dim) &&
        __builtin_mul_overflow(count, std::max<int64_t>(dim, 1), &count)) {
      const bool isEmpty = llvm::is_contained(dims, 0);
      state.error((name.empty() ? "the tensor" : quoted(name)) +
                  (isEmpty ? " has an extent of 0, but its other extents make" : " has") +
                  " more than 2^57 elements");
      return false;
    }
  return true;
}

/// The variable of a loop over numbers of uint64 is an index that was put into that dtype.
static std::optional<Index> elementIndex(Construction& state, const Index& given,
                                         std::string_view what) {
  auto index = state.toIndex(given, what);
  if (!index || known(*index))
    return index;
  auto back = state.indexIr(*index).getDefiningOp<mlir::arith::IndexCastUIOp>();
  auto cast = back ? back.getIn().getDefiningOp<mlir::arith::IndexCastUIOp>()
                   : mlir::arith::IndexCastUIOp();
  return cast && cast.getIn().getType().isIndex() ? Index(state.indexOf(cast.getIn())) : index;
}

std::optional<std::vector<Index>> resolveIndices(Construction& state, Buffer buffer,
                                                 std::span<const Index> indices, Names names) {
  const BufferRecord& record = state.record(buffer);
  // Poison first: its own error has been reported.
  for (const Index& index : indices)
    if (const auto* value = std::get_if<Value>(&index); value && value->isPoison())
      return std::nullopt;
  if (indices.size() != record.shape.size()) {
    state.indexError(quoted(record.name) + " has " + counted(record.shape.size(), "dim", "dims") +
                         " but is indexed with " + counted(indices.size(), "index", "indices"),
                     {state.allocatedHere(record)});
    return std::nullopt;
  }
  std::vector<Index> resolved;
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    auto given = elementIndex(state, indices[dim], what(dim, record));
    if (given && names == Names::Element && !known(*given) &&
        isAlwaysNegative(state, state.indexIr(*given)))
      given = fromEnd(state, record.shape[dim], *given);
    auto index = given ? resolveIndex(state, record, dim, *given) : std::nullopt;
    if (!index)
      return std::nullopt;
    resolved.push_back(*index);
  }
  return resolved;
}

std::optional<Side> resolveSide(Construction& state, const Operand& operand,
                                std::string_view role) {
  Side side;
  if (const auto* buffer = std::get_if<Buffer>(&operand)) {
    if (!state.isUsable(*buffer))
      return std::nullopt;
    side.buffer = *buffer;
    side.extents = state.record(*buffer).shape;
    side.offsets.assign(side.extents.size(), int64_t{0});
    return side;
  }
  const auto& region = std::get<Region>(operand);
  if (!state.isUsable(region.buffer))
    return std::nullopt;
  side.buffer = region.buffer;
  auto offsets = resolveIndices(state, region.buffer, region.offsets, Names::Start);
  if (!offsets)
    return std::nullopt;
  side.offsets = std::move(*offsets);
  side.kind = region.extents.empty() ? Side::Kind::Element : Side::Kind::Part;
  if (region.extents.empty()) {
    side.extents.assign(side.offsets.size(), int64_t{1});
    // An element of a buffer without dims is the buffer.
    if (side.offsets.empty())
      side.kind = Side::Kind::Whole;
    return side;
  }
  const BufferRecord& record = state.record(region.buffer);
  if (region.extents.size() != region.offsets.size()) {
    state.report(Severity::Internal, "a region of " + quoted(record.name) + " has " +
                                         counted(region.offsets.size(), "offset", "offsets") +
                                         " but " +
                                         counted(region.extents.size(), "extent", "extents"));
    return std::nullopt;
  }
  for (size_t dim = 0; dim < region.extents.size(); ++dim) {
    auto extent = state.toIndex(region.extents[dim], "an extent of " + quoted(record.name));
    if (!extent || !checkExtent(state, record, role, dim, side.offsets[dim], *extent))
      return std::nullopt;
    side.extents.push_back(*extent);
  }
  return side;
}

tile::BufferRegion toRegion(Construction& state, const Side& side) {
  tile::BufferRegion region;
  region.buffer = state.record(side.buffer).ir;
  for (const Index& offset : side.offsets)
    region.offsets.push_back(state.foldResult(offset));
  for (const Index& extent : side.extents)
    region.extents.push_back(state.foldResult(extent));
  return region;
}

// Extents of two sides

namespace {

class Agreement {
public:
  Agreement(Construction& state, std::string_view operation, Side& source, Side& target)
      : state(state), operation(operation), source(source), target(target) {}

  bool run() {
    if (source.kind == Side::Kind::Whole && target.kind == Side::Kind::Whole)
      return agreeWhole();
    auto units = [](const Side& side) {
      return std::count_if(side.extents.begin(), side.extents.end(), isUnit);
    };
    int64_t sourceCount = int64_t(source.extents.size()) - units(source);
    int64_t targetCount = int64_t(target.extents.size()) - units(target);
    return sourceCount == targetCount ? agreeInOrder() : agreeFromTheEnd();
  }

private:
  Construction& state;
  std::string_view operation;
  Side& source;
  Side& target;

  const BufferRecord& from() const {
    return state.record(source.buffer);
  }
  const BufferRecord& to() const {
    return state.record(target.buffer);
  }
  std::vector<Note> notes() const {
    return {state.allocatedHere(from()), state.allocatedHere(to())};
  }

  bool agreeWhole() {
    bool isEqual = std::equal(source.extents.begin(), source.extents.end(), target.extents.begin(),
                              target.extents.end(),
                              [&](const Index& a, const Index& b) { return state.isSame(a, b); });
    if (isEqual)
      return true;
    const std::string shape = state.text(source.extents);
    state.error(
        std::string(operation) +
            (isTransposed() ? " of whole buffers: " : " of whole buffers of different shapes: ") +
            quoted(from().name) + (isTransposed() ? ", transposed, is " : " is ") + shape +
            " but " + quoted(to().name) + " is " + state.text(target.extents) + wayOut(),
        notes());
    return false;
  }

  /// Where one side's part has the other's shape: how to name it.
  std::string wayOut() const {
    const bool isSourceFirst = source.extents.size() > target.extents.size();
    const std::pair<const Side*, const Side*> sides[] = {{&source, &target}, {&target, &source}};
    for (bool isFirst : {true, false}) {
      const auto& [whole, other] = sides[isSourceFirst == isFirst ? 0 : 1];
      const std::string part = isTransposed() ? "" : partLike(*whole, *other);
      if (!part.empty())
        return "; name the part that is meant: " + state.record(whole->buffer).name + part;
    }
    return "";
  }

  /// The part of a whole buffer that corresponds to `other`: "[0, 0:208]" of (1, 208), or of (8, 208), to (208). Empty if
  /// none does.
  static std::string partLike(const Side& whole, const Side& other) {
    auto known = [](const Side& side, bool isWithUnits) {
      llvm::SmallVector<int64_t> extents;
      for (const Index& extent : side.extents)
        if (isWithUnits || !isUnit(extent))
          extents.push_back(std::holds_alternative<int64_t>(extent) ? std::get<int64_t>(extent)
                                                                    : -1);
      return extents;
    };
    llvm::SmallVector<int64_t> wanted = known(other, true);
    const llvm::SmallVector<int64_t> all = known(whole, true);
    if (known(whole, false) == known(other, false))
      wanted = all;
    else if (wanted.size() < all.size() && std::equal(wanted.rbegin(), wanted.rend(), all.rbegin()))
      wanted.insert(wanted.begin(), all.size() - wanted.size(), 1); // the first row, say
    bool isPart = wanted.size() == all.size();
    std::string part;
    for (auto [extent, most] : llvm::zip(wanted, all)) {
      isPart &= extent > 0 && extent <= most;
      part += (part.empty() ? "[" : ", ") +
              (extent == 1 ? std::string("0") : "0:" + std::to_string(extent));
    }
    return isPart ? part + "]" : "";
  }

  /// The source's extents and offsets are exchanged already, its buffer's dims are not.
  bool isTransposed() const {
    return operation == "transpose";
  }

  size_t bufferDim(const Side& side, size_t dim) const {
    const size_t rank = side.extents.size();
    const bool isExchanged = isTransposed() && &side == &source && dim + 2 >= rank;
    return isExchanged ? 2 * rank - 3 - dim : dim;
  }

  bool agreeInOrder() {
    size_t j = 0;
    for (size_t i = 0; i < source.extents.size(); ++i) {
      if (isUnit(source.extents[i]))
        continue;
      while (isUnit(target.extents[j]))
        ++j;
      if (!agreeExtent(i, j++))
        return false;
    }
    return true;
  }

  bool agreeExtent(size_t i, size_t j) {
    Index& a = source.extents[i];
    Index& b = target.extents[j];
    if (state.isSame(a, b))
      return true;
    if (!known(a) || !known(b)) {
      // One is known in the kernel only: what both sides have is copied.
      a = b = smaller(a, b);
      return true;
    }
    std::string unit = source.extents.size() - i == 2 && target.extents.size() - j == 2 ? " rows"
                       : source.extents.size() - i == 1 && target.extents.size() - j == 1
                           ? " columns"
                           : " elements in dim " + std::to_string(i);
    if (source.extents.size() == 1 || target.extents.size() == 1)
      unit = " elements";
    std::string message = (isTransposed() ? "transposed" : std::string(operation)) +
                          " source has " + state.text(a) + unit + " but destination has " +
                          state.text(b);
    Index& nearer = sourceIsNearer() ? a : b;
    Index& other = sourceIsNearer() ? b : a;
    if (state.isNpu || operation != "copy" || *known(nearer) > *known(other)) {
      state.error(std::move(message), notes());
      return false;
    }
    other = nearer;
    state.report(Severity::Warning, message + ", so " + state.text(nearer) + " are copied",
                 notes());
    return true;
  }

  /// Whether the source is nearer to the threads than the destination, or as near: then a copy is as large as it is.
  bool sourceIsNearer() const {
    auto distance = [](const BufferRecord& buffer) {
      return buffer.space == tile::MemorySpace::Global   ? 2
             : buffer.space == tile::MemorySpace::Shared ? 1
                                                         : 0;
    };
    return distance(from()) <= distance(to());
  }

  Index smaller(const Index& a, const Index& b) {
    return state.indexOf(state.ir.createOrFold<mlir::arith::MinSIOp>(
        state.location(), state.indexIr(a), state.indexIr(b)));
  }

  /// Whether a part of a tensor and one of an NPU's tile have names: then a single row is that row.
  bool namesParts() const {
    return state.isNpu && source.kind == Side::Kind::Part && target.kind == Side::Kind::Part &&
           (from().space == tile::MemorySpace::Global || to().space == tile::MemorySpace::Global);
  }

  bool agreeFromTheEnd() {
    const std::vector<Index> sourceExtents = source.extents, targetExtents = target.extents;
    const bool isParts = namesParts();
    bool takesLess = false;
    size_t common = std::min(source.extents.size(), target.extents.size());
    for (size_t back = 1; back <= common; ++back) {
      size_t i = source.extents.size() - back, j = target.extents.size() - back;
      Index& a = source.extents[i];
      Index& b = target.extents[j];
      takesLess |= isParts && back == 1 && isUnit(a) != isUnit(b); // a single row is meant as one
      if (isUnit(a) || isUnit(b))
        a = b = isUnit(a) != isParts ? b : a;
      else if (!known(a) || !known(b))
        a = b = state.isSame(a, b) ? a : smaller(a, b);
      else
        a = b = clip(std::max(*known(a), *known(b)), i, j);
      if (!checkExtent(state, from(), role("source"), bufferDim(source, i), source.offsets[i], a) ||
          !checkExtent(state, to(), role("destination"), j, target.offsets[j], b))
        return false;
    }
    if (!checkLeftOver(source, sourceExtents, target, common) ||
        !checkLeftOver(target, targetExtents, source, common))
      return false;
    if (takesLess)
      state.report(Severity::Warning,
                   std::string(operation) + " takes " + state.text(source.extents) +
                       " elements: of " + quoted(from().name) + " it names " +
                       state.text(sourceExtents) + ", and of " + quoted(to().name) + " " +
                       state.text(targetExtents) + "; name as many of both",
                   notes());
    return true;
  }

  std::string role(const char* side) const {
    return std::string(operation) + " " + side;
  }

  /// What an on-chip buffer can hold of an extent that only the other side asks for.
  int64_t clip(int64_t extent, size_t i, size_t j) const {
    auto limit = [&](const Side& side, size_t dim) {
      const BufferRecord& buffer = state.record(side.buffer);
      const int64_t* size = known(buffer.shape[bufferDim(side, dim)]);
      if (buffer.space == tile::MemorySpace::Global || !size)
        return extent;
      int64_t start = known(side.offsets[dim]) ? *known(side.offsets[dim]) : 0;
      return std::min(extent, *size - start);
    };
    return std::min(limit(source, i), limit(target, j));
  }

  /// Leading dims that the other side doesn't have must be 1. `given` are the side's own extents.
  bool checkLeftOver(const Side& side, const std::vector<Index>& given, const Side& other,
                     size_t common) {
    for (size_t dim = 0; dim + common < side.extents.size(); ++dim) {
      if (isUnit(side.extents[dim]))
        continue;
      state.error(std::string(operation) + " between " + state.text(given) + " elements of " +
                      quoted(state.record(side.buffer).name) + " and " +
                      quoted(state.record(other.buffer).name) + ", which has " +
                      counted(other.extents.size(), "dim", "dims") + ": dim " +
                      std::to_string(dim) + " of the first has nothing to go with",
                  notes());
      return false;
    }
    return true;
  }
};

} // namespace

bool agreeExtents(Construction& state, std::string_view operation, Side& source, Side& target) {
  return Agreement(state, operation, source, target).run();
}

/// The dims of which a side has more than one element.
static std::vector<size_t> dimsOfMany(const Side& side) {
  std::vector<size_t> dims;
  for (size_t dim = 0; dim < side.extents.size(); ++dim)
    if (!isUnit(side.extents[dim]))
      dims.push_back(dim);
  return dims;
}

/// Which dims of a part of a tensor and of a whole tile go together: where the part has fewer dims of many, a single row
/// is one of the tile's, as one whose number is known in the kernel only. None, where the general rule has to say.
static std::vector<std::pair<size_t, size_t>> fittingDims(const Side& part, const Side& whole) {
  std::vector<size_t> dims = dimsOfMany(part), tileDims = dimsOfMany(whole);
  if (dims.size() > tileDims.size())
    return {};
  const size_t ofPart = part.extents.size(), ofTile = whole.extents.size();
  const size_t common = std::min(ofPart, ofTile);
  const bool isInOrder = dims.size() == tileDims.size();
  const size_t paired = isInOrder ? dims.size() : common;
  std::vector<std::pair<size_t, size_t>> pairs;
  pairs.reserve(paired);
  for (size_t number = 0; number < paired; ++number)
    pairs.emplace_back(isInOrder ? dims[number] : ofPart - common + number,
                       isInOrder ? tileDims[number] : ofTile - common + number);
  const bool isWhole =
      isInOrder ||
      ((dims.empty() || dims.front() >= ofPart - common) && tileDims.front() >= ofTile - common &&
       llvm::all_of(pairs, [&](const std::pair<size_t, size_t>& pair) {
         return isUnit(part.extents[pair.first]) || !isUnit(whole.extents[pair.second]);
       }));
  return isWhole ? pairs : std::vector<std::pair<size_t, size_t>>();
}

bool isWholePlane(const Construction& state, const Side& side) {
  const std::vector<Index>& shape = state.record(side.buffer).shape;
  if (side.kind != Side::Kind::Part)
    return side.kind == Side::Kind::Whole;
  bool isAtPlace = false;
  for (size_t dim = 0; dim < side.extents.size(); ++dim) {
    if (state.isSame(side.extents[dim], shape[dim]))
      continue;
    if (!isUnit(side.extents[dim]))
      return false;
    isAtPlace = true;
  }
  return isAtPlace;
}

std::vector<End> fitToTile(Construction& state, Side& source, Side& target, bool isPadded) {
  const bool isLoad = state.record(source.buffer).space == tile::MemorySpace::Global;
  Side& part = isLoad ? source : target;
  Side& whole = isLoad ? target : source;
  const BufferRecord &tensor = state.record(part.buffer), &tile = state.record(whole.buffer);
  if (!state.isNpu || part.kind != Side::Kind::Part ||
      !(isWholePlane(state, whole) || (isPadded && whole.kind == Side::Kind::Part)) ||
      tensor.space != tile::MemorySpace::Global || tile.space == tile::MemorySpace::Global)
    return {};
  const std::vector<std::pair<size_t, size_t>> dims = fittingDims(part, whole);
  std::vector<Index> widened = part.extents, narrowed = whole.extents;
  std::vector<End> ends;
  for (const auto& [dim, tileDim] : dims) {
    const Index& named = part.extents[dim];
    const Index extent = whole.extents[tileDim];
    const int64_t *fixed = known(named), *taken = known(extent);
    if (!taken || state.isSame(named, extent))
      continue;
    if (fixed && *taken < *fixed)
      return {};
    const int64_t *start = known(part.offsets[dim]), *size = known(tensor.shape[dim]);
    const bool reachesEnd = fixed && start && size && *start + *fixed >= *size;
    if (isLoad || reachesEnd)
      widened[dim] = extent;
    else if (fixed)
      narrowed[tileDim] = named;
    if (isLoad && !reachesEnd)
      ends.push_back({dim, fixed && start
                               ? Index(*start + *fixed)
                               : state.indexOf(state.ir.createOrFold<mlir::arith::AddIOp>(
                                     state.location(), state.indexIr(part.offsets[dim]),
                                     state.indexIr(named)))});
  }
  part.extents = std::move(widened);
  whole.extents = std::move(narrowed);
  return ends;
}

bool checkLiteralFits(Construction& state, Value value, const BufferRecord& buffer) {
  const ValueRecord& record = state.record(value);
  if (record.isLiteral && record.constant->isReal && buffer.dtype.isFloat() &&
      buffer.dtype.bits() < 64) {
    const double real = record.constant->real;
    if (!std::isfinite(real) || std::isfinite(float(real)))
      return true;
    state.error("the number " + toText(*record.constant, Dtype(ScalarKind::Float64)) +
                    " does not fit the dtype " + buffer.dtype.name() + " of " +
                    quoted(buffer.name) + "; T.infinity(dtype) is meant to be infinite",
                {state.allocatedHere(buffer)});
    return false;
  }
  if (!record.isLiteral || record.constant->isReal || buffer.dtype.isFloat() ||
      buffer.dtype.kind() == ScalarKind::Bool)
    return true;
  int64_t literal = record.constant->integer;
  const bool isLarger = value.dtype().kind() == ScalarKind::UInt64; // beyond int64
  // A negative number may be meant as the bits of an unsigned one.
  bool isBits = literal < 0 && !buffer.dtype.isSigned() &&
                (buffer.dtype.bits() == 64 ||
                 (!isLarger && literal >= -(int64_t(1) << (buffer.dtype.bits() - 1))));
  if ((!isLarger && fits(literal, buffer.dtype)) || isBits)
    return true;
  state.error("the integer " + toText(*record.constant, value.dtype()) +
                  " does not fit the dtype " + buffer.dtype.name() + " of " + quoted(buffer.name),
              {state.allocatedHere(buffer)});
  return false;
}

bool checkNumberFits(Construction& state, std::string_view name, Value value,
                     const BufferRecord& tile) {
  const std::optional<Constant>& constant = state.record(value).constant;
  if (!tile.dtype.isInteger() || !constant || !constant->isReal ||
      (std::isfinite(constant->real) && std::trunc(constant->real) == constant->real))
    return checkLiteralFits(state, value, tile);
  state.error(std::string(name) + " takes whole numbers with " + quoted(tile.name) + " of " +
                  tile.dtype.name() + ", not " + toText(*constant, Dtype(ScalarKind::Float64)),
              {state.allocatedHere(tile)});
  return false;
}

std::optional<tile::MemoryOrder> memoryOrder(Construction& state, const Attributes& attributes) {
  const Attribute* given = find(attributes, "memory_order");
  if (!given)
    return tile::MemoryOrder::Relaxed;
  const auto* name = std::get_if<std::string>(given);
  auto order = name ? tile::symbolizeMemoryOrder(*name) : std::nullopt;
  if (!order)
    state.error("there is no memory order '" + (name ? *name : "?") +
                "': it is relaxed, consume, acquire, release, acq_rel or seq_cst");
  return order;
}

bool requireOnChip(Construction& state, std::string_view operation, const Side& side) {
  const BufferRecord& record = state.record(side.buffer);
  if (record.space != tile::MemorySpace::Global)
    return checkAgent(state, side);
  state.error(
      std::string(operation) + " works on tiles, but " + quoted(record.name) +
          " is in global memory; copy it to a T.alloc_shared or T.alloc_fragment buffer first",
      {state.allocatedHere(record)});
  return false;
}

} // namespace tilewright::builder
