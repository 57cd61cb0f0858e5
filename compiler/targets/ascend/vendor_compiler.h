// SPDX-License-Identifier: Apache-2.0
/// The vendor's compiler for Ascend C, where its toolkit is installed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::ascend {

/// The command that makes a shared library of `text`, with our device headers in `headers`. Nothing
/// if neither ASCEND_HOME_PATH nor ASCEND_TOOLKIT_HOME names a toolkit with the compiler in it.
std::optional<std::vector<std::string>> vendorCommand(const std::filesystem::path& text,
                                                      const std::filesystem::path& library,
                                                      const std::string& headers);

} // namespace tilewright::ascend
