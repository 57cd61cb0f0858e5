# SPDX-License-Identifier: Apache-2.0
"""The paths that the driver is given, writes to and tells. Needs a build of the simulator."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from built_driver import DRIVER, needs_driver

pytestmark = needs_driver

WILD = """#include "kernel_operator.h"
#include "acl/acl.h"
using namespace AscendC;

__global__ __aicore__ void k(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> gm;
  gm.SetGlobalBuffer((__gm__ int32_t*)x);
  gm.SetValue(0, 7);
  *(volatile int*)0x123456789000 = 1;
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, 512, ACL_MEM_MALLOC_HUGE_FIRST);
  k<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  aclrtSynchronizeStream(nullptr);
}
"""


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
def test_places_have_the_path_that_was_given(tmp_path: Path, compiler: str) -> None:
    """Also those of faults in plain code, which come from debug information."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "sub").mkdir()
    source = tmp_path / "sub" / "wild.cpp"
    source.write_text(WILD)
    for given in ("sub/wild.cpp", "./sub/wild.cpp", str(source)):
        built = subprocess.run(
            [DRIVER, "build", given, "-o", "wild", "--cxx", compiler],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=tmp_path,
        )
        assert built.returncode == 0, built.stderr
        answer = subprocess.run(
            [tmp_path / "wild"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=tmp_path,
        )
        lines = answer.stderr.splitlines()
        assert lines[0].startswith(f"{given}:10: error: the kernel's scalar code touched"), lines
        assert lines[1] == "      *(volatile int*)0x123456789000 = 1;"
        assert f"{given}:9: note: the last instruction before it" in lines


def test_the_cache_may_lie_elsewhere(tmp_path: Path) -> None:
    """TILEWRIGHT_CACHE_DIR counts for the driver as it does for the compiler."""
    source, cache = tmp_path / "wild.cpp", tmp_path / "cache"
    source.write_text(WILD)
    for _ in range(2):
        built = subprocess.run(
            [DRIVER, "build", source, "-o", tmp_path / "wild"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=os.environ | {"TILEWRIGHT_CACHE_DIR": str(cache), "XDG_CACHE_HOME": "/nowhere"},
        )
        assert built.returncode == 0, built.stderr
    assert [path.name for path in cache.iterdir()] == ["ascendc"]
    assert list((cache / "ascendc").iterdir())
