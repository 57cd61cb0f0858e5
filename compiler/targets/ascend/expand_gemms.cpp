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
/// It stands before copies are expanded only because both are independent. Gemms take all of L0A and L0B, but
/// for what the kernel's own buffers there need.
///
/// Where c is some rows of a tile, which the cube unit cannot skip the others of, 16 columns are made at a time: in a
/// loop where n is a number of the running kernel. Of such a k, steps behind its end load and multiply nothing.
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/check_parts.h"
#include "compiler/targets/ascend/event_numbers.h"
#include "compiler/targets/ascend/gemm_pieces.h"
#include "compiler/targets/ascend/multiply_in_place.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

using namespace mlir;

namespace tilewright::ascend {
namespace {

using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

class GemmExpander {
public:
  GemmExpander(tile::GemmOp gemm, bool waits, EventNumbers& events, const GemmRooms& rooms)
      : gemm(gemm), waits(waits), events(events), rooms(rooms), builder(gemm.getLoc(), gemm),
        make(builder), a(gemm.getARegion()), b(gemm.getBRegion()), c(gemm.getCRegion()),
        shape(GemmShape::of(gemm, rooms)) {}

  /// Whether 16 of k are no more than a half.
  bool fits() {
    return isInPlace() || shape.step > 0;
  }

  LogicalResult run() {
    if (failed(measure()) || failed(checkTypes()) || failed(checkResult()))
      return failure();
    if (isInPlace() && c.type().getSpace() == MemorySpace::L0C && !gemm.getTransposeA() &&
        !gemm.getTransposeB())
      return multiplyInPlace(gemm);
    if (failed(checkPlaces()))
      return failure();
    l0a = scratch(MemorySpace::L0A, "l0a");
    l0b = scratch(MemorySpace::L0B, "l0b");
    requireDepth(builder, gemm, shape.k, "T.gemm_v0");
    enter();
    for (int64_t step = 0; step < shape.steps(); ++step)
      multiplyStep(step);
    leave();
    gemm.erase();
    return success();
  }

private:
  bool isInPlace() const {
    return a.type().getSpace() == MemorySpace::L0A && b.type().getSpace() == MemorySpace::L0B;
  }

  LogicalResult measure() {
    if (isInPlace() || shape.step > 0)
      return success();
    return gemm.emitError() << "unsupported on ascend: a gemm of " << shape.m.most << "x"
                            << shape.n.most << ": 16 columns of "
                            << std::max(shape.m.most, shape.n.most)
                            << " rows are more than half of L0A";
  }

  /// What the cube unit multiplies, and in what it adds.
  LogicalResult checkTypes() {
    const Type left = a.type().getElementType(), right = b.type().getElementType();
    const Type sums = c.type().getElementType();
    const bool isFloat = left.isF16() || left.isBF16() || left.isF32();
    const bool isInteger = (left.isInteger(8) || left.isInteger(4)) && !left.isUnsignedInteger();
    if (left == right && ((isFloat && sums.isF32()) || (isInteger && sums.isInteger(32))))
      return success();
    const std::string factors =
        tile::dtypeName(left) + (left == right ? "" : " and " + tile::dtypeName(right));
    return gemm.emitError() << "unsupported on ascend: a gemm of " << factors << " with sums of "
                            << tile::dtypeName(sums) << "; the cube core multiplies float16, "
                            << "bfloat16 and float32 with sums of float32, int8 with sums of int32";
  }

  /// A part of a tile in L0C is whole fractals, but where the tile ends.
  LogicalResult checkResult() {
    if (c.type().getSpace() != MemorySpace::L0C)
      return success();
    if (failed(requireFractalStart(builder, gemm, "c of a gemm", c, kFractalSide, kFractalSide)))
      return failure();
    const size_t rank = c.offsets.size();
    for (const auto& [dim, extent, what] :
         {std::tuple(rank - 2, shape.m, "row"), std::tuple(rank - 1, shape.n, "column")}) {
      if (!extent.isKnown())
        continue;
      const int64_t count = extent.most;
      const int64_t size = c.type().getShape()[dim];
      const int64_t end = getConstantIntValue(c.offsets[dim]).value_or(0) + count;
      if (count % kFractalSide != 0 && count != size && end != size && !isAloneInResult(gemm))
        return gemm.emitError() << "unsupported on ascend: c of a gemm is " << count << " " << what
                                << "s of a tile of " << size << " in L0C, whose " << what
                                << "s come in groups of 16";
    }
    return success();
  }

  LogicalResult checkPlaces() {
    for (auto [region, space, role] : {std::tuple{&a, MemorySpace::L1, "a"},
                                       {&b, MemorySpace::L1, "b"},
                                       {&c, MemorySpace::L0C, "c"}})
      if (region->type().getSpace() != space)
        return gemm.emitError() << "unsupported on ascend: " << role << " of a gemm in "
                                << stringifyMemorySpace(region->type().getSpace())
                                << "; it must lie in " << stringifyMemorySpace(space)
                                << (space == MemorySpace::L1
                                        ? " (T.alloc_L1), where T.copy brings it from there"
                                        : " (T.alloc_L0C), from where T.copy takes it");
    if (failed(requireLoadable(builder, gemm, "a of a gemm", a, MemorySpace::L0A,
                               gemm.getTransposeA())) ||
        failed(requireLoadable(builder, gemm, "b of a gemm", b, MemorySpace::L0B,
                               !gemm.getTransposeB())))
      return failure();
    return success();
  }

  Value scratch(MemorySpace space, StringRef name) {
    auto launch = gemm->getParentOfType<tile::LaunchOp>();
    const Type element = a.type().getElementType();
    for (auto alloc : launch.getBodyBlock()->getOps<tile::AllocOp>())
      if (alloc->hasAttr("npu.gemm") && alloc.getType().getSpace() == space &&
          alloc.getType().getElementType() == element)
        return alloc;
    const GemmRoom& room = space == MemorySpace::L0A ? rooms.a : rooms.b;
    const int64_t bits = int64_t(a.type().getElementBits()), rows = rowUnitOf(a.type());
    const int64_t columns = 2 * room.half * 8 / bits / rows;
    OpBuilder atStart = OpBuilder::atBlockBegin(launch.getBodyBlock());
    auto alloc = tile::AllocOp::create(
        atStart, launch.getLoc(), BufferType::get({rows, columns}, element, space),
        atStart.getStringAttr(name), atStart.getI64IntegerAttr(room.start));
    alloc->setAttr("npu.gemm", atStart.getUnitAttr());
    return alloc;
  }

  void set(Pipe from, Pipe to, int64_t number) {
    SetFlagOp::create(builder, from, to, make.constant(*events.free(from, to, number)));
  }
  void wait(Pipe from, Pipe to, int64_t number) {
    WaitFlagOp::create(builder, from, to, make.constant(*events.free(from, to, number)));
  }

  /// In how many parts of L0 the steps take turns: one for each event that the kernel leaves between its loads
  /// and the cube unit; with none, each step waits for all of the one before.
  int64_t turns() const {
    int64_t turns = 0;
    while (turns < 2 && (!waits || (events.free(Pipe::M, Pipe::MTE1, turns) &&
                                    events.free(Pipe::MTE1, Pipe::M, turns))))
      ++turns;
    return turns;
  }

  /// Whether an operand may be what another gemm has computed.
  bool readsProduct() const {
    return llvm::any_of(ArrayRef<const BufferRegion*>{&a, &b}, [](const BufferRegion* operand) {
      const Value storage = npu::storageOf(operand->buffer);
      return llvm::any_of(npu::usersOf(storage), [&](Operation* user) {
        auto copy = dyn_cast<tile::CopyOp>(user);
        return copy && copy.getSourceRegion().type().getSpace() == MemorySpace::L0C &&
               npu::storageOf(copy.getTarget()) == storage;
      });
    });
  }

  void enter() {
    if (!waits)
      return;
    events.order(builder, Pipe::MTE2, Pipe::MTE1);
    if (readsProduct())
      events.order(builder, Pipe::FIX, Pipe::MTE1);
    events.order(builder, Pipe::FIX, Pipe::M);
    for (int64_t turn = 0; turn < turns(); ++turn)
      set(Pipe::M, Pipe::MTE1, turn);
  }

  void leave() {
    if (!waits)
      return;
    for (int64_t turn = 0; turn < turns(); ++turn)
      wait(Pipe::M, Pipe::MTE1, turn);
    events.order(builder, Pipe::MTE1, Pipe::MTE2);
    if (readsProduct())
      events.order(builder, Pipe::MTE1, Pipe::FIX);
    events.order(builder, Pipe::M, Pipe::FIX);
  }

  /// Before the loads of a step.
  void waitForTurn(int64_t turn) {
    if (waits && turns() > 0)
      wait(Pipe::M, Pipe::MTE1, turn);
    else if (waits)
      events.order(builder, Pipe::M, Pipe::MTE1);
  }

  /// Between the loads of a step and its multiplications.
  void waitForLoads(int64_t turn) {
    if (!waits)
      return;
    if (turns() > 0) {
      set(Pipe::MTE1, Pipe::M, turn);
      wait(Pipe::MTE1, Pipe::M, turn);
    } else
      events.order(builder, Pipe::MTE1, Pipe::M);
    PipeBarrierOp::create(builder, Pipe::M);
  }

  Value initOf(int64_t step) {
    const bool clears = step == 0 && gemm.getClearAccum();
    if (step == 0 && gemm.getClear() && !clears)
      return gemm.getClear();
    return arith::ConstantOp::create(builder, builder.getBoolAttr(clears));
  }

  void multiplyStep(int64_t step) {
    const int64_t turn = turns() > 0 ? step % turns() : 0;
    GemmPieces pieces(gemm, builder, shape, rooms);
    waitForTurn(turn);
    pieces.load(step, turn, l0a, l0b);
    waitForLoads(turn);
    pieces.multiply(step, turn, l0a, l0b, initOf(step));
    if (waits && turns() > 0)
      set(Pipe::M, Pipe::MTE1, turn);
  }

  tile::GemmOp gemm;
  bool waits;
  EventNumbers& events;
  GemmRooms rooms;
  ImplicitLocOpBuilder builder;
  IndexMaker make;
  BufferRegion a, b, c;
  GemmShape shape;
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
      checkParts(gemm);
    for (tile::GemmOp gemm : gemms) {
      growToSquares(gemm.getARegion(), MemorySpace::L0A, gemm.getTransposeA());
      growToSquares(gemm.getBRegion(), MemorySpace::L0B, !gemm.getTransposeB());
    }
    GemmRooms rooms{gemmRoom(getOperation(), MemorySpace::L0A),
                    gemmRoom(getOperation(), MemorySpace::L0B)};
    // Where that is too little, own buffers may still share bytes with gemms that they don't outlast.
    if (!llvm::all_of(gemms, [&](tile::GemmOp gemm) {
          return GemmExpander(gemm, waits, events, rooms).fits();
        }))
      rooms = {};
    for (tile::GemmOp gemm : gemms)
      if (failed(GemmExpander(gemm, waits, events, rooms).run()))
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
