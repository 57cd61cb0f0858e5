# SPDX-License-Identifier: Apache-2.0
"""Where a kernel says which cores it takes. Needs a build of the simulator."""

from pathlib import Path

import pytest
from built_driver import COMPILERS, DRIVER, needs_driver, run

pytestmark = needs_driver


NUMBERS_OF_MIX = """
#include "kernel_operator.h"
#include "acl/acl.h"
#include "templates.h"
#include <cstdio>
using namespace AscendC;
#define HEAD(name, C, V) extern "C" __global__ __mix__(C, V) void name(GM_ADDR x)
#define WHOLE(name, C, V) __global__ __mix__(C, V) void name(GM_ADDR x) { note(x); }
#define TWO 2
HEAD(head10, 1, 0) { note(x); }
HEAD(head12, 1, TWO) { note(x); }
HEAD(head01, 0, 1) { note(x); }
WHOLE(whole11, 1, 1)
WHOLE(whole12, 1, TWO)
__global__ __mix__(1, TWO - 1) void plain(GM_ADDR x) { note(x); }
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, 512, ACL_MEM_MALLOC_HUGE_FIRST);
  void (*kernels[])(GM_ADDR) = {head10, head12, head01, whole11, whole12, plain};
  int i = 0, a = 1, b = 2, c;
  for (auto kernel : kernels) {
    aclrtMemset(x, 512, 0, 512);
    kernel<<<1, nullptr, nullptr>>>((GM_ADDR)x);
    aclrtSynchronizeStream(nullptr);
    int32_t at[128];
    aclrtMemcpy(at, 512, x, 512, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%d%d%d ", at[0], at[32], at[64]);
  }
  c = a < b, of_a_header<2><<<1, nullptr, nullptr>>>((GM_ADDR)x);
  printf("%d %d %d\\n", i, c, aclrtSynchronizeStream(nullptr));
}
"""
TEMPLATES = """
#pragma once
#include "kernel_operator.h"
// Which cores there are: the cube core, and each vector core.
__aicore__ inline void note(GM_ADDR x) {
  AscendC::GlobalTensor<int32_t> out;
  out.SetGlobalBuffer((__gm__ int32_t*)x);
  int at = g_coreType == AscendC::AIC ? 0 : 32 + 32 * (AscendC::GetBlockIdx() % 2);
  out.SetValue(at, 1);
  AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE,
                                    AscendC::DcciDst::CACHELINE_OUT>(out[at]);
}
template <int N> __global__ __vector__ void of_a_header(GM_ADDR x) { note(x); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_numbers_of_mixed_kernels(tmp_path: Path, compiler: str) -> None:
    """Those of a macro's parameters; and a kernel of a header behind a comma and a comparison."""
    source = tmp_path / "mixes.cpp"
    source.write_text(NUMBERS_OF_MIX)
    (tmp_path / "templates.h").write_text(TEMPLATES)
    program = tmp_path / "mixes"
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert (built.returncode, built.stderr) == (0, "")
    answer = run(program)
    expected = "100 111 010 110 111 110 0 1 0\n"
    assert (answer.returncode, answer.stdout) == (0, expected), answer.stderr
    words = "other numbers than (1, 2), (1, 1), (1, 0) and (0, 1)"
    for right, wrong in (("head01, 0, 1", "head01, 0, 2"), ("whole11, 1, 1", "whole11, 1, 3")):
        source.write_text(NUMBERS_OF_MIX.replace(right, wrong))
        built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
        assert built.returncode == 1 and words in built.stderr


KINDS_ELSEWHERE = """
#include "kernel_operator.h"
#include "acl/acl.h"
#include "helpers.h"
#include <cstdio>
using namespace AscendC;
FILE_LEVEL
static __aicore__ inline void deeper() { setup(); }
struct Op {
  __aicore__ inline Op() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2); }
  __aicore__ inline void run(GM_ADDR x) { note(x); }
};
template <class T> __aicore__ void generic(GM_ADDR x) {
  if constexpr (sizeof(T) == 4) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  }
  note(x);
}
__global__ __aicore__ void of_header(GM_ADDR x) { deeper(); note(x); }
__global__ __aicore__ void of_object(GM_ADDR x) { Op op; op.run(x); }
__global__ __aicore__ void of_template(GM_ADDR x) { generic<float>(x); }
__global__ __aicore__ void own(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_0);
  deeper();
  note(x);
}
__global__ __aicore__ void says_none(GM_ADDR x) { note(x); }
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, 512, ACL_MEM_MALLOC_HUGE_FIRST);
  for (auto kernel : {of_header, of_object, of_template, own, says_none}) {
    aclrtMemset(x, 512, 0, 512);
    kernel<<<1, nullptr, nullptr>>>((GM_ADDR)x);
    aclrtSynchronizeStream(nullptr);
    int32_t at[128];
    aclrtMemcpy(at, 512, x, 512, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%d%d%d ", at[0], at[32], at[64]);
  }
}
"""
HELPERS = (
    TEMPLATES
    + """
__aicore__ inline void setup() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1); }
"""
)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_kinds_that_stand_elsewhere(tmp_path: Path, compiler: str) -> None:
    """In functions that kernels call, in a header and in templates, too; and between functions."""
    source, program = tmp_path / "kinds.cpp", tmp_path / "kinds"
    (tmp_path / "helpers.h").write_text(HELPERS)
    for file_level, of_none in (("", "010"), ("MIX_AIC_1_2", "111"), ("AIC_ONLY", "100")):
        words = f"KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_{file_level});" if file_level else ""
        source.write_text(KINDS_ELSEWHERE.replace("FILE_LEVEL", words))
        built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
        assert (built.returncode, built.stderr) == (0, "")
        answer = run(program)
        expected = f"110 111 100 100 {of_none} "
        assert (answer.returncode, answer.stdout) == (0, expected), answer.stderr


def test_kinds_that_hold_for_nobody(tmp_path: Path) -> None:
    """A function's that no kernel calls gives a warning, and two of one kernel an error."""
    source, program = tmp_path / "kinds.cpp", tmp_path / "kinds"
    (tmp_path / "helpers.h").write_text(HELPERS)
    alone = "__aicore__ void alone() { KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIC_ONLY); }"
    text = KINDS_ELSEWHERE.replace("FILE_LEVEL", alone)
    source.write_text(text)
    built = run(DRIVER, "build", source, "-o", program)
    words = (
        f"{source}:7: warning: the kind that is said here holds for no kernel; "
        "say it in a kernel's own body\n"
    )
    assert (built.returncode, built.stderr) == (0, words)
    source.write_text(text.replace("Op op; ", "Op op; deeper(); ").replace(alone, ""))
    built = run(DRIVER, "build", source, "-o", program)
    assert built.returncode == 1
    header = tmp_path / "helpers.h"
    line = HELPERS[: HELPERS.index("void setup")].count("\n") + 1
    assert built.stderr == (
        f"{source}:10: error: kernel 'of_object' has another kind at {header}:{line}; "
        "say one in its own body\n"
    )


# Kernels of macros: only the compiler knows their names. What they say comes from macros, too.
KINDS_OF_MACROS = """
#include "kernel_operator.h"
#include "acl/acl.h"
#include "helpers.h"
#include <cstdio>
using namespace AscendC;
#define K(name) extern "C" __global__ __aicore__ void name(GM_ADDR x)
#define SAYS(kind) KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_##kind)
static __aicore__ inline void mixed() { SAYS(MIX_AIC_1_2); }
K(one) { SAYS(AIC_ONLY); note(x); }
K(two) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); setup(); note(x); }
K(three) { mixed(); note(x); }
K(four) { setup(); note(x); }
__global__ __aicore__ void keyed(GM_ADDR x) {
  if (x)
    KERNEL_TASK_TYPE(7, KERNEL_TYPE_MIX_AIC_1_2);
  mixed();
  note(x);
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, 512, ACL_MEM_MALLOC_HUGE_FIRST);
  for (auto kernel : {one, two, three, four, keyed}) {
    aclrtMemset(x, 512, 0, 512);
    kernel<<<1, nullptr, nullptr>>>((GM_ADDR)x);
    aclrtSynchronizeStream(nullptr);
    int32_t at[128];
    aclrtMemcpy(at, 512, x, 512, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%d%d%d ", at[0], at[32], at[64]);
  }
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_kinds_that_macros_say(tmp_path: Path, compiler: str) -> None:
    """The host's function that names kernels of all kinds has none itself."""
    source, program = tmp_path / "kinds.cpp", tmp_path / "kinds"
    (tmp_path / "helpers.h").write_text(HELPERS)
    source.write_text(KINDS_OF_MACROS)
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert (built.returncode, built.stderr) == (0, "")
    answer = run(program)
    expected = "100 010 111 110 111 "
    assert (answer.returncode, answer.stdout) == (0, expected), answer.stderr


# Functions that stay functions, in the kernel's own section: what they do tells its kind.
CALLED = """
#include "kernel_operator.h"
#include "acl/acl.h"
#include <cstdio>
using namespace AscendC;
static __aicore__ __attribute__((noinline)) void copy() {
  LocalTensor<half> a(TPosition::A1, 0, 256), b(TPosition::A2, 0, 256);
  InitConstValue(a, InitConstValueParams<half>(1, 16, 0, half(1)));
  PipeBarrier<PIPE_ALL>();
  LoadData(b, a, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  PipeBarrier<PIPE_ALL>();
}
extern "C" __global__ __aicore__ void cubes() {
  if ASCEND_IS_AIC
    copy();
  printf("%s\\n", g_coreType == AIC ? "cube" : "vector");
}
static __aicore__ __attribute__((noinline)) void say() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
}
extern "C" __global__ __aicore__ void said() {
  say();
  printf("%s\\n", g_coreType == AIC ? "cube" : "vector");
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  cubes<<<1, nullptr, nullptr>>>();
  said<<<1, nullptr, nullptr>>>();
  return aclrtSynchronizeStream(nullptr);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_kind_by_functions_that_are_called(tmp_path: Path, compiler: str) -> None:
    """What a static function does and says that isn't inlined counts as its kernel's."""
    source = tmp_path / "called.cpp"
    source.write_text(CALLED)
    program = tmp_path / "called"
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert (built.returncode, built.stderr) == (0, "")
    answer = run(program)
    assert (answer.returncode, answer.stdout) == (0, "cube\ncube\n"), answer.stderr
