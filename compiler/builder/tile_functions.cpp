// SPDX-License-Identifier: Apache-2.0
// T.tile.*: functions on tiles, each an element-wise nest that carries its name.
#include "compiler/builder/construction.h"
#include "compiler/builder/element_functions.h"
#include "compiler/builder/operands.h"

#include "llvm/ADT/SmallSet.h"

#include <algorithm>

namespace tilewright {

using builder::BufferRecord;
using builder::Construction;
using builder::ElementFunction;
using builder::quoted;
using builder::Side;

namespace {

/// Of a block of UB, at which rows begin.
constexpr int64_t kBlockBits = 256;

/// A tile of the call with the way from the nest's variables to its indices.
struct Tile {
  Side side;
  std::string role;
  /// For each dim the nest variable that runs over it, or -1.
  std::vector<int> variables;
  /// Of a part that counts as one row, but doesn't lie as one: the part.
  std::optional<Side> part = std::nullopt;
};

bool isUnit(const Index& extent) {
  const auto* known = std::get_if<int64_t>(&extent);
  return known && *known == 1;
}

std::optional<int64_t> sizeOf(const Side& side) {
  int64_t size = 1;
  for (const Index& extent : side.extents) {
    const auto* known = std::get_if<int64_t>(&extent);
    if (!known)
      return std::nullopt;
    size *= *known;
  }
  return size;
}

std::vector<size_t> longDims(const Side& side) {
  std::vector<size_t> dims;
  for (size_t dim = 0; dim < side.extents.size(); ++dim)
    if (!isUnit(side.extents[dim]))
      dims.push_back(dim);
  return dims;
}

/// One call of T.tile.*.
class TileCall {
public:
  TileCall(KernelBuilder& kernel, Construction& state, std::string_view name,
           const ElementFunction& function, const Attributes& attributes)
      : kernel(kernel), state(state), name("T.tile." + std::string(name)), function(function),
        attributes(attributes) {}

  void run(const Operand& target, std::span<const TileArgument> arguments) {
    if (!state.requireTileScope(name) || !resolve(target, arguments) || !checkDtypes() ||
        !checkNumbers())
      return;
    if (function.perByte ? !shapeOfBytes() : !agree())
      return;
    emit();
  }

private:
  KernelBuilder& kernel;
  Construction& state;
  std::string name;
  const ElementFunction& function;
  const Attributes& attributes;
  std::vector<Tile> tiles;                   // the target first
  std::vector<std::optional<Value>> scalars; // per argument; nothing for a tile
  std::vector<Index> extents;                // of the nest

  const BufferRecord& record(const Tile& tile) const {
    return state.record(tile.side.buffer);
  }
  Note note(const Tile& tile) const {
    return state.allocatedHere(record(tile));
  }

  bool addTile(const Operand& operand, const std::string& role) {
    auto side = builder::resolveSide(state, operand, name + " " + role);
    if (!side)
      return false;
    Tile tile{*side, role, {}};
    if (record(tile).space == tile::MemorySpace::Global) {
      state.error(name + " works on tiles, but " + quoted(record(tile).name) +
                      " is in global memory; copy it to the chip first",
                  {note(tile)});
      return false;
    }
    if (side->kind == Side::Kind::Element) {
      state.typeError(name + " takes a buffer or slices of one as " + role +
                          ", but this is an element of " + quoted(record(tile).name),
                      {note(tile)});
      return false;
    }
    tile.variables.assign(side->extents.size(), -1);
    tiles.push_back(std::move(tile));
    return builder::checkAgent(state, *side, /*isOfVectors=*/true);
  }

  bool resolve(const Operand& target, std::span<const TileArgument> arguments) {
    bool isGood = addTile(target, "destination");
    size_t count = arguments.size();
    if (count != function.arguments) {
      state.error(name + " takes a destination and " + std::to_string(function.arguments) +
                  (function.arguments == 1 ? " argument" : " arguments") + ", not " +
                  std::to_string(count));
      return false;
    }
    for (size_t number = 0; number < count; ++number) {
      std::string role = count == 1 ? "source" : "source " + std::to_string(number);
      if (const auto* scalar = std::get_if<Value>(&arguments[number])) {
        if (!state.isUsable(*scalar))
          return false;
        bool mayBe = function.scalars >> number & 1;
        if (!mayBe)
          state.typeError(name + " takes a tile as " + role + ", not a scalar");
        isGood &= mayBe;
        scalars.emplace_back(*scalar);
        continue;
      }
      scalars.emplace_back();
      if (!(function.tiles >> number & 1)) {
        state.typeError(name + " takes a scalar as " + role + ", not a tile");
        return false;
      }
      const auto* buffer = std::get_if<Buffer>(&arguments[number]);
      isGood &=
          addTile(buffer ? Operand(*buffer) : Operand(std::get<Region>(arguments[number])), role);
    }
    return isGood;
  }

  bool checkDtypes() {
    Dtype result = record(tiles[0]).dtype;
    size_t first = function.ownDtypes; // tiles whose dtype is the function's own
    if (first > 0 && function.maskTile < tiles.size()) {
      Tile& mask = tiles[function.maskTile];
      if (record(mask).dtype != Dtype::uint8() && !showAsBytes(mask)) {
        state.typeError(name + " packs a mask in uint8, but " + quoted(record(mask).name) + " is " +
                            record(mask).dtype.name(),
                        {note(mask)});
        return false;
      }
    }
    if (function.integersOnly && result.isFloat() && !showAsIntegers()) {
      state.typeError(name + " works on integers, but " + quoted(record(tiles[0]).name) + " is " +
                          result.name(),
                      {note(tiles[0])});
      return false;
    }
    std::optional<size_t> reference;
    for (size_t number = 0; number < tiles.size(); ++number) {
      bool isOwn = number == function.maskTile && first > 0;
      if (isOwn || function.converts)
        continue;
      if (!reference) {
        reference = number;
        continue;
      }
      if (record(tiles[number]).dtype == record(tiles[*reference]).dtype)
        continue;
      state.error(name + " has " + tiles[*reference].role + " " +
                      quoted(record(tiles[*reference]).name) + " of " +
                      record(tiles[*reference]).dtype.name() + " but " + tiles[number].role + " " +
                      quoted(record(tiles[number]).name) + " of " +
                      record(tiles[number]).dtype.name() + "; use T.tile.cast",
                  {note(tiles[*reference]), note(tiles[number])});
      return false;
    }
    return true;
  }

  /// Scalars become numbers of the tiles' dtype.
  bool checkNumbers() {
    const Tile& tile = tiles[function.perByte ? 1 : 0];
    bool areGood = true;
    for (const std::optional<Value>& scalar : scalars)
      areGood &= !scalar || builder::checkNumberFits(state, name, *scalar, record(tile));
    return areGood;
  }

  /// A tile of numbers may hold a mask in its first bytes, where its rows lie side by side: the function
  /// then has its bytes.
  bool showAsBytes(Tile& mask) {
    const BufferRecord buffer = record(mask);
    const int64_t bits = buffer.dtype.bits();
    const std::optional<int64_t> size = sizeOf(mask.side);
    if (buffer.dtype.kind() == ScalarKind::Bool || bits % 8 != 0 || !size || buffer.shape.empty() ||
        !isSequence(mask))
      return false;
    const int64_t width = std::get<int64_t>(buffer.shape.back());
    const int64_t all = *sizeOf({Side::Kind::Whole, mask.side.buffer, {}, buffer.shape});
    if (width != all && width * bits % kBlockBits != 0)
      return false;
    Index first = firstOf(mask, false);
    if (const auto* known = std::get_if<int64_t>(&first))
      first = *known * bits / 8;
    else
      first = kernel.binary("mul", std::get<Value>(first), kernel.constant(bits / 8));
    const std::array<Index, 1> bytes = {all * bits / 8};
    const Buffer shown = kernel.view(mask.side.buffer, bytes, Dtype::uint8());
    if (shown.isPoison())
      return false;
    state.record(mask.side.buffer).holdsMask = true;
    mask.side = {mask.side.kind, shown, {first}, {*size * bits / 8}};
    mask.variables = {-1};
    return true;
  }

  /// Masks in tiles of floats go together by their bits.
  bool showAsIntegers() {
    const Dtype floats = record(tiles[0]).dtype;
    const bool areMasks =
        std::ranges::any_of(tiles, [&](const Tile& tile) { return record(tile).holdsMask; });
    const std::optional<Dtype> integers = sameBits(floats);
    if (!areMasks || !integers ||
        !std::ranges::none_of(scalars, [](const auto& scalar) { return scalar.has_value(); }) ||
        !std::ranges::all_of(tiles, [&](const Tile& tile) { return record(tile).dtype == floats; }))
      return false;
    for (Tile& tile : tiles) {
      state.record(tile.side.buffer).holdsMask = true;
      const std::vector<Index> shape = record(tile).shape;
      tile.side.buffer = kernel.view(tile.side.buffer, shape, *integers);
      if (tile.side.buffer.isPoison())
        return false;
    }
    return true;
  }

  static std::optional<Dtype> sameBits(Dtype floats) {
    switch (floats.bits()) {
    case 8:
      return Dtype(ScalarKind::UInt8);
    case 16:
      return Dtype(ScalarKind::UInt16);
    case 32:
      return Dtype(ScalarKind::UInt32);
    default:
      return std::nullopt;
    }
  }

  // Shapes

  static bool isKnown(const Index& extent) {
    return std::holds_alternative<int64_t>(extent);
  }
  static bool isSameExtent(const Index& a, const Index& b) {
    return isKnown(a) && isKnown(b) && std::get<int64_t>(a) == std::get<int64_t>(b);
  }

  /// Whether a part is all of its buffer from one element to another.
  bool isSequence(const Tile& tile) const {
    const std::vector<Index>& shape = record(tile).shape;
    bool isBehindLong = false;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (isBehindLong && !isSameExtent(tile.side.extents[dim], shape[dim]))
        return false;
      isBehindLong |= !isUnit(tile.side.extents[dim]);
    }
    return std::ranges::all_of(shape, isKnown);
  }

  bool isMask(const Tile& tile) const {
    return &tile - tiles.data() == ptrdiff_t(function.maskTile);
  }

  /// Whether a tile can be seen as a part of one row: rows that end within a block of UB lie apart, but a
  /// whole mask's only user is the function.
  bool liesInOneRow(const Tile& tile) const {
    if (!isSequence(tile))
      return false;
    const auto* width = std::get_if<int64_t>(&tile.side.extents.back());
    const bool isWholeMask = isMask(tile) && tile.side.kind == Side::Kind::Whole;
    return isWholeMask ||
           (width && (*width == 1 || *width * record(tile).dtype.bits() % kBlockBits == 0));
  }

  /// The number of a part's first element among those of its buffer, or of its first row among the rows.
  Index firstOf(const Tile& tile, bool ofRows) {
    Index first = int64_t{0};
    int64_t step = 1;
    for (size_t dim = tile.side.offsets.size() - size_t(ofRows); dim-- > 0;) {
      const Index& offset = tile.side.offsets[dim];
      if (const auto* value = std::get_if<Value>(&offset)) {
        first = plus(first, kernel.binary("mul", *value, kernel.constant(step)));
      } else if (const int64_t known = std::get<int64_t>(offset) * step; known != 0) {
        const auto* before = std::get_if<int64_t>(&first);
        first = before ? Index(*before + known) : plus(first, kernel.constant(known));
      }
      step *= std::get<int64_t>(record(tile).shape[dim]);
    }
    return first;
  }

  /// Shows the buffer of a tile whose elements lie side by side as one of `shape`.
  bool show(Tile& tile, std::span<const Index> shape, std::vector<Index> offsets,
            std::vector<Index> extents) {
    const Buffer shown = kernel.view(tile.side.buffer, shape, record(tile).dtype);
    if (shown.isPoison())
      return false;
    tile.variables.assign(shape.size(), -1);
    tile.side = {Side::Kind::Part, shown, std::move(offsets), std::move(extents)};
    return true;
  }

  /// Every tile as one row of elements.
  bool flatten() {
    for (Tile& tile : tiles) {
      if (tile.side.extents.size() == 1)
        continue;
      const std::optional<int64_t> size = sizeOf(tile.side);
      if (!size) {
        state.error(name + " takes the elements of " + quoted(record(tile).name) +
                        " one after the other, so their number must be known",
                    {note(tile)});
        return false;
      }
      const bool isWhole = tile.side.kind == Side::Kind::Whole;
      if (!liesInOneRow(tile) || (!isWhole && longDims(tile.side).size() <= 1)) {
        tile.part = tile.side;
        tile.side.offsets = {int64_t{0}};
        tile.side.extents = {*size};
        tile.variables = {-1};
        continue;
      }
      const std::array<Index, 1> shape = {
          *sizeOf({Side::Kind::Whole, tile.side.buffer, {}, record(tile).shape})};
      if (!show(tile, shape, {firstOf(tile, false)}, {*size}))
        return false;
    }
    return true;
  }

  /// Whether all tiles are sequences of rows of the same width.
  bool areRows() const {
    return haveOneShape() && std::ranges::all_of(tiles, [&](const Tile& tile) {
             return isSequence(tile) && sizeOf(tile.side) &&
                    isSameExtent(tile.side.extents.back(), tiles[0].side.extents.back());
           });
  }

  /// Every tile as rows of its last dim, which a target may keep apart.
  bool makeRows() {
    for (Tile& tile : tiles) {
      const int64_t width = std::get<int64_t>(tile.side.extents.back());
      const int64_t all = *sizeOf({Side::Kind::Whole, tile.side.buffer, {}, record(tile).shape});
      const std::array<Index, 2> shape = {all / width, width};
      if (!show(tile, shape, {firstOf(tile, true), int64_t{0}},
                {*sizeOf(tile.side) / width, width}))
        return false;
    }
    return true;
  }

  bool haveOneShape() const {
    return std::ranges::all_of(
        tiles, [&](const Tile& tile) { return isSameShape(tiles[0].side, tile.side); });
  }

  /// A count of whole rows leaves tiles of one shape as they are, but for the number of rows.
  bool takeRows(int64_t count) {
    const std::vector<size_t> dims = longDims(tiles[0].side);
    const std::optional<int64_t> size = sizeOf(tiles[0].side);
    if (!size || dims.empty() || count <= 0 || count > *size || !haveOneShape())
      return false;
    const int64_t row = *size / std::get<int64_t>(tiles[0].side.extents[dims[0]]);
    if (count % row != 0)
      return false;
    if (count == *size)
      return true;
    for (Tile& tile : tiles) {
      tile.side.kind = Side::Kind::Part;
      tile.side.extents[longDims(tile.side)[0]] = count / row;
    }
    return true;
  }

  bool agree() {
    const Tile& target = tiles[0];
    const Attribute* count = builder::find(attributes, "count");
    const bool hasMask = function.maskTile < tiles.size();
    if (count && !hasMask && takeRows(std::get<int64_t>(*count)))
      count = nullptr;
    bool mustFlatten = count != nullptr || hasMask || (function.isSequence && liesInOneRow(target));
    for (const Tile& tile : tiles)
      mustFlatten |= !isSameShape(target.side, tile.side) &&
                     sizeOf(target.side) == sizeOf(tile.side) && sizeOf(target.side) &&
                     !function.broadcasts;
    if (mustFlatten ? !flatten() : longDims(target.side).size() > 2 && areRows() && !makeRows())
      return false;
    std::vector<size_t> dims = longDims(tiles[0].side);
    if (dims.empty())
      dims.push_back(tiles[0].side.extents.size() - 1);
    if (tiles[0].side.extents.empty()) {
      state.error(name + " needs a destination with dims", {note(tiles[0])});
      return false;
    }
    for (size_t number = 0; number < dims.size(); ++number) {
      extents.push_back(tiles[0].side.extents[dims[number]]);
      tiles[0].variables[dims[number]] = int(number);
    }
    if (count && !takeCount(std::get<int64_t>(*count)))
      return false;
    for (size_t number = 1; number < tiles.size(); ++number)
      if (!follow(tiles[number]))
        return false;
    return true;
  }

  bool takeCount(int64_t count) {
    const auto* size = std::get_if<int64_t>(&extents[0]);
    if (size && (count < 0 || count > *size)) {
      state.error(name + " has count " + std::to_string(count) + ", but " +
                      quoted(record(tiles[0]).name) + " has " + std::to_string(*size) + " elements",
                  {note(tiles[0])});
      return false;
    }
    extents[0] = count;
    for (Tile& tile : tiles)
      tile.side.extents[0] = count;
    return true;
  }

  bool isSameShape(const Side& left, const Side& right) const {
    auto a = longDims(left), b = longDims(right);
    if (a.size() != b.size())
      return false;
    for (size_t number = 0; number < a.size(); ++number) {
      if (!state.mayBeSame(left.extents[a[number]], right.extents[b[number]]))
        return false;
    }
    return true;
  }

  /// Finds the variables of a source's dims: the target's, or those that it is broadcast along.
  bool follow(Tile& tile) {
    if (isMask(tile))
      return followMask(tile);
    std::vector<size_t> dims = longDims(tile.side);
    if (isSameShape(tiles[0].side, tile.side)) {
      for (size_t number = 0; number < dims.size(); ++number)
        tile.variables[dims[number]] = int(number);
      return true;
    }
    if (dims.empty())
      return true; // one element for all
    int dim = broadcastDim(tile, dims);
    if (dim < 0)
      return refuseShape(tile);
    tile.variables[dims[0]] = dim;
    return true;
  }

  /// A mask holds a bit per element, or per element of one repeat.
  bool followMask(Tile& tile) {
    const auto* bytes = std::get_if<int64_t>(&tile.side.extents[0]);
    const auto* size = std::get_if<int64_t>(&extents[0]);
    const Attribute* mode = builder::find(attributes, "mode");
    bool repeats = mode && std::get<std::string>(*mode) == "VSEL_CMPMASK_SPR";
    int64_t needed = repeats ? 256 * 8 / record(tiles[0]).dtype.bits() : size ? *size : 0;
    tile.variables = {0};
    if (bytes && *bytes * 8 >= std::min(needed, size ? *size : needed))
      return true;
    state.error(name + " takes a bit per element: " + quoted(record(tile).name) + " has " +
                    state.text(tile.side.extents[0]) + " bytes for " + std::to_string(needed) +
                    " elements",
                {note(tile)});
    return false;
  }

  /// The nest variable that a row or column runs over, or -1.
  int broadcastDim(const Tile& tile, const std::vector<size_t>& dims) const {
    if (dims.size() != 1 || extents.size() != 2)
      return -1;
    const Index& extent = tile.side.extents[dims[0]];
    const Attribute* axis = builder::find(attributes, "axis");
    if (axis || tile.side.extents.size() >= 2) {
      const bool isColumn = dims[0] + 1 == tile.side.extents.size();
      const auto along =
          axis ? 1 - (std::get<int64_t>(*axis) + 2) % 2 : static_cast<int64_t>(isColumn);
      return state.mayBeSame(extent, extents[size_t(along)]) ? int(along) : -1;
    }
    if (function.broadcasts && state.isSame(extents[0], extents[1]))
      return -1;
    if (state.isSame(extent, extents[0]))
      return 0;
    if (!function.broadcasts)
      return state.isCountedAs(extent, extents[0]) ? 0 : -1;
    if (state.isSame(extent, extents[1]))
      return 1;
    const bool mayBeRows = state.isCountedAs(extent, extents[0]);
    return mayBeRows == state.isCountedAs(extent, extents[1]) ? -1 : mayBeRows ? 0 : 1;
  }

  bool refuseShape(const Tile& tile) {
    const std::vector<size_t> dims = longDims(tile.side);
    bool isAmbiguous = function.broadcasts && extents.size() == 2 && dims.size() == 1;
    if (isAmbiguous && !state.isSame(extents[0], extents[1])) {
      const Index& extent = tile.side.extents[dims[0]];
      isAmbiguous = state.isCountedAs(extent, extents[0]) && state.isCountedAs(extent, extents[1]);
    }
    state.typeError(name + " has destination " + quoted(record(tiles[0]).name) + " of " +
                        state.text(tiles[0].side.extents) + " but " + tile.role + " " +
                        quoted(record(tile).name) + " of " + state.text(tile.side.extents) +
                        (isAmbiguous ? "; say axis=0 (one row for all) or axis=1 (one column)"
                         : function.broadcasts
                             ? ""
                             : "; a row of numbers is one per row of the destination, "
                               "others take T.tile.broadcast"),
                    {note(tiles[0]), note(tile)});
    return false;
  }

  /// Masks: a byte of the target for 8 elements of the sources. The target may have more.
  bool shapeOfBytes() {
    if (!flatten())
      return false;
    const auto* room = std::get_if<int64_t>(&tiles[0].side.extents[0]);
    if (const auto* size = std::get_if<int64_t>(&tiles[1].side.extents[0]);
        room && size && *size % 8 == 0 && *size / 8 < *room)
      tiles[0].side.extents[0] = *size / 8;
    const auto* bytes = std::get_if<int64_t>(&tiles[0].side.extents[0]);
    for (size_t number = 1; number < tiles.size(); ++number) {
      const auto* size = std::get_if<int64_t>(&tiles[number].side.extents[0]);
      const auto* first = std::get_if<int64_t>(&tiles[1].side.extents[0]);
      if (number > 1 && first && size && *first != *size) {
        state.error(name + " has source 0 " + quoted(record(tiles[1]).name) + " of " +
                        std::to_string(*first) + " elements but source " +
                        std::to_string(number - 1) + " " + quoted(record(tiles[number]).name) +
                        " of " + std::to_string(*size),
                    {note(tiles[1]), note(tiles[number])});
        return false;
      }
      const int64_t taken = size ? *size * record(tiles[number]).dtype.bits() / 8 : 0;
      if (taken % 256 != 0) {
        state.error(name + " takes whole repeats of 256 bytes, but " +
                        quoted(record(tiles[number]).name) + " has " + std::to_string(taken) +
                        " bytes",
                    {note(tiles[number])});
        return false;
      }
      if (!bytes || !size || *size != *bytes * 8) {
        state.error(name + " makes a bit per element: " + quoted(record(tiles[number]).name) +
                        " has " + state.text(tiles[number].side.extents[0]) + " elements, but " +
                        quoted(record(tiles[0]).name) + " has " +
                        state.text(tiles[0].side.extents[0]) + " bytes",
                    {note(tiles[0]), note(tiles[number])});
        return false;
      }
    }
    for (Tile& tile : tiles)
      tile.variables = {0};
    extents = {tiles[0].side.extents[0]};
    return true;
  }

  // The nest

  Index plus(const Index& offset, Value value) {
    const auto* known = std::get_if<int64_t>(&offset);
    if (known && *known == 0)
      return value;
    return kernel.binary("add", known ? kernel.constant(*known) : std::get<Value>(offset), value);
  }

  /// Of the element with this number in a part, counted row by row.
  std::vector<Index> indicesIn(const Side& part, Value number) {
    std::vector<Index> result = part.offsets;
    std::vector<size_t> dims = longDims(part);
    for (size_t left = dims.size(); left-- > 0;) {
      const size_t dim = dims[left];
      Value extent = kernel.constant(std::get<int64_t>(part.extents[dim]));
      Value at = left == 0 ? number : kernel.binary("floormod", number, extent);
      number = left == 0 ? number : kernel.binary("floordiv", number, extent);
      result[dim] = plus(part.offsets[dim], at);
    }
    return result;
  }

  std::vector<Index> indices(const Tile& tile, const std::vector<Value>& variables) {
    if (tile.part)
      return indicesIn(*tile.part, tile.variables[0] < 0 ? kernel.constant(int64_t{0})
                                                         : variables[size_t(tile.variables[0])]);
    std::vector<Index> result;
    for (size_t dim = 0; dim < tile.variables.size(); ++dim) {
      int variable = tile.variables[dim];
      const Index& offset = tile.side.offsets[dim];
      result.push_back(variable < 0 ? offset : plus(offset, variables[size_t(variable)]));
    }
    return result;
  }

  /// The number of the nest's element, row by row.
  Value numberOf(const std::vector<Value>& variables) {
    Value number = variables[0];
    for (size_t dim = 1; dim < variables.size(); ++dim) {
      const auto* known = std::get_if<int64_t>(&extents[dim]);
      Value extent = known ? kernel.constant(*known) : std::get<Value>(extents[dim]);
      number = kernel.binary("add", kernel.binary("mul", number, extent), variables[dim]);
    }
    return number;
  }

  Attributes nestAttributes() const {
    Attributes all = {{"function", name.substr(7)}};
    if (const Attribute* mode = builder::find(attributes, "mode"))
      all["mode"] = *mode;
    return all;
  }

  void emit() {
    static const std::array<std::string, 4> names = {"i", "j", "k", "l"};
    std::span<const std::string> used(names.data(), std::min(names.size(), extents.size()));
    std::vector<Value> variables = kernel.beginParallel(extents, used, nestAttributes());
    builder::ElementCall call{kernel, state, attributes, record(tiles[0]).dtype, variables, {},
                              {},     {},    {}};
    call.position = [&] { return numberOf(variables); };
    // The element of a tile at the nest's position; of a byte, one of its 8 elements.
    size_t next = 1;
    for (size_t number = 0; number < scalars.size(); ++number) {
      if (scalars[number]) {
        call.dtypes.push_back(scalars[number]->dtype());
        call.sources.emplace_back(
            [value = *scalars[number]](std::optional<Value>) { return value; });
        continue;
      }
      const Tile& tile = tiles[next++];
      call.dtypes.push_back(record(tile).dtype);
      call.sources.emplace_back([this, &tile, &variables](std::optional<Value> at) {
        std::vector<Value> position = variables;
        if (at)
          position[0] = *at;
        return kernel.load(tile.side.buffer, indices(tile, position));
      });
    }
    call.old = [&] { return kernel.load(tiles[0].side.buffer, indices(tiles[0], variables)); };
    Value result = function.make(call);
    kernel.store(tiles[0].side.buffer, indices(tiles[0], variables), result);
    kernel.endParallel();
  }
};

/// What the functions take for granted: a `count` and an `axis` that are integers, a `mode` that is a word.
bool checkKinds(Construction& state, const std::string& name, const Attributes& attributes) {
  for (const char* key : {"count", "axis"}) {
    const Attribute* given = builder::find(attributes, key);
    const auto* number = given ? std::get_if<int64_t>(given) : nullptr;
    if (given && !number) {
      state.typeError(std::string(key) + " of " + name + " must be an integer");
      return false;
    }
    const bool isAxis = key == std::string_view("axis");
    if (number && isAxis && (*number < -2 || *number > 1)) {
      state.error("axis of " + name + " is " + std::to_string(*number) +
                  ", but it must be 0 (one row for all) or 1 (one column)");
      return false;
    }
  }
  const Attribute* mode = builder::find(attributes, "mode");
  if (!mode || std::holds_alternative<std::string>(*mode))
    return true;
  state.typeError("mode of " + name + " must be a word");
  return false;
}

} // namespace

void KernelBuilder::compute(std::string_view name, const Operand& target,
                            std::span<const TileArgument> arguments, const Attributes& attributes) {
  const ElementFunction* function = builder::findElementFunction(name);
  if (!function) {
    state->error("there is no function T.tile." + std::string(name));
    return;
  }
  if (checkKinds(*state, "T.tile." + std::string(name), attributes))
    TileCall(*this, *state, name, *function, attributes).run(target, arguments);
}

} // namespace tilewright
