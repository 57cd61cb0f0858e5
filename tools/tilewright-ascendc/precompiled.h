// SPDX-License-Identifier: Apache-2.0
// What every source of a kernel includes, compiled once and kept in the user's cache. A kept header is used
// only if each file that it was made of is as it was.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_PRECOMPILED_H
#define TILEWRIGHT_TOOLS_ASCENDC_PRECOMPILED_H

#include <filesystem>
#include <string>
#include <vector>

namespace tilewright::ascendc {

struct PrecompiledHeader {
  std::string compiler;
  bool isClang;
  std::vector<std::string> flags; ///< as the sources are compiled
  /// More headers than those that every kernel needs, as `#include` takes them.
  std::vector<std::string> more;
  /// For the host and each kind of core: without what differs between them, which each source reads behind it.
  bool isForAllPasses = false;

  bool operator==(const PrecompiledHeader&) const = default;
};

/// Makes those that aren't there, all at once. For each, the options that use it; nothing if a
/// compiler fails, which has said why.
std::vector<std::vector<std::string>>
preparePrecompiled(const std::vector<PrecompiledHeader>& headers, bool verbose);

} // namespace tilewright::ascendc

#endif
