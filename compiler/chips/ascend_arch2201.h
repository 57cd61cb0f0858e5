// SPDX-License-Identifier: Apache-2.0
/// What the chips of architecture 2201 share, and one function per chip (each in its file).
#pragma once

#include "compiler/chips/ascend_chip.h"

namespace tilewright::chips {

/// A chip with the memories of architecture 2201 filled in.
AscendChip arch2201(std::string name, int cubeCores, double clockMHz, uint64_t memoryGiB,
                    uint64_t l2MiB);

AscendChip ascend910B1();
AscendChip ascend910B2();
AscendChip ascend910B3();
AscendChip ascend910B4();
AscendChip ascendA3();

} // namespace tilewright::chips
