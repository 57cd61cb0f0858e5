// SPDX-License-Identifier: Apache-2.0
// Tiling data: classes made by the macros, filled by the host and read by kernels; the tiling of
// SoftMax.
#include "kernel_operator.h"
#include "tiling/tiling_api.h"

#include "simulator/ascendc/device_buffer.h"

#include <cmath>
#include <gtest/gtest.h>

namespace optiling {

BEGIN_TILING_DATA_DEF(Part)
TILING_DATA_FIELD_DEF(uint8_t, kind);
TILING_DATA_FIELD_DEF(int64_t, length);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(PartOp, Part)

BEGIN_TILING_DATA_DEF(TilingData)
TILING_DATA_FIELD_DEF(uint16_t, rows);
TILING_DATA_FIELD_DEF(float, scale);
TILING_DATA_FIELD_DEF_ARR(uint32_t, 3, offsets);
TILING_DATA_FIELD_DEF_STRUCT(Part, part);
TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(OurOp, TilingData)

} // namespace optiling

using namespace AscendC;
using namespace tilewright::ascend::testing;

REGISTER_TILING_DEFAULT(optiling::TilingData);

/// Writes what it read, by each of the two macros.
__global__ __aicore__ void readTiling(GM_ADDR y, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GET_TILING_DATA(data, tiling);
  GET_TILING_DATA_WITH_STRUCT(optiling::TilingData, same, tiling);
  LocalTensor<float> out(TPosition::VECCALC, 0, 16);
  Duplicate(out, 0.f, 16);
  PipeBarrier<PIPE_ALL>();
  out.SetValue(0, data.rows);
  out.SetValue(1, data.get_scale());
  for (uint32_t k = 0; k < 3; ++k)
    out.SetValue(2 + k, static_cast<float>(data.offsets[k]));
  out.SetValue(5, data.part.kind);
  out.SetValue(6, static_cast<float>(same.part.get_length()));
  out.SetValue(7, static_cast<float>(same.softmax.srcK));
  PipeBarrier<PIPE_ALL>();
  GlobalTensor<float> result;
  result.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
  DataCopy(result, out, 16);
}

TEST(Tiling, G71_DataOfMacros) {
  optiling::TilingData data;
  EXPECT_EQ(data.get_rows(), 0);
  EXPECT_EQ(data.part.get_length(), 0);
  data.set_rows(300);
  data.set_scale(0.25f);
  const uint32_t offsets[] = {5, 70000, 9};
  data.set_offsets(offsets);
  data.part.set_kind(7);
  data.part.set_length(1 << 20);
  data.softmax.srcK = 48;
  // The fields have the places that they have in a plain structure.
  struct Plain {
    uint16_t rows;
    float scale;
    uint32_t offsets[3];
    struct {
      uint8_t kind;
      int64_t length;
    } part;
    ::SoftMaxTiling softmax;
  };
  ASSERT_EQ(data.GetDataSize(), sizeof(Plain));
  DeviceBuffer<uint8_t> tiling(sizeof(Plain)), y(64);
  data.SaveToBuffer(tiling.gm(), tiling.size());
  Plain plain;
  std::memcpy(&plain, tiling.gm(), sizeof plain);
  EXPECT_EQ(plain.offsets[1], 70000u);
  EXPECT_EQ(plain.part.length, 1 << 20);

  catchLaunches();
  nextOptions() = {};
  readTiling<<<1, nullptr, nullptr>>>(y.gm(), tiling.gm());
  ASSERT_EQ(allFindings(), "");
  float read[8];
  std::memcpy(read, y.gm(), sizeof read);
  const float expected[] = {300, 0.25f, 5, 70000, 9, 7, 1 << 20, 48};
  for (int k = 0; k < 8; ++k)
    EXPECT_EQ(read[k], expected[k]) << k;
}

TEST(Tiling, G71_FieldsOfACubeTiling) {
  optiling::TCubeTiling tiling;
  tiling.set_stepM(3);
  tiling.set_usedCoreNum(20);
  EXPECT_EQ(tiling.stepM, 3);
  EXPECT_EQ(tiling.get_stepM() + tiling.get_stepN() + tiling.get_usedCoreNum(), 24);
}

TEST(Tiling, G71_TooSmallABuffer) {
  optiling::Part part;
  part.set_kind(3);
  uint8_t buffer[8] = {};
  testing::internal::CaptureStderr();
  part.SaveToBuffer(buffer, sizeof buffer);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: Part has 16 bytes, but SaveToBuffer was given 8\n");
  EXPECT_EQ(buffer[0], 0);
  testing::internal::CaptureStderr();
  optiling::SoftMaxTiling().SaveToBuffer(buffer, sizeof buffer);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: SoftMaxTiling has 64 bytes, but SaveToBuffer was given 8\n");
}

__global__ __aicore__ void softmaxRows(GM_ADDR x, GM_ADDR y, uint32_t scratchBytes,
                                       SoftMaxTiling tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  uint32_t count = tiling.srcSize;
  LocalTensor<float> in(TPosition::VECCALC, 0, count), out(TPosition::VECCALC, count * 4, count);
  LocalTensor<uint8_t> scratch(TPosition::VECCALC, count * 8, scratchBytes);
  GlobalTensor<float> xg, yg;
  xg.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  yg.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
  DataCopy(in, xg, count);
  PipeBarrier<PIPE_ALL>();
  SoftMax<float>(out, in, scratch, tiling);
  PipeBarrier<PIPE_ALL>();
  DataCopy(yg, out, count);
}

TEST(Tiling, G71_SoftMaxTilingFunc) {
  constexpr uint32_t rows = 6, columns = 40;
  ge::Shape shape({2, 3, columns});
  EXPECT_EQ(shape.GetShapeSize(), rows * columns);
  uint32_t most = 0, least = 0;
  GetSoftMaxMaxMinTmpSize(shape, sizeof(float), false, most, least);
  EXPECT_EQ(most, GetSoftMaxMaxTmpSize(shape, sizeof(float), false));
  EXPECT_EQ(least, GetSoftMaxMinTmpSize(shape, sizeof(float), false));
  EXPECT_EQ(most, rows * least);
  EXPECT_GE(least, columns * sizeof(float));

  std::vector<float> values(rows * columns);
  for (uint32_t k = 0; k < values.size(); ++k)
    values[k] = static_cast<float>(k * 31 % 17) / 4;
  for (uint32_t work : {least, 4 * least, most}) {
    optiling::SoftMaxTiling tiling;
    SoftMaxTilingFunc(shape, sizeof(float), work, tiling);
    EXPECT_EQ(tiling.srcM, rows);
    EXPECT_EQ(tiling.srcK, columns);
    EXPECT_EQ(tiling.rangeM * tiling.splitM + tiling.tailM, rows);
    EXPECT_LE(GetSoftMaxMinTmpSize(shape, sizeof(float), false) * tiling.splitM, work);
    DeviceBuffer<float> x(values), y(values.size());
    catchLaunches();
    nextOptions() = {};
    softmaxRows<<<1, nullptr, nullptr>>>(x.gm(), y.gm(), work, tiling);
    ASSERT_EQ(allFindings(), "");
    for (uint32_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (uint32_t k = 0; k < columns; ++k)
        sum += std::exp(values[r * columns + k]);
      for (uint32_t k = 0; k < columns; ++k)
        ASSERT_NEAR(y[r * columns + k], std::exp(values[r * columns + k]) / sum, 1e-6);
    }
  }
}

TEST(Tiling, G71_SoftMaxTilingFuncRefuses) {
  ::SoftMaxTiling tiling;
  testing::internal::CaptureStderr();
  SoftMaxTilingFunc(ge::Shape({4, 64}), sizeof(float), 100, tiling);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: SoftMaxTilingFunc of 4 rows, 4 bytes an element: 100 bytes of temporary "
            "memory, but a row takes 320\n");
  EXPECT_EQ(tiling.srcM, 0u);
}
