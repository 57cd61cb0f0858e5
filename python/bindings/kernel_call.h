// SPDX-License-Identifier: Apache-2.0
/// A loaded kernel, called with Python objects.
#pragma once

#include "runtime/arguments.h"
#include "runtime/ascend/kernel.h"
#include "runtime/cpu/library.h"

#include <atomic>
#include <nanobind/nanobind.h>

namespace tilewright::bindings {

/// `_runtime.Kernel`. Immutable once made, so callable from any thread.
struct KernelObject {
  /// Machine code, or null where `device` or `function` runs the kernel.
  std::shared_ptr<runtime::CpuKernel> code;
  runtime::ArgumentChecker checker;
  /// Called with all parameters in order: (address, shape, strides in elements) of a tensor, the
  /// value of a scalar; shapes count elements, also of packed types.
  nanobind::object function{};
  /// The kernel on an NPU.
  std::shared_ptr<runtime::AscendKernel> device{};
  /// No call has looked yet for tensors that want gradients.
  mutable std::atomic<bool> isNew{true};
};

/// Calls the kernel: with all parameters in order, or without the outputs, which are then made.
/// Gives the output, a list of several outputs, or None if there is none. Null with a Python
/// exception set: TypeError for a wrong number or kind of arguments, ValueError for a wrong one,
/// RuntimeError or KeyboardInterrupt from the launch.
PyObject* callKernel(const KernelObject& kernel, PyObject* const* arguments, size_t count,
                     PyObject* keywords);

} // namespace tilewright::bindings
