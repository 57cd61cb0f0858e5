// SPDX-License-Identifier: Apache-2.0
/// A shared library that holds nothing but its own name: linking against it makes the result ask
/// the dynamic linker for that library, without the library (or a sysroot) being present when we
/// link.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <string>

namespace tilewright::cpu {

/// The bytes of an empty 64-bit little-endian ELF shared library. `machine` is ELF's e_machine.
std::string makeElfStub(llvm::StringRef sharedObjectName, uint16_t machine);

} // namespace tilewright::cpu
