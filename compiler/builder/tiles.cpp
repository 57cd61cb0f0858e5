// SPDX-License-Identifier: Apache-2.0
// Operations on tiles: shapes, dtypes and scopes.
#include "compiler/builder/operands.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region_overlap.h"
#include "compiler/ir/thread_groups.h"

namespace tilewright {

using builder::BufferRecord;
using builder::Construction;
using builder::quoted;
using builder::Side;

namespace {

bool flag(const Attributes& attributes, const std::string& key) {
  const Attribute* given = builder::find(attributes, key);
  return given && std::holds_alternative<bool>(*given) && std::get<bool>(*given);
}

/// Errors unless a tile lies on the chip, where tile operations compute.
bool requireOnChip(Construction& state, std::string_view operation, const Side& side) {
  const BufferRecord& record = state.record(side.buffer);
  if (record.space != tile::MemorySpace::Global)
    return builder::checkAgent(state, side);
  state.error(
      std::string(operation) + " works on tiles, but " + quoted(record.name) +
          " is in global memory; copy it to a T.alloc_shared or T.alloc_fragment buffer first",
      {state.allocatedHere(record)});
  return false;
}

/// The number of a dim that may count from the end.
std::optional<int64_t> resolveDim(Construction& state, std::string_view operation,
                                  const Side& source, int64_t dim) {
  auto rank = int64_t(source.extents.size());
  if (dim >= -rank && dim < rank)
    return dim < 0 ? dim + rank : dim;
  const BufferRecord& record = state.record(source.buffer);
  state.report(Severity::Error, // on an NPU as TileLang-Ascend calls it
               std::string(operation) + " over dim " + std::to_string(dim) + ", but " +
                   quoted(record.name) + " has " + std::to_string(rank) +
                   (rank == 1 ? " dim" : " dims"),
               {state.allocatedHere(record)}, state.isNpu ? Fault::Value : Fault::Index);
  return std::nullopt;
}

} // namespace

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
  bool isTransposed = flag(attributes, "transpose");
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
  auto op = tile::CopyOp::create(state->ir, state->location(), toRegion(*state, *from),
                                 toRegion(*state, *to));
  if (mlir::Value outside = padValue(*state, attributes, pad, *from, *to))
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
  op.setRelu(flag(attributes, "enable_relu"));
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

// Gemm

namespace {

struct Matrix {
  Index rows, columns;
};

/// The last two extents, exchanged if transposed.
std::optional<Matrix> matrixOf(Construction& state, const Side& side, std::string_view role,
                               bool transpose) {
  const BufferRecord& record = state.record(side.buffer);
  size_t rank = side.extents.size();
  if (rank < 2) {
    state.error("gemm needs matrices, but " + std::string(role) + ", " + quoted(record.name) +
                    ", has " + std::to_string(rank) + (rank == 1 ? " dim" : " dims"),
                {state.allocatedHere(record)});
    return std::nullopt;
  }
  for (size_t dim = 0; dim + 2 < rank; ++dim) {
    if (state.isSame(side.extents[dim], int64_t{1}))
      continue;
    state.error("gemm needs matrices, but " + std::string(role) + ", " + quoted(record.name) +
                    ", has extents " + state.text(side.extents) +
                    "; those before the last two must be 1",
                {state.allocatedHere(record)});
    return std::nullopt;
  }
  Matrix matrix{side.extents[rank - 2], side.extents[rank - 1]};
  if (transpose)
    std::swap(matrix.rows, matrix.columns);
  return matrix;
}

class GemmRules {
public:
  GemmRules(Construction& state, Side& a, Side& b, Side& c) : state(state), a(a), b(b), c(c) {}

  bool check(bool transposeA, bool transposeB) {
    auto left = matrixOf(state, a, "A", transposeA);
    auto right = matrixOf(state, b, "B", transposeB);
    auto result = matrixOf(state, c, "C", false);
    if (!left || !right || !result)
      return false;
    // All three disagreements are told at once: each has its own cause.
    bool agree = checkSame("K", "A", a, left->columns, "B", b, right->rows);
    agree &= checkSame("M", "A", a, left->rows, "C", c, result->rows);
    agree &= checkSame("N", "B", b, right->columns, "C", c, result->columns);
    if (!checkDtypes() || !agree || !isApart("A", a) || !isApart("B", b))
      return false;
    Index *ofA = &a.extents.back() - 1, *ofB = &b.extents.back() - 1, *ofC = &c.extents.back() - 1;
    takeSmaller(ofA[transposeA ? 0 : 1], ofB[transposeB ? 1 : 0]);
    takeSmaller(ofA[transposeA ? 1 : 0], ofC[0]);
    takeSmaller(ofB[transposeB ? 0 : 1], ofC[1]);
    return true;
  }

private:
  Construction& state;
  Side &a, &b, &c;

  /// Of extents of which one is known in the kernel only: as in copies, what both sides have counts.
  void takeSmaller(Index& first, Index& second) {
    if (!state.isSame(first, second))
      first = second = state.indexOf(state.ir.createOrFold<mlir::arith::MinSIOp>(
          state.location(), state.indexIr(first), state.indexIr(second)));
  }

  /// Whether an operand isn't known to have elements in common with the result, under any name.
  bool isApart(const char* role, const Side& operand) {
    const BufferRecord &own = record(c), &other = record(operand);
    if (&own == &other ? !meets(operand) : !isSeenAs(operand))
      return true;
    state.error("gemm C, " + quoted(own.name) + ", has elements of " + role +
                    (own.name == other.name ? "" : ", " + quoted(other.name)) +
                    ", which would change while they are read; give it a tile of its own",
                {state.allocatedHere(own)});
    return false;
  }

  /// As views of one tile: certainly.
  bool isSeenAs(const Side& operand) {
    return npu::storageOf(record(c).ir) == npu::storageOf(record(operand).ir) &&
           llvm::is_contained({tile::Overlap::Same, tile::Overlap::Certain},
                              tile::compareParts(toRegion(state, operand), toRegion(state, c)));
  }

  bool meets(const Side& operand) {
    for (size_t dim = 0; dim < c.offsets.size(); ++dim)
      if (!meetIn(operand, dim))
        return false;
    return true;
  }

  bool meetIn(const Side& operand, size_t dim) {
    const auto number = [](const Index& index) { return std::get_if<int64_t>(&index); };
    const int64_t *first = number(operand.offsets[dim]), *second = number(c.offsets[dim]),
                  *count = number(operand.extents[dim]), *other = number(c.extents[dim]);
    if (first && second && count && other)
      return *first < *second + *other && *second < *first + *count;
    return state.isSame(operand.offsets[dim], c.offsets[dim]);
  }

  const BufferRecord& record(const Side& side) const {
    return state.record(side.buffer);
  }
  std::vector<Note> notes(const Side& first, const Side& second) const {
    return {state.allocatedHere(record(first)), state.allocatedHere(record(second))};
  }

  bool checkSame(const char* dim, const char* firstRole, const Side& first,
                 const Index& firstExtent, const char* secondRole, const Side& second,
                 const Index& secondExtent) {
    if (state.isSame(firstExtent, secondExtent) || !std::holds_alternative<int64_t>(firstExtent) ||
        !std::holds_alternative<int64_t>(secondExtent))
      return true;
    state.error(std::string("gemm ") + dim + " disagrees: it is " + state.text(firstExtent) +
                    " in " + firstRole + ", " + quoted(record(first).name) + ", but " +
                    state.text(secondExtent) + " in " + secondRole + ", " +
                    quoted(record(second).name),
                notes(first, second));
    return false;
  }

  /// What A and B are, and what C is: each is told, as each has its own cause.
  bool checkDtypes() {
    const Dtype left = record(a).dtype, right = record(b).dtype;
    const bool isNarrowFloat =
        left.isFloat() && right.isFloat() && left.bits() <= 8 && right.bits() <= 8;
    const bool isNarrowInteger =
        left.isInteger() && right.isInteger() && left.bits() <= 8 && right.bits() <= 8;
    bool agree = true;
    if (left != right && !isNarrowFloat && !isNarrowInteger) {
      state.typeError("gemm operands have different dtypes: A, " + quoted(record(a).name) +
                          ", is " + left.name() + " but B, " + quoted(record(b).name) + ", is " +
                          right.name(),
                      notes(a, b));
      agree = false;
    } else if (left.kind() == ScalarKind::Bool) {
      state.typeError("gemm does not multiply bools: A, " + quoted(record(a).name) + ", is bool",
                      notes(a, b));
      return false;
    }
    // Of two different ones C may be right for that which is meant.
    return (holdsSumsOf(left) || holdsSumsOf(right) || !tellResult(left)) && agree;
  }

  bool holdsSumsOf(const Dtype& operand) const {
    const Dtype result = record(c).dtype;
    if (!operand.isFloat())
      return result.isInteger() && result.bits() >= 32;
    return result.isFloat() && result.bits() >= std::min(operand.bits(), 32) && result.bits() >= 16;
  }

  /// True, for an error.
  bool tellResult(const Dtype& operand) {
    const char* needed = operand.isFloat() ? "a float dtype that is as wide" : "int32";
    state.typeError("gemm of " + operand.name() + " accumulates in " + needed + ", but C, " +
                        quoted(record(c).name) + ", is " + record(c).dtype.name(),
                    {state.allocatedHere(record(c))});
    return true;
  }
};

std::optional<tile::GemmPolicy> gemmPolicy(Construction& state, const Attributes& attributes) {
  const Attribute* given = builder::find(attributes, "policy");
  if (!given)
    return tile::GemmPolicy::Square;
  std::optional<tile::GemmPolicy> policy;
  if (const auto* number = std::get_if<int64_t>(given); number && *number >= 0 && *number <= 2)
    policy = tile::GemmPolicy(*number);
  else if (const auto* name = std::get_if<std::string>(given))
    policy = tile::symbolizeGemmPolicy(*name);
  if (!policy)
    state.error("a gemm's policy is GemmWarpPolicy.Square, FullRow or FullCol");
  return policy;
}

} // namespace

void KernelBuilder::gemm(const Operand& a, const Operand& b, const Operand& c, bool transposeA,
                         bool transposeB, Index clearAccum, const Attributes& attributes) {
  auto left = resolveSide(*state, a, "gemm A");
  auto right = resolveSide(*state, b, "gemm B");
  auto result = resolveSide(*state, c, "gemm C");
  bool isUsable = state->isUsable(clearAccum);
  auto policy = gemmPolicy(*state, attributes);
  if (!left || !right || !result || !isUsable || !policy || !state->requireTileScope("T.gemm"))
    return;
  for (const Side* side : {&*left, &*right, &*result})
    if (!requireOnChip(*state, "gemm", *side))
      return;
  if (!GemmRules(*state, *left, *right, *result).check(transposeA, transposeB))
    return;
  mlir::Value clear;
  bool clearAlways = false;
  if (const auto* known = std::get_if<int64_t>(&clearAccum))
    clearAlways = *known != 0;
  else if (auto constant = constantValue(std::get<Value>(clearAccum)))
    clearAlways = *constant != 0;
  else
    clear = state->toBool(std::get<Value>(clearAccum));
  auto op = tile::GemmOp::create(state->ir, state->location(), toRegion(*state, *left),
                                 toRegion(*state, *right), toRegion(*state, *result), transposeA,
                                 transposeB, clear, clearAlways, *policy);
  annotate(*state, op, "T.gemm", attributes, {"policy"});
}

// Reductions and scans

namespace {

bool isBitKind(tile::ReduceKind kind) {
  return kind == tile::ReduceKind::BitAnd || kind == tile::ReduceKind::BitOr ||
         kind == tile::ReduceKind::BitXor;
}

std::optional<tile::ReduceKind> reduceKind(Construction& state, std::string_view kind,
                                           const Side& source) {
  auto parsed = tile::symbolizeReduceKind(llvm::StringRef(kind.data(), kind.size()));
  if (!parsed) {
    state.error("there is no reduction " + quoted(kind));
    return std::nullopt;
  }
  const BufferRecord& record = state.record(source.buffer);
  if (isBitKind(*parsed) && record.dtype.isFloat()) {
    state.typeError("reduce_" + std::string(kind) + " works on integers, but " +
                        quoted(record.name) + " is " + record.dtype.name(),
                    {state.allocatedHere(record)});
    return std::nullopt;
  }
  return parsed;
}

using Extents = std::vector<Index>;

/// The source's extents without the dim.
Extents withoutDim(Extents extents, int64_t dim) {
  extents.erase(extents.begin() + dim);
  if (extents.empty())
    extents.emplace_back(int64_t{1});
  return extents;
}

/// The target has the source's extents without the dim, or with 1 there.
bool isReduced(Construction& state, const Extents& source, const Extents& target, int64_t dim) {
  Extents kept = source;
  kept[size_t(dim)] = int64_t{1};
  auto fits = [&](const Extents& shape) {
    return std::equal(shape.begin(), shape.end(), target.begin(), target.end(),
                      [&](const Index& x, const Index& y) {
                        bool isKnown = std::holds_alternative<int64_t>(x) &&
                                       std::holds_alternative<int64_t>(y);
                        return !isKnown || state.isSame(x, y);
                      });
  };
  bool isScalar = target.empty() && source.size() == 1;
  return fits(kept) || fits(withoutDim(source, dim)) || isScalar;
}

/// How many dims of one element the target leaves out that the source has in front: one where
/// a[k, :, :] is reduced to [n].
size_t leadingDimsLeftOut(Construction& state, const Side& source, const Side& target,
                          int64_t dim) {
  Extents padded = target.extents;
  for (size_t count = 0; count <= size_t(dim); ++count) {
    if (isReduced(state, source.extents, padded, dim))
      return count;
    const auto* extent = std::get_if<int64_t>(&source.extents[count]);
    if (!extent || *extent != 1)
      return 0;
    padded.insert(padded.begin(), int64_t{1});
  }
  return 0;
}

/// How many dims of one element the source leaves out that the target has in front: one where [n, m] is
/// reduced to a[k, :].
size_t leadingDimsAdded(Construction& state, const Side& source, const Side& target, int64_t dim) {
  Extents padded = source.extents;
  for (size_t count = 0; count <= target.extents.size(); ++count) {
    if (isReduced(state, padded, target.extents, dim + int64_t(count)))
      return count;
    padded.insert(padded.begin(), int64_t{1});
  }
  return 0;
}

bool checkReduced(Construction& state, const std::string& operation, const Side& source,
                  const Side& target, int64_t dim, int64_t written) {
  if (isReduced(state, source.extents, target.extents, dim))
    return true;
  const Extents dropped = withoutDim(source.extents, dim);
  const BufferRecord& from = state.record(source.buffer);
  const BufferRecord& to = state.record(target.buffer);
  const std::string dimText = written < 0 || written == dim
                                  ? std::to_string(dim)
                                  : std::to_string(written) + " (on an NPU the " +
                                        (written == 0 ? "last but one" : "last") + " of 3)";
  state.error(operation + " of " + quoted(from.name) + " " + state.text(source.extents) +
                  " over dim " + dimText + " gives " + state.text(dropped) + ", but " +
                  quoted(to.name) + " is " + state.text(target.extents),
              {state.allocatedHere(from), state.allocatedHere(to)});
  return false;
}

} // namespace

namespace {

/// On an NPU the dims of a tile with 3 dims are counted in its last two; nothing after an error.
std::optional<int64_t> npuDim(Construction& state, const std::string& operation, const Side& source,
                              int64_t dim) {
  if (!state.isNpu || source.extents.size() != 3 || dim < 0)
    return dim;
  if (dim < 2)
    return dim + 1;
  const BufferRecord& record = state.record(source.buffer);
  state.error(
      operation + " over dim " + std::to_string(dim) + " of " + quoted(record.name) +
          " with 3 dims, but on an NPU dim 0 and dim 1 are the last two; write dim=1 for the "
          "last",
      {state.allocatedHere(record)});
  return std::nullopt;
}

/// The first elements of the last dims, and of the target's those that they reduce to.
bool restrictTo(Construction& state, std::span<const Index> realShape, Side& source, Side& target,
                int64_t dim) {
  if (realShape.size() > source.extents.size()) {
    state.error("real_shape has " + std::to_string(realShape.size()) + " dims, but " +
                    quoted(state.record(source.buffer).name) + " has " +
                    std::to_string(source.extents.size()),
                {state.allocatedHere(state.record(source.buffer))});
    return false;
  }
  bool drops = target.extents.size() < source.extents.size();
  for (size_t number = 0; number < realShape.size(); ++number) {
    size_t at = source.extents.size() - realShape.size() + number;
    auto extent = state.toIndex(realShape[number], "real_shape");
    if (!extent)
      return false;
    if (state.isSame(*extent, int64_t{0}))
      continue;
    const auto *wanted = std::get_if<int64_t>(&*extent),
               *held = std::get_if<int64_t>(&source.extents[at]);
    if (wanted && held && (*wanted < 0 || *wanted > *held)) {
      state.error("real_shape is " + std::to_string(*wanted) + " in dim " + std::to_string(at) +
                      ", but " + quoted(state.record(source.buffer).name) + " has " +
                      std::to_string(*held) + " elements there",
                  {state.allocatedHere(state.record(source.buffer))});
      return false;
    }
    source.extents[at] = *extent;
    bool isReduced = int64_t(at) == dim;
    size_t into = drops && int64_t(at) > dim ? at - 1 : at;
    if (!isReduced && into < target.extents.size())
      target.extents[into] = *extent;
  }
  return true;
}

} // namespace

void KernelBuilder::reduce(std::string_view kind, const Operand& source, const Operand& target,
                           int64_t dim, bool clear, const Attributes& attributes,
                           std::span<const Index> realShape) {
  std::string operation = "reduce_" + std::string(kind);
  auto from = resolveSide(*state, source, operation + " source");
  auto to = resolveSide(*state, target, operation + " destination");
  if (!from || !to || !state->requireTileScope("T." + operation))
    return;
  auto parsed = reduceKind(*state, kind, *from);
  auto counted = npuDim(*state, operation, *from, dim);
  auto resolved = counted ? resolveDim(*state, operation, *from, *counted) : std::nullopt;
  const size_t leftOut =
      resolved && state->isNpu ? leadingDimsLeftOut(*state, *from, *to, *resolved) : 0;
  const size_t added = resolved && state->isNpu && leftOut == 0
                           ? leadingDimsAdded(*state, *from, *to, *resolved)
                           : 0;
  const auto addDims = [this](Side& side, size_t count) {
    const BufferRecord& record = state->record(side.buffer);
    Extents shape = record.shape;
    for (Extents* each : {&shape, &side.extents})
      each->insert(each->begin(), count, int64_t{1});
    side.offsets.insert(side.offsets.begin(), count, int64_t{0});
    side.buffer = view(side.buffer, shape, record.dtype);
  };
  if (leftOut != 0)
    addDims(*to, leftOut);
  if (added != 0) {
    addDims(*from, added);
    *resolved += int64_t(added);
  }
  if (resolved && !restrictTo(*state, realShape, *from, *to, *resolved))
    return;
  if (!parsed || !resolved || !requireOnChip(*state, operation, *from) ||
      !requireOnChip(*state, operation, *to) ||
      !checkReduced(*state, operation, *from, *to, *resolved, dim))
    return;
  auto op = tile::ReduceOp::create(state->ir, state->location(), *parsed, toRegion(*state, *from),
                                   toRegion(*state, *to), *resolved, clear,
                                   flag(attributes, "nan_propagate"));
  annotate(*state, op, "T." + operation, attributes, {"nan_propagate"});
}

void KernelBuilder::scan(std::string_view kind, const Operand& source, const Operand& target,
                         int64_t dim, bool reverse) {
  std::string operation = "cum" + std::string(kind);
  auto from = resolveSide(*state, source, operation + " source");
  auto to = resolveSide(*state, target, operation + " destination");
  if (!from || !to || !state->requireTileScope("T." + operation))
    return;
  auto resolved = resolveDim(*state, operation, *from, dim);
  if (kind != "sum" && kind != "max") {
    state->error("there is no scan " + quoted(operation));
    return;
  }
  if (!resolved || !requireOnChip(*state, operation, *from) ||
      !requireOnChip(*state, operation, *to))
    return;
  bool isEqual =
      std::equal(from->extents.begin(), from->extents.end(), to->extents.begin(), to->extents.end(),
                 [&](const Index& x, const Index& y) { return state->isSame(x, y); });
  if (!isEqual) {
    const BufferRecord& left = state->record(from->buffer);
    const BufferRecord& right = state->record(to->buffer);
    state->error(operation + " source " + quoted(left.name) + " is " + state->text(from->extents) +
                     " but " + quoted(right.name) + " is " + state->text(to->extents),
                 {state->allocatedHere(left), state->allocatedHere(right)});
    return;
  }
  auto parsed = kind == "sum" ? tile::ReduceKind::Sum : tile::ReduceKind::Max;
  tile::ScanOp::create(state->ir, state->location(), parsed, toRegion(*state, *from),
                       toRegion(*state, *to), *resolved, reverse);
}

// Atomics, printing, assertions

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

void KernelBuilder::print(const std::variant<std::monostate, Value, Buffer>& what,
                          std::string_view message, const Attributes& attributes,
                          std::string_view name) {
  if (!state->requireLaunch(name))
    return;
  mlir::Value printed;
  std::string bufferName; // targets may have another one in its place when they print
  bool isUnsigned = false;
  if (const auto* value = std::get_if<Value>(&what)) {
    if (!state->isUsable(*value))
      return;
    printed = state->toIr(*value);
    isUnsigned = value->dtype().isInteger() && !value->dtype().isSigned();
  } else if (const auto* buffer = std::get_if<Buffer>(&what)) {
    if (!state->isUsable(*buffer))
      return;
    printed = state->record(*buffer).ir;
    bufferName = state->record(*buffer).name;
  }
  auto op =
      tile::PrintOp::create(state->ir, state->location(),
                            llvm::StringRef(message.data(), message.size()), printed, isUnsigned);
  if (!bufferName.empty())
    op->setAttr(tile::kNameAttr, state->ir.getStringAttr(bufferName));
  annotate(*state, op, name, attributes, {});
}

/// Whether a value is computed of the kernel's arguments and symbols alone.
static bool isOfArguments(mlir::Value value) {
  if (mlir::isa<mlir::BlockArgument>(value))
    return mlir::isa<mlir::func::FuncOp>(value.getParentBlock()->getParentOp());
  mlir::Operation* op = value.getDefiningOp();
  return mlir::isa<mlir::arith::ArithDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperands(), isOfArguments);
}

void KernelBuilder::assume(Value condition) {
  if (!state->isUsable(condition))
    return;
  auto constant = state->constantOf(condition);
  if (constant && (constant->isReal || constant->integer != 0))
    return;
  if (constant)
    state->error("the condition of T.assume never holds");
  else if (mlir::isa_and_nonnull<tile::LaunchOp>(state->ir.getInsertionBlock()->getParentOp()) &&
           isOfArguments(state->toBool(condition)))
    tile::AssertOp::check(state->ir, state->location(), state->toBool(condition),
                          "T.assume does not hold");
}

void KernelBuilder::deviceAssert(Value condition, std::string_view message) {
  if (!state->isUsable(condition) || !state->requireLaunch("T.device_assert"))
    return;
  auto constant = state->constantOf(condition);
  if (constant && !constant->isReal && constant->integer == 0) {
    state->error("the assertion is always false" +
                 (message.empty() ? "" : ": " + std::string(message)));
    return;
  }
  tile::AssertOp::create(state->ir, state->location(), state->toBool(condition),
                         llvm::StringRef(message.data(), message.size()));
}

void KernelBuilder::waitUntil(Value condition, std::string_view message) {
  if (!state->isUsable(condition) || !state->requireTileScope("a wait for a memory barrier"))
    return;
  auto wait = tile::AssertOp::check(state->ir, state->location(), state->toBool(condition),
                                    llvm::StringRef(message.data(), message.size()));
  wait->setAttr(tile::kWaitAttr, state->ir.getUnitAttr());
}

} // namespace tilewright
