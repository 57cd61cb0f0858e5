// SPDX-License-Identifier: Apache-2.0
/// ExpandCopies: copies and fills become DMA and vector instructions, by the memories on both sides.
///
///     tile.copy %A[%m, %n] [32, 64] to %ub          // A has 100 rows
///   ->
///     %rows = min(32, 100 - %m)
///     scf.if %rows < 32 { npu.duplicate %ub[0], 0 count(2048) }
///     npu.load_ub %A[%m, %n] [%rows, 64] to %ub[0] pitch 64
///
/// An atomic add of a single element is a copy from a tile of one element that adds.
///
/// With `waits`, what belongs together is ordered by flags of its own, as in ExpandGemms. It stands
/// behind the passes that place buffers and cut work, so that each copy has one route. Each route
/// is a file: copy_routes.h.
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/check_parts.h"
#include "compiler/targets/ascend/column_copies.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/lone_loads.h"
#include "compiler/targets/ascend/overlapping_copies.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/product_copies.h"
#include "compiler/targets/ascend/workspaces.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

using namespace mlir;

namespace tilewright::ascend {
namespace {

using tile::MemorySpace;

void orderPipes(ImplicitLocOpBuilder& builder, const RouteContext& context, Pipe from, Pipe to) {
  if (context.waits)
    context.events.order(builder, from, to);
}

/// Whether a load of this part of a buffer would write what lies behind it, too: the DMA writes
/// whole blocks of 32 bytes. Behind the last column there is padding.
bool endsWithinBlock(tile::CopyOp load) {
  const tile::BufferRegion ub = load.getTargetRegion();
  const ArrayRef<int64_t> shape = ub.type().getShape();
  if (ub.isWhole() || shape.empty())
    return false;
  size_t row = shape.size() - 1;
  if (load->hasAttr(kLoneLoadAttr) && shape[row] > 1)
    return false;
  while (row > 0 && shape[row] == 1) // columns lie side by side, as a row does
    --row;
  const std::optional<int64_t> first = getConstantIntValue(ub.offsets[row]);
  const std::optional<int64_t> count = getConstantIntValue(ub.extents[row]);
  if (count && *count % npu::blockElements(ub.type()) == 0)
    return false;
  const bool isPadded = row + 1 == shape.size() || ub.type().getNumElements() == shape[row];
  return !isPadded || !first || !count || *first + *count != shape[row];
}

/// The dims of a region of UB that are more than one element, as a buffer of its own holds them: extents
/// that are known at run time only are at most those of the buffer.
std::pair<SmallVector<int64_t>, SmallVector<OpFoldResult>> ownDims(const tile::BufferRegion& ub) {
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> extents;
  for (auto [extent, most] : llvm::zip(ub.extents, ub.type().getShape())) {
    const int64_t size = getConstantIntValue(extent).value_or(most);
    if (isConstantIntValue(extent, 1))
      continue;
    shape.push_back(size);
    extents.push_back(extent);
  }
  return {shape, extents};
}

/// Of the two steps of a copy, the one that meets the tensor knows of its edges.
void takeEdges(tile::CopyOp copy, bool isLoad, tile::CopyOp first, tile::CopyOp second) {
  if (isLoad) {
    first.getPadMutable().assign(copy.getPad() ? ValueRange(copy.getPad()) : ValueRange());
    first.setSourceInBoundsAttr(copy.getSourceInBoundsAttr());
    first.takeEnds(copy);
  } else {
    second.setTargetInBoundsAttr(copy.getTargetInBoundsAttr());
  }
}

/// A column that becomes a row of another element type, or a row a column: in two steps, through a row of
/// numbers of the column's type.
SmallVector<tile::CopyOp> splitColumn(tile::CopyOp copy, const RouteContext& context) {
  const tile::BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const bool isColumn = isColumnInUb(source);
  const SmallVector<int64_t> shape = tile::withoutUnitExtents(source.staticExtents());
  if (isColumn == isColumnInUb(target) || copy.getTranspose() || shape.size() != 1 ||
      ShapedType::isDynamic(shape[0]) ||
      source.type().getElementType() == target.type().getElementType())
    return {};
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  const Type element = (isColumn ? source : target).type().getElementType();
  Value row = tile::AllocOp::create(builder, tile::BufferType::get(shape, element, MemorySpace::UB),
                                    builder.getStringAttr("converted"), IntegerAttr());
  const tile::BufferRegion whole = tile::BufferRegion::whole(row);
  auto first = tile::CopyOp::create(builder, source, whole);
  if (context.waits)
    PipeBarrierOp::create(builder, Pipe::V);
  return {first, tile::CopyOp::create(builder, whole, target)};
}

/// The extents of a region; those that are known at run time only, as those of its buffer.
SmallVector<int64_t> mostExtents(const tile::BufferRegion& region) {
  SmallVector<int64_t> shape = region.staticExtents();
  for (auto [extent, most] : llvm::zip(shape, region.type().getShape()))
    extent = ShapedType::isDynamic(extent) ? most : extent;
  return shape;
}

/// A copy between parts of one tile that have elements in common: all is read before anything is written.
SmallVector<tile::CopyOp> splitOverlapping(tile::CopyOp copy, const RouteContext& context) {
  const tile::BufferRegion source = copy.getSourceRegion();
  if (!mayOverwriteSource(copy))
    return {};
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  auto [shape, extents] = ownDims(source);
  if (copy.getTranspose()) { // of known extents, or it is refused
    extents = source.extents;
    shape = mostExtents(source);
  } else if (shape.empty() || isColumnInUb(source)) {
    // A column as one, whose elements have a block each.
    shape.push_back(shape.empty() ? 1 : npu::blockElements(source.type()));
    extents.push_back(builder.getIndexAttr(1));
  }
  tile::BufferRegion whole = tile::BufferRegion::whole(
      makeTemporary(builder, copy.getLoc(), shape, source.type().getElementType(), "moved"));
  whole.extents = extents;
  auto first = tile::CopyOp::create(builder, source, whole);
  if (context.waits)
    PipeBarrierOp::create(builder, Pipe::V);
  auto second = tile::CopyOp::create(builder, whole, copy.getTargetRegion());
  second.setTranspose(copy.getTranspose());
  takeEdges(copy, true, first, second);
  takeEdges(copy, false, first, second);
  return {first, second};
}

/// A transposed copy between global memory and UB: in two steps, one of which is within UB.
FailureOr<SmallVector<tile::CopyOp>> splitTransposed(tile::CopyOp copy, bool isLoad,
                                                     const RouteContext& context) {
  const tile::BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const SmallVector<int64_t> shape = (isLoad ? source : target).staticExtents();
  if (llvm::is_contained(shape, ShapedType::kDynamic))
    return copy.emitError() << "unsupported on ascend: a transposed copy of extents that are known "
                               "at run time only";
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  const tile::BufferRegion whole = tile::BufferRegion::whole(
      makeTemporary(builder, copy.getLoc(), shape,
                    (isLoad ? target : source).type().getElementType(), "transposed"));
  orderPipes(builder, context, isLoad ? Pipe::V : Pipe::MTE3, isLoad ? Pipe::MTE2 : Pipe::V);
  auto first = tile::CopyOp::create(builder, source, whole);
  orderPipes(builder, context, isLoad ? Pipe::MTE2 : Pipe::V, isLoad ? Pipe::V : Pipe::MTE3);
  auto second = tile::CopyOp::create(builder, whole, target);
  (isLoad ? second : first).setTranspose(true);
  takeEdges(copy, isLoad, first, second);
  return SmallVector<tile::CopyOp>{first, second};
}

/// Between a column of a wider tensor and what is no column in UB.
bool isColumnOfTensor(tile::CopyOp copy) {
  const tile::BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const bool isLoad = source.type().isGlobal();
  if (isLoad == target.type().isGlobal())
    return false;
  const tile::BufferRegion &global = isLoad ? source : target, &ub = isLoad ? target : source;
  return ub.type().getSpace() == MemorySpace::UB && !copy.getTranspose() &&
         wideDims(global).size() == 1 && keepsElementsApart(global) && !isColumnInUb(ub);
}

/// A copy from L0C to L1 through global memory: two of the cube core's own.
FailureOr<SmallVector<tile::CopyOp>> splitThroughMemory(tile::CopyOp copy,
                                                        const RouteContext& context) {
  const tile::BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  tile::BufferRegion space =
      makeWorkspace(copy->getParentOfType<tile::LaunchOp>(), mostExtents(source),
                    target.type().getElementType(), "product");
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  llvm::copy(source.extents, space.extents.end() - source.extents.size());
  orderPipes(builder, context, Pipe::MTE2, Pipe::FIX);
  auto there = tile::CopyOp::create(builder, source, space);
  there.setRelu(copy.getRelu());
  there.getScaleMutable().assign(copy.getScale() ? ValueRange(copy.getScale()) : ValueRange());
  there.setTargetInBoundsAttr(allInBounds(space));
  orderPipes(builder, context, Pipe::FIX, Pipe::MTE2);
  auto back = tile::CopyOp::create(builder, space, target);
  back.setSourceInBoundsAttr(allInBounds(space));
  return SmallVector<tile::CopyOp>{there, back};
}

/// A copy between global memory and UB that converts, is one of a column, of rows that begin within blocks, or that
/// loads a part of a block: through a buffer in UB of the tensor's type. The two copies, or nothing if this copy is no such.
FailureOr<SmallVector<tile::CopyOp>> splitInTwo(tile::CopyOp copy, const RouteContext& context) {
  const tile::BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const bool isLoad = source.type().isGlobal() && target.type().getSpace() == MemorySpace::UB;
  const bool isStore = target.type().isGlobal() && source.type().getSpace() == MemorySpace::UB;
  const Type element = (isLoad ? source : target).type().getElementType();
  if (source.type().getSpace() == MemorySpace::UB && target.type().getSpace() == MemorySpace::UB)
    return splitColumn(copy, context);
  if (source.type().getSpace() == MemorySpace::L0C && target.type().getSpace() == MemorySpace::L1 &&
      productRoute(copy) == ProductRoute::Memory)
    return splitThroughMemory(copy, context);
  if (!isLoad && !isStore)
    return SmallVector<tile::CopyOp>();
  if (copy.getTranspose())
    return splitTransposed(copy, isLoad, context);
  const bool isApart = isColumnOfTensor(copy);
  const bool isWithin =
      rowsBeginWithinBlocks(isLoad ? target : source) && !elementsOfOneRow(copy, isLoad);
  if (!isApart && !isWithin && source.type().getElementType() == target.type().getElementType() &&
      !(isLoad && endsWithinBlock(copy)))
    return SmallVector<tile::CopyOp>();
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  auto [shape, extents] = ownDims(isLoad ? target : source);
  if (shape.empty()) {
    shape.push_back(1);
    extents.push_back(builder.getIndexAttr(1));
  }
  // The DMA moves elements of a column to or from a block each.
  const bool isColumn = isLoad && isColumnInUb(target);
  if (isColumn || isApart) {
    shape.push_back(npu::blockElements((isLoad ? source : target).type()));
    extents.push_back(builder.getIndexAttr(1));
  }
  Value buffer =
      tile::AllocOp::create(builder, tile::BufferType::get(shape, element, MemorySpace::UB),
                            builder.getStringAttr("converted"), IntegerAttr());
  tile::BufferRegion whole = tile::BufferRegion::whole(buffer);
  whole.extents = extents;
  orderPipes(builder, context, isLoad ? Pipe::V : Pipe::MTE3, isLoad ? Pipe::MTE2 : Pipe::V);
  auto first = tile::CopyOp::create(builder, source, whole);
  orderPipes(builder, context, isLoad ? Pipe::MTE2 : Pipe::V, isLoad ? Pipe::V : Pipe::MTE3);
  auto second = tile::CopyOp::create(builder, whole, target);
  takeEdges(copy, isLoad, first, second);
  return SmallVector<tile::CopyOp>{first, second};
}

LogicalResult expandOne(tile::CopyOp copy, const RouteContext& context) {
  const MemorySpace from = copy.getSource().getType().getSpace();
  const MemorySpace to = copy.getTarget().getType().getSpace();
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  CopyExpander expander(copy, builder, context);
  if (from == MemorySpace::Global && to == MemorySpace::UB)
    return expander.globalToUb();
  if (from == MemorySpace::UB && to == MemorySpace::Global)
    return expander.ubToGlobal();
  if (from == MemorySpace::Global && to == MemorySpace::L1)
    return expander.globalToL1();
  if (from == MemorySpace::L0C && to == MemorySpace::Global)
    return expander.l0cToGlobal();
  if (from == MemorySpace::L0C && to == MemorySpace::L1)
    return expander.l0cToL1();
  if (from == MemorySpace::L1 && (to == MemorySpace::L0A || to == MemorySpace::L0B))
    return expander.l1ToL0();
  if (from == MemorySpace::UB && to == MemorySpace::UB)
    return expander.ubToUb();
  const bool isFromL1 = from == MemorySpace::L1,
             isBetweenTensors = from == MemorySpace::Global && to == MemorySpace::Global;
  return copy.emitError() << "unsupported on ascend: there is no way to copy from "
                          << stringifyMemorySpace(from) << " to " << stringifyMemorySpace(to)
                          << (isBetweenTensors ? "; copy to a tile, and from there"
                              : isFromL1       ? "; a tile of T.alloc_shared lies in UB, too"
                                               : "");
}

/// The DMA between other memories than UB neither transposes nor computes, but from L1 to L0 and from L0C.
LogicalResult requireKnownForms(tile::CopyOp copy) {
  const MemorySpace from = copy.getSource().getType().getSpace();
  const MemorySpace to = copy.getTarget().getType().getSpace();
  const bool isOfUb = from == MemorySpace::UB || to == MemorySpace::UB;
  const bool isToL0 = to == MemorySpace::L0A || to == MemorySpace::L0B;
  if (from == MemorySpace::L0C && to == MemorySpace::L1)
    return success(); // with a reason of its own
  if (copy.getTranspose() && !isOfUb && !isToL0)
    return copy.emitError() << "unsupported on ascend: a transposed copy from "
                            << stringifyMemorySpace(from) << " to " << stringifyMemorySpace(to)
                            << "; those from L1 to L0 and to or from UB can be";
  if (copy.getRelu() && !isOfUb && from != MemorySpace::L0C)
    return copy.emitError() << "unsupported on ascend: ReLU in a copy from "
                            << stringifyMemorySpace(from) << " to " << stringifyMemorySpace(to)
                            << "; those from L0C and to or from UB can have it";
  return success();
}

LogicalResult expandWithRelu(tile::CopyOp copy, const RouteContext& context);

LogicalResult expandCopy(tile::CopyOp copy, const RouteContext& context) {
  const MemorySpace from = copy.getSource().getType().getSpace();
  if (copy.getScale() && from != MemorySpace::L0C)
    return copy.emitError() << "unsupported on ascend: the scale of T.set_deq_scale belongs to "
                               "copies from L0C, not from "
                            << stringifyMemorySpace(from);
  if (failed(requireKnownForms(copy)))
    return failure();
  if (copy.getRelu() && from != MemorySpace::L0C)
    return expandWithRelu(copy, context);
  LogicalResult done = success();
  const auto expandPart = [&](tile::CopyOp part, bool isOne) {
    if (failed(isOne ? expandOne(part, context) : expandCopy(part, context)))
      done = failure();
    part.erase();
  };
  SmallVector<tile::CopyOp> lines = splitOverlapping(copy, context);
  if (lines.empty())
    lines = splitLines(copy);
  if (!lines.empty()) {
    for (tile::CopyOp line : lines)
      expandPart(line, false);
    return done;
  }
  const bool isColumn = isColumnOfTensor(copy);
  FailureOr<SmallVector<tile::CopyOp>> parts = splitInTwo(copy, context);
  if (failed(parts))
    return failure();
  if (parts->empty())
    return expandOne(copy, context);
  for (tile::CopyOp part : *parts) {
    // Beside its transposition, or from row to column, a copy may convert.
    const bool isInUb =
        !part.getSource().getType().isGlobal() && !part.getTarget().getType().isGlobal();
    expandPart(part, !copy.getTranspose() && !(isColumn && isInUb));
  }
  return done;
}

/// The vector unit takes the larger of a number and 0: of a tile that was loaded or copied, in place; of one that
/// is stored, into another one.
LogicalResult expandWithRelu(tile::CopyOp copy, const RouteContext& context) {
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  const tile::BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const auto relu = [&](const tile::BufferRegion& from, const tile::BufferRegion& to) {
    mapByNest(builder, from, to, [&](Value number) -> Value {
      Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(number.getType()));
      if (isa<FloatType>(number.getType()))
        return arith::MaximumFOp::create(builder, number, zero);
      return arith::MaxSIOp::create(builder, number, zero);
    });
  };
  auto plain = cast<tile::CopyOp>(builder.clone(*copy));
  plain.setRelu(false);
  if (!target.type().isGlobal()) {
    const LogicalResult done = expandCopy(plain, context);
    plain.erase();
    if (source.type().isGlobal())
      orderPipes(builder, context, Pipe::MTE2, Pipe::V);
    else if (context.waits)
      PipeBarrierOp::create(builder, Pipe::V);
    relu(target, target);
    return done;
  }
  plain.erase();
  auto [shape, extents] = ownDims(source);
  if (shape.empty()) {
    shape.push_back(1);
    extents.push_back(builder.getIndexAttr(1));
  }
  if (isColumnInUb(source)) {
    shape.push_back(npu::blockElements(source.type()));
    extents.push_back(builder.getIndexAttr(1));
  }
  tile::BufferRegion whole = tile::BufferRegion::whole(
      makeTemporary(builder, copy.getLoc(), shape, source.type().getElementType(), "positive"));
  whole.extents = extents;
  orderPipes(builder, context, Pipe::MTE3, Pipe::V);
  relu(source, whole);
  orderPipes(builder, context, Pipe::V, Pipe::MTE3);
  auto store = tile::CopyOp::create(builder, whole, target);
  store.setTranspose(copy.getTranspose());
  store.setTargetInBoundsAttr(copy.getTargetInBoundsAttr());
  const LogicalResult done = expandCopy(store, context);
  store.erase();
  return done;
}

LogicalResult expandFill(tile::FillOp fill) {
  ImplicitLocOpBuilder builder(fill.getLoc(), fill);
  return fillRegion(builder, fill, fill.getTargetRegion(), fill.getValue());
}

/// What the DMA adds while it stores: else it would add other numbers than the tensor's.
LogicalResult requireAddable(Operation* add, Type element) {
  if (isAddedByDma(element))
    return success();
  return add->emitError() << "unsupported on ascend: an atomic add of " << tile::dtypeName(element)
                          << " elements; there is that of float16, bfloat16, float32, int8, int16, "
                             "int32 and uint32";
}

/// A store from UB that adds; of a column as any store of one.
LogicalResult addFromUb(tile::CopyOp copy, const RouteContext& context) {
  LogicalResult done = success();
  const auto addPart = [&](tile::CopyOp part) {
    if (failed(addFromUb(part, context)))
      done = failure();
    part.erase();
  };
  if (const SmallVector<tile::CopyOp> lines = splitLines(copy); !lines.empty()) {
    llvm::for_each(lines, addPart);
    return done;
  }
  const FailureOr<SmallVector<tile::CopyOp>> parts = splitInTwo(copy, context);
  if (failed(parts))
    return failure();
  if (parts->empty()) {
    ImplicitLocOpBuilder builder(copy.getLoc(), copy);
    CopyExpander expander(copy, builder, context);
    expander.atomicAdd = true;
    return expander.ubToGlobal();
  }
  if (failed(expandCopy(parts->front(), context)))
    done = failure();
  parts->front()->erase();
  addPart(parts->back());
  return done;
}

LogicalResult expandAtomicTile(tile::AtomicTileOp add, const RouteContext& context) {
  if (add.getKind() != tile::AtomicKind::Add)
    return add.emitError() << "unsupported on ascend: an atomic "
                           << stringifyAtomicKind(add.getKind()) << " of a tile; there is add";
  if (failed(requireAddable(add, add.getTarget().getType().getElementType())))
    return failure();
  ImplicitLocOpBuilder builder(add.getLoc(), add);
  auto copy = tile::CopyOp::create(builder, add.getSourceRegion(), add.getTargetRegion());
  copy.setTargetInBoundsAttr(add.getTargetInBoundsAttr());
  const MemorySpace from = add.getSource().getType().getSpace();
  LogicalResult done = failure();
  if (add.getTarget().getType().isGlobal() && from == MemorySpace::UB) {
    done = addFromUb(copy, context);
  } else if (add.getTarget().getType().isGlobal() && from == MemorySpace::L0C) {
    CopyExpander expander(copy, builder, context);
    expander.atomicAdd = true;
    done = expander.l0cToGlobal();
  } else
    add.emitError() << "unsupported on ascend: an atomic add from " << stringifyMemorySpace(from)
                    << " to " << stringifyMemorySpace(add.getTarget().getType().getSpace());
  copy.erase();
  return done;
}

/// An atomic add of one element: the number goes to UB, and the DMA adds it.
LogicalResult expandAtomic(tile::AtomicOp add, const RouteContext& context) {
  const tile::BufferType type = add.getBuffer().getType();
  if (add.getKind() != tile::AtomicKind::Add)
    return add.emitError() << "unsupported on ascend: an atomic "
                           << stringifyAtomicKind(add.getKind()) << " of an element; there is add";
  if (add.getPrevious() && !add.getPrevious().use_empty())
    return add.emitError() << "unsupported on ascend: the number before an atomic add, which the "
                              "DMA does not give";
  if (!type.isGlobal() || type.getStrided())
    return add.emitError() << "unsupported on ascend: an atomic add to an element of "
                           << (type.getStrided() ? "a strided tensor"
                                                 : stringifyMemorySpace(type.getSpace()).str());
  if (failed(requireAddable(add, type.getElementType())))
    return failure();
  auto launch = add->getParentOfType<tile::LaunchOp>();
  OpBuilder atStart = OpBuilder::atBlockBegin(launch.getBodyBlock());
  Value addend = tile::AllocOp::create(
      atStart, add.getLoc(), tile::BufferType::get({1}, type.getElementType(), MemorySpace::UB),
      atStart.getStringAttr("addend"), IntegerAttr());
  ImplicitLocOpBuilder builder(add.getLoc(), add);
  orderPipes(builder, context, Pipe::MTE3, Pipe::S);
  tile::StoreOp::create(builder, add.getValue(), addend,
                        ValueRange{IndexMaker(builder).constant(0)}, /*in_bounds=*/true);
  orderPipes(builder, context, Pipe::S, Pipe::MTE3);
  tile::BufferRegion element{add.getBuffer(), getAsOpFoldResult(add.getIndices()), {}};
  element.extents.assign(element.offsets.size(), builder.getIndexAttr(1));
  auto copy = tile::CopyOp::create(builder, tile::BufferRegion::whole(addend), element);
  copy.setTargetInBoundsAttr(DenseBoolArrayAttr::get(
      builder.getContext(), SmallVector<bool>(element.offsets.size(), add.getInBounds())));
  CopyExpander expander(copy, builder, context);
  expander.atomicAdd = true;
  const LogicalResult done = expander.ubToGlobal();
  copy.erase();
  return done;
}

/// A copy of a part of UB.
tile::BufferRegion copyOf(ImplicitLocOpBuilder& builder, const tile::BufferRegion& source,
                          const RouteContext& context) {
  tile::BufferRegion whole = tile::BufferRegion::whole(makeTemporary(
      builder, builder.getLoc(), mostExtents(source), source.type().getElementType(), "moved"));
  whole.extents = source.extents;
  tile::CopyOp::create(builder, source, whole);
  if (context.waits)
    PipeBarrierOp::create(builder, Pipe::V);
  return whole;
}

/// A reduction into a part of what it reads reads a copy, and so does a scan.
void copyReduced(tile::ReduceOp reduce, const RouteContext& context) {
  const tile::BufferRegion source = reduce.getSourceRegion(), target = reduce.getTargetRegion();
  if (!mayOverlap(source, target))
    return;
  ImplicitLocOpBuilder builder(reduce.getLoc(), reduce);
  tile::ReduceOp::create(builder, reduce.getKind(), copyOf(builder, source, context), target,
                         reduce.getDim(), reduce.getClear(), reduce.getNanPropagate());
  reduce.erase();
}

void copyScanned(tile::ScanOp scan, const RouteContext& context) {
  if (!mayOverwriteSource(scan))
    return;
  ImplicitLocOpBuilder builder(scan.getLoc(), scan);
  const tile::BufferRegion source = copyOf(builder, scan.getSourceRegion(), context);
  tile::ScanOp::create(builder, scan.getKind(), source, scan.getTargetRegion(), scan.getDim(),
                       scan.getReverse());
  scan.erase();
}

class ExpandCopies : public KernelPass<ExpandCopies> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-expand-copies";
  static constexpr llvm::StringLiteral kDescription = "copies and fills become instructions";

  explicit ExpandCopies(bool waits) : waits(waits) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<npu::NpuDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    const EventNumbers events(getOperation());
    const RouteContext context{waits, events};
    markLoneLoads(getOperation());
    getOperation().walk([&](tile::ReduceOp reduce) { copyReduced(reduce, context); });
    getOperation().walk([&](tile::ScanOp scan) { copyScanned(scan, context); });
    SmallVector<Operation*> work;
    getOperation().walk([&](Operation* op) {
      if (isa<tile::CopyOp, tile::FillOp, tile::AtomicTileOp, tile::AtomicOp>(op))
        work.push_back(op);
    });
    for (Operation* op : work) {
      checkParts(op);
      LogicalResult done = success();
      if (auto copy = dyn_cast<tile::CopyOp>(op))
        done = expandCopy(copy, context);
      else if (auto fill = dyn_cast<tile::FillOp>(op))
        done = expandFill(fill);
      else if (auto atomic = dyn_cast<tile::AtomicOp>(op))
        done = expandAtomic(atomic, context);
      else
        done = expandAtomicTile(cast<tile::AtomicTileOp>(op), context);
      if (failed(done))
        signalPassFailure();
      else
        op->erase();
    }
  }

private:
  bool waits;
};

} // namespace

std::unique_ptr<Pass> createExpandCopies(bool waits) {
  return std::make_unique<ExpandCopies>(waits);
}

} // namespace tilewright::ascend
