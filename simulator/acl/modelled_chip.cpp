// SPDX-License-Identifier: Apache-2.0
#include "simulator/acl/modelled_chip.h"

#include "compiler/chips/ascend_chip.h"
#include "simulator/launch.h"

namespace tilewright::acl {

const ModelledChip& modelledChip() {
  static const ModelledChip chip = [] {
    const chips::AscendChip* found =
        chips::findAscendChip(ascend::launchOptionsFromEnvironment().chip);
    if (!found)
      found = chips::findAscendChip("910B2");
    return ModelledChip{found->socName, size_t(found->memoryBytes), found->vectorCores};
  }();
  return chip;
}

} // namespace tilewright::acl
