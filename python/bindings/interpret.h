// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tilewright {

/// Adds `interpret` to the module `_compiler`.
void bindInterpret(nanobind::module_& module);

} // namespace tilewright
