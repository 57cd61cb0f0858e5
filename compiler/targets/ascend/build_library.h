// SPDX-License-Identifier: Apache-2.0
/// Ascend C to a shared library: by the host's compiler driver, tilewright-ascendc.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::ascend {

/// The bytes of an ELF shared library; nothing if it can't be built, and `problem` says why, with
/// what the compiler said. The driver is `TILEWRIGHT_ASCENDC` of the environment, else that of this
/// build. Ends soon, with nothing, once `cancel` is set.
std::optional<std::vector<char>> buildLibrary(const std::string& source, std::string& problem,
                                              const std::atomic<bool>* cancel);

} // namespace tilewright::ascend
