// SPDX-License-Identifier: Apache-2.0
// The temporary memory of advanced functions is written: calls that share it need an order, and what was there is lost.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

constexpr uint32_t rows = 2, columns = 32, all = rows * columns, scratchByte = 65536;

template <class T> LocalTensor<T> ub(uint32_t byte, uint32_t elements) {
  return {TPosition::VECCALC, byte, elements};
}
LocalTensor<uint8_t> scratch() {
  return ub<uint8_t>(scratchByte, 4096);
}

struct Sine {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    Sin(dst, src, scratch(), all);
  }
};
struct PowerOfCount {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    Power(dst, src, src, scratch(), all);
  }
};
struct PowerOfAll {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    Power(dst, src, src, scratch());
  }
};
struct ExclusiveOr {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    const auto to = dst.ReinterpretCast<int16_t>(), from = src.ReinterpretCast<int16_t>();
    Xor(to, from, from, scratch(), all);
  }
};
struct Larger {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    ClampMin(dst, src, scratch(), 1.0f, all);
  }
};
struct Smaller {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    ClampMax(dst, src, scratch(), 1.0f, all);
  }
};
struct Gated {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    SwiGLU(dst, src, src, 1.0f, scratch(), all);
  }
};
struct Spread {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    const uint32_t to[] = {rows, columns}, from[] = {1, columns};
    auto space = scratch();
    BroadCast<float, 2, 0>(dst, src, to, from, space);
  }
};
struct SumOfPattern {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    const uint32_t shape[] = {rows, columns};
    ReduceSum<float, Pattern::Reduce::AR>(dst, src, scratch(), shape, true);
  }
};
struct SumOfRows {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    Sum(dst, src, scratch(), SumParams{rows, columns, columns});
  }
};
struct Normalised {
  static void call(const LocalTensor<float>& dst, const LocalTensor<float>& src) {
    SoftMaxTiling tiling;
    tiling.srcM = rows;
    tiling.srcK = columns;
    SoftMax(dst, src, scratch(), tiling);
  }
};

template <class Function, bool ordered> __global__ __aicore__ void twoCalls() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  const auto src = ub<float>(0, all);
  Duplicate(src, 0.5f, all);
  PipeBarrier<PIPE_V>();
  Function::call(ub<float>(4096, all), src);
  if (ordered)
    PipeBarrier<PIPE_V>();
  Function::call(ub<float>(8192, all), src);
}

enum class Wrong { lost, overSource, overResult, noMemory };
template <Wrong wrong> __global__ __aicore__ void wrongScratch() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  const auto src = ub<float>(0, all), dst = ub<float>(4096, all),
             kept = ub<float>(scratchByte, all);
  Duplicate(src, 0.5f, all);
  Duplicate(kept, 0.5f, all);
  PipeBarrier<PIPE_V>();
  LocalTensor<uint8_t> space;
  if (wrong != Wrong::noMemory)
    space = wrong == Wrong::lost ? scratch()
                                 : ub<uint8_t>(wrong == Wrong::overSource ? 128 : 3072, 1056);
  Sin(dst, src, space, all);
  PipeBarrier<PIPE_V>();
  Adds(dst, kept, 1.0f, all);
}

std::string findingsOf(void (*kernel)()) {
  catchLaunches();
  nextOptions() = {};
  nextOptions().threads = 1;
  kernel<<<1, nullptr, nullptr>>>();
  return allFindings();
}

template <class Function> class Scratch : public ::testing::Test {};
using Functions = ::testing::Types<Sine, PowerOfCount, PowerOfAll, ExclusiveOr, Larger, Smaller,
                                   Gated, Spread, SumOfPattern, SumOfRows, Normalised>;
TYPED_TEST_SUITE(Scratch, Functions);

TYPED_TEST(Scratch, IsWrittenByEachCall) {
  const std::string told = findingsOf(twoCalls<TypeParam, false>);
  EXPECT_NE(told.find("on PIPE_V writes UB bytes 65536 to 69631 while "), std::string::npos)
      << told;
  EXPECT_NE(told.find("note: add PipeBarrier<PIPE_V>() between them"), std::string::npos) << told;
  EXPECT_EQ(findingsOf(twoCalls<TypeParam, true>), "");
}

void expectToldOf(void (*kernel)(), const std::string& part) {
  const std::string told = findingsOf(kernel);
  EXPECT_NE(told.find(part), std::string::npos) << part << "\n" << told;
  EXPECT_NE(told.find("scratch_test.cpp:"), std::string::npos) << told;
}

TEST(ScratchOfOthers, IsToldByWhatItDestroys) {
  expectToldOf(
      wrongScratch<Wrong::lost>,
      "Adds on PIPE_V reads UB bytes 65536 to 65791, which Sin has used as temporary memory "
      "(vector core 0) [ErrorRead2]");
  expectToldOf(
      wrongScratch<Wrong::lost>,
      "Sin is here; give it temporary memory of its own, or write these bytes again behind it");
  expectToldOf(
      wrongScratch<Wrong::overSource>,
      "Sin: its temporary memory, UB bytes 128 to 1183, overlaps what it reads, UB bytes 0 to 255");
  expectToldOf(wrongScratch<Wrong::overResult>, "Sin: its temporary memory, UB bytes 3072 to 4127, "
                                                "overlaps what it writes, UB bytes 4096 to 4351");
  expectToldOf(wrongScratch<Wrong::noMemory>,
               "Sin writes to a LocalTensor that has no memory [ErrorWrite1]");
}

} // namespace
