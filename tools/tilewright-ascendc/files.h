// SPDX-License-Identifier: Apache-2.0
// Files and folders of the driver, none of which need be there or writable. Nothing here throws.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_FILES_H
#define TILEWRIGHT_TOOLS_ASCENDC_FILES_H

#include <filesystem>
#include <string>

namespace tilewright::ascendc {

/// Where temporary files go: TMPDIR, or what stands for it; it need not be there.
std::filesystem::path temporaryFolder();
/// The folder that the driver runs in; empty if that is gone.
std::filesystem::path workingFolder();
std::filesystem::path absoluteOf(const std::filesystem::path& path);
bool isThere(const std::filesystem::path& path);

/// These say on stderr why they fail.
bool makeFolder(const std::filesystem::path& folder);
bool writeFile(const std::filesystem::path& file, const std::string& text);

/// Writes `text` instead of what is in the file; false, with errno, if that can't be.
bool storeFile(const std::filesystem::path& file, const std::string& text);

} // namespace tilewright::ascendc

#endif
