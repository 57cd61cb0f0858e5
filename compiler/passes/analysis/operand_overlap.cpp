// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/operand_overlap.h"

#include "compiler/ir/npu_access.h"
#include "compiler/ir/region_overlap.h"
#include "compiler/passes/analysis/buffer_name.h"
#include "compiler/passes/analysis/iteration_overlap.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright {

using namespace mlir;
using tile::BufferType;

namespace {

struct OperandAccess {
  OperandAccess(Value buffer, ValueRange indices, tile::ParallelOp nest, StridesOf stridesOf)
      : type(cast<BufferType>(buffer.getType())) {
    std::optional<SmallVector<int64_t>> steps = stridesOf(type);
    if (!steps)
      return;
    for (int64_t& step : *steps)
      step *= int64_t(type.getElementBits());
    if (std::optional<ElementPlace> found = placeInNest(indices, *steps, nest)) {
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

/// Whether some dim keeps what is written apart from what is read; nothing is said of extents that aren't numbers.
bool areApartInADim(tile::StoreOp store, tile::LoadOp load, tile::ParallelOp nest) {
  if (!tile::haveOneLayout(store.getBuffer(), load.getBuffer()))
    return false;
  for (auto [to, from] : llvm::zip(store.getIndices(), load.getIndices())) {
    const std::optional<ElementPlace> write = placeInNest(to, {1}, nest),
                                      read = placeInNest(from, {1}, nest);
    if (!write || !read)
      continue;
    const std::optional<int64_t> distance = distanceOf(*write, *read);
    if (!distance)
      continue;
    int64_t least = *distance, most = *distance;
    bool isKnown = true;
    for (auto [extent, up, down] :
         llvm::zip(nest.getMixedExtents(), write->factors, read->factors)) {
      const std::optional<int64_t> count = getConstantIntValue(extent);
      isKnown &= count || (up == 0 && down == 0);
      const int64_t last = std::max<int64_t>(count.value_or(1) - 1, 0);
      least += std::min<int64_t>(up, 0) * last - std::max<int64_t>(down, 0) * last;
      most += std::max<int64_t>(up, 0) * last - std::min<int64_t>(down, 0) * last;
    }
    if (isKnown && (least > 0 || most < 0))
      return true;
  }
  return false;
}

} // namespace

OperandOverlap compareOperands(tile::StoreOp store, tile::LoadOp load, tile::ParallelOp nest,
                               StridesOf stridesOf) {
  if (npu::storageOf(store.getBuffer()) != npu::storageOf(load.getBuffer()) ||
      areApartInADim(store, load, nest))
    return OperandOverlap::None;
  const OperandAccess write(store.getBuffer(), store.getIndices(), nest, stridesOf),
      read(load.getBuffer(), load.getIndices(), nest, stridesOf);
  if (!write.isKnown || !read.isKnown)
    return OperandOverlap::Unknown;
  const auto width = int64_t(write.type.getElementBits());
  const bool isOneWidth = width == int64_t(read.type.getElementBits());
  if (isOneWidth && write.place.factors == read.place.factors &&
      distanceOf(write.place, read.place) == 0)
    return OperandOverlap::Same;
  const std::optional<SmallVector<int64_t>> extents = extentsOfStraightNest(nest);
  if (!extents)
    return OperandOverlap::Unknown;
  const int64_t wider = std::max(width, int64_t(read.type.getElementBits()));
  if (meetElsewhere(write.place, read.place, *extents, wider) == false)
    return OperandOverlap::None;
  const int64_t narrower = std::min(width, int64_t(read.type.getElementBits()));
  return meetElsewhere(write.place, read.place, *extents, narrower) == true
             ? OperandOverlap::InPart
             : OperandOverlap::Unknown;
}

std::optional<std::string> describeOverlap(tile::ParallelOp nest, StridesOf stridesOf) {
  const std::optional<SmallVector<int64_t>> extents = extentsOfStraightNest(nest);
  if (!extents)
    return std::nullopt;
  for (auto store : nest.getBodyBlock()->getOps<tile::StoreOp>())
    for (auto load : nest.getBodyBlock()->getOps<tile::LoadOp>()) {
      if (compareOperands(store, load, nest, stridesOf) != OperandOverlap::InPart)
        continue;
      const OperandAccess write(store.getBuffer(), store.getIndices(), nest, stridesOf),
          read(load.getBuffer(), load.getIndices(), nest, stridesOf);
      const int64_t apart = *distanceOf(write.place, read.place);
      const std::string name = quotedBuffer(npu::storageOf(store.getBuffer()));
      std::string text;
      llvm::raw_string_ostream told(text);
      told << "writes " << bytesOf(write, *extents) << " bytes of "
           << (name.empty() ? "a tile" : name) << " that begin ";
      if (apart == 0)
        told << "with";
      else
        told << std::abs(apart) / 8 << " bytes " << (apart > 0 ? "behind" : "before");
      told << " the " << bytesOf(read, *extents)
           << " that it reads of it; the vector unit has no order for what overlaps in part, so "
              "let them be the same or apart";
      return text;
    }
  return std::nullopt;
}

} // namespace tilewright
