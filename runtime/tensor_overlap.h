// SPDX-License-Identifier: Apache-2.0
/// Whether two tensors of a caller have memory in common.
#pragma once

#include "runtime/arguments.h"

namespace tilewright::runtime {

/// Same: all elements of one are those of the other, in the same order. Unknown: of strides that take too long.
enum class TensorOverlap { None, Same, InPart, Unknown };

/// Of tensors that are present, and not empty.
TensorOverlap compareTensors(const TensorView& a, const TensorView& b);

} // namespace tilewright::runtime
