// SPDX-License-Identifier: Apache-2.0
/// Converts what is left (func, arith, math, vector, cf) to the LLVM dialect.
///
///   %s = arith.addf %a, %b : f32      %e = math.exp %s : f32
/// becomes
///   %s = llvm.fadd %a, %b : f32       %e = llvm.intr.exp(%s) : (f32) -> f32
///
/// MLIR's own patterns do the work, in one conversion instead of six passes. Four things differ:
/// float to integer saturates (LLVM's plain instruction gives poison beyond the range), math
/// functions without an LLVM intrinsic are calls of libm (log1p and expm1 too, which MLIR would
/// make of log and exp), a division by an integer 0 gives 0 instead of ending the process, and a
/// shift by the width or more shifts all bits out, as on GPUs (LLVM's plain one gives poison, by
/// which stores vanish).
#include "compiler/ir/dialect.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Conversion/ArithToLLVM/ArithToLLVM.h>
#include <mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h>
#include <mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h>
#include <mlir/Conversion/LLVMCommon/ConversionTarget.h>
#include <mlir/Conversion/LLVMCommon/Pattern.h>
#include <mlir/Conversion/LLVMCommon/TypeConverter.h>
#include <mlir/Conversion/MathToLLVM/MathToLLVM.h>
#include <mlir/Conversion/MathToLibm/MathToLibm.h>
#include <mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Arith/Transforms/Passes.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>
#include <mlir/IR/Matchers.h>
#include <mlir/Pass/Pass.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

template <typename From> struct SaturatingConversion : ConvertOpToLLVMPattern<From> {
  using ConvertOpToLLVMPattern<From>::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(From op, typename From::Adaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    Type type = this->getTypeConverter()->convertType(op.getType());
    constexpr bool isSigned = std::is_same_v<From, arith::FPToSIOp>;
    auto name = rewriter.getStringAttr(isSigned ? "llvm.fptosi.sat" : "llvm.fptoui.sat");
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(op, type, name, adaptor.getIn());
    return success();
  }
};

Value constantOf(OpBuilder& builder, Location loc, Type type, int64_t number) {
  TypedAttr attribute = builder.getIntegerAttr(getElementTypeOrSelf(type), number);
  if (auto shaped = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
  return LLVM::ConstantOp::create(builder, loc, type, attribute);
}

/// Shifts, total. LLVM drops what a distance that it knows doesn't need.
template <typename From, typename To> struct TotalShift : ConvertOpToLLVMPattern<From> {
  using ConvertOpToLLVMPattern<From>::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(From op, typename From::Adaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location loc = op.getLoc();
    Value number = adaptor.getLhs(), distance = adaptor.getRhs();
    Type type = number.getType();
    const unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    APInt known;
    if (matchPattern(op.getRhs(), m_ConstantInt(&known)) && known.ult(width)) {
      rewriter.replaceOpWithNewOp<To>(op, number, distance);
      return success();
    }
    Value most = constantOf(rewriter, loc, type, width - 1);
    if (std::is_same_v<To, LLVM::AShrOp>) {
      distance = LLVM::UMinOp::create(rewriter, loc, distance, most);
      rewriter.replaceOpWithNewOp<To>(op, number, distance);
      return success();
    }
    Value isDistance =
        LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::ule, distance, most);
    Value shifted = To::create(rewriter, loc, number, distance);
    rewriter.replaceOpWithNewOp<LLVM::SelectOp>(op, isDistance, shifted,
                                                constantOf(rewriter, loc, type, 0));
    return success();
  }
};

/// Division and remainder of integers, total: x / 0 and x % 0 are 0, the least number / -1 wraps.
template <typename From, typename To, bool isSigned, bool isRemainder>
struct TotalDivision : ConvertOpToLLVMPattern<From> {
  using ConvertOpToLLVMPattern<From>::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(From op, typename From::Adaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Value left = adaptor.getLhs(), right = adaptor.getRhs();
    Type type = left.getType();
    APInt known;
    if (matchPattern(op.getRhs(), m_ConstantInt(&known)) && !known.isZero() && !known.isAllOnes()) {
      rewriter.replaceOpWithNewOp<To>(op, left, right);
      return success();
    }
    auto constant = [&](int64_t number) { return constantOf(builder, op.getLoc(), type, number); };
    Value zero = constant(0), one = constant(1);
    Value isZero = LLVM::ICmpOp::create(builder, LLVM::ICmpPredicate::eq, right, zero);
    Value unsafe = isZero;
    Value isMinusOne;
    if (isSigned) {
      isMinusOne = LLVM::ICmpOp::create(builder, LLVM::ICmpPredicate::eq, right, constant(-1));
      unsafe = LLVM::OrOp::create(builder, isZero, isMinusOne);
    }
    Value divisor = LLVM::SelectOp::create(builder, unsafe, one, right);
    Value result = To::create(builder, left, divisor);
    if (isSigned && !isRemainder) {
      Value negated = LLVM::SubOp::create(builder, zero, left);
      result = LLVM::SelectOp::create(builder, isMinusOne, negated, result);
    }
    // A remainder by 1 is already 0.
    if (!isRemainder)
      result = LLVM::SelectOp::create(builder, isZero, zero, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ConvertToLlvm : PassWrapper<ConvertToLlvm, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToLlvm)

  StringRef getArgument() const override {
    return "cpu-convert-to-llvm";
  }
  StringRef getDescription() const override {
    return "convert func, arith, math, vector and cf to the LLVM dialect";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    MLIRContext* context = &getContext();
    LowerToLLVMOptions options(context);
    LLVMTypeConverter types(context, options);
    types.addConversion([](tile::UnpackedFloat4Type type) { // as it converts f4E2M1FN itself
      return IntegerType::get(type.getContext(), FloatType(type).getWidth());
    });
    RewritePatternSet patterns(context);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns, /*approximateLog1p=*/false);
    // That of expm1 is exp(x) - 1, which has no correct digit near 0.
    llvm::erase_if(
        patterns.getNativePatterns(), [](const std::unique_ptr<RewritePattern>& pattern) {
          return pattern->getRootKind() && pattern->getRootKind()->getStringRef() == "math.expm1";
        });
    populateMathToLibmConversionPatterns(patterns, /*benefit=*/0);
    populateVectorToLLVMConversionPatterns(types, patterns, /*reassociateFPReductions=*/true);
    populateFuncToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    const PatternBenefit first(10);
    patterns.add<SaturatingConversion<arith::FPToSIOp>, SaturatingConversion<arith::FPToUIOp>,
                 TotalShift<arith::ShLIOp, LLVM::ShlOp>, TotalShift<arith::ShRUIOp, LLVM::LShrOp>,
                 TotalShift<arith::ShRSIOp, LLVM::AShrOp>,
                 TotalDivision<arith::DivSIOp, LLVM::SDivOp, true, false>,
                 TotalDivision<arith::DivUIOp, LLVM::UDivOp, false, false>,
                 TotalDivision<arith::RemSIOp, LLVM::SRemOp, true, true>,
                 TotalDivision<arith::RemUIOp, LLVM::URemOp, false, true>>(types, first);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createConvertToLlvm() {
  return std::make_unique<ConvertToLlvm>();
}

} // namespace tilewright::cpu
