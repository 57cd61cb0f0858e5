// SPDX-License-Identifier: Apache-2.0
// Cast between all types and in all rounding modes that arch 2201 documents, Copy, Duplicate and
// sequences: one row each (instruction_rows.h), all exact.
#include "kernel_operator.h"

#include "instruction_rows.h"

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

constexpr RoundMode rounding[] = {
    RoundMode::CAST_RINT,  RoundMode::CAST_FLOOR, RoundMode::CAST_CEIL, RoundMode::CAST_ROUND,
    RoundMode::CAST_TRUNC, RoundMode::CAST_NONE,  RoundMode::CAST_ODD};

/// The scale and offset of group `k` of CastDeq; the first for all if there is one.
inline float scaleOf(const Shape& s, uint32_t k, bool isVec) {
  return static_cast<float>(s.scalar) * (isVec ? 1.0f + static_cast<float>(k % 4) / 4 : 1.0f);
}
inline int16_t offsetOf(const Shape& s, uint32_t k, bool isVec) {
  return static_cast<int16_t>(static_cast<int>(s.choice % 64) - 32 +
                              (isVec ? static_cast<int>(k) : 0));
}
template <class D> struct WiderOf {
  template <class S> using With = std::conditional_t<(sizeof(D) > sizeof(S)), D, S>;
};

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
/// An integral value.
double rounded(double x, RoundMode mode) {
  switch (mode) {
  case RoundMode::CAST_FLOOR:
    return std::floor(x);
  case RoundMode::CAST_CEIL:
    return std::ceil(x);
  case RoundMode::CAST_ROUND:
    return std::round(x);
  case RoundMode::CAST_TRUNC:
    return std::trunc(x);
  case RoundMode::CAST_ODD: // towards zero, unless that is even and inexact
    return std::trunc(x) == x || std::fmod(std::trunc(x), 2) != 0
               ? std::trunc(x)
               : std::trunc(x) + std::copysign(1, x);
  default:
    return std::nearbyint(x);
  }
}
/// A value of format T. Beyond the largest: infinity, or the largest if the mode goes towards it.
template <class T> double roundedTo(double x, RoundMode mode) {
  constexpr FloatFormat f = formatOf<T>();
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent;
  std::frexp(x, &exponent);
  int quantum = std::max(exponent - f.digits, f.lowest);
  double r = std::ldexp(rounded(std::ldexp(x, -quantum), mode), quantum);
  if (std::fabs(r) < std::ldexp(1.0, f.highest))
    return r;
  bool inward = mode == RoundMode::CAST_TRUNC || mode == RoundMode::CAST_ODD ||
                mode == (x > 0 ? RoundMode::CAST_FLOOR : RoundMode::CAST_CEIL);
  double largest = std::ldexp(2 - std::ldexp(1.0, 1 - f.digits), f.highest - 1);
  return std::copysign(inward ? largest : INFINITY, x);
}
template <class D, class V> auto converted(V x, RoundMode mode) {
  if constexpr (!std::is_integral_v<D>)
    return roundedTo<D>(static_cast<double>(x), mode);
  else if constexpr (std::is_same_v<V, double>)
    return saturate<D>(rounded(x, mode));
  else
    return std::min<int64_t>(std::max<int64_t>(x, std::numeric_limits<D>::min()),
                             std::numeric_limits<D>::max());
}
template <class D, class S> void drawCast(Drawing& draw, uint32_t firstMode, uint32_t modes) {
  draw.high = draw.upTo(1) ? 300 : 9e4; // around the ends of 8-bit integers and of half
  draw.low = -draw.high;
  drawLanes<D, S, uint8_t>(draw, false);
  draw.shape(sizeof(D), sizeof(S), 1);
  draw.s.choice = firstMode + draw.upTo(modes - 1);
}
#endif

/// `modes` modes of the list above from `firstMode` on: 0, 5 the rounding ones; 5, 1 CAST_NONE.
#define CAST(D, S, firstMode, modes) CAST_AS(D, S, firstMode, modes, converted<D>)
#define CAST_AS(D, S, firstMode, modes, function)                                                  \
  TW_ROW("Cast<" #D ", " #S ">",                                                                   \
         TW_FORMS(Cast, (D, S, false), WiderOf<D>::With<S>, s.unary(), region<D>(Dst),             \
                  region<S>(A), rounding[s.choice]),                                               \
         (eachLane<D, S, uint8_t>(                                                                 \
             s, u, [&](auto, auto x, auto) { return function(x, rounding[s.choice]); })),          \
         (drawCast<D, S>(draw, firstMode, modes)))
/// Half a block of 8 bits for each block of 16 bits; one scale or 16.
#define CAST_DEQ(D, isSigned, isVec, lowHalf)                                                      \
  TW_ROW(                                                                                          \
      "CastDeq<" #D ", int16_t>", VdeqInfo info; for (int k = 0; k < 16; ++k) {                    \
        info.vdeqScale[k] = scaleOf(s, k, isVec);                                                  \
        info.vdeqOffset[k] = offsetOf(s, k, isVec);                                                \
        info.vdeqSignMode[k] = isSigned;                                                           \
      } if (isVec) {                                                                               \
        SetDeqScale(region<uint8_t>(Aux), info);                                                   \
        SetFlag<HardEvent::S_V>(0);                                                                \
        WaitFlag<HardEvent::S_V>(0);                                                               \
      } else SetDeqScale(info.vdeqScale[0], info.vdeqOffset[0], isSigned);                         \
      (CastDeq<D, int16_t, isVec, lowHalf>(region<D>(Dst), region<int16_t>(A), s.count)),          \
      for (uint32_t i = 0; i < s.count; ++i) {                                                     \
        double x = std::nearbyint(static_cast<double>(u.get<int16_t>(A, i)) *                      \
                                  scaleOf(s, i % 16, isVec)) +                                     \
                   offsetOf(s, i % 16, isVec);                                                     \
        u.set<D>(Dst, i / 16 * 32 + i % 16 + (lowHalf ? 0 : 16), saturate<D>(x));                  \
      } for (uint32_t k = 0; isVec && k < 16; ++k) {                                               \
        u.set<float>(Aux, k * 2, scaleOf(s, k, true));                                             \
        u.set<uint32_t>(Aux, k * 2 + 1,                                                            \
                        int64_t{(offsetOf(s, k, true) & 511) << 5 | (isSigned) << 14});            \
      },                                                                                           \
      draw.numForms = 1;                                                                           \
      (drawLanes<D, int16_t, uint8_t>(draw, false, 0.01, 0.1)); draw.s.count /= 2;                 \
      draw.s.scalar = roundTo<half>(draw.s.scalar + 0.05))
#define FILL(T)                                                                                    \
  TW_ROW("Duplicate<" #T ">", uint64_t bits[2] = {s.mask[0] COMMA s.mask[1]};                      \
         if (s.form == Form::Count)                                                                \
             Duplicate(region<T>(Dst), s.scalarOf<T>(), static_cast<int32_t>(s.count));            \
         else if (s.form == Form::Lanes) Duplicate(                                                \
             region<T>(Dst), s.scalarOf<T>(), uint64_t{s.lanes}, s.repeat, s.dstBlk, s.dstRep);    \
         else Duplicate(region<T>(Dst), s.scalarOf<T>(), bits, s.repeat, s.dstBlk, s.dstRep),      \
         (eachLane<T, T, T>(s, u, [&](auto d, auto, auto) { return decltype(d)(s.scalar); })),     \
         draw.numForms = 3;                                                                        \
         (drawLanes<T, T, T>(draw, false, 0, 99)))
#define COPY(T)                                                                                    \
  TW_ROW("Copy<" #T ">", CopyRepeatParams p(s.dstBlk, s.aBlk, s.dstRep, s.aRep);                   \
         TW_FORMS(Copy, (T, false), T, p, region<T>(Dst), region<T>(A)),                           \
         (eachLane<T, T, T>(s, u, [](auto, auto x, auto) { return x; })),                          \
         (drawLanes<T, T, T>(draw, false));                                                        \
         draw.floatBytes = 0; draw.specials = false; draw.fill<T>(A))
#define SEQUENCE(T)                                                                                \
  TW_ROW(                                                                                          \
      "CreateVecIndex<" #T ">", auto d = region<T>(Dst);                                           \
      if (s.form == Form::Count) CreateVecIndex(d, s.scalarOf<T>(), s.count);                      \
      else if (s.form == Form::Lanes)                                                              \
          CreateVecIndex(d, s.scalarOf<T>(), uint64_t{s.lanes}, s.repeat, s.dstBlk, s.dstRep);     \
      else {                                                                                       \
        uint64_t bits[2] = {s.mask[0] COMMA s.mask[1]};                                            \
        CreateVecIndex(d, s.scalarOf<T>(), bits, s.repeat, s.dstBlk, s.dstRep);                    \
      },                                                                                           \
      forLanes(s, sizeof(T), sizeof(T), sizeof(T),                                                 \
               [&](uint64_t d, uint64_t, uint64_t, uint64_t lane) {                                \
                 using Value = decltype(loadAs<T>(u.at(Dst, d)));                                  \
                 storeAs<T>(u.at(Dst, d),                                                          \
                            static_cast<Value>(s.scalar + static_cast<double>(lane)));             \
               }),                                                                                 \
      draw.numForms = 3;                                                                           \
      (drawLanes<T, T, T>(draw, false)); draw.s.scalar = std::floor(draw.s.scalar);                \
      draw.s.count = std::min(draw.s.count, 2000u))
#define PROGRESSION(Name, T)                                                                       \
  TW_ROW(#Name "<" #T ">",                                                                         \
         Name(region<T>(Dst), s.scalarOf<T>(), static_cast<T>(s.choice % 7),                       \
              static_cast<int32_t>(s.count)),                                                      \
         for (uint32_t i = 0; i < s.count; ++i)                                                    \
             u.set<T>(Dst, i, static_cast<int64_t>(s.scalar) + int64_t{i} * (s.choice % 7)),       \
         draw.numForms = 1;                                                                        \
         (drawLanes<T, T, T>(draw, false)); draw.s.scalar = std::floor(draw.s.scalar);             \
         draw.s.count = std::min(draw.s.count, 300u))
#define COMMA ,

constexpr Row table[] = {
    CAST(float, half, 5, 1),
    CAST(int32_t, half, 0, 5),
    CAST(int16_t, half, 0, 5),
    CAST(int8_t, half, 0, 6),
    CAST(uint8_t, half, 0, 6),
    CAST(half, float, 0, 7),
    CAST(bfloat16_t, float, 0, 5),
    CAST(int64_t, float, 0, 5),
    CAST(int32_t, float, 0, 5),
    CAST(int16_t, float, 0, 5),
    CAST_AS(float, float, 0, 5, rounded),
    CAST(float, bfloat16_t, 5, 1),
    CAST(int32_t, bfloat16_t, 0, 5),
    CAST(half, uint8_t, 5, 1),
    CAST(half, int8_t, 5, 1),
    CAST(half, int16_t, 0, 6),
    CAST(float, int16_t, 5, 1),
    CAST(float, int32_t, 0, 6),
    CAST(int64_t, int32_t, 5, 1),
    CAST(int16_t, int32_t, 5, 1),
    CAST(int32_t, int64_t, 5, 1),
    CAST(float, int64_t, 0, 5),
    TW_ROW("Cast<half, int32_t> with SetDeqScale", SetDeqScale(s.scalarOf<half>());
           Cast(region<half>(Dst), region<int32_t>(A), RoundMode::CAST_NONE, s.count),
           (eachLane<half, int32_t, uint8_t>(
               s, u,
               [&](auto, auto x, auto) {
                 return static_cast<double>(static_cast<float>(x) * static_cast<float>(s.scalar));
               })),
           draw.numForms = 1;
           (drawLanes<half, int32_t, uint8_t>(draw, false, 0.1, 2));
           draw.s.scalar = roundTo<half>(draw.s.scalar)),
    TW_ROW("Cast<half, int4b_t>",
           Cast(region<half>(Dst), region<int4b_t>(A), RoundMode::CAST_NONE, s.count * 2),
           for (uint32_t i = 0; i < s.count * 2; ++i) u.set<half>(
               Dst, i,
               static_cast<double>(static_cast<int8_t>(*u.at(A, i / 2) << (i % 2 ? 0 : 4)) >> 4)),
           draw.numForms = 1;
           (drawLanes<half, uint8_t, uint8_t>(draw, false)); draw.s.count /= 2),
    TW_ROW(
        "Cast<int4b_t, half>",
        Cast(region<int4b_t>(Dst), region<half>(A), rounding[s.choice], s.count * 2),
        for (uint32_t i = 0; i < s.count; ++i) {
          auto nibble = [&](uint32_t k) {
            double x = rounded(u.get<half>(A, 2 * i + k), rounding[s.choice]);
            return static_cast<int>(std::min(std::max(x, -8.0), 7.0)) & 15;
          };
          *u.at(Dst, i) = static_cast<uint8_t>(nibble(0) | nibble(1) << 4);
        },
        draw.numForms = 1;
        draw.low = -12; draw.high = 12; (drawLanes<half, half, uint8_t>(draw, false));
        draw.s.count /= 2; draw.floatBytes = 0; draw.s.choice = draw.upTo(5); draw.specials = false;
        draw.fill<half>(A)),
    CAST_DEQ(int8_t, true, false, true),
    CAST_DEQ(uint8_t, false, false, false),
    CAST_DEQ(int8_t, true, true, false),
    CAST_DEQ(uint8_t, false, true, true),
    FILL(half),
    FILL(bfloat16_t),
    FILL(int16_t),
    FILL(uint16_t),
    FILL(int32_t),
    FILL(uint32_t),
    FILL(float),
    TW_ROW("Duplicate<float> of a tensor's first element",
           Duplicate(region<float>(Dst), region<float>(A), static_cast<int32_t>(s.count)),
           for (uint32_t i = 0; i < s.count; ++i) u.set<float>(Dst, i, u.get<float>(A, 0)),
           draw.numForms = 1;
           (drawLanes<float, float, float>(draw, false))),
    COPY(half),
    COPY(bfloat16_t),
    COPY(int16_t),
    COPY(uint16_t),
    COPY(int32_t),
    COPY(uint32_t),
    COPY(float),
    SEQUENCE(half),
    SEQUENCE(float),
    SEQUENCE(int16_t),
    SEQUENCE(int32_t),
    PROGRESSION(ArithProgression, half),
    PROGRESSION(ArithProgression, float),
    PROGRESSION(ArithProgression, int16_t),
    PROGRESSION(Arange, int32_t),
};

} // namespace

__global__ __aicore__ void runCasts(uint32_t row, const Shape* shapes, uint32_t cases,
                                    GM_ADDR before, GM_ADDR after) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  runCases(table[row], shapes, cases, before, after);
}

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
TEST(Rows, CastsAndFills) {
  checkTable(table, 30000,
             [](auto... arguments) { runCasts<<<1, nullptr, nullptr>>>(arguments...); });
}
#endif
