// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/describe_kernel.h"

#include "compiler/ir/kernel_manifest.h"

#include <llvm/Support/raw_ostream.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::dtypeName;
using tile::KernelArgument;

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

std::string makeHeader(func::FuncOp kernel) {
  const std::string name = kernel.getName().str();
  std::string guard = "TILEWRIGHT_KERNEL_" + StringRef(name).upper() + "_H";
  std::string parameters, notes, symbols;
  for (const KernelArgument& argument : tile::kernelArguments(kernel)) {
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
