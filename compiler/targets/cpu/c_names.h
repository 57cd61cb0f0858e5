// SPDX-License-Identifier: Apache-2.0
/// What the C interface of a kernel calls it and its parameters, where C or C++ has the name itself.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tilewright::cpu {

/// The C function's name: the kernel's; `NAME_kernel` for `main`, which a program has itself, for words of C and C++,
/// and for functions of the C library, which the kernel's own code, and the program, would find in its place.
std::string cEntryName(llvm::StringRef kernel);

/// A parameter's name in the header: `NAME_` for words of C and C++.
std::string cParameterName(llvm::StringRef parameter);

} // namespace tilewright::cpu
