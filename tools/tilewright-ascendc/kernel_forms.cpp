// SPDX-License-Identifier: Apache-2.0
// Forms of C++17 in which users write kernels and launches; test_driver.py builds it with each compiler.
#include "acl/acl.h"
#include "kernel_operator.h"
#include <cstdio>
#include <type_traits>
using namespace AscendC;

#define DEFINE_ADD(NAME, VALUE)                                                                    \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x) {                                          \
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);                                                \
    GlobalTensor<float> g;                                                                         \
    g.SetGlobalBuffer((__gm__ float*)x);                                                           \
    LocalTensor<float> t(TPosition::VECCALC, 0, 64);                                               \
    DataCopy(t, g, 64);                                                                            \
    PipeBarrier<PIPE_ALL>();                                                                       \
    Adds(t, t, VALUE, 64);                                                                         \
    PipeBarrier<PIPE_ALL>();                                                                       \
    DataCopy(g, t, 64);                                                                            \
  }
DEFINE_ADD(macro_one, 1.0f)
DEFINE_ADD(macro_ten, 10.0f)

#define LAUNCH(k, blocks, stream, ...) k<<<blocks, nullptr, stream>>>(__VA_ARGS__)
#define LAUNCH_NAMED(name, ...) macro_##name<<<1, nullptr, nullptr>>>(__VA_ARGS__)

namespace lib::detail {
template <class Element, template <class> class Tensor, int N = 64> struct Op {
  template <class F> __aicore__ inline static void apply(GM_ADDR x, F&& f) {
    GlobalTensor<Element> g;
    g.SetGlobalBuffer((__gm__ Element*)x);
    Tensor<Element> t(TPosition::VECCALC, 0, N);
    DataCopy(t, g, N);
    PipeBarrier<PIPE_ALL>();
    f(t);
    PipeBarrier<PIPE_ALL>();
    DataCopy(g, t, N);
  }
};
template <class Op, auto... vs> __global__ __aicore__ void fold(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Op::apply(x, [](auto& t) {
    constexpr float total = (0.0f + ... + static_cast<float>(vs));
    if constexpr (std::is_same_v<std::decay_t<decltype(t)>, LocalTensor<float>>)
      Adds(t, t, total, 64);
  });
}
} // namespace lib::detail
template <class K> void launchIt(K kernel, void* x) {
  auto go = [&] { kernel<<<1, nullptr, nullptr>>>((GM_ADDR)x); };
  go();
}
/// A kernel that is known at run time only.
struct Runner {
  void (*kernel)(GM_ADDR) = macro_one;
  void run(void* x) const {
    (this->kernel)<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  }
};
__aicore__ inline void addNumber(GM_ADDR x, float value) {
  GlobalTensor<float> g;
  g.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  DataCopy(t, g, 64);
  PipeBarrier<PIPE_ALL>();
  Adds(t, t, value, 64);
  PipeBarrier<PIPE_ALL>();
  DataCopy(g, t, 64);
}
/// With names that kernels of all kinds use, and flags by the names of instructions.
extern "C" __global__ __aicore__ void older_names(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  static_assert(ONE_BLK_SIZE * DEFAULT_BLK_NUM == ONE_REPEAT_BYTE_SIZE && MAX_REPEAT_TIMES == 255 &&
                DEFAULT_BLK_STRIDE == 1 && DEFAULT_REPEAT_STRIDE == 8 &&
                DEFAULT_BLOCK_SIZE == 256 && ONE_BYTE_BIT_SIZE == 8 && TOTAL_UB_SIZE == 196608 &&
                ONE_BLK_HALF_NUM == 2 * ONE_BLK_FLOAT_NUM);
  static_assert(BLOCK_CUBE * BLOCK_CUBE == CUBE_MAX_SIZE && DEFAULT_C0_SIZE == 32);
  static_assert(IsSameType<half, half>::value && !Std::is_same<half, float>::value &&
                Std::is_same_v<Std::conditional_t<true, int, half>, int>);
  static_assert(std::is_same_v<::KernelMode, AscendC::KernelMode>);
  static_assert(&::GetSysWorkSpacePtr == &AscendC::GetSysWorkSpacePtr);
  static_assert(Std::min(3, 2) + Std::max(3, 4) == 6);
  GlobalTensor<float> g;
  g.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, AlignUp(60, 64));
  DataCopy(t, g, 64);
  set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  Adds(t, t, 1.0f, 64);
  pipe_barrier(PIPE_V);
  Adds(t, t, static_cast<float>(DivCeil(5, 3)), 64);
  pipe_barrier(PIPE_ALL);
  DataCopy(g, t, 64);
}

/// Member templates of what depends on a parameter, without arguments: old compilers take it, so kernels have it.
template <class T> class QueueUser {
public:
  __aicore__ inline void addOne(GM_ADDR x) {
    TPipe pipe;
    pipe.InitBuffer(queue, 1, 256);
    GlobalTensor<T> g;
    g.SetGlobalBuffer((__gm__ T*)x);
    LocalTensor<T> t = queue.template AllocTensor<T>();
    DataCopy(t, g, 64);
    queue.template EnQue(t);
    t = queue.template DeQue<T>();
    Adds(t, t, static_cast<T>(1), 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(g, t, 64);
    queue.template FreeTensor(t);
  }
  TQue<TPosition::VECIN, 1> queue;
};
__global__ __aicore__ void dependent_calls(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  QueueUser<float> user;
  user.addOne(x);
}

/// Template arguments with operators that are brackets elsewhere.
template <int N> __global__ __aicore__ void add_number(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  addNumber(x, static_cast<float>(N));
}
template <class T> struct Number {
  static constexpr int value = sizeof(T) - 3;
};
template <class T> __global__ __aicore__ void add_typed(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  addNumber(x, static_cast<float>(T::value));
}
template __global__ __aicore__ void
    add_typed<Number<std::conditional_t<(3 > 2), int, char>>>(GM_ADDR);

// Heads of kernels from macros, which say the kind.
#define KERNEL(name) extern "C" __global__ __vector__ void name(GM_ADDR x)
#define ANY_KERNEL(kind) template <int N> __global__ kind void
#define FOR_VECTORS __vector__
#define FOR_CUBES __cube__
KERNEL(head_of_macro) {
  addNumber(x, 1.0f);
}
ANY_KERNEL(FOR_VECTORS) templated_head(GM_ADDR x) {
  addNumber(x, N);
}
/// Calls nothing that tells its kind: only a mixed kernel has second vector cores.
#define MIXED_KERNEL(name) extern "C" __global__ __mix__(1, 2) void name(GM_ADDR x)
MIXED_KERNEL(mixed_head) {
  if ASCEND_IS_AIV {
    if (GetSubBlockIdx() == 1)
      addNumber(x, 10000.0f);
  }
}
/// Calls nothing that tells its kind.
extern "C" __global__ FOR_CUBES void cube_head(GM_ADDR x) {
  GlobalTensor<float> g;
  g.SetGlobalBuffer((__gm__ float*)x);
  g.SetValue(0, g_coreType == AIC ? 1 : 2);
  DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE>(g);
}

int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  float* x;
  aclrtMalloc((void**)&x, 256, ACL_MEM_MALLOC_HUGE_FIRST);
  float v[64] = {};
  aclrtMemcpy(x, 256, v, 256, ACL_MEMCPY_HOST_TO_DEVICE);
  macro_one<<<(1 > 0 ? 1u : 2u), nullptr, nullptr>>>((GM_ADDR)x);
  LAUNCH(macro_ten, 1, nullptr, (GM_ADDR)x);
  LAUNCH_NAMED(ten, (GM_ADDR)x);
  lib::detail::fold<lib::detail::Op<float, LocalTensor>, 100, 'd', 200ull>
      <<<1, nullptr, nullptr>>>((GM_ADDR)x);
  launchIt(macro_one, x);
  launchIt(&lib::detail::fold<lib::detail::Op<float, LocalTensor, 64>, 1000>, x);
  Runner{}.run(x);
  older_names<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  constexpr int block = 100;
  add_number<(5 > 3 ? 4 : 2)><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  add_number<(1 < 3)><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  add_number<(7 >> 1)><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  add_number<(block > 64)><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  add_number<1 << 2><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  add_number<1 < 2><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  add_number < block<2><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  add_typed<Number<std::conditional_t<(3 > 2), int, char>>><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  dependent_calls<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  head_of_macro<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  templated_head<85><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  mixed_head<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  add_number<block - 100 < 3><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  int e = aclrtSynchronizeStream(nullptr);
  aclrtMemcpy(v, 256, x, 256, ACL_MEMCPY_DEVICE_TO_HOST);
  cube_head<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  e |= aclrtSynchronizeStream(nullptr);
  float cube = 0;
  aclrtMemcpy(&cube, 4, x, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%d %g %g\n", e, v[63], cube);
  if (e)
    puts(aclGetRecentErrMsg());
}
