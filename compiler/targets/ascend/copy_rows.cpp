// SPDX-License-Identifier: Apache-2.0
/// CopyRows: a nest that takes rows from, or gives rows to, places that numbers in memory or other arithmetic name works on
/// tiles in UB instead, which copies of rows fill and empty.
///
///     tile.parallel (%i, %j) in [64, 128] {         tile.for %i = 0 to 64 {
///       %n = tile.load %idx[%i]                       %n = tile.load %idx[%i]
///       %v = tile.load %KV[%n, %j]             ->     tile.copy %KV[%n, 0] [1, 128] to %kv[%i, 0] [1, 128]
///       tile.store %v, %kv[%i, %j]                  }
///     }
///
/// A nest that computes with the elements gets a tile of all its rows, which is loaded before it or stored behind it, row
/// after row in the order of the iterations, so that of two rows for one place the later one stays. What lies outside of
/// a tensor is 0 and is left out, as it is for elements. Branches that are the same for a row are taken out first.
///
/// It stands behind the sharing of work, which takes a nest as one, and before the expansion of copies; only where flags
/// are automatic. A nest whose places change along the rows, whose tiles are large, or that reads what it stores stays
/// as it is, with all of its elements for the scalar unit.
#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/memory_sizes.h"
#include "compiler/targets/ascend/named_rows.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/peel_nest.h"
#include "compiler/targets/ascend/uniform_branches.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

class RowStager {
public:
  RowStager(tile::ParallelOp nest, int64_t mostBytes)
      : nest(nest), mostBytes(mostBytes), rows(nest), builder(nest.getLoc(), nest) {}

  /// Whether all that a nest, maybe in branches, does to global memory is one of rows, and something is.
  bool isOfRows() {
    bool isSome = false;
    const WalkResult result = nest.walk([&](Operation* op) {
      const std::optional<NamedRows::Access> access = rows.of(op);
      if (!access)
        return isa<tile::AtomicOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      if (!rows.isApart(*access))
        return WalkResult::advance();
      const bool areRows = rows.areRows(*access);
      isSome |= areRows;
      return areRows || rows.areNumbers(*access) ? WalkResult::advance() : WalkResult::interrupt();
    });
    return isSome && !result.wasInterrupted();
  }

  void run() {
    if (!collect() || !fits())
      return;
    if (copyInto() || copyOutOf())
      return;
    for (const NamedRows::Access& load : loads)
      stageLoad(load);
    if (copyOutOf())
      return;
    Operation* next = nest->getNextNode();
    for (const NamedRows::Access& store : stores)
      stageStore(store, next);
  }

private:
  bool collect() {
    for (Operation& op : nest.getBodyBlock()->without_terminator()) {
      const std::optional<NamedRows::Access> access = rows.of(&op);
      if (!access && (op.getNumRegions() != 0 || !isPure(&op)))
        return false;
      count += access && access->isStore;
      if (access && rows.isApart(*access))
        (access->isStore ? stores : loads).push_back(*access);
    }
    return (!loads.empty() || !stores.empty()) && mayMove();
  }

  /// Loads move before the nest, stores behind it.
  bool mayMove() {
    for (const NamedRows::Access& load : loads)
      if (rows.isStored(load.buffer))
        return false;
    for (const NamedRows::Access& store : stores)
      if (rows.storesTo(store.buffer) > 1 || rows.isLoaded(store.buffer) ||
          !rows.takesAllVariables(store))
        return false;
    return true;
  }

  SmallVector<int64_t> shapeOf(const NamedRows::Access& access) {
    SmallVector<int64_t> shape;
    for (const size_t variable : rows.variablesOf(access))
      shape.push_back(rows.extents[variable]);
    return shape;
  }

  bool fits() {
    int64_t bytes = 0;
    for (const auto& list : {loads, stores})
      for (const NamedRows::Access& access : list)
        bytes += npu::storageBytes(
            BufferType::get(shapeOf(access), elementOf(access.buffer), MemorySpace::UB));
    return bytes <= mostBytes;
  }

  static Type elementOf(Value buffer) {
    return cast<BufferType>(buffer.getType()).getElementType();
  }

  /// Whether copies may take the rows of one from or to those of a tile in UB.
  bool isCopied(const NamedRows::Access& tile, const NamedRows::Access& named) {
    return !rows.isApart(tile) && elementOf(tile.buffer) == elementOf(named.buffer) &&
           rows.areRows(tile) && rows.areRows(named) && rows.blockOf(tile) <= rows.blockOf(named) &&
           rows.takesAllVariables(tile) && rows.takesAllVariables(named);
  }

  /// Nothing but rows that come to a tile: they come there at once.
  bool copyInto() {
    if (count != 1 || loads.size() != 1 || !stores.empty())
      return false;
    const std::optional<NamedRows::Access> target = rows.of(onlyStore());
    const NamedRows::Access& load = loads.front();
    if (!target || valueOf(*target) != load.op->getResult(0) || !isCopied(*target, load))
      return false;
    builder.setInsertionPoint(nest);
    const IRMapping row = makeLoops(rows.blockOf(load));
    const BufferRegion from = regionOf(load, row, rows.blockOf(load));
    tile::CopyOp::create(builder, from, regionOf(*target, row, rows.blockOf(load)));
    nest.erase();
    return true;
  }

  /// Nothing but rows that leave a tile.
  bool copyOutOf() {
    if (count != 1 || stores.size() != 1)
      return false;
    const NamedRows::Access& store = stores.front();
    auto load = valueOf(store).getDefiningOp<tile::LoadOp>();
    const std::optional<NamedRows::Access> source = load ? rows.of(load) : std::nullopt;
    if (!source || !isCopied(*source, store))
      return false;
    builder.setInsertionPoint(nest);
    const IRMapping row = makeLoops(rows.blockOf(store));
    const BufferRegion from = regionOf(*source, row, rows.blockOf(store));
    makeStore(store, from, regionOf(store, row, rows.blockOf(store)));
    nest.erase();
    return true;
  }

  Operation* onlyStore() {
    Operation* found = nullptr;
    nest.walk([&](tile::StoreOp store) { found = store; });
    return found;
  }

  static Value valueOf(const NamedRows::Access& store) {
    auto atomic = dyn_cast<tile::AtomicOp>(store.op);
    return atomic ? atomic.getValue() : cast<tile::StoreOp>(store.op).getValue();
  }

  void makeStore(const NamedRows::Access& store, const BufferRegion& from, const BufferRegion& to) {
    if (isa<tile::AtomicOp>(store.op))
      tile::AtomicTileOp::create(builder, tile::AtomicKind::Add, from, to);
    else
      tile::CopyOp::create(builder, from, to);
  }

  NamedRows::Access wholeOf(Value tile, const NamedRows::Access& access) {
    NamedRows::Access whole{nullptr, tile, {}, access.isStore};
    for (const size_t variable : rows.variablesOf(access))
      whole.terms.push_back({variable, {}});
    return whole;
  }

  Value makeTile(const NamedRows::Access& access) {
    builder.setInsertionPoint(nest);
    return tile::AllocOp::create(
        builder, BufferType::get(shapeOf(access), elementOf(access.buffer), MemorySpace::UB),
        builder.getStringAttr("rows"), IntegerAttr());
  }

  SmallVector<Value> indicesIn(const NamedRows::Access& access) {
    SmallVector<Value> indices;
    for (const size_t variable : rows.variablesOf(access))
      indices.push_back(nest.getInductionVars()[variable]);
    return indices;
  }

  void stageLoad(const NamedRows::Access& load) {
    const Value tile = makeTile(load);
    const bool areRows = rows.areRows(load);
    const size_t block = areRows ? rows.blockOf(load) : rows.extents.size();
    IRMapping row = makeLoops(block, rows.variablesOf(load));
    const Type type = load.op->getResult(0).getType();
    if (areRows) {
      const BufferRegion from = regionOf(load, row, block);
      tile::CopyOp::create(builder, from, regionOf(wholeOf(tile, load), row, block));
    } else {
      const Value number = rows.remake(builder, load.op->getResult(0), row);
      SmallVector<Value> indices;
      for (Value variable : indicesIn(load))
        indices.push_back(row.lookup(variable));
      tile::StoreOp::create(builder, number, tile, indices, /*in_bounds=*/true);
    }
    builder.setInsertionPoint(load.op);
    auto element = tile::LoadOp::create(builder, type, tile, indicesIn(load), /*in_bounds=*/true);
    load.op->getResult(0).replaceAllUsesWith(element);
    load.op->erase();
  }

  void stageStore(const NamedRows::Access& store, Operation* next) {
    const Value tile = makeTile(store);
    builder.setInsertionPoint(store.op);
    tile::StoreOp::create(builder, valueOf(store), tile, indicesIn(store), /*in_bounds=*/true);
    builder.setInsertionPoint(next);
    const size_t block = rows.blockOf(store);
    const IRMapping row = makeLoops(block);
    const BufferRegion from = regionOf(wholeOf(tile, store), row, block);
    makeStore(store, from, regionOf(store, row, block));
    store.op->erase();
  }

  /// Loops over the nest's variables before `block`, of which only those of `some` count; what they are in the loops.
  IRMapping makeLoops(size_t block, std::optional<ArrayRef<size_t>> some = {}) {
    IRMapping row;
    for (size_t variable = 0; variable < block; ++variable) {
      if (some && !llvm::is_contained(*some, variable))
        continue;
      Value index = nest.getInductionVars()[variable];
      row.map(index, makeLoopFor(builder, index, builder.getIndexAttr(rows.extents[variable])));
    }
    return row;
  }

  BufferRegion regionOf(const NamedRows::Access& access, IRMapping row, size_t block) {
    BufferRegion region{access.buffer, {}, {}};
    for (const NamedRows::Term& term : access.terms) {
      const bool isExtent = term.variable && *term.variable >= block;
      Value sum;
      const auto add = [&](Value number) {
        sum = sum ? arith::AddIOp::create(builder, sum, number).getResult() : number;
      };
      if (term.variable && !isExtent)
        add(row.lookup(nest.getInductionVars()[*term.variable]));
      for (Value base : term.bases)
        add(rows.remake(builder, base, row));
      region.offsets.push_back(sum ? OpFoldResult(sum) : builder.getIndexAttr(0));
      region.extents.push_back(builder.getIndexAttr(isExtent ? rows.extents[*term.variable] : 1));
    }
    return region;
  }

  tile::ParallelOp nest;
  int64_t mostBytes;
  NamedRows rows;
  ImplicitLocOpBuilder builder;
  SmallVector<NamedRows::Access> loads, stores;
  int count = 0; ///< stores of all kinds
};

class CopyRows : public KernelPass<CopyRows> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-copy-rows";
  static constexpr llvm::StringLiteral kDescription =
      "nests take rows from named places by copies of rows";

  explicit CopyRows(int64_t mostBytes) : mostBytes(mostBytes) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::ParallelOp> nests;
    getOperation().walk([&](tile::ParallelOp nest) {
      if (!nest->hasAttr("function"))
        nests.push_back(nest);
    });
    for (tile::ParallelOp nest : nests)
      lower(nest);
  }

private:
  void lower(tile::ParallelOp nest, unsigned versions = 0) {
    constexpr unsigned kMostVersions = 4; // each may double the kernel's text
    moveViewsOut(nest);
    if (!NamedRows::isKnown(nest) || !RowStager(nest, mostBytes).isOfRows())
      return;
    if (versions < kMostVersions)
      if (const auto parts = takeOutBranch(nest, /*waits=*/false)) {
        for (tile::ParallelOp part : *parts)
          lower(part, versions + 1);
        return;
      }
    if (hasBranchOfRows(nest))
      return lower(peelNest(nest), versions);
    RowStager(nest, mostBytes).run();
  }

  int64_t mostBytes;
};

} // namespace

std::unique_ptr<Pass> createCopyRows(const chips::AscendChip& chip) {
  // Other tiles need room, too.
  return std::make_unique<CopyRows>(capacityOf(chip, MemorySpace::UB) / 4);
}

} // namespace tilewright::ascend
