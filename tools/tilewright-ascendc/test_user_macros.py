# SPDX-License-Identifier: Apache-2.0
"""Macros and names that users define for themselves, which must not reach into our headers."""

import shutil
import string
import subprocess
from pathlib import Path

import pytest
from built_driver import DRIVER, needs_driver

pytestmark = needs_driver

SOURCE = r"""#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "acl/acl.h"
#include "tiling/tiling_api.h"
#include "register/tilingdata_base.h"
#include <cstdio>
using namespace AscendC;
BEGIN_TILING_DATA_DEF(Sizes)
TILING_DATA_FIELD_DEF(uint32_t, count);
END_TILING_DATA_DEF;
template <class Type> __global__ __aicore__ void scaled(GM_ADDR x, uint32_t count) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<Type> gm;
  gm.SetGlobalBuffer((__gm__ Type*)x, N);
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  TQue<TPosition::VECOUT, 2> out;
  pipe.InitBuffer(in, 2, N * sizeof(Type));
  pipe.InitBuffer(out, 2, N * sizeof(Type));
  LocalTensor<Type> a = in.AllocTensor<Type>();
  DataCopy(a, gm, N);
  in.EnQue(a);
  a = in.DeQue<Type>();
  LocalTensor<Type> b = out.AllocTensor<Type>();
  Muls(b, a, Type(2), count);
  out.EnQue(b);
  b = out.DeQue<Type>();
  DataCopy(gm, b, N);
  in.FreeTensor(a);
  out.FreeTensor(b);
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, N * 4, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemset(x, N * 4, 0, N * 4);
  scaled<float><<<1, nullptr, nullptr>>>((GM_ADDR)x, K);
  printf("%d\n", aclrtSynchronizeStream(nullptr));
}
"""


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
@pytest.mark.parametrize("precompiled", [True, False])
def test_macros_of_one_letter(tmp_path: Path, compiler: str, precompiled: bool) -> None:
    """All of them, from the command line."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "letters.cpp"
    source.write_text(SOURCE)
    letters = [f"-D{letter}=64" for letter in string.ascii_uppercase]
    options = letters if precompiled else [*letters, "--no-pch"]
    built = subprocess.run(
        [DRIVER, "build", source, "-o", tmp_path / "letters", "--cxx", compiler, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (built.returncode, built.stderr) == (0, "")
    answer = subprocess.run(
        [tmp_path / "letters"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (answer.stdout, answer.stderr) == ("0\n", "")


# Of the host's headers' own names, those that users have, too.
NAMES = r"""
enum class DType { F32 };
struct Place { int at; };
struct Pipe { int depth; };
using Space = int;
static int host = 3;
constexpr int blockBytes = 32, copyCount = 2, rowsOf = 5, bump = 1, listed = 4;
#include "kernel_operator.h"
#include "acl/acl.h"
#include <cstdio>
using namespace AscendC;
#define CURRENT table [host]
template <DType type> __global__ __aicore__ void fill(GM_ADDR x, Place place) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, blockBytes / sizeof(int32_t));
  GlobalTensor<int32_t> out;
  out.SetGlobalBuffer((__gm__ int32_t*)x);
  Space sum = copyCount + rowsOf + bump + listed + place.at + Pipe{1}.depth;
  Duplicate(t, sum, 8);
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, t, 8);
}
int main() {
  int table[] = {0, 1, 2, 300};
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, 32, ACL_MEM_MALLOC_HUGE_FIRST);
  fill<DType::F32><<<1, nullptr, nullptr>>>((GM_ADDR)x, Place{20});
  int found = 0;
  aclrtMemcpy(&found, 4, x, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%d %d\n", found, CURRENT);
}
"""


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
def test_names_that_the_headers_have_for_themselves(tmp_path: Path, compiler: str) -> None:
    """Users' own of the same names aren't ambiguous where they use the namespace."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "names.cpp"
    source.write_text(NAMES)
    built = subprocess.run(
        [DRIVER, "build", source, "-o", tmp_path / "names", "--cxx", compiler],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (built.returncode, built.stderr) == (0, "")
    answer = subprocess.run(
        [tmp_path / "names"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (answer.stdout, answer.stderr) == ("33 300\n", "")
