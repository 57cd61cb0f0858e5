// SPDX-License-Identifier: Apache-2.0
/// Python numbers as scalar arguments of a kernel.
#pragma once

#include "runtime/arguments.h"

#include <nanobind/nanobind.h>

namespace tilewright::bindings {

/// The bits of a Python or NumPy number (or a tensor of one element) in the low bytes of `slot`.
/// False with a TypeError (kind) or ValueError (range) set that names kernel and parameter.
bool encodeScalar(const runtime::ArgumentChecker& checker, size_t param, PyObject* object,
                  uint64_t& slot);

/// The Python number that `slot` holds; of a uint64, its bits as an int64.
nanobind::object decodeScalar(const runtime::ElementType& type, uint64_t slot);

} // namespace tilewright::bindings
