// SPDX-License-Identifier: Apache-2.0
/// Turns tile.gemm (operands as PackGemmOperands leaves them) into micro-kernels on vectors.
///
///   tile.gemm %a : <64x32xf32, shared>, %b : <32x64xf32, shared> into %C : <64x64xf32, fragment>
/// becomes, for AVX-512
///   scf.for %n = 0 to 64 step 32 { scf.for %m = 0 to 60 step 12 {
///     %c:24 = llvm.load ... : vector<16xf32>        // 12 rows of 2 vectors of C
///     %r:24 = scf.for %k = 0 to 32 iter_args(%c:24) {
///       %b0, %b1 = llvm.load ...      %a = vector.broadcast of an element of A
///       math.fma ... }
///     llvm.store %r ... } }
///   ... and once more for the 4 rows that are left
///
/// A packed b ({cpu.packed = g}, see pack_gemm_operands.cpp) is read panel by panel. Pairs of bfloat16
/// are loaded as if they were float32 and multiplied by vdpbf16ps, four bytes as if they were int32
/// by vpdpbusd. Where b is shifted by 128, the accumulators start less 128 times the sum of a's row.
///
/// In a pipelined loop each micro-kernel also asks for its share of the tiles of the next turn
/// (fetch_ahead.h), so that the copies, or the products of an a in place, find them in the second-level cache.
///
/// The sums begin at c, or at 0 where it counts as that; on AVX-512 c is asked for as the rows before are multiplied.
/// On AVX2 the sums begin at 0, and c, which is asked for first, is added in the end: it often comes from the third-level
/// cache. There, too, only as many rows of a as stay in the second-level cache go at once.
///
/// The last sums go straight to the result where store_results.cpp says so.
///
/// Where it is marked {cpu.tiles}, AMX multiplies: gemm_tiles.h; where {cpu.sums}, sums are: sum_kernels.h.
///
/// The accumulators stay in registers through the loop over k. Columns that fill no whole vector
/// get a vector of just their number of lanes. It stands before the buffers become pointers, and
/// casts them itself.
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/feed_gemm.h"
#include "compiler/targets/cpu/gemm_sources.h"
#include "compiler/targets/cpu/gemm_tiles.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/micro_kernels.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/sum_kernels.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/IRMapping.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

/// How many rows, and vectors of columns, one micro-kernel holds in registers.
struct KernelShape {
  int64_t rows;
  int64_t vectors;
};

KernelShape kernelShape(const Machine& machine, bool isPacked, int64_t group, int64_t vectors) {
  // rows * vectors accumulators, `vectors` of b, and one or two of a must fit the register file.
  if (isPacked && group == 1 && gemmIsWide(machine, vectors))
    return {8, 3};
  if (!isPacked && vectors == 4 && gemmStraightVectors(machine) == 4)
    return {6, 4};
  return {gemmRows(machine), gemmVectors(machine)};
}

class GemmLowering : MicroKernels {
public:
  GemmLowering(tile::GemmOp op, const Machine& machine)
      : MicroKernels(op, machine),
        lanes(machine.vectorBits / int64_t(element.getIntOrFloatBitWidth())),
        addsLate(gemmAddsLate(machine) && !op->hasAttr(kInOrderAttr)),
        bytesOfA(gemmBytesOfA(machine)) {
    const int64_t vectors = op.getCRegion().staticExtents().back() / lanes;
    if (isPacked)
      panelVectors = gemmPanelVectors(machine, vectors, group);
    shape = kernelShape(machine, isPacked, group, vectors);
  }

  void lower() {
    start();
    rowSums = takeRowSums();
    a.rowStride /= group;
    depth = products / group;
    if (rowSums)
      sumRows();
    const int64_t fed = lowerFedKernel();
    forTiles(rows - fed, rowsAtOnce(), /*evenly=*/false, [&](Value first, int64_t count) {
      lowerColumns(math.add(first, math.constant(fed)), count);
    });
    op.erase();
  }

private:
  /// So many rows of a stay in the second-level cache.
  int64_t rowsAtOnce() const {
    const int64_t rowBytes = depth * elementBytes();
    if (!isPacked || !bytesOfA || rows * rowBytes <= bytesOfA)
      return rows;
    const int64_t parts = llvm::divideCeil(rows * rowBytes, bytesOfA);
    return llvm::alignTo(llvm::divideCeil(rows, parts), shape.rows);
  }

  /// The micro-kernel of the first rows, if it computes b; gives how many rows.
  int64_t lowerFedKernel() {
    if (isPacked || group != 1 || columns % lanes || columns > shape.vectors * lanes)
      return 0;
    const int64_t count = rowsOfFedKernel(rows, machine);
    feeding = count ? loopThatFeeds(op, depth, columns) : scf::ForOp();
    if (!feeding)
      return 0;
    const SmallVector<int64_t> widths(columns / lanes, lanes);
    microKernel(math.constant(0), count, math.constant(0), widths);
    feeding = {};
    return count;
  }

  /// All columns of `count` rows from `first` on.
  void lowerColumns(Value first, int64_t count) {
    forTiles(columns, shape.vectors * lanes, /*evenly=*/false, [&](Value column, int64_t width) {
      SmallVector<int64_t> widths(width / lanes, lanes);
      if (width % lanes)
        widths.push_back(width % lanes);
      const int64_t whole = count - rowsByFewer(count);
      forTiles(whole, shape.rows, /*evenly=*/true, [&](Value row, int64_t height) {
        microKernel(math.add(first, row), height, column, widths);
      });
      forTiles(count - whole, shape.rows - 1, /*evenly=*/false, [&](Value row, int64_t height) {
        Value behind = math.add(first, math.constant(whole));
        microKernel(math.add(behind, row), height, column, widths);
      });
    });
  }

  /// How many of `count` rows go by one less than others at once, so that none are left, where a few rows alone would
  /// leave the multipliers waiting for the sums. Not of a packed b, which was measured to lose 3 % by it.
  int64_t rowsByFewer(int64_t count) const {
    const int64_t rest = count % shape.rows, fewer = shape.rows - 1;
    const int64_t byFewer = rest ? (shape.rows - rest) * fewer : 0;
    return gemmMixesRows(machine) && !isPacked && byFewer <= count ? byFewer : 0;
  }

  Type vectorType(int64_t width) const {
    return VectorType::get({width}, element);
  }

  Value load(Type type, Value pointer) {
    // An offset may leave groups aligned as their elements.
    return LLVM::LoadOp::create(builder, type, pointer, elementBytes() / unsigned(group));
  }

  /// `value` (lanes of 32 bits that stand for groups) as so many more small elements.
  Value asGroups(Value value) {
    const int64_t count = group * cast<VectorType>(value.getType()).getNumElements();
    Type small = group == 2 ? Type(builder.getBF16Type()) : builder.getI8Type();
    return vector::BitCastOp::create(builder, VectorType::get({count}, small), value);
  }

  /// `x` holds unsigned bytes.
  Value multiplyBytes(Value x, Value y, Value sum) {
    return multiplyGroups("llvm.x86.avx512.vpdpbusd.", x, y, sum);
  }

  Value multiplyGroups(StringRef name, Value x, Value y, Value sum) {
    const auto bits = 32 * cast<VectorType>(sum.getType()).getNumElements();
    return LLVM::CallIntrinsicOp::create(builder, sum.getType(),
                                         builder.getStringAttr(name + Twine(bits)),
                                         ValueRange{sum, asGroups(x), asGroups(y)})
        .getResult(0);
  }

  /// `x` is of a, `y` of b.
  Value multiplyAdd(Value x, Value y, Value sum) {
    if (group == 2)
      return multiplyGroups("llvm.x86.avx512bf16.dpbf16ps.", x, y, sum);
    if (group == 4)
      return rowSums ? multiplyBytes(y, x, sum) : multiplyBytes(x, y, sum);
    if (isa<FloatType>(element))
      return math::FmaOp::create(builder, x, y, sum);
    return plus(arith::MulIOp::create(builder, x, y), sum);
  }

  /// Where the columns from `column` on of b's first row are.
  Value columnsOfB(Value column) {
    // The panels before are as long as so many columns.
    return elementPointer(b.pointer, isPacked ? math.mul(column, math.constant(depth)) : column);
  }

  /// Row `k` of b: a vector for each of `widths`.
  SmallVector<Value> rowOfB(Value start, Value k, ArrayRef<int64_t> widths) {
    const int64_t step = isPacked ? panelVectors * lanes : b.rowStride;
    Value here = elementPointer(start, math.mul(k, math.constant(step)));
    SmallVector<Value> vectors;
    int64_t offset = 0;
    for (int64_t width : widths) {
      vectors.push_back(load(vectorType(width), constantPointer(here, offset)));
      offset += isPacked && panelVectors == 1 ? depth * lanes : width;
    }
    return vectors;
  }

  /// Where the sums of a's rows may be, if the gemm needs them.
  Value takeRowSums() {
    for (Operation* note = op->getPrevNode(); note && !isa<tile::GemmOp>(note);
         note = note->getPrevNode())
      if (note->hasAttr(kRowSumsAttr)) {
        Value sums =
            UnrealizedConversionCastOp::create(builder, note->getResultTypes(), note->getOperands())
                .getResult(0);
        note->erase();
        return sums;
      }
    return {};
  }

  /// -128 times the sum of each row of a, to `rowSums`.
  void sumRows() {
    auto loop =
        scf::ForOp::create(builder, math.constant(0), math.constant(rows), math.constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    Value start = elementPointer(a.pointer, math.mul(row, math.constant(a.rowStride)));
    Value sum = zero(builder, element);
    int64_t done = 0;
    for (int64_t width : {lanes, int64_t(4), int64_t(1)}) {
      const int64_t end = depth - (depth - done) % width;
      if (end > done)
        sum = plus(sum, sumOfRow(start, done, end, width));
      done = end;
    }
    sum = arith::SubIOp::create(builder, zero(builder, element), sum);
    LLVM::StoreOp::create(builder, sum, elementPointer(rowSums, row), elementBytes());
  }

  /// 128 times the sum of the groups from `first` up to `end`, `width` of them at a time.
  Value sumOfRow(Value start, int64_t first, int64_t end, int64_t width) {
    // There are no instructions on fewer than 4 lanes.
    const int64_t used = std::max<int64_t>(width, 4);
    SmallVector<int32_t> ones(used, 0);
    std::fill_n(ones.begin(), width, int32_t(0x80808080));
    auto type = cast<VectorType>(vectorType(used));
    Value bytes = arith::ConstantOp::create(builder, DenseElementsAttr::get(type, ArrayRef(ones)));
    auto loop = scf::ForOp::create(builder, math.constant(first), math.constant(end),
                                   math.constant(width), zero(builder, type));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value groups =
          load(width == 1 ? element : Type(type), elementPointer(start, loop.getInductionVar()));
      if (width == 1)
        groups = vector::BroadcastOp::create(builder, type, groups);
      scf::YieldOp::create(builder, multiplyBytes(bytes, groups, loop.getRegionIterArg(0)));
    }
    return vector::ReductionOp::create(builder, vector::CombiningKind::ADD, loop.getResult(0));
  }

  /// `count` rows from `row` on, and the columns of `widths` from `column` on.
  void microKernel(Value row, int64_t count, Value column, ArrayRef<int64_t> widths) {
    const int64_t width = llvm::sum_of(widths);
    Value target = sumPointer(row, column);
    SmallVector<Value> sums = firstSums(target, row, count, widths);
    const int64_t rowStep = op.getTransposeA() ? 1 : a.rowStride;
    const int64_t depthStep = op.getTransposeA() ? a.rowStride : 1;
    fetchNext(row, count, column, width);
    fetchNextPanels(row, count, column, width);
    askForResult(row, count, column, width);
    Value aStart = elementPointer(a.pointer, math.mul(row, math.constant(rowStep)));
    Value bStart = columnsOfB(column);
    if (feeding)
      return storeSums(target, resultPointer(row, column), count, widths,
                       multiplyAsFed(aStart, rowStep, depthStep, count, widths, sums));

    const int64_t turn =
        group == 1 && depth % gemmStepsAtOnce(machine) == 0 ? gemmStepsAtOnce(machine) : int64_t(1);
    auto loop = scf::ForOp::create(builder, math.constant(0), math.constant(depth),
                                   math.constant(turn), sums);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(builder, steps(loop.getInductionVar(), turn, aStart, rowStep, depthStep,
                                          bStart, count, widths, loop.getRegionIterArgs()));
    }
    storeSums(target, resultPointer(row, column), count, widths, loop.getResults());
  }

  /// Computes rows of b beside the products of those before: a core looks too few instructions ahead to do so by itself.
  /// Gives the sums.
  SmallVector<Value> multiplyAsFed(Value aStart, int64_t rowStep, int64_t depthStep, int64_t count,
                                   ArrayRef<int64_t> widths, SmallVector<Value> sums) {
    const size_t products = sums.size();
    const int64_t turn = *getConstantIntValue(feeding.getStep());
    Value bStart = columnsOfB(math.constant(0));
    auto multiply = [&](Value first, ValueRange before) {
      return steps(first, turn, aStart, rowStep, depthStep, bStart, count, widths,
                   before.take_front(products));
    };
    llvm::append_range(sums, fedTurn(math.constant(0), feeding.getInitArgs()));
    auto loop = scf::ForOp::create(builder, math.constant(0), math.constant(depth - turn),
                                   math.constant(turn), sums);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value k = loop.getInductionVar();
      const ValueRange before = loop.getRegionIterArgs();
      SmallVector<Value> fed =
          fedTurn(math.add(k, math.constant(turn)), before.drop_front(products));
      SmallVector<Value> next = multiply(k, before);
      llvm::append_range(next, fed);
      scf::YieldOp::create(builder, next);
    }
    feeding.replaceAllUsesWith(loop.getResults().drop_front(products));
    feeding.erase();
    return multiply(math.constant(depth - turn), loop.getResults());
  }

  /// The turn of the feeding loop from row `first` of b on; what it yields.
  SmallVector<Value> fedTurn(Value first, ValueRange before) {
    IRMapping known;
    known.map(feeding.getInductionVar(), first);
    known.map(feeding.getRegionIterArgs(), before);
    for (Operation& inner : feeding.getBody()->without_terminator())
      if (Operation* copy = builder.clone(inner, known); isa<math::Exp2Op>(copy))
        copy->setAttr(kBesideProductsAttr, builder.getUnitAttr());
    return llvm::map_to_vector(feeding.getYieldedValues(),
                               [&](Value value) { return known.lookupOrDefault(value); });
  }

  /// c, or 0 where it counts as that or is added in the end; and what b's shift adds taken off.
  SmallVector<Value> firstSums(Value target, Value row, int64_t count, ArrayRef<int64_t> widths) {
    SmallVector<Value> sums;
    if (!op.getClear() || addsLate) {
      sums = startsOf(target, count, widths, op.getClearAccum() || addsLate);
    } else {
      SmallVector<Type> types;
      forAccumulators(count, widths,
                      [&](int64_t, int64_t, int64_t width) { types.push_back(vectorType(width)); });
      auto branch = scf::IfOp::create(builder, types, op.getClear(), /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(builder);
      for (bool isClear : {true, false}) {
        builder.setInsertionPointToStart(isClear ? branch.thenBlock() : branch.elseBlock());
        scf::YieldOp::create(builder, startsOf(target, count, widths, isClear));
      }
      sums = branch.getResults();
    }
    for (int64_t r = 0; rowSums && r < count; ++r) {
      Value own = elementPointer(rowSums, math.add(row, math.constant(r)));
      own = LLVM::LoadOp::create(builder, element, own, elementBytes());
      for (Value& sum : MutableArrayRef(sums).slice(r * widths.size(), widths.size()))
        sum = plus(sum, vector::BroadcastOp::create(builder, sum.getType(), own));
    }
    return sums;
  }

  SmallVector<Value> startsOf(Value target, int64_t count, ArrayRef<int64_t> widths, bool isZero) {
    SmallVector<Value> starts;
    forAccumulators(count, widths, [&](int64_t r, int64_t offset, int64_t width) {
      Value here = constantPointer(target, r * c.rowStride + offset);
      starts.push_back(isZero ? zero(builder, vectorType(width)) : loadSum(here, width));
      if (addsLate && !op.getClearAccum() && !offset)
        askFor(here);
      if (!isZero && asksAhead)
        askFor(constantPointer(here, count * c.rowStride));
    });
    return starts;
  }

  Value loadSum(Value pointer, int64_t width) {
    return LLVM::LoadOp::create(builder, vectorType(width), pointer, elementBytes());
  }

  /// To c, or the last ones to where the result goes. Sums that begin at 0 though c counts are added to it, unless
  /// it is cleared now.
  void storeSums(Value target, Value resultTarget, int64_t count, ArrayRef<int64_t> widths,
                 ValueRange sums) {
    either(result.isLast, [&](bool isLast) {
      either(op.getClear(), [&](bool isClear) {
        const bool adds = addsLate && !op.getClearAccum() && !isClear;
        int64_t number = 0;
        forAccumulators(count, widths, [&](int64_t r, int64_t offset, int64_t width) {
          Value here = constantPointer(target, r * c.rowStride + offset), sum = sums[number++];
          if (adds)
            sum = plus(loadSum(here, width), sum);
          if (isLast)
            storeResult(sum, resultTarget, r, offset);
          else
            LLVM::StoreOp::create(builder, sum, here, elementBytes());
        });
      });
    });
  }

  Value plus(Value x, Value y) {
    if (isa<FloatType>(element))
      return arith::AddFOp::create(builder, x, y);
    return arith::AddIOp::create(builder, x, y);
  }

  /// This micro-kernel's share, by its rows, of the panels of b behind its own, where b is too large to stay in the
  /// second-level cache; behind the last ones come the first ones again, for the next rows of a.
  void fetchNextPanels(Value row, int64_t count, Value column, int64_t width) {
    const int64_t columnBytes = depth * elementBytes();
    if (!isPacked || !gemmStreamsB(machine, columns * columnBytes) || columns <= width)
      return;
    Value next = math.add(column, math.constant(width));
    Value isLast =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::uge, next, math.constant(columns));
    next = arith::SelectOp::create(builder, isLast, math.constant(0), next);
    Value part = builder.createOrFold<arith::DivUIOp>(
        math.mul(row, math.constant(width * columnBytes)), math.constant(rows));
    Value start = math.add(math.mul(next, math.constant(columnBytes)), part);
    const int64_t bytes = llvm::divideCeil(count * width * columnBytes, rows);
    for (int64_t line = 0; line < bytes; line += kLineBytes)
      prefetch(builder, b.pointer, math.add(start, math.constant(line)));
  }

  /// One k: all products of a column of a and a row of b, added to `sums`.
  SmallVector<Value> step(Value aHere, int64_t rowStep, ValueRange right, int64_t count,
                          ValueRange sums) {
    SmallVector<Value> results;
    for (int64_t r = 0; r < count; ++r) {
      Value left = load(element, constantPointer(aHere, r * rowStep));
      for (Value vector : right) {
        Value spread = vector::BroadcastOp::create(builder, vector.getType(), left);
        results.push_back(multiplyAdd(spread, vector, sums[results.size()]));
      }
    }
    return results;
  }

  /// `turn` of them, from k = `first` on.
  SmallVector<Value> steps(Value first, int64_t turn, Value aStart, int64_t rowStep,
                           int64_t depthStep, Value bStart, int64_t count, ArrayRef<int64_t> widths,
                           ValueRange before) {
    SmallVector<Value> sums(before);
    for (int64_t number = 0; number < turn; ++number) {
      Value k = math.add(first, math.constant(number));
      Value aHere = elementPointer(aStart, math.mul(k, math.constant(depthStep)));
      sums = step(aHere, rowStep, rowOfB(bStart, k, widths), count, sums);
    }
    return sums;
  }

  static void forAccumulators(int64_t count, ArrayRef<int64_t> widths,
                              llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
    for (int64_t r = 0; r < count; ++r) {
      int64_t offset = 0;
      for (int64_t width : widths) {
        body(r, offset, width);
        offset += width;
      }
    }
  }

  KernelShape shape = {};
  int64_t lanes;
  /// Vectors side by side in a panel of b.
  int64_t panelVectors = 1;
  /// Where b is greater by 128: what the products are then too much, per row, and less than 0.
  Value rowSums;
  /// The loop that computes b; null where b is read.
  scf::ForOp feeding;
  /// The sums begin at 0, and c is added in the end.
  bool addsLate;
  /// See gemmBytesOfA.
  int64_t bytesOfA;
  /// Of a and b, in groups.
  int64_t depth = 0;
};

struct LowerGemm : MachinePass<LowerGemm> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerGemm)
  static constexpr llvm::StringLiteral kArgument = "cpu-lower-gemm";
  static constexpr llvm::StringLiteral kDescription =
      "turn tile.gemm into micro-kernels on vectors";
  using MachinePass::MachinePass;
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                    LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    dropEmptyGemms(getOperation());
    getOperation().walk([&](tile::GemmOp op) {
      if (op->hasAttr(kTilesAttr))
        lowerToTiles(op, machine);
      else if (op->hasAttr(kSumsAttr))
        lowerToSums(op, machine);
      else
        GemmLowering(op, machine).lower();
    });
  }
};

} // namespace

std::unique_ptr<Pass> createLowerGemm(const Machine& machine) {
  return std::make_unique<LowerGemm>(machine);
}

} // namespace tilewright::cpu
