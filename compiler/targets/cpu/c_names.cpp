// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/c_names.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/TargetParser/Triple.h>

namespace tilewright::cpu {

/// Words of C and C++, the types that the header uses, and what compilers define unasked.
static bool isWordOfC(llvm::StringRef name) {
  static const llvm::StringSet<> words = {
      // C
      "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
      "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
      "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
      "typeof", "union", "unsigned", "void", "volatile", "while",
      // C++
      "alignas", "alignof", "and", "and_eq", "asm", "bitand", "bitor", "bool", "catch", "char16_t",
      "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
      "const_cast", "consteval", "constexpr", "constinit", "decltype", "delete", "dynamic_cast",
      "explicit", "export", "false", "friend", "mutable", "namespace", "new", "noexcept", "not",
      "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public",
      "reinterpret_cast", "requires", "static_assert", "static_cast", "template", "this",
      "thread_local", "throw", "true", "try", "typeid", "typename", "using", "virtual", "wchar_t",
      "xor", "xor_eq",
      // of <stdint.h>, and macros
      "int16_t", "int32_t", "int64_t", "int8_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t",
      "linux", "unix"};
  return words.contains(name);
}

std::string cEntryName(llvm::StringRef kernel) {
  static const llvm::TargetLibraryInfoImpl library{llvm::Triple("x86_64-unknown-linux-gnu")};
  llvm::LibFunc function;
  const bool isTaken = kernel == "main" || kernel == "tilewright_parallel_for" ||
                       isWordOfC(kernel) || library.getLibFunc(kernel, function);
  return (isTaken ? kernel + "_kernel" : kernel).str();
}

std::string cParameterName(llvm::StringRef parameter) {
  return (isWordOfC(parameter) ? parameter + "_" : parameter).str();
}

} // namespace tilewright::cpu
