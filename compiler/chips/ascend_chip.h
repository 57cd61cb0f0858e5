// SPDX-License-Identifier: Apache-2.0
/// What each Ascend chip has: cores, memories and clocks. One file per chip; what all chips of an
/// architecture share is in ascend_arch2201.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewright::chips {

/// A chip (for A3: one of its two dies). Sizes are in bytes; memories are those of one core.
struct AscendChip {
  std::string name;    ///< "910B1"; what TILEWRIGHT_ASCEND=chip=... names
  std::string socName; ///< as the vendor's runtime names it: "Ascend910B1"
  int archNumber = 2201;
  int cubeCores = 0;   ///< AIC
  int vectorCores = 0; ///< AIV, two per AIC
  double clockMHz = 0;
  double systemCounterMHz = 50; ///< what GetSystemCycle counts
  uint64_t memoryBytes = 0;     ///< HBM
  uint64_t l2Bytes = 0;

  uint32_t unifiedBufferBytes = 0; ///< UB of an AIV; the last 256 bytes are the system's
  uint32_t l1Bytes = 0;
  uint32_t l0aBytes = 0;
  uint32_t l0bBytes = 0;
  uint32_t l0cBytes = 0;
  uint32_t biasTableBytes = 0;
  uint32_t fixpipeBufferBytes = 0;
};

/// All chips, by name.
std::span<const AscendChip> ascendChips();

/// The chip of that name ("910B1", "Ascend910B1", "A3" for the first of its dies); null if there is
/// none.
const AscendChip* findAscendChip(std::string_view name);

} // namespace tilewright::chips
