// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_arch2201.h"

#include <utility>

namespace tilewright::chips {

AscendChip arch2201(std::string name, int cubeCores, double clockMHz, uint64_t memoryGiB,
                    uint64_t l2MiB) {
  constexpr uint32_t kib = 1024;
  AscendChip chip;
  chip.socName = "Ascend" + name;
  chip.name = std::move(name);
  chip.cubeCores = cubeCores;
  chip.vectorCores = 2 * cubeCores;
  chip.clockMHz = clockMHz;
  chip.memoryBytes = memoryGiB << 30;
  chip.l2Bytes = l2MiB << 20;
  chip.unifiedBufferBytes = 192 * kib;
  chip.l1Bytes = 512 * kib;
  chip.l0aBytes = 64 * kib;
  chip.l0bBytes = 64 * kib;
  chip.l0cBytes = 128 * kib;
  chip.biasTableBytes = 1 * kib;
  chip.fixpipeBufferBytes = 2 * kib;
  return chip;
}

} // namespace tilewright::chips
