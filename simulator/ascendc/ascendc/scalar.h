// SPDX-License-Identifier: Apache-2.0
// Functions of the scalar unit.
#ifndef TILEWRIGHT_ASCENDC_SCALAR_H
#define TILEWRIGHT_ASCENDC_SCALAR_H

#include "tensors.h"

namespace AscendC {

template <int countValue> int64_t ScalarGetCountOfValue(uint64_t value) {
  int ones = __builtin_popcountll(value);
  return countValue ? ones : 64 - ones;
}
inline int64_t ScalarCountLeadingZero(uint64_t value) {
  return value ? __builtin_clzll(value) : 64;
}
inline int64_t CountBitsCntSameAsSignBit(int64_t value) {
  auto u = static_cast<uint64_t>(value < 0 ? ~value : value);
  return u ? __builtin_clzll(u) - 1 : 63;
}
/// The lowest bit that is `countValue`; -1 if there is none.
template <int countValue> int64_t ScalarGetSFFValue(uint64_t value) {
  uint64_t wanted = countValue ? value : ~value;
  return wanted ? __builtin_ctzll(wanted) : -1;
}
template <class T, class U, RoundMode mode> U ScalarCast(T value) {
  if constexpr (std::is_same_v<U, half> || std::is_same_v<U, bfloat16_t>) {
    return static_cast<U>(static_cast<float>(value));
  } else {
    auto x = static_cast<double>(value);
    switch (mode) {
    case RoundMode::CAST_FLOOR:
      return static_cast<U>(std::floor(x));
    case RoundMode::CAST_CEIL:
      return static_cast<U>(std::ceil(x));
    case RoundMode::CAST_ROUND:
      return static_cast<U>(std::round(x));
    case RoundMode::CAST_RINT:
      return static_cast<U>(std::nearbyint(x));
    default:
      return static_cast<U>(x);
    }
  }
}
inline int64_t GetArchVersion() {
  return 220;
}
inline void GetArchVersion(uint32_t& coreVersion) {
  coreVersion = 0x220;
}

} // namespace AscendC

#endif
