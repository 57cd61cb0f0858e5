// SPDX-License-Identifier: Apache-2.0
/// How much of each memory a kernel may use.
#pragma once

#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/dialect.h"

#include <string>

namespace tilewright::ascend {

inline constexpr tile::MemorySpace kMemoriesOnChip[] = {
    tile::MemorySpace::UB, tile::MemorySpace::L1, tile::MemorySpace::L0A, tile::MemorySpace::L0B,
    tile::MemorySpace::L0C};

/// At the end of UB and of L1, which the system keeps.
inline constexpr int64_t keptBytes = 256;

/// What a tile of global memory takes of a kernel's workspace.
inline int64_t workspaceBytesOf(tile::BufferType type) {
  constexpr uint64_t alignment = 512;
  const auto bits = static_cast<uint64_t>(type.getNumElements()) * type.getElementBits();
  return static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(bits, 8), alignment));
}

/// Bytes of the memory that a kernel may use: of UB and L1 without those that are kept.
inline int64_t capacityOf(const chips::AscendChip& chip, tile::MemorySpace space) {
  switch (space) {
  case tile::MemorySpace::UB:
    return chip.unifiedBufferBytes - keptBytes;
  case tile::MemorySpace::L1:
    return chip.l1Bytes - keptBytes;
  case tile::MemorySpace::L0A:
    return chip.l0aBytes;
  case tile::MemorySpace::L0B:
    return chip.l0bBytes;
  default:
    return chip.l0cBytes;
  }
}

/// With those that are kept.
inline int64_t sizeOf(const chips::AscendChip& chip, tile::MemorySpace space) {
  const bool isKept = space == tile::MemorySpace::UB || space == tile::MemorySpace::L1;
  return capacityOf(chip, space) + (isKept ? keptBytes : 0);
}

/// What a kernel may use, in a message.
inline std::string roomIn(const chips::AscendChip& chip, tile::MemorySpace space) {
  const int64_t capacity = capacityOf(chip, space), size = sizeOf(chip, space);
  return std::to_string(capacity) +
         (size != capacity ? " (of its " + std::to_string(size) + " the system keeps the last " +
                                 std::to_string(keptBytes) + ")"
                           : "");
}

} // namespace tilewright::ascend
