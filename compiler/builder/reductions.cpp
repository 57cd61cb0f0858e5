// SPDX-License-Identifier: Apache-2.0
// Reductions and scans: the dim that goes, and the shapes that are left.
#include "compiler/builder/operands.h"

namespace tilewright {

using builder::BufferRecord;
using builder::Construction;
using builder::quoted;
using builder::Side;

namespace {

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

/// The target has the source's extents without the dim, or with 1 there. What the kernel alone knows may be any number;
/// `isAlike`: one that it alone knows, too.
bool isReduced(Construction& state, const Extents& source, const Extents& target, int64_t dim,
               bool isAlike = false) {
  Extents kept = source;
  kept[size_t(dim)] = int64_t{1};
  auto fits = [&](const Extents& shape) {
    return std::equal(shape.begin(), shape.end(), target.begin(), target.end(),
                      [&](const Index& x, const Index& y) {
                        return isAlike ? state.isCountedAs(x, y) : state.mayBeSame(x, y);
                      });
  };
  bool isScalar = target.empty() && source.size() == 1;
  return fits(kept) || fits(withoutDim(source, dim)) || isScalar;
}

/// How many dims of one element the target leaves out that the source has in front: one where
/// a[k, :, :] is reduced to [n].
size_t leadingDimsLeftOut(Construction& state, const Side& source, const Side& target, int64_t dim,
                          bool isAlike) {
  Extents padded = target.extents;
  for (size_t count = 0; count <= size_t(dim); ++count) {
    if (isReduced(state, source.extents, padded, dim, isAlike))
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
size_t leadingDimsAdded(Construction& state, const Side& source, const Side& target, int64_t dim,
                        bool isAlike) {
  Extents padded = source.extents;
  for (size_t count = 0; count <= target.extents.size(); ++count) {
    if (isReduced(state, padded, target.extents, dim + int64_t(count), isAlike))
      return count;
    padded.insert(padded.begin(), int64_t{1});
  }
  return 0;
}

/// Whether a target of what the kernel alone counts, [1, m], fits [m, n] as a row only, not as the column that it reduces to.
bool isRowOfResults(Construction& state, const Side& source, const Side& target, int64_t dim) {
  return !isReduced(state, source.extents, target.extents, dim, /*isAlike=*/true) &&
         leadingDimsAdded(state, source, target, dim, /*isAlike=*/true) != 0;
}

bool checkReduced(Construction& state, const std::string& operation, const Side& source,
                  const Side& target, int64_t dim, int64_t written) {
  if (isReduced(state, source.extents, target.extents, dim) &&
      !isRowOfResults(state, source, target, dim))
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
  // Of numbers that the kernel knows, [m, n] gives a[k, 0:m], which has a dim before m, rather than a column [m, 1].
  size_t leftOut = 0, added = 0;
  for (const bool isAlike : {true, false})
    if (resolved && state->isNpu && leftOut == 0 && added == 0 &&
        !isReduced(*state, from->extents, to->extents, *resolved, /*isAlike=*/true)) {
      leftOut = leadingDimsLeftOut(*state, *from, *to, *resolved, isAlike);
      added = leftOut == 0 ? leadingDimsAdded(*state, *from, *to, *resolved, isAlike) : 0;
    }
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
  if (!parsed || !resolved || !builder::requireOnChip(*state, operation, *from) ||
      !builder::requireOnChip(*state, operation, *to) ||
      !checkReduced(*state, operation, *from, *to, *resolved, dim))
    return;
  auto op = tile::ReduceOp::create(state->ir, state->location(), *parsed, toRegion(*state, *from),
                                   toRegion(*state, *to), *resolved, clear,
                                   builder::flag(attributes, "nan_propagate"));
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
  if (!resolved || !builder::requireOnChip(*state, operation, *from) ||
      !builder::requireOnChip(*state, operation, *to))
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

} // namespace tilewright
