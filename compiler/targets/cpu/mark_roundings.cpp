// SPDX-License-Identifier: Apache-2.0
/// Says of numbers that are rounded to bfloat16 what makes that cheaper.
///
///   %v = arith.mulf %e, %f : f32      // both computed from bfloat16
///   %r = arith.truncf %v : f32 to bf16
/// becomes
///   %r = arith.truncf %v {cpu.short_nans} : f32 to bf16
///
/// Rounding is a sum of whole numbers on the bits, which might carry through a NaN with many bits set. The NaNs of
/// arithmetic are those of its operands, made quiet, or the machine's own: with nothing in the lower 16 bits but what an
/// operand had there. A number that is a bfloat16, a whole number or a constant has nothing there, so nothing can carry, and
/// no NaN need be told from numbers: two operations of eight for each vector.
///
/// {cpu.rough}: all but the first bits of the number are an error (`tilewright.exp_bits`), for it is a multiple of an
/// exponential. Whether it lies halfway between two bfloat16 is chance then, and it is rounded up there: one operation
/// in place of four.
///
/// Memory on chip counts if all who write to it are known. It stands at the beginning, where tile operations say so.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/passes.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

/// How deep a chain of computations is looked into.
constexpr int kDeepest = 200;

/// A fact that is asked of numbers, and follows from what they are made of.
class Fact {
public:
  /// `inCircles`: what is assumed of a number while it is asked about.
  explicit Fact(bool inCircles) : inCircles(inCircles) {}
  virtual ~Fact() = default;

  bool isTrueOf(Value value) {
    known.clear(); // answers that rest on an assumption which another one refutes aren't kept
    return holds(value);
  }

protected:
  bool holds(Value value) {
    auto [place, isNew] = known.try_emplace(value, inCircles);
    if (!isNew)
      return place->second;
    if (depth == kDeepest)
      return known[value] = false;
    ++depth;
    bool answer = false;
    if (isa<BufferType>(value.getType()))
      answer = holdsOfMemory(value);
    else if (auto load = value.getDefiningOp<tile::LoadOp>())
      answer = holds(load.getBuffer());
    else
      answer = holdsByItself(value);
    --depth;
    return known[value] = answer;
  }

  /// Of a number that isn't loaded.
  virtual bool holdsByItself(Value value) = 0;
  /// Of elements of this type, wherever they come from.
  virtual bool holdsOfType(Type element) = 0;

private:
  bool holdsOfMemory(Value buffer) {
    const auto type = cast<BufferType>(buffer.getType());
    if (holdsOfType(type.getElementType()))
      return true;
    return buffer.getDefiningOp<tile::AllocOp>() && !type.isGlobal() &&
           type.getElementType().isF32() &&
           llvm::all_of(buffer.getUsers(), [&](Operation* user) { return isFineIn(user, buffer); });
  }

  /// Whether what an operation writes to the buffer, if it does, leaves the fact true.
  bool isFineIn(Operation* user, Value buffer) {
    if (isa<tile::LoadOp>(user))
      return true;
    if (auto store = dyn_cast<tile::StoreOp>(user))
      return holds(store.getValue());
    if (auto copy = dyn_cast<tile::CopyOp>(user))
      return copy.getTargetRegion().buffer != buffer ||
             (!copy.getPad() && !copy.getScale() && !copy.getTranspose() &&
              holds(copy.getSourceRegion().buffer));
    if (auto reduce = dyn_cast<tile::ReduceOp>(user))
      return reduce.getTargetRegion().buffer != buffer || holds(reduce.getSourceRegion().buffer);
    if (auto fill = dyn_cast<tile::FillOp>(user))
      return holds(fill.getValue());
    auto gemm = dyn_cast<tile::GemmOp>(user);
    return gemm && gemm.getCRegion().buffer != buffer;
  }

  bool inCircles;
  int depth = 0;
  llvm::DenseMap<Value, bool> known;
};

/// Whether a NaN has nothing in the lower 16 bits of a float32.
class ShortNans : public Fact {
public:
  ShortNans() : Fact(/*inCircles=*/true) {}

private:
  bool holdsOfType(Type element) override {
    return element.isBF16();
  }

  bool holdsByItself(Value value) override {
    llvm::APFloat number(0.0f);
    if (matchPattern(value, m_ConstantFloat(&number)))
      return !number.isNaN() || !number.bitcastToAPInt().extractBitsAsZExtValue(16, 0);
    Operation* op = value.getDefiningOp();
    if (!op || !value.getType().isF32())
      return false;
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
      return true;
    if (auto widened = dyn_cast<arith::ExtFOp>(op))
      return widened.getIn().getType().isBF16();
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return holds(select.getTrueValue()) && holds(select.getFalseValue());
    return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
               arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
               math::ExpOp, math::Exp2Op, math::FmaOp, math::AbsFOp, math::SqrtOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return holds(operand); });
  }
};

/// Whether it is a multiple of an exponential.
class Rough : public Fact {
public:
  Rough() : Fact(/*inCircles=*/false) {}

private:
  bool holdsOfType(Type) override {
    return false;
  }

  bool holdsByItself(Value value) override {
    Operation* op = value.getDefiningOp();
    if (!op || !value.getType().isF32())
      return false;
    if (isa<math::ExpOp, math::Exp2Op>(op))
      return true;
    return isa<arith::MulFOp, arith::DivFOp, arith::NegFOp>(op) &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return holds(operand); });
  }
};

struct MarkRoundings : KernelPass<MarkRoundings> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkRoundings)
  explicit MarkRoundings(bool isShort) {
    areShort = isShort;
  }
  MarkRoundings(const MarkRoundings& other) : KernelPass(other) {}
  static constexpr llvm::StringLiteral kArgument = "cpu-mark-roundings";
  static constexpr llvm::StringLiteral kDescription =
      "say of numbers that are rounded to bfloat16 what makes that cheaper";

  void runOnOperation() override {
    ShortNans shortNans;
    Rough rough;
    getOperation().walk([&](arith::TruncFOp op) {
      if (!op.getIn().getType().isF32() || !op.getType().isBF16())
        return;
      auto mark = UnitAttr::get(op.getContext());
      if (shortNans.isTrueOf(op.getIn()))
        op->setAttr(kShortNansAttr, mark);
      if (areShort && rough.isTrueOf(op.getIn()))
        op->setAttr(kRoughAttr, mark);
    });
  }

  Option<bool> areShort{*this, "short", llvm::cl::desc("exponentials have few right bits")};
};

} // namespace

std::unique_ptr<Pass> createMarkRoundings(bool areShort) {
  return std::make_unique<MarkRoundings>(areShort);
}

} // namespace tilewright::cpu
