// SPDX-License-Identifier: Apache-2.0
// Finds the kernels and launches of a source and makes it C++.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_REWRITE_H
#define TILEWRIGHT_TOOLS_ASCENDC_REWRITE_H

#include "host_bodies.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ascendc {

/// By a kernel's name, the kinds that it may have: a bit for each value of tilewright::ascend::KernelType, and
/// `unsaidKind`. Which one it has is known when it is compiled. The name is empty for kernels in macros.
using KernelKinds = std::map<std::string, uint32_t>;
constexpr uint32_t unsaidKind = 1u << 6;

struct RewrittenSource {
  /// For the passes of the cores: launches are calls.
  std::string device;
  /// The same, where the bodies of functions are empty that only the host can run.
  std::string kernelsOnly;
  /// For the host: launches are calls, and the bodies of kernels are empty.
  std::string host;
  KernelKinds kernels;
  bool hasTemplates = false; ///< a kernel is a template
  bool hasLaunches = false;
  bool hasDeviceAttributes = false; ///< device_attributes.h; the texts have none
  bool includesKernelOperator = false;
  /// `line: error: ...`, empty if all is well.
  std::vector<std::string> errors;
};

/// Lines stay where they are. `path` names the source in messages of the compiler. `elsewhere`: the names in all other
/// files that are compiled together with it, if these are known (host_bodies.h). `declared`: the kernels that texts
/// before it have declared; it adds its own.
RewrittenSource rewrite(std::string_view source, const std::string& path,
                        const Names* elsewhere = nullptr, Names* declared = nullptr);

} // namespace tilewright::ascendc

#endif
