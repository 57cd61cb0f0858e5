// SPDX-License-Identifier: Apache-2.0
/// How much of each memory a kernel may use.
#pragma once

#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/dialect.h"

namespace tilewright::ascend {

inline constexpr tile::MemorySpace kMemoriesOnChip[] = {
    tile::MemorySpace::UB, tile::MemorySpace::L1, tile::MemorySpace::L0A, tile::MemorySpace::L0B,
    tile::MemorySpace::L0C};

/// Bytes of the memory; of UB and L1 without the last 256, which the system keeps.
inline int64_t capacityOf(const chips::AscendChip& chip, tile::MemorySpace space) {
  constexpr int64_t keptBytes = 256;
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

} // namespace tilewright::ascend
