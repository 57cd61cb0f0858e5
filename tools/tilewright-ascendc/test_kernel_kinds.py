# SPDX-License-Identifier: Apache-2.0
"""Where a kernel says which cores it takes. Needs a build of the simulator."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
DRIVER = BUILD / "bin" / "tilewright-ascendc"

pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="tilewright-ascendc is not built")

COMPILERS = [
    pytest.param(
        name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"{name} is not installed")
    )
    for name in ("clang++-22", "g++-12")
]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command and keeps its output."""
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, timeout=120
    )


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
