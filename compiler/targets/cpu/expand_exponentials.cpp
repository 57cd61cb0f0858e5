// SPDX-License-Identifier: Apache-2.0
/// Spells out exp and exp2 of float32, on scalars and vectors.
///
///   %y = math.exp2 %x : f32
/// becomes, with n the integer next to x (kept within [-151, 129])
///   %t = arith.addf %x, 1.5 * 2^23      %n = arith.subf %t, 1.5 * 2^23      // rounds to n
///   %f = arith.subf %x, %n              // exact, in [-0.5, 0.5]
///   %p = ... six math.fma ...           // 2^f
///   %y = llvm.ldexp(%p, n)              // AVX-512; elsewhere two multiplications by powers of two, whose
///                                       // exponents are halves of n + 254: the number added first has it, too
///
/// Within 1 ulp (exponentials_test.cpp in compiler/driver), with subnormal results, 0, infinity and
/// NaN as they should be.
///
/// With fast math (`tl.enable_fast_math`), as CUDA's: exp(x) is exp2(x * log2(e)), x is kept within
/// [-126, 128], five powers do, two of them side by side, and one multiplication by 2^(n - 1):
/// 13 operations instead of 18, in a chain half as long. exp2 has a relative error of 2^-22 (as ex2.approx in the PTX
/// ISA), exp 2^-23 |x| more; 0 comes in place of results below 2^-125. On whole vectors of AVX-512 it is 7 operations,
/// for two instructions are made for it: vreduceps gives x - floor(x), which is 0 of infinity, and vscalefps multiplies
/// by 2^floor(x), with results of all sizes. Beside products ({cpu.beside_products}), which leave the adders idle but not
/// the multipliers, x - floor(32 x) / 32 needs two powers and a factor from a table of 32, in two registers. Where 13 right bits are enough (`tilewright.exp_bits`), three powers do.
/// Where no argument is so large that the result would be infinity (`tilewright.exp_most`), x is kept from below only.
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>
#include <mlir/IR/TypeUtilities.h>

#include <cmath>

namespace tilewright::cpu {
namespace {

using namespace mlir;

/// The exponential of this is finite, and 2 to the power of it.
constexpr int64_t kLargestOfFinite = 87;

/// What differs between the two: minimax polynomials of degree 6 with p(0) = 1, found by iterated
/// least squares of the relative error (2e-9), and how a rest is split off.
struct Exponential {
  /// Beyond these the result is 0 or infinity.
  float least, most;
  /// Of the first power up.
  float coefficients[6];
};

/// Twice 2^f, of degree 5 with a relative error of 9e-8.
constexpr float fastPowers[5] = {1.3862939676f, 0.4804448402f, 0.1110146794f, 0.0193430224f,
                                 0.0026529452f};
/// 2^f for f in [0, 1], with p(0) = 1 and a relative error of 8e-8; 1.5e-7 with all roundings.
constexpr float floorPowers[5] = {0.6931513123f, 0.2401644435f, 0.0557999370f, 0.0090169972f,
                                  0.0018671457f};
/// The same of degree 3 with relative errors of 1.01e-4 and 8.6e-5, below 2^-13.
constexpr float shortPowers[3] = {1.3865658045f, 0.4844219387f, 0.1100181192f};
constexpr float shortFloorPowers[3] = {0.6951166391f, 0.2276449800f, 0.0770672411f};
/// 2^f for f in [0, 1/32], divided by `steppedStart`, with p(0) = 1: 5.3e-8; 2.1e-7 with all roundings.
constexpr float steppedPowers[2] = {0.69311655f, 0.2428406f};
constexpr double steppedStart = 1.00000005;
constexpr int steps = 32;
/// A sum with this has units of 1 / steps: its low bits are the step.
constexpr float steppedMagic = 1.5f * float(1 << 23) / float(steps);
/// Where the other factor, 2^(n - 1), is 0, and where the product is infinity.
constexpr float fastLeast = -126.0f, fastMost = 128.0f;
/// n + 126 is the exponent of 2^(n - 1).
constexpr float fastBias = 126.0f;

constexpr float log2OfE = 1.44269504088896341f;
constexpr Exponential exp2Of{-151.0f,
                             129.0f,
                             {0.6931471824645996f, 0.24022647738456726f, 0.055503323674201965f,
                              0.00961843691766262f, 0.0013398875016719103f,
                              0.00015353361959569156f}};
constexpr Exponential expOf{-105.0f,
                            89.0f,
                            {1.0f, 0.4999999403953552f, 0.16666431725025177f, 0.04166800156235695f,
                             0.00837415549904108f, 0.0013843653723597527f}};

/// Adding this leaves the integer next to a small number in the low bits.
constexpr float magic = 12582912.0f;
constexpr int32_t magicBits = 0x4b400000;
/// Twice the bias of an exponent.
constexpr float twoBiases = 254.0f;

class Expansion {
public:
  Expansion(Operation* op, bool hasScaling, bool inTurn, bool isShort, bool isFinite)
      : builder(op->getLoc(), op), hasScaling(hasScaling), inTurn(inTurn), isShort(isShort),
        isFinite(isFinite), isBesideProducts(op->hasAttr(kBesideProductsAttr)),
        shift(hasScaling ? magic : magic + twoBiases), x(op->getOperand(0)) {}

  Value exp2() {
    clamp(exp2Of.least, exp2Of.most);
    Value shifted = arith::AddFOp::create(builder, x, number(shift));
    Value whole = arith::SubFOp::create(builder, shifted, number(shift));
    Value rest = arith::SubFOp::create(builder, x, whole);
    return scaled(polynomial(exp2Of, rest), shifted);
  }

  Value exp() {
    clamp(expOf.least, expOf.most);
    Value shifted = math::FmaOp::create(builder, x, number(log2OfE), number(shift));
    Value whole = arith::SubFOp::create(builder, shifted, number(shift));
    // ln 2 in two parts: the first has few bits, so that its product is exact.
    Value rest = math::FmaOp::create(builder, whole, number(-0.693359375f), x);
    rest = math::FmaOp::create(builder, whole, number(2.12194440e-4f), rest);
    return scaled(polynomial(expOf, rest), shifted);
  }

  Value fastExp() {
    x = arith::MulFOp::create(builder, x, number(log2OfE));
    return fastExp2();
  }

  Value fastExp2() {
    if (hasScaling && isOfWholeVectors(x.getType(), vectorLanes))
      return fastExp2OfVectors();
    clamp(fastLeast, fastMost);
    Value shifted = arith::AddFOp::create(builder, x, number(magic + fastBias));
    Value whole = arith::SubFOp::create(builder, shifted, number(magic + fastBias));
    Value rest = arith::SubFOp::create(builder, x, whole);
    Value mantissa = isShort  ? inTurnOf(shortPowers, rest, 2.0f)
                     : inTurn ? inTurnOf(fastPowers, rest, 2.0f)
                              : fastPowersInPairs(rest);
    // Of all but the low 9 bits nothing is left.
    Value exponent = arith::ShLIOp::create(builder, bitsOf(shifted), integer(23));
    Value factor = arith::BitcastOp::create(builder, like(builder.getF32Type()), exponent);
    return arith::MulFOp::create(builder, mantissa, factor);
  }

private:
  static constexpr int64_t vectorLanes = 16;

  /// Vector by vector of the machine, which takes the instructions.
  Value fastExp2OfVectors() {
    const Value all = x;
    return vectorByVector(builder, all, vectorLanes, [&](ArrayRef<Value> part) {
      x = part.front();
      return fastExp2OfVector();
    });
  }

  Value intrinsic(StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(builder, x.getType(), builder.getStringAttr(name),
                                         operands)
        .getResult(0);
  }

  Value scalar(int width, int64_t value) {
    return arith::ConstantOp::create(
        builder, builder.getIntegerAttr(builder.getIntegerType(unsigned(width)), value));
  }

  /// x less the multiple of 2^-bits below it; 0 of infinity.
  Value restOfVector(int bits) {
    // Toward minus infinity, without exceptions; of all lanes; rounding as usual.
    return intrinsic(
        "llvm.x86.avx512.mask.reduce.ps.512",
        {x, scalar(32, bits << 4 | 0x09), number(0.0f), scalar(16, -1), scalar(32, 4)});
  }

  /// A step's factor, of the step below x.
  Value steppedFactor() {
    SmallVector<float> factors;
    for (int step = 0; step < steps; ++step)
      factors.push_back(float(steppedStart * std::exp2(double(step) / steps)));
    auto half = [&](int first) -> Value {
      auto values = ArrayRef(factors).slice(size_t(first), size_t(vectorLanes));
      return arith::ConstantOp::create(
          builder, DenseElementsAttr::get(cast<ShapedType>(x.getType()), values));
    };
    // Rounded toward minus infinity, without exceptions.
    Value number =
        intrinsic("llvm.x86.avx512.add.ps.512", {x, this->number(steppedMagic), scalar(32, 0x09)});
    return intrinsic("llvm.x86.avx512.vpermi2var.ps.512",
                     {half(0), bitsOf(number), half(int(vectorLanes))});
  }

  Value fastExp2OfVector() {
    Value sum;
    if (isShort) {
      sum = inTurnOf(shortFloorPowers, restOfVector(0), 1.0f);
    } else if (isBesideProducts) {
      sum = inTurnOf(steppedPowers, restOfVector(5), 1.0f);
      sum = arith::MulFOp::create(builder, sum, steppedFactor());
    } else {
      sum = inTurnOf(floorPowers, restOfVector(0), 1.0f);
    }
    return intrinsic("llvm.x86.avx512.mask.scalef.ps.512",
                     {sum, x, number(0.0f), scalar(16, -1), scalar(32, 4)});
  }

  /// A polynomial by its coefficients from the first power up. Side by side it is an operation more; here each waits for
  /// the one before.
  Value inTurnOf(ArrayRef<float> coefficients, Value rest, float constant) {
    Value sum = number(coefficients.back());
    for (float coefficient : llvm::reverse(coefficients.drop_back()))
      sum = math::FmaOp::create(builder, sum, rest, number(coefficient));
    return math::FmaOp::create(builder, sum, rest, number(constant));
  }

  Value fastPowersInPairs(Value rest) {
    Value square = arith::MulFOp::create(builder, rest, rest);
    auto power = [&](int exponent) { return number(fastPowers[exponent - 1]); };
    Value low = math::FmaOp::create(builder, rest, power(1), number(2.0f));
    Value middle = math::FmaOp::create(builder, rest, power(3), power(2));
    Value high = math::FmaOp::create(builder, rest, power(5), power(4));
    high = math::FmaOp::create(builder, high, square, middle);
    return math::FmaOp::create(builder, high, square, low);
  }

  /// `element`, or a vector of it where x is one.
  Type like(Type element) {
    auto shaped = dyn_cast<VectorType>(x.getType());
    return shaped ? Type(shaped.clone(element)) : element;
  }
  Value constant(TypedAttr value) {
    if (auto shaped = dyn_cast<VectorType>(like(value.getType())))
      value = DenseElementsAttr::get(shaped, Attribute(value));
    return arith::ConstantOp::create(builder, value);
  }
  Value number(float value) {
    return constant(builder.getF32FloatAttr(value));
  }
  Value integer(int32_t value) {
    return constant(builder.getI32IntegerAttr(value));
  }

  Value bitsOf(Value number) {
    return arith::BitcastOp::create(builder, like(builder.getI32Type()), number);
  }

  /// NaN stays: it compares false.
  void clamp(float least, float most) {
    for (auto [limit, predicate] : {std::pair(least, arith::CmpFPredicate::OLT),
                                    std::pair(most, arith::CmpFPredicate::OGT)}) {
      if (isFinite && limit == most)
        continue;
      Value beyond = arith::CmpFOp::create(builder, predicate, x, number(limit));
      x = arith::SelectOp::create(builder, beyond, number(limit), x);
    }
  }

  Value polynomial(const Exponential& which, Value rest) {
    Value sum = number(which.coefficients[5]);
    for (int power = 4; power >= 0; --power)
      sum = math::FmaOp::create(builder, sum, rest, number(which.coefficients[power]));
    return math::FmaOp::create(builder, sum, rest, number(1.0f));
  }

  Value scaled(Value value, Value shifted) {
    Value bits = bitsOf(shifted);
    if (hasScaling) {
      Value exponent = arith::SubIOp::create(builder, bits, integer(magicBits));
      return LLVM::CallIntrinsicOp::create(builder, value.getType(),
                                           builder.getStringAttr("llvm.ldexp"),
                                           ValueRange{value, exponent})
          .getResult(0);
    }
    // In two steps, each of which is a normal number: only the last product is rounded. Both halves of n + 254
    // lie in [51, 192]: moved up they are exponents, and nothing is left of the other bits, for the low 9 of
    // `magicBits` and of its half are 0.
    Value half = arith::ShRUIOp::create(builder, bits, integer(1));
    Value other = arith::SubIOp::create(builder, bits, half);
    for (Value exponent : {half, other}) {
      Value moved = arith::ShLIOp::create(builder, exponent, integer(23));
      Value power = arith::BitcastOp::create(builder, like(builder.getF32Type()), moved);
      value = arith::MulFOp::create(builder, value, power);
    }
    return value;
  }

  ImplicitLocOpBuilder builder;
  bool hasScaling, inTurn, isShort, isFinite, isBesideProducts;
  float shift;
  Value x;
};

struct ExpandExponentials : MachinePass<ExpandExponentials> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandExponentials)
  ExpandExponentials(const Machine& machine, bool isFast, unsigned wanted, int64_t largest)
      : MachinePass(machine) {
    fast = isFast;
    bits = wanted;
    most = largest;
  }
  ExpandExponentials(const ExpandExponentials& other) : MachinePass(other) {}
  static constexpr llvm::StringLiteral kArgument = "cpu-expand-exponentials";
  static constexpr llvm::StringLiteral kDescription = "spell out exp and exp2 of float32";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry
        .insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    const bool hasScaling = machine.isX86 && machine.vectorBits == 512;
    // Where a Zen 3 takes 7.2 cycles for a vector, the pairs of powers take 7.9; not measured elsewhere.
    const bool inTurn = machine.isX86 && machine.vectorBits == 256;
    getOperation()->walk([&](Operation* op) {
      if (!isa<math::ExpOp, math::Exp2Op>(op) || !getElementTypeOrSelf(op->getResult(0)).isF32())
        return;
      Expansion expansion(op, hasScaling, inTurn, bits <= kShortExpBits, most <= kLargestOfFinite);
      const bool isExp = isa<math::ExpOp>(op);
      Value result = fast    ? (isExp ? expansion.fastExp() : expansion.fastExp2())
                     : isExp ? expansion.exp()
                             : expansion.exp2();
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    });
  }

  Option<bool> fast{*this, "fast", llvm::cl::desc("a degree less, no subnormal results")};
  Option<unsigned> bits{*this, "bits", llvm::cl::desc("that must be right, if fast"),
                        llvm::cl::init(22)};
  Option<int64_t> most{*this, "most", llvm::cl::desc("that no argument exceeds"),
                       llvm::cl::init(INT64_MAX)};
};

} // namespace

std::unique_ptr<Pass> createExpandExponentials(const Machine& machine, bool fast, unsigned bits,
                                               int64_t most) {
  return std::make_unique<ExpandExponentials>(machine, fast, bits, most);
}

} // namespace tilewright::cpu
