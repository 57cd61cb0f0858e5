// SPDX-License-Identifier: Apache-2.0
// The memories of one core (an AIC or an AIV).
#ifndef TILEWRIGHT_SIMULATOR_MEMORY_LOCAL_MEMORY_H
#define TILEWRIGHT_SIMULATOR_MEMORY_LOCAL_MEMORY_H

#include "simulator/isa/instruction.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilewright::ascend {

/// Bytes of each memory of arch 2201; 0 for GM.
constexpr std::array<uint32_t, numSpaces> spaceBytes = {
    0, 192 * 1024, 512 * 1024, 64 * 1024, 64 * 1024, 128 * 1024, 1024, 8 * 1024};

constexpr std::array<const char*, numSpaces> spaceNames = {"GM",  "UB",  "L1", "L0A",
                                                           "L0B", "L0C", "BT", "FB"};

/// True for the memories of a cube core; the others belong to a vector core.
constexpr bool isCubeSpace(Space space) {
  return space >= Space::L1;
}

/// Owns the memories of one core, each between pages that fault. Bytes start as 0xFF (NaN).
class LocalMemory {
public:
  explicit LocalMemory(bool cube);
  ~LocalMemory();
  LocalMemory(const LocalMemory&) = delete;
  LocalMemory& operator=(const LocalMemory&) = delete;

  /// Null for a memory that this kind of core hasn't.
  uint8_t* base(Space space) const {
    return bases[static_cast<unsigned>(space)];
  }
  bool isCube() const {
    return cube;
  }
  /// Fills all memories with the pattern of never-written bytes.
  void poison();

private:
  std::array<uint8_t*, numSpaces> bases{};
  uint8_t* mapping = nullptr;
  size_t mappingBytes = 0;
  bool cube;
};

/// Memories of ended cores, for the next ones: mapping new ones costs more than a short kernel.
std::unique_ptr<LocalMemory> takeLocalMemory(bool cube);
void giveLocalMemory(std::unique_ptr<LocalMemory> memory);

} // namespace tilewright::ascend

#endif
