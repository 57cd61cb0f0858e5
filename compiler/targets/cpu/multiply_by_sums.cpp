// SPDX-License-Identifier: Apache-2.0
/// Multiplies float32, and float16, in two thirds of the multiplications, where a core adds beside multiplying: by Winograd's inner products
/// (S. Winograd, A New Algorithm for Inner Product, IEEE Transactions on Computers C-17, 1968),
///
///   x0 y0 + x1 y1 = (x0 + y1) (x1 + y0) - x0 x1 - y0 y1
///
/// whose last two products are a row's and a column's own. Of every three steps of k two are taken by pairs, one as usual:
/// as many additions as multiplications are left, on pipes of their own.
///
///   tile.gemm %a : <64x96xf32, shared>, %b : <96x64xf32, shared> into %C : <64x64xf32, fragment>
/// becomes
///   %x = tile.alloc : <64x112xf32, shared>    a nest that scales %a's rows
///   %y = tile.alloc : <99x64xf32, shared>     a nest that scales %b's columns
///   tile.gemm %x[0, 0] [64, 96], %y[0, 0] [96, 64] into %C {cpu.packed = 1, cpu.sums = 32}
///
/// Step k < 32 goes with k + 32. sum_kernels.h multiplies, and says where a row's and a column's terms lie.
///
/// A sum's error is as large as if all elements of a's row, and of b's column, were as large as the largest there (Higham,
/// Accuracy and Stability of Numerical Algorithms, 2nd ed., section 23.2.1), which is why rows and columns are scaled by powers of
/// two to about 1: without that, a row of small numbers would drown in columns of large ones. An element that is small beside its
/// neighbours, and meets a large one, may be lost; so a kernel must ask for it (`tilewright.normwise_gemm`).
///
/// A float16 becomes float32 on the way, whose errors are small beside those that it has.
///
/// What isn't finite makes a row's or column's terms so, and such gemms are multiplied as usual, as are rows and columns of
/// subnormal numbers alone. A row of zeros gives zeros.
///
/// What a loop around doesn't change is prepared before it, a from the tensor that a copy would bring it from; a that is
/// [K, M] and b that is [N, K] are turned first.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/gemm_sources.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/sum_kernels.h"
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

/// Scales are powers of two up to this one, and down to its reciprocal: all are normal numbers.
constexpr int32_t kMostExponent = 126;
/// Of float32.
constexpr int32_t kBias = 127, kFractionBits = 23;

/// What a row or a column is multiplied by, and the power of two by which its sums are; numbers or vectors of them.
struct Scale {
  Value factor, exponent;
};

class SumGemm {
public:
  SumGemm(tile::GemmOp op, const Machine& machine)
      : op(op), builder(op.getLoc(), op), lanes(machine.vectorBits / 32) {}

  /// Whether it is of such numbers on chip, and preparing its operands takes less than it gains.
  bool isWorthIt() {
    const BufferRegion a = op.getARegion(), b = op.getBRegion(), c = op.getCRegion();
    auto isTaken = [](Type type) { return type.isF32() || type.isF16(); };
    if (!isOfPlainTiles(op) || !isTaken(a.type().getElementType()) ||
        !isTaken(b.type().getElementType()) || !c.type().getElementType().isF32())
      return false;
    if (op->hasAttr(kPackedAttr))
      return false;
    rows = matrixShape(c)[0], columns = matrixShape(c)[1];
    depth = matrixShape(a)[op.getTransposeA() ? 0 : 1];
    pairs = pairsOfDepth(depth);
    if (columns % lanes || depth % kPairStep || !pairs)
      return false;
    placeA = placeToPrepare(op, a), placeB = placeToPrepare(op, b);
    // In thousandths of a cycle a product takes 62 and by sums 43; to prepare an element some 400.
    const int64_t ofA = placeA == op ? 400 * rows : 0, ofB = placeB == op ? 400 * columns : 0;
    return 19 * rows * columns > ofA + ofB;
  }

  void replace() {
    BufferRegion a = BufferRegion::whole(preparedA()), b = BufferRegion::whole(preparedB());
    builder.setInsertionPoint(op);
    a.extents[1] = builder.getIndexAttr(depth);
    b.extents[0] = builder.getIndexAttr(depth);
    auto result = tile::GemmOp::create(builder, a, b, op.getCRegion(), /*transposeA=*/false,
                                       /*transposeB=*/false, op.getClear(), op.getClearAccum(),
                                       op.getPolicy());
    result->setAttr(kPackedAttr, builder.getI64IntegerAttr(1));
    result->setAttr(kSumsAttr, builder.getI64IntegerAttr(pairs));
    op.erase();
    if (copyOfA && copyOfA.getTarget().hasOneUse()) {
      Operation* buffer = copyOfA.getTarget().getDefiningOp();
      copyOfA.erase();
      buffer->erase();
    }
  }

private:
  Value newBuffer(ArrayRef<int64_t> shape) {
    auto type = BufferType::get(shape, builder.getF32Type(), tile::MemorySpace::Shared);
    return tile::AllocOp::create(builder, type, StringAttr(), IntegerAttr());
  }

  Type floats(int64_t count) {
    return VectorType::get({count}, builder.getF32Type());
  }

  /// An integer of the type of `like`.
  Value integer(Value like, int32_t value) {
    if (auto type = dyn_cast<VectorType>(like.getType()))
      return arith::ConstantOp::create(builder,
                                       DenseElementsAttr::get(type, APInt(32, uint32_t(value))));
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  }

  /// As floats.
  Value reinterpreted(Value bits) {
    Type type = builder.getF32Type();
    if (auto vector = dyn_cast<VectorType>(bits.getType()))
      type = vector.clone(type);
    return arith::BitcastOp::create(builder, type, bits);
  }

  /// The larger of `most` and the numbers' magnitudes, as bits: what isn't finite is largest.
  Value largest(Value most, Value numbers) {
    Value bits = arith::BitcastOp::create(builder, most.getType(), numbers);
    bits = arith::AndIOp::create(builder, bits, integer(most, 0x7fffffff));
    return arith::MaxUIOp::create(builder, most, bits);
  }

  /// Of what has so many bits as its largest magnitude.
  Scale scaleOf(Value most) {
    auto number = [&](int32_t value) { return integer(most, value); };
    Value shift = number(kFractionBits);
    Value exponent = arith::ShRUIOp::create(builder, most, shift);
    exponent = arith::MaxSIOp::create(builder, exponent, number(kBias - kMostExponent));
    exponent = arith::MinSIOp::create(builder, exponent, number(kBias + kMostExponent));
    Value opposite = arith::SubIOp::create(builder, number(2 * kBias), exponent);
    Value factor = reinterpreted(arith::ShLIOp::create(builder, opposite, shift));
    exponent = arith::SubIOp::create(builder, exponent, number(kBias));
    exponent = arith::SIToFPOp::create(builder, factor.getType(), exponent);
    Value isZero = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, most, number(0));
    Value minusInfinity = reinterpreted(number(int32_t(0xff800000)));
    return {factor, arith::SelectOp::create(builder, isZero, minusInfinity, exponent)};
  }

  /// A row's or a column's own products, or NaN where its largest magnitude is not finite, or subnormal and so too small to
  /// be scaled to 1.
  Value ownOrNan(Value own, Value most) {
    auto isLess = [&](Value left, int32_t right) -> Value {
      return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, left, integer(most, right));
    };
    constexpr int32_t leastNormal = 1 << kFractionBits, infinity = 0x7f800000;
    Value lessOne = arith::SubIOp::create(builder, most, integer(most, 1)); // of 0 the largest
    Value nan = reinterpreted(integer(most, 0x7fc00000));
    own = arith::SelectOp::create(builder, isLess(most, infinity), own, nan);
    return arith::SelectOp::create(builder, isLess(lessOne, leastNormal - 1), nan, own);
  }

  /// A loop from `first` up to `end` that goes on with `start`; what it ends with. `body` gives the next one.
  Value loop(int64_t first, int64_t end, int64_t step, Value start,
             llvm::function_ref<Value(Value, Value)> body) {
    IndexMath math(builder);
    if (first >= end)
      return start;
    auto result = scf::ForOp::create(builder, math.constant(first), math.constant(end),
                                     math.constant(step), start ? ValueRange(start) : ValueRange());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(result.getBody());
    if (!start) {
      body(result.getInductionVar(), Value());
      return {};
    }
    scf::YieldOp::create(builder, body(result.getInductionVar(), result.getRegionIterArg(0)));
    return result.getResult(0);
  }

  Value sumOf(Value numbers) {
    auto sum = vector::ReductionOp::create(builder, vector::CombiningKind::ADD, numbers);
    sum.setFastmath(arith::FastMathFlags::reassoc);
    return sum;
  }

  /// `count` elements of row `row` of a matrix from `column` on.
  Value loadRow(const BufferRegion& region, Value row, Value column, int64_t count) {
    Value numbers =
        loadVector(builder, region.buffer, placeIn(builder, region, row, column), count);
    if (region.type().getElementType().isF32())
      return numbers;
    return arith::ExtFOp::create(builder, floats(count), numbers);
  }

  /// a as [M, K]; where a copy would bring it from, if that has its rows as they are.
  BufferRegion rowsOfA() {
    const BufferRegion a = op.getARegion();
    if (op.getTransposeA())
      return turned(builder, a);
    copyOfA = copyOfOneRun(op, a);
    return copyOfA ? copyOfA.getSourceRegion() : a;
  }

  /// a, its rows scaled, with their terms.
  Value preparedA() {
    builder.setInsertionPoint(placeA);
    const BufferRegion a = rowsOfA();
    Value buffer = newBuffer({rows, depth + kTermsOfRow});
    Value none = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
    Value all = loop(0, rows, 1, none, [&](Value row, Value total) {
      return arith::AddFOp::create(builder, total, prepareRow(a, buffer, row));
    });
    IndexMath math(builder);
    storeElement(builder, all, buffer, {math.constant(0), math.constant(depth + kAllOfRow)});
    return buffer;
  }

  /// Gives the row's own products.
  Value prepareRow(const BufferRegion& a, Value buffer, Value row) {
    IndexMath math(builder);
    auto words = VectorType::get({kPairStep}, builder.getI32Type());
    Value most = arith::ConstantOp::create(builder, builder.getZeroAttr(words));
    most = loop(0, depth, kPairStep, most, [&](Value k, Value before) {
      return largest(before, loadRow(a, row, k, kPairStep));
    });
    most = vector::ReductionOp::create(builder, vector::CombiningKind::MAXUI, most);
    const Scale scale = scaleOf(most);
    Value factor = vector::BroadcastOp::create(builder, floats(kPairStep), scale.factor);
    auto scaled = [&](Value k) {
      Value numbers = loadRow(a, row, k, kPairStep);
      numbers = arith::MulFOp::create(builder, numbers, factor);
      storeVector(builder, numbers, buffer, {row, k});
      return numbers;
    };
    Value own = arith::ConstantOp::create(builder, builder.getZeroAttr(floats(kPairStep)));
    own = loop(0, pairs, kPairStep, own, [&](Value k, Value before) -> Value {
      Value here = scaled(k);
      Value other = scaled(math.add(k, math.constant(pairs)));
      return math::FmaOp::create(builder, here, other, before);
    });
    loop(2 * pairs, depth, kPairStep, Value(), [&](Value k, Value) { return scaled(k); });
    Value sum = sumOf(own);
    Value less = arith::NegFOp::create(builder, sum);
    storeElement(builder, less, buffer, {row, math.constant(depth + kOwnProducts)});
    storeElement(builder, scale.exponent, buffer, {row, math.constant(depth + kExponent)});
    return ownOrNan(sum, most);
  }

  /// b as panels of a vector's columns, scaled, with their terms.
  Value preparedB() {
    builder.setInsertionPoint(placeB);
    const BufferRegion b = op.getTransposeB() ? turned(builder, op.getBRegion()) : op.getBRegion();
    Value buffer = newBuffer({depth + kTermsOfColumn, columns});
    auto view = BufferType::get({columns / lanes, depth + kTermsOfColumn, lanes},
                                builder.getF32Type(), tile::MemorySpace::Shared);
    Value panels = tile::ViewOp::create(builder, view, buffer, ValueRange());
    Value none = arith::ConstantOp::create(builder, builder.getZeroAttr(floats(lanes)));
    Value all = loop(0, columns / lanes, 1, none, [&](Value panel, Value total) {
      return arith::AddFOp::create(builder, total, preparePanel(b, panels, panel));
    });
    IndexMath math(builder);
    storeVector(builder, all, panels,
                {math.constant(0), math.constant(depth + kAllOfColumn), math.constant(0)});
    return buffer;
  }

  /// Gives the columns' own products.
  Value preparePanel(const BufferRegion& b, Value panels, Value panel) {
    IndexMath math(builder);
    Value first = math.mul(panel, math.constant(lanes)), none = math.constant(0);
    auto words = VectorType::get({lanes}, builder.getI32Type());
    Value most = arith::ConstantOp::create(builder, builder.getZeroAttr(words));
    most = loop(0, depth, 1, most, [&](Value k, Value before) {
      return largest(before, loadRow(b, k, first, lanes));
    });
    const Scale scale = scaleOf(most);
    auto scaled = [&](Value k) {
      Value numbers = loadRow(b, k, first, lanes);
      numbers = arith::MulFOp::create(builder, numbers, scale.factor);
      storeVector(builder, numbers, panels, {panel, k, none});
      return numbers;
    };
    Value own = arith::ConstantOp::create(builder, builder.getZeroAttr(floats(lanes)));
    own = loop(0, pairs, 1, own, [&](Value k, Value before) -> Value {
      Value here = scaled(k);
      Value other = scaled(math.add(k, math.constant(pairs)));
      return math::FmaOp::create(builder, here, other, before);
    });
    loop(2 * pairs, depth, 1, Value(), [&](Value k, Value) { return scaled(k); });
    storeVector(builder, own, panels, {panel, math.constant(depth + kOwnProducts), none});
    storeVector(builder, scale.exponent, panels, {panel, math.constant(depth + kExponent), none});
    return ownOrNan(own, most);
  }

  tile::GemmOp op;
  ImplicitLocOpBuilder builder;
  int64_t lanes;
  int64_t rows = 0, columns = 0, depth = 0, pairs = 0;
  Operation *placeA = nullptr, *placeB = nullptr;
  /// What is read where it would copy from.
  tile::CopyOp copyOfA;
};

class MultiplyBySums : public MachinePass<MultiplyBySums> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MultiplyBySums)
  static constexpr llvm::StringLiteral kArgument = "cpu-multiply-by-sums";
  static constexpr llvm::StringLiteral kDescription =
      "multiply float32 and float16 by Winograd's inner products where a core adds beside "
      "multiplying";
  using MachinePass::MachinePass;

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                    LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    if (!machine.addsBesideMultiplying)
      return;
    for (tile::GemmOp op : gemmsWithElements(getOperation()))
      if (SumGemm gemm(op, machine); gemm.isWorthIt())
        gemm.replace();
  }
};

} // namespace

std::unique_ptr<Pass> createMultiplyBySums(const Machine& machine) {
  return std::make_unique<MultiplyBySums>(machine);
}

} // namespace tilewright::cpu
