// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/overlapping_operands.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/passes/analysis/iteration_overlap.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/tile_addresses.h"

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

namespace {

struct OperandAccess {
  OperandAccess(Value buffer, ValueRange indices, tile::ParallelOp nest)
      : type(cast<BufferType>(buffer.getType())) {
    if (type.getSpace() != MemorySpace::UB)
      return;
    SmallVector<int64_t> steps;
    for (const int64_t stride : ubStrides(type))
      steps.push_back(stride * int64_t(type.getElementBits()));
    if (std::optional<ElementPlace> found = placeInNest(indices, steps, nest)) {
      place = std::move(*found);
      isKnown = true;
    }
  }

  BufferType type;
  ElementPlace place; ///< in bits
  bool isKnown = false;
};

/// From the first byte that a nest accesses to the last, of factors that are not negative.
int64_t bytesOf(const OperandAccess& access, ArrayRef<int64_t> extents) {
  int64_t bits = int64_t(access.type.getElementBits());
  for (auto [extent, factor] : llvm::zip(extents, access.place.factors))
    bits += std::abs(factor) * (extent - 1);
  return int64_t(llvm::divideCeil(bits, 8));
}

} // namespace

bool checkOperands(tile::ParallelOp nest) {
  const std::optional<SmallVector<int64_t>> known = extentsOfStraightNest(nest);
  if (!known)
    return true;
  const ArrayRef<int64_t> extents = *known;
  auto function = nest->getAttrOfType<StringAttr>("function");
  for (auto store : nest.getBodyBlock()->getOps<tile::StoreOp>())
    for (auto load : nest.getBodyBlock()->getOps<tile::LoadOp>()) {
      if (npu::storageOf(store.getBuffer()) != npu::storageOf(load.getBuffer()))
        continue;
      const OperandAccess write(store.getBuffer(), store.getIndices(), nest),
          read(load.getBuffer(), load.getIndices(), nest);
      if (!write.isKnown || !read.isKnown)
        continue;
      const auto width = std::min(write.type.getElementBits(), read.type.getElementBits());
      const std::optional<int64_t> apart =
          overlapOf(write.place, read.place, extents, int64_t(width));
      if (!apart || (!function && dependsOnItself(nest))) // the driver tells it for all targets
        continue;
      const std::string name = quotedBuffer(npu::storageOf(store.getBuffer()));
      InFlightDiagnostic told = function ? nest.emitError() : nest.emitWarning();
      told << (function ? "T.tile." + function.getValue().str() : "this T.Parallel loop")
           << " writes " << bytesOf(write, extents) << " bytes of "
           << (name.empty() ? "a tile" : name) << " that begin ";
      if (*apart == 0)
        told << "with";
      else
        told << std::abs(*apart) / 8 << " bytes " << (*apart > 0 ? "behind" : "before");
      told
          << " the " << bytesOf(read, extents)
          << " that it reads of it; the vector unit has no order for what overlaps in part, so let "
             "them be the same or apart";
      return !function;
    }
  return true;
}

} // namespace tilewright::ascend
