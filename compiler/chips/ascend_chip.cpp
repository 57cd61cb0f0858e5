// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_chip.h"

#include "compiler/chips/ascend_arch2201.h"

#include <vector>

namespace tilewright::chips {
namespace {

const std::vector<AscendChip>& table() {
  static const std::vector<AscendChip> chips = {ascend910B1(), ascend910B2(), ascend910B3(),
                                                ascend910B4(), ascendA3()};
  return chips;
}

} // namespace

std::span<const AscendChip> ascendChips() {
  return table();
}

const AscendChip* findAscendChip(std::string_view name) {
  if (name == "A3" || name == "910C")
    name = "910_9391";
  for (const AscendChip& chip : table())
    if (chip.name == name || chip.socName == name)
      return &chip;
  return nullptr;
}

} // namespace tilewright::chips
