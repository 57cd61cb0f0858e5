// SPDX-License-Identifier: Apache-2.0
/// From a finished kernel to machine code, in memory: no file is written and nothing is loaded
/// here.
#pragma once

#include "tilewright/builder.h"

#include <atomic>

namespace tilewright {

struct CompileOptions {
  /// "cpu", "ascend", or "reference": the interpreter, which compiles nothing.
  std::string target = "cpu";
  /// "native", an LLVM CPU name, or a level: "avx2", "avx512", "neon". "neon" makes AArch64 code
  /// ahead of time. For "ascend" a chip, e.g. "910B2", which "native" stands for.
  std::string cpu = "native";
  /// TileLang's pass configs by their keys, e.g. "tl.enable_fast_math".
  Attributes passConfigs;
  /// Keep the text of every stage in Artifact::stages (costs time).
  bool keepStages = false;
  /// "ascend": also build the Ascend C for the host. Without, Artifact::library stays empty.
  bool buildLibrary = true;
  /// When set from another thread, compiling ends at the next pass.
  const std::atomic<bool>* cancel = nullptr;
};

struct Artifact {
  std::string name;
  /// An ELF shared library, as in tilewright/kernel_abi.h.
  std::vector<char> library;
  /// JSON, as in docs/kernel-abi.md.
  std::string manifest;
  /// A C header that declares `int32_t NAME(...)`, for users of the library without our runtime.
  std::string header;
  /// Stage name and text, in the order of the pipeline: "tile", then one per
  /// pass, at last the target's own: "llvm" and "asm" for the CPU, "ascendc" and others for Ascend.
  std::vector<std::pair<std::string, std::string>> stages;
  /// Milliseconds per phase.
  std::vector<std::pair<std::string, double>> times;
};

/// Compiles; nothing if `diagnostics` received an error.
std::optional<Artifact> compile(const KernelModule& kernel, const CompileOptions& options,
                                std::vector<Diagnostic>& diagnostics);

/// Warnings of those of a kernel's parameters that no statement writes, at their places: for who knows that `results`
/// (parameters by their numbers) are made by each call and given back. `tellsUpdates`: also of those of which all writes
/// are atomic updates of what was in memory before.
std::vector<Diagnostic> unwrittenResults(const KernelModule& kernel,
                                         const std::vector<size_t>& results,
                                         bool tellsUpdates = false);

/// Takes the tensors from a kernel's parameters that it neither reads nor writes, but for those in `kept` and those that alone
/// tell a symbol that it needs. Gives their numbers. Nobody else may use the kernel meanwhile.
std::vector<unsigned> dropUnusedTensors(const std::shared_ptr<KernelModule>& kernel,
                                        const std::vector<unsigned>& kept);

/// The CPU that "native" stands for on this machine, as LLVM names it, and its level.
std::string hostCpu();

/// Why no kernel can be compiled for a CPU of this name or level, or for a chip of `target`, in one sentence;
/// empty if one can.
std::string cpuProblem(const std::string& cpu, const std::string& target = "cpu");

} // namespace tilewright
