// SPDX-License-Identifier: Apache-2.0
/// AddWorkspaces: leads copies between the cube and the vector cores through global memory.
///
///   tile.copy %c : !tile.buffer<64x64xf32, L0C> to %x : !tile.buffer<64x64xf32, UB>
/// becomes
///   %w = tile.alloc "workspace_0" : !tile.buffer<24x64x64xf32, global>   // one per block
///   tile.copy %c : ... to %w[%cid, 0, 0] [1, 64, 64] : ...
///   ...                                                                  // up to the first use of %x, if flags are automatic
///   tile.copy %w[%cid, 0, 0] [1, 64, 64] : ... to %x : ...
///
/// The same for UB to L1: the chip has no path between the cores but global memory. Where each vector
/// core has a part of the cube's tile, as in %c[%vid * 32, 0] [32, 64], both parts go at once: the cube
/// core has no %vid. It stands behind the placing of buffers, which decides what is such a copy, and before threads share vector work:
/// then the halves that each vector core has are parts of ordinary copies. InsertFlags finds the
/// waits. In a pipelined loop there is a tile for each stage, which the iterations use in turn, so that
/// one core needn't wait until the other has read.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/core_parts.h"
#include "compiler/targets/ascend/crossing_places.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/leave_scope.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/pipelined_loops.h"
#include "compiler/targets/ascend/product_copies.h"
#include "compiler/targets/ascend/remade_values.h"
#include "compiler/targets/ascend/vector_steps.h"
#include "compiler/targets/ascend/workspaces.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::MemorySpace;

/// The value as the first vector core has it, without its id.
Value ofFirstVector(OpBuilder& builder, Value value, IRMapping& known) {
  Operation* op = value.getDefiningOp();
  if (!op || vectorStep(value) == 0)
    return value;
  if (Value made = known.lookupOrNull(value))
    return made;
  if (isa<VectorIdOp>(op)) {
    Value zero = arith::ConstantIndexOp::create(builder, op->getLoc(), 0);
    known.map(value, zero);
    return zero;
  }
  for (Value operand : op->getOperands())
    known.map(operand, ofFirstVector(builder, operand, known));
  builder.clone(*op, known);
  return known.lookup(value);
}

/// A region of the cube core's memory, and the same with the parts of both vector cores.
struct CubeSide {
  BufferRegion part, both;
  /// Where the part begins in both.
  SmallVector<OpFoldResult> offsets;
};

/// The first operation behind `op` in its block that touches `buffer`, maybe through a view, or that may leave
/// the block; else the block's end. There is one: a scope's block alone has no terminator, and what crosses has left it
/// (check_scopes.cpp).
Operation* firstUse(Operation* op, Value buffer) {
  const Value storage = npu::storageOf(buffer);
  Operation* next = op->getNextNode();
  const auto touches = [&](Operation* user) {
    return user
        ->walk([&](Operation* inner) {
          return npu::usesStorage(inner, storage) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  while (!next->hasTrait<OpTrait::IsTerminator>() && !touches(next) && !hasExit(next))
    next = next->getNextNode();
  return next;
}

struct AddWorkspaces : KernelPass<AddWorkspaces> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddWorkspaces)
  static constexpr llvm::StringLiteral kArgument = "ascend-add-workspaces";
  static constexpr llvm::StringLiteral kDescription =
      "lead copies between cube and vector cores through global memory";

  AddWorkspaces() = default;
  AddWorkspaces(bool isAutomatic, bool takeTurns, bool splits)
      : isAutomatic(isAutomatic), takeTurns(takeTurns), splits(splits) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    if (takeTurns)
      pipelined = pipelinedLoops(getOperation());
    SmallVector<tile::CopyOp> copies;
    getOperation().walk([&](tile::CopyOp copy) {
      if (copy->getParentOfType<tile::LaunchOp>() && crossesCores(copy))
        copies.push_back(copy);
    });
    const WalkResult scope = getOperation().walk([](ScopeOp) { return WalkResult::interrupt(); });
    needsScopes = !splits && scope.wasInterrupted();
    unsigned number = 0;
    for (tile::CopyOp copy : copies)
      if (failed(split(copy, number++)))
        return signalPassFailure();
  }

  LogicalResult split(tile::CopyOp copy, unsigned number) {
    auto launch = copy->getParentOfType<tile::LaunchOp>();
    for (Value operand : SmallVector<Value>(copy->getOperands()))
      if (operand.getType().isIndex())
        takeStored(operand);
    const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
    const bool isFromCube = source.type().getSpace() == MemorySpace::L0C;
    Operation* apart = crossedApart(copy, isFromCube);
    OpBuilder builder(apart ? apart : copy);
    const FailureOr<CubeSide> cube =
        cubeSide(builder, copy, remadeBefore(apart, isFromCube ? source : target));
    if (failed(cube))
      return failure();
    if (!isFromCube && !apart && mayComeFromBoth(copy, launch))
      return copy.emitError(
                 "unsupported on ascend: where vid says whether, each vector core would store this "
                 "to the one tile that the block has; ")
             << (isStatic(target) ? "let one do it (`if vid == 0`), or each a part of its own "
                                    "(`[vid * rows : (vid + 1) * rows]`)"
                                  : "let vid itself say which part each has "
                                    "(`[vid * rows : (vid + 1) * rows]`)");
    if (llvm::any_of(cube->both.extents, [](OpFoldResult extent) {
          return isa<Value>(extent) && npu::differsByVid(cast<Value>(extent));
        }))
      return copy.emitError("unsupported on ascend: a copy between cube and vector memories whose "
                            "extents are not those of both vector cores; take as many rows and "
                            "columns for each");
    SmallVector<int64_t> shape = cube->both.staticExtents();
    // Of extents that are known at run time only there is room for all that the tile has.
    for (auto [extent, most] : llvm::zip(shape, cube->both.type().getShape()))
      extent = ShapedType::isDynamic(extent) ? most : extent;
    // A column stays one.
    while (shape.size() > 2 && shape.front() == 1)
      shape.erase(shape.begin());
    if (shape.empty())
      shape.push_back(1);
    const size_t rank = shape.size();
    tile::ForOp loop = loopInTurns(copy);
    if (loop)
      shape.insert(shape.begin(), int64_t(loop.getNumStages()));
    // What the cube core can't store as the target's type is converted in UB.
    const BufferRegion& like = isFromCube && !isConvertedByFixpipe(copy) ? source : target;
    BufferRegion space = makeWorkspace(launch, shape, like.type().getElementType(),
                                       "workspace_" + std::to_string(number));
    if (loop)
      takeTurn(space, space.offsets.size() - shape.size(), loop, builder);
    const ArrayRef<OpFoldResult> extents = cube->both.extents;
    if (extents.size() >= rank)
      llvm::copy(extents.take_back(rank), space.extents.end() - int64_t(rank));
    const BufferRegion part = partOf(space, *cube, rank);

    const Value scale = apart && isFromCube && copy.getScale()
                            ? RemadeValues(apart).of(copy.getScale())
                            : copy.getScale();
    if (!isFromCube)
      builder.setInsertionPoint(copy);
    auto there = isFromCube ? tile::CopyOp::create(builder, copy.getLoc(), cube->both, space)
                            : tile::CopyOp::create(builder, copy.getLoc(), source, part);
    there.setRelu(copy.getRelu());
    there.getScaleMutable().assign(scale ? ValueRange(scale) : ValueRange());
    // The tile between is as the cube core has it.
    there.setTranspose(copy.getTranspose() && !isFromCube);
    there.setTargetInBoundsAttr(allInBounds(space));
    if (copy->hasAttr(kOnceAttr))
      onFirstVector(there);
    // Behind the copy a kernel may have a flag of its own, for which the load must have been begun.
    Operation* over = apart && !isFromCube ? apart : copy.getOperation();
    builder.setInsertionPoint(isAutomatic ? firstUse(over, target.buffer) : over->getNextNode());
    auto back = isFromCube ? tile::CopyOp::create(builder, copy.getLoc(), part, target)
                           : tile::CopyOp::create(builder, copy.getLoc(), space, cube->both);
    back.setTranspose(copy.getTranspose() && isFromCube);
    back.setSourceInBoundsAttr(allInBounds(space));
    const bool isApart = needsScopes || (!splits && copy->hasAttr(kLeftScopeAttr));
    copy.erase();
    if (isApart) {
      encloseIn(isFromCube ? Agent::Cube : Agent::Vector, there);
      encloseIn(isFromCube ? Agent::Vector : Agent::Cube, back);
    }
    return success();
  }

  /// Where a kernel tells its cores apart by scopes, what the compiler adds between these does, too.
  static void encloseIn(Agent agent, Operation* op) {
    if (op->getParentOfType<ScopeOp>())
      return;
    OpBuilder builder(op);
    auto scope = ScopeOp::create(builder, op->getLoc(), agent);
    Block& body = scope.getBody().emplaceBlock();
    op->moveBefore(&body, body.end());
  }

  /// Of the branches and loops around a copy that not all cores of a block take alike the outermost, if the cube core's
  /// side of the copy can leave it; or null.
  Operation* crossedApart(tile::CopyOp copy, bool isFromCube) const {
    Operation* apart = outermostApart(copy);
    const tile::ForOp loop = loopInTurns(copy);
    if (!apart || (loop && apart->isAncestor(loop)))
      return nullptr;
    return (isFromCube ? maySendBefore(apart, copy) : mayFetchBehind(apart, copy)) ? apart
                                                                                   : nullptr;
  }

  /// Whether both vector cores may store what a copy brings to L1, though not to parts of their own.
  static bool mayComeFromBoth(tile::CopyOp copy, tile::LaunchOp launch) {
    const auto differs = [](Value number) { return npu::differsByVid(number); };
    return mayHaveTwoVectors(launch) && !launch->hasAttr(kOneVectorAttr) &&
           !copy->hasAttr(kOnceAttr) && npu::runsByVid(copy) && !copy->getParentOfType<ScopeOp>() &&
           mayRunOn(0, copy) && mayRunOn(1, copy) &&
           llvm::none_of(copy.getTargetOffsets(), differs);
  }

  static bool isStatic(const BufferRegion& region) {
    return llvm::all_of(region.offsets, [](OpFoldResult offset) {
      return getConstantIntValue(offset).has_value();
    });
  }

  static BufferRegion remadeBefore(Operation* place, const BufferRegion& region) {
    return place ? RemadeValues(place).of(region) : region;
  }

  static FailureOr<CubeSide> cubeSide(OpBuilder& builder, tile::CopyOp copy,
                                      const BufferRegion& part) {
    CubeSide side{part, part, {}};
    IRMapping known;
    for (size_t dim = 0; dim < part.offsets.size(); ++dim) {
      side.offsets.push_back(builder.getIndexAttr(0));
      auto offset = dyn_cast<Value>(part.offsets[dim]);
      const std::optional<int64_t> step = offset ? vectorStep(offset) : 0;
      if (step == 0)
        continue;
      const std::optional<int64_t> extent = getConstantIntValue(part.extents[dim]);
      const bool joins = step && extent && *step > 0 && *step <= *extent;
      if (!joins || copy.getTranspose())
        return copy.emitError(
            "unsupported on ascend: a copy between the cube core and parts of the "
            "vector cores that do not join; let the parts be `vid * rows` apart, "
            "with as many rows");
      side.both.offsets[dim] = ofFirstVector(builder, offset, known);
      side.both.extents[dim] = builder.getIndexAttr(*extent + *step);
      Value id = VectorIdOp::create(builder, copy.getLoc());
      Value size = arith::ConstantIndexOp::create(builder, copy.getLoc(), *step);
      side.offsets[dim] = arith::MulIOp::create(builder, copy.getLoc(), id, size).getResult();
    }
    return side;
  }

  /// What one vector core has of the space, whose last dims are those of `both` that are not 1.
  static BufferRegion partOf(const BufferRegion& space, const CubeSide& cube, size_t rank) {
    BufferRegion part = space;
    size_t at = space.offsets.size() - rank;
    for (size_t dim = cube.both.extents.size() - rank; dim < cube.both.extents.size(); ++dim) {
      part.offsets[at] = cube.offsets[dim];
      part.extents[at++] = cube.part.extents[dim];
    }
    return part;
  }

  /// The innermost loop around a copy whose iterations may overlap; null if there is none.
  tile::ForOp loopInTurns(tile::CopyOp copy) const {
    for (Operation* outer = copy->getParentOp(); outer; outer = outer->getParentOp())
      if (auto loop = dyn_cast<tile::ForOp>(outer); loop && llvm::is_contained(pipelined, loop))
        return loop;
    return {};
  }

  /// Each iteration takes the next of as many tiles as the loop has stages.
  static void takeTurn(BufferRegion& space, size_t dim, tile::ForOp loop, OpBuilder& builder) {
    const Location place = loop.getLoc();
    const Value stages =
        arith::ConstantIndexOp::create(builder, place, int64_t(loop.getNumStages()));
    space.offsets[dim] =
        arith::RemSIOp::create(builder, place, loop.getInductionVar(), stages).getResult();
    space.extents[dim] = builder.getIndexAttr(1);
  }

  bool isAutomatic = true; ///< flags within cores
  bool takeTurns = true;
  bool splits = true; ///< what stands outside of scopes is given to the cores
  bool needsScopes = false;
  SmallVector<tile::ForOp> pipelined;
};

} // namespace

std::unique_ptr<Pass> createAddWorkspaces(bool isAutomatic, bool takeTurns, bool splits) {
  return std::make_unique<AddWorkspaces>(isAutomatic, takeTurns, splits);
}

} // namespace tilewright::ascend
