// SPDX-License-Identifier: Apache-2.0
/// ShareVectorWork: where a kernel asks for `threads(2)`, each of the two vector cores of a block
/// gets half of the rows of every tile.
///
///   %x = tile.alloc "x" : !tile.buffer<64x128xf32, UB>
///   tile.copy %A[%m, 0] [64, 128] : ... to %x : ...
///   tile.parallel (%i, %j) in [64, 128] { ... }
/// becomes
///   %x = tile.alloc "x" : !tile.buffer<32x128xf32, UB>
///   %vid = ascend.vector_id
///   %row = arith.muli %vid, %c32
///   tile.copy %A[%m + %row, 0] [32, 128] : ... to %x : ...
///   tile.parallel (%i, %j) in [32, 128] { ... }      // %i counts from %row where its value matters
///
/// Which tiles can be halved follows from what is done with them (shared_tiles.h). The others both
/// cores have whole and compute twice; what comes of them in global memory is written by the first, and so are
/// single elements, of numbers too, that the cube core doesn't store.
/// Of a kernel that was written for a GPU, which asks for nothing, both cores work beside gemms where
/// what they do needs no order between them.
/// It stands behind AddWorkspaces, so that what crosses to the cube core is a copy like any other,
/// and before tile operations become instructions, because whole tiles are still visible.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/scalar_agents.h"
#include "compiler/targets/ascend/vector_order.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

class Sharer {
public:
  Sharer(tile::LaunchOp launch, const SharedTiles& tiles)
      : launch(launch), tiles(tiles), builder(OpBuilder::atBlockBegin(launch.getBodyBlock())) {
    launch.walk([&](Operation* op) {
      asksVid |= isa<VectorIdOp>(op) && !op->use_empty();
      hasGemm |= isa<tile::GemmOp>(op);
    });
    vectorId = VectorIdOp::create(builder, launch.getLoc());
  }

  void run() {
    if (!asksVid)
      launch->setAttr(kCoresAlikeAttr, UnitAttr::get(launch.getContext()));
    SmallVector<Operation*> ops;
    launch.walk([&](Operation* op) { ops.push_back(op); });
    for (Operation* op : ops)
      rewrite(op);
    for (Value tile : tiles.all())
      tile.setType(halfOf(cast<BufferType>(tile.getType())));
    if (vectorId.use_empty())
      vectorId.getDefiningOp()->erase();
  }

private:
  static BufferType halfOf(BufferType type) {
    SmallVector<int64_t> shape(type.getShape());
    shape[0] /= 2;
    return BufferType::get(shape, type.getElementType(), type.getSpace(), type.getStrided(),
                           type.getLayout());
  }

  void rewrite(Operation* op) {
    builder.setInsertionPoint(op);
    if (auto copy = dyn_cast<tile::CopyOp>(op))
      return rewriteCopy(copy);
    if (auto atomic = dyn_cast<tile::AtomicTileOp>(op))
      return rewriteAtomic(atomic);
    if (isa<tile::AtomicOp>(op) && !op->getParentOfType<tile::ParallelOp>())
      return guard(op);
    if (happensOnce(op))
      return guard(op);
    if (auto fill = dyn_cast<tile::FillOp>(op))
      return rewriteFill(fill);
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return rewriteReduce(reduce);
    if (auto scan = dyn_cast<tile::ScanOp>(op))
      return rewriteScan(scan);
    if (auto nest = dyn_cast<tile::ParallelOp>(op))
      return rewriteNest(nest);
  }

  /// An element that is stored, or a number that is printed: tiles of which single elements are read both cores have
  /// whole. What the cube core knows, too, it stores, and all cores print. A kernel that asks for vid says it itself.
  bool happensOnce(Operation* op) const {
    auto store = dyn_cast<tile::StoreOp>(op);
    const bool isElement = store && store.getBuffer().getType().isGlobal();
    auto print = dyn_cast<tile::PrintOp>(op);
    const bool isPrint =
        isa<PrintfOp>(op) ||
        (print && !(print.getValue() && isa<BufferType>(print.getValue().getType())));
    if (asksVid || !(isElement || isPrint) || op->getParentOfType<tile::ParallelOp>())
      return false;
    if (auto scope = op->getParentOfType<ScopeOp>())
      return scope.getAgent() == Agent::Vector;
    return !hasGemm || (isElement ? isKnownToVectorsAlone(op) : isPrintOfVectors(op));
  }

  Value constant(int64_t number) {
    return arith::ConstantIndexOp::create(builder, launch.getLoc(), number);
  }
  /// The first of this core's `half` rows.
  Value firstRow(int64_t half) {
    return arith::MulIOp::create(builder, launch.getLoc(), vectorId, constant(half));
  }

  /// Half of the region's rows: of a tile from its first on, of a tensor this core's.
  BufferRegion halved(BufferRegion region) {
    const size_t dim = tiles.contains(region.buffer) ? 0 : *firstWideDim(region);
    const int64_t half = *getConstantIntValue(region.extents[dim]) / 2;
    if (!tiles.contains(region.buffer)) {
      const Value begin =
          getValueOrCreateConstantIndexOp(builder, launch.getLoc(), region.offsets[dim]);
      region.offsets[dim] =
          arith::AddIOp::create(builder, launch.getLoc(), begin, firstRow(half)).getResult();
    }
    region.extents[dim] = builder.getIndexAttr(half);
    return region;
  }

  bool isHalved(const BufferRegion& a, const BufferRegion& b) const {
    return tiles.contains(a.buffer) || tiles.contains(b.buffer);
  }

  void rewriteCopy(tile::CopyOp copy) {
    const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
    if (!isHalved(source, target))
      return onlyOnce(copy, source, target);
    auto made = tile::CopyOp::create(builder, copy.getLoc(), halved(source), halved(target));
    if (Value pad = copy.getPad())
      made.getPadMutable().assign(pad);
    made.setSourceInBoundsAttr(copy.getSourceInBoundsAttr());
    made.takeEnds(copy);
    made.setTargetInBoundsAttr(copy.getTargetInBoundsAttr());
    made.setRelu(copy.getRelu());
    copy.erase();
  }

  void rewriteAtomic(tile::AtomicTileOp atomic) {
    const BufferRegion source = atomic.getSourceRegion(), target = atomic.getTargetRegion();
    if (!isHalved(source, target))
      return onlyOnce(atomic, source, target);
    auto made = tile::AtomicTileOp::create(builder, atomic.getLoc(), atomic.getKind(),
                                           halved(source), halved(target));
    made.setSourceInBoundsAttr(atomic.getSourceInBoundsAttr());
    made.setTargetInBoundsAttr(atomic.getTargetInBoundsAttr());
    atomic.erase();
  }

  void rewriteFill(tile::FillOp fill) {
    if (!tiles.contains(fill.getTarget()))
      return;
    tile::FillOp::create(builder, fill.getLoc(), fill.getValue(), halved(fill.getTargetRegion()));
    fill.erase();
  }

  void rewriteReduce(tile::ReduceOp reduce) {
    const BufferRegion source = reduce.getSourceRegion(), target = reduce.getTargetRegion();
    if (!isHalved(source, target))
      return;
    tile::ReduceOp::create(builder, reduce.getLoc(), reduce.getKind(), halved(source),
                           halved(target), static_cast<int64_t>(reduce.getDim()), reduce.getClear(),
                           reduce.getNanPropagate());
    reduce.erase();
  }

  void rewriteScan(tile::ScanOp scan) {
    const BufferRegion source = scan.getSourceRegion(), target = scan.getTargetRegion();
    if (!isHalved(source, target))
      return;
    auto made = tile::ScanOp::create(builder, scan.getLoc(), scan.getKind(), halved(source),
                                     halved(target), static_cast<int64_t>(scan.getDim()));
    made.setReverse(scan.getReverse());
    scan.erase();
  }

  /// Half of the iterations. Tiles that are shared are indexed from 0 on; all else sees the row's
  /// number in the whole tile.
  void rewriteNest(tile::ParallelOp nest) {
    if (!tiles.isShared(nest)) {
      if (SharedTiles::writesGlobal(nest))
        guard(nest);
      return;
    }
    const int64_t half = *getConstantIntValue(nest.getMixedExtents().front()) / 2;
    SmallVector<int64_t> extents(nest.getStaticExtents());
    extents[0] = half;
    nest.setStaticExtents(extents);
    Value local = nest.getInductionVars().front();
    const Value begin = firstRow(half);
    builder.setInsertionPointToStart(nest.getBodyBlock());
    const Value row = arith::AddIOp::create(builder, nest.getLoc(), local, begin);
    local.replaceUsesWithIf(row, [&](OpOperand& use) {
      Operation* user = use.getOwner();
      if (user == row.getDefiningOp())
        return false;
      const bool isAccess = isa<tile::LoadOp, tile::StoreOp>(user);
      return !isAccess || !indexesSharedTile(use);
    });
    if (row.use_empty())
      row.getDefiningOp()->erase();
  }

  bool indexesSharedTile(OpOperand& use) const {
    if (auto load = dyn_cast<tile::LoadOp>(use.getOwner()))
      return tiles.contains(load.getBuffer()) &&
             use.getOperandNumber() == load.getIndicesMutable().begin()->getOperandNumber();
    auto store = cast<tile::StoreOp>(use.getOwner());
    return tiles.contains(store.getBuffer()) &&
           use.getOperandNumber() == store.getIndicesMutable().begin()->getOperandNumber();
  }

  /// Both cores would write the same from UB.
  void onlyOnce(Operation* op, const BufferRegion& source, const BufferRegion& target) {
    if (source.type().getSpace() == tile::MemorySpace::UB && target.type().isGlobal())
      guard(op);
  }

  void guard(Operation* op) {
    builder.setInsertionPoint(op);
    const Value isFirst = arith::CmpIOp::create(builder, op->getLoc(), arith::CmpIPredicate::eq,
                                                vectorId, constant(0));
    auto branch = scf::IfOp::create(builder, op->getLoc(), isFirst, false);
    op->moveBefore(branch.thenBlock()->getTerminator());
  }

  tile::LaunchOp launch;
  const SharedTiles& tiles;
  OpBuilder builder;
  Value vectorId;
  bool asksVid = false, hasGemm = false;
};

bool needsNoOrder(tile::LaunchOp launch, const SharedTiles& tiles, bool ofReads) {
  Operation* write = unorderedWrite(launch, tiles, ofReads);
  if (write)
    write->emitRemark()
        << "one vector core does the work of both: with two, nothing would order this "
           "with what the other one does to the same tensor";
  return !write;
}

/// Whether both vector cores of a block may work, though the kernel asks for none: beside a cube core
/// that works for one block, the second would do nothing else. What must happen once stays with one.
bool mayUseBoth(tile::LaunchOp launch, const SharedTiles& tiles) {
  bool hasGemm = false, hasEffects = false;
  launch.walk([&](Operation* op) {
    auto store = dyn_cast<tile::StoreOp>(op);
    hasGemm |= isa<tile::GemmOp>(op);
    hasEffects |=
        isa<tile::AtomicOp, tile::AtomicTileOp, tile::PrintOp, tile::AssertOp, tile::CallOp>(op) ||
        isa<AscendDialect>(op->getDialect()) ||
        (store && store.getBuffer().getType().isGlobal() &&
         !op->getParentOfType<tile::ParallelOp>());
  });
  return hasGemm && !hasEffects && needsNoOrder(launch, tiles, /*ofReads=*/false);
}

/// The same of a kernel that asks for both, whose stores by both are as it says; unless it makes cores wait for
/// each other by itself. What both have read before one of them overwrites it, the second could read too late.
bool mustUseBoth(tile::LaunchOp launch, const SharedTiles& tiles) {
  const bool hasOrder = launch
                            ->walk([](Operation* op) {
                              return isa<SetCrossFlagOp, WaitCrossFlagOp, SyncAllOp, VectorIdOp>(op)
                                         ? WalkResult::interrupt()
                                         : WalkResult::advance();
                            })
                            .wasInterrupted();
  return hasOrder || needsNoOrder(launch, tiles, /*ofReads=*/true);
}

/// Of loops that go through the rows of a tile one by one, which both cores do.
void tellOfLoopsOverRows(tile::LaunchOp launch, const SharedTiles& tiles) {
  launch.walk([&](tile::ForOp loop) {
    const std::optional<int64_t> rows = getConstantIntValue(loop.getUpper());
    const auto isTileOfRows = [&](Value operand) {
      auto alloc = npu::storageOf(operand).getDefiningOp<tile::AllocOp>();
      return alloc && alloc.getType().getSpace() == tile::MemorySpace::UB && rows &&
             alloc.getType().getRank() > 1 && alloc.getType().getShape()[0] == *rows && *rows > 1 &&
             *rows % 2 == 0 && !tiles.contains(alloc);
    };
    for (Operation* user : loop.getInductionVar().getUsers())
      for (const Value operand : user->getOperands())
        if (isa<BufferType>(operand.getType()) && isTileOfRows(operand)) {
          auto alloc = npu::storageOf(operand).getDefiningOp<tile::AllocOp>();
          loop.emitRemark() << "both vector cores run all of this loop over the rows of "
                            << alloc.getSymName().value_or("a tile")
                            << ": what is shared out between them is T.Parallel over all rows, and "
                               "functions of whole tiles";
          return;
        }
  });
}

struct ShareVectorWork : KernelPass<ShareVectorWork> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShareVectorWork)
  static constexpr llvm::StringLiteral kArgument = "ascend-share-vector-work";
  static constexpr llvm::StringLiteral kDescription =
      "with threads(2), give each of the two vector cores half of the rows of every tile";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<scf::SCFDialect, AscendDialect>();
  }

  void runOnOperation() override {
    if (getOperation().getOps<tile::LaunchOp>().empty())
      return; // not a kernel
    tile::LaunchOp launch = *getOperation().getOps<tile::LaunchOp>().begin();
    if (!launch.getNpu())
      return;
    const SharedTiles tiles(launch);
    const bool asks = launch.getThreadCount() == 2;
    if (asks)
      tellOfLoopsOverRows(launch, tiles);
    if (asks ? mustUseBoth(launch, tiles)
             : launch->hasAttr(kOfGpuAttr) && mayUseBoth(launch, tiles))
      Sharer(launch, tiles).run();
  }
};

} // namespace

std::unique_ptr<Pass> createShareVectorWork() {
  return std::make_unique<ShareVectorWork>();
}

} // namespace tilewright::ascend
