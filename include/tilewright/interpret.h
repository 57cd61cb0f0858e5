// SPDX-License-Identifier: Apache-2.0
/// The reference interpreter as a target: runs a finished kernel's tile IR directly, slowly, with
/// every check on (docs/interpreter.md).
#pragma once

#include "tilewright/builder.h"

#include <atomic>
#include <functional>

namespace tilewright {

/// Memory of the caller, in the parameter's dtype (4-bit elements in pairs, the low half first).
struct HostTensor {
  void* data = nullptr;
  std::vector<int64_t> shape;
  /// In elements; empty for row-major.
  std::vector<int64_t> strides;
  /// Made for this call (dense): reading what the kernel hasn't written is an error.
  bool isFresh = false;
  /// Given to the caller: a warning tells which elements of a fresh one the kernel left unwritten.
  bool isResult = false;
};
using HostArgument = std::variant<HostTensor, int64_t, double>;

/// What stands for functions in C (T.call_extern): numbers and addresses in, a number out. False, and a
/// sentence in `problem`, where there is none of that name or it failed.
using HostNumber = std::variant<int64_t, double>;
using HostFunction = std::function<bool(std::string_view name, const std::vector<HostNumber>& given,
                                        HostNumber& result, std::string& problem)>;

/// Runs the whole grid on the calling thread, with all parameters in the order of the signature.
/// False after an error, which `diagnostics` receives with the kernel's place; they receive warnings, too. `printed` receives
/// what T.print says (stdout if absent); setting `cancel` from another thread ends the run. With
/// `reportsOutOfRange` an element outside of a tensor is an error, too (it reads as 0 else). With `iterationsTakeTurns` those
/// of T.Parallel run in order, and may share elements. With `pairsCores` what the cube and the vector cores of an NPU hand to each
/// other comes before its use, as the Ascend target has it where it sets the flags between them (docs/ascend-sync.md).
bool interpret(const KernelModule& kernel, const std::vector<HostArgument>& arguments,
               std::vector<Diagnostic>& diagnostics, std::string* printed = nullptr,
               const std::atomic<bool>* cancel = nullptr, const HostFunction& call = {},
               bool reportsOutOfRange = false, bool iterationsTakeTurns = false,
               bool pairsCores = false);

} // namespace tilewright
