// SPDX-License-Identifier: Apache-2.0
/// From an object in memory to an ELF shared library in memory.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>
#include <vector>

namespace tilewright::cpu {

/// The undefined symbols of an ELF object, in the order of its symbol table.
std::vector<std::string> undefinedSymbols(llvm::StringRef object);

/// The symbols that others may use of an ELF object.
std::vector<std::string> definedSymbols(llvm::StringRef object);

/// Links `object`, and `own` if it isn't empty, to a shared library. Nothing, and a sentence in
/// `problem`, if they need a symbol that is neither theirs nor in external_symbols.cpp, or if the
/// linker fails. Temporary files live in a
/// fresh folder of the system's temporary folder, in memory where the system has /dev/shm.
/// Thread-safe (one at a time).
std::optional<std::vector<char>> linkLibrary(llvm::StringRef object, std::string& problem,
                                             llvm::StringRef own = "");

} // namespace tilewright::cpu
