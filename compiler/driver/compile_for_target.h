// SPDX-License-Identifier: Apache-2.0
/// How a kernel is compiled for each target: one function and one file, compile_<target>.cpp, each.
#pragma once

#include "compiler/builder/built_kernel.h"
#include "tilewright/compile.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tilewright {

struct PassSession;

/// Nothing, and why, where the target can't. Diagnostics without a place get the kernel's.
using CompileFor = std::optional<Artifact>(const BuiltKernel& kernel, const CompileOptions& options,
                                           std::vector<Diagnostic>& diagnostics);

/// Compiles the kernel's module, which the caller has locked, and takes from the session what came of it.
/// Nothing after an error; those that passes report are of the kind `errors`.
std::optional<Artifact> makeArtifact(const BuiltKernel& kernel, PassSession& session,
                                     Severity errors, std::vector<Diagnostic>& diagnostics,
                                     llvm::function_ref<bool(mlir::ModuleOp)> compileModule);

/// Whether a pass config is given and true, or a number other than 0.
bool isOn(const CompileOptions& options, std::string_view key);

/// A pass config that is a number.
std::optional<int64_t> numberOf(const CompileOptions& options, std::string_view key);

CompileFor compileForCpu, compileForAscend;

/// Why the target knows no CPU, or chip, of this name, in one sentence; empty if it does.
using ProblemOf = std::string(const std::string& cpu);

ProblemOf problemOfCpu, problemOfChip;

} // namespace tilewright
