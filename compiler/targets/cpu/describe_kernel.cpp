// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/describe_kernel.h"
#include "compiler/targets/cpu/c_names.h"

#include "compiler/ir/kernel_manifest.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <algorithm>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::dtypeName;
using tile::KernelArgument;

/// The C type of a scalar argument, or of a tensor's elements.
std::string cType(Type element) {
  if (element.isF32())
    return "float";
  if (element.isF64())
    return "double";
  if (element.isInteger(1))
    return "bool";
  const unsigned width = element.getIntOrFloatBitWidth();
  auto integer = dyn_cast<IntegerType>(element);
  // Floats that C has no type for pass as their bits, and what is smaller than a byte as bytes.
  const bool isSigned = integer && !integer.isUnsigned() && width >= 8;
  return (isSigned ? "int" : "uint") + std::to_string(std::max(width, 8u)) + "_t";
}

/// Whether all that is done with a tensor, where it is named itself, is reading.
bool isOnlyRead(Value tensor) {
  return llvm::all_of(tensor.getUsers(), [&](Operation* user) {
    auto interface = dyn_cast<MemoryEffectOpInterface>(user);
    SmallVector<MemoryEffects::EffectInstance> effects;
    if (interface)
      interface.getEffectsOnValue(tensor, effects);
    return !effects.empty() && llvm::all_of(effects, [](const auto& effect) {
      return isa<MemoryEffects::Read>(effect.getEffect());
    });
  });
}

/// Type and name of a parameter of the C function.
std::string parameterOf(func::FuncOp kernel, const KernelArgument& argument) {
  if (argument.kind == KernelArgument::Symbol)
    return "int64_t " + cParameterName(argument.name + (argument.scalar.empty() ? "" : "_extent"));
  if (argument.kind == KernelArgument::Scalar)
    return cType(argument.element) + " " + cParameterName(argument.name);
  const bool isInput = isOnlyRead(kernel.getArgument(argument.number));
  return (isInput ? "const " : "") + cType(argument.element) + "* " + cParameterName(argument.name);
}

} // namespace

std::string makeHeader(func::FuncOp kernel) {
  const std::string name = kernel.getName().str();
  std::string guard = "TILEWRIGHT_KERNEL_" + StringRef(name).upper() + "_H";
  std::string parameters, notes, symbols;
  for (const KernelArgument& argument : tile::kernelArguments(kernel)) {
    const bool isSymbol = argument.kind == KernelArgument::Symbol;
    (isSymbol ? symbols : parameters) += parameterOf(kernel, argument) + ", ";
    if (argument.kind == KernelArgument::Tensor) {
      std::string shape;
      llvm::raw_string_ostream stream(shape);
      llvm::interleaveComma(argument.shape.getResults(), stream);
      notes += " *   " + cParameterName(argument.name) + ": " + dtypeName(argument.element) + " [" +
               shape + "]\n";
    }
  }
  parameters += symbols;
  parameters = parameters.empty() ? "void" : parameters.substr(0, parameters.size() - 2);
  return "/* Made by tilewright. Tensors are dense and row-major unless their strides say "
         "otherwise; dims s0, s1, ...\n"
         " * are the int64_t parameters at the end, in their order.\n" +
         notes +
         " * Returns 0, 1 if there is no memory for the on-chip buffers, 2 if a device_assert "
         "failed, 3 if several blocks\n"
         " * would wait for each other, or 4 if the system refuses tile registers. Runs all blocks "
         "in the calling thread, or hands them to "
         "tilewright_parallel_for where the program "
         "defines it. */\n"
         "#ifndef " +
         guard + "\n#define " + guard +
         "\n#include <stdbool.h>\n#include <stdint.h>\n"
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
         "int32_t " +
         cEntryName(name) + "(" + parameters +
         ");\n"
         "/* Optional: calls body(context, begin, end) for parts of [0, count), possibly at once, "
         "and waits. */\n"
         "void tilewright_parallel_for(int64_t count, void (*body)(void* context, int64_t begin, "
         "int64_t end),\n"
         "                             void* context);\n"
         "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

} // namespace tilewright::cpu
