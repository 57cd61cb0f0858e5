// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/overlapping_operands.h"

#include "compiler/passes/analysis/iteration_overlap.h"
#include "compiler/passes/analysis/operand_overlap.h"
#include "compiler/targets/ascend/tile_addresses.h"

namespace tilewright::ascend {

using namespace mlir;

bool checkOperands(tile::ParallelOp nest) {
  const auto stridesOf = [](tile::BufferType type) -> std::optional<SmallVector<int64_t>> {
    if (type.getSpace() != tile::MemorySpace::UB)
      return std::nullopt;
    return ubStrides(type);
  };
  const std::optional<std::string> found = describeOverlap(nest, stridesOf);
  auto function = nest->getAttrOfType<StringAttr>("function");
  if (!found || (!function && dependsOnItself(nest))) // the driver tells it for all targets
    return true;
  if (function)
    nest.emitError() << "T.tile." << function.getValue() << " " << *found;
  else
    nest.emitWarning() << "this T.Parallel loop " << *found;
  return !function;
}

} // namespace tilewright::ascend
