// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/external_symbols.h"

#include "compiler/base/libm_functions.h"
#include "compiler/targets/cpu/machine.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Analysis/TargetLibraryInfo.h>

#include <deque>
#include <vector>

namespace tilewright::cpu {
namespace {

/// From the C library, or given by the caller (`tilewright_parallel_for` is weak, see
/// docs/cpu-target.md).
constexpr llvm::StringLiteral fromC[] = {
    "memcpy",   "memmove", "memset",
    "malloc",   "free",    "printf",
    "snprintf", "syscall", "tilewright_parallel_for",
};

/// Functions of one argument in libmvec since glibc 2.35, in double and float.
constexpr llvm::StringLiteral vectorUnary[] = {
    "acos",  "acosh", "asin", "asinh", "atan",  "atanh", "cbrt",  "cos",
    "cosh",  "erf",   "erfc", "exp",   "exp10", "exp2",  "expm1", "log",
    "log10", "log1p", "log2", "sin",   "sinh",  "tan",   "tanh",
};
constexpr llvm::StringLiteral vectorBinary[] = {"pow", "atan2"};

/// One level of the x86-64 vector function ABI: its letter and the bits of its registers.
struct VectorLevel {
  char letter;
  int bits;
};
constexpr VectorLevel sse{'b', 128}, avx2{'d', 256}, avx512{'e', 512};

/// LLVM's own tables stop at AVX2 and at five functions, so we list libmvec ourselves.
struct VectorTable {
  std::deque<std::string> names;
  std::vector<llvm::VecDesc> entries;

  llvm::StringRef keep(std::string name) {
    return names.emplace_back(std::move(name));
  }

  void add(llvm::StringRef function, VectorLevel level, int elementBits,
           llvm::StringRef arguments) {
    const int lanes = level.bits / elementBits;
    const std::string suffix = elementBits == 32 ? "f" : "";
    const std::string shape = "N" + std::to_string(lanes) + arguments.str() + "_";
    llvm::StringRef vector =
        keep(std::string("_ZGV") + level.letter + shape + function.str() + suffix);
    llvm::StringRef mangling = keep("_ZGV_LLVM_N" + std::to_string(lanes) + arguments.str());
    const auto count = llvm::ElementCount::getFixed(lanes);
    for (const std::string& scalar :
         {function.str() + suffix,
          "llvm." + function.str() + (elementBits == 32 ? ".f32" : ".f64")})
      entries.emplace_back(keep(scalar), vector, count, /*Masked=*/false, mangling, std::nullopt);
  }

  void addAll(VectorLevel level) {
    for (int bits : {32, 64}) {
      for (llvm::StringRef function : vectorUnary)
        add(function, level, bits, "v");
      for (llvm::StringRef function : vectorBinary)
        add(function, level, bits, "vv");
    }
  }
};

bool contains(llvm::ArrayRef<llvm::StringLiteral> list, llvm::StringRef name) {
  return llvm::is_contained(list, name);
}

bool isVectorMath(llvm::StringRef symbol) {
  if (!symbol.consume_front("_ZGV"))
    return false;
  const size_t split = symbol.find('_');
  if (split == llvm::StringRef::npos)
    return false;
  llvm::StringRef function = symbol.substr(split + 1);
  const bool single = function.ends_with("f") && function != "erf";
  if (single)
    function = function.drop_back();
  return contains(vectorUnary, function) || contains(vectorBinary, function);
}

} // namespace

ExternalLibrary findExternalSymbol(llvm::StringRef symbol) {
  if (contains(fromC, symbol))
    return ExternalLibrary::C;
  // LLVM makes sincos of sin and cos of one number.
  if (findLibmFunction(symbol) || symbol == "sincos" || symbol == "sincosf")
    return ExternalLibrary::Math;
  return isVectorMath(symbol) ? ExternalLibrary::VectorMath : ExternalLibrary::None;
}

llvm::StringRef sharedObjectName(ExternalLibrary library) {
  switch (library) {
  case ExternalLibrary::Math:
    return "libm.so.6";
  case ExternalLibrary::VectorMath:
    return "libmvec.so.1";
  default:
    return "";
  }
}

void addVectorMath(const Machine& machine, llvm::TargetLibraryInfoImpl& library) {
  if (!machine.isX86)
    return; // glibc has libmvec for AArch64 only since 2.38
  static const VectorTable tables[] = {[] {
                                         VectorTable table;
                                         table.addAll(sse);
                                         table.addAll(avx2);
                                         return table;
                                       }(),
                                       [] {
                                         VectorTable table;
                                         table.addAll(sse);
                                         table.addAll(avx2);
                                         table.addAll(avx512);
                                         return table;
                                       }()};
  library.addVectorizableFunctions(tables[machine.vectorBits == 512].entries);
}

} // namespace tilewright::cpu
