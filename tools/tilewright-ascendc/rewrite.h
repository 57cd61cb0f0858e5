// SPDX-License-Identifier: Apache-2.0
// Finds the kernels and launches of a source and makes it C++.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_REWRITE_H
#define TILEWRIGHT_TOOLS_ASCENDC_REWRITE_H

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ascendc {

/// The kind of a kernel, by the number that tilewright::ascend::KernelType has; -1: not declared.
using KernelKinds = std::map<std::string, int>;

struct RewrittenSource {
  /// For the passes of the cores: launches are calls.
  std::string device;
  /// For the host: the bodies of kernels are empty as well.
  std::string host;
  KernelKinds kernels;
  bool hasLaunches = false;
  bool includesKernelOperator = false;
  /// `line: error: ...`, empty if all is well.
  std::vector<std::string> errors;
};

/// Lines stay where they are. `path` names the source in messages of the compiler.
RewrittenSource rewrite(std::string_view source, const std::string& path);

} // namespace tilewright::ascendc

#endif
