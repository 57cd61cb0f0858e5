// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/buffer_name.h"

#include "compiler/ir/dialect.h"
#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright {

using namespace mlir;

std::string quotedBuffer(Value storage) {
  std::string name;
  if (auto alloc = storage.getDefiningOp<tile::AllocOp>())
    name = alloc.getSymName().value_or("").str();
  else if (auto argument = dyn_cast<BlockArgument>(storage))
    if (auto kernel = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      if (auto word = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), tile::kNameAttr))
        name = word.str();
  return name.empty() ? name : "'" + name + "'";
}

} // namespace tilewright
