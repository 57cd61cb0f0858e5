// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_arch2201.h"

namespace tilewright::chips {

// 20 AI cores.
AscendChip ascend910B3() {
  return arch2201("910B3", 20, 1800, 64, 192);
}

} // namespace tilewright::chips
