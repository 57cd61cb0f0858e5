// SPDX-License-Identifier: Apache-2.0
/// The chip that the devices of this process model.
#pragma once

#include <cstddef>
#include <string>

namespace tilewright::acl {

struct ModelledChip {
  std::string socName;    ///< as aclrtGetSocName returns it
  size_t memoryBytes = 0; ///< of one device
  int vectorCores = 0;
};

/// Read once from TILEWRIGHT_ASCEND (`chip=910B1`).
__attribute__((visibility("default"))) const ModelledChip& modelledChip();

} // namespace tilewright::acl
