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
  int e = aclrtSynchronizeStream(nullptr);
  aclrtMemcpy(v, 256, x, 256, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%d %g\n", e, v[63]);
  if (e)
    puts(aclGetRecentErrMsg());
}
