// SPDX-License-Identifier: Apache-2.0
/// The symbols that emitted code may take from outside: the one list, with the library of each. A
/// kernel that needs any other symbol is refused when it is linked, so that no call into a
/// compiler's support library (`__truncsfbf2`, `__extendhfsf2`, ...) goes unnoticed.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

namespace llvm {
class TargetLibraryInfoImpl;
}

namespace tilewright::cpu {

struct Machine;

/// Where an external symbol comes from: the library's name as the dynamic linker knows it.
enum class ExternalLibrary { None, C, Math, VectorMath };

/// The library that offers `symbol`, or `None` if emitted code may not use it.
ExternalLibrary findExternalSymbol(llvm::StringRef symbol);

/// `libm.so.6` and so on; empty for `C` (every process has it) and `None`.
llvm::StringRef sharedObjectName(ExternalLibrary library);

/// Tells LLVM's vectoriser which scalar math functions have vector forms on this machine.
void addVectorMath(const Machine& machine, llvm::TargetLibraryInfoImpl& library);

} // namespace tilewright::cpu
