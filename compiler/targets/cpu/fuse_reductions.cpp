// SPDX-License-Identifier: Apache-2.0
/// Reduces the rows that a nest computes while they are in registers.
///
///   tile.parallel (%i, %j) in [128, 64] { %v = tile.load %x[%i, %j] ... tile.store %e, %x[%i, %j] }
///   tile.reduce sum %x : <128x64xf32, fragment> dim 1 into %s : <128xf32, fragment> clear
/// becomes, for AVX2
///   scf.for %i = 0 to 128 {
///     %r = scf.for %j = 0 to 64 step 32 iter_args(%sums) {
///       %v = llvm.load ... : vector<32xf32> ... llvm.store %e, %x[%i, %j]    arith.addf %sums, %e }
///     %t = vector.reduction <add> %r    tile.store %t, %s[%i] }
///
/// The vectors are our own: LLVM's vectoriser would not reorder float sums (see lower_reductions.cpp). Each is four of
/// the machine's, which LLVM keeps in turns, so that long chains as exp's don't wait for themselves; rows of bfloat16 go
/// by pairs where that is fewer operations (vector_nest.h). What only the reduction reads is not stored. A long single
/// row goes in strips, where FetchNextBlock asks for the next one.
///
/// A reduction of the last dim but one keeps its sums in registers, too, where a row is four vectors at most:
///
///   tile.reduce sum %x : <64x16xf32, fragment> dim 0 into %s : <16xf32, fragment> clear
/// becomes one loop over rows with iter_args(%sums : vector<16xf32>), two rows a turn; what is the same for all rows
/// stands before it.
///
/// Where such rows are b of a gemm behind, that gemm's first micro-kernel may compute them (feed_gemm.h).
///
/// What a nest by pairs stores, and nests by pairs alone load, lies apart on chip (kApartAttr): the even elements of a
/// group, then the odd ones, as they are in registers. Columns are summed in order.
///
/// Only float32 sources on chip that nothing else views, nests of loads, arithmetic and exp that reach consecutive
/// elements with their last variable, and targets that the nest doesn't touch. It stands before PlanScratch: what the
/// nest reads for the last time may not share bytes with what the reduction writes.
///
/// The maximum of a row of bfloat16 that is only widened is taken of its bits, as whole numbers. With fast math, what a
/// nest rounds to bfloat16 beside what is reduced is rounded by the machine's own instruction.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/combiner.h"
#include "compiler/targets/cpu/feed_gemm.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vector_nest.h"
#include "compiler/targets/cpu/vectors.h"

#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

/// Elements of a strip.
constexpr int64_t kStrip = 64;

/// A buffer on chip that nothing has another view of.
bool isPlain(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  return alloc && !alloc.getType().isGlobal() && !alloc.getType().isPerThread() &&
         llvm::none_of(alloc->getUsers(), [](Operation* user) { return isa<tile::ViewOp>(user); });
}

/// A nest and the reduction behind it, and what of the nest's body becomes vectors.
class RowNest : public VectorNest {
public:
  RowNest(tile::ParallelOp nest, tile::ReduceOp reduce, const Machine& machine, bool roundsNatively)
      : VectorNest(nest, machine), reduce(reduce), machine(machine), roundsNatively(roundsNatively),
        hasFewRegisters(machine.isX86 && machine.vectorRegisters < 32),
        hasManyRegisters(machine.isX86 && machine.vectorRegisters == 32),
        source(reduce.getSourceRegion()), target(reduce.getTargetRegion()) {}

  /// Whether both can be one loop; else nothing has been changed.
  bool fits() {
    if (!isSourceWhole() || !isPlain(target.buffer) || target.buffer == source.buffer)
      return false;
    if (!VectorNest::fits([&](Operation* op) { return mayAccess(op); }))
      return false;
    if (isForReductionOnly())
      unstored = stored;
    return stored != nullptr;
  }

  /// Whether columns are reduced, not rows.
  bool isByColumns() {
    return int64_t(reduce.getDim()) + 2 == source.type().getRank();
  }

  /// Whether nothing but the reduction reads what is reduced.
  bool isForReductionOnly() {
    return llvm::all_of(source.buffer.getUsers(),
                        [&](Operation* user) { return user == stored || user == reduce; });
  }

  /// Whether what is stored may lie apart: it is reduced here, and all others load it by pairs, which they gain by.
  void keepApart() {
    const int64_t lanes = lanesOfRow();
    const std::optional<int64_t> gain = gainByPairs(lanes);
    if (isByColumns() || isForReductionOnly() || !gain)
      return;
    SmallVector<Operation*> accesses = {stored};
    llvm::SmallSetVector<tile::ParallelOp, 4> readers;
    for (Operation* user : source.buffer.getUsers()) {
      if (user == stored || user == reduce ||
          user->hasAttr(kInPlaceAttr)) // that copy brings nothing
        continue;
      auto load = dyn_cast<tile::LoadOp>(user);
      auto reader = dyn_cast<tile::ParallelOp>(user->getParentOp());
      if (!load || !reader || reader == nest ||
          load.getIndices().back() != reader.getInductionVars().back())
        return;
      accesses.push_back(user);
      readers.insert(reader);
    }
    for (Operation* access : accesses)
      access->setAttr(kApartAttr, Builder(access).getI64IntegerAttr(lanes));
    if (!gainsApart(*gain, readers.getArrayRef()))
      for (Operation* access : accesses)
        access->removeAttr(kApartAttr);
  }

  /// What makes vectors of the nest's body; nothing if it can't as the nest's accesses lie now.
  std::optional<VectorBody> body() {
    if (isByColumns())
      return VectorBody::make(*this, columns(), /*byPairs=*/false);
    return VectorBody::make(*this, lanesOfRow(), goesByPairs(lanesOfRow()),
                            roundsNatively && lanesOfRow() % (2 * lanes) == 0);
  }

  tile::ReduceOp reduce;
  const Machine& machine;
  bool roundsNatively, hasFewRegisters, hasManyRegisters;
  BufferRegion source, target;
  /// Writes what is reduced.
  tile::StoreOp stored;

private:
  /// Whether a nest becomes one loop with a reduction of columns, which goes in order.
  bool sumsColumns(tile::ParallelOp reader) const {
    auto next = dyn_cast_or_null<tile::ReduceOp>(reader->getNextNode());
    if (!next)
      return false;
    RowNest other(reader, next, machine, roundsNatively);
    return other.isByColumns() && other.fits();
  }

  /// Whether all readers can go by pairs, and gain so together with the nest, which gains `gain` and the shuffles of its
  /// store.
  bool gainsApart(int64_t gain, ArrayRef<tile::ParallelOp> readers) {
    gain += shufflesOfFloats();
    for (tile::ParallelOp reader : readers) {
      if (sumsColumns(reader))
        return false;
      VectorNest other(reader, machine);
      if (other.columns() != columns() || !other.fits([](Operation*) { return true; }))
        return false;
      const std::optional<int64_t> more = other.gainByPairs(lanesOfRow());
      if (!more)
        return false;
      gain += *more;
    }
    return gain > 0;
  }

  /// The nest goes over all of the source, and the reduction over its last dim.
  bool isSourceWhole() {
    const ArrayRef<int64_t> extents = nest.getStaticExtents();
    return isPlain(source.buffer) && source.isWhole() && source.type().getElementType().isF32() &&
           tile::accumulationType(source.type().getElementType(), target.type().getElementType())
               .isF32() &&
           extents == ArrayRef(source.type().getShape()) && extents.back() % lanes == 0 &&
           (int64_t(reduce.getDim()) + 1 == source.type().getRank() || areColumnsFew());
  }

  /// Whether columns are reduced, and their sums fit in registers.
  bool areColumnsFew() {
    return isByColumns() && columns() <= 4 * lanes && target.type().getElementType().isF32() &&
           target.staticExtents().back() == columns();
  }

  bool mayAccess(Operation* op) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return load.getBuffer() != target.buffer;
    return takeStore(cast<tile::StoreOp>(op));
  }

  bool takeStore(tile::StoreOp store) {
    if (store.getBuffer() == target.buffer ||
        cast<BufferType>(store.getBuffer().getType()).isGlobal())
      return false;
    if (store.getBuffer() != source.buffer)
      return true;
    if (stored || store.getIndices() != nest.getInductionVars())
      return false;
    stored = store;
    return true;
  }
};

/// Takes away what has become a loop, and the buffer between if it served nothing else.
void finishNest(RowNest& rows) {
  rows.reduce.erase();
  rows.nest.erase();
  if (rows.source.buffer.use_empty())
    rows.source.buffer.getDefiningOp()->erase();
}

/// Emits the loop that reduces rows.
class Emitter {
public:
  Emitter(RowNest& rows, const VectorBody& body)
      : rows(rows), builder(rows.reduce.getLoc(), rows.reduce),
        combiner(rows.reduce.getKind(), builder.getF32Type(), rows.reduce.getNanPropagate()),
        body(body), dead(rows.isForReductionOnly() ? rows.stored : tile::StoreOp()) {}

  void emit() {
    SmallVector<Range> ranges;
    IndexMath math(builder);
    for (int64_t extent : rows.nest.getStaticExtents().drop_back())
      ranges.push_back({math.constant(0), math.constant(extent)});
    const bool isSingle = llvm::all_of(rows.nest.getStaticExtents().drop_back(),
                                       [](int64_t extent) { return extent == 1; });
    if (isSingle)
      row(builder, SmallVector<Value>(ranges.size(), math.constant(0)));
    else
      buildNest(builder, ranges,
                [&](ImplicitLocOpBuilder& inner, ValueRange at) { row(inner, at); });
    finishNest(rows);
  }

private:
  /// All of one row.
  void row(ImplicitLocOpBuilder& inner, ValueRange at) {
    IndexMath math(inner);
    IRMapping known;
    known.map(rows.nest.getInductionVars().drop_back(), at);
    for (Operation& op : rows.nest.getBodyBlock()->without_terminator())
      if (!isa<tile::StoreOp>(op) && !rows.isMoving(op.getResult(0)))
        inner.clone(op, known);
    vectors = IRMapping();
    body.spreadInvariants(inner, known, vectors);
    if (tile::LoadOp load = widenedLoad())
      return store(inner, at, largestByBits(inner, known, load));
    // With 32 registers as many sums as lanes; else those of one vector: four would have to go to memory and back in a
    // nest with exp.
    const int64_t width = rows.hasManyRegisters ? body.lanes : rows.lanes;
    Value none = combiner.identity(inner, VectorType::get({width}, inner.getF32Type()));
    auto sums = inStrips(inner, none,
                         [&](ImplicitLocOpBuilder& strip, Value start, int64_t count,
                             ValueRange before) -> SmallVector<Value> {
                           return {turns(strip, known, start, count, before.front())};
                         });
    store(inner, at, combined(inner, sums.front()));
  }

  using Strip =
      llvm::function_ref<SmallVector<Value>(ImplicitLocOpBuilder&, Value, int64_t, ValueRange)>;

  /// All columns, those of a long row strip by strip; `strip` takes so many of them from its start on further.
  SmallVector<Value> inStrips(ImplicitLocOpBuilder& inner, ValueRange begin, Strip strip) {
    IndexMath math(inner);
    const int64_t columns = rows.columns();
    if (columns % kStrip != 0 || columns <= kStrip)
      return strip(inner, math.constant(0), columns, begin);
    auto strips = scf::ForOp::create(inner, math.constant(0), math.constant(columns / kStrip),
                                     math.constant(1), begin);
    strips->setAttr(kStripCostAttr, inner.getI64IntegerAttr(cost() * columns));
    OpBuilder::InsertionGuard guard(inner);
    inner.setInsertionPointToStart(strips.getBody());
    Value start = IndexMath(inner).mul(strips.getInductionVar(), math.constant(kStrip));
    scf::YieldOp::create(inner, strip(inner, start, kStrip, strips.getRegionIterArgs()));
    return strips.getResults();
  }

  /// The load of a nest that does nothing but to widen bfloat16, by pairs, for its maximum.
  tile::LoadOp widenedLoad() {
    if (rows.reduce.getKind() != tile::ReduceKind::Max || rows.reduce.getNanPropagate() || !dead ||
        !rows.goesByPairs(body.lanes))
      return {};
    auto widened = dead.getValue().getDefiningOp<arith::ExtFOp>();
    auto load = widened ? widened.getIn().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
    if (!load || !load.getResult().getType().isBF16() || !rows.isMoving(load.getResult()))
      return {};
    const bool isAll =
        llvm::all_of(rows.nest.getBodyBlock()->without_terminator(), [&](Operation& op) {
          return &op == load || &op == widened || &op == dead ||
                 op.getResult(0).getType().isIndex();
        });
    return isAll ? load : tile::LoadOp();
  }

  /// The largest element of a row of bfloat16 from its bits: as signed numbers positive elements are in order; if there
  /// are none, the largest is the smallest as unsigned numbers. Two operations for 32 elements instead of four. A NaN may
  /// come out on top: then once more, by floats.
  Value largestByBits(ImplicitLocOpBuilder& inner, const IRMapping& known, tile::LoadOp load) {
    auto type = VectorType::get({body.lanes}, inner.getI16Type());
    auto splat = [&](uint32_t bits) -> Value {
      return arith::ConstantOp::create(inner, DenseElementsAttr::get(type, APInt(16, bits)));
    };
    const SmallVector<Value> begin = {splat(0x8000), splat(0xffff)};
    auto ends =
        inStrips(inner, begin,
                 [&](ImplicitLocOpBuilder& strip, Value start, int64_t count, ValueRange before) {
                   return turnsOnBits(strip, known, load, start, count, before);
                 });
    Value positive = vector::ReductionOp::create(inner, vector::CombiningKind::MAXSI, ends[0]);
    Value negative = vector::ReductionOp::create(inner, vector::CombiningKind::MINUI, ends[1]);
    auto number = [&](uint32_t bits) -> Value {
      return arith::ConstantOp::create(inner,
                                       inner.getIntegerAttr(inner.getI16Type(), APInt(16, bits)));
    };
    Value hasNone = arith::CmpIOp::create(inner, arith::CmpIPredicate::slt, positive, number(0));
    Value bits = arith::SelectOp::create(inner, hasNone, negative, positive);
    Value size = arith::AndIOp::create(inner, bits, number(0x7fff));
    Value isNan = arith::CmpIOp::create(inner, arith::CmpIPredicate::ugt, size, number(0x7f80));
    auto branch = scf::IfOp::create(inner, inner.getF32Type(), isNan, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(inner);
    inner.setInsertionPointToStart(branch.thenBlock());
    Value none = combiner.identity(inner, VectorType::get({body.lanes}, inner.getF32Type()));
    Value floats = turns(inner, known, IndexMath(inner).constant(0), rows.columns(), none);
    scf::YieldOp::create(inner, combined(inner, floats));
    inner.setInsertionPointToStart(branch.elseBlock());
    Value element = arith::BitcastOp::create(inner, inner.getBF16Type(), bits);
    Value wide = arith::ExtFOp::create(inner, inner.getF32Type(), element);
    scf::YieldOp::create(inner, wide);
    return branch.getResult(0);
  }

  SmallVector<Value> turnsOnBits(ImplicitLocOpBuilder& inner, const IRMapping& known,
                                 tile::LoadOp load, Value start, int64_t count, ValueRange begin) {
    IndexMath math(inner);
    auto loop = scf::ForOp::create(inner, math.constant(0), math.constant(count),
                                   math.constant(body.lanes), begin);
    OpBuilder::InsertionGuard guard(inner);
    inner.setInsertionPointToStart(loop.getBody());
    IRMapping indices(known);
    indices.map(rows.nest.getInductionVars().back(), math.add(start, loop.getInductionVar()));
    for (Operation& op : rows.nest.getBodyBlock()->without_terminator())
      if (op.getNumResults() && rows.isMoving(op.getResult(0)) &&
          op.getResult(0).getType().isIndex())
        inner.clone(op, indices);
    auto place = llvm::map_to_vector(load.getIndices(),
                                     [&](Value index) { return indices.lookupOrDefault(index); });
    Value bits = LLVM::LoadOp::create(inner, begin.front().getType(),
                                      addressOf(inner, load.getBuffer(), place), 2);
    const SmallVector<Value> ends = {arith::MaxSIOp::create(inner, loop.getRegionIterArg(0), bits),
                                     arith::MinUIOp::create(inner, loop.getRegionIterArg(1), bits)};
    scf::YieldOp::create(inner, ends);
    return loop.getResults();
  }

  /// What a row costs per element, as FetchNextBlock counts.
  int64_t cost() {
    int64_t sum = 1;
    rows.nest.walk([&](Operation* op) { sum += operationCost(op); });
    return sum;
  }

  /// The elements from `start` on; gives the accumulator's lanes.
  Value turns(ImplicitLocOpBuilder& inner, const IRMapping& known, Value start, int64_t count,
              Value sums) {
    IndexMath math(inner);
    auto loop = scf::ForOp::create(inner, math.constant(0), math.constant(count),
                                   math.constant(body.lanes), sums);
    OpBuilder::InsertionGuard guard(inner);
    inner.setInsertionPointToStart(loop.getBody());
    IRMapping indices(known), values(vectors);
    indices.map(rows.nest.getInductionVars().back(), math.add(start, loop.getInductionVar()));
    Value result = loop.getRegionIterArg(0);
    for (Operation& op : rows.nest.getBodyBlock()->without_terminator()) {
      Value elements = body.step(inner, op, indices, values, dead);
      if (elements && &op == rows.stored) {
        elements = combiner.enter(inner, elements);
        const int64_t width = cast<VectorType>(result.getType()).getNumElements();
        elements = combiner.combineHalves(inner, elements, width);
        result = combiner.accumulate(inner, result, elements);
      }
    }
    scf::YieldOp::create(inner, result);
    return loop.getResult(0);
  }

  Value combined(ImplicitLocOpBuilder& inner, Value sums) {
    return combiner.reduceLanes(inner, combiner.combineHalves(inner, sums, rows.lanes));
  }

  /// The result of a row.
  void store(ImplicitLocOpBuilder& inner, ValueRange at, Value sum) {
    IndexMath math(inner);
    SmallVector<Value> place(at);
    while (place.size() < rows.target.offsets.size())
      place.push_back(math.constant(0));
    for (auto [index, offset] : llvm::zip(place, rows.target.offsets))
      index = math.add(index, math.value(offset));
    if (!rows.reduce.getClear()) {
      Value old = combiner.enter(inner, loadElement(inner, rows.target.buffer, place));
      sum = combiner.combine(inner, sum, old);
    }
    sum = convertElement(inner, sum, sum.getType(), rows.target.type().getElementType());
    storeElement(inner, sum, rows.target.buffer, place);
  }

  RowNest& rows;
  ImplicitLocOpBuilder builder;
  Combiner combiner;
  VectorBody body;
  /// A store that nobody would read.
  tile::StoreOp dead;
  /// What stays along a row, on all lanes.
  IRMapping vectors;
};

/// Emits the loop that reduces columns.
class ColumnEmitter {
public:
  ColumnEmitter(RowNest& rows, const VectorBody& body)
      : rows(rows), builder(rows.reduce.getLoc(), rows.reduce),
        combiner(rows.reduce.getKind(), builder.getF32Type(), rows.reduce.getNanPropagate()),
        lanes(body.lanes), vectors(body),
        dead(rows.isForReductionOnly() ? rows.stored : tile::StoreOp()) {
    const ValueRange variables = rows.nest.getInductionVars();
    column = variables.back();
    row = variables[variables.size() - 2];
    findTurning();
  }

  void emit() {
    SmallVector<Range> ranges;
    IndexMath math(builder);
    fed = gemmToFeed(rows.nest, rows.reduce, rows.machine);
    if (fed)
      moveNestsBehind(rows.reduce, fed);
    for (int64_t extent : rows.nest.getStaticExtents().drop_back(2))
      ranges.push_back({math.constant(0), math.constant(extent)});
    buildNest(builder, ranges,
              [&](ImplicitLocOpBuilder& inner, ValueRange at) { columns(inner, at); });
    finishNest(rows);
  }

private:
  auto body() {
    return rows.nest.getBodyBlock()->without_terminator();
  }

  bool hasExponential() {
    return llvm::any_of(body(), [](Operation& op) { return isa<math::ExpOp, math::Exp2Op>(op); });
  }

  /// Values that differ from row to row, or might: what is loaded from where the nest stores.
  void findTurning() {
    llvm::DenseSet<Value> written;
    for (Operation& op : body())
      if (auto store = dyn_cast<tile::StoreOp>(op))
        written.insert(store.getBuffer());
    turning.insert(row);
    for (Operation& op : body()) {
      auto load = dyn_cast<tile::LoadOp>(op);
      if ((load && written.contains(load.getBuffer())) ||
          llvm::any_of(op.getOperands(), [&](Value value) { return turning.contains(value); }))
        turning.insert_range(op.getResults());
    }
  }

  void columns(ImplicitLocOpBuilder& inner, ValueRange at) {
    IndexMath math(inner);
    IRMapping known, values;
    known.map(rows.nest.getInductionVars().drop_back(2), at);
    known.map(column, math.constant(0));
    for (Operation& op : body())
      if (!isa<tile::StoreOp>(op) && !turning.contains(op.getResult(0)))
        one(inner, op, known, values);
    const int64_t count = rows.nest.getStaticExtents().drop_back().back();
    // Few vectors a row would wait for each other's sums. Two with an exponential hardly wait, and four would not fit
    // AVX2's registers: 9.0 cycles for a vector instead of 7.9.
    const int64_t most = rows.hasFewRegisters && hasExponential() ? rows.lanes : 2 * rows.lanes;
    const int64_t atOnce = count % 2 == 0 && lanes <= most ? 2 : 1;
    Value none = combiner.identity(inner, VectorType::get({lanes}, inner.getF32Type()));
    auto loop = scf::ForOp::create(inner, math.constant(0), math.constant(count),
                                   math.constant(atOnce), SmallVector<Value>(size_t(atOnce), none));
    {
      OpBuilder::InsertionGuard guard(inner);
      inner.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> sums(loop.getRegionIterArgs());
      for (auto [number, sum] : llvm::enumerate(sums))
        sum = addRow(inner,
                     IndexMath(inner).add(loop.getInductionVar(),
                                          IndexMath(inner).constant(int64_t(number))),
                     known, values, sum);
      scf::YieldOp::create(inner, sums);
    }
    if (fed) {
      loop->setAttr(kFeedsAttr, inner.getUnitAttr());
      inner.setInsertionPointAfter(fed);
    }
    Value sum = loop.getResult(0);
    if (atOnce == 2)
      sum = combiner.accumulate(inner, sum, loop.getResult(1));
    finish(inner, at, sum);
  }

  /// One row; gives `sum` with it.
  Value addRow(ImplicitLocOpBuilder& inner, Value number, IRMapping known, IRMapping values,
               Value sum) {
    known.map(row, number);
    for (Operation& op : body())
      if (isa<tile::StoreOp>(op) || turning.contains(op.getResult(0)))
        if (Value elements = one(inner, op, known, values); &op == rows.stored)
          sum = combiner.accumulate(inner, sum, combiner.enter(inner, elements));
    return sum;
  }

  /// As `step`, and what doesn't move along the row stays a scalar.
  Value one(ImplicitLocOpBuilder& inner, Operation& op, IRMapping& known, IRMapping& values) {
    if (isa<tile::StoreOp>(op) || rows.isMoving(op.getResult(0)))
      return vectors.step(inner, op, known, values, dead);
    inner.clone(op, known);
    return {};
  }

  void finish(ImplicitLocOpBuilder& inner, ValueRange at, Value sum) {
    IndexMath math(inner);
    SmallVector<Value> place(at);
    while (place.size() < rows.target.offsets.size())
      place.push_back(math.constant(0));
    for (auto [index, offset] : llvm::zip(place, rows.target.offsets))
      index = math.add(index, math.value(offset));
    if (!rows.reduce.getClear())
      sum = combiner.combine(
          inner, sum, combiner.enter(inner, loadVector(inner, rows.target.buffer, place, lanes)));
    storeVector(inner, sum, rows.target.buffer, place);
  }

  RowNest& rows;
  ImplicitLocOpBuilder builder;
  Combiner combiner;
  int64_t lanes;
  VectorBody vectors;
  /// A store that nobody would read.
  tile::StoreOp dead;
  Value row, column;
  llvm::DenseSet<Value> turning;
  /// Takes the rows as they are computed, before their sums are stored; null: none does.
  tile::GemmOp fed;
};

struct FuseReductions : MachinePass<FuseReductions> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseReductions)
  FuseReductions(const Machine& machine, bool isFast) : MachinePass(machine) {
    fast = isFast;
  }
  FuseReductions(const FuseReductions& other) : MachinePass(other) {}
  static constexpr llvm::StringLiteral kArgument = "cpu-fuse-reductions";
  static constexpr llvm::StringLiteral kDescription =
      "reduce the rows that a nest computes while they are in registers";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                    LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::ReduceOp> reductions;
    getOperation().walk([&](tile::ReduceOp op) { reductions.push_back(op); });
    for (tile::ReduceOp reduce : reductions) {
      auto nest = dyn_cast_or_null<tile::ParallelOp>(reduce->getPrevNode());
      if (!nest)
        continue;
      RowNest rows(nest, reduce, machine, fast && machine.hasBf16Dot);
      if (!rows.fits())
        continue;
      rows.keepApart();
      const std::optional<VectorBody> body = rows.body();
      if (!body)
        continue;
      if (rows.isByColumns())
        ColumnEmitter(rows, *body).emit();
      else
        Emitter(rows, *body).emit();
    }
  }

  Option<bool> fast{*this, "fast", llvm::cl::desc("subnormal numbers round to bfloat16 as 0")};
};

} // namespace

std::unique_ptr<Pass> createFuseReductions(const Machine& machine, bool fast) {
  return std::make_unique<FuseReductions>(machine, fast);
}

} // namespace tilewright::cpu
