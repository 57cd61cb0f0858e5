// SPDX-License-Identifier: Apache-2.0
// A line of a user's source. C++17.
#ifndef TILEWRIGHT_SIMULATOR_ISA_PLACE_H
#define TILEWRIGHT_SIMULATOR_ISA_PLACE_H

#include <cstdint>

namespace tilewright::ascend {

/// `here()` as a default argument gives the caller's line.
struct Place {
  const char* file = "";
  uint32_t line = 0;
  static constexpr Place here(const char* file = __builtin_FILE(),
                              uint32_t line = __builtin_LINE()) {
    return Place{file, line};
  }
};

} // namespace tilewright::ascend

#endif
