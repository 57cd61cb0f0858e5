// SPDX-License-Identifier: Apache-2.0
/// ExpandGemms: a gemm of tiles in L1 becomes loads to L0A and L0B and multiplications, in steps of
/// k that take turns in the two halves of L0.
///
///     tile.gemm %a, %b into %c clear(%first)    // [128, 128] each
///   ->
///     npu.load_l0 %a at (0, 0) to %l0a[0] ...   size 128 x 128
///     npu.load_l0 %b at (0, 0) to %l0b[0] ...
///     npu.mmad %l0a[0], %l0b[0] into %c ...     init(%first)
///     npu.load_l0 %a at (0, 128) to %l0a[16384] ...
///
/// With `waits`, it also places the flags that the steps need among themselves and against what
/// loads L1 before and stores L0C after: where the kernel has no automatic flags, a gemm is one
/// statement to its user, complete in itself. Otherwise InsertFlags sees the steps and finds fewer.
/// A gemm of tiles that are in L0A and L0B already (T.mma) is one npu.mmad, and its waits are the kernel's.
/// It stands before copies are expanded only because both are independent; L0 is at address 0, as
/// the language says: gemms and a kernel's own L0 buffers are not meant to be mixed.
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/event_numbers.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

using namespace mlir;

namespace tilewright::ascend {
namespace {

using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

constexpr int64_t kHalfBytes = 32768; // of L0A and of L0B
constexpr int64_t kFractalSide = 16;

int64_t roundUp(int64_t value, int64_t unit) {
  return int64_t(llvm::alignTo(uint64_t(value), uint64_t(unit)));
}

/// The sizes of one gemm, and how k is cut.
struct GemmShape {
  int64_t m, n, k;
  int64_t c0;   ///< elements of a block
  int64_t step; ///< of k
};

class GemmExpander {
public:
  GemmExpander(tile::GemmOp gemm, bool waits, EventNumbers& events)
      : gemm(gemm), waits(waits), events(events), builder(gemm.getLoc(), gemm), make(builder),
        a(gemm.getARegion()), b(gemm.getBRegion()), c(gemm.getCRegion()) {}

  LogicalResult run() {
    if (failed(measure()))
      return failure();
    if (a.type().getSpace() == MemorySpace::L0A && b.type().getSpace() == MemorySpace::L0B)
      return multiplyInPlace();
    if (failed(checkPlaces()))
      return failure();
    l0a = scratch(MemorySpace::L0A, "l0a");
    l0b = scratch(MemorySpace::L0B, "l0b");
    enter();
    const int64_t steps = int64_t(llvm::divideCeil(shape.k, shape.step));
    for (int64_t step = 0; step < steps; ++step)
      multiplyStep(step, steps);
    leave(steps);
    gemm.erase();
    return success();
  }

private:
  LogicalResult measure() {
    const SmallVector<int64_t> left = a.staticExtents(), right = b.staticExtents();
    const size_t rank = left.size();
    shape.m = left[gemm.getTransposeA() ? rank - 1 : rank - 2];
    shape.k = left[gemm.getTransposeA() ? rank - 2 : rank - 1];
    shape.n = right[gemm.getTransposeB() ? right.size() - 2 : right.size() - 1];
    if (llvm::is_contained({shape.m, shape.n, shape.k}, ShapedType::kDynamic))
      return gemm.emitError()
             << "unsupported on ascend: a gemm of tiles whose extents are known at "
                "run time only";
    shape.c0 = npu::blockElements(a.type());
    const int64_t bytes = int64_t(a.type().getElementBits()) / 8;
    const int64_t widest = std::max(roundUp(shape.m, unitOf(gemm.getTransposeA())),
                                    roundUp(shape.n, unitOf(!gemm.getTransposeB())));
    const int64_t unit = std::max(shape.c0, kFractalSide);
    shape.step = std::min(roundUp(shape.k, unit), kHalfBytes / (widest * bytes) / unit * unit);
    if (shape.step == 0)
      return gemm.emitError() << "unsupported on ascend: a gemm of " << shape.m << "x" << shape.n
                              << ": 16 columns of " << widest << " rows are more than half of L0A";
    return success();
  }

  /// m and n come in fractals of 16; where they are transposed on the way, in blocks.
  int64_t unitOf(bool isTransposedOnTheWay) const {
    return isTransposedOnTheWay ? std::max(shape.c0, kFractalSide) : kFractalSide;
  }

  LogicalResult checkPlaces() {
    for (auto [region, space, role] : {std::tuple{&a, MemorySpace::L1, "a"},
                                       {&b, MemorySpace::L1, "b"},
                                       {&c, MemorySpace::L0C, "c"}})
      if (region->type().getSpace() != space)
        return gemm.emitError() << "unsupported on ascend: " << role << " of a gemm in "
                                << stringifyMemorySpace(region->type().getSpace())
                                << "; it must lie in " << stringifyMemorySpace(space);
    const Type factors = a.type().getElementType(), sums = c.type().getElementType();
    if (isa<IntegerType>(factors) ? !sums.isInteger(32) : !sums.isF32())
      return gemm.emitError() << "unsupported on ascend: a gemm of " << tile::dtypeName(factors)
                              << " with sums of " << tile::dtypeName(sums)
                              << "; the cube core adds floats in float32, integers in int32";
    const unsigned bits = a.type().getElementBits();
    if (bits == 32 && (gemm.getTransposeA() || !gemm.getTransposeB()))
      return gemm.emitError()
             << "unsupported on ascend: a gemm of float32 needs b transposed and a "
                "not: the chip cannot transpose 4-byte fractals on the way";
    const bool isSquare = bits == 8 && (gemm.getTransposeA() || !gemm.getTransposeB());
    for (const BufferRegion* region : {&a, &b})
      if (isSquare && npu::fractalRows(region->type()) % 32 != 0)
        return gemm.emitError() << "unsupported on ascend: an int8 tile of "
                                << npu::fractalRows(region->type())
                                << " rows that is transposed on the way; it takes multiples of 32";
    return success();
  }

  Value scratch(MemorySpace space, StringRef name) {
    auto launch = gemm->getParentOfType<tile::LaunchOp>();
    const Type element = a.type().getElementType();
    for (auto alloc : launch.getBodyBlock()->getOps<tile::AllocOp>())
      if (alloc->hasAttr("npu.gemm") && alloc.getType().getSpace() == space &&
          alloc.getType().getElementType() == element)
        return alloc;
    const int64_t columns = 2 * kHalfBytes * 8 / int64_t(a.type().getElementBits()) / kFractalSide;
    OpBuilder atStart = OpBuilder::atBlockBegin(launch.getBodyBlock());
    auto alloc = tile::AllocOp::create(atStart, launch.getLoc(),
                                       BufferType::get({kFractalSide, columns}, element, space),
                                       atStart.getStringAttr(name), atStart.getI64IntegerAttr(0));
    alloc->setAttr("npu.gemm", atStart.getUnitAttr());
    return alloc;
  }

  void set(Pipe from, Pipe to, int64_t event) {
    SetFlagOp::create(builder, from, to, make.constant(event));
  }
  void wait(Pipe from, Pipe to, int64_t event) {
    WaitFlagOp::create(builder, from, to, make.constant(event));
  }
  void order(Pipe from, Pipe to) {
    const int64_t event = events.free(from, to, 0);
    set(from, to, event);
    wait(from, to, event);
  }

  void enter() {
    if (!waits)
      return;
    order(Pipe::MTE2, Pipe::MTE1);
    order(Pipe::FIX, Pipe::M);
    for (int64_t half : {0, 1})
      set(Pipe::M, Pipe::MTE1, events.free(Pipe::M, Pipe::MTE1, half));
  }

  void leave(int64_t steps) {
    if (!waits)
      return;
    for (int64_t half : {0, 1})
      wait(Pipe::M, Pipe::MTE1, events.free(Pipe::M, Pipe::MTE1, half));
    order(Pipe::MTE1, Pipe::MTE2);
    order(Pipe::M, Pipe::FIX);
  }

  /// The part [k, k + width) of an operand to its half of L0.
  void load(const BufferRegion& region, bool isTransposed, bool isA, Value l0, int64_t half,
            int64_t k, int64_t width) {
    const int64_t other = isA ? shape.m : shape.n;
    const bool kIsColumn = isA ? !isTransposed : isTransposed;
    auto [row, column] = placeInTile(make, region.offsets);
    int64_t height = kIsColumn ? roundUp(other, kFractalSide) : roundUp(width, rowUnit());
    int64_t columns = kIsColumn ? roundUp(width, shape.c0) : roundUp(other, shape.c0);
    if (kIsColumn)
      column = make.add(column, make.index(k));
    else
      row = make.add(row, make.index(k));
    const int64_t halfElements = kHalfBytes * 8 / int64_t(region.type().getElementBits());
    npu::LoadL0Op::create(
        builder, region.buffer, make.value(tileOffset(make, region.type(), region.offsets)),
        make.value(row), make.value(column), l0, make.constant(half * halfElements),
        npu::fractalRows(region.type()), height, columns, isTransposed);
  }
  /// Rows of k are transposed in squares.
  int64_t rowUnit() const {
    return std::max(shape.c0, kFractalSide);
  }

  /// Both operands are in L0 already, all of k (T.mma): one instruction, and all waits are the kernel's.
  LogicalResult multiplyInPlace() {
    if (c.type().getSpace() != MemorySpace::L0C || gemm.getTransposeA() || gemm.getTransposeB())
      return checkPlaces();
    SmallVector<Value> offsets;
    for (const auto& [region, role] : {std::pair(&a, "a"), std::pair(&b, "b")}) {
      auto [row, column] = placeInTile(make, region->offsets);
      if (!isConstantIntValue(row, 0) || !isConstantIntValue(column, 0))
        return gemm.emitError() << "unsupported on ascend: " << role << " of a gemm is a part of "
                                << "a tile in " << stringifyMemorySpace(region->type().getSpace());
      offsets.push_back(make.value(tileOffset(make, region->type(), region->offsets)));
    }
    npu::MmadOp::create(builder, a.buffer, offsets[0], b.buffer, offsets[1], c.buffer,
                        make.value(offsetOfResult()), initOf(0), roundUp(shape.m, kFractalSide),
                        roundUp(shape.n, kFractalSide), shape.k);
    gemm.erase();
    return success();
  }

  Value initOf(int64_t step) {
    const bool clears = step == 0 && gemm.getClearAccum();
    if (step == 0 && gemm.getClear() && !clears)
      return gemm.getClear();
    return arith::ConstantOp::create(builder, builder.getBoolAttr(clears));
  }

  void multiplyStep(int64_t step, int64_t steps) {
    const int64_t half = step % 2, k = step * shape.step;
    const int64_t width = std::min(shape.step, shape.k - k);
    const int64_t forLoad = events.free(Pipe::M, Pipe::MTE1, half);
    if (waits)
      wait(Pipe::M, Pipe::MTE1, forLoad);
    load(a, gemm.getTransposeA(), true, l0a, half, k, width);
    load(b, gemm.getTransposeB(), false, l0b, half, k, width);
    if (waits) {
      const int64_t loaded = events.free(Pipe::MTE1, Pipe::M, half);
      set(Pipe::MTE1, Pipe::M, loaded);
      wait(Pipe::MTE1, Pipe::M, loaded);
      PipeBarrierOp::create(builder, Pipe::M);
    }
    const int64_t halfElements = kHalfBytes * 8 / int64_t(a.type().getElementBits());
    npu::MmadOp::create(builder, l0a, make.constant(half * halfElements), l0b,
                        make.constant(half * halfElements), c.buffer, make.value(offsetOfResult()),
                        initOf(step), roundUp(shape.m, unitOf(gemm.getTransposeA())),
                        roundUp(shape.n, unitOf(!gemm.getTransposeB())), width);
    if (waits)
      set(Pipe::M, Pipe::MTE1, forLoad);
  }

  OpFoldResult offsetOfResult() {
    auto [row, column] = placeInTile(make, c.offsets);
    OpFoldResult offset = make.mul(column, npu::fractalRows(c.type()));
    return make.add(tileOffset(make, c.type(), c.offsets),
                    make.add(offset, make.mul(row, kFractalSide)));
  }

  tile::GemmOp gemm;
  bool waits;
  EventNumbers& events;
  ImplicitLocOpBuilder builder;
  IndexMaker make;
  BufferRegion a, b, c;
  GemmShape shape{};
  Value l0a, l0b;
};

class ExpandGemms : public KernelPass<ExpandGemms> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-expand-gemms";
  static constexpr llvm::StringLiteral kDescription =
      "gemms become loads to L0 and multiplications";

  explicit ExpandGemms(bool waits) : waits(waits) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<npu::NpuDialect>();
  }

  void runOnOperation() override {
    EventNumbers events(getOperation());
    SmallVector<tile::GemmOp> gemms;
    getOperation().walk([&](tile::GemmOp gemm) { gemms.push_back(gemm); });
    for (tile::GemmOp gemm : gemms)
      if (failed(GemmExpander(gemm, waits, events).run()))
        signalPassFailure();
  }

private:
  bool waits;
};

} // namespace

std::unique_ptr<Pass> createExpandGemms(bool waits) {
  return std::make_unique<ExpandGemms>(waits);
}

} // namespace tilewright::ascend
