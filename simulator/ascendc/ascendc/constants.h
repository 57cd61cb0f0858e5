// SPDX-License-Identifier: Apache-2.0
// Numbers of the chip under the names that kernels use for them, and small helpers of every kernel.
#ifndef TILEWRIGHT_ASCENDC_CONSTANTS_H
#define TILEWRIGHT_ASCENDC_CONSTANTS_H

#include <cstdint>
#include <type_traits>

namespace AscendC {

// Of vector instructions: bytes, numbers of blocks, and strides in blocks.
constexpr int32_t ONE_BYTE_BIT_SIZE = 8;
constexpr int32_t ONE_BLK_SIZE = 32;
constexpr int32_t ONE_BLK_HALF_NUM = 16;
constexpr int32_t ONE_BLK_FLOAT_NUM = 8;
constexpr int32_t DEFAULT_BLK_NUM = 8;
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr int32_t DEFAULT_REPEAT_STRIDE = 8;
constexpr int32_t DEFAULT_BLOCK_SIZE = 256;
constexpr int32_t ONE_REPEAT_BYTE_SIZE = 256;
constexpr int32_t MAX_REPEAT_TIMES = 255;
// Of the cube: elements of a fractal's side, elements of a fractal of C, bytes of a fractal's row.
constexpr int32_t BLOCK_CUBE = 16;
constexpr int32_t CUBE_MAX_SIZE = 256;
constexpr int32_t DEFAULT_C0_SIZE = 32;
constexpr int32_t TOTAL_UB_SIZE = 192 * 1024;

template <class T, class U> struct IsSameType : std::is_same<T, U> {};

inline uint32_t DivCeil(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}
inline uint32_t AlignUp(uint32_t a, uint32_t unit) {
  return DivCeil(a, unit) * unit;
}

/// The part of the standard library that kernels may use under this name.
namespace Std {
using std::bool_constant;
using std::conditional;
using std::conditional_t;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::integral_constant;
using std::is_convertible;
using std::is_same;
using std::is_same_v;
using std::remove_const;
using std::remove_cv;
using std::remove_reference;
using std::true_type;
template <class T> constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T> constexpr T max(T a, T b) {
  return a < b ? b : a;
}
} // namespace Std

} // namespace AscendC

#endif
