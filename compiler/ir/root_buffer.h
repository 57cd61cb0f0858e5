// SPDX-License-Identifier: Apache-2.0
/// Of what memory a buffer is.
#pragma once

#include <mlir/IR/Value.h>

namespace tilewright {

/// The buffer that a view, or a view of one, shows.
mlir::Value rootBuffer(mlir::Value buffer);

} // namespace tilewright
