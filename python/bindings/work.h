// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tilewright {

/// `_compiler.count_work`.
void bindWork(nanobind::module_& module);

} // namespace tilewright
