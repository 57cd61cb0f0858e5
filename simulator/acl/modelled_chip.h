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

const ModelledChip& modelledChip();

} // namespace tilewright::acl
