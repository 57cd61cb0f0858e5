// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_arch2201.h"

namespace tilewright::chips {

// 64 GB of HBM; the chip of most published measurements (1.85 GHz).
AscendChip ascend910B1() {
  return arch2201("910B1", 24, 1850, 64, 192);
}

} // namespace tilewright::chips
