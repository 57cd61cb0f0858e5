// SPDX-License-Identifier: Apache-2.0
// Ops on regions.
#include "compiler/interpreter/machine.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

namespace tilewright::interpreter {
namespace {

bool isOnNpu(mlir::Operation* op) {
  auto launch = op->getParentOfType<tile::LaunchOp>();
  return launch && launch.getNpu();
}

bool isInside(const BufferValue& buffer, llvm::ArrayRef<int64_t> indices) {
  return llvm::all_of(llvm::zip(indices, buffer.shape), [](const auto& both) {
    return std::get<0>(both) >= 0 && std::get<0>(both) < std::get<1>(both);
  });
}

/// Of an element that has been written.
void markAsProduct(const BufferValue& buffer, llvm::ArrayRef<int64_t> indices) {
  if (isInside(buffer, indices))
    buffer.storage->markAsProduct(buffer.bitOffset(indices), buffer.type.getElementBits());
}

} // namespace

llvm::SmallVector<int64_t> Machine::Window::at(llvm::ArrayRef<int64_t> position) const {
  llvm::SmallVector<int64_t> indices(offsets);
  for (auto [index, step] : llvm::zip(indices, position))
    index += step;
  return indices;
}

mlir::FailureOr<Machine::Window> Machine::window(Agent& agent, const tile::BufferRegion& region) {
  Window result;
  result.buffer = &buffer(agent, region.buffer);
  if (!result.buffer->storage)
    return mlir::emitError(region.buffer.getLoc(), kNoTile);
  for (mlir::OpFoldResult offset : region.offsets)
    result.offsets.push_back(integer(agent, offset));
  for (mlir::OpFoldResult extent : region.extents)
    result.extents.push_back(integer(agent, extent));
  return result;
}

mlir::LogicalResult Machine::runTile(Agent& agent, mlir::Operation& op) {
  return llvm::TypeSwitch<mlir::Operation*, mlir::LogicalResult>(&op)
      .Case([&](tile::CopyOp copy) {
        return agent.kind == AgentKind::Cube && crosses(copy) ? runCrossing(agent, copy)
                                                              : runCopy(agent, copy);
      })
      .Case([&](tile::FillOp fill) { return runFill(agent, fill); })
      .Case([&](tile::GemmOp gemm) { return runGemm(agent, gemm); })
      .Case([&](tile::ReduceOp reduce) { return runReduce(agent, reduce); })
      .Case([&](tile::ScanOp scan) { return runScan(agent, scan); })
      .Case([&](tile::AtomicTileOp atomic) { return runAtomicTile(agent, atomic); })
      .Default([](mlir::Operation* other) {
        return other->emitError("the reference interpreter doesn't run '")
               << other->getName() << "'";
      });
}

mlir::LogicalResult Machine::runCopy(Agent& agent, tile::CopyOp op) {
  auto source = window(agent, op.getSourceRegion()), target = window(agent, op.getTargetRegion());
  if (failed(source) || failed(target))
    return mlir::failure();
  mlir::Type from = source->buffer->type.getElementType(),
             to = target->buffer->type.getElementType();
  Scalar pad = op.getPad() ? scalar(agent, op.getPad()) : Scalar();
  const float scale = op.getScale() ? float(scalar(agent, op.getScale()).real) : 1.0F;
  llvm::SmallVector<int64_t> extents = tile::withoutUnitExtents(source->extents);
  llvm::SmallVector<int64_t> targetExtents = tile::withoutUnitExtents(target->extents);
  if (op.getTranspose() && targetExtents.size() >= 2)
    std::swap(targetExtents[targetExtents.size() - 1], targetExtents[targetExtents.size() - 2]);
  if (extents != targetExtents) {
    auto error = op.emitError("copy source has extents [");
    llvm::interleaveComma(extents, error);
    error << "] but target has [";
    llvm::interleaveComma(targetExtents, error);
    return error << "]";
  }
  llvm::SmallVector<int64_t> ends;
  for (mlir::Value end : op.getEnds())
    ends.push_back(integer(agent, end));
  auto isCut = [&](llvm::ArrayRef<int64_t> at) {
    return llvm::any_of(llvm::zip(op.getEndedDims().value_or(llvm::ArrayRef<int64_t>()), ends),
                        [&](auto cut) { return at[std::get<0>(cut)] >= std::get<1>(cut); });
  };
  auto targetOf = [&](llvm::ArrayRef<int64_t> position) {
    llvm::SmallVector<int64_t> at(position);
    if (op.getTranspose() && at.size() >= 2)
      std::swap(at[at.size() - 1], at[at.size() - 2]);
    return target->at(spread(at, target->extents));
  };
  auto isDropped = [&](llvm::ArrayRef<int64_t> position) {
    return target->buffer->type.isGlobal() &&
           llvm::any_of(llvm::zip(targetOf(position), target->buffer->shape), [](auto dim) {
             return std::get<0>(dim) < 0 || std::get<0>(dim) >= std::get<1>(dim);
           });
  };
  // All is read before anything is written: source and target may overlap.
  std::vector<Scalar> values;
  if (failed(forEachPosition(extents, [&](llvm::ArrayRef<int64_t> position) -> mlir::LogicalResult {
        auto at = source->at(spread(position, source->extents));
        mlir::FailureOr<std::optional<Scalar>> value = std::optional<Scalar>();
        if (!isCut(at) && !isDropped(position))
          value = read(op, *source->buffer, at);
        if (failed(value))
          return mlir::failure();
        Scalar converted = *value ? convert(asStored(from, **value), from, to)
                                  : convert(pad, op.getPad() ? op.getPad().getType() : from, to);
        if (op.getScale())
          converted.real = roundTo(llvm::cast<mlir::FloatType>(to),
                                   float(*value ? (*value)->integer : pad.integer) * scale);
        if (op.getRelu())
          converted = {std::max<int64_t>(converted.integer, 0),
                       converted.real < 0 ? 0 : converted.real};
        values.push_back(converted);
        return mlir::success();
      })))
    return mlir::failure();
  auto next = values.begin();
  return forEachPosition(extents, [&](llvm::ArrayRef<int64_t> position) {
    return write(op, *target->buffer, targetOf(position), *next++);
  });
}

mlir::LogicalResult Machine::runFill(Agent& agent, tile::FillOp op) {
  auto target = window(agent, op.getTargetRegion());
  if (failed(target))
    return mlir::failure();
  Scalar value = scalar(agent, op.getValue());
  const bool isClear = isOnNpu(op) && value.integer == 0 && value.real == 0;
  return forEachPosition(target->extents, [&](llvm::ArrayRef<int64_t> position) {
    const auto written = write(op, *target->buffer, target->at(position), value);
    if (isClear && succeeded(written))
      markAsProduct(*target->buffer, target->at(position));
    return written;
  });
}

/// Whether a gemm that adds to c adds to what others have made, apart from clears: the vector cores do that then, by the
/// element, since only the cube unit writes its memory.
bool Machine::isAddedByVectors(const Window& c) const {
  bool isFound = false;
  (void)forEachPosition(c.extents, [&](llvm::ArrayRef<int64_t> position) {
    const llvm::SmallVector<int64_t> at = c.at(position);
    isFound |= isInside(*c.buffer, at) && !c.buffer->storage->isProduct(c.buffer->bitOffset(at));
    return mlir::success();
  });
  return isFound;
}

/// Of the cube unit, and extents that the kernel knows as it runs: what lies behind c's rows and columns in groups of 16 is
/// undefined. Of one instruction so are all rows behind, and all of c if there were others before.
void Machine::forgetBehind(tile::GemmOp op, const Window& c) {
  constexpr int64_t group = 16;
  const size_t row = c.extents.size() - 2, column = row + 1;
  const bool isInstruction = op->hasAttr("mma");
  const llvm::SmallVector<int64_t> known = op.getCRegion().staticExtents();
  const auto groups = [](int64_t count) { return (count + group - 1) / group; };
  const bool isOfMoreColumns = c.buffer->shape[column] > group;
  bool isOther = false;
  if (isInstruction && isOfMoreColumns && mlir::ShapedType::isDynamic(known[row])) {
    const int64_t rows = groups(c.extents[row]);
    const auto last = productRows.try_emplace(c.buffer->storage.get(), rows).first;
    isOther = last->second != rows;
    last->second = rows;
  }
  const auto endOf = [&](size_t dim, int64_t extent) {
    return mlir::ShapedType::isDynamic(known[dim])
               ? std::min(c.buffer->shape[dim] - c.offsets[dim], extent)
               : c.extents[dim];
  };
  llvm::SmallVector<int64_t> position(c.extents.size(), 0);
  const int64_t rows = endOf(row,
                             isInstruction ? c.buffer->shape[row] : groups(c.extents[row]) * group),
                columns = endOf(column, groups(c.extents[column]) * group);
  std::string words = "this gemm makes " + std::to_string(c.extents[row]) + " rows and " +
                      std::to_string(c.extents[column]) + " columns; ";
  if (isOther)
    words += "the one before had other groups of 16 rows, so all that it has left is undefined";
  else
    words += "up to " + std::to_string(rows) + " rows and " + std::to_string(columns) +
             " columns, in groups of 16, it leaves the rest undefined";
  if (leftUndefined.empty() || leftUndefined.back() != std::pair(op.getOperation(), words))
    leftUndefined.emplace_back(op, std::move(words));
  const auto reason = static_cast<unsigned>(leftUndefined.size() - 1);
  for (position[row] = 0; position[row] < rows; ++position[row])
    for (position[column] = 0; position[column] < columns; ++position[column])
      if (isOther || position[row] >= c.extents[row] || position[column] >= c.extents[column])
        c.buffer->storage->forget(c.buffer->bitOffset(c.at(position)),
                                  c.buffer->type.getElementBits(), reason);
}

/// Products and sums are made in double (or 64-bit integers) and rounded once: the result is a
/// reference for any order of accumulation in c's precision.
mlir::LogicalResult Machine::runGemm(Agent& agent, tile::GemmOp op) {
  auto a = window(agent, op.getARegion()), b = window(agent, op.getBRegion()),
       c = window(agent, op.getCRegion());
  if (failed(a) || failed(b) || failed(c))
    return mlir::failure();
  bool clear = op.getClearAccum() || (op.getClear() && scalar(agent, op.getClear()).integer);
  auto extent = [](const Window& w, bool last) {
    return w.extents[w.extents.size() - (last ? 1 : 2)];
  };
  int64_t m = extent(*c, false), n = extent(*c, true), k = extent(*a, !op.getTransposeA());
  auto element = [&](const Window& w, int64_t row, int64_t column) {
    llvm::SmallVector<int64_t> position(w.extents.size(), 0);
    position[position.size() - 2] = row;
    position[position.size() - 1] = column;
    return w.at(position);
  };
  auto load = [&](const Window& w, std::vector<Scalar>& values) {
    llvm::SmallVector<int64_t> box = {extent(w, false), extent(w, true)};
    return forEachPosition(box, [&](llvm::ArrayRef<int64_t> at) -> mlir::LogicalResult {
      auto value = read(op, *w.buffer, element(w, at[0], at[1]));
      if (failed(value))
        return mlir::failure();
      values.push_back(asStored(w.buffer->type.getElementType(), value->value_or(Scalar())));
      return mlir::success();
    });
  };
  std::vector<Scalar> left, right;
  if (failed(load(*a, left)) || failed(load(*b, right)))
    return mlir::failure();
  if (extent(*a, op.getTransposeA()) != m || extent(*b, !op.getTransposeB()) != n ||
      extent(*b, op.getTransposeB()) != k)
    return op.emitError("gemm of ")
           << m << "x" << n << " elements, but a has " << extent(*a, false) << "x"
           << extent(*a, true) << " and b has " << extent(*b, false) << "x" << extent(*b, true);
  const bool isProduct = isOnNpu(op) && (clear || !isAddedByVectors(*c));
  if (isProduct)
    forgetBehind(op, *c);
  mlir::Type type = c->buffer->type.getElementType();
  auto real = llvm::dyn_cast<mlir::FloatType>(type);
  llvm::SmallVector<int64_t> box = {m, n};
  return forEachPosition(box, [&](llvm::ArrayRef<int64_t> at) -> mlir::LogicalResult {
    Scalar sum;
    if (!clear) {
      auto before = read(op, *c->buffer, element(*c, at[0], at[1]));
      if (failed(before))
        return mlir::failure();
      sum = before->value_or(Scalar());
    }
    if (at[1] == 0 && isCancelled()) // a large gemm takes seconds
      return op.emitError("interrupted");
    for (int64_t inner = 0; inner < k; ++inner) {
      const Scalar& x = left[op.getTransposeA() ? inner * m + at[0] : at[0] * k + inner];
      const Scalar& y = right[op.getTransposeB() ? at[1] * k + inner : inner * n + at[1]];
      sum.real += x.real * y.real;
      sum.integer = int64_t(uint64_t(sum.integer) + uint64_t(x.integer) * uint64_t(y.integer));
    }
    if (real)
      sum = {0, roundTo(real, sum.real)};
    const auto written = write(op, *c->buffer, element(*c, at[0], at[1]), sum);
    if (isProduct && succeeded(written))
      markAsProduct(*c->buffer, element(*c, at[0], at[1]));
    return written;
  });
}

namespace {

/// One step of a reduction. Sums of floats are kept in double.
Scalar accumulate(tile::ReduceKind kind, mlir::Type type, Scalar total, Scalar value,
                  bool nanPropagate) {
  bool isReal = llvm::isa<mlir::FloatType>(type);
  const bool isUnsigned = type.isUnsignedInteger() || kind == tile::ReduceKind::AbsMax;
  auto pick = [&](bool larger) -> Scalar {
    if (isReal && std::isnan(total.real))
      return nanPropagate ? total : value;
    if (isReal && std::isnan(value.real))
      return nanPropagate ? value : total;
    bool less = isReal       ? total.real < value.real
                : isUnsigned ? uint64_t(total.integer) < uint64_t(value.integer)
                             : total.integer < value.integer;
    return less == larger ? value : total;
  };
  switch (kind) {
  case tile::ReduceKind::AbsSum:
  case tile::ReduceKind::Sum:
    return {int64_t(uint64_t(total.integer) + uint64_t(value.integer)), total.real + value.real};
  case tile::ReduceKind::AbsMax:
  case tile::ReduceKind::Max:
    return pick(true);
  case tile::ReduceKind::Min:
    return pick(false);
  case tile::ReduceKind::BitAnd:
    return {total.integer & value.integer, 0};
  case tile::ReduceKind::BitOr:
    return {total.integer | value.integer, 0};
  case tile::ReduceKind::BitXor:
    return {total.integer ^ value.integer, 0};
  }
  llvm_unreachable("all kinds are listed");
}

/// What maxima and minima of floats begin with, which NaNs alone give; nothing where the first element is
/// as good.
std::optional<Scalar> beforeAll(tile::ReduceKind kind, mlir::Type type) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!llvm::isa<mlir::FloatType>(type))
    return std::nullopt;
  if (kind == tile::ReduceKind::Max || kind == tile::ReduceKind::Min)
    return Scalar{0, kind == tile::ReduceKind::Max ? -infinity : infinity};
  return kind == tile::ReduceKind::AbsMax ? std::optional<Scalar>(Scalar()) : std::nullopt;
}

/// As unsigned numbers, which hold that of the lowest integer, too.
Scalar magnitude(tile::ReduceKind kind, mlir::Type type, Scalar value) {
  if (kind != tile::ReduceKind::AbsSum && kind != tile::ReduceKind::AbsMax)
    return value;
  const bool isNegative = value.integer < 0 && !type.isUnsignedInteger();
  return {isNegative ? int64_t(-uint64_t(value.integer)) : value.integer, std::fabs(value.real)};
}

Scalar settle(mlir::Type type, Scalar value) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type))
    return {0, roundTo(real, value.real)};
  return value;
}

} // namespace

mlir::LogicalResult Machine::runReduce(Agent& agent, tile::ReduceOp op) {
  auto source = window(agent, op.getSourceRegion()), target = window(agent, op.getTargetRegion());
  if (failed(source) || failed(target))
    return mlir::failure();
  const mlir::Type from = source->buffer->type.getElementType(),
                   to = target->buffer->type.getElementType(),
                   type = tile::accumulationType(from, to);
  llvm::SmallVector<int64_t> outer(source->extents);
  outer[op.getDim()] = 1;
  bool dropsDim = target->extents.size() < source->extents.size();
  auto placeOf = [&](llvm::ArrayRef<int64_t> position) {
    llvm::SmallVector<int64_t> into(position);
    if (dropsDim)
      into.erase(into.begin() + op.getDim());
    return target->at(into);
  };
  std::vector<Scalar> results; // written once all is read: source and target may overlap
  auto reduceAt = [&](llvm::ArrayRef<int64_t> position) -> mlir::LogicalResult {
    llvm::SmallVector<int64_t> at(position);
    std::optional<Scalar> total = beforeAll(op.getKind(), type);
    for (at[op.getDim()] = 0; at[op.getDim()] < source->extents[op.getDim()]; ++at[op.getDim()]) {
      auto value = read(op, *source->buffer, source->at(at));
      if (failed(value))
        return mlir::failure();
      // The magnitude first: converted to an unsigned type, an element has lost its sign. And again
      // of a real number, which the lowest 64-bit integer may have become.
      Scalar own = magnitude(op.getKind(), from, asStored(from, value->value_or(Scalar())));
      Scalar next = magnitude(op.getKind(), type, convert(own, from, type));
      total = total ? accumulate(op.getKind(), type, *total, next, op.getNanPropagate()) : next;
    }
    if (!op.getClear()) {
      auto before = read(op, *target->buffer, placeOf(position));
      if (failed(before))
        return mlir::failure();
      Scalar held = magnitude(op.getKind(), type,
                              convert(asStored(to, before->value_or(Scalar())), to, type));
      total = total ? accumulate(op.getKind(), type, held, *total, op.getNanPropagate()) : held;
    }
    results.push_back(convert(settle(type, total.value_or(Scalar())), type, to));
    return mlir::success();
  };
  if (failed(forEachPosition(outer, reduceAt)))
    return mlir::failure();
  auto next = results.begin();
  return forEachPosition(outer, [&](llvm::ArrayRef<int64_t> position) {
    return write(op, *target->buffer, placeOf(position), *next++);
  });
}

mlir::LogicalResult Machine::runScan(Agent& agent, tile::ScanOp op) {
  auto source = window(agent, op.getSourceRegion()), target = window(agent, op.getTargetRegion());
  if (failed(source) || failed(target))
    return mlir::failure();
  const mlir::Type from = source->buffer->type.getElementType(),
                   to = target->buffer->type.getElementType(),
                   type = tile::accumulationType(from, to);
  llvm::SmallVector<int64_t> outer(source->extents);
  int64_t dim = int64_t(op.getDim()), extent = outer[dim];
  outer[dim] = 1;
  auto placeOf = [&](const Window& side, llvm::ArrayRef<int64_t> position, int64_t step) {
    llvm::SmallVector<int64_t> at(position);
    at[dim] = op.getReverse() ? extent - 1 - step : step;
    return side.at(at);
  };
  std::vector<Scalar> results; // written once all is read: source and target may overlap
  auto scanAt = [&](llvm::ArrayRef<int64_t> position) -> mlir::LogicalResult {
    std::optional<Scalar> total = beforeAll(op.getKind(), type);
    for (int64_t step = 0; step < extent; ++step) {
      auto value = read(op, *source->buffer, placeOf(*source, position, step));
      if (failed(value))
        return mlir::failure();
      Scalar next = convert(asStored(from, value->value_or(Scalar())), from, type);
      total = total ? accumulate(op.getKind(), type, *total, next, false) : next;
      results.push_back(convert(settle(type, *total), type, to));
    }
    return mlir::success();
  };
  if (failed(forEachPosition(outer, scanAt)))
    return mlir::failure();
  auto next = results.begin();
  return forEachPosition(outer, [&](llvm::ArrayRef<int64_t> position) -> mlir::LogicalResult {
    for (int64_t step = 0; step < extent; ++step)
      if (failed(write(op, *target->buffer, placeOf(*target, position, step), *next++)))
        return mlir::failure();
    return mlir::success();
  });
}

} // namespace tilewright::interpreter
