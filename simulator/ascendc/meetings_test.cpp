// SPDX-License-Identifier: Apache-2.0
// Cores that meet without a hardware flag: IBSet and IBWait, GroupBarrier, one block after the other,
// and the Matmul object, whose cube core serves its vector cores.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

#include "simulator/ascendc/device_buffer.h"
#include "tiling/tiling_api.h"

#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {
template <class... Args> std::string run(void (*kernel)(Args...), uint32_t blocks, Args... a) {
  catchLaunches();
  nextOptions() = {};
  kernel<<<blocks, nullptr, nullptr>>>(a...);
  return allFindings();
}
/// The modelled time, whatever the findings are.
template <class... Args> double cyclesOf(void (*kernel)(Args...), uint32_t blocks, Args... a) {
  catchLaunches();
  nextOptions() = {};
  nextOptions().trace = true;
  nextOptions().check = false;
  kernel<<<blocks, nullptr, nullptr>>>(a...);
  return lastReport().modelledMicroseconds * 1800; // 910B2
}
template <class T> GlobalTensor<T> global(GM_ADDR address, uint64_t element = 0) {
  GlobalTensor<T> t;
  t.SetGlobalBuffer((__gm__ T*)address + element);
  return t;
}
LocalTensor<float> ub(uint32_t byte, uint32_t n) {
  return LocalTensor<float>(TPosition::VECCALC, byte, n);
}
} // namespace

/// y[block] = y[block - 1] + x, so each block needs the one before it.
template <int kind> __global__ __aicore__ void chain(GM_ADDR x, GM_ADDR y, GM_ADDR flags) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto workspace = global<int32_t>(flags);
  LocalTensor<int32_t> words(TPosition::VECCALC, 4096, 64);
  auto sum = ub(0, 64), add = ub(256, 64);
  auto block = static_cast<int32_t>(GetBlockIdx());
  if (kind == 2)
    InitDetermineComputeWorkspace(workspace, words);
  DataCopy(add, global<float>(x), 64);
  if (kind == 1 && block > 0)
    IBWait(workspace, words, block - 1, 0);
  if (kind == 2)
    WaitPreBlock(workspace, words);
  if (block > 0)
    DataCopy(sum, global<float>(y, (block - 1) * 64), 64);
  else
    DataCopy(sum, global<float>(x), 64);
  PipeBarrier<PIPE_ALL>();
  Add(sum, sum, add, 64);
  PipeBarrier<PIPE_ALL>();
  DataCopy(global<float>(y, block * 64), sum, 64);
  if (kind == 1)
    IBSet(workspace, words, block, 0);
  if (kind == 2)
    NotifyNextBlock(workspace, words);
}
TEST(Meetings, G14_BlocksOneAfterTheOther) {
  DeviceBuffer<float> x(64), y(6 * 64);
  DeviceBuffer<int32_t> flags(2048);
  for (int i = 0; i < 64; ++i)
    x[i] = static_cast<float>(i + 1);
  for (auto kernel : {chain<1>, chain<2>}) {
    std::fill(y.data.begin(), y.data.end(), 0.0f);
    ASSERT_EQ(run(kernel, 6, x.gm(), y.gm(), flags.gm()), "");
    for (int b = 0; b < 6; ++b)
      for (int i = 0; i < 64; ++i)
        ASSERT_EQ(y[b * 64 + i], static_cast<float>((b + 2) * (i + 1))) << b;
  }
  std::string race = run(chain<0>, 6, x.gm(), y.gm(), flags.gm());
  EXPECT_NE(race.find("nothing orders this"), std::string::npos) << race;
}

__global__ __aicore__ void neverSet(GM_ADDR flags) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<int32_t> words(TPosition::VECCALC, 0, 64);
  IBWait(global<int32_t>(flags), words, 3, 1);
}
TEST(Meetings, G14_WaitsTakeTime) {
  constexpr double flagCycles = 500; // from one core to another
  DeviceBuffer<float> x(64), y(6 * 64);
  DeviceBuffer<int32_t> flags(2048);
  double side = cyclesOf(chain<0>, 6, x.gm(), y.gm(), flags.gm());
  for (auto kernel : {chain<1>, chain<2>})
    EXPECT_GT(cyclesOf(kernel, 6, x.gm(), y.gm(), flags.gm()), side + 5 * flagCycles);
}
TEST(Meetings, G14_WaitWithoutSet) {
  DeviceBuffer<int32_t> flags(2048);
  std::string text = run(neverSet, 2, flags.gm());
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
  EXPECT_NE(text.find("waits in IBWait at"), std::string::npos) << text;
}

/// Blocks 0 and 1 write, blocks 2 to 4 read both.
template <bool meets> __global__ __aicore__ void groups(GM_ADDR y, GM_ADDR z, GM_ADDR space) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GroupBarrier<PipeMode::MTE3_MODE> barrier(space, 2, 3);
  ascendc_assert(barrier.GetWorkspaceLen() == 3 * 512);
  auto t = ub(0, 16);
  auto block = static_cast<uint32_t>(GetBlockIdx());
  if (block < 2) {
    Duplicate(t, static_cast<float>(block + 5), 8);
    PipeBarrier<PIPE_ALL>();
    DataCopy(global<float>(y, block * 8), t, 8);
    if (meets)
      barrier.Arrive(block);
    return;
  }
  if (meets)
    barrier.Wait(block - 2);
  DataCopy(t, global<float>(y), 16);
  PipeBarrier<PIPE_ALL>();
  DataCopy(global<float>(z, block * 16), t, 16);
}
TEST(Meetings, G14_GroupBarrier) {
  DeviceBuffer<float> y(16), z(80);
  DeviceBuffer<uint8_t> space(3 * 512);
  ASSERT_EQ(run(groups<true>, 5, y.gm(), z.gm(), space.gm()), "");
  for (int i = 32; i < 80; ++i)
    EXPECT_EQ(z[i], i % 16 < 8 ? 5.0f : 6.0f) << i;
  EXPECT_NE(run(groups<false>, 5, y.gm(), z.gm(), space.gm()).find("nothing orders this"),
            std::string::npos);
}

// --- Matmul ---------------------------------------------------------------------------------

struct Product {
  TCubeTiling tiling;
  bool transposeA, transposeB, bias, byTiles, adds;
};
template <class T, class C, class Object>
void multiply(Object& mm, GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const Product& p,
              int32_t part) {
  const TCubeTiling& t = p.tiling;
  int32_t m = part * t.singleCoreM;
  if (m >= t.M)
    return;
  mm.SetTensorA(global<T>(a, p.transposeA ? m : m * t.Ka), p.transposeA);
  mm.SetTensorB(global<T>(b), p.transposeB);
  if (p.bias)
    mm.SetBias(global<C>(bias));
  mm.SetTail(std::min(t.singleCoreM, t.M - m));
  auto out = global<C>(c, static_cast<uint64_t>(m) * t.N);
  if (!p.byTiles)
    return mm.IterateAll(out, p.adds);
  while (mm.Iterate())
    mm.GetTensorC(out, p.adds);
}
template <class T> using In = MatmulType<TPosition::GM, CubeFormat::ND, T>;
/// Each vector core of a mixed kernel has its rows of C.
template <class T, class C>
__global__ __aicore__ void mixedMatmul(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, Product p) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  Matmul<In<T>, In<T>, In<C>, In<C>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &p.tiling);
  multiply<T, C>(mm, a, b, bias, c, p, static_cast<int32_t>(GetBlockIdx()));
  mm.End();
}
/// The same on cube cores alone.
template <class T, class C>
__global__ __aicore__ void cubeMatmul(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, Product p) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TPipe pipe;
  MatmulImpl<In<T>, In<T>, In<C>, In<C>> mm;
  mm.Init(&p.tiling, &pipe);
  multiply<T, C>(mm, a, b, bias, c, p, static_cast<int32_t>(GetBlockIdx()));
  mm.End();
}
template <class T, class C>
void check(int32_t m, int32_t n, int32_t k, int32_t parts, Product p, bool mixed) {
  DeviceBuffer<T> a(m * k), b(k * n);
  DeviceBuffer<C> bias(n), c(m * n);
  for (int32_t i = 0; i < m * k; ++i)
    a[i] = static_cast<T>(i * 7 % 11 - 5);
  for (int32_t i = 0; i < k * n; ++i)
    b[i] = static_cast<T>(i * 5 % 13 - 6);
  for (int32_t i = 0; i < n; ++i)
    bias[i] = static_cast<C>(i - 3);
  for (int32_t i = 0; i < m * n; ++i)
    c[i] = static_cast<C>(p.adds ? 100 : 0);
  TCubeTiling& t = p.tiling;
  t.M = m;
  t.N = t.singleCoreN = n;
  t.Ka = t.Kb = t.singleCoreK = k;
  t.singleCoreM = (m + parts - 1) / parts;
  t.baseM = 32;
  t.baseN = 48;
  t.baseK = 64;
  std::string found =
      mixed ? run(mixedMatmul<T, C>, (parts + 1) / 2, a.gm(), b.gm(), bias.gm(), c.gm(), p)
            : run(cubeMatmul<T, C>, parts, a.gm(), b.gm(), bias.gm(), c.gm(), p);
  ASSERT_EQ(found, "");
  for (int32_t i = 0; i < m; ++i)
    for (int32_t j = 0; j < n; ++j) {
      double sum = (p.bias ? j - 3 : 0) + (p.adds ? 100 : 0);
      for (int32_t l = 0; l < k; ++l)
        sum += static_cast<double>(static_cast<float>(a[p.transposeA ? l * m + i : i * k + l])) *
               static_cast<double>(static_cast<float>(b[p.transposeB ? j * k + l : l * n + j]));
      ASSERT_EQ(static_cast<double>(static_cast<float>(c[i * n + j])), sum) << i << "," << j;
    }
}
TEST(Meetings, G72_Matmul) {
  check<half, float>(64, 96, 128, 2, {{}, false, false, false, false, false}, true);
  check<half, float>(70, 50, 100, 3, {{}, true, true, true, true, false}, true);
  check<half, float>(33, 40, 70, 2, {{}, true, false, false, false, true}, false);
  check<half, float>(33, 40, 70, 1, {{}, false, true, true, true, true}, false);
  check<bfloat16_t, float>(48, 64, 64, 4, {{}, false, false, true, false, false}, true);
  check<int8_t, int32_t>(40, 64, 96, 2, {{}, false, true, true, false, false}, true);
  check<float, float>(32, 48, 40, 1, {{}, false, true, false, false, false}, false);
}

/// Two objects, one after the other, on one cube core.
__global__ __aicore__ void twoObjects(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR d, TCubeTiling t) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  TPipe pipe;
  Matmul<In<half>, In<half>, In<float>> first;
  Matmul<In<half>, In<half>, In<half>> second;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), first, &t, second, &t);
  first.SetTensorA(global<half>(a));
  first.SetTensorB(global<half>(b));
  first.IterateAll(global<float>(c));
  second.SetTensorA(global<half>(b));
  second.SetTensorB(global<half>(a));
  second.IterateAll(global<half>(d));
}
TEST(Meetings, G72_TwoMatmuls) {
  DeviceBuffer<half> a(256), b(256), d(256);
  DeviceBuffer<float> c(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = half(static_cast<float>(i % 5 - 2));
    b[i] = half(static_cast<float>(i % 7 - 3));
  }
  TCubeTiling t;
  t.M = t.N = t.Ka = t.Kb = t.singleCoreM = t.singleCoreN = t.singleCoreK = 16;
  t.baseM = t.baseN = t.baseK = 16;
  ASSERT_EQ(run(twoObjects, 1, a.gm(), b.gm(), c.gm(), d.gm(), t), "");
  auto at = [](DeviceBuffer<half>& x, int r, int k) { return static_cast<float>(x[r * 16 + k]); };
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      float ab = 0, ba = 0;
      for (int k = 0; k < 16; ++k) {
        ab += at(a, i, k) * at(b, k, j);
        ba += at(b, i, k) * at(a, k, j);
      }
      ASSERT_EQ(c[i * 16 + j], ab);
      ASSERT_EQ(static_cast<float>(d[i * 16 + j]), ba);
    }
}

/// The host's tiling drives the same kernel.
TEST(Meetings, G71_PlatformAndMatmulTiling) {
  using namespace platform_ascendc;
  PlatformAscendC* chip = PlatformAscendCManager::GetInstance();
  EXPECT_EQ(chip->GetCoreNumAic(), 24u);
  EXPECT_EQ(chip->GetCoreNumAiv(), 48u);
  EXPECT_EQ(chip->GetCoreNum(), 24u);
  EXPECT_EQ(chip->GetSocVersion(), SocVersion::ASCEND910B);
  EXPECT_EQ(PlatformAscendCManager::GetInstance("Ascend910B4")->GetCoreNumAiv(), 40u);
  EXPECT_EQ(PlatformAscendCManager::GetInstance("Ascend123"), nullptr);
  EXPECT_EQ(chip->CalcTschBlockDim(7, 24, 48), 4u);
  uint64_t bytes = 0;
  const std::pair<CoreMemType, uint64_t> sizes[] = {
      {CoreMemType::UB, 192u << 10},   {CoreMemType::L1, 512u << 10},
      {CoreMemType::L0_A, 64u << 10},  {CoreMemType::L0_B, 64u << 10},
      {CoreMemType::L0_C, 128u << 10}, {CoreMemType::L2, 192u << 20},
      {CoreMemType::RESERVED, 0}};
  for (auto [type, wanted] : sizes) {
    chip->GetCoreMemSize(type, bytes);
    EXPECT_EQ(bytes, wanted);
  }
  using matmul_tiling::DataType;
  matmul_tiling::MultiCoreMatmulTiling tiling(*chip);
  auto set = [](auto& t) {
    t.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, DataType::DT_FLOAT16);
    t.SetBType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, DataType::DT_FLOAT16);
    t.SetCType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, DataType::DT_FLOAT);
    t.SetBias(false);
  };
  set(tiling);
  tiling.SetDim(4);
  tiling.SetOrgShape(100, 40, 200);
  optiling::TCubeTiling host;
  ASSERT_EQ(tiling.GetTiling(host), 0);
  Product p{};
  ASSERT_EQ(host.GetDataSize(), sizeof p.tiling);
  host.SaveToBuffer(&p.tiling, sizeof p.tiling);
  EXPECT_EQ(p.tiling.usedCoreNum, 4);
  EXPECT_EQ(p.tiling.singleCoreM, 32);
  DeviceBuffer<half> a(100 * 200), b(200 * 40);
  DeviceBuffer<float> c(100 * 40);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = half(static_cast<float>(i % 3) - 1);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = half(static_cast<float>(i % 5) - 2);
  ASSERT_EQ(run(mixedMatmul<half, float>, 2, a.gm(), b.gm(), c.gm(), c.gm(), p), "");
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 40; ++j) {
      float sum = 0;
      for (int k = 0; k < 200; ++k)
        sum += static_cast<float>(a[i * 200 + k]) * static_cast<float>(b[k * 40 + j]);
      ASSERT_EQ(c[i * 40 + j], sum);
    }
  matmul_tiling::MatmulApiTiling one(*chip);
  set(one);
  TCubeTiling t;
  EXPECT_EQ(one.GetTiling(t), -1); // no shape
  one.SetShape(512, 512, 512);
  EXPECT_EQ(one.GetTiling(t), 0);
  EXPECT_LE(t.baseM * t.baseK * 2, 64 << 10);
  one.SetFixSplit(256, 256, 256);
  EXPECT_EQ(one.GetTiling(t), -1); // L0A has 64 KB
}

__global__ __aicore__ void noTiling(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  Matmul<In<half>, In<half>, In<float>> mm;
  mm.IterateAll(GlobalTensor<float>());
}
__global__ __aicore__ void noCube(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TCubeTiling t;
  t.baseM = t.baseN = t.baseK = 16;
  Matmul<In<half>, In<half>, In<float>> mm;
  mm.Init(&t);
  mm.IterateAll(GlobalTensor<float>());
}
__global__ __aicore__ void wrongLayout(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TCubeTiling t;
  t.baseM = t.baseN = t.baseK = t.singleCoreM = t.singleCoreN = t.singleCoreK = 16;
  Matmul<In<float>, In<float>, In<float>> mm;
  mm.Init(&t);
  mm.IterateAll(GlobalTensor<float>());
}
TEST(Meetings, G72_MatmulRefusals) {
  uint8_t* none = nullptr;
  EXPECT_NE(run(noTiling, 1, none).find("Matmul: the tiling has no baseM, baseN, baseK"),
            std::string::npos);
  EXPECT_NE(run(noCube, 1, none).find("Matmul needs a cube core; make the kernel a mixed one"),
            std::string::npos);
  EXPECT_NE(run(wrongLayout, 1, none)
                .find("unsupported: Matmul of 8-bit and 32-bit types takes A as it is and B"),
            std::string::npos);
}
