// SPDX-License-Identifier: Apache-2.0
// Element-wise vector instructions against plain arithmetic, one row each (instruction_rows.h).
// Results are exact but for the functions that the C library computes; there 1e-6 is allowed, or
// half's last digit.
#include "kernel_operator.h"

#include "instruction_rows.h"

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

// d, x, y: the destination, the sources, as double or int64_t; c: the scalar.
#define TW_LANES(D, X, Y, expression)                                                              \
  eachLane<D, X, Y>(s, u, [&]([[maybe_unused]] auto d, auto x, [[maybe_unused]] auto y) {          \
    [[maybe_unused]] auto c = static_cast<decltype(x)>(s.scalar);                                  \
    return expression;                                                                             \
  })
#define BINARY(Name, T, expression)                                                                \
  TW_ROW(#Name "<" #T ">",                                                                         \
         TW_FORMS(Name, (T, false), T, s.binary(), region<T>(Dst), region<T>(s.first()),           \
                  region<T>(B)),                                                                   \
         TW_LANES(T, T, T, expression), (drawLanes<T, T, T>(draw)))
#define TYPED_BINARY(Name, T, expression)                                                          \
  TW_ROW(#Name "<" #T ", " #T ">",                                                                 \
         TW_FORMS(Name, (T, T, false), T, s.binary(), region<T>(Dst), region<T>(s.first()),        \
                  region<T>(B)),                                                                   \
         TW_LANES(T, T, T, expression), (drawLanes<T, T, T>(draw)))
#define WIDENING(Name, D, T, expression)                                                           \
  TW_ROW(#Name "<" #D ", " #T ">",                                                                 \
         TW_FORMS(Name, (D, T, false), D, s.binary(), region<D>(Dst), region<T>(A), region<T>(B)), \
         TW_LANES(D, T, T, expression), (drawLanes<D, T, T>(draw)))
#define UNARY(Name, T, expression, ...)                                                            \
  TW_ROW(#Name "<" #T ">",                                                                         \
         TW_FORMS(Name, (T, false), T, s.unary(), region<T>(Dst), region<T>(s.first())),           \
         TW_LANES(T, T, T, expression), (drawLanes<T, T, T>(draw));                                \
         __VA_ARGS__)
#define SCALAR(Name, T, expression, ...)                                                           \
  TW_ROW(#Name "<" #T ">",                                                                         \
         TW_FORMS(Name, (T, false), T, s.unary(), region<T>(Dst), region<T>(s.first()),            \
                  s.scalarOf<T>()),                                                                \
         TW_LANES(T, T, T, expression), (drawLanes<T, T, T>(draw __VA_ARGS__)))
/// With the scalar's type among the template arguments.
#define TYPED_SCALAR(Name, T, expression)                                                          \
  TW_ROW(#Name "<" #T ", " #T ">",                                                                 \
         TW_FORMS(Name, (T, T, false), T, s.unary(), region<T>(Dst), region<T>(s.first()),         \
                  s.scalarOf<T>()),                                                                \
         TW_LANES(T, T, T, expression), (drawLanes<T, T, T>(draw)))
#define AXPY(D, T, expression)                                                                     \
  TW_ROW(                                                                                          \
      "Axpy<" #D ", " #T ">",                                                                      \
      TW_FORMS(Axpy, (D, T, false), D, s.unary(), region<D>(Dst), region<T>(A), s.scalarOf<T>()),  \
      TW_LANES(D, T, T, expression), (drawLanes<D, T, T>(draw, false)))
#define FOUR(Kind, Name, expression)                                                               \
  Kind(Name, half, expression), Kind(Name, float, expression), Kind(Name, int16_t, expression),    \
      Kind(Name, int32_t, expression)
#define FLOATS(Kind, Name, ...) Kind(Name, half, __VA_ARGS__), Kind(Name, float, __VA_ARGS__)
/// Functions of the C library: positive inputs if `Low` says so.
#define FUNCTION(Name, Low, High, expression)                                                      \
  UNARY(Name, half, expression, draw.tolerance = 1e-3; narrow<half>(draw, Low, High)),             \
      UNARY(Name, float, expression, draw.tolerance = 1e-6; narrow<float>(draw, Low, High))
/// Functions that take a count only.
#define COUNT_FUNCTION1(Name, T, Low, High, near, expression)                                      \
  TW_ROW(#Name "<" #T ">", Name(region<T>(Dst), region<T>(A), scratch(), s.count);                 \
         , TW_LANES(T, T, T, expression), draw.numForms = 1; (drawLanes<T, T, T>(draw));           \
         draw.s.inPlace = false; draw.tolerance = near; narrow<T>(draw, Low, High))
#define COUNT_FUNCTION(Name, Low, High, expression)                                                \
  COUNT_FUNCTION1(Name, half, Low, High, 1e-3, expression),                                        \
      COUNT_FUNCTION1(Name, float, Low, High, 2e-6, expression)

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
/// Source values between `low` and `high`, nothing special.
template <class T> void narrow(Drawing& draw, double low, double high) {
  draw.low = low;
  draw.high = high;
  draw.specials = false;
  draw.fill<T>(A);
  if (draw.s.inPlace)
    draw.fill<T>(Dst);
}
/// The larger; NaN if one is NaN.
template <class V> V larger(V a, V b) {
  return a != a ? a : b != b ? b : std::max(a, b);
}
template <class V> V smaller(V a, V b) {
  return a != a ? a : b != b ? b : std::min(a, b);
}
template <class V> V rectified(V a) {
  return a != a ? a : std::max(a, V{});
}
int64_t shifted(int64_t x, int64_t bits) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) << bits);
}
double f32(double x) {
  return roundTo<float>(x);
}
/// A float that becomes an integer of 8 bits: nearest even, saturated.
template <class I> int64_t toByte(double x) {
  return saturate<I>(std::nearbyint(x));
}
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
#endif

constexpr Row table[] = {
    FOUR(BINARY, Add, x + y),
    FOUR(BINARY, Sub, x - y),
    FOUR(BINARY, Mul, x* y),
    FLOATS(BINARY, Div, x / y),
    FOUR(BINARY, Max, larger(x, y)),
    FOUR(BINARY, Min, smaller(x, y)),
    BINARY(And, int16_t, x& y),
    BINARY(And, uint16_t, x& y),
    BINARY(Or, int16_t, x | y),
    BINARY(Or, uint16_t, x | y),
    FLOATS(BINARY, AddRelu, rectified(x + y)),
    BINARY(AddRelu, int16_t, rectified(int64_t{static_cast<int16_t>(x + y)})),
    FLOATS(BINARY, SubRelu, rectified(x - y)),
    BINARY(SubRelu, int16_t, rectified(int64_t{static_cast<int16_t>(x - y)})),
    FLOATS(TYPED_BINARY, MulAddDst, f32(f32(x* y) + d)),
    WIDENING(MulAddDst, float, half, x* y + d),
    FLOATS(BINARY, FusedMulAdd, f32(f32(x* d) + y)),
    FLOATS(BINARY, FusedMulAddRelu, rectified(f32(f32(x* d) + y))),
    FLOATS(BINARY, MulAddRelu, rectified(f32(f32(x* d) + y))),
    WIDENING(MulCast, int8_t, half, toByte<int8_t>(x* y)),
    WIDENING(MulCast, uint8_t, half, toByte<uint8_t>(x* y)),
    WIDENING(AddReluCast, half, float, rectified(f32(x + y))),
    WIDENING(AddReluCast, int8_t, half, toByte<int8_t>(rectified(f32(x + y)))),
    WIDENING(AddReluCast, int8_t, int16_t, toByte<int8_t>(rectified(static_cast<double>(x + y)))),
    WIDENING(SubReluCast, half, float, rectified(f32(x - y))),
    WIDENING(SubReluCast, int8_t, half, toByte<int8_t>(rectified(f32(x - y)))),
    WIDENING(SubReluCast, int8_t, int16_t, toByte<int8_t>(rectified(static_cast<double>(x - y)))),
    TW_ROW("AddDeqRelu", SetDeqScale(s.scalarOf<half>());
           TW_FORMS(AddDeqRelu, (half, int32_t, false), int32_t, s.binary(), region<half>(Dst),
                    region<int32_t>(A), region<int32_t>(B)),
           (eachLane<half, int32_t, int32_t>(s, u,
                                             [&](auto, auto x, auto y) {
                                               auto sum =
                                                   static_cast<float>(static_cast<int32_t>(x + y));
                                               return rectified(
                                                   f32(static_cast<double>(sum) * s.scalar));
                                             })),
           (drawLanes<half, int32_t, int32_t>(draw, false))),

    FOUR(SCALAR, Adds, x + c),
    FOUR(SCALAR, Muls, x* c),
    FOUR(SCALAR, Maxs, larger(x, c)),
    FOUR(SCALAR, Mins, smaller(x, c)),
    FOUR(SCALAR, Subs, x - c),
    FLOATS(SCALAR, Divs, x / c),
    TYPED_SCALAR(Adds, float, x + c),
    TYPED_SCALAR(Muls, half, x* c),
    TYPED_SCALAR(Maxs, int16_t, larger(x, c)),
    TYPED_SCALAR(Mins, int32_t, smaller(x, c)),
    TYPED_SCALAR(Subs, half, x - c),
    TYPED_SCALAR(Divs, float, x / c),
    TYPED_SCALAR(LeakyRelu, half, x >= 0 ? x : x * c),
    SCALAR(Ands, int16_t, x& c),
    SCALAR(Ors, uint16_t, x | c, , true, 0, 99),
    FLOATS(SCALAR, LeakyRelu, x >= 0 ? x : x * c),
    SCALAR(ShiftLeft, int16_t, shifted(x, c), , true, 0, 15),
    SCALAR(ShiftLeft, uint16_t, shifted(x, c), , true, 0, 15),
    SCALAR(ShiftLeft, int32_t, shifted(x, c), , true, 0, 31),
    SCALAR(ShiftLeft, uint32_t, shifted(x, c), , true, 0, 31),
    SCALAR(ShiftRight, int16_t, x >> c, , true, 0, 15),
    SCALAR(ShiftRight, uint16_t, x >> c, , true, 0, 15),
    SCALAR(ShiftRight, int32_t, x >> c, , true, 0, 31),
    SCALAR(ShiftRight, uint32_t, x >> c, , true, 0, 31),
    AXPY(half, half, f32(f32(x* c) + d)),
    AXPY(float, float, f32(f32(x* c) + d)),
    AXPY(float, half, x* c + d),

    FLOATS(UNARY, Abs, std::fabs(x)),
    FLOATS(UNARY, Relu, rectified(x)),
    UNARY(Relu, int32_t, rectified(x)),
    UNARY(Not, int16_t, ~x),
    UNARY(Not, uint16_t, ~x),
    FUNCTION(Sqrt, 0, 9, std::sqrt(x)),
    FUNCTION(Exp, -8, 8, std::exp(x)),
    FUNCTION(Ln, 0.01, 9, std::log(x)),
    FUNCTION(Reciprocal, 0.1, 9, 1 / x),
    FUNCTION(Rsqrt, 0.1, 9, 1 / std::sqrt(x)),

    COUNT_FUNCTION(Sin, -8, 8, std::sin(x)),
    COUNT_FUNCTION(Cos, -8, 8, std::cos(x)),
    COUNT_FUNCTION(Tan, -1.4, 1.4, std::tan(x)),
    COUNT_FUNCTION(Sinh, -4, 4, std::sinh(x)),
    COUNT_FUNCTION(Cosh, -4, 4, std::cosh(x)),
    COUNT_FUNCTION(Tanh, -4, 4, std::tanh(x)),
    COUNT_FUNCTION(Asin, -1, 1, std::asin(x)),
    COUNT_FUNCTION(Acos, -1, 0.9, std::acos(x)),
    COUNT_FUNCTION(Atan, -8, 8, std::atan(x)),
    COUNT_FUNCTION(Asinh, -8, 8, std::asinh(x)),
    COUNT_FUNCTION(Acosh, 1.1, 8, std::acosh(x)),
    COUNT_FUNCTION(Atanh, -0.9, 0.9, std::atanh(x)),
    COUNT_FUNCTION(Erf, -3, 3, std::erf(x)),
    COUNT_FUNCTION(Erfc, -3, 3, std::erfc(x)),
    COUNT_FUNCTION(Sigmoid, -8, 8, 1 / (1 + std::exp(-x))),
    COUNT_FUNCTION(Silu, -8, 8, x / (1 + std::exp(-x))),
    COUNT_FUNCTION(Gelu, -2, 8, gelu(x)),
    COUNT_FUNCTION(Floor, -8, 8, std::floor(x)),
    COUNT_FUNCTION(Ceil, -8, 8, std::ceil(x)),
    COUNT_FUNCTION(Round, -8, 8, std::nearbyint(x)),
    COUNT_FUNCTION(Trunc, -8, 8, std::trunc(x)),
    COUNT_FUNCTION(Frac, -8, 8, x - std::trunc(x)),
    COUNT_FUNCTION(Sign, -8, 8, static_cast<double>((x > 0) - (x < 0))),
    COUNT_FUNCTION(Log, 1.2, 9, std::log(x)),
    COUNT_FUNCTION(Log2, 1.2, 9, std::log2(x)),
    COUNT_FUNCTION(Log10, 1.2, 9, std::log10(x)),
    TW_ROW("Power<float>",
           Power(region<float>(Dst), region<float>(A), region<float>(B), scratch(), s.count),
           TW_LANES(float, float, float, std::pow(x, y)), draw.numForms = 1;
           (drawLanes<float, float, float>(draw)); draw.s.inPlace = false; draw.tolerance = 1e-6;
           narrow<float>(draw, 0.1, 4)),
    TW_ROW("Power<float> to a scalar",
           Power(region<float>(Dst), region<float>(A), 2.5f, scratch(), s.count),
           TW_LANES(float, float, float, std::pow(x, 2.5)), draw.numForms = 1;
           (drawLanes<float, float, float>(draw)); draw.s.inPlace = false; draw.tolerance = 1e-6;
           narrow<float>(draw, 0.1, 4)),
    TW_ROW("Power<half> of a scalar",
           Power(region<half>(Dst), half(1.5f), region<half>(A), s.count),
           TW_LANES(half, half, half, std::pow(1.5, x)), draw.numForms = 1;
           (drawLanes<half, half, half>(draw)); draw.s.inPlace = false; draw.tolerance = 1e-3;
           narrow<half>(draw, -3, 8)),
    TW_ROW("SwiGLU<float>",
           SwiGLU(region<float>(Dst), region<float>(A), region<float>(B), 1.5f, scratch(), s.count),
           TW_LANES(float, float, float, x* y / (1 + std::exp(-1.5 * y))), draw.numForms = 1;
           draw.specials = false; (drawLanes<float, float, float>(draw)); draw.s.inPlace = false;
           draw.tolerance = 1e-6),
    TW_ROW("Xor<uint16_t>",
           Xor(region<uint16_t>(Dst), region<uint16_t>(A), region<uint16_t>(B), scratch(), s.count),
           TW_LANES(uint16_t, uint16_t, uint16_t, x ^ y), draw.numForms = 1;
           (drawLanes<uint16_t, uint16_t, uint16_t>(draw, false))),
    TW_ROW("ClampMax<half>",
           ClampMax(region<half>(Dst), region<half>(A), scratch(), s.scalarOf<half>(), s.count),
           TW_LANES(half, half, half, smaller(x, c)), draw.numForms = 1;
           (drawLanes<half, half, half>(draw, false))),
    TW_ROW("ClampMin<float>",
           ClampMin(region<float>(Dst), region<float>(A), scratch(), s.scalarOf<float>(), s.count),
           TW_LANES(float, float, float, larger(x, c)), draw.numForms = 1;
           (drawLanes<float, float, float>(draw, false))),
};

} // namespace

__global__ __aicore__ void runElementwise(uint32_t row, const Shape* shapes, uint32_t cases,
                                          GM_ADDR before, GM_ADDR after) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  runCases(table[row], shapes, cases, before, after);
}

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
TEST(Rows, Elementwise) {
  checkTable(table, 20000,
             [](auto... arguments) { runElementwise<<<1, nullptr, nullptr>>>(arguments...); });
}
#endif
