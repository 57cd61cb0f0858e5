// SPDX-License-Identifier: Apache-2.0
/// Names for values that the kernel's author gave none.
#pragma once

#include <mlir/IR/Value.h>

#include <string>

namespace tilewright::ascend {

/// What a value is called that is written out once for several uses: by what it is used for ("row", "columns",
/// "x_start"), by where it was read ("x_value"), or by how it was computed.
std::string nameByUse(mlir::Value value);

} // namespace tilewright::ascend
