// SPDX-License-Identifier: Apache-2.0
/// How a kernel is compiled for each target: one function and one file, compile_<target>.cpp, each.
#pragma once

#include "compiler/builder/built_kernel.h"
#include "tilewright/compile.h"

namespace tilewright {

/// Nothing, and why, where the target can't. Diagnostics without a place get the kernel's.
using CompileFor = std::optional<Artifact>(const BuiltKernel& kernel, const CompileOptions& options,
                                           std::vector<Diagnostic>& diagnostics);

CompileFor compileForCpu, compileForAscend;

} // namespace tilewright
