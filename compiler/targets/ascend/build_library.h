// SPDX-License-Identifier: Apache-2.0
/// Ascend C to a shared library: by the host's compiler driver, tilewright-ascendc.
#pragma once

#include "compiler/passes/pass_session.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::ascend {

/// The bytes of an ELF shared library; nothing if it can't be built, and the session's problem says why, with
/// what the compiler said. The driver is `TILEWRIGHT_ASCENDC` of the environment, else that of this
/// build. Ends soon, with nothing, once the session is cancelled.
std::optional<std::vector<char>> buildLibrary(const std::string& source, PassSession& session);

} // namespace tilewright::ascend
