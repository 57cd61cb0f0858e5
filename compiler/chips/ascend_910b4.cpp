// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_arch2201.h"

namespace tilewright::chips {

// 20 AI cores, half the HBM and half the L2.
AscendChip ascend910B4() {
  return arch2201("910B4", 20, 1500, 32, 96);
}

} // namespace tilewright::chips
