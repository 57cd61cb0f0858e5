// SPDX-License-Identifier: Apache-2.0
// Scalars of a kernel, and how the host hands them over.
#ifndef TILEWRIGHT_ASCEND_SCALAR_H
#define TILEWRIGHT_ASCEND_SCALAR_H

#include "kernel_operator.h"

namespace tilewright {

template <class To, class From> __aicore__ inline To sameBits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the types have different sizes");
  union {
    From before;
    To after;
  } bits = {from};
  return bits.after;
}

/// A float from what the scalar unit can't compute in.
template <class T> __aicore__ inline float toFloat(T value) {
  return static_cast<float>(value);
}
template <class T> __aicore__ inline T fromFloat(float value) {
  return static_cast<T>(value);
}
#ifndef TILEWRIGHT_ASCEND
template <> __aicore__ inline float toFloat(bfloat16_t value) {
  return AscendC::ToFloat(value);
}
template <> __aicore__ inline bfloat16_t fromFloat(float value) {
  return AscendC::ToBfloat16(value);
}
#endif

__aicore__ inline float positiveInfinity() {
  return sameBits<float>(uint32_t{0x7F800000});
}
__aicore__ inline float notANumber() {
  return sameBits<float>(uint32_t{0x7FC00000});
}

/// An integer as the nearest bfloat16, a tie as the even one. A float has no room for all of it, and would be
/// rounded a second time: what doesn't matter but for being more than a tie is kept as the last bit.
template <class I> __aicore__ inline bfloat16_t toBfloat16(I value) {
  const bool isNegative = value < I(0);
  uint64_t left = isNegative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  float unit = isNegative ? -1.0f : 1.0f;
  while (left >> 24 != 0) {
    left = left >> 8 | ((left & 255) != 0 ? 1 : 0);
    unit *= 256.0f;
  }
  return fromFloat<bfloat16_t>(static_cast<float>(static_cast<int32_t>(left)) * unit);
}

/// A float as a narrower one (half, bfloat16_t), rounded as `mode` says.
template <class T, AscendC::RoundMode mode> __aicore__ inline T roundedTo(float value) {
  const T nearest = fromFloat<T>(value);
  const float given = toFloat(nearest);
  if (mode == AscendC::RoundMode::CAST_RINT || given == value || value != value)
    return nearest;
  const bool isNegative = value < 0, isFurtherFromZero = (given > value) != isNegative;
  const uint16_t bits = sameBits<uint16_t>(nearest);
  const uint16_t inner = isFurtherFromZero ? bits - 1 : bits;
  const uint16_t outer = inner + 1;
  bool takesOuter = false;
  if (mode == AscendC::RoundMode::CAST_FLOOR)
    takesOuter = isNegative;
  else if (mode == AscendC::RoundMode::CAST_CEIL)
    takesOuter = !isNegative;
  else if (mode == AscendC::RoundMode::CAST_ROUND) // ties go away from zero
    takesOuter = isFurtherFromZero ||
                 value - toFloat(sameBits<T>(inner)) == toFloat(sameBits<T>(outer)) - value;
  return sameBits<T>(takesOuter ? outer : inner);
}

/// A float as an integer, rounded towards zero. What is out of range gives the nearest integer of
/// the type, as vector casts do, and NaN gives 0: the cast of C++ is undefined there.
template <class T> __aicore__ inline T toInteger(float value) {
  constexpr bool isSigned = T(-1) < T(0);
  constexpr T high = static_cast<T>(~uint64_t{0} >> (64 - 8 * sizeof(T) + (isSigned ? 1 : 0)));
  constexpr T low = static_cast<T>(~high); // of unsigned types 0
  if (value != value)
    return 0;
  if (value >= static_cast<float>(high)) // of 32 bits and more the float is one above `high`
    return high;
  return value <= static_cast<float>(low) ? low : static_cast<T>(value);
}

/// Rounded towards zero, and what is left. The least integer by -1, which C++ leaves open, wraps.
template <class A, class B> __aicore__ inline auto truncDiv(A a, B b) -> decltype(a + b) {
  using Wider = decltype(a + b);
  return b < B(0) && b == B(-1) ? Wider(0) - Wider(a) : a / b;
}
template <class A, class B> __aicore__ inline auto truncMod(A a, B b) -> decltype(a + b) {
  return b < B(0) && b == B(-1) ? decltype(a + b)(0) : a % b;
}
/// Rounded towards minus infinity.
template <class A, class B> __aicore__ inline auto floorDiv(A a, B b) -> decltype(a + b) {
  return truncDiv(a, b) - (truncMod(a, b) != 0 && (a < A(0)) != (b < B(0)) ? 1 : 0);
}
template <class A, class B> __aicore__ inline auto ceilDiv(A a, B b) -> decltype(a + b) {
  return truncDiv(a, b) + (truncMod(a, b) != 0 && (a < A(0)) == (b < B(0)) ? 1 : 0);
}
/// Of a NaN and another number the number.
template <class A, class B> __aicore__ inline auto larger(A a, B b) -> decltype(a + b) {
  return a > b || b != b ? a : b;
}
template <class A, class B> __aicore__ inline auto smaller(A a, B b) -> decltype(a + b) {
  return a < b || b != b ? a : b;
}
template <class T> __aicore__ inline T magnitude(T value) {
  return value < 0 ? -value : value;
}
template <> __aicore__ inline float magnitude(float value) {
  return sameBits<float>(sameBits<uint32_t>(value) & 0x7FFFFFFF); // -0 is no less than 0
}
/// A number that isn't negative with another's sign.
__aicore__ inline float withSign(float number, float signOf) {
  return sameBits<float>(sameBits<uint32_t>(number) | (sameBits<uint32_t>(signOf) & 0x80000000));
}
__aicore__ inline float copySign(float number, float signOf) {
  return withSign(magnitude(number), signOf);
}

/// What is left of a division that is rounded towards zero, exactly, with the sign of `a`.
__aicore__ inline float floatMod(float a, float b) {
  constexpr uint32_t one = 0x800000, infinite = 0x7F800000; // as bits
  uint32_t left = sameBits<uint32_t>(magnitude(a)), by = sameBits<uint32_t>(magnitude(b));
  if (left >= infinite || by > infinite || by == 0)
    return notANumber();
  if (left < by)
    return a;
  // Both as integers times a power of two; without a leading bit if they have none.
  uint32_t power = left >> 23, powerOfBy = by >> 23;
  left = power == 0 ? left : (left & (one - 1)) | one;
  by = powerOfBy == 0 ? by : (by & (one - 1)) | one;
  power = power == 0 ? 1 : power;
  powerOfBy = powerOfBy == 0 ? 1 : powerOfBy;
  left %= by;
  for (; power > powerOfBy; --power) {
    left *= 2;
    left = left >= by ? left - by : left;
  }
  for (; left != 0 && left < one && power > 1; --power)
    left *= 2;
  return withSign(sameBits<float>(left < one ? left : (left & (one - 1)) | (power << 23)), a);
}

/// How many bits of an integer are set.
template <class I> __aicore__ inline I countBits(I value) {
  uint64_t left = static_cast<uint64_t>(value) & ~uint64_t{0} >> (64 - 8 * sizeof(I));
  int32_t count = 0;
  for (; left != 0; left &= left - 1)
    ++count;
  return static_cast<I>(count);
}
/// How many bits of an integer are 0 before the first one that is set; all of them if none is.
template <class I> __aicore__ inline I leadingZeros(I value) {
  uint64_t left = static_cast<uint64_t>(value) & ~uint64_t{0} >> (64 - 8 * sizeof(I));
  int32_t count = 8 * sizeof(I);
  for (; left != 0; left >>= 1)
    --count;
  return static_cast<I>(count);
}
__aicore__ inline float squareRoot(float value) {
  return sqrt(value);
}

/// From there on, all numbers are integral.
constexpr float firstIntegral = 8388608.0f;
/// To the nearest integral number, of two to the even one.
__aicore__ inline float roundToEven(float value) {
  const float plain = magnitude(value);
  return plain < firstIntegral ? withSign((plain + firstIntegral) - firstIntegral, value) : value;
}
__aicore__ inline float roundToZero(float value) {
  const float plain = magnitude(value);
  return plain < firstIntegral ? withSign(static_cast<float>(static_cast<int32_t>(plain)), value)
                               : value;
}
__aicore__ inline float roundDown(float value) {
  const float whole = roundToZero(value);
  return whole > value ? whole - 1.0f : whole;
}
__aicore__ inline float roundUp(float value) {
  const float whole = roundToZero(value);
  return whole < value ? whole + 1.0f : whole;
}

/// A scalar argument from the eight bytes that the runtime passes.
template <class T> inline T slotValue(uint64_t slot) {
  union {
    uint64_t bits;
    T value;
  } both = {slot};
  return both.value;
}
/// What an extent of the grid is divided by; 1 in place of 0, which the runtime is told.
template <class T> inline T nonZeroDivisor(T value, bool& isZero) {
  isZero = isZero || value == 0;
  return value == 0 ? T(1) : value;
}
inline GM_ADDR tensorAddress(uint64_t slot) {
  return reinterpret_cast<GM_ADDR>(slot);
}

} // namespace tilewright

#endif
