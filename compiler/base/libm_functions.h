// SPDX-License-Identifier: Apache-2.0
/// The functions of C's libm that kernels may call by name, and what they take.
#pragma once

#include "tilewright/dtype.h"

#include <optional>
#include <string_view>
#include <vector>

namespace tilewright {

struct LibmFunction {
  std::vector<Dtype> arguments;
  Dtype result;
};

/// One of libm on numbers, by its name for double (`exp`) or float (`expf`).
std::optional<LibmFunction> findLibmFunction(std::string_view name);

} // namespace tilewright
