// SPDX-License-Identifier: Apache-2.0
/// A kernel that a Python function runs, such as the reference interpreter's.
#pragma once

#include "kernel_call.h"

namespace tilewright::bindings {

/// Calls `kernel.function` with arguments that were checked; those not `given` were made for the call.
/// False with the function's exception.
bool callFunction(const KernelObject& kernel, const uint64_t* slots,
                  std::span<const runtime::TensorView> views, std::span<const int64_t> symbols,
                  std::span<PyObject* const> given);

} // namespace tilewright::bindings
