// SPDX-License-Identifier: Apache-2.0
// Copies, fills and atomic updates of tiles: extents and scopes.
#include "compiler/builder/operands.h"

namespace tilewright {

using builder::BufferRecord;
using builder::Construction;
using builder::quoted;
using builder::Side;

// Copy and fill

namespace {

/// The value beyond the bounds of a global source, or null for 0.
mlir::Value padValue(Construction& state, const Attributes& attributes, std::optional<Value> value,
                     const Side& source, const Side& target) {
  if (value)
    return state.toIr(*value, state.record(source.buffer).dtype);
  const Attribute* given = builder::find(attributes, "pad_value");
  builder::Constant pad;
  if (given && std::holds_alternative<double>(*given))
    pad = builder::Constant::ofReal(std::get<double>(*given));
  else if (given && std::holds_alternative<int64_t>(*given))
    pad = builder::Constant::ofInteger(std::get<int64_t>(*given));
  else if (const auto& ofTile = state.record(target.buffer).padding;
           ofTile && state.record(source.buffer).space == tile::MemorySpace::Global)
    pad = *ofTile;
  else if (const auto& safe = state.record(source.buffer).safeValue)
    pad = *safe;
  else
    return {};
  Dtype dtype = state.record(source.buffer).dtype;
  return state.toIr(state.addConstant(pad, pad.isReal ? Dtype::float32() : Dtype::int64(), true),
                    dtype);
}

/// The last two dims of one side exchanged, as the other side sees them in a transposing copy.
bool transposeSide(Construction& state, Side& side) {
  size_t rank = side.extents.size();
  if (rank < 2) {
    state.error("a transposing copy needs a source of at least 2 dims, but " +
                quoted(state.record(side.buffer).name) + " has " + std::to_string(rank));
    return false;
  }
  std::swap(side.extents[rank - 1], side.extents[rank - 2]);
  std::swap(side.offsets[rank - 1], side.offsets[rank - 2]);
  return true;
}

/// Whether one of the last two dims has a single element.
bool isRowOrColumn(const Side& side) {
  auto isOne = [](const Index& extent) {
    const auto* known = std::get_if<int64_t>(&extent);
    return known && *known == 1;
  };
  size_t rank = side.extents.size();
  return isOne(side.extents[rank - 1]) || isOne(side.extents[rank - 2]);
}

bool isInL0(const BufferRecord& buffer) {
  return buffer.space == tile::MemorySpace::L0A || buffer.space == tile::MemorySpace::L0B;
}

/// On an NPU a copy between tiles is a vector instruction, which rounds to the nearest integer.
bool roundsOnNpu(Construction& state, const Side& from, const Side& to,
                 const Attributes& attributes) {
  const BufferRecord &source = state.record(from.buffer), &target = state.record(to.buffer);
  return state.isNpu && attributes.empty() && source.dtype.isFloat() && target.dtype.isInteger() &&
         source.space != tile::MemorySpace::Global && target.space != tile::MemorySpace::Global &&
         source.space != tile::MemorySpace::L0C && !from.extents.empty();
}

} // namespace

namespace {

/// The shape in which a whole tile on an NPU has the dims of a part of a tensor of which there is more than one, where each
/// dim of the tile is some of those one after the other: (2, 4, 16) for (2, 4, 1, 16) elements and a tile of (8, 16). Else empty.
std::vector<Index> unfoldedShape(const Construction& state, const Side& part, const Side& whole) {
  const builder::BufferRecord &tensor = state.record(part.buffer),
                              &tile = state.record(whole.buffer);
  if (!state.isNpu || part.kind != Side::Kind::Part || whole.kind != Side::Kind::Whole ||
      tensor.space != tile::MemorySpace::Global || tile.space == tile::MemorySpace::Global)
    return {};
  std::vector<Index> dims;
  for (const Index& extent : part.extents)
    if (const auto* number = std::get_if<int64_t>(&extent); !number || *number != 1)
      dims.push_back(extent);
  size_t next = 0;
  for (const Index& extent : whole.extents) {
    const auto* wanted = std::get_if<int64_t>(&extent);
    if (!wanted)
      return {};
    int64_t elements = 1;
    for (; elements < *wanted && next < dims.size(); ++next) {
      const auto* number = std::get_if<int64_t>(&dims[next]);
      if (!number || *number <= 0 || *wanted % (elements * *number) != 0)
        return {};
      elements *= *number;
    }
    if (elements != *wanted)
      return {};
  }
  const bool isFolded = next == dims.size() && dims.size() > whole.extents.size() &&
                        state.isSame(dims.back(), whole.extents.back());
  return isFolded ? dims : std::vector<Index>();
}

} // namespace

/// Whether a side is a whole buffer of one element.
static bool isOneNumber(const Side& side) {
  return side.kind == Side::Kind::Whole && llvm::all_of(side.extents, [](const Index& extent) {
           const auto* number = std::get_if<int64_t>(&extent);
           return number && *number == 1;
         });
}

void KernelBuilder::copy(const Operand& source, const Operand& target, const Attributes& attributes,
                         std::optional<Value> pad) {
  auto from = resolveSide(*state, source, "copy source");
  auto to = resolveSide(*state, target, "copy destination");
  bool isUsable = !pad || state->isUsable(*pad);
  if (!from || !to || !isUsable)
    return;
  // Of a tensor without dims there is no tile.
  const bool isNumber = state->isNpu && isOneNumber(*from) && isOneNumber(*to) &&
                        from->extents.empty() != to->extents.empty();
  const bool areElements =
      from->kind == Side::Kind::Element && to->kind == Side::Kind::Element && attributes.empty();
  if (areElements || isNumber) {
    Value value = load(from->buffer, from->offsets);
    store(to->buffer, to->offsets, value);
    return;
  }
  if (!state->requireTileScope("T.copy") || !builder::checkRoute(*state, *from, *to))
    return;
  bool isTransposed = builder::flag(attributes, "transpose");
  if (isTransposed && !transposeSide(*state, *from))
    return;
  for (auto [part, whole] : {std::pair(&*from, &*to), {&*to, &*from}})
    if (const std::vector<Index> shape = unfoldedShape(*state, *part, *whole);
        !isTransposed && !shape.empty()) {
      whole->buffer = view(whole->buffer, shape, state->record(whole->buffer).dtype);
      whole->offsets.assign(shape.size(), Index(int64_t{0}));
      whole->extents = shape;
    }
  std::vector<builder::End> ends;
  if (!isTransposed)
    ends = builder::fitToTile(*state, *from, *to, pad || builder::find(attributes, "pad_value"));
  if (!agreeExtents(*state, isTransposed ? "transpose" : "copy", *from, *to))
    return;
  if (isTransposed) {
    transposeSide(*state, *from);
    // A row exchanged with a column is in the same order, but in fractals: what stands before them stays where it is.
    isTransposed = isInL0(state->record(to->buffer)) || !isRowOrColumn(*from);
  }
  if (roundsOnNpu(*state, *from, *to, attributes)) {
    std::array<TileArgument, 1> sources = {Region{from->buffer, from->offsets, from->extents, {}}};
    compute("cast", Region{to->buffer, to->offsets, to->extents, {}}, sources,
            {{"mode", "CAST_RINT"}});
    return;
  }
  mlir::Value outside = padValue(*state, attributes, pad, *from, *to); // may need a cast before
  auto op = tile::CopyOp::create(state->ir, state->location(), toRegion(*state, *from),
                                 toRegion(*state, *to));
  if (outside)
    op.getPadMutable().assign(outside);
  llvm::SmallVector<int64_t> endedDims;
  for (const builder::End& end : ends) {
    op.getEndsMutable().append(state->indexIr(end.at));
    endedDims.push_back(int64_t(end.dim));
  }
  if (!ends.empty())
    op.setEndedDims(endedDims);
  if (builder::isScaledStore(*state, *from, *to)) {
    if (mlir::Value scale = builder::visibleScale(*state))
      op.getScaleMutable().assign(scale);
  }
  op.setRelu(builder::flag(attributes, "enable_relu"));
  op.setTranspose(isTransposed);
  annotate(*state, op, "T.copy", attributes, {"pad_value", "enable_relu", "transpose"});
}

namespace {

/// Inside of T.Parallel, of an array that each thread has for itself.
void fillEachElement(KernelBuilder& builder, const Side& to, Value value) {
  std::vector<Index> place;
  for (auto [offset, extent] : llvm::zip_equal(to.offsets, to.extents)) {
    Value step = builder.beginFor(LoopKind::Serial, int64_t{0}, extent, int64_t{1}, "element", {});
    const Value* start = std::get_if<Value>(&offset);
    Value from = start ? *start : builder.constant(std::get<int64_t>(offset));
    place.emplace_back(builder.binary("add", from, step));
  }
  builder.store(to.buffer, place, value);
  for (size_t dim = 0; dim < place.size(); ++dim)
    builder.endFor();
}

} // namespace

void KernelBuilder::fill(const Operand& target, Value value, std::string_view name) {
  bool isUsable = state->isUsable(value);
  auto to = resolveSide(*state, target, "fill");
  if (!to || !isUsable)
    return;
  const BufferRecord& record = state->record(to->buffer);
  const bool isExact = name.starts_with("T.tile."); // those of vector instructions
  if (!(isExact ? builder::checkNumberFits(*state, name, value, record)
                : builder::checkLiteralFits(*state, value, record)))
    return;
  bool isElement = to->kind == Side::Kind::Element || to->extents.empty();
  if (isElement) {
    store(to->buffer, to->offsets, value);
    return;
  }
  if (record.space == tile::MemorySpace::Local && state->enclosing(builder::FrameKind::Parallel)) {
    fillEachElement(*this, *to, value);
    return;
  }
  if (!state->requireTileScope(name))
    return;
  mlir::Value scalar = state->toIr(value, record.dtype);
  tile::FillOp::create(state->ir, state->location(), scalar, toRegion(*state, *to));
}

// Atomics

void KernelBuilder::atomicTile(std::string_view kind, const Operand& target, const Operand& source,
                               const Attributes& attributes) {
  auto from = resolveSide(*state, source, "atomic source");
  auto to = resolveSide(*state, target, "atomic destination");
  if (!from || !to || !state->requireTileScope("a tile's atomic operation"))
    return;
  std::string operation = "atomic_" + std::string(kind);
  if (kind != "add" && kind != "max" && kind != "min") {
    state->error("there is no " + operation + " of tiles: it is add, max or min");
    return;
  }
  if (state->record(to->buffer).space == tile::MemorySpace::Global)
    builder::fitToTile(*state, *from, *to); // a store: nothing ends
  if (!agreeExtents(*state, operation, *from, *to))
    return;
  auto parsed = *tile::symbolizeAtomicKind(llvm::StringRef(kind.data(), kind.size()));
  auto op = tile::AtomicTileOp::create(state->ir, state->location(), parsed,
                                       toRegion(*state, *from), toRegion(*state, *to));
  annotate(*state, op, "T." + operation, attributes, {});
}

} // namespace tilewright
