// SPDX-License-Identifier: Apache-2.0
// A kernel of about 100 lines, for the time that its build takes (benchmarks/host_speed.py):
// y = x / sqrt(mean(x * x) + epsilon) * gamma for each row of x, in half, computed in float.
#include "kernel_operator.h"

#include "acl/acl.h"

#include <cmath>

using namespace AscendC;

struct NormPlan {
  uint32_t rows;
  uint32_t columns; ///< a multiple of 64
  float epsilon;
};

class RowNorm {
public:
  __aicore__ inline RowNorm(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, const NormPlan& plan)
      : plan(plan) {
    xGm.SetGlobalBuffer((__gm__ half*)x);
    gammaGm.SetGlobalBuffer((__gm__ half*)gamma);
    yGm.SetGlobalBuffer((__gm__ half*)y);
    uint32_t bytes = plan.columns * sizeof(half);
    pipe.InitBuffer(in, 2, bytes);
    pipe.InitBuffer(out, 2, bytes);
    pipe.InitBuffer(gammaIn, 1, bytes);
    pipe.InitBuffer(gammaBuffer, 2 * bytes);
    pipe.InitBuffer(rowBuffer, 2 * bytes);
    pipe.InitBuffer(squareBuffer, 2 * bytes);
    pipe.InitBuffer(sumBuffer, 4096);
  }

  __aicore__ inline void process() {
    loadGamma();
    for (uint32_t row = GetBlockIdx(); row < plan.rows; row += GetBlockNum()) {
      copyIn(row);
      compute();
      copyOut(row);
    }
    gammaIn.FreeTensor(gammaHalf);
  }

private:
  __aicore__ inline void loadGamma() {
    LocalTensor<half> loaded = gammaIn.AllocTensor<half>();
    DataCopy(loaded, gammaGm, plan.columns);
    gammaIn.EnQue(loaded);
    gammaHalf = gammaIn.DeQue<half>();
    gamma = gammaBuffer.Get<float>();
    Cast(gamma, gammaHalf, RoundMode::CAST_NONE, plan.columns);
    PipeBarrier<PIPE_V>();
  }

  __aicore__ inline void copyIn(uint32_t row) {
    LocalTensor<half> x = in.AllocTensor<half>();
    DataCopy(x, xGm[uint64_t(row) * plan.columns], plan.columns);
    in.EnQue(x);
  }

  __aicore__ inline float sumOfSquares(const LocalTensor<float>& values) {
    LocalTensor<float> squares = squareBuffer.Get<float>();
    LocalTensor<float> sums = sumBuffer.Get<float>();
    Mul(squares, values, values, plan.columns);
    PipeBarrier<PIPE_V>();
    int32_t repeats = int32_t(plan.columns / 64);
    WholeReduceSum(sums, squares, 64, repeats, 1, 1, 8);
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    float sum = 0;
    for (int32_t i = 0; i < repeats; ++i)
      sum += sums.GetValue(i);
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
    return sum;
  }

  __aicore__ inline void compute() {
    LocalTensor<half> x = in.DeQue<half>();
    LocalTensor<half> y = out.AllocTensor<half>();
    LocalTensor<float> row = rowBuffer.Get<float>();
    Cast(row, x, RoundMode::CAST_NONE, plan.columns);
    PipeBarrier<PIPE_V>();
    float mean = sumOfSquares(row) / float(plan.columns) + plan.epsilon;
    Muls(row, row, 1.0f / sqrt(mean), plan.columns);
    PipeBarrier<PIPE_V>();
    Mul(row, row, gamma, plan.columns);
    PipeBarrier<PIPE_V>();
    Cast(y, row, RoundMode::CAST_RINT, plan.columns);
    PipeBarrier<PIPE_V>();
    out.EnQue(y);
    in.FreeTensor(x);
  }

  __aicore__ inline void copyOut(uint32_t row) {
    LocalTensor<half> y = out.DeQue<half>();
    DataCopy(yGm[uint64_t(row) * plan.columns], y, plan.columns);
    out.FreeTensor(y);
  }

  const NormPlan& plan;
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  TQue<TPosition::VECIN, 1> gammaIn;
  TQue<TPosition::VECOUT, 2> out;
  TBuf<TPosition::VECCALC> gammaBuffer, rowBuffer, squareBuffer, sumBuffer;
  GlobalTensor<half> xGm, gammaGm, yGm;
  LocalTensor<half> gammaHalf;
  LocalTensor<float> gamma;
};

extern "C" __global__ __aicore__ void row_norm(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, NormPlan plan) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  RowNorm(x, gamma, y, plan).process();
}

int main() {
  constexpr uint32_t rows = 100, columns = 1024;
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0)
    return 1;
  std::vector<aclFloat16> x(rows * columns), gamma(columns), y(rows * columns);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = aclFloatToFloat16(float(i * 7 % 13) - 6);
  for (size_t i = 0; i < gamma.size(); ++i)
    gamma[i] = aclFloatToFloat16(0.5f + float(i % 3));
  void *xGm, *gammaGm, *yGm;
  size_t bytes = x.size() * sizeof(aclFloat16), gammaBytes = gamma.size() * sizeof(aclFloat16);
  if (aclrtMalloc(&xGm, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0 ||
      aclrtMalloc(&gammaGm, gammaBytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0 ||
      aclrtMalloc(&yGm, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0)
    return 1;
  aclrtMemcpy(xGm, bytes, x.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  aclrtMemcpy(gammaGm, gammaBytes, gamma.data(), gammaBytes, ACL_MEMCPY_HOST_TO_DEVICE);
  row_norm<<<8, nullptr, nullptr>>>((GM_ADDR)xGm, (GM_ADDR)gammaGm, (GM_ADDR)yGm,
                                    NormPlan{rows, columns, 1e-5f});
  int error = aclrtSynchronizeStream(nullptr);
  aclrtMemcpy(y.data(), bytes, yGm, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  int wrong = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    double squares = 0;
    for (uint32_t i = 0; i < columns; ++i)
      squares += std::pow(aclFloat16ToFloat(x[row * columns + i]), 2);
    for (uint32_t i = 0; i < columns; ++i) {
      double expected = aclFloat16ToFloat(x[row * columns + i]) /
                        std::sqrt(squares / columns + 1e-5) * aclFloat16ToFloat(gamma[i]);
      wrong += std::abs(aclFloat16ToFloat(y[row * columns + i]) - expected) > 2e-3;
    }
  }
  printf("%d wrong, %d\n", wrong, error);
  return wrong != 0 || error != 0;
}
