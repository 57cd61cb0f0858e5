// SPDX-License-Identifier: Apache-2.0
// Copies between GM and UB and inside UB: one row each (instruction_rows.h), GM and UB compared byte
// by byte, so that gaps, padding and what lies behind a row count as well.
#include "kernel_operator.h"

#include "instruction_rows.h"

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

// s.count rows (count), of s.lanes units, with gaps s.aBlk (source) and s.dstBlk (destination).

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
template <class T> void drawRows(Drawing& draw, uint32_t mostRows, uint32_t mostUnits) {
  draw.specials = false;
  for (uint32_t which = Dst; which <= GmOut; ++which)
    draw.fill<T>(which);
  draw.s.count = 1 + draw.upTo(mostRows - 1);
  draw.s.lanes = 1 + draw.upTo(mostUnits - 1);
  draw.s.aBlk = static_cast<uint16_t>(draw.upTo(3));
  draw.s.dstBlk = static_cast<uint16_t>(draw.upTo(3));
  draw.s.choice = draw.upTo(255);
  draw.s.scalar = draw.upTo(99);
}
void copyRows(Image& u, uint32_t to, uint32_t from, const Shape& s, uint32_t bytes,
              uint32_t toPitch, uint32_t fromPitch) {
  for (uint32_t r = 0; r < s.count; ++r)
    std::memcpy(u.at(to, r * toPitch), u.at(from, r * fromPitch), bytes);
}
uint32_t upToBlock(uint32_t bytes) {
  return (bytes + 31) / 32 * 32;
}
/// DataCopyPad to UB: padding of `left` and `right` elements, the rest of the block after it.
template <class T>
void padRows(Image& u, const Shape& s, uint32_t left, uint32_t right, double value) {
  uint32_t bytes = s.lanes * sizeof(T), row = upToBlock(bytes + (left + right) * sizeof(T));
  for (uint32_t r = 0; r < s.count; ++r) {
    uint32_t to = r * (row + s.dstBlk * 32);
    for (uint32_t e = 0; e < row / sizeof(T); ++e)
      storeAs<T>(u.at(Dst, to + e * sizeof(T)), value);
    std::memcpy(u.at(Dst, to + left * sizeof(T)), u.at(GmIn, r * (bytes + s.aBlk)), bytes);
  }
}
/// GM combined with UB, or taken from it.
template <class T, class F> void atomicRows(Image& u, const Shape& s, F f) {
  for (uint32_t i = 0; i < s.lanes * 32 / sizeof(T); ++i)
    u.set<T>(GmOut, i, f(u.get<T>(GmOut, i), u.get<T>(A, i)));
}
#endif

#define PAD_IN(T)                                                                                  \
  TW_ROW(                                                                                          \
      "DataCopyPad<" #T "> to UB",                                                                 \
      DataCopyPad(region<T>(Dst), s.global<T>(GmIn),                                               \
                  DataCopyExtParams(s.count, s.lanes * sizeof(T), s.aBlk, s.dstBlk, 0),            \
                  DataCopyPadExtParams<T>(true, s.choice % 4, s.choice / 4 % 4, s.scalarOf<T>())), \
      padRows<T>(u, s, s.choice % 4, s.choice / 4 % 4, s.scalar), drawRows<T>(draw, 20, 90))
#define PAD_OUT(T)                                                                                 \
  TW_ROW("DataCopyPad<" #T "> to GM",                                                              \
         DataCopyPad(s.global<T>(GmOut), region<T>(A),                                             \
                     DataCopyExtParams(s.count, s.lanes * sizeof(T), s.aBlk, s.dstBlk, 0)),        \
         uint32_t bytes = s.lanes * sizeof(T);                                                     \
         copyRows(u, GmOut, A, s, bytes, bytes + s.dstBlk, upToBlock(bytes) + s.aBlk * 32),        \
         drawRows<T>(draw, 20, 90))
#define ATOMIC(Name, T, expression)                                                                \
  TW_ROW(#Name "<" #T ">", Name<T>();                                                              \
         DataCopy(s.global<T>(GmOut), region<T>(A), s.lanes * 32 / sizeof(T));                     \
         if (s.choice % 2) SetAtomicNone(); else DisableDmaAtomic();                               \
         DataCopy(s.global<T>(GmOut, 8192), region<T>(A), 32),                                     \
         atomicRows<T>(u, s, [](auto x, auto y) { return expression; });                           \
         std::memcpy(u.at(GmOut, 8192), u.at(A), 32 * sizeof(T)), drawRows<T>(draw, 1, 200))
#define COMMA ,

constexpr Row table[] = {
    TW_ROW("DataCopy<half> of a count, and back",
           DataCopy(region<half>(Dst), s.global<half>(GmIn), s.lanes * 16);
           PipeBarrier<PIPE_ALL>();
           DataCopy(s.global<half>(GmOut), region<half>(Dst), s.lanes * 16),
           std::memcpy(u.at(Dst), u.at(GmIn), s.lanes * 32);
           std::memcpy(u.at(GmOut), u.at(GmIn), s.lanes * 32), drawRows<half>(draw, 1, 400)),
    TW_ROW("DataCopy<float> in UB", DataCopy(region<float>(Dst), region<float>(A), s.lanes * 8),
           std::memcpy(u.at(Dst), u.at(A), s.lanes * 32), drawRows<float>(draw, 1, 400)),
    TW_ROW(
        "DataCopyParams to UB",
        DataCopy(region<int8_t>(Dst), s.global<int8_t>(GmIn),
                 DataCopyParams(s.count, s.lanes, s.aBlk, s.dstBlk)),
        copyRows(u, Dst, GmIn, s, s.lanes * 32, (s.lanes + s.dstBlk) * 32, (s.lanes + s.aBlk) * 32),
        drawRows<int8_t>(draw, 20, 20)),
    TW_ROW(
        "DataCopyParams to GM, DataCopyEnhancedParams",
        DataCopyParams p(s.count, s.lanes, s.aBlk, s.dstBlk);
        if (s.choice % 2) DataCopy(s.global<float>(GmOut), region<float>(A), p);
        else DataCopy(s.global<float>(GmOut), region<float>(A), p, DataCopyEnhancedParams()),
        copyRows(u, GmOut, A, s, s.lanes * 32, (s.lanes + s.dstBlk) * 32, (s.lanes + s.aBlk) * 32),
        drawRows<float>(draw, 20, 20)),
    TW_ROW("DataCopyParams in UB",
           DataCopy(region<half>(Dst), region<half>(A),
                    DataCopyParams(s.count, s.lanes, s.aBlk, s.dstBlk)),
           copyRows(u, Dst, A, s, s.lanes * 32, (s.lanes + s.dstBlk) * 32, (s.lanes + s.aBlk) * 32),
           drawRows<half>(draw, 20, 20)),
    PAD_IN(half),
    PAD_IN(float),
    PAD_IN(int8_t),
    PAD_IN(uint16_t),
    TW_ROW("DataCopyPad with DataCopyPadParams",
           DataCopyPad(region<uint16_t>(Dst), s.global<uint16_t>(GmIn),
                       DataCopyParams(s.count, s.lanes * 2, s.aBlk, s.dstBlk),
                       DataCopyPadParams(true, 0, s.choice % 4, s.choice)),
           padRows<uint16_t>(u, s, 0, s.choice % 4, s.choice), drawRows<uint16_t>(draw, 20, 90)),
    TW_ROW("DataCopyPad with SetPadValue", SetPadValue(s.scalarOf<half>());
           DataCopyPad(region<half>(Dst), s.global<half>(GmIn),
                       DataCopyExtParams(s.count, s.lanes * 2, s.aBlk, s.dstBlk, 0),
                       DataCopyPadExtParams<half>(false, 0, 0, half(0))),
           padRows<half>(u, s, 0, 0, s.scalar), drawRows<half>(draw, 20, 90)),
    TW_ROW("DataCopyPad compact",
           (DataCopyPad<half, PaddingMode::Compact>(
               region<half>(Dst), s.global<half>(GmIn),
               DataCopyExtParams(s.count, s.lanes * 32, s.aBlk, 0, 0),
               DataCopyPadExtParams<half>(false, 0, 0, half(0)))),
           copyRows(u, Dst, GmIn, s, s.lanes * 32, s.lanes * 32, s.lanes * 32 + s.aBlk),
           drawRows<half>(draw, 20, 20)),
    PAD_OUT(half),
    PAD_OUT(float),
    PAD_OUT(int8_t),
    // A zN matrix in UB to rows in GM.
    TW_ROW("Nz2NdParamsFull",
           DataCopy(s.global<half>(GmOut), region<half>(A),
                    Nz2NdParamsFull(1, s.count, s.lanes, 1, s.count, s.lanes + s.dstBlk, 1)),
           for (uint32_t r = 0; r < s.count; ++r) for (uint32_t c = 0; c < s.lanes; ++c)
               std::memcpy(u.at(GmOut, (r * (s.lanes + s.dstBlk) + c) * 2),
                           u.at(A, (c / 16 * s.count * 16 + r * 16 + c % 16) * 2), 2),
           drawRows<half>(draw, 30, 60)),
    // A window of rows and columns.
    TW_ROW(
        "SliceInfo", uint32_t first = s.choice % 4 * 16; uint32_t width = s.lanes * 16;
        SliceInfo from[2] = {{first COMMA first + width - 1 COMMA 0 COMMA s.lanes COMMA 256} COMMA{
            2 COMMA 1 + s.count COMMA 0 COMMA 1 COMMA 30}};
        SliceInfo to[2] = {{0 COMMA width - 1 COMMA 0 COMMA s.lanes COMMA width} COMMA{
            0 COMMA s.count - 1 COMMA 0 COMMA 1 COMMA s.count}};
        DataCopy(region<half>(Dst), s.global<half>(GmIn), to, from, 2),
        for (uint32_t r = 0; r < s.count; ++r)
            std::memcpy(u.at(Dst, r* s.lanes * 32),
                        u.at(GmIn, ((2 + r) * 256 + s.choice % 4 * 16) * 2), s.lanes * 32),
        drawRows<half>(draw, 20, 10)),
    TW_ROW("SetStoreAtomicConfig, SetAtomicType",
           (SetStoreAtomicConfig<AtomicDtype::ATOMIC_F32, AscendC::AtomicOp::ATOMIC_SUM>());
           if (s.choice % 2) SetAtomicType<int32_t>();
           DataCopy(s.global<int32_t>(GmOut), region<int32_t>(A), s.lanes * 8);
           SetAtomicNone(),
           if (s.choice % 2) atomicRows<int32_t>(u, s, [](auto x, auto y) { return x + y; });
           else atomicRows<float>(u, s, [](auto x, auto y) { return x + y; }),
           draw.s.choice = draw.upTo(1);
           uint32_t kind = draw.s.choice;
           kind ? drawRows<int32_t>(draw, 1, 200) : drawRows<float>(draw, 1, 200);
           draw.s.choice = kind),
    ATOMIC(SetAtomicAdd, half, x + y),
    ATOMIC(SetAtomicAdd, float, x + y),
    ATOMIC(SetAtomicAdd, int32_t, x + y),
    ATOMIC(SetAtomicAdd, int16_t, x + y),
    ATOMIC(SetAtomicAdd, bfloat16_t, x + y),
    ATOMIC(SetAtomicAdd, int8_t, x + y),
    ATOMIC(SetAtomicMax, float, std::max(x, y)),
    ATOMIC(SetAtomicMax, int32_t, std::max(x, y)),
    ATOMIC(SetAtomicMin, half, std::min(x, y)),
    ATOMIC(SetAtomicMin, int16_t, std::min(x, y)),
};

} // namespace

__global__ __aicore__ void runMovement(uint32_t row, const Shape* shapes, uint32_t cases,
                                       GM_ADDR before, GM_ADDR after) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  runCases(table[row], shapes, cases, before, after);
}

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
TEST(Rows, Movement) {
  checkTable(table, 60000,
             [](auto... arguments) { runMovement<<<1, nullptr, nullptr>>>(arguments...); });
}
#endif

/// ND to zN in L1, shown by a copy of L1 itself.
__global__ __aicore__ void toFractals(GM_ADDR x, Nd2NzParams p, uint8_t* l1Image) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> in;
  in.SetGlobalBuffer((__gm__ half*)x);
  LocalTensor<half> all(TPosition::A1, 0, 32768);
  InitConstValue(all, InitConstValueParams<half>(1, 2048, 0, half(7.0f)));
  PipeBarrier<PIPE_ALL>();
  DataCopy(all, in, p);
  PipeBarrier<PIPE_ALL>();
  std::memcpy(l1Image, all.GetPhyAddr(), 65536);
}
#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
TEST(Rows, Nd2Nz) {
  catchLaunches();
  nextOptions() = {};
  std::mt19937 random(61000);
  auto from = [&](uint32_t low, uint32_t high) {
    return static_cast<uint16_t>(low + random() % (high - low + 1));
  };
  for (int k = 0; k < 12; ++k) {
    Nd2NzParams p(from(1, 3), from(1, 20), from(1, 50), 0, 0, 0, from(1, 2), 0);
    p.srcDValue = p.dValue + from(0, 5);
    p.srcNdMatrixStride = p.nValue * p.srcDValue + from(0, 9);
    p.dstNzC0Stride = static_cast<uint16_t>(p.nValue * p.dstNzNStride + from(0, 4));
    p.dstNzMatrixStride = 16u * ((p.dValue + 15) / 16 * p.dstNzC0Stride + from(0, 3));
    DeviceBuffer<uint16_t> x(8192);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<uint16_t>(random());
    std::vector<uint16_t> got(32768), wanted(32768, bitsOfValue<half>(7));
    toFractals<<<1, nullptr, nullptr>>>(x.gm(), p, reinterpret_cast<uint8_t*>(got.data()));
    ASSERT_EQ(allFindings(), "");
    for (uint32_t matrix = 0; matrix < p.ndNum; ++matrix)
      for (uint32_t r = 0; r < p.nValue; ++r)
        for (uint32_t c = 0; c < (p.dValue + 15u) / 16 * 16; ++c) // the last block's rest is 0
          wanted[matrix * p.dstNzMatrixStride + c / 16 * p.dstNzC0Stride * 16 +
                 r * p.dstNzNStride * 16 + c % 16] =
              c < p.dValue ? x[matrix * p.srcNdMatrixStride + r * p.srcDValue + c] : 0;
    ASSERT_EQ(got, wanted) << "case " << k;
  }
}
#endif
