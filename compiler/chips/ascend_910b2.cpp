// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_arch2201.h"

namespace tilewright::chips {

// As 910B1 with a lower clock.
AscendChip ascend910B2() {
  return arch2201("910B2", 24, 1800, 64, 192);
}

} // namespace tilewright::chips
