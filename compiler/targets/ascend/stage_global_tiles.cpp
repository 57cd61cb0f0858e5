// SPDX-License-Identifier: Apache-2.0
/// StageGlobalTiles: a nest that reads or writes rectangles of global memory
/// works on tiles in UB instead, which copies fill and empty.
///
///     tile.parallel (%i, %j) in [16, 64] {              %t = tile.alloc
///     "C_tile" : !tile.buffer<16x64xf32, UB>
///       %v = tile.load %x[%i, %j]                ->     tile.parallel (%i, %j)
///       in [16, 64] { tile.store %v, %C[%row + %i, %j]                  ...
///       tile.store %v, %t[%i, %j]
///     }                                                 }
///                                                       tile.copy %t to
///                                                       %C[%row, 0] [16, 64]
///
/// An atomic add of an element for each iteration becomes one of a tile.
///
/// In a scope of the cube core, which has no single elements of L0C, a nest
/// that only stores those of a gemm's tile is a copy of it:
///
///     tile.parallel (%i, %j) in [16, 64] {              tile.copy %c[0, 0]
///     [16, 64] to %C[%row, 0] [16, 64]
///       %v = tile.load %c[%i, %j]                ->
///       tile.store %v, %C[%row + %i, %j]
///     }
///
/// One that computes with them leaves the scope: vector cores do it, with a
/// remark.
///
/// It stands before what places buffers and shares work, so that the tiles are
/// like any others, and with `stages` only, where the compiler orders
/// instructions. A nest whose tiles are large, or that picks elements by
/// indices of another kind, stays as it is.
#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/leave_scope.h"
#include "compiler/targets/ascend/memory_sizes.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

/// An index: the nest's variable with this number, if any, plus a value that is
/// the same in all iterations (null: 0).
struct Term {
  std::optional<size_t> variable;
  Value base;

  bool operator==(const Term& other) const {
    return variable == other.variable && isSameNumber(base, other.base);
  }
};

/// One element of global memory in each iteration.
struct OneAccess {
  Operation* op;
  Value buffer;
  SmallVector<Term> terms;

  bool isStore() const {
    return isa<tile::StoreOp, tile::AtomicOp>(op);
  }
  /// The nest's variables in the order of the buffer's dims.
  SmallVector<size_t> variables() const {
    SmallVector<size_t> numbers;
    for (const Term& term : terms)
      if (term.variable)
        numbers.push_back(*term.variable);
    return numbers;
  }
  bool isSame(const OneAccess& other) const {
    return buffer == other.buffer && terms == other.terms;
  }
};

class NestStager {
public:
  NestStager(tile::ParallelOp nest, int64_t mostBytes)
      : nest(nest), last(nest), mostBytes(mostBytes), builder(nest.getLoc(), nest) {}

  /// The nest as one copy of a gemm's tile to a tensor, if it is that.
  bool runAsCopy() {
    const std::optional<SmallVector<int64_t>> known = getConstantIntValues(nest.getMixedExtents());
    if (!known || !collectCopy()) {
      undo();
      return false;
    }
    extents = *known;
    const OneAccess &load = accesses[0], &store = accesses[1];
    tile::CopyOp::create(builder, regionOf(load), regionOf(store));
    nest.erase();
    return true;
  }

  void run() {
    const std::optional<SmallVector<int64_t>> known = getConstantIntValues(nest.getMixedExtents());
    if (!known || !collect())
      return undo();
    extents = *known;
    if (!mayMove() || !fits())
      return undo();
    for (const OneAccess& access : accesses)
      stage(access);
  }

private:
  void undo() {
    for (Operation* op : llvm::reverse(made))
      if (op->use_empty())
        op->erase();
  }

  /// The load of a tile in L0C and the store to a tensor, if nothing else
  /// happens and all variables go through both in one order.
  bool collectCopy() {
    tile::LoadOp load;
    tile::StoreOp store;
    for (Operation& op : nest.getBodyBlock()->without_terminator()) {
      if (auto each = dyn_cast<tile::LoadOp>(op); each && !load)
        load = each;
      else if (auto each = dyn_cast<tile::StoreOp>(op); each && !store)
        store = each;
      else if (op.getNumRegions() != 0 || !isPure(&op))
        return false;
    }
    if (!load || !store || load.getBuffer().getType().getSpace() != MemorySpace::L0C ||
        !store.getBuffer().getType().isGlobal() || store.getBuffer().getType().getStrided())
      return false;
    // The DMA rounds as a conversion does.
    auto narrowed = store.getValue().getDefiningOp<arith::TruncFOp>();
    if ((narrowed ? narrowed.getIn() : store.getValue()) != load.getValue())
      return false;
    return addAccess(load, load.getBuffer(), load.getIndices()) &&
           addAccess(store, store.getBuffer(), store.getIndices()) &&
           llvm::all_of(accesses, [&](const OneAccess& access) {
             const SmallVector<size_t> variables = access.variables();
             return variables.size() == nestRank() && llvm::is_sorted(variables);
           });
  }

  bool addAccess(Operation* op, Value buffer, ValueRange indices) {
    OneAccess access{op, buffer, {}};
    for (Value index : indices) {
      const std::optional<Term> term = termOf(index);
      if (!term)
        return false;
      access.terms.push_back(*term);
    }
    accesses.push_back(access);
    return true;
  }

  tile::BufferRegion regionOf(const OneAccess& access) {
    tile::BufferRegion region{access.buffer, {}, {}};
    for (const Term& term : access.terms) {
      region.offsets.push_back(term.base ? OpFoldResult(term.base) : builder.getIndexAttr(0));
      region.extents.push_back(builder.getIndexAttr(term.variable ? extents[*term.variable] : 1));
    }
    return region;
  }

  bool collect() {
    for (Operation& op : nest.getBodyBlock()->without_terminator()) {
      auto load = dyn_cast<tile::LoadOp>(op);
      auto store = dyn_cast<tile::StoreOp>(op);
      auto atomic = dyn_cast<tile::AtomicOp>(op);
      if (atomic && !isPlainAdd(atomic))
        return false;
      if (!load && !store && !atomic) {
        if (op.getNumRegions() != 0 || !isPure(&op))
          return false;
        continue;
      }
      Value buffer = load ? load.getBuffer() : store ? store.getBuffer() : atomic.getBuffer();
      const auto type = cast<BufferType>(buffer.getType());
      if (!type.isGlobal())
        continue;
      if (!addAccess(&op, buffer,
                     load    ? load.getIndices()
                     : store ? store.getIndices()
                             : atomic.getIndices()))
        return false;
      const OneAccess access = accesses.pop_back_val();
      const SmallVector<size_t> variables = access.variables();
      const bool isSorted = std::adjacent_find(variables.begin(), variables.end(),
                                               std::greater_equal<>()) == variables.end();
      if (!isSorted || type.getStrided() || (access.isStore() && variables.size() != nestRank()))
        return false;
      // The DMA adds rows; elements of a column are added one by one.
      if (atomic && !variables.empty() && !access.terms.back().variable)
        return false;
      if (!variables.empty())
        accesses.push_back(access);
    }
    return !accesses.empty();
  }

  /// What the DMA can do while it stores.
  static bool isPlainAdd(tile::AtomicOp atomic) {
    const bool isUsed = atomic.getPrevious() && !atomic.getPrevious().use_empty();
    return atomic.getKind() == tile::AtomicKind::Add && !isUsed &&
           atomic.getBuffer().getType().isGlobal() &&
           isAddedByDma(atomic.getBuffer().getType().getElementType());
  }

  size_t nestRank() {
    return nest.getInductionVars().size();
  }

  std::optional<Term> termOf(Value index) {
    for (auto [number, variable] : llvm::enumerate(nest.getInductionVars()))
      if (index == variable)
        return Term{number, Value()};
    if (Value same = uniform(index))
      return Term{std::nullopt, isConstantIntValue(same, 0) ? Value() : same};
    auto sum = index.getDefiningOp<arith::AddIOp>();
    if (!sum)
      return std::nullopt;
    std::optional<Term> left = termOf(sum.getLhs()), right = termOf(sum.getRhs());
    if (!left || !right || (left->variable && right->variable))
      return std::nullopt;
    Term term{left->variable ? left->variable : right->variable,
              left->base ? left->base : right->base};
    if (left->base && right->base) {
      term.base = arith::AddIOp::create(builder, left->base, right->base);
      made.push_back(term.base.getDefiningOp());
    }
    return term;
  }

  /// The value as it is known before the nest; null if it depends on the
  /// iteration.
  Value uniform(Value value) {
    if (!nest.getBody().isAncestor(value.getParentRegion()))
      return value;
    if (Value known = outside.lookupOrNull(value))
      return known;
    Operation* op = value.getDefiningOp();
    if (!op || !isPure(op) || op->getNumRegions() != 0)
      return {};
    for (Value operand : op->getOperands()) {
      Value same = uniform(operand);
      if (!same)
        return {};
      outside.map(operand, same);
    }
    made.push_back(builder.clone(*op, outside));
    return outside.lookup(value);
  }

  /// Loads move before the nest, stores behind it: no load may need what the
  /// nest stores.
  bool mayMove() {
    for (const OneAccess& store : accesses)
      for (const OneAccess& other : accesses)
        if (store.isStore() && other.op != store.op &&
            npu::storageOf(other.buffer) == npu::storageOf(store.buffer) &&
            (!other.isSame(store) || (!other.isStore() && store.op->isBeforeInBlock(other.op))))
          return false;
    return true;
  }

  SmallVector<int64_t> shapeOf(const OneAccess& access) {
    SmallVector<int64_t> shape;
    for (size_t variable : access.variables())
      shape.push_back(extents[variable]);
    return shape;
  }

  bool fits() {
    int64_t bytes = 0;
    for (const OneAccess& access : accesses) {
      int64_t elements = 1;
      for (int64_t extent : shapeOf(access))
        elements *= extent;
      const auto type = cast<BufferType>(access.buffer.getType());
      bytes += elements * int64_t(type.getElementBits()) / 8;
    }
    return bytes <= mostBytes;
  }

  void stage(const OneAccess& access) {
    builder.setInsertionPoint(nest);
    const tile::BufferRegion region = regionOf(access);
    SmallVector<Value> indices;
    for (size_t variable : access.variables())
      indices.push_back(nest.getInductionVars()[variable]);
    const auto type = cast<BufferType>(access.buffer.getType());
    Value tile = tile::AllocOp::create(
        builder, BufferType::get(shapeOf(access), type.getElementType(), MemorySpace::UB),
        builder.getStringAttr("staged"), IntegerAttr());
    const tile::BufferRegion whole = tile::BufferRegion::whole(tile);
    if (auto load = dyn_cast<tile::LoadOp>(access.op)) {
      tile::CopyOp::create(builder, region, whole);
      builder.setInsertionPoint(load);
      Value element = tile::LoadOp::create(builder, load.getValue().getType(), tile, indices,
                                           /*in_bounds=*/true);
      load.getValue().replaceAllUsesWith(element);
    } else {
      auto atomic = dyn_cast<tile::AtomicOp>(access.op);
      builder.setInsertionPointAfter(last);
      if (atomic)
        last = tile::AtomicTileOp::create(builder, tile::AtomicKind::Add, whole, region);
      else
        last = tile::CopyOp::create(builder, whole, region);
      if (nest->hasAttr(kOnceAttr))
        last->setAttr(kOnceAttr, builder.getUnitAttr());
      builder.setInsertionPoint(access.op);
      Value value = atomic ? atomic.getValue() : cast<tile::StoreOp>(access.op).getValue();
      tile::StoreOp::create(builder, value, tile, indices, /*in_bounds=*/true);
    }
    access.op->erase();
  }

  tile::ParallelOp nest;
  Operation* last; ///< of the nest and what has been put behind it, in the
                   ///< order of the stores
  int64_t mostBytes;
  ImplicitLocOpBuilder builder;
  IRMapping outside;
  SmallVector<Operation*> made; ///< before the nest, for indices
  SmallVector<OneAccess> accesses;
  SmallVector<int64_t> extents;
};

class StageGlobalTiles : public KernelPass<StageGlobalTiles> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-stage-global-tiles";
  static constexpr llvm::StringLiteral kDescription =
      "nests work on tiles in UB instead of global memory";

  StageGlobalTiles(int64_t mostBytes, bool stages) : mostBytes(mostBytes), stages(stages) {}

  void runOnOperation() override {
    SmallVector<tile::ParallelOp> nests;
    getOperation().walk([&](tile::ParallelOp nest) { nests.push_back(nest); });
    for (tile::ParallelOp nest : nests) {
      auto scope = nest->getParentOfType<ScopeOp>();
      const bool isOfCube = scope && scope.getAgent() == Agent::Cube;
      if (isOfCube && NestStager(nest, mostBytes).runAsCopy())
        continue;
      const std::optional<std::string> why = isOfCube ? whyInCubeScope(nest) : std::nullopt;
      if (isOfCube && !why)
        giveToVectors(nest);
      if (why && usesElementsOfL0C(nest)) {
        nest.emitError("unsupported on ascend: ") << *why << "; put this nest into T.Scope(\"V\")";
        signalPassFailure();
      } else if (!why && stages) {
        NestStager(nest, mostBytes).run();
      }
    }
  }

private:
  static bool usesElementsOfL0C(tile::ParallelOp nest) {
    return nest
        .walk([](Operation* op) {
          return llvm::any_of(op->getOperandTypes(),
                              [](Type type) {
                                auto buffer = dyn_cast<BufferType>(type);
                                return buffer && buffer.getSpace() == MemorySpace::L0C;
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Whether vid says where a nest stores to global memory.
  static bool storesByVid(tile::ParallelOp nest) {
    return nest
        .walk([](Operation* op) {
          auto store = dyn_cast<tile::StoreOp>(op);
          auto atomic = dyn_cast<tile::AtomicOp>(op);
          const ValueRange indices = store    ? ValueRange(store.getIndices())
                                     : atomic ? ValueRange(atomic.getIndices())
                                              : ValueRange();
          return llvm::any_of(indices, npu::differsByVid) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
        })
        .wasInterrupted();
  }

  static void giveToVectors(tile::ParallelOp nest) {
    if (storesByVid(nest))
      nest.emitWarning(
          "this nest runs once per block and with a vid of 0, as T.Scope(\"C\") has it, "
          "so nobody stores the part of vid 1: take all of the tile without vid, or "
          "put the nest into T.Scope(\"V\")");
    leaveCubeScope(nest);
    nest.emitRemark()
        << "the cube core has no vector unit: vector cores run this nest, to which the "
           "gemm's tile goes through global memory";
    if (mayHaveTwoVectors(nest->getParentOfType<tile::LaunchOp>()))
      nest->setAttr(kOnceAttr, UnitAttr::get(nest.getContext()));
  }

  int64_t mostBytes;
  bool stages;
};

} // namespace

std::unique_ptr<Pass> createStageGlobalTiles(const chips::AscendChip& chip, bool stages) {
  // Other tiles need room, too.
  return std::make_unique<StageGlobalTiles>(capacityOf(chip, MemorySpace::UB) / 4, stages);
}

} // namespace tilewright::ascend
