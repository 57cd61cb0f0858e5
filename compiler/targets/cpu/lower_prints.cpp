// SPDX-License-Identifier: Apache-2.0
/// Turns tile.print into text, handed to TwLaunch::print.
///
///   tile.print "sum is", %s : f32
/// becomes
///   %d = arith.extf %s : f32 to f64
///   %n = llvm.call @snprintf(%line, %size, %format, %d) vararg        // "sum is %e\n"
///   llvm.call %launch->print(%launch, %line, %n)
///
/// A buffer prints its name and elements, one call each. It stands after the entry points, where the launch is at hand, and
/// before buffers are pointers.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/check_lowered.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Pass/Pass.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

/// Byte offset of TwLaunch::print.
constexpr int32_t printOffset = 16;
/// Beyond the message: room for one number.
constexpr int64_t numberBytes = 64;

class PrintLowering {
public:
  PrintLowering(func::FuncOp function, Value launch)
      : function(function), launch(launch), module(function->getParentOfType<ModuleOp>()),
        builder(function.getLoc(), function.getContext()),
        pointer(LLVM::LLVMPointerType::get(function.getContext())) {}

  void lower(tile::PrintOp op) {
    builder.setLoc(op.getLoc());
    builder.setInsertionPoint(op);
    const std::string message = escaped(op.getMessage()) + (op.getMessage().empty() ? "" : " ");
    Value what = op.getValue();
    if (!what) {
      print(escaped(op.getMessage()) + "\n", {});
    } else if (auto type = dyn_cast<BufferType>(what.getType())) {
      printBuffer(message, nameOf(op), what, type);
    } else {
      Type element = what.getType();
      if (auto integer = dyn_cast<IntegerType>(element); integer && op.getIsUnsigned())
        element = IntegerType::get(op.getContext(), integer.getWidth(), IntegerType::Unsigned);
      print(message + formatOf(element) + "\n", widened(what, element));
    }
    op.erase();
  }

private:
  /// Text as snprintf gives it back.
  static std::string escaped(StringRef text) {
    std::string result;
    for (char c : text)
      result += c == '%' ? "%%" : std::string(1, c);
    return result;
  }

  static bool isUnsigned(Type element) {
    return element.isUnsignedInteger() || element.isInteger(1);
  }

  static std::string formatOf(Type element) {
    if (isa<FloatType>(element))
      return "%e";
    return isUnsigned(element) ? "%llu" : "%lld";
  }

  /// The value as C passes it to snprintf: a double or a 64-bit integer.
  Value widened(Value value, Type element) {
    if (element.isIndex())
      return arith::IndexCastOp::create(builder, builder.getI64Type(), value);
    if (isa<FloatType>(element))
      return withoutSignOfNan(convertElement(builder, value, element, builder.getF64Type()));
    return convertElement(builder, value, element,
                          builder.getIntegerType(64, /*isSigned=*/!isUnsigned(element)));
  }

  /// As C writes the sign of a NaN, which says nothing.
  Value withoutSignOfNan(Value number) {
    auto type = cast<FloatType>(number.getType());
    Value nan = arith::ConstantOp::create(
        builder, builder.getFloatAttr(type, APFloat::getNaN(type.getFloatSemantics())));
    Value isNan = arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, number, number);
    return arith::SelectOp::create(builder, isNan, nan, number);
  }

  static std::string nameOf(tile::PrintOp op) {
    if (auto name = op->getAttrOfType<StringAttr>(tile::kNameAttr))
      return name.str();
    auto alloc = op.getValue().getDefiningOp<tile::AllocOp>();
    return alloc ? alloc.getSymName().value_or("").str() : "";
  }

  void printBuffer(const std::string& message, const std::string& name, Value buffer,
                   BufferType type) {
    print(message + escaped(name) + " = [", {});
    IndexMath math(builder);
    SmallVector<Range> ranges;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      ranges.push_back({math.constant(0), math.dim(buffer, dim)});
    buildNest(builder, ranges, [&](ImplicitLocOpBuilder& inner, ValueRange at) {
      Value first = arith::ConstantOp::create(inner, inner.getBoolAttr(true));
      for (Value index : at) {
        Value none = arith::ConstantIndexOp::create(inner, 0);
        Value here = arith::CmpIOp::create(inner, arith::CmpIPredicate::eq, index, none);
        first = arith::AndIOp::create(inner, first, here);
      }
      Value value = widened(loadElement(inner, buffer, at), type.getElementType());
      auto branch = scf::IfOp::create(inner, first, /*withElseRegion=*/true);
      for (bool isFirst : {true, false}) {
        OpBuilder::InsertionGuard guard(inner);
        Region& region = isFirst ? branch.getThenRegion() : branch.getElseRegion();
        inner.setInsertionPointToStart(&region.front());
        print((isFirst ? "" : ", ") + formatOf(type.getElementType()), value);
      }
    });
    print("]\n", {});
  }

  /// One call of TwLaunch::print with what snprintf makes of `format` and `value` (which may be null).
  void print(const std::string& format, Value value) {
    const int64_t size = int64_t(format.size()) + numberBytes;
    Value line = stackText(size);
    Value limit =
        LLVM::ConstantOp::create(builder, builder.getI64Type(), builder.getI64IntegerAttr(size));
    SmallVector<Value> arguments{line, limit,
                                 LLVM::AddressOfOp::create(builder, pointer, text(format))};
    if (value)
      arguments.push_back(value);
    auto type =
        LLVM::LLVMFunctionType::get(builder.getI32Type(), {pointer, builder.getI64Type(), pointer},
                                    /*isVarArg=*/true);
    declareFormatter(type);
    Value count = LLVM::CallOp::create(builder, type, "snprintf", arguments).getResult();
    Value bytes = arith::ExtSIOp::create(builder, builder.getI64Type(), count);
    Value address =
        LLVM::GEPOp::create(builder, pointer, builder.getI8Type(), launch,
                            ArrayRef<LLVM::GEPArg>(printOffset), LLVM::GEPNoWrapFlags::inbounds);
    Value target = LLVM::LoadOp::create(builder, pointer, address);
    auto printType = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                                 {pointer, pointer, builder.getI64Type()});
    LLVM::CallOp::create(builder, printType, ValueRange{target, launch, line, bytes});
  }

  /// Memory for a line, in the entry block: a loop must not take more of the stack at each turn.
  Value stackText(int64_t size) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    Value count =
        LLVM::ConstantOp::create(builder, builder.getI64Type(), builder.getI64IntegerAttr(size));
    return LLVM::AllocaOp::create(builder, pointer, builder.getI8Type(), count);
  }

  void declareFormatter(LLVM::LLVMFunctionType type) {
    if (module.lookupSymbol("snprintf"))
      return;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    LLVM::LLVMFuncOp::create(builder, "snprintf", type);
  }

  /// The symbol of a constant string.
  StringRef text(const std::string& content) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    std::string name;
    for (int number = 0; name.empty() || module.lookupSymbol(name); ++number)
      name = "print_text_" + std::to_string(number);
    const std::string bytes = content + '\0';
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), unsigned(bytes.size()));
    auto global =
        LLVM::GlobalOp::create(builder, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                               builder.getStringAttr(bytes));
    return global.getSymName();
  }

  func::FuncOp function;
  Value launch;
  ModuleOp module;
  ImplicitLocOpBuilder builder;
  Type pointer;
};

struct LowerPrints : PassWrapper<LowerPrints, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPrints)

  StringRef getArgument() const override {
    return "cpu-lower-prints";
  }
  StringRef getDescription() const override {
    return "turn tile.print into text for the launch's print function";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::PrintOp> ops;
    getOperation().walk([&](tile::PrintOp op) { ops.push_back(op); });
    for (tile::PrintOp op : ops) {
      Value launch = launchArgument(op);
      if (!launch)
        return signalPassFailure();
      PrintLowering(op->getParentOfType<func::FuncOp>(), launch).lower(op);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createLowerPrints() {
  return std::make_unique<LowerPrints>();
}

} // namespace tilewright::cpu
