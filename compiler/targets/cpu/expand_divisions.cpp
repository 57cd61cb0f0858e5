// SPDX-License-Identifier: Apache-2.0
/// Spells out divisions of float32 by vectors of AVX-512 as Intel's servers have it, with fast math.
///
///   %q = arith.divf %x, %d : vector<16xf32>
/// becomes
///   %r = vrcp14ps %d              // 1 / d, with a relative error of 2^-14
///   %q = arith.mulf %x, %r
///   %e = math.fma -%d, %q, %x     // what is left of x
///   %f = math.fma %e, %r, %q      // within 1 ulp
///   %g = %f, or %q where they are equal (a zero keeps its sign) or %f is NaN (%r is 0 or infinite, or %q is)
///
/// The divider takes 16 cycles for such a vector, this four of the multipliers. On GPUs fast math allows 2 ulp, and
/// takes subnormal numbers for 0 (CUDA C++ Programming Guide, __fdividef), as this may do with divisors; subnormal dividends lose
/// what an ulp of theirs makes. Within 2^-14 of the largest finite
/// number the quotient may be infinite.
///
/// If what is divided, or what by, is made of an exponential of 13 right bits (`tilewright.exp_bits`), %q is near enough.
/// So it goes before cpu-expand-exponentials. AMD's divide twice to four times as fast, and keep the division.
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>
#include <mlir/IR/TypeUtilities.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

constexpr int64_t kDividedLanes = 16;
/// How deep an exponential is looked for.
constexpr int kDeepestExponential = 8;

bool isOfExponential(Value value, int depth = kDeepestExponential) {
  Operation* op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<math::ExpOp, math::Exp2Op>(op))
    return true;
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
             vector::ShuffleOp, vector::BroadcastOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isOfExponential(operand, depth - 1); });
}

Value quotient(ImplicitLocOpBuilder& builder, Value dividend, Value divisor, bool isShort) {
  const Type type = dividend.getType();
  Value zeros = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  Value allLanes = arith::ConstantOp::create(builder, builder.getI16IntegerAttr(-1));
  Value reciprocal = LLVM::CallIntrinsicOp::create(
                         builder, type, builder.getStringAttr("llvm.x86.avx512.rcp14.ps.512"),
                         ValueRange{divisor, zeros, allLanes})
                         .getResult(0);
  Value first = arith::MulFOp::create(builder, dividend, reciprocal);
  if (isShort)
    return first;
  Value less = arith::NegFOp::create(builder, divisor);
  Value left = math::FmaOp::create(builder, less, first, dividend);
  Value better = math::FmaOp::create(builder, left, reciprocal, first);
  Value isBetter = arith::CmpFOp::create(builder, arith::CmpFPredicate::ONE, better, first);
  return arith::SelectOp::create(builder, isBetter, better, first);
}

struct ExpandDivisions : MachinePass<ExpandDivisions> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandDivisions)
  ExpandDivisions(const Machine& machine, unsigned wanted) : MachinePass(machine) {
    bits = wanted;
  }
  ExpandDivisions(const ExpandDivisions& other) : MachinePass(other) {}
  static constexpr llvm::StringLiteral kArgument = "cpu-expand-divisions";
  static constexpr llvm::StringLiteral kDescription = "spell out divisions of float32, if fast";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry
        .insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    if (!machine.hasTwoWideMultipliers)
      return;
    getOperation()->walk([&](arith::DivFOp division) {
      if (!getElementTypeOrSelf(division).isF32() ||
          !isOfWholeVectors(division.getType(), kDividedLanes))
        return;
      ImplicitLocOpBuilder builder(division.getLoc(), division);
      const bool isShort = bits <= kShortExpBits && (isOfExponential(division.getLhs()) ||
                                                     isOfExponential(division.getRhs()));
      Value result = vectorByVector(builder, division->getOperands(), kDividedLanes,
                                    [&](ArrayRef<Value> part) {
                                      return quotient(builder, part.front(), part.back(), isShort);
                                    });
      division.replaceAllUsesWith(result);
      division.erase();
    });
  }

  Option<unsigned> bits{*this, "bits", llvm::cl::desc("of exponentials that are right"),
                        llvm::cl::init(22)};
};

} // namespace

std::unique_ptr<Pass> createExpandDivisions(const Machine& machine, unsigned bits) {
  return std::make_unique<ExpandDivisions>(machine, bits);
}

} // namespace tilewright::cpu
