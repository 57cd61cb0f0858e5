// SPDX-License-Identifier: Apache-2.0
/// Turns tile.reduce and tile.scan into loops.
///
///   tile.reduce sum %x : <64x128xf32, fragment> dim 1 into %s : <64xf32, fragment> clear
/// becomes, for AVX-512
///   scf.for %i = 0 to 64 {
///     %v:4 = scf.for %k = 0 to 128 step 64 iter_args(..) {
///       4 times: llvm.load vector<16xf32>, arith.addf }
///     %t = vector.reduction <add> of the four, then the elements that fill no vector
///     tile.store %t, %s[%i] }
///
/// A reduction of another dim than the last updates whole rows of the target instead, one turn of
/// `dim` at a time; rows of up to four vectors stay in registers. Floats narrower than float32 accumulate in float32. LLVM's vectoriser would not
/// reorder float sums, and handles NaN in max and min in ways that we do not want: so these vectors
/// are our own.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/combiner.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

/// A reduction or scan of one region along one dim, at one place.
class Lowering {
public:
  Lowering(Operation* op, BufferRegion source, BufferRegion target, int64_t dim,
           tile::ReduceKind kind, bool propagateNan)
      : builder(op->getLoc(), op), math(builder), source(std::move(source)),
        target(std::move(target)), dim(dim),
        element(accumulationElement(this->source.type(), this->target.type())),
        combiner(kind, element, propagateNan) {}

  void reduce(bool clear, const Machine& machine) {
    if (isRowUpdate())
      return fitsRegisters(machine) ? reduceColumns(clear, machine) : reduceRows(clear);
    buildNest(builder, keptRanges(), [&](ImplicitLocOpBuilder& inner, ValueRange kept) {
      Value sum =
          isVectorizable(machine) ? vectorSum(inner, kept, machine) : scalarSum(inner, kept);
      SmallVector<Value> at = targetIndices(inner, kept);
      if (!clear) {
        Value old = enter(inner, load(inner, target.buffer, at), target.type());
        sum = combiner.combine(inner, sum, old);
      }
      store(inner, leave(inner, sum), at);
    });
  }

  void scan(bool reverse) {
    buildNest(builder, keptRanges(), [&](ImplicitLocOpBuilder& inner, ValueRange kept) {
      IndexMath innerMath(inner);
      Value extent = innerMath.value(source.extents[dim]);
      auto loop = scf::ForOp::create(inner, innerMath.constant(0), extent, innerMath.constant(1),
                                     combiner.identity(inner, combiner.type()));
      OpBuilder::InsertionGuard guard(inner);
      inner.setInsertionPointToStart(loop.getBody());
      Value step = loop.getInductionVar();
      if (reverse)
        step = innerMath.sub(innerMath.sub(extent, innerMath.constant(1)), step);
      SmallVector<Value> variables(kept);
      variables.insert(variables.begin() + dim, step);
      Value value = enter(inner, load(inner, source.buffer, indices(inner, source, variables)),
                          source.type());
      Value sum = combiner.combine(inner, loop.getRegionIterArg(0), value);
      store(inner, leave(inner, sum), indices(inner, target, variables));
      scf::YieldOp::create(inner, sum);
    });
  }

private:
  /// The source's element type where its elements accumulate in the right type anyway: narrow floats do in
  /// float32. Integers of 4 bits do in 8: the low bits of a sum are the same, and LLVM has no vectors of them.
  static Type accumulationElement(BufferType from, BufferType to) {
    Type own = from.getElementType(), wanted = tile::accumulationType(own, to.getElementType());
    const bool isNarrow =
        isa<FloatType>(own) && isa<FloatType>(wanted) && wanted.getIntOrFloatBitWidth() <= 32;
    if (auto integer = dyn_cast<IntegerType>(wanted); integer && integer.getWidth() == 4)
      return IntegerType::get(wanted.getContext(), 8, integer.getSignedness());
    return isNarrow ? own : wanted;
  }
  bool isConverted() const {
    return element != source.type().getElementType();
  }

  /// An element of a buffer of this type, as it is combined.
  Value enter(ImplicitLocOpBuilder& inner, Value value, BufferType from) const {
    Type own = from.getElementType();
    if (losesSign(own)) {
      value = math::AbsIOp::create(inner, value);
      own = IntegerType::get(own.getContext(), own.getIntOrFloatBitWidth(), IntegerType::Unsigned);
    }
    if (own != element)
      value =
          convertElement(inner, value, own, isa<FloatType>(element) ? combiner.type() : element);
    return combiner.enter(inner, value);
  }

  /// Whether elements become unsigned as they enter, though their magnitude is wanted: it must be
  /// taken before.
  bool losesSign(Type own) const {
    auto integer = dyn_cast<IntegerType>(own);
    return combiner.takesMagnitudes() && integer && !integer.isUnsigned() &&
           integer.getWidth() > 1 && element.isUnsignedInteger();
  }

  /// Ranges of all source dims but `dim`.
  SmallVector<Range> keptRanges() const {
    SmallVector<Range> ranges;
    for (auto [number, extent] : llvm::enumerate(source.extents))
      if (int64_t(number) != dim)
        ranges.push_back({math.constant(0), math.value(extent)});
    return ranges;
  }

  static SmallVector<Value> indices(ImplicitLocOpBuilder& inner, const BufferRegion& region,
                                    ValueRange variables) {
    IndexMath innerMath(inner);
    SmallVector<Value> result;
    for (auto [offset, variable] : llvm::zip(region.offsets, variables))
      result.push_back(innerMath.add(innerMath.value(offset), variable));
    return result;
  }

  SmallVector<Value> sourceIndices(ImplicitLocOpBuilder& inner, ValueRange kept, Value step) const {
    SmallVector<Value> variables(kept);
    variables.insert(variables.begin() + dim, step);
    return indices(inner, source, variables);
  }

  /// The target has lost `dim`, or has extent 1 there.
  SmallVector<Value> targetIndices(ImplicitLocOpBuilder& inner, ValueRange kept) const {
    SmallVector<Value> variables(kept);
    if (target.extents.size() == source.extents.size())
      variables.insert(variables.begin() + dim, IndexMath(inner).constant(0));
    // A target of rank 1 may stand for a reduction to one element.
    while (variables.size() < target.extents.size())
      variables.push_back(IndexMath(inner).constant(0));
    return indices(inner, target, variables);
  }

  static Value load(ImplicitLocOpBuilder& inner, Value buffer, ValueRange at) {
    auto type = cast<BufferType>(buffer.getType());
    return tile::LoadOp::create(inner, type.getScalarType(), buffer, at,
                                /*in_bounds=*/!type.isGlobal());
  }

  void store(ImplicitLocOpBuilder& inner, Value value, ValueRange at) const {
    tile::StoreOp::create(inner, value, target.buffer, at, /*in_bounds=*/!target.type().isGlobal());
  }

  /// The accumulated value in the target's type.
  Value leave(ImplicitLocOpBuilder& inner, Value value) const {
    Type from = value.getType();
    // A sum of integers keeps the signedness of its elements.
    if (isa<IntegerType>(from))
      from = element;
    return convertElement(inner, value, from, target.type().getElementType());
  }

  /// Whether to go through the source row by row, updating a whole row of the target: what is left
  /// innermost then is contiguous.
  bool isRowUpdate() const {
    const bool isLast = dim + 1 == source.type().getRank();
    return !isLast && combiner.type() == source.type().getScalarType() &&
           source.type().getElementType() == target.type().getElementType() &&
           !source.type().isGlobal() && !target.type().isGlobal();
  }

  void reduceRows(bool clear) {
    buildParallelNest(builder, keptRanges(), [&](ImplicitLocOpBuilder& inner, ValueRange kept) {
      SmallVector<Value> at = targetIndices(inner, kept);
      store(inner,
            clear ? combiner.identity(inner, combiner.type())
                  : combiner.enter(inner, load(inner, target.buffer, at)),
            at);
    });
    Range steps{math.constant(0), math.value(source.extents[dim])};
    buildNest(builder, steps, [&](ImplicitLocOpBuilder& middle, ValueRange step) {
      SmallVector<Range> kept = keptRanges();
      buildParallelNest(middle, kept, [&](ImplicitLocOpBuilder& inner, ValueRange variables) {
        Value value = load(inner, source.buffer, sourceIndices(inner, variables, step[0]));
        SmallVector<Value> at = targetIndices(inner, variables);
        Value old = load(inner, target.buffer, at);
        store(inner, combiner.combine(inner, old, combiner.enter(inner, value)), at);
      });
    });
  }

  /// Whether a row of the target stays in registers while the rows of the source pass by.
  bool fitsRegisters(const Machine& machine) const {
    const int64_t columns = source.staticExtents().back(), width = lanes(machine);
    return !ShapedType::isDynamic(columns) && columns % width == 0 && columns <= 4 * width &&
           combiner.type().getIntOrFloatBitWidth() >= 8 && target.staticExtents().back() == columns;
  }

  /// As reduceRows, a target row of few vectors at a time.
  void reduceColumns(bool clear, const Machine& machine) {
    SmallVector<Range> outer = keptRanges();
    outer.pop_back();
    buildNest(builder, outer, [&](ImplicitLocOpBuilder& inner, ValueRange at) {
      IndexMath innerMath(inner);
      const int64_t width = lanes(machine), count = source.staticExtents().back() / width;
      auto column = [&](int64_t number) {
        SmallVector<Value> kept(at);
        kept.push_back(innerMath.constant(number * width));
        return kept;
      };
      Value none = combiner.identity(inner, VectorType::get({width}, combiner.type()));
      SmallVector<Value> sums(size_t(count), none);
      auto loop =
          scf::ForOp::create(inner, innerMath.constant(0), innerMath.value(source.extents[dim]),
                             innerMath.constant(1), sums);
      {
        OpBuilder::InsertionGuard guard(inner);
        inner.setInsertionPointToStart(loop.getBody());
        SmallVector<Value> next;
        for (int64_t number = 0; number < count; ++number)
          next.push_back(
              combiner.accumulate(inner, loop.getRegionIterArg(unsigned(number)),
                                  loadLanes(inner, column(number), loop.getInductionVar(), width)));
        scf::YieldOp::create(inner, next);
      }
      for (auto [number, sum] : llvm::enumerate(loop.getResults())) {
        SmallVector<Value> place = targetIndices(inner, column(int64_t(number)));
        Value result = sum;
        if (!clear)
          result = combiner.combine(
              inner, result, combiner.enter(inner, loadVector(inner, target.buffer, place, width)));
        storeVector(inner, result, target.buffer, place);
      }
    });
  }

  bool isVectorizable(const Machine& machine) const {
    const BufferType type = source.type();
    const int64_t extent = source.staticExtents()[dim];
    return dim + 1 == type.getRank() && !type.isGlobal() && !ShapedType::isDynamic(extent) &&
           extent >= lanes(machine) && !isConverted() && liesInWholeBytes(type.getElementType());
  }

  /// Whether a vector of such elements can be loaded: a bool or a float of 6 bits has a byte.
  static bool liesInWholeBytes(Type element) {
    return element.getIntOrFloatBitWidth() % 8 == 0;
  }

  int64_t lanes(const Machine& machine) const {
    return machine.vectorBits / int64_t(combiner.type().getIntOrFloatBitWidth());
  }

  /// The combination of elements [from, end) of a row, one by one, and `initial`.
  Value scalarSum(ImplicitLocOpBuilder& inner, ValueRange kept, int64_t from = 0,
                  Value initial = {}) const {
    IndexMath innerMath(inner);
    if (!initial)
      initial = combiner.identity(inner, combiner.type());
    auto loop =
        scf::ForOp::create(inner, innerMath.constant(from), innerMath.value(source.extents[dim]),
                           innerMath.constant(1), initial);
    OpBuilder::InsertionGuard guard(inner);
    inner.setInsertionPointToStart(loop.getBody());
    Value value = load(inner, source.buffer, sourceIndices(inner, kept, loop.getInductionVar()));
    Value sum =
        combiner.accumulate(inner, loop.getRegionIterArg(0), enter(inner, value, source.type()));
    scf::YieldOp::create(inner, sum);
    return loop.getResult(0);
  }

  /// Lanes of the row from element `step` on.
  Value loadLanes(ImplicitLocOpBuilder& inner, ValueRange kept, Value step, int64_t width) const {
    Value value = loadVector(inner, source.buffer, sourceIndices(inner, kept, step), width);
    return combiner.enter(inner, value);
  }

  Value vectorSum(ImplicitLocOpBuilder& inner, ValueRange kept, const Machine& machine) const {
    IndexMath innerMath(inner);
    const int64_t width = lanes(machine), extent = source.staticExtents()[dim];
    // Several chains hide the latency of one.
    const int64_t chains = std::min<int64_t>(4, extent / width), turn = chains * width;
    Value none = combiner.identity(inner, VectorType::get({width}, combiner.type()));
    auto loop =
        scf::ForOp::create(inner, innerMath.constant(0), innerMath.constant(extent / turn * turn),
                           innerMath.constant(turn), SmallVector<Value>(size_t(chains), none));
    {
      OpBuilder::InsertionGuard guard(inner);
      inner.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> sums;
      for (int64_t chain = 0; chain < chains; ++chain) {
        Value step = innerMath.add(loop.getInductionVar(), innerMath.constant(chain * width));
        Value value = loadLanes(inner, kept, step, width);
        sums.push_back(combiner.accumulate(inner, loop.getRegionIterArg(unsigned(chain)), value));
      }
      scf::YieldOp::create(inner, sums);
    }
    Value sum = loop.getResult(0);
    for (int64_t chain = 1; chain < chains; ++chain)
      sum = combiner.accumulate(inner, sum, loop.getResult(unsigned(chain)));
    int64_t done = extent / turn * turn;
    for (; done + width <= extent; done += width)
      sum =
          combiner.accumulate(inner, sum, loadLanes(inner, kept, innerMath.constant(done), width));
    Value result = combiner.reduceLanes(inner, sum);
    return done < extent ? scalarSum(inner, kept, done, result) : result;
  }

  ImplicitLocOpBuilder builder;
  IndexMath math;
  BufferRegion source, target;
  int64_t dim;
  Type element; ///< what accumulates, with signedness
  Combiner combiner;
};

struct LowerReductions : MachinePass<LowerReductions> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerReductions)
  static constexpr llvm::StringLiteral kArgument = "cpu-lower-reductions";
  static constexpr llvm::StringLiteral kDescription = "turn tile.reduce and tile.scan into loops";
  using MachinePass::MachinePass;
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                    LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([&](Operation* op) {
      if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
        Lowering(op, reduce.getSourceRegion(), reduce.getTargetRegion(), int64_t(reduce.getDim()),
                 reduce.getKind(), reduce.getNanPropagate())
            .reduce(reduce.getClear(), machine);
        op->erase();
      } else if (auto scan = dyn_cast<tile::ScanOp>(op)) {
        Lowering(op, scan.getSourceRegion(), scan.getTargetRegion(), int64_t(scan.getDim()),
                 scan.getKind(), /*propagateNan=*/false)
            .scan(scan.getReverse());
        op->erase();
      }
    });
  }
};

} // namespace

std::unique_ptr<Pass> createLowerReductions(const Machine& machine) {
  return std::make_unique<LowerReductions>(machine);
}

} // namespace tilewright::cpu
