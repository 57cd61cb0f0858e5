// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_arch2201.h"

namespace tilewright::chips {

// One die (of two) of the A3 package, 9391/9392: the core of 910B1; 64 GB per die.
AscendChip ascendA3() {
  return arch2201("910_9391", 24, 1850, 64, 192);
}

} // namespace tilewright::chips
