// SPDX-License-Identifier: Apache-2.0
/// Whether two values of the IR are the same number.
#pragma once

#include "mlir/IR/Value.h"

namespace tilewright {

/// Whether two values are the same number for sure: the same, or computed alike of the same. Either
/// may be null, which is 0.
bool isSameNumber(mlir::Value a, mlir::Value b);

} // namespace tilewright
