// SPDX-License-Identifier: Apache-2.0
// Element-wise vector instructions. half and bfloat16 are computed in float and rounded once, which
// is exact for + - * / and sqrt (24 bits are more than twice 11 plus 2).
#include "simulator/isa/elementwise.h"
#include "simulator/isa/number_formats.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace tilewright::ascend::isa {

namespace {

constexpr size_t chunk = 256;

/// F(d, a, b, s): new value of d; unused inputs are 0.
template <class T, class F>
void floatRun(void* d, const void* a, const void* b, size_t n, Scalar s) {
  auto* out = static_cast<T*>(d);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
  if constexpr (std::is_same_v<T, float>) {
    for (size_t i = 0; i < n; ++i)
      out[i] = F::of(F::usesDst ? out[i] : 0.f, x[i], F::usesSrc1 ? y[i] : 0.f, s.f);
  } else {
    float fx[chunk], fy[chunk], fd[chunk];
    for (size_t at = 0; at < n; at += chunk) {
      size_t m = n - at < chunk ? n - at : chunk;
      loadRow(x + at, fx, m);
      if (F::usesSrc1)
        loadRow(y + at, fy, m);
      if (F::usesDst)
        loadRow(out + at, fd, m);
      for (size_t i = 0; i < m; ++i)
        fd[i] = F::of(F::usesDst ? fd[i] : 0.f, fx[i], F::usesSrc1 ? fy[i] : 0.f, s.f);
      storeRow(fd, out + at, m);
    }
  }
}

template <class T, class F> void intRun(void* d, const void* a, const void* b, size_t n, Scalar s) {
  auto* out = static_cast<T*>(d);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
  auto scalar = static_cast<T>(s.i);
  for (size_t i = 0; i < n; ++i)
    out[i] =
        static_cast<T>(F::of(F::usesDst ? out[i] : T{}, x[i], F::usesSrc1 ? y[i] : T{}, scalar));
}

// Integers wrap: the arithmetic is done in the unsigned type of at least 32 bits.
template <class T> using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

#define TW_OP(Name, dst, src1, expression)                                                         \
  struct Name {                                                                                    \
    static constexpr bool usesDst = dst, usesSrc1 = src1;                                          \
    template <class T>                                                                             \
    static T of([[maybe_unused]] T d, T a, [[maybe_unused]] T b, [[maybe_unused]] T s) {           \
      return static_cast<T>(expression);                                                           \
    }                                                                                              \
  };
#define TW_WRAP_OP(Name, dst, src1, expression)                                                    \
  struct Name {                                                                                    \
    static constexpr bool usesDst = dst, usesSrc1 = src1;                                          \
    template <class T>                                                                             \
    static T of([[maybe_unused]] T d0, T a0, [[maybe_unused]] T b0, [[maybe_unused]] T s0) {       \
      using W = std::conditional_t<std::is_integral_v<T>, Wide<T>, T>;                             \
      [[maybe_unused]] auto d = static_cast<W>(d0);                                                \
      auto a = static_cast<W>(a0);                                                                 \
      [[maybe_unused]] auto b = static_cast<W>(b0);                                                \
      [[maybe_unused]] auto s = static_cast<W>(s0);                                                \
      return static_cast<T>(expression);                                                           \
    }                                                                                              \
  };
/// NaN stays.
template <class T> T rectified(T x) {
  return x > T{} || x != x ? x : T{};
}
TW_WRAP_OP(AddOp, false, true, a + b)
TW_WRAP_OP(SubOp, false, true, a - b)
TW_WRAP_OP(MulOp, false, true, a* b)
TW_WRAP_OP(MulAddDstOp, true, true, a* b + d)
TW_WRAP_OP(AddsOp, false, false, a + s)
TW_WRAP_OP(MulsOp, false, false, a* s)
TW_WRAP_OP(SubsOp, false, false, a - s)
TW_WRAP_OP(AxpyOp, true, false, a* s + d)
struct FusedMulAddOp {
  static constexpr bool usesDst = true, usesSrc1 = true;
  template <class T> static T of(T d, T a, T b, T) {
    return MulOp::of<T>(T{}, a, d, T{}) + b;
  }
};
TW_OP(DivOp, false, true, a / b)
TW_OP(DivsOp, false, false, a / s)
// A NaN operand gives NaN.
TW_OP(MaxOp, false, true, a != a ? a : b != b ? b : (a > b ? a : b))
TW_OP(MinOp, false, true, a != a ? a : b != b ? b : (a < b ? a : b))
TW_OP(MaxsOp, false, false, a != a ? a : (a > s ? a : s))
TW_OP(MinsOp, false, false, a != a ? a : (a < s ? a : s))
TW_OP(AddReluOp, false, true, rectified(static_cast<T>(a + b)))
TW_OP(SubReluOp, false, true, rectified(static_cast<T>(a - b)))
TW_OP(FusedMulAddReluOp, true, true, rectified(static_cast<T>(a* d + b)))
TW_OP(LeakyReluOp, false, false, a >= T{} ? a : static_cast<T>(a * s))
TW_OP(ReluOp, false, false, rectified(a))
TW_OP(AbsOp, false, false, std::fabs(a))
TW_OP(ExpOp, false, false, std::exp(a))
TW_OP(LnOp, false, false, std::log(a))
TW_OP(SqrtOp, false, false, std::sqrt(a))
TW_OP(ReciprocalOp, false, false, 1.0f / a)
TW_OP(RsqrtOp, false, false, 1.0f / std::sqrt(a))
TW_OP(SinOp, false, false, std::sin(a))
TW_OP(CosOp, false, false, std::cos(a))
TW_OP(TanOp, false, false, std::tan(a))
TW_OP(SinhOp, false, false, std::sinh(a))
TW_OP(CoshOp, false, false, std::cosh(a))
TW_OP(AsinOp, false, false, std::asin(a))
TW_OP(AcosOp, false, false, std::acos(a))
TW_OP(AtanOp, false, false, std::atan(a))
TW_OP(AsinhOp, false, false, std::asinh(a))
TW_OP(AcoshOp, false, false, std::acosh(a))
TW_OP(AtanhOp, false, false, std::atanh(a))
TW_OP(TanhOp, false, false, std::tanh(a))
TW_OP(ErfOp, false, false, std::erf(a))
TW_OP(ErfcOp, false, false, std::erfc(a))
TW_OP(SigmoidOp, false, false, 1.0f / (1.0f + std::exp(-a)))
TW_OP(SiluOp, false, false, a / (1.0f + std::exp(-a)))
TW_OP(GeluOp, false, false, a / (1.0f + std::exp(-1.5957691f * (a + 0.044715f * a * a * a))))
TW_OP(SwiGluOp, false, true, a* b / (1.0f + std::exp(-s * b)))
TW_OP(FloorOp, false, false, std::floor(a))
TW_OP(CeilOp, false, false, std::ceil(a))
TW_OP(RoundOp, false, false, std::nearbyint(a))
TW_OP(TruncOp, false, false, std::trunc(a))
TW_OP(FracOp, false, false, a - std::trunc(a))
TW_OP(SignOp, false, false, a > 0 ? 1.0f : a < 0 ? -1.0f : a)
TW_OP(Log2Op, false, false, std::log2(a))
TW_OP(Log10Op, false, false, std::log10(a))
TW_OP(PowersOp, false, false, std::pow(a, s))
TW_OP(ScalarPowerOp, false, false, std::pow(s, a))
TW_OP(PowerOp, false, true, std::pow(a, b))
TW_OP(AndOp, false, true, a& b)
TW_OP(OrOp, false, true, a | b)
TW_OP(XorOp, false, true, a ^ b)
TW_OP(NotOp, false, false, ~a)
TW_OP(AndsOp, false, false, a& s)
TW_OP(OrsOp, false, false, a | s)
TW_OP(ShiftLeftOp, false, false,
      static_cast<uint64_t>(s) >= sizeof(T) * 8
          ? T{}
          : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << s))
TW_OP(ShiftRightOp, false, false,
      static_cast<uint64_t>(s) >= sizeof(T) * 8 ? static_cast<T>(a < T{} ? -1 : 0)
                                                : static_cast<T>(a >> s))
TW_OP(ShiftRightRoundOp, false, false,
      static_cast<uint64_t>(s) >= sizeof(T) * 8 || s == 0
          ? static_cast<T>(s == 0 ? a : T{})
          : static_cast<T>((a >> s) + (a >> (s - 1) & 1)))
TW_OP(CopyOp, false, false, a)
#undef TW_OP
#undef TW_WRAP_OP

/// Axpy and MulAddDst with half sources and a float destination.
template <bool isAxpy> void widenRun(void* d, const void* a, const void* b, size_t n, Scalar s) {
  auto* out = static_cast<float*>(d);
  auto* x = static_cast<const Half*>(a);
  auto* y = static_cast<const Half*>(b);
  for (size_t i = 0; i < n; ++i)
    out[i] += toFloat(x[i]) * (isAxpy ? s.f : toFloat(y[i]));
}

float asFloat(float x) {
  return x;
}
float asFloat(Half x) {
  return toFloat(x);
}
float asFloat(int16_t x) {
  return x;
}
void narrow(float x, Half& out) {
  out = toHalf(x);
}
template <class I> void narrow(float x, I& out) {
  float rounded = std::nearbyint(x);
  constexpr float low = std::is_signed_v<I> ? -128.0f : 0.0f, high = low + 255.0f;
  out = static_cast<I>(x != x ? 0.0f : rounded < low ? low : rounded > high ? high : rounded);
}
/// An operation of two sources whose result is narrower.
template <class To, class From, class F>
void narrowRun(void* d, const void* a, const void* b, size_t n, Scalar) {
  auto* out = static_cast<To*>(d);
  auto* x = static_cast<const From*>(a);
  auto* y = static_cast<const From*>(b);
  for (size_t i = 0; i < n; ++i)
    narrow(F::of(0.0f, asFloat(x[i]), asFloat(y[i]), 0.0f), out[i]);
}
template <class F> RunFunction narrowing(DType from, DType to) {
  if (from == DType::I16 && std::is_same_v<F, MulOp> == false)
    return to == DType::I8 ? narrowRun<int8_t, int16_t, F> : nullptr;
  if (from == DType::F32)
    return to == DType::F16 ? narrowRun<Half, float, F> : nullptr;
  if (from != DType::F16)
    return nullptr;
  return to == DType::I8   ? narrowRun<int8_t, Half, F>
         : to == DType::U8 ? narrowRun<uint8_t, Half, F>
                           : nullptr;
}

void addDeqReluRun(void* d, const void* a, const void* b, size_t n, Scalar s) {
  auto* out = static_cast<Half*>(d);
  auto* x = static_cast<const int32_t*>(a);
  auto* y = static_cast<const int32_t*>(b);
  for (size_t i = 0; i < n; ++i) {
    auto sum = static_cast<int32_t>(static_cast<uint32_t>(x[i]) + static_cast<uint32_t>(y[i]));
    out[i] = toHalf(rectified(static_cast<float>(sum) * s.f));
  }
}

template <class F> RunFunction floats(DType type) {
  switch (type) {
  case DType::F32:
    return floatRun<float, F>;
  case DType::F16:
    return floatRun<Half, F>;
  default:
    return nullptr;
  }
}
/// What arithmetic takes: half, float, int16_t, int32_t.
template <class F> RunFunction numbers(DType type) {
  switch (type) {
  case DType::I16:
    return intRun<int16_t, F>;
  case DType::I32:
    return intRun<int32_t, F>;
  default:
    return floats<F>(type);
  }
}
template <class F> RunFunction floatsOr(DType extra, DType type) {
  return type == extra ? numbers<F>(type) : floats<F>(type);
}
template <class F> RunFunction shifts(DType type) {
  switch (type) {
  case DType::I16:
    return intRun<int16_t, F>;
  case DType::U16:
    return intRun<uint16_t, F>;
  case DType::I32:
    return intRun<int32_t, F>;
  case DType::U32:
    return intRun<uint32_t, F>;
  default:
    return nullptr;
  }
}
/// And, Or, Not, Xor: int16_t and uint16_t.
template <class F> RunFunction words(DType type) {
  return type == DType::I16 || type == DType::U16 ? intRun<uint16_t, F> : nullptr;
}
/// What only moves: lanes of 16 and 32 bits.
template <class F> RunFunction lanes(DType type) {
  switch (bytesOf(type)) {
  case 2:
    return intRun<uint16_t, F>;
  case 4:
    return intRun<uint32_t, F>;
  default:
    return nullptr;
  }
}

RunFunction transcendental(VectorOp op, DType t) {
  switch (op) {
  case VectorOp::Sin:
    return floats<SinOp>(t);
  case VectorOp::Cos:
    return floats<CosOp>(t);
  case VectorOp::Tan:
    return floats<TanOp>(t);
  case VectorOp::Sinh:
    return floats<SinhOp>(t);
  case VectorOp::Cosh:
    return floats<CoshOp>(t);
  case VectorOp::Asin:
    return floats<AsinOp>(t);
  case VectorOp::Acos:
    return floats<AcosOp>(t);
  case VectorOp::Atan:
    return floats<AtanOp>(t);
  case VectorOp::Asinh:
    return floats<AsinhOp>(t);
  case VectorOp::Acosh:
    return floats<AcoshOp>(t);
  case VectorOp::Atanh:
    return floats<AtanhOp>(t);
  case VectorOp::Tanh:
    return floats<TanhOp>(t);
  case VectorOp::Erf:
    return floats<ErfOp>(t);
  case VectorOp::Erfc:
    return floats<ErfcOp>(t);
  case VectorOp::Sigmoid:
    return floats<SigmoidOp>(t);
  case VectorOp::Silu:
    return floats<SiluOp>(t);
  case VectorOp::Gelu:
    return floats<GeluOp>(t);
  case VectorOp::Floor:
    return floats<FloorOp>(t);
  case VectorOp::Ceil:
    return floats<CeilOp>(t);
  case VectorOp::Round:
    return floats<RoundOp>(t);
  case VectorOp::Trunc:
    return floats<TruncOp>(t);
  case VectorOp::Frac:
    return floats<FracOp>(t);
  case VectorOp::Sign:
    return floats<SignOp>(t);
  case VectorOp::Log2:
    return floats<Log2Op>(t);
  case VectorOp::Log10:
    return floats<Log10Op>(t);
  case VectorOp::Powers:
    return floats<PowersOp>(t);
  case VectorOp::ScalarPower:
    return floats<ScalarPowerOp>(t);
  case VectorOp::Power:
    return floats<PowerOp>(t);
  default:
    return nullptr;
  }
}

RunFunction logical(const VectorInstr& i, DType t) {
  switch (i.op) {
  case VectorOp::And:
    return words<AndOp>(t);
  case VectorOp::Or:
    return words<OrOp>(t);
  case VectorOp::Xor:
    return words<XorOp>(t);
  case VectorOp::Not:
    return words<NotOp>(t);
  case VectorOp::Ands:
    return words<AndsOp>(t);
  case VectorOp::Ors:
    return words<OrsOp>(t);
  case VectorOp::Copy:
    return lanes<CopyOp>(t);
  case VectorOp::ShiftLeft:
    return shifts<ShiftLeftOp>(t);
  case VectorOp::ShiftRight:
    return i.flag ? shifts<ShiftRightRoundOp>(t) : shifts<ShiftRightOp>(t);
  default:
    return nullptr;
  }
}

} // namespace

RunFunction elementwiseRun(const VectorInstr& i) {
  DType t = i.src0.type;
  bool widens = i.dst.type == DType::F32 && t == DType::F16;
  if (i.dst.type != t && widens && i.op == VectorOp::Axpy)
    return widenRun<true>;
  if (i.dst.type != t && widens && i.op == VectorOp::MulAddDst)
    return widenRun<false>;
  switch (i.op) {
  case VectorOp::MulCast:
    return narrowing<MulOp>(t, i.dst.type);
  case VectorOp::AddReluCast:
    return narrowing<AddReluOp>(t, i.dst.type);
  case VectorOp::SubReluCast:
    return narrowing<SubReluOp>(t, i.dst.type);
  case VectorOp::AddDeqRelu:
    return t == DType::I32 && i.dst.type == DType::F16 ? addDeqReluRun : nullptr;
  case VectorOp::SwiGlu:
    return floats<SwiGluOp>(t);
  case VectorOp::Add:
    return numbers<AddOp>(t);
  case VectorOp::Sub:
    return numbers<SubOp>(t);
  case VectorOp::Mul:
    return numbers<MulOp>(t);
  case VectorOp::Div:
    return floats<DivOp>(t);
  case VectorOp::Max:
    return numbers<MaxOp>(t);
  case VectorOp::Min:
    return numbers<MinOp>(t);
  case VectorOp::AddRelu:
    return floatsOr<AddReluOp>(DType::I16, t);
  case VectorOp::SubRelu:
    return floatsOr<SubReluOp>(DType::I16, t);
  case VectorOp::MulAddDst:
    return floats<MulAddDstOp>(t);
  case VectorOp::FusedMulAdd:
    return floats<FusedMulAddOp>(t);
  case VectorOp::FusedMulAddRelu:
    return floats<FusedMulAddReluOp>(t);
  case VectorOp::Adds:
    return numbers<AddsOp>(t);
  case VectorOp::Muls:
    return numbers<MulsOp>(t);
  case VectorOp::Maxs:
    return numbers<MaxsOp>(t);
  case VectorOp::Mins:
    return numbers<MinsOp>(t);
  case VectorOp::Subs:
    return numbers<SubsOp>(t);
  case VectorOp::Divs:
    return floats<DivsOp>(t);
  case VectorOp::LeakyRelu:
    return floats<LeakyReluOp>(t);
  case VectorOp::Axpy:
    return floats<AxpyOp>(t);
  case VectorOp::Exp:
    return floats<ExpOp>(t);
  case VectorOp::Ln:
    return floats<LnOp>(t);
  case VectorOp::Abs:
    return floats<AbsOp>(t);
  case VectorOp::Reciprocal:
    return floats<ReciprocalOp>(t);
  case VectorOp::Sqrt:
    return floats<SqrtOp>(t);
  case VectorOp::Rsqrt:
    return floats<RsqrtOp>(t);
  case VectorOp::Relu:
    return floatsOr<ReluOp>(DType::I32, t);
  default:
    if (RunFunction f = logical(i, t))
      return f;
    return transcendental(i.op, t);
  }
}

bool isElementwise(VectorOp op) {
  return op <= VectorOp::Power && op != VectorOp::Cast && op != VectorOp::CastDeq;
}

bool hasTwoSources(VectorOp op) {
  return op <= VectorOp::SwiGlu || op == VectorOp::Power;
}

bool readsDestination(VectorOp op) {
  return op == VectorOp::MulAddDst || op == VectorOp::FusedMulAdd ||
         op == VectorOp::FusedMulAddRelu || op == VectorOp::Axpy;
}

} // namespace tilewright::ascend::isa
