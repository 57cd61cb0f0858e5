// SPDX-License-Identifier: Apache-2.0
// The published profile rows of matmul (half, 8192^3, 910B1) from kernels of the same tiling.
// Prints lines as profile_add.cpp does. A core does the first part of its tiles only, and the times are multiplied:
// all tiles of a core take the same time.
//
//   profile_matmul          the rows; run with TILEWRIGHT_ASCEND=time-only,warm-l2,chip=910B1
//   profile_matmul check    the kernel's result on small matrices
#include "kernel_operator.h"

#include "acl/acl.h"

#include <cmath>

using namespace AscendC;

/// C[m, n] = A[m, k] * B[k, n], row-major halves; m and n are multiples of the tile.
struct MatmulPlan {
  uint32_t m, n, k;
  uint16_t tileM, tileN, tileK; ///< 0: DoubleBuffered, which has sizes of its own
  uint32_t gridM, gridN;        ///< cores in both directions; each has a rectangle of tiles
  uint32_t part;                ///< a core does one of so many tiles
  /// Of DoubleBuffered: columns of A and rows of B that L1 holds twice, parts of M that all cores finish one after the
  /// other, and whether Mmad and Fixpipe order each other.
  uint32_t blockKa = 0, blockKb = 0, parts = 1;
  bool unitFlag = false;
  uint32_t swizzle = 0; ///< of InTurns: rows of tiles that are taken together
};

/// The same as constants, for the compiler.
template <uint32_t sizeM, uint32_t sizeN, uint32_t sizeK, uint32_t coresM, uint32_t coresN,
          uint32_t partOfTiles>
struct ConstantPlan {
  static constexpr uint32_t m = sizeM, n = sizeN, k = sizeK, gridM = coresM, gridN = coresN,
                            part = partOfTiles, blockKa = 512, blockKb = 256, parts = 2;
  static constexpr bool unitFlag = false;
};

namespace {

/// A core's range of `tiles` tiles in one direction.
struct Range {
  uint32_t first, last;
};
__aicore__ inline Range rangeOf(uint32_t tiles, uint32_t core, uint32_t cores) {
  return {tiles * core / cores, tiles * (core + 1) / cores};
}

class TileByTile {
public:
  __aicore__ inline TileByTile(GM_ADDR a, GM_ADDR b, GM_ADDR c, const MatmulPlan& plan)
      : plan(plan), a1(TPosition::A1, 0, plan.tileM * plan.tileK),
        b1(TPosition::B1, plan.tileM * plan.tileK * sizeof(half), plan.tileK * plan.tileN),
        a2(TPosition::A2, 0, plan.tileM * plan.tileK),
        b2(TPosition::B2, 0, plan.tileK * plan.tileN),
        c1(TPosition::CO1, 0, plan.tileM * plan.tileN) {
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    cGm.SetGlobalBuffer((__gm__ half*)c);
  }

  __aicore__ inline void run() {
    Range rows = rangeOf(plan.m / plan.tileM, uint32_t(GetBlockIdx()) / plan.gridN, plan.gridM);
    Range columns = rangeOf(plan.n / plan.tileN, uint32_t(GetBlockIdx()) % plan.gridN, plan.gridN);
    uint32_t left = (rows.last - rows.first) * (columns.last - columns.first) / plan.part;
    SetFlag<HardEvent::MTE1_MTE2>(0);
    SetFlag<HardEvent::M_MTE1>(0);
    SetFlag<HardEvent::FIX_M>(0);
    for (uint32_t row = rows.first; row < rows.last; ++row)
      for (uint32_t column = columns.first; column < columns.last && left > 0; ++column, --left)
        multiplyTile(row * plan.tileM, column * plan.tileN);
    WaitFlag<HardEvent::MTE1_MTE2>(0);
    WaitFlag<HardEvent::M_MTE1>(0);
    WaitFlag<HardEvent::FIX_M>(0);
  }

private:
  __aicore__ inline void multiplyTile(uint32_t row, uint32_t column) {
    WaitFlag<HardEvent::FIX_M>(0);
    for (uint32_t step = 0; step < plan.k; step += plan.tileK) {
      // One buffer for each matrix; the two copies follow each other, and so do the two loads.
      WaitFlag<HardEvent::MTE1_MTE2>(0);
      DataCopy(a1, aGm[uint64_t(row) * plan.k + step], rowsOf(plan.tileM, plan.tileK, plan.k));
      PipeBarrier<PIPE_MTE2>();
      DataCopy(b1, bGm[uint64_t(step) * plan.n + column], rowsOf(plan.tileK, plan.tileN, plan.n));
      SetFlag<HardEvent::MTE2_MTE1>(0);
      WaitFlag<HardEvent::MTE2_MTE1>(0);
      WaitFlag<HardEvent::M_MTE1>(0);
      LoadData(
          a2, a1,
          LoadData2DParams(0, uint8_t(plan.tileM / 16 * (plan.tileK / 16)), 1, 0, 0, false, 0));
      LoadData(b2, b1,
               LoadData2DParams(0, uint8_t(plan.tileK / 16 * (plan.tileN / 16)), 1, 0, 0, true, 0));
      SetFlag<HardEvent::MTE1_MTE2>(0);
      SetFlag<HardEvent::MTE1_M>(0);
      WaitFlag<HardEvent::MTE1_M>(0);
      MmadParams multiply(plan.tileM, plan.tileN, plan.tileK, int8_t(0), false, step == 0);
      Mmad(c1, a2, b2, multiply);
      SetFlag<HardEvent::M_MTE1>(0);
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 store(plan.tileN, plan.tileM, plan.tileM, plan.n, false);
    store.quantPre = QuantMode_t::F322F16;
    Fixpipe<half, float, CFG_ROW_MAJOR>(cGm[uint64_t(row) * plan.n + column], c1, store);
    SetFlag<HardEvent::FIX_M>(0);
  }

  /// Each 16 rows are a matrix of their own, so that L1 holds fractals in the order in which L0 wants them.
  __aicore__ inline Nd2NzParams rowsOf(uint16_t rows, uint16_t columns, uint32_t width) {
    return Nd2NzParams(rows / 16, 16, columns, 16 * width, width, 16, 1, 16 * columns);
  }

  const MatmulPlan& plan;
  LocalTensor<half> a1, b1, a2, b2;
  LocalTensor<float> c1;
  GlobalTensor<half> aGm, bGm, cGm;
};

constexpr uint32_t tileM = 128, tileN = 256;

/// The tiles of a core: a rectangle, part after part, and row after row in each.
template <class Plan> class Rectangle {
public:
  __aicore__ inline Rectangle(const Plan& plan, uint32_t core)
      : columns(rangeOf(plan.n / tileN, core % plan.gridN, plan.gridN)),
        rows(rangeOf(plan.m / tileM / plan.parts, core / plan.gridN, plan.gridM)),
        rowsOfPart(plan.m / tileM / plan.parts), width(columns.last - columns.first),
        tilesOfPart((rows.last - rows.first) * width), tiles(plan.parts * tilesOfPart / plan.part) {
  }
  __aicore__ inline uint32_t rowOf(uint32_t tile) const {
    return tile / tilesOfPart * rowsOfPart + rows.first + tile % tilesOfPart / width;
  }
  __aicore__ inline uint32_t columnOf(uint32_t tile) const {
    return columns.first + tile % width;
  }

private:
  Range columns, rows;
  uint32_t rowsOfPart, width, tilesOfPart;

public:
  uint32_t tiles;
};

/// The cores take the tiles in turns: row after row, or `swizzle` rows together, column after column and back, so that
/// at any time they work on a block of C and share more of what they read.
class InTurns {
public:
  __aicore__ inline InTurns(const MatmulPlan& plan, uint32_t core)
      : core(core), cores(plan.gridM * plan.gridN), height(plan.swizzle), width(plan.n / tileN),
        tiles(plan.m / tileM * width / cores / plan.part) {}
  __aicore__ inline uint32_t rowOf(uint32_t tile) const {
    uint32_t turn = core + tile * cores;
    return turn / (height * width) * height + turn % height;
  }
  __aicore__ inline uint32_t columnOf(uint32_t tile) const {
    uint32_t turn = core + tile * cores;
    uint32_t column = turn % (height * width) / height;
    bool goesBack = height > 1 && turn / (height * width) % 2 == 1;
    return goesBack ? width - 1 - column : column;
  }

private:
  uint32_t core, cores, height, width;

public:
  uint32_t tiles;
};

/// L1 holds blocks of A and of B, each twice; L0 tiles of 128 x 64 and 64 x 256, twice. So the copies to L1, the loads
/// to L0 and the multiplications of different tiles overlap. A longer block of A than of B is copied less often.
template <class Plan, class Order> class DoubleBuffered {
public:
  static constexpr uint32_t m = tileM, n = tileN, tileK = 64;

  __aicore__ inline DoubleBuffered(GM_ADDR a, GM_ADDR b, GM_ADDR c, const Plan& plan)
      : plan(plan), order(plan, uint32_t(GetBlockIdx())), c1(TPosition::CO1, 0, m * n) {
    uint32_t sizeA = m * plan.blockKa, sizeB = plan.blockKb * n;
    for (uint32_t i = 0; i < 2; ++i) {
      a1[i] = LocalTensor<half>(TPosition::A1, i * sizeA * sizeof(half), sizeA);
      b1[i] = LocalTensor<half>(TPosition::B1, (2 * sizeA + i * sizeB) * sizeof(half), sizeB);
      a2[i] = LocalTensor<half>(TPosition::A2, i * m * tileK * sizeof(half), m * tileK);
      b2[i] = LocalTensor<half>(TPosition::B2, i * tileK * n * sizeof(half), tileK * n);
    }
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    cGm.SetGlobalBuffer((__gm__ half*)c);
  }

  __aicore__ inline void run() {
    for (int32_t i = 0; i < 2; ++i) {
      SetFlag<HardEvent::MTE1_MTE2>(freeA + i);
      SetFlag<HardEvent::MTE1_MTE2>(freeB + i);
      SetFlag<HardEvent::M_MTE1>(i);
    }
    if (!plan.unitFlag)
      SetFlag<HardEvent::FIX_M>(0);
    loadA(0, 0, nowA);
    loadB(0, 0, nowB);
    for (uint32_t tile = 0; tile < order.tiles; ++tile)
      multiplyTile(tile);
    for (int32_t i = 0; i < 2; ++i) {
      WaitFlag<HardEvent::MTE1_MTE2>(freeA + i);
      WaitFlag<HardEvent::MTE1_MTE2>(freeB + i);
      WaitFlag<HardEvent::M_MTE1>(i);
    }
    if (!plan.unitFlag)
      WaitFlag<HardEvent::FIX_M>(0);
  }

private:
  static constexpr int32_t freeA = 0, freeB = 2, fullA = 0, fullB = 2; ///< event ids, two each

  __aicore__ inline uint32_t rowOf(uint32_t tile) {
    return order.rowOf(tile) * m;
  }
  __aicore__ inline uint32_t columnOf(uint32_t tile) {
    return order.columnOf(tile) * n;
  }

  __aicore__ inline void multiplyTile(uint32_t tile) {
    if (!plan.unitFlag)
      WaitFlag<HardEvent::FIX_M>(0);
    for (uint32_t k = 0; k < plan.k; k += tileK) {
      bool beginsA = k % plan.blockKa == 0, beginsB = k % plan.blockKb == 0;
      // The next block, which may be the first of the next tile.
      if (beginsA)
        loadA(tile, k + plan.blockKa, 1 - nowA);
      if (beginsB)
        loadB(tile, k + plan.blockKb, 1 - nowB);
      if (beginsA)
        WaitFlag<HardEvent::MTE2_MTE1>(fullA + nowA);
      if (beginsB)
        WaitFlag<HardEvent::MTE2_MTE1>(fullB + nowB);
      multiplyStep(k);
      if ((k + tileK) % plan.blockKa == 0) {
        SetFlag<HardEvent::MTE1_MTE2>(freeA + nowA);
        nowA = 1 - nowA;
      }
      if ((k + tileK) % plan.blockKb == 0) {
        SetFlag<HardEvent::MTE1_MTE2>(freeB + nowB);
        nowB = 1 - nowB;
      }
    }
    FixpipeParamsV220 store(n, m, m, plan.n, false);
    store.quantPre = QuantMode_t::F322F16;
    store.unitFlag = plan.unitFlag ? 3 : 0;
    if (!plan.unitFlag) {
      SetFlag<HardEvent::M_FIX>(0);
      WaitFlag<HardEvent::M_FIX>(0);
    }
    uint64_t at = uint64_t(rowOf(tile)) * plan.n + columnOf(tile);
    Fixpipe<half, float, CFG_ROW_MAJOR>(cGm[at], c1, store);
    if (!plan.unitFlag)
      SetFlag<HardEvent::FIX_M>(0);
  }

  __aicore__ inline void loadA(uint32_t tile, uint32_t k, int32_t buffer) {
    if (tile + k / plan.k == order.tiles)
      return;
    WaitFlag<HardEvent::MTE1_MTE2>(freeA + buffer);
    DataCopy(a1[buffer], aGm[uint64_t(rowOf(tile + k / plan.k)) * plan.k + k % plan.k],
             Nd2NzParams(1, m, uint16_t(plan.blockKa), 0, plan.k, m, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(fullA + buffer);
  }
  __aicore__ inline void loadB(uint32_t tile, uint32_t k, int32_t buffer) {
    if (tile + k / plan.k == order.tiles)
      return;
    WaitFlag<HardEvent::MTE1_MTE2>(freeB + buffer);
    DataCopy(b1[buffer], bGm[uint64_t(k % plan.k) * plan.n + columnOf(tile + k / plan.k)],
             Nd2NzParams(1, uint16_t(plan.blockKb), n, 0, plan.n, uint16_t(plan.blockKb), 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(fullB + buffer);
  }

  __aicore__ inline void multiplyStep(uint32_t k) {
    WaitFlag<HardEvent::M_MTE1>(l0);
    LoadData3DParamsV2<half> window;
    window.l1H = 1;
    window.l1W = m;
    window.channelSize = uint16_t(plan.blockKa);
    window.mExtension = m;
    window.kExtension = tileK;
    window.kStartPt = uint16_t(k % plan.blockKa);
    LoadData(a2[l0], a1[nowA], window);
    // B is transposed on its way, which goes by rows of fractals.
    for (uint32_t row = 0; row < tileK / 16; ++row)
      LoadData(b2[l0][row * n * 16], b1[nowB],
               LoadData2DParams(uint16_t(k % plan.blockKb / 16 + row), n / 16,
                                uint16_t(plan.blockKb / 16), 0, 0, true, 0));
    SetFlag<HardEvent::MTE1_M>(l0);
    WaitFlag<HardEvent::MTE1_M>(l0);
    int8_t unit = !plan.unitFlag ? 0 : k + tileK < plan.k ? 2 : 3;
    Mmad(c1, a2[l0], b2[l0], MmadParams(m, n, tileK, unit, false, k == 0));
    SetFlag<HardEvent::M_MTE1>(l0);
    l0 = 1 - l0;
  }

  const Plan& plan;
  Order order;
  int32_t nowA = 0, nowB = 0, l0 = 0;
  LocalTensor<half> a1[2], b1[2], a2[2], b2[2];
  LocalTensor<float> c1;
  GlobalTensor<half> aGm, bGm, cGm;
};

} // namespace

extern "C" __global__ __aicore__ void matmul_rows(GM_ADDR a, GM_ADDR b, GM_ADDR c,
                                                  MatmulPlan plan) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  if (plan.tileM == 0)
    DoubleBuffered<MatmulPlan, Rectangle<MatmulPlan>>(a, b, c, plan).run();
  else
    TileByTile(a, b, c, plan).run();
}
extern "C" __global__ __aicore__ void matmul_in_turns(GM_ADDR a, GM_ADDR b, GM_ADDR c,
                                                      MatmulPlan plan) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  DoubleBuffered<MatmulPlan, InTurns>(a, b, c, plan).run();
}
template <class Plan> __global__ __aicore__ void matmul_constant(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  DoubleBuffered<Plan, Rectangle<Plan>>(a, b, c, Plan()).run();
}

enum class Kernel { Rows, Constant, ConstantOfCheck, InTurns };

/// A published row: microseconds.
struct Row {
  const char* name;
  Kernel kernel;
  MatmulPlan plan;
  bool isFitted;
  double task, core, mac, scalar, mte1, mte2, fixpipe;
};

constexpr uint32_t size = 8192;
/// What the names of the published cases say of their kernels. Case 4: several tiles of K in one copy to L1; how many is
/// not said, so the fewest. From case 5 on: 256 KB of L1 for A and as many for B. From case 6 on: the product in parts
/// whose matrices L2 can hold; two, as A and B are 256 MB. Case 7: constants for the tiling. Case 8: unit flags. Of the
/// basic-API kernel only its steps are named (two buffers in L1 and in L0, unit flags, swizzled tiles): its first variant
/// has no swizzle here, its second has.
constexpr MatmulPlan doubleBuffered(uint32_t blockKa, uint32_t blockKb, uint32_t parts,
                                    bool unitFlag) {
  return {size, size, size, 0, 0, 0, 4, 6, 8, blockKa, blockKb, parts, unitFlag};
}
constexpr MatmulPlan case4 = doubleBuffered(128, 128, 1, false),
                     case5 = doubleBuffered(512, 256, 1, false),
                     case6 = doubleBuffered(512, 256, 2, false),
                     case8 = doubleBuffered(512, 256, 2, true);
constexpr MatmulPlan basicKernel(uint32_t swizzle) {
  MatmulPlan plan = doubleBuffered(512, 256, 1, true);
  plan.swizzle = swizzle;
  return plan;
}
using Case7 = ConstantPlan<size, size, size, 4, 6, 8>;
using SmallCase7 = ConstantPlan<512, 512, 1024, 1, 2, 1>;
const Row rows[] = {
    {"matmul_case0",
     Kernel::Rows,
     {size, size, size, 64, 64, 64, 1, 1, 2048},
     true,
     759364,
     759363,
     141699,
     508788,
     162104,
     582516,
     34303},
    {"matmul_case1",
     Kernel::Rows,
     {size, size, size, 128, 256, 64, 1, 1, 256},
     true,
     249467,
     249467,
     81477,
     63609,
     52004,
     195613,
     11314},
    {"matmul_case2",
     Kernel::Rows,
     {size, size, size, 128, 256, 64, 2, 12, 8},
     false,
     12541,
     12538,
     3463,
     2987,
     2261,
     10178,
     875},
    {"matmul_case3",
     Kernel::Rows,
     {size, size, size, 128, 256, 64, 4, 6, 8},
     true,
     12284,
     10871,
     3395,
     2656,
     2167,
     8617,
     489},
    {"matmul_case4", Kernel::Rows, case4, false, 5040, 4488, 3116, 2074, 2333, 4051, 44.7},
    {"matmul_case5", Kernel::Rows, case5, false, 4157, 3926, 3352, 1464, 2750, 3779, 47.9},
    {"matmul_case6", Kernel::Rows, case6, false, 4088, 3786, 3254, 1753, 2681, 3625, 47.4},
    {"matmul_case7", Kernel::Constant, case6, false, 4053, 3665, 3164, 969, 2610, 3514, 45.8},
    {"matmul_case8", Kernel::Rows, case8, false, 4012, 3559, 3076, 1026, 2534, 3436, 272.6},
    {"matmul_basic1", Kernel::InTurns, basicKernel(1), false, 4121, 3671, 3082, 337, 2538, 3552,
     160},
    {"matmul_basic2", Kernel::InTurns, basicKernel(4), false, 4082, 3637, 3082, 345, 2553, 3487,
     162},
};

void print(const Row& row, const char* column, double value, double published, bool isGated) {
  printf("{\"name\": \"profile/%s/%s\", \"value\": %.5g, \"peer_value\": %g, \"unit\": \"us\", "
         "\"gated\": %s, "
         "\"fitted\": %s}\n",
         row.name, column, value, published, isGated ? "true" : "false",
         row.isFitted ? "true" : "false");
}

struct Matrices {
  uint8_t *a = nullptr, *b = nullptr, *c = nullptr;
};

bool allocate(Matrices& matrices, size_t elements) {
  for (uint8_t** memory : {&matrices.a, &matrices.b, &matrices.c})
    if (aclrtMalloc((void**)memory, elements * sizeof(uint16_t), ACL_MEM_MALLOC_HUGE_FIRST) != 0)
      return false;
  return true;
}

bool runKernel(const Matrices& to, Kernel kernel, const MatmulPlan& plan) {
  uint32_t cores = plan.gridM * plan.gridN;
  if (kernel == Kernel::Constant)
    matmul_constant<Case7><<<cores, nullptr, nullptr>>>(to.a, to.b, to.c);
  else if (kernel == Kernel::ConstantOfCheck)
    matmul_constant<SmallCase7><<<cores, nullptr, nullptr>>>(to.a, to.b, to.c);
  else if (kernel == Kernel::InTurns)
    matmul_in_turns<<<cores, nullptr, nullptr>>>(to.a, to.b, to.c, plan);
  else
    matmul_rows<<<cores, nullptr, nullptr>>>(to.a, to.b, to.c, plan);
  if (aclrtSynchronizeStream(nullptr) == 0)
    return true;
  fprintf(stderr, "error: %s\n", aclGetRecentErrMsg());
  return false;
}

/// By how much a core's work is more than what it did.
double partOf(const Row& row) {
  if (row.kernel != Kernel::InTurns)
    return row.plan.part;
  uint32_t tiles = row.plan.m / tileM * (row.plan.n / tileN),
           cores = row.plan.gridM * row.plan.gridN;
  return double(tiles) / cores / (tiles / cores / row.plan.part);
}

int printRows() {
  Matrices matrices;
  if (!allocate(matrices, size_t(size) * size))
    return 1;
  for (const Row& row : rows) {
    if (!runKernel(matrices, row.kernel, row.plan))
      return 1;
    tilewright::ascend::LaunchReport report = tilewright::ascend::lastLaunchReport();
    enum { S, V, M, MTE1, MTE2, MTE3, FIX };
    double part = partOf(row);
    bool isOneCore = row.plan.gridM * row.plan.gridN == 1;
    print(row, "task", part * report.modelledMicroseconds, row.task, true);
    print(row, "core", part * report.coreMicroseconds, row.core, true);
    print(row, "mac", part * report.pipeMicroseconds[M], row.mac, true);
    print(row, "scalar", part * report.pipeMicroseconds[S], row.scalar, false);
    print(row, "mte1", part * report.pipeMicroseconds[MTE1], row.mte1, true);
    print(row, "mte2", part * report.pipeMicroseconds[MTE2], row.mte2, isOneCore);
    print(row, "fixpipe", part * report.pipeMicroseconds[FIX], row.fixpipe, false);
  }
  return 0;
}

/// Small integers: all sums are exact.
int checkResult(const MatmulPlan& plan, Kernel kernel = Kernel::Rows) {
  std::vector<aclFloat16> a(plan.m * plan.k), b(plan.k * plan.n), c(plan.m * plan.n);
  auto valueA = [](uint32_t i, uint32_t k) { return float((i * 3 + k * 5) % 7) - 3; };
  auto valueB = [](uint32_t k, uint32_t j) { return float((k * 2 + j * 3) % 5) - 2; };
  for (uint32_t i = 0; i < plan.m; ++i)
    for (uint32_t k = 0; k < plan.k; ++k)
      a[i * plan.k + k] = aclFloatToFloat16(valueA(i, k));
  for (uint32_t k = 0; k < plan.k; ++k)
    for (uint32_t j = 0; j < plan.n; ++j)
      b[k * plan.n + j] = aclFloatToFloat16(valueB(k, j));
  Matrices matrices;
  size_t most = std::max({a.size(), b.size(), c.size()});
  if (!allocate(matrices, most))
    return 1;
  aclrtMemcpy(matrices.a, most * 2, a.data(), a.size() * 2, ACL_MEMCPY_HOST_TO_DEVICE);
  aclrtMemcpy(matrices.b, most * 2, b.data(), b.size() * 2, ACL_MEMCPY_HOST_TO_DEVICE);
  if (!runKernel(matrices, kernel, plan))
    return 1;
  aclrtMemcpy(c.data(), c.size() * 2, matrices.c, c.size() * 2, ACL_MEMCPY_DEVICE_TO_HOST);
  for (uint32_t i = 0; i < plan.m; ++i)
    for (uint32_t j = 0; j < plan.n; ++j) {
      float sum = 0;
      for (uint32_t k = 0; k < plan.k; ++k)
        sum += valueA(i, k) * valueB(k, j);
      if (aclFloat16ToFloat(c[i * plan.n + j]) != sum) {
        printf("C[%u, %u] is %g but should be %g\n", i, j, aclFloat16ToFloat(c[i * plan.n + j]),
               sum);
        return 1;
      }
    }
  return 0;
}

int main(int argc, char**) {
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0)
    return 1;
  if (argc == 1)
    return printRows();
  int faults =
      checkResult({256, 256, 128, 64, 64, 64, 1, 1, 1}) +
      checkResult({256, 512, 128, 128, 256, 64, 2, 2, 1}) +
      checkResult({256, 512, 768, 0, 0, 0, 1, 2, 1, 128, 128, 1, false}) +
      checkResult({512, 512, 1024, 0, 0, 0, 1, 2, 1, 512, 256, 2, false}) +
      checkResult({512, 512, 1024, 0, 0, 0, 1, 2, 1, 512, 256, 2, true}) +
      checkResult({512, 512, 1024, 0, 0, 0, 1, 2, 1}, Kernel::ConstantOfCheck) +
      checkResult({512, 512, 512, 0, 0, 0, 1, 2, 1, 512, 256, 1, true, 1}, Kernel::InTurns) +
      checkResult({512, 512, 512, 0, 0, 0, 1, 2, 1, 512, 256, 1, true, 2}, Kernel::InTurns);
  printf(faults == 0 ? "all values are right\n" : "wrong\n");
  return faults;
}
