// SPDX-License-Identifier: Apache-2.0
/// What reads and writes parts of one buffer that may have elements in common reads all before it writes.
///
///   tile.copy %s[0] [6] to %s[2] [6] : !tile.buffer<8xf32, shared>
/// becomes
///   %moved = tile.alloc : !tile.buffer<6xf32, shared>
///   tile.copy %s[0] [6] to %moved
///   tile.copy %moved to %s[2] [6]
///
/// and so do updates of tiles. Reductions, scans and gemms read a copy. Parts that are known to be apart, in one dim at
/// least, are copied at once, and so is a part to itself. Parts that no tile should hold, or of which only the kernel
/// knows how large they are, go in pieces: forwards where the target begins before the source, else backwards, as
/// memmove does. Where no such order is known, as between views of a tensor of other shapes, an assertion says that they
/// are apart. So does the Ascend target (overlapping_copies.h), and the interpreter defines it. It stands before
/// assertions are numbered.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region_overlap.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::Overlap;

/// Of a tile that a copy goes through, and of a piece where it goes in pieces.
constexpr int64_t kMostElements = int64_t{1} << 22, kPieceElements = int64_t{1} << 16;

/// Views, and tensors at one address, are of one storage.
Value storageOf(Value buffer) {
  const Value storage = npu::storageOf(buffer);
  auto tensor = storage.getDefiningOp<tile::TensorAtOp>();
  return tensor ? tensor.getAddress() : storage;
}

Overlap compare(const BufferRegion& source, const BufferRegion& target) {
  return storageOf(source.buffer) == storageOf(target.buffer) ? tile::compareParts(source, target)
                                                              : Overlap::None;
}

bool mayMeet(const BufferRegion& source, const BufferRegion& target) {
  const Overlap found = compare(source, target);
  return found == Overlap::Possible || found == Overlap::Certain;
}

/// A tile that holds a part, or nothing where it is too large, or not known, how large.
std::optional<BufferRegion> tileFor(ImplicitLocOpBuilder& builder, const BufferRegion& part,
                                    int64_t mostElements) {
  SmallVector<int64_t> shape = part.staticExtents();
  for (auto [extent, most] : llvm::zip(shape, part.type().getShape()))
    extent = ShapedType::isDynamic(extent) ? most : extent;
  if (llvm::any_of(shape, ShapedType::isDynamic) ||
      ShapedType::getNumElements(shape) > mostElements)
    return std::nullopt;
  const auto type =
      tile::BufferType::get(shape, part.type().getElementType(), tile::MemorySpace::Shared);
  BufferRegion moved = BufferRegion::whole(
      tile::AllocOp::create(builder, type, builder.getStringAttr("moved"), IntegerAttr()));
  moved.extents = part.extents;
  return moved;
}

void readFirst(tile::CopyOp copy, ImplicitLocOpBuilder& builder, const BufferRegion& source,
               const BufferRegion& moved, const BufferRegion& target) {
  auto first = tile::CopyOp::create(builder, source, moved);
  first.getPadMutable().assign(copy.getPad() ? ValueRange(copy.getPad()) : ValueRange());
  auto second = tile::CopyOp::create(builder, moved, target);
  second.setTranspose(copy.getTranspose());
  second.setRelu(copy.getRelu());
}

void readFirst(tile::AtomicTileOp update, ImplicitLocOpBuilder& builder, const BufferRegion& source,
               const BufferRegion& moved, const BufferRegion& target) {
  tile::CopyOp::create(builder, source, moved);
  tile::AtomicTileOp::create(builder, update.getKind(), moved, target);
}

/// Whether the loops over both parts go over the same dims.
bool haveSameLoops(const BufferRegion& source, const BufferRegion& target) {
  for (auto [from, to] : llvm::zip(source.staticExtents(), target.staticExtents()))
    if ((from == 1) != (to == 1))
      return false;
  return true;
}

/// Copies or updates between parts of one layout, piece by piece. A piece takes the last dims whole that a tile holds,
/// and some of the dim before them. In each dim the pieces go backwards if the target begins behind the source: what
/// a piece writes, the pieces before it have read.
template <typename Move> class Pieces {
public:
  Pieces(Move move, const BufferRegion& source, const BufferRegion& target)
      : move(move), builder(move.getLoc(), move), math(builder), source(source), target(target) {
    choose();
  }

  void emit() {
    emitDim(0);
    move.erase();
  }

private:
  void choose() {
    const SmallVector<int64_t> extents = target.staticExtents();
    lengths.assign(extents.size(), 1);
    int64_t elements = 1;
    for (size_t dim = extents.size(); dim-- > 0;) {
      const int64_t room = kPieceElements / elements;
      lengths[dim] = ShapedType::isDynamic(extents[dim]) ? room : std::min(extents[dim], room);
      if (lengths[dim] != extents[dim])
        return;
      elements *= std::max<int64_t>(lengths[dim], 1);
    }
  }

  void emitDim(size_t dim) {
    if (dim == lengths.size()) {
      BufferRegion moved = *tileFor(builder, holding(), kPieceElements);
      moved.extents = source.extents;
      return readFirst(move, builder, source, moved, target);
    }
    if (getConstantIntValue(target.extents[dim]) == lengths[dim]) {
      source.extents[dim] = target.extents[dim];
      return emitDim(dim + 1);
    }
    const Value extent = math.value(target.extents[dim]), length = math.constant(lengths[dim]),
                from = math.value(source.offsets[dim]), to = math.value(target.offsets[dim]);
    const Value rest = math.constant(lengths[dim] - 1);
    const Value count = builder.createOrFold<arith::DivSIOp>(math.add(extent, rest), length);
    auto loop = tile::ForOp::create(builder, math.constant(0), count, math.constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBodyBlock());
    const Value turn = loop.getInductionVar();
    const Value isForwards = math.atMost(to, from),
                fromEnd = math.sub(math.sub(count, turn), math.constant(1)),
                number = builder.createOrFold<arith::SelectOp>(isForwards, turn, fromEnd),
                first = math.mul(number, length);
    source.offsets[dim] = math.add(from, first);
    target.offsets[dim] = math.add(to, first);
    OpFoldResult piece = builder.getIndexAttr(1);
    if (lengths[dim] != 1)
      piece = math.min(length, math.sub(extent, first));
    source.extents[dim] = target.extents[dim] = piece;
    emitDim(dim + 1);
  }

  /// The source's part, with the numbers that a tile for it has.
  BufferRegion holding() {
    BufferRegion part = source;
    for (auto [extent, length] : llvm::zip(part.extents, lengths))
      extent = builder.getIndexAttr(length);
    return part;
  }

  Move move;
  ImplicitLocOpBuilder builder;
  IndexMath math;
  BufferRegion source, target;
  SmallVector<int64_t> lengths; ///< of a piece
};

/// The first bit of a part and the one behind its last, counted from where its dense storage begins.
std::pair<Value, Value> bitsOf(const IndexMath& math, const BufferRegion& region) {
  Value first = math.constant(0), last = math.constant(0), stride = math.constant(1);
  for (int64_t dim = region.type().getRank(); dim-- > 0;) {
    const Value begin = math.value(region.offsets[dim]),
                end = math.sub(math.add(begin, math.value(region.extents[dim])), math.constant(1));
    first = math.add(first, math.mul(begin, stride));
    last = math.add(last, math.mul(end, stride));
    stride = math.mul(stride, math.dim(region.buffer, dim));
  }
  const Value bits = math.constant(int64_t(region.type().getElementBits()));
  return {math.mul(first, bits), math.mul(math.add(last, math.constant(1)), bits)};
}

/// Of parts of one layout: in some dim one ends before the other begins.
Value areApartInADim(ImplicitLocOpBuilder& builder, const BufferRegion& a, const BufferRegion& b) {
  const IndexMath math(builder);
  Value result;
  const auto alsoIf = [&](Value isApart) {
    result = result ? builder.createOrFold<arith::OrIOp>(result, isApart) : isApart;
  };
  for (int64_t dim = 0; dim < a.type().getRank(); ++dim) {
    const Value begin = math.value(a.offsets[dim]), other = math.value(b.offsets[dim]);
    alsoIf(math.atMost(math.add(begin, math.value(a.extents[dim])), other));
    alsoIf(math.atMost(math.add(other, math.value(b.extents[dim])), begin));
  }
  return result;
}

void assertApart(Operation* op, const BufferRegion& source, const BufferRegion& target) {
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  const IndexMath math(builder);
  Value isApart;
  if (tile::haveOneLayout(source.buffer, target.buffer)) {
    isApart = areApartInADim(builder, source, target);
  } else {
    const auto [first, end] = bitsOf(math, source);
    const auto [otherFirst, otherEnd] = bitsOf(math, target);
    isApart = builder.createOrFold<arith::OrIOp>(math.atMost(end, otherFirst),
                                                 math.atMost(otherEnd, first));
  }
  tile::AssertOp::check(builder, op->getLoc(), isApart,
                        "this operation's source and target overlap, and no tile can hold the "
                        "source; go through a tile in parts");
}

template <typename Move> void separate(Move move) {
  const BufferRegion source = move.getSourceRegion(), target = move.getTargetRegion();
  ImplicitLocOpBuilder builder(move.getLoc(), move);
  bool isTransposed = false;
  if constexpr (std::is_same_v<Move, tile::CopyOp>)
    isTransposed = move.getTranspose();
  if (!mayMeet(source, target) && !(isTransposed && compare(source, target) == Overlap::Same))
    return;
  if (const auto moved = tileFor(builder, source, kMostElements)) {
    readFirst(move, builder, source, *moved, target);
    move.erase();
  } else if (!isTransposed && tile::haveOneLayout(source.buffer, target.buffer) &&
             haveSameLoops(source, target)) {
    Pieces(move, source, target).emit();
  } else {
    assertApart(move, source, target);
  }
}

/// A copy of an operand in a tile on chip, which always has one.
BufferRegion copyOf(Operation* op, const BufferRegion& operand) {
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  const BufferRegion moved = *tileFor(builder, operand, std::numeric_limits<int64_t>::max());
  tile::CopyOp::create(builder, operand, moved);
  return moved;
}

void separate(tile::ReduceOp reduce) {
  const BufferRegion source = reduce.getSourceRegion(), target = reduce.getTargetRegion();
  if (!mayMeet(source, target))
    return;
  ImplicitLocOpBuilder builder(reduce.getLoc(), reduce);
  tile::ReduceOp::create(builder, reduce.getKind(), copyOf(reduce, source), target, reduce.getDim(),
                         reduce.getClear(), reduce.getNanPropagate());
  reduce.erase();
}

void separate(tile::ScanOp scan) {
  const BufferRegion source = scan.getSourceRegion(), target = scan.getTargetRegion();
  if (!mayMeet(source, target))
    return;
  ImplicitLocOpBuilder builder(scan.getLoc(), scan);
  tile::ScanOp::create(builder, scan.getKind(), copyOf(scan, source), target, scan.getDim(),
                       scan.getReverse());
  scan.erase();
}

void separate(tile::GemmOp gemm) {
  BufferRegion a = gemm.getARegion(), b = gemm.getBRegion();
  const BufferRegion c = gemm.getCRegion();
  const bool isA = compare(a, c) != Overlap::None, isB = compare(b, c) != Overlap::None;
  if (!isA && !isB)
    return;
  ImplicitLocOpBuilder builder(gemm.getLoc(), gemm);
  if (isA)
    a = copyOf(gemm, a);
  if (isB)
    b = copyOf(gemm, b);
  auto apart = tile::GemmOp::create(builder, a, b, c, gemm.getTransposeA(), gemm.getTransposeB(),
                                    gemm.getClear(), gemm.getClearAccum(), gemm.getPolicy());
  apart->setDiscardableAttrs(gemm->getDiscardableAttrDictionary());
  gemm.erase();
}

struct PartOverlaps : KernelPass<PartOverlaps> {
  static constexpr llvm::StringLiteral kArgument = "cpu-part-overlaps";
  static constexpr llvm::StringLiteral kDescription =
      "Operations on parts of one buffer that may overlap go through a tile of their own";

  void runOnOperation() override {
    SmallVector<Operation*> work;
    getOperation().walk([&](Operation* op) {
      if (isa<tile::CopyOp, tile::AtomicTileOp, tile::ReduceOp, tile::ScanOp, tile::GemmOp>(op))
        work.push_back(op);
    });
    for (Operation* op : work)
      llvm::TypeSwitch<Operation*>(op)
          .Case<tile::CopyOp, tile::AtomicTileOp, tile::ReduceOp, tile::ScanOp, tile::GemmOp>(
              [](auto each) { separate(each); });
  }
};

} // namespace

std::unique_ptr<Pass> createPartOverlaps() {
  return std::make_unique<PartOverlaps>();
}

} // namespace tilewright::cpu
