// SPDX-License-Identifier: Apache-2.0
// half, bfloat16_t and int4b_t for scalar code.
#ifndef TILEWRIGHT_ASCENDC_NUMBERS_H
#define TILEWRIGHT_ASCENDC_NUMBERS_H

#include "qualifiers.h"

#include "../../isa/instruction.h"

#include <cstdint>
#include <cstring>

namespace tilewright::ascend {

inline uint32_t bitsOfFloat(float f) {
  uint32_t u;
  std::memcpy(&u, &f, sizeof u);
  return u;
}
inline float floatOfBits(uint32_t u) {
  float f;
  std::memcpy(&f, &u, sizeof f);
  return f;
}

/// Nearest even; too large gives infinity.
inline uint16_t halfOfFloat(float value) {
  uint32_t u = bitsOfFloat(value);
  auto sign = static_cast<uint16_t>(u >> 16 & 0x8000);
  uint32_t magnitude = u & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x477FF000) // rounds to 65536 or more
    return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude >= 0x38800000) { // normal
    uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
  }
  // Subnormal: let float arithmetic do the rounding at 2^-24.
  float shifted = floatOfBits(magnitude) + 0.5f;
  return static_cast<uint16_t>(sign | (bitsOfFloat(shifted) - 0x3F000000));
}

inline float floatOfHalf(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  uint32_t exponent = h >> 10 & 31, mantissa = h & 1023;
  if (exponent == 31)
    return floatOfBits(sign | 0x7F800000 | mantissa << 13);
  if (exponent == 0) {
    float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-8f;
    return sign ? -magnitude : magnitude;
  }
  return floatOfBits(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline uint16_t bfloat16OfFloat(float value) {
  uint32_t u = bitsOfFloat(value);
  if ((u & 0x7FFFFFFF) > 0x7F800000)
    return static_cast<uint16_t>(u >> 16 | 0x40);
  return static_cast<uint16_t>((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}

} // namespace tilewright::ascend

/// IEEE half. Arithmetic goes through float.
struct half {
  uint16_t bits = 0;
  half() = default;
  half(float value) : bits(tilewright::ascend::halfOfFloat(value)) {}
  half(double value) : half(static_cast<float>(value)) {}
  half(int value) : half(static_cast<float>(value)) {}
  half(unsigned value) : half(static_cast<float>(value)) {}
  half(long value) : half(static_cast<float>(value)) {}
  half(unsigned long value) : half(static_cast<float>(value)) {}
  operator float() const {
    return tilewright::ascend::floatOfHalf(bits);
  }
  half& operator+=(float b) {
    return *this = half(static_cast<float>(*this) + b);
  }
  half& operator-=(float b) {
    return *this = half(static_cast<float>(*this) - b);
  }
  half& operator*=(float b) {
    return *this = half(static_cast<float>(*this) * b);
  }
  half& operator/=(float b) {
    return *this = half(static_cast<float>(*this) / b);
  }
};
using float16_t = half;

struct bfloat16_t {
  uint16_t bits = 0;
  bfloat16_t() = default;
  bfloat16_t(float value) : bits(tilewright::ascend::bfloat16OfFloat(value)) {}
  bfloat16_t(double value) : bfloat16_t(static_cast<float>(value)) {}
  bfloat16_t(int value) : bfloat16_t(static_cast<float>(value)) {}
  operator float() const {
    return tilewright::ascend::floatOfBits(static_cast<uint32_t>(bits) << 16);
  }
};

namespace AscendC {

using ::bfloat16_t;
using ::half;
using TwDType = tilewright::ascend::DType;
using TwPlace = tilewright::ascend::Place;

/// Two of them share a byte, the first in the low bits.
struct int4b_t {
  int8_t pair;
};

template <class T> struct TwDTypeOf;
#define TW_DTYPE(T, D)                                                                             \
  template <> struct TwDTypeOf<T> {                                                                \
    static constexpr TwDType value = TwDType::D;                                                   \
  };
TW_DTYPE(float, F32)
TW_DTYPE(half, F16)
TW_DTYPE(bfloat16_t, BF16)
TW_DTYPE(int8_t, I8)
TW_DTYPE(uint8_t, U8)
TW_DTYPE(char, I8)
TW_DTYPE(bool, U8)
TW_DTYPE(int16_t, I16)
TW_DTYPE(uint16_t, U16)
TW_DTYPE(int32_t, I32)
TW_DTYPE(uint32_t, U32)
TW_DTYPE(int64_t, I64)
TW_DTYPE(uint64_t, U64)
TW_DTYPE(long long, I64)
TW_DTYPE(unsigned long long, U64)
TW_DTYPE(int4b_t, I4)
TW_DTYPE(double, F64)
#undef TW_DTYPE

/// Keeps a parameter out of template argument deduction.
template <class T> struct TwNotDeduced {
  using type = T;
};
template <class T> using TwNotDeducedT = typename TwNotDeduced<T>::type;

inline float ToFloat(bfloat16_t value) {
  return value;
}
inline bfloat16_t ToBfloat16(float value) {
  return value;
}

} // namespace AscendC

#endif
