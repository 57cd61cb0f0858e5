// SPDX-License-Identifier: Apache-2.0
/// Tensors that a caller may not give one array for.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright {

/// Marks the tensors of which one operation, or two iterations of a T.Parallel loop, surely read other elements of one
/// than they write of the other at once (kApartAttr): were they one array, the result would hang on the order.
void markTensorsApart(mlir::func::FuncOp kernel);

} // namespace tilewright
