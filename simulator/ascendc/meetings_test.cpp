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
/// What is said in random orders of a kernel that is right in all of them; `result` holds its values.
template <class T, class... Args>
std::string runInOrders(const DeviceBuffer<T>& result, void (*kernel)(Args...), uint32_t blocks,
                        Args... a) {
  const std::vector<T> wanted = result.data;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    nextOptions() = {};
    nextOptions().randomOrderSeed = seed;
    kernel<<<blocks, nullptr, nullptr>>>(a...);
    if (!allFindings().empty() || result.data != wanted)
      return "seed " + std::to_string(seed) + ": " + allFindings() + "other values";
  }
  return "";
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
    EXPECT_EQ(runInOrders(y, kernel, 6, x.gm(), y.gm(), flags.gm()), "");
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
  EXPECT_NE(text.find("note: have a core that they wait for set the flag, or leave the wait out"),
            std::string::npos)
      << text;
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
  EXPECT_EQ(runInOrders(z, groups<true>, 5, y.gm(), z.gm(), space.gm()), "");
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
template <class T> using In = MatmulType<TPosition::GM, CubeFormat::ND, T, true>;
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
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      check<float, float>(39, 56, 77, 1, {{}, transposeA, transposeB, true, true, false}, false);
      check<int8_t, int32_t>(70, 76, 90, 1, {{}, transposeA, transposeB, true, true, false}, false);
    }
}

/// The introductory form: tiles come to UB one by one, along m first, and go on from there.
template <class BiasT>
__global__ __aicore__ void leakyTiles(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, Product p) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  const TCubeTiling& t = p.tiling;
  TPipe pipe;
  Matmul<In<half>, In<half>, MatmulType<TPosition::VECIN, CubeFormat::ND, float>, In<BiasT>> mm;
  TQue<TPosition::VECOUT, 1> out;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &p.tiling);
  pipe.InitBuffer(out, 1, t.baseM * t.baseN * sizeof(float));
  int32_t m = static_cast<int32_t>(GetBlockIdx()) * t.singleCoreM;
  mm.SetTensorA(global<half>(a, m * t.Ka));
  mm.SetTensorB(global<half>(b));
  mm.SetBias(global<BiasT>(bias));
  auto rows = global<float>(c, m * t.N);
  for (int32_t count = 0; mm.template Iterate<true>(); ++count) {
    LocalTensor<float> tile = out.AllocTensor<float>();
    mm.template GetTensorC<true>(tile, false, true);
    LeakyRelu(tile, tile, 0.5f, t.baseM * t.baseN);
    out.EnQue(tile);
    tile = out.DeQue<float>();
    int32_t roundM = t.singleCoreM / t.baseM;
    constexpr int32_t perBlock = 8;
    DataCopyParams strided(t.baseM, t.baseN / perBlock, 0, (t.N - t.baseN) / perBlock);
    DataCopy(rows[count % roundM * t.baseM * t.N + count / roundM * t.baseN], tile, strided);
    out.FreeTensor(tile);
  }
  mm.End();
}
template <class BiasT> void checkLeaky() {
  constexpr int32_t m = 128, n = 96, k = 80;
  DeviceBuffer<half> a(m * k), b(k * n);
  DeviceBuffer<BiasT> bias(n);
  DeviceBuffer<float> c(m * n);
  for (int32_t i = 0; i < m * k; ++i)
    a[i] = half(i * 7 % 11 - 5);
  for (int32_t i = 0; i < k * n; ++i)
    b[i] = half(i * 5 % 13 - 6);
  for (int32_t i = 0; i < n; ++i)
    bias[i] = static_cast<BiasT>(i - 3);
  Product p{};
  p.tiling.M = m;
  p.tiling.N = p.tiling.singleCoreN = n;
  p.tiling.Ka = p.tiling.Kb = p.tiling.singleCoreK = k;
  p.tiling.singleCoreM = 64;
  p.tiling.baseM = 32;
  p.tiling.baseN = 48;
  p.tiling.baseK = 64;
  ASSERT_EQ(run(leakyTiles<BiasT>, 1, a.gm(), b.gm(), bias.gm(), c.gm(), p), "");
  for (int32_t i = 0; i < m; ++i)
    for (int32_t j = 0; j < n; ++j) {
      float sum = static_cast<float>(j - 3);
      for (int32_t l = 0; l < k; ++l)
        sum += static_cast<float>(a[i * k + l]) * static_cast<float>(b[l * n + j]);
      ASSERT_EQ(c[i * n + j], sum < 0 ? sum / 2 : sum) << i << "," << j;
    }
  EXPECT_EQ(runInOrders(c, leakyTiles<BiasT>, 1, a.gm(), b.gm(), bias.gm(), c.gm(), p), "");
}
TEST(Meetings, G72_MatmulToUbTileByTile) {
  checkLeaky<float>();
  checkLeaky<half>();
}

/// Two objects, each ended after each use, as attention kernels do.
__global__ __aicore__ void endedMatmuls(GM_ADDR a, GM_ADDR b, GM_ADDR c, Product p) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  Matmul<In<half>, In<half>, In<float>> one, two;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), one, &p.tiling, two, &p.tiling);
  for (int32_t use = 0; use < 2; ++use) {
    p.adds = use == 1;
    multiply<half, float>(one, a, b, nullptr, c, p, static_cast<int32_t>(GetBlockIdx()));
    one.End();
    p.adds = true;
    multiply<half, float>(two, a, b, nullptr, c, p, static_cast<int32_t>(GetBlockIdx()));
    two.End();
  }
}
TEST(Meetings, G72_MatmulIsUsedAgainAfterItsEnd) {
  constexpr int32_t m = 32, n = 16, k = 16;
  DeviceBuffer<half> a(m * k), b(k * n);
  DeviceBuffer<float> c(m * n);
  for (int32_t i = 0; i < m * k; ++i)
    a[i] = half(i * 7 % 11 - 5);
  for (int32_t i = 0; i < k * n; ++i)
    b[i] = half(i * 5 % 13 - 6);
  Product p{};
  p.tiling.M = m;
  p.tiling.singleCoreM = p.tiling.baseM = 16;
  p.tiling.N = p.tiling.singleCoreN = p.tiling.baseN = n;
  p.tiling.Ka = p.tiling.Kb = p.tiling.singleCoreK = p.tiling.baseK = k;
  ASSERT_EQ(run(endedMatmuls, 1, a.gm(), b.gm(), c.gm(), p), "");
  for (int32_t i = 0; i < m; ++i)
    for (int32_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int32_t l = 0; l < k; ++l)
        sum += static_cast<float>(a[i * k + l]) * static_cast<float>(b[l * n + j]);
      ASSERT_EQ(c[i * n + j], 4 * sum) << i << "," << j;
    }
  EXPECT_EQ(runInOrders(c, endedMatmuls, 1, a.gm(), b.gm(), c.gm(), p), "");
}

/// Sizes of a product whose matrices lie in GM, UB or L1, in rows or fractals.
constexpr int32_t placedM = 40, placedN = 64, placedK = 96;
template <class T, CubeFormat format> constexpr size_t elementsOf(int32_t rows, int32_t columns) {
  return format == CubeFormat::NZ
             ? matmul::roundUp(rows, 16) * matmul::roundUp(columns, 32 / sizeof(T))
             : rows * columns;
}
/// Where element (r, c) is.
template <class T, CubeFormat format>
size_t placeOf(int32_t r, int32_t c, int32_t rows, int32_t columns,
               int32_t width = 32 / sizeof(T)) {
  if (format == CubeFormat::ND)
    return r * columns + c;
  return c / width * matmul::roundUp(rows, 16) * width + r * width + c % width;
}
/// Copies a matrix to where the Matmul shall find it.
template <TPosition position, class T>
__aicore__ inline LocalTensor<T> placed(GM_ADDR x, uint32_t byte, size_t n) {
  LocalTensor<T> t(position, byte, n);
  DataCopy(t, global<T>(x), n);
  PipeBarrier<PIPE_ALL>();
  return t;
}
template <class T, class C, TPosition from, CubeFormat format, TPosition to, CubeFormat formatC>
__global__ __aicore__ void placedMatmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, TCubeTiling t, bool tiles,
                                        bool transposeA, bool transposeB) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  TPipe pipe;
  using From = MatmulType<from, format, T, true>;
  Matmul<From, From, MatmulType<to, formatC, C>, In<C>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  constexpr size_t sizeC = elementsOf<C, formatC>(placedM, placedN);
  size_t sizeA = transposeA ? elementsOf<T, format>(placedK, placedM)
                            : elementsOf<T, format>(placedM, placedK),
         sizeB = transposeB ? elementsOf<T, format>(placedN, placedK)
                            : elementsOf<T, format>(placedK, placedN);
  LocalTensor<C> result(TPosition::VECCALC, 0, sizeC);
  if constexpr (from == TPosition::GM) {
    mm.SetTensorA(global<T>(a), transposeA);
    mm.SetTensorB(global<T>(b), transposeB);
  } else {
    mm.SetTensorA(placed<from, T>(a, 65536, sizeA), transposeA);
    mm.SetTensorB(placed<from, T>(b, 98304, sizeB), transposeB);
  }
  if constexpr (to == TPosition::GM) {
    if (!tiles)
      mm.IterateAll(global<C>(c));
    while (tiles && mm.Iterate())
      mm.GetTensorC(global<C>(c));
  } else {
    if (!tiles)
      mm.IterateAll(result);
    while (tiles && mm.Iterate())
      mm.GetTensorC(result);
    DataCopy(global<C>(c), result, sizeC);
  }
  mm.End();
}
template <class T, class C, TPosition from, CubeFormat format, TPosition to, CubeFormat formatC>
void checkPlaced(bool transposeA, bool transposeB) {
  constexpr int32_t m = placedM, n = placedN, k = placedK;
  DeviceBuffer<T> a(matmul::roundUp(m, 32) * k), b(k * n);
  DeviceBuffer<C> c(matmul::roundUp(m, 16) * n);
  auto valueA = [](int32_t i, int32_t l) { return (i * 7 + l * 3) % 11 - 5; };
  auto valueB = [](int32_t l, int32_t j) { return (l * 5 + j * 2) % 13 - 6; };
  for (int32_t i = 0; i < m; ++i)
    for (int32_t l = 0; l < k; ++l)
      a[transposeA ? placeOf<T, format>(l, i, k, m) : placeOf<T, format>(i, l, m, k)] =
          static_cast<T>(valueA(i, l));
  for (int32_t l = 0; l < k; ++l)
    for (int32_t j = 0; j < n; ++j)
      b[transposeB ? placeOf<T, format>(j, l, n, k) : placeOf<T, format>(l, j, k, n)] =
          static_cast<T>(valueB(l, j));
  TCubeTiling t;
  t.M = t.singleCoreM = m;
  t.N = t.singleCoreN = n;
  t.Ka = t.Kb = t.singleCoreK = k;
  t.baseM = t.baseN = 32;
  t.baseK = 64;
  t.iterateOrder = 1;
  for (bool tiles : {false, true}) {
    ASSERT_EQ(run(placedMatmul<T, C, from, format, to, formatC>, 1, a.gm(), b.gm(), c.gm(), t,
                  tiles, transposeA, transposeB),
              "");
    for (int32_t i = 0; i < m; ++i)
      for (int32_t j = 0; j < n; ++j) {
        int32_t sum = 0;
        for (int32_t l = 0; l < k; ++l)
          sum += valueA(i, l) * valueB(l, j);
        size_t at = placeOf<C, formatC>(i, j, m, n, 16);
        ASSERT_EQ(static_cast<float>(c[at]), static_cast<float>(sum)) << i << "," << j;
      }
  }
}
TEST(Meetings, G72_MatmulInUbAndFractals) {
  constexpr auto gm = TPosition::GM, calc = TPosition::VECCALC, vecIn = TPosition::VECIN;
  constexpr auto nd = CubeFormat::ND, nz = CubeFormat::NZ;
  checkPlaced<half, float, calc, nd, gm, nd>(false, true);
  checkPlaced<half, float, gm, nz, calc, nz>(false, false);
  checkPlaced<half, half, TPosition::VECOUT, nz, gm, nz>(true, true);
  checkPlaced<bfloat16_t, float, calc, nd, vecIn, nd>(true, false);
  checkPlaced<float, float, gm, nz, vecIn, nd>(true, false);
  checkPlaced<int8_t, int32_t, gm, nz, gm, nz>(false, false);
}

/// On a cube core, with A in L1 already, and a result in half from whole numbers.
__global__ __aicore__ void matmulFromL1(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR c,
                                        TCubeTiling t) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  Matmul<MatmulType<TPosition::TSCM, CubeFormat::NZ, int8_t>, In<int8_t>, In<half>, In<int32_t>> mm;
  mm.Init(&t);
  mm.SetTensorA(placed<TPosition::TSCM, int8_t>(a, 0, 48 * placedK));
  mm.SetTensorB(global<int8_t>(b), true);
  if (scales)
    mm.SetQuantVector(global<uint64_t>(scales));
  else
    mm.SetQuantScalar(0x3E800000); // 0.25f
  mm.IterateAll(global<half>(c));
}
TEST(Meetings, G72_MatmulFromL1WithScales) {
  DeviceBuffer<int8_t> a(48 * placedK), b(placedK * placedN);
  DeviceBuffer<uint64_t> scales(placedN);
  DeviceBuffer<half> c(placedM * placedN);
  for (int32_t i = 0; i < placedM; ++i)
    for (int32_t l = 0; l < placedK; ++l)
      a[placeOf<int8_t, CubeFormat::NZ>(i, l, placedM, placedK)] = (i + l) % 3;
  for (int32_t i = 0; i < placedK * placedN; ++i)
    b[i] = i % 5 - 2;
  for (int32_t j = 0; j < placedN; ++j)
    scales[j] = j % 2 ? 0x3F800000 : 0x3F000000; // 1 and 0.5
  TCubeTiling t;
  t.M = t.singleCoreM = placedM;
  t.N = t.singleCoreN = placedN;
  t.Ka = t.Kb = t.singleCoreK = placedK;
  t.baseM = t.baseN = 32;
  t.baseK = 64;
  uint8_t* none = nullptr;
  for (bool perColumn : {false, true}) {
    ASSERT_EQ(run(matmulFromL1, 1, a.gm(), b.gm(), perColumn ? scales.gm() : none, c.gm(), t), "");
    for (int32_t i = 0; i < placedM; ++i)
      for (int32_t j = 0; j < placedN; ++j) {
        int32_t sum = 0;
        for (int32_t l = 0; l < placedK; ++l)
          sum += (i + l) % 3 * b[j * placedK + l];
        float scale = perColumn ? (j % 2 ? 1 : 0.5f) : 0.25f;
        ASSERT_EQ(static_cast<float>(c[i * placedN + j]), static_cast<float>(sum) * scale);
      }
  }
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
  tiling.SetSingleShape(64, 16, 200);
  tiling.SetTraverse(matmul_tiling::MatrixTraverse::FIRSTN);
  EXPECT_EQ(tiling.GetTiling(t), -1); // 2 x 3 parts for 4 cores
  tiling.SetSingleShape(64, 32);
  ASSERT_EQ(tiling.GetTiling(t), 0);
  EXPECT_EQ(t.usedCoreNum, 4);
  EXPECT_EQ(t.singleCoreM, 64);
  EXPECT_EQ(t.singleCoreN, 32);
  EXPECT_EQ(t.iterateOrder, 1);
  tiling.SetSingleShape(64); // all columns, whatever was asked for before
  ASSERT_EQ(tiling.GetTiling(t), 0);
  EXPECT_EQ(t.usedCoreNum, 2);
  EXPECT_EQ(t.singleCoreN, 40);
  EXPECT_EQ(t.singleCoreK, 200);
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
/// What a Matmul can't do, one after the other; `kind` chooses.
template <int kind> __global__ __aicore__ void refused(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TCubeTiling t;
  t.baseM = t.baseN = t.baseK = t.singleCoreM = t.singleCoreN = t.singleCoreK = 16;
  using Plain = MatmulType<TPosition::GM, CubeFormat::ND, float>;
  using InL1 = MatmulType<TPosition::TSCM, CubeFormat::NZ, float, true>;
  using A = std::conditional_t<kind == 6, InL1, Plain>;
  using C = MatmulType<TPosition::GM, CubeFormat::ND, std::conditional_t<kind == 4, int8_t, float>>;
  Matmul<A, Plain, C> mm;
  mm.Init(&t);
  auto c = global<typename C::T>(x);
  if constexpr (kind == 6)
    mm.SetTensorA(LocalTensor<float>(TPosition::TSCM, 0, 256), true);
  else if (kind != 0)
    mm.SetTensorA(global<float>(x), kind == 2);
  if (kind != 1)
    mm.SetTensorB(global<float>(x));
  if (kind == 3)
    mm.Iterate(true);
  LocalTensor<typename C::T> local(TPosition::VECCALC, 0, 256);
  if (kind == 5)
    mm.IterateAll(local);
  mm.IterateAll(c);
}
template <int kind> __global__ __aicore__ void refusedOnVector(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  TCubeTiling t;
  t.baseM = t.baseN = t.baseK = t.singleCoreM = t.singleCoreN = t.singleCoreK = 16;
  TPipe pipe;
  Matmul<MatmulType<TPosition::TSCM, CubeFormat::NZ, half>, In<half>,
         MatmulType<TPosition::VECIN, CubeFormat::ND, float>>
      mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  if (kind == 0)
    mm.SetTensorA(LocalTensor<half>(TPosition::TSCM, 0, 256));
  mm.IterateAll(LocalTensor<float>(TPosition::VECIN, 0, 256), 1);
}
TEST(Meetings, G72_MatmulRefusals) {
  uint8_t* none = nullptr;
  EXPECT_NE(run(noTiling, 1, none).find("Matmul: the tiling has no baseM, baseN, baseK"),
            std::string::npos);
  EXPECT_NE(run(noCube, 1, none).find("Matmul needs a cube core; make the kernel a mixed one"),
            std::string::npos);
  DeviceBuffer<float> x(256);
  auto refuses = [&](void (*kernel)(GM_ADDR), const char* text) {
    std::string found = run(kernel, 1, x.gm());
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  refuses(refused<0>, "Matmul: no A; call SetTensorA");
  refuses(refused<1>, "Matmul: no B; call SetTensorB");
  refuses(refused<2>, "Matmul: A is transposed, but its MatmulType doesn't say that it may be; set "
                      "the type's isTrans");
  refuses(refused<3>, "unsupported: Iterate with partial sums; use IterateAll or GetTensorC with "
                      "enAtomic, which add to GM");
  refuses(refused<4>, "Matmul: the type of C needs a scale; call SetQuantScalar or SetQuantVector");
  refuses(refused<5>,
          "Matmul: a cube core has no UB for C; take it to GM, or make the kernel a mixed "
          "one");
  refuses(refused<6>,
          "unsupported: Matmul transposes words, or an odd number of fractals of bytes, "
          "in L1; take the matrix from GM");
  refuses(refusedOnVector<0>, "unsupported: Matmul with a matrix in L1 on a vector core; take it "
                              "from UB or GM");
  refuses(refusedOnVector<1>, "unsupported: Matmul adds to C in GM only");
}
