// SPDX-License-Identifier: Apache-2.0
// half and bfloat16 as the vector unit sees them, and conversions of rows.
#ifndef TILEWRIGHT_SIMULATOR_ISA_NUMBER_FORMATS_H
#define TILEWRIGHT_SIMULATOR_ISA_NUMBER_FORMATS_H

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace tilewright::ascend::isa {

struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

inline float toFloat(Half h) {
#ifdef __F16C__
  return _cvtsh_ss(h.bits);
#else
  return static_cast<float>(std::bit_cast<_Float16>(h.bits));
#endif
}
/// Nearest even; too large gives infinity.
inline Half toHalf(float f) {
#ifdef __F16C__
  return {static_cast<uint16_t>(_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT))};
#else
  return {std::bit_cast<uint16_t>(static_cast<_Float16>(f))};
#endif
}
inline float toFloat(Bfloat16 b) {
  return std::bit_cast<float>(uint32_t{b.bits} << 16);
}
inline Bfloat16 toBfloat16(float f) {
  auto u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7FFFFFFF) > 0x7F800000)
    return {static_cast<uint16_t>(u >> 16 | 0x40)};
  return {static_cast<uint16_t>((u + 0x7FFF + (u >> 16 & 1)) >> 16)};
}

inline void loadRow(const float* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out[i] = in[i];
}
inline void storeRow(const float* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out[i] = in[i];
}
inline void loadRow(const Half* in, float* out, size_t n) {
  size_t i = 0;
#ifdef __F16C__
  for (const size_t inVectors = n / 8 * 8; i < inVectors; i += 8)
    _mm256_storeu_ps(out + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
#endif
  for (; i < n; ++i)
    out[i] = toFloat(in[i]);
}
inline void storeRow(const float* in, Half* out, size_t n) {
  size_t i = 0;
#ifdef __F16C__
  for (const size_t inVectors = n / 8 * 8; i < inVectors; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i)
    out[i] = toHalf(in[i]);
}
inline void loadRow(const Bfloat16* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out[i] = toFloat(in[i]);
}
inline void storeRow(const float* in, Bfloat16* out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out[i] = toBfloat16(in[i]);
}

} // namespace tilewright::ascend::isa

#endif
