# SPDX-License-Identifier: Apache-2.0
"""A CMake project outside of the tree, with an installed driver. Needs a build of the simulator."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))

pytestmark = pytest.mark.skipif(
    not (BUILD / "lib" / "libtilewright_operators.so").exists() or not shutil.which("cmake"),
    reason="the simulator is not built, or there is no CMake",
)

KERNEL = """#include "kernel_operator.h"
#include "scale.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void scale(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> g;
  g.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  Duplicate(t, float(SCALE + added), 64);
  PipeBarrier<PIPE_ALL>();
  DataCopy(g, t, 64);
}
"""
MAIN = """#include "acl/acl.h"
#include "kernel_operator.h"
#include <cstdio>
extern "C" __global__ __aicore__ void scale(GM_ADDR x);
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, 256, ACL_MEM_MALLOC_HUGE_FIRST);
  scale<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  float found = 0;
  aclrtMemcpy(&found, 4, x, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%g\\n", found);
}
"""


def run(*command: str | Path, cwd: Path | None = None, path: str | None = None) -> str:
    """The output of a command that must end well."""
    environment = {**os.environ, "PATH": path or os.environ["PATH"]}
    answer = subprocess.run(
        [str(c) for c in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env=environment,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def test_project_outside(tmp_path: Path) -> None:
    """The page's lines, with the installed package alone: what it builds, and builds again."""
    installed, project, build = tmp_path / "installed", tmp_path / "project", tmp_path / "build"
    run("cmake", "--install", BUILD, "--component", "ascend", "--prefix", installed)
    assert (installed / "include" / "tilewright-ascend" / "ascendc").is_dir()  # else the checkout's
    page = (ROOT / "docs" / "ascend-host.md").read_text()
    lines = page.split("## In a CMake project")[1].split("```cmake\n")[1].split("```")[0]
    (project / "include").mkdir(parents=True)
    (project / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(own CXX)\n{lines}"
    )
    (project / "kernel.cpp").write_text(KERNEL)
    (project / "main.cpp").write_text(MAIN)
    (project / "include" / "scale.h").write_text("constexpr int added = 4;\n")
    # No driver of another build may help.
    folders = os.environ["PATH"].split(":")
    path = ":".join(f for f in folders if not (Path(f) / "tilewright-ascendc").exists())
    run("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={installed}", path=path)
    run("cmake", "--build", build, path=path)
    assert run(build / "bin" / "relu") == "7\n"
    (project / "include" / "scale.h").write_text("constexpr int added = 5;\n")
    run("cmake", "--build", build, path=path)
    assert run(build / "bin" / "relu") == "8\n"
