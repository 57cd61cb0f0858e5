// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/describe_kernel.h"

#include "compiler/ir/place_of.h"
#include "compiler/ir/structure_ops.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/AffineExpr.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
namespace json = llvm::json;

/// expression = constant + sum of coefficient times symbol; false if it is no such sum.
bool addTerms(AffineExpr expression, int64_t scale, int64_t& constant,
              llvm::SmallDenseMap<unsigned, int64_t>& terms) {
  if (auto number = dyn_cast<AffineConstantExpr>(expression)) {
    constant += scale * number.getValue();
    return true;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
    terms[symbol.getPosition()] += scale;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addTerms(binary.getLHS(), scale, constant, terms) &&
           addTerms(binary.getRHS(), scale, constant, terms);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !factor)
    return false;
  return addTerms(binary.getLHS(), scale * factor.getValue(), constant, terms);
}

json::Value dimToJson(AffineExpr dim) {
  int64_t constant = 0;
  llvm::SmallDenseMap<unsigned, int64_t> terms;
  addTerms(dim, 1, constant, terms);
  if (terms.empty())
    return constant;
  SmallVector<std::pair<unsigned, int64_t>> sorted(terms.begin(), terms.end());
  llvm::sort(sorted);
  json::Array list;
  for (auto [symbol, coefficient] : sorted)
    list.push_back(json::Array{coefficient, int64_t(symbol)});
  return json::Object{{"const", constant}, {"terms", std::move(list)}};
}

json::Array dimsToJson(AffineMap dims) {
  json::Array list;
  for (AffineExpr dim : dims.getResults())
    list.push_back(dimToJson(dim));
  return list;
}

json::Object parameterToJson(const KernelArgument& argument) {
  if (argument.kind == KernelArgument::Scalar)
    return json::Object{
        {"kind", "scalar"}, {"name", argument.name}, {"dtype", dtypeName(argument.element)}};
  return json::Object{
      {"kind", "tensor"},
      {"name", argument.name},
      {"dtype", dtypeName(argument.element)},
      {"shape", dimsToJson(argument.shape)},
      {"strides", argument.strides ? json::Value(dimsToJson(argument.strides)) : nullptr},
      {"align", int64_t(argument.buffer.getElementBits() + 7) / 8},
      {"used", argument.used}};
}

json::Array assertsToJson(func::FuncOp kernel) {
  json::Array list;
  kernel.walk([&](tile::AssertOp op) {
    Place place = placeOf(op.getLoc());
    list.push_back(json::Object{{"message", op.getMessage()},
                                {"file", place.file},
                                {"line", int64_t(place.line)},
                                {"column", int64_t(place.column)}});
  });
  return list;
}

StringRef floatName(Type element) {
  if (element.isF16())
    return "float16";
  if (element.isBF16())
    return "bfloat16";
  if (element.isF32())
    return "float32";
  if (element.isF64())
    return "float64";
  if (isa<Float8E4M3Type>(element))
    return "float8_e4m3";
  if (isa<Float8E4M3FNType>(element))
    return "float8_e4m3fn";
  if (isa<Float8E4M3FNUZType>(element))
    return "float8_e4m3fnuz";
  if (isa<Float8E5M2Type>(element))
    return "float8_e5m2";
  if (isa<Float8E5M2FNUZType>(element))
    return "float8_e5m2fnuz";
  if (isa<Float8E8M0FNUType>(element))
    return "float8_e8m0fnu";
  return "";
}

/// The C type of a scalar argument.
std::string cType(Type element) {
  if (element.isF32())
    return "float";
  if (element.isF64())
    return "double";
  if (element.isInteger(1))
    return "bool";
  auto integer = dyn_cast<IntegerType>(element);
  const std::string width =
      std::to_string(integer ? integer.getWidth() : element.getIntOrFloatBitWidth());
  // Floats that C has no type for pass as their bits.
  return (integer && !integer.isUnsigned() ? "int" : "uint") + width + "_t";
}

} // namespace

std::string dtypeName(Type element) {
  if (element.isIndex())
    return "int64";
  if (auto integer = dyn_cast<IntegerType>(element)) {
    if (integer.getWidth() == 1)
      return "bool";
    return (integer.isUnsigned() ? "uint" : "int") + std::to_string(integer.getWidth());
  }
  return floatName(element).str();
}

std::string makeManifest(func::FuncOp kernel, StringRef target, StringRef cpu,
                         int64_t scratchBytes) {
  json::Array parameters, symbols;
  for (const KernelArgument& argument : kernelArguments(kernel)) {
    if (argument.kind == KernelArgument::Symbol)
      symbols.push_back(argument.name);
    else
      parameters.push_back(parameterToJson(argument));
  }
  json::Object manifest{{"format", 1},
                        {"name", kernel.getName()},
                        {"target", target},
                        {"cpu", cpu},
                        {"params", std::move(parameters)},
                        {"symbols", std::move(symbols)},
                        {"scratch_bytes", scratchBytes},
                        {"workspace_bytes", 0},
                        {"asserts", assertsToJson(kernel)}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << json::Value(std::move(manifest));
  return text;
}

std::string makeHeader(func::FuncOp kernel) {
  const std::string name = kernel.getName().str();
  std::string guard = "TILEWRIGHT_KERNEL_" + StringRef(name).upper() + "_H";
  std::string parameters, notes, symbols;
  for (const KernelArgument& argument : kernelArguments(kernel)) {
    const bool isTensor = argument.kind == KernelArgument::Tensor;
    const bool isSymbol = argument.kind == KernelArgument::Symbol;
    (isSymbol ? symbols : parameters) += (isTensor   ? "void* "
                                          : isSymbol ? "int64_t "
                                                     : cType(argument.element) + " ") +
                                         argument.name + ", ";
    if (isTensor) {
      std::string shape;
      llvm::raw_string_ostream stream(shape);
      llvm::interleaveComma(argument.shape.getResults(), stream);
      notes += " *   " + argument.name + ": " + dtypeName(argument.element) + " [" + shape + "]\n";
    }
  }
  parameters += symbols;
  parameters = parameters.empty() ? "void" : parameters.substr(0, parameters.size() - 2);
  return "/* Made by tilewright. Tensors are dense and row-major unless their strides say "
         "otherwise; dims s0, s1, ...\n"
         " * are the int64_t parameters at the end, in their order.\n" +
         notes +
         " * Returns 0, 1 if there is no memory for the on-chip buffers, or 2 if a device_assert "
         "failed. Runs all blocks in\n"
         " * the calling thread, or hands them to tilewright_parallel_for where the program "
         "defines it. */\n"
         "#ifndef " +
         guard + "\n#define " + guard +
         "\n#include <stdbool.h>\n#include <stdint.h>\n"
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
         "int32_t " +
         name + "(" + parameters +
         ");\n"
         "/* Optional: calls body(context, begin, end) for parts of [0, count), possibly at once, "
         "and waits. */\n"
         "void tilewright_parallel_for(int64_t count, void (*body)(void* context, int64_t begin, "
         "int64_t end),\n"
         "                             void* context);\n"
         "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

} // namespace tilewright::cpu
