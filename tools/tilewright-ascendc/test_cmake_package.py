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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed package."""
    folder = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--component", "ascend", "--prefix", folder)
    assert (folder / "include" / "tilewright-ascend" / "ascendc").is_dir()  # else the checkout's
    return folder


def path_without_driver() -> str:
    """PATH, so that no driver of another build may help."""
    folders = os.environ["PATH"].split(":")
    return ":".join(f for f in folders if not (Path(f) / "tilewright-ascendc").exists())


def page_lines(number: int) -> str:
    """The lines of CMake on the page."""
    page = (ROOT / "docs" / "ascend-host.md").read_text()
    section = page.split("## In a CMake project")[1].split("\n## ")[0]
    return section.split("```cmake\n")[number].split("```")[0]


def test_project_outside(tmp_path: Path, installed: Path) -> None:
    """The page's lines, with the installed package alone: what it builds, and builds again."""
    project, build = tmp_path / "project", tmp_path / "build"
    (project / "include").mkdir(parents=True)
    (project / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(own CXX)\n{page_lines(1)}"
    )
    (project / "kernel.cpp").write_text(KERNEL)
    (project / "main.cpp").write_text(MAIN)
    (project / "include" / "scale.h").write_text("constexpr int added = 4;\n")
    path = path_without_driver()
    run("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={installed}", path=path)
    run("cmake", "--build", build, path=path)
    assert run(build / "bin" / "relu") == "7\n"
    (project / "include" / "scale.h").write_text("constexpr int added = 5;\n")
    run("cmake", "--build", build, path=path)
    assert run(build / "bin" / "relu") == "8\n"


# Two kernels of one library, of which the second is found by its own function only.
WRAPPED = """#include "kernel_operator.h"
extern "C" {
__global__ __aicore__ void nothing(GM_ADDR) {}
}
int launchNothing() {
  nothing<<<1, nullptr, nullptr>>>(nullptr);
  return 3;
}
"""
# Compiled by the project's own compiler.
HOST = """#include "acl/acl.h"
#include "aclrtlaunch_nothing.h"
#include "aclrtlaunch_scale.h"
#include <cstdio>
int launchNothing();
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, 256, ACL_MEM_MALLOC_HUGE_FIRST);
  ACLRT_LAUNCH_KERNEL(scale)(1, nullptr, x);
  ACLRT_LAUNCH_KERNEL(nothing)(1, nullptr, x);
  float found = 0;
  aclrtMemcpy(&found, 4, x, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%g %d %d\\n", found, launchNothing(), aclrtSynchronizeDevice());
}
"""


@pytest.mark.parametrize("kind", ["STATIC", "SHARED"])
@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
def test_library_of_kernels(tmp_path: Path, installed: Path, compiler: str, kind: str) -> None:
    """The page's other lines: a host of the other compiler, and one with launches of its own."""
    other = "g++-12" if compiler.startswith("clang") else "clang++-22"
    if not shutil.which(compiler) or not shutil.which(other):
        pytest.skip("a compiler is not installed")
    project, build = tmp_path / "project", tmp_path / "build"
    (project / "include").mkdir(parents=True)
    lines = page_lines(2).replace("STATIC kernel.cpp", f"{kind} kernel.cpp wrapped.cpp")
    assert "g++-12" in lines and kind in lines
    lines = lines.replace(
        "(host PRIVATE kernels)", "(host PRIVATE kernels ascendcl nnopbase opapi)"
    )
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(own CXX)\n"
        "find_package(TilewrightAscend REQUIRED)\n" + lines.replace("g++-12", compiler)
    )
    (project / "kernel.cpp").write_text(KERNEL)
    (project / "wrapped.cpp").write_text(WRAPPED)
    (project / "main.cpp").write_text(MAIN)
    (project / "host.cpp").write_text(HOST)
    (project / "include" / "scale.h").write_text("constexpr int added = 4;\n")
    path = path_without_driver()
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    configure = ["cmake", *generator, "-S", project, "-B", build, f"-DCMAKE_CXX_COMPILER={other}"]
    run(*configure, f"-DCMAKE_PREFIX_PATH={installed}", path=path)
    run("cmake", "--build", build, path=path)
    assert run(build / "host") == "7 3 0\n"
    assert run(build / "bin" / "launches") == "7\n"
    if (compiler, kind) != ("g++-12", "STATIC"):
        return
    # Other parameters reach the host's own object through the headers, in the same build.
    (project / "kernel.cpp").write_text(
        KERNEL.replace("GM_ADDR x)", "GM_ADDR x, int more)").replace("+ added", "+ added + more")
    )
    (project / "host.cpp").write_text(HOST.replace("1, nullptr, x", "1, nullptr, x, 10", 1))
    (project / "main.cpp").write_text(
        MAIN.replace("GM_ADDR x)", "GM_ADDR x, int more)").replace("(GM_ADDR)x", "(GM_ADDR)x, 20")
    )
    run("cmake", "--build", build, path=path)
    assert run(build / "host") == "17 3 0\n"
    assert run(build / "bin" / "launches") == "27\n"
    # A host that isn't changed itself is compiled again, and so refused.
    (project / "kernel.cpp").write_text(KERNEL)
    answer = subprocess.run(
        ["cmake", "--build", build, "--target", "host"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PATH": path},
    )
    assert answer.returncode and "host.cpp:11" in answer.stdout


def test_wrong_library_calls(tmp_path: Path, installed: Path) -> None:
    """Each is refused with a sentence."""
    for call, words in (
        ("kernels kernel.cpp", "the second argument is STATIC or SHARED"),
        ("kernels SHARED", "names no source"),
    ):
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(own CXX)\n"
            f"find_package(TilewrightAscend REQUIRED)\ntilewright_ascend_library({call})\n"
        )
        answer = subprocess.run(
            ["cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={installed}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert answer.returncode and words in " ".join(answer.stderr.split())


OPERATOR = """#include "acl/acl.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include <cstdio>
int main() {
  aclInit(nullptr);
  printf("%d\\n", aclnnNsaCompressWithCache(nullptr, 0, nullptr, nullptr) != 0);
}
"""


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
def test_names_of_the_libraries(tmp_path: Path, installed: Path, compiler: str) -> None:
    """As command lines of host programs have them."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "main.cpp").write_text(OPERATOR)
    driver, program = installed / "bin" / "tilewright-ascendc", tmp_path / "main"
    names = ["-lascendcl", "-lnnopbase", "-lopapi"]
    run(driver, "build", tmp_path / "main.cpp", "-o", program, *names, "--cxx", compiler)
    assert run(program).endswith("1\n")


@pytest.mark.parametrize("names", ["ascendcl nnopbase opapi", "opapi"])
def test_targets_of_the_libraries(tmp_path: Path, installed: Path, names: str) -> None:
    """The page's lines for a program without kernels: they bring headers and libraries."""
    lines = page_lines(3)
    assert "PRIVATE ascendcl nnopbase opapi)" in lines
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(own CXX)\n"
        + lines.replace("ascendcl nnopbase opapi", names)
    )
    (tmp_path / "operator.cpp").write_text(OPERATOR)
    build, path = tmp_path / "build", path_without_driver()
    run("cmake", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={installed}", path=path)
    run("cmake", "--build", build, path=path)
    assert run(build / "operator").endswith("1\n")
