// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/root_buffer.h"
#include "compiler/ir/memory_ops.h"

namespace tilewright {

mlir::Value rootBuffer(mlir::Value buffer) {
  while (auto view = buffer.getDefiningOp<tile::ViewOp>())
    buffer = view.getSource();
  return buffer;
}

} // namespace tilewright
