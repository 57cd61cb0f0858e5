// SPDX-License-Identifier: Apache-2.0
// Conversions between element types, with all rounding modes.
#include "simulator/isa/elementwise.h"
#include "simulator/isa/number_formats.h"

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace tilewright::ascend::isa {

namespace {

constexpr size_t castChunk = 256;

/// To an integral value. None rounds as Rint.
template <RoundMode mode> double rounded(double x) {
  switch (mode) {
  case RoundMode::Floor:
    return std::floor(x);
  case RoundMode::Ceil:
    return std::ceil(x);
  case RoundMode::Round:
    return std::round(x);
  case RoundMode::Trunc:
    return std::trunc(x);
  default:
    return std::nearbyint(x);
  }
}

template <class I> I saturate(double x) {
  if (x != x)
    return 0;
  constexpr double low = static_cast<double>(std::numeric_limits<I>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<I>::max());
  if (x <= low)
    return std::numeric_limits<I>::min();
  return x >= high ? std::numeric_limits<I>::max() : static_cast<I>(x);
}

double valueOf(float x) {
  return x;
}
double valueOf(Half x) {
  return toFloat(x);
}
double valueOf(Bfloat16 x) {
  return toFloat(x);
}
template <class I, class = std::enable_if_t<std::is_integral_v<I>>> double valueOf(I x) {
  return static_cast<double>(x);
}

struct HalfFormat {
  using Type = Half;
  static constexpr double beyond = 0x1p16;
  static Half nearest(float x) {
    return toHalf(x);
  }
};
struct BfloatFormat {
  using Type = Bfloat16;
  static constexpr double beyond = 0x1p128;
  static Bfloat16 nearest(float x) {
    return toBfloat16(x);
  }
};

/// The neighbour of a 16-bit float towards plus (or minus) infinity.
template <class T> T neighbour(T x, bool up) {
  bool negative = x.bits >> 15;
  uint16_t magnitude = x.bits & 0x7FFF;
  if (magnitude == 0)
    return T{static_cast<uint16_t>(up ? 1 : 0x8001)};
  magnitude = static_cast<uint16_t>(up == negative ? magnitude - 1 : magnitude + 1);
  return T{static_cast<uint16_t>(magnitude | (negative ? 0x8000 : 0))};
}

/// Rounds to a 16-bit float by any mode, starting from the nearest value.
template <class Format> typename Format::Type roundTo(float x, RoundMode mode) {
  using T = typename Format::Type;
  T near = Format::nearest(x);
  if (mode == RoundMode::None || mode == RoundMode::Rint || x != x || std::isinf(x))
    return near;
  float value = toFloat(near);
  if (value == x)
    return near;
  T low = value < x ? near : neighbour(near, false);
  T high = value < x ? neighbour(near, true) : near;
  switch (mode) {
  case RoundMode::Floor:
    return low;
  case RoundMode::Ceil:
    return high;
  case RoundMode::Trunc:
    return x > 0 ? low : high;
  case RoundMode::Odd:
    return low.bits & 1 ? low : high;
  default: { // Round: ties go away from zero
    // Beyond the largest value lies the next power of two, which then becomes infinity.
    auto numeric = [](T t) {
      float v = toFloat(t);
      return std::isinf(v) ? std::copysign(Format::beyond, double{v}) : double{v};
    };
    double below = double{x} - numeric(low), above = numeric(high) - x;
    if (below == above)
      return x > 0 ? high : low;
    return below < above ? low : high;
  }
  }
}

template <class To, class From, RoundMode mode> To convert(From x) {
  if constexpr (std::is_same_v<To, float>) {
    if constexpr (std::is_integral_v<From>) {
      using Wide = long double; // holds 64 bits
      auto nearest = static_cast<float>(x);
      if (mode == RoundMode::None || mode == RoundMode::Rint ||
          static_cast<Wide>(nearest) == static_cast<Wide>(x))
        return nearest;
      float other = static_cast<Wide>(nearest) < static_cast<Wide>(x)
                        ? std::nextafterf(nearest, INFINITY)
                        : std::nextafterf(nearest, -INFINITY);
      float low = std::min(nearest, other), high = std::max(nearest, other);
      if (mode == RoundMode::Floor)
        return low;
      if (mode == RoundMode::Ceil)
        return high;
      if (mode == RoundMode::Trunc)
        return x > 0 ? low : high;
      const Wide below = static_cast<Wide>(x) - low, above = high - static_cast<Wide>(x);
      return below == above ? (x > 0 ? high : low) : below < above ? low : high;
    } else if constexpr (std::is_same_v<From, float>) {
      return mode == RoundMode::None ? x : static_cast<float>(rounded<mode>(x));
    } else {
      return toFloat(x);
    }
  } else if constexpr (std::is_same_v<To, Half>) {
    return roundTo<HalfFormat>(static_cast<float>(valueOf(x)), mode);
  } else if constexpr (std::is_same_v<To, Bfloat16>) {
    return roundTo<BfloatFormat>(static_cast<float>(valueOf(x)), mode);
  } else if constexpr (std::is_integral_v<From>) {
    if constexpr (sizeof(From) == 8 && sizeof(To) == 4)
      return static_cast<To>(x < std::numeric_limits<To>::min()   ? std::numeric_limits<To>::min()
                             : x > std::numeric_limits<To>::max() ? std::numeric_limits<To>::max()
                                                                  : static_cast<To>(x));
    else
      return saturate<To>(static_cast<double>(x));
  } else {
    return saturate<To>(rounded<mode>(valueOf(x)));
  }
}

template <class To, class From, RoundMode mode>
void castRow(void* d, const void* a, const void*, size_t n, Scalar) {
  auto* out = static_cast<To*>(d);
  auto* in = static_cast<const From*>(a);
  constexpr bool nearest = mode == RoundMode::None || mode == RoundMode::Rint;
  constexpr bool toRow = std::is_same_v<To, float> && !std::is_integral_v<From> &&
                         (!std::is_same_v<From, float> || mode == RoundMode::None);
  constexpr bool fromRow = std::is_same_v<From, float> && !std::is_integral_v<To> && nearest;
  if constexpr (toRow && !std::is_same_v<From, float>) {
    // In place over a wider destination is legal only from the same start; go through a copy.
    From copy[castChunk];
    for (size_t at = 0; at < n; at += castChunk) {
      size_t m = n - at < castChunk ? n - at : castChunk;
      std::memcpy(copy, in + at, m * sizeof(From));
      loadRow(copy, out + at, m);
    }
  } else if constexpr (fromRow && !std::is_same_v<To, float>) {
    storeRow(in, out, n);
  } else {
    for (size_t i = 0; i < n; ++i)
      out[i] = convert<To, From, mode>(in[i]);
  }
}

template <class To, class From> RunFunction byMode(RoundMode mode) {
  switch (mode) {
  case RoundMode::Rint:
    return castRow<To, From, RoundMode::Rint>;
  case RoundMode::Floor:
    return castRow<To, From, RoundMode::Floor>;
  case RoundMode::Ceil:
    return castRow<To, From, RoundMode::Ceil>;
  case RoundMode::Round:
    return castRow<To, From, RoundMode::Round>;
  case RoundMode::Trunc:
    return castRow<To, From, RoundMode::Trunc>;
  case RoundMode::Odd:
    return castRow<To, From, RoundMode::Odd>;
  default:
    return castRow<To, From, RoundMode::None>;
  }
}

/// int4 pairs to half: the low nibble first.
void int4ToHalf(void* d, const void* a, const void*, size_t n, Scalar) {
  auto* out = static_cast<Half*>(d);
  auto* in = static_cast<const uint8_t*>(a);
  for (size_t i = 0; i < n; ++i) {
    int nibble = in[i / 2] >> (i % 2 * 4) & 15;
    out[i] = toHalf(static_cast<float>(nibble >= 8 ? nibble - 16 : nibble));
  }
}
template <RoundMode mode> void halfToInt4(void* d, const void* a, const void*, size_t n, Scalar) {
  auto* out = static_cast<uint8_t*>(d);
  auto* in = static_cast<const Half*>(a);
  for (size_t i = 0; i < n; ++i) {
    double value = rounded<mode>(toFloat(in[i]));
    int nibble = static_cast<int>(value < -8 ? -8 : value > 7 ? 7 : value) & 15;
    out[i / 2] = static_cast<uint8_t>(i % 2 ? (out[i / 2] & 15) | nibble << 4 : nibble);
  }
}
/// int32 to half, scaled by SetDeqScale.
void dequantRow(void* d, const void* a, const void*, size_t n, Scalar s) {
  auto* out = static_cast<Half*>(d);
  auto* in = static_cast<const int32_t*>(a);
  for (size_t i = 0; i < n; ++i)
    out[i] = toHalf(static_cast<float>(in[i]) * s.f);
}

RunFunction fromHalf(DType to, RoundMode mode) {
  switch (to) {
  case DType::F32:
    return byMode<float, Half>(RoundMode::None);
  case DType::I32:
    return byMode<int32_t, Half>(mode);
  case DType::I16:
    return byMode<int16_t, Half>(mode);
  case DType::I8:
    return byMode<int8_t, Half>(mode);
  case DType::U8:
    return byMode<uint8_t, Half>(mode);
  case DType::I4:
    return mode == RoundMode::Floor   ? halfToInt4<RoundMode::Floor>
           : mode == RoundMode::Ceil  ? halfToInt4<RoundMode::Ceil>
           : mode == RoundMode::Round ? halfToInt4<RoundMode::Round>
           : mode == RoundMode::Trunc ? halfToInt4<RoundMode::Trunc>
                                      : halfToInt4<RoundMode::Rint>;
  default:
    return nullptr;
  }
}

RunFunction fromFloat(DType to, RoundMode mode) {
  switch (to) {
  case DType::F16:
    return byMode<Half, float>(mode);
  case DType::BF16:
    return mode == RoundMode::Odd ? nullptr : byMode<Bfloat16, float>(mode);
  case DType::I16:
    return byMode<int16_t, float>(mode);
  case DType::I32:
    return byMode<int32_t, float>(mode);
  case DType::I64:
    return byMode<int64_t, float>(mode);
  case DType::F32:
    return byMode<float, float>(mode);
  default:
    return nullptr;
  }
}

/// Documented modes. CAST_NONE is for casts that lose nothing, for halves to and from a few types,
/// and for what only saturates; a lossy cast names its rounding.
bool hasMode(DType from, DType to, RoundMode mode) {
  bool toByte = to == DType::I8 || to == DType::U8 || to == DType::I4;
  bool floats = from == DType::F16 || from == DType::F32 || from == DType::BF16;
  switch (mode) {
  case RoundMode::Odd:
    return from == DType::F32 && to == DType::F16;
  case RoundMode::None:
    if (floats)
      return (from == DType::F16 && toByte) || (from == DType::F32 && to == DType::F16) ||
             (to == DType::F32 && from != DType::F32);
    return from != DType::I64 || to == DType::I32;
  default: // the five that round
    if (floats)
      return to != DType::F32 || from == DType::F32;
    return (from == DType::I16 && to == DType::F16) ||
           (to == DType::F32 && (from == DType::I32 || from == DType::I64));
  }
}

} // namespace

RunFunction castRun(const VectorInstr& instr) {
  auto mode = static_cast<RoundMode>(instr.mode);
  DType to = instr.dst.type, from = instr.src0.type;
  if (!hasMode(from, to, mode))
    return nullptr;
  switch (from) {
  case DType::F16:
    return fromHalf(to, mode);
  case DType::F32:
    return fromFloat(to, mode);
  case DType::BF16:
    return to == DType::F32   ? byMode<float, Bfloat16>(RoundMode::None)
           : to == DType::I32 ? byMode<int32_t, Bfloat16>(mode)
                              : nullptr;
  case DType::U8:
    return to == DType::F16 ? byMode<Half, uint8_t>(RoundMode::None) : nullptr;
  case DType::I8:
    return to == DType::F16 ? byMode<Half, int8_t>(RoundMode::None) : nullptr;
  case DType::I4:
    return to == DType::F16 ? int4ToHalf : nullptr;
  case DType::I16:
    return to == DType::F16   ? byMode<Half, int16_t>(mode)
           : to == DType::F32 ? byMode<float, int16_t>(RoundMode::None)
                              : nullptr;
  case DType::I32:
    return to == DType::F32   ? byMode<float, int32_t>(mode)
           : to == DType::I64 ? byMode<int64_t, int32_t>(RoundMode::None)
           : to == DType::I16 ? byMode<int16_t, int32_t>(RoundMode::None)
           : to == DType::F16 ? dequantRow
                              : nullptr;
  case DType::I64:
    return to == DType::I32   ? byMode<int32_t, int64_t>(RoundMode::None)
           : to == DType::F32 ? byMode<float, int64_t>(mode)
                              : nullptr;
  default:
    return nullptr;
  }
}

std::string modesOfCast(VectorInstr instr) {
  const char* const names[] = {"CAST_NONE",  "CAST_RINT",  "CAST_FLOOR", "CAST_CEIL",
                               "CAST_ROUND", "CAST_TRUNC", "CAST_ODD"};
  std::vector<const char*> found;
  for (size_t mode = 0; mode < std::size(names); ++mode) {
    instr.mode = static_cast<uint8_t>(mode);
    if (castRun(instr))
      found.push_back(names[mode]);
  }
  std::string text;
  for (const char* name : found)
    text += (text.empty() ? "" : name == found.back() ? " or " : ", ") + std::string(name);
  return text;
}

} // namespace tilewright::ascend::isa
