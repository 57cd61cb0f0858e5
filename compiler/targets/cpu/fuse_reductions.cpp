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
/// the machine's, which LLVM keeps in turns, so that long chains as exp's don't wait for themselves. A long single row goes in strips, where
/// FetchNextBlock asks for the next one.
///
/// A reduction of the last dim but one keeps its sums in registers, too, where a row is four vectors at most:
///
///   tile.reduce sum %x : <64x16xf32, fragment> dim 0 into %s : <16xf32, fragment> clear
/// becomes one loop over rows with iter_args(%sums : vector<16xf32>), two rows a turn; what is the same for all rows
/// stands before it.
///
/// Only float32 sources on chip that nothing else views, nests of loads, arithmetic and exp that reach consecutive
/// elements with their last variable, and targets that the nest doesn't touch. It stands before PlanScratch: what the
/// nest reads for the last time may not share bytes with what the reduction writes.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/combiner.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
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
constexpr int64_t kStrip = 256;

/// A buffer on chip that nothing has another view of.
bool isPlain(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  return alloc && !alloc.getType().isGlobal() && !alloc.getType().isPerThread() &&
         llvm::none_of(alloc->getUsers(), [](Operation* user) { return isa<tile::ViewOp>(user); });
}

/// Whether consecutive indices of the last dim are consecutive in memory.
bool isDense(Value buffer) {
  return buffer.getDefiningOp<tile::AllocOp>() || isDenseTensor(buffer);
}

bool isFloatOnVectors(Type type) {
  return type.isF32() || type.isF16() || type.isBF16();
}

/// A nest and the reduction behind it, and what of the nest's body becomes vectors.
class RowNest {
public:
  RowNest(tile::ParallelOp nest, tile::ReduceOp reduce, const Machine& machine)
      : nest(nest), reduce(reduce), lanes(machine.vectorBits / 32),
        hasFewRegisters(machine.isX86 && machine.vectorRegisters < 32),
        source(reduce.getSourceRegion()), target(reduce.getTargetRegion()) {}

  /// Whether both can be one loop; else nothing has been changed.
  bool fits() {
    if (!isSourceWhole() || !isPlain(target.buffer) || target.buffer == source.buffer)
      return false;
    moving.insert(nest.getInductionVars().back());
    for (Operation& op : nest.getBodyBlock()->without_terminator())
      if (!take(&op))
        return false;
    return stored != nullptr;
  }

  int64_t columns() {
    return nest.getStaticExtents().back();
  }

  /// Whether columns are reduced, not rows.
  bool isByColumns() {
    return int64_t(reduce.getDim()) + 2 == source.type().getRank();
  }

  tile::ParallelOp nest;
  tile::ReduceOp reduce;
  int64_t lanes;
  bool hasFewRegisters;
  BufferRegion source, target;
  /// Values that differ along a row.
  llvm::DenseSet<Value> moving;
  /// Writes what is reduced.
  tile::StoreOp stored;

private:
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

  bool isMoving(Value value) const {
    return moving.contains(value);
  }

  /// Whether an op can be done once a row or on vectors.
  bool take(Operation* op) {
    const bool moves =
        llvm::any_of(op->getOperands(), [&](Value value) { return isMoving(value); });
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (!load.getInBounds() || load.getBuffer() == target.buffer ||
          (moves && !isAlongRow(load.getBuffer(), load.getIndices())))
        return false;
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      return takeStore(store);
    } else if (op->getNumRegions() || op->getNumResults() != 1 || !isPure(op)) {
      return false;
    } else if (moves && !isOnVectors(op)) {
      return false;
    }
    if (moves)
      moving.insert(op->getResult(0));
    return true;
  }

  bool takeStore(tile::StoreOp store) {
    if (!store.getInBounds() || store.getBuffer() == target.buffer ||
        cast<BufferType>(store.getBuffer().getType()).isGlobal() ||
        !isAlongRow(store.getBuffer(), store.getIndices()))
      return false;
    if (store.getBuffer() != source.buffer)
      return true;
    if (stored || store.getIndices() != nest.getInductionVars())
      return false;
    stored = store;
    return true;
  }

  /// Whether the last variable moves the last index alone, element by element.
  bool isAlongRow(Value buffer, ValueRange indices) const {
    const auto type = cast<BufferType>(buffer.getType());
    return !indices.empty() && isDense(buffer) && !type.isPerThread() &&
           isFloatOnVectors(type.getElementType()) && isMoving(indices.back()) &&
           llvm::none_of(indices.drop_back(), [&](Value index) { return isMoving(index); });
  }

  /// A sum of the last variable and what stays, or arithmetic on floats.
  bool isOnVectors(Operation* op) const {
    if (isa<arith::AddIOp>(op) && op->getResult(0).getType().isIndex())
      return isMoving(op->getOperand(0)) != isMoving(op->getOperand(1));
    if (isa_and_nonnull<math::MathDialect>(op->getDialect())) {
      if (!isa<math::ExpOp, math::Exp2Op, math::FmaOp, math::AbsFOp, math::SqrtOp>(op))
        return false;
    } else if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
                    arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                    arith::CmpFOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp>(op)) {
      return false;
    }
    auto isFine = [](Type type) { return isFloatOnVectors(type) || type.isInteger(1); };
    return llvm::all_of(op->getOperandTypes(), isFine) &&
           llvm::all_of(op->getResultTypes(), isFine);
  }
};

/// Emits a nest's body on vectors.
class VectorBody {
public:
  explicit VectorBody(RowNest& rows)
      : rows(rows), builder(rows.reduce.getLoc(), rows.reduce),
        combiner(rows.reduce.getKind(), builder.getF32Type(), rows.reduce.getNanPropagate()) {}

protected:
  /// One op on one vector; gives what it stores to the reduction's source.
  Value step(ImplicitLocOpBuilder& inner, Operation& op, IRMapping& indices, IRMapping& values) {
    auto places = [&](ValueRange at) {
      return llvm::map_to_vector(at, [&](Value index) { return indices.lookupOrDefault(index); });
    };
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      Value value = vectorOf(inner, store.getValue(), indices, values);
      storeVector(inner, value, store.getBuffer(), places(store.getIndices()));
      return store == rows.stored ? value : Value();
    }
    if (!rows.moving.contains(op.getResult(0)))
      return {};
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      values.map(load.getResult(),
                 loadVector(inner, load.getBuffer(), places(load.getIndices()), lanes));
    } else if (op.getResult(0).getType().isIndex()) {
      inner.clone(op, indices);
    } else {
      OperationState state(op.getLoc(), op.getName());
      for (Value operand : op.getOperands())
        state.addOperands(vectorOf(inner, operand, indices, values));
      state.addTypes(VectorType::get({lanes}, op.getResult(0).getType()));
      state.attributes = op.getDiscardableAttrDictionary();
      state.propertiesAttr = op.getPropertiesAsAttribute();
      values.map(op.getResult(0), inner.create(state)->getResult(0));
    }
    return {};
  }

  /// `value` on vectors: of its own, or on all lanes.
  Value vectorOf(ImplicitLocOpBuilder& inner, Value value, const IRMapping& scalars,
                 IRMapping& values) {
    if (!values.contains(value)) {
      auto type = VectorType::get({lanes}, value.getType());
      values.map(value, vector::BroadcastOp::create(inner, type, scalars.lookupOrDefault(value)));
    }
    return values.lookup(value);
  }

  RowNest& rows;
  ImplicitLocOpBuilder builder;
  Combiner combiner;
  /// Elements of a vector here.
  int64_t lanes = 0;
};

/// Emits the loop that reduces rows.
class Emitter : VectorBody {
public:
  explicit Emitter(RowNest& rows) : VectorBody(rows) {
    lanes = 4 * rows.lanes;
    while (rows.columns() % lanes != 0)
      lanes /= 2;
  }

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
    rows.reduce.erase();
    rows.nest.erase();
  }

private:
  /// All of one row.
  void row(ImplicitLocOpBuilder& inner, ValueRange at) {
    IndexMath math(inner);
    IRMapping known;
    known.map(rows.nest.getInductionVars().drop_back(), at);
    for (Operation& op : rows.nest.getBodyBlock()->without_terminator())
      if (!isa<tile::StoreOp>(op) && !rows.moving.contains(op.getResult(0)))
        inner.clone(op, known);
    spreadInvariants(inner, known);
    Value sums = combiner.identity(inner, VectorType::get({rows.lanes}, inner.getF32Type()));
    const int64_t columns = rows.columns();
    if (columns % kStrip == 0 && columns > kStrip) {
      auto strips = scf::ForOp::create(inner, math.constant(0), math.constant(columns / kStrip),
                                       math.constant(1), sums);
      strips->setAttr(kStripCostAttr, inner.getI64IntegerAttr(cost() * columns));
      OpBuilder::InsertionGuard guard(inner);
      inner.setInsertionPointToStart(strips.getBody());
      Value start = IndexMath(inner).mul(strips.getInductionVar(), math.constant(kStrip));
      Value before = strips.getRegionIterArg(0);
      scf::YieldOp::create(inner, turns(inner, known, start, kStrip, before));
      sums = strips.getResult(0);
    } else {
      sums = turns(inner, known, math.constant(0), columns, sums);
    }
    finish(inner, at, sums);
  }

  /// What a row costs per element, as FetchNextBlock counts.
  int64_t cost() {
    int64_t sum = 1;
    rows.nest.walk([&](Operation* op) { sum += operationCost(op); });
    return sum;
  }

  /// Vectors of the values that stay along a row and meet others that don't.
  void spreadInvariants(ImplicitLocOpBuilder& inner, IRMapping& known) {
    auto spread = [&](Value value) {
      if (rows.moving.contains(value) || vectors.contains(value))
        return;
      auto type = VectorType::get({lanes}, value.getType());
      vectors.map(value, vector::BroadcastOp::create(inner, type, known.lookupOrDefault(value)));
    };
    vectors = IRMapping();
    for (Operation& op : rows.nest.getBodyBlock()->without_terminator()) {
      if (auto store = dyn_cast<tile::StoreOp>(op))
        spread(store.getValue());
      else if (rows.moving.contains(op.getResult(0)) && !isa<tile::LoadOp, arith::AddIOp>(op))
        llvm::for_each(op.getOperands(), spread);
    }
  }

  /// The elements from `start` on; gives the accumulator's lanes.
  Value turns(ImplicitLocOpBuilder& inner, const IRMapping& known, Value start, int64_t count,
              Value sums) {
    IndexMath math(inner);
    auto loop = scf::ForOp::create(inner, math.constant(0), math.constant(count),
                                   math.constant(lanes), sums);
    OpBuilder::InsertionGuard guard(inner);
    inner.setInsertionPointToStart(loop.getBody());
    IRMapping indices(known), values(vectors);
    indices.map(rows.nest.getInductionVars().back(), math.add(start, loop.getInductionVar()));
    Value result = loop.getRegionIterArg(0);
    for (Operation& op : rows.nest.getBodyBlock()->without_terminator())
      if (Value elements = step(inner, op, indices, values)) {
        // One accumulator of the machine's width: four would have to go to memory and back in a nest with exp.
        elements = combiner.combineHalves(inner, combiner.enter(inner, elements), rows.lanes);
        result = combiner.accumulate(inner, result, elements);
      }
    scf::YieldOp::create(inner, result);
    return loop.getResult(0);
  }

  /// Stores the lanes' combination.
  void finish(ImplicitLocOpBuilder& inner, ValueRange at, Value sums) {
    IndexMath math(inner);
    Value sum = combiner.reduceLanes(inner, sums);
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

  /// What stays along a row, on all lanes.
  IRMapping vectors;
};

/// Emits the loop that reduces columns.
class ColumnEmitter : VectorBody {
public:
  explicit ColumnEmitter(RowNest& rows) : VectorBody(rows) {
    lanes = rows.columns();
    const ValueRange variables = rows.nest.getInductionVars();
    column = variables.back();
    row = variables[variables.size() - 2];
    findTurning();
  }

  void emit() {
    SmallVector<Range> ranges;
    IndexMath math(builder);
    for (int64_t extent : rows.nest.getStaticExtents().drop_back(2))
      ranges.push_back({math.constant(0), math.constant(extent)});
    buildNest(builder, ranges,
              [&](ImplicitLocOpBuilder& inner, ValueRange at) { columns(inner, at); });
    rows.reduce.erase();
    rows.nest.erase();
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
    IRMapping known, vectors;
    known.map(rows.nest.getInductionVars().drop_back(2), at);
    known.map(column, math.constant(0));
    for (Operation& op : body())
      if (!isa<tile::StoreOp>(op) && !turning.contains(op.getResult(0)))
        one(inner, op, known, vectors);
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
                     known, vectors, sum);
      scf::YieldOp::create(inner, sums);
    }
    Value sum = loop.getResult(0);
    if (atOnce == 2)
      sum = combiner.accumulate(inner, sum, loop.getResult(1));
    finish(inner, at, sum);
  }

  /// One row; gives `sum` with it.
  Value addRow(ImplicitLocOpBuilder& inner, Value number, IRMapping known, IRMapping vectors,
               Value sum) {
    known.map(row, number);
    for (Operation& op : body())
      if (isa<tile::StoreOp>(op) || turning.contains(op.getResult(0)))
        if (Value elements = one(inner, op, known, vectors))
          sum = combiner.accumulate(inner, sum, combiner.enter(inner, elements));
    return sum;
  }

  /// As `step`, and what doesn't move along the row stays a scalar.
  Value one(ImplicitLocOpBuilder& inner, Operation& op, IRMapping& known, IRMapping& vectors) {
    if (isa<tile::StoreOp>(op) || rows.moving.contains(op.getResult(0)))
      return step(inner, op, known, vectors);
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

  Value row, column;
  llvm::DenseSet<Value> turning;
};

struct FuseReductions : MachinePass<FuseReductions> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseReductions)
  using MachinePass::MachinePass;
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
      RowNest rows(nest, reduce, machine);
      if (!rows.fits())
        continue;
      if (rows.isByColumns())
        ColumnEmitter(rows).emit();
      else
        Emitter(rows).emit();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createFuseReductions(const Machine& machine) {
  return std::make_unique<FuseReductions>(machine);
}

} // namespace tilewright::cpu
