# SPDX-License-Identifier: Apache-2.0
"""What host code can do wrong around a kernel: each has a place, ends nothing and hangs nowhere."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from built_driver import DRIVER, needs_driver

pytestmark = needs_driver

MISTAKES = """#include "acl/acl.h"
#include "kernel_operator.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
using namespace AscendC;
extern "C" __global__ __aicore__ void fill(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> g;
  g.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, 8);
  Duplicate(t, 3.0f, 8);
  PipeBarrier<PIPE_ALL>();
  DataCopy(g, t, 8);
}
__global__ __aicore__ void meets() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  SyncAll(); // of vector cores
}
__global__ __aicore__ void cubesMeet() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  SyncAll<false>(); // of cube cores
}
__global__ __aicore__ void meetsWithoutAKind() {
  SyncAll();
}
__global__ __aicore__ void callsTheRuntime() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  aclrtSynchronizeDevice(); // in a kernel
}
int main(int, char** argv) {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream, gone;
  aclrtCreateStream(&stream);
  aclrtCreateStream(&gone);
  aclrtDestroyStream(gone);
  void *x, *large;
  aclrtMalloc(&x, 100, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(&large, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
  GM_ADDR gm = (GM_ADDR)x;
  float host[8] = {};
  switch (atoi(argv[1])) {
  case 1: fill<<<1, nullptr, gone>>>(gm); break; // to a stream that is gone
  case 2: fill(gm); break;
  case 3: host[0] = *(volatile float*)x; break; // reads x
  case 4: memcpy((char*)large + 8, host, 16); break; // writes large
  case 5: Duplicate(LocalTensor<float>(TPosition::VECCALC, 0, 8), 1.0f, 8); break; // on the host
  case 6: host[0] = GetBlockIdx(); break; // asks on the host
  case 7: meets<<<2, nullptr, stream>>>(); break;
  case 8: cubesMeet<<<2, nullptr, stream>>>(); break;
  case 9: meetsWithoutAKind<<<2, nullptr, stream>>>(); break;
  case 10: callsTheRuntime<<<2, nullptr, stream>>>(); break;
  case 11: ICPU_RUN_KF(fill, 0, gm); break; // no blocks
  }
  fill<<<1, nullptr, stream>>>(gm);
  int failure = aclrtSynchronizeStream(stream);
  aclrtMemcpy(host, 32, x, 32, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%d, %g\\n", failure, host[7]);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All mistakes, one for each argument."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "mistakes.cpp").write_text(MISTAKES)
    command = [DRIVER, "build", folder / "mistakes.cpp", "-o", folder / "mistakes"]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert built.returncode == 0, built.stderr
    return folder / "mistakes"


@pytest.mark.parametrize(
    ("number", "line", "sentence", "output"),
    [
        (1, "that is gone", "kernel<<<>>>: stream is a stream that was destroyed", "0, 3"),
        (2, "void fill(", "kernel 'fill' was called as a plain function, so nothing", "0, 3"),
        (3, "reads x", "host code touches byte 0 of the 100 bytes that aclrtMalloc gave", "0, 3"),
        (4, "writes large", "host code touches byte 8 of the 1048576 bytes that aclrt", "0, 3"),
        (5, "on the host", "an Ascend C function was called outside of kernels; call it", ""),
        (6, "asks on the host", "an Ascend C function was called outside of kernels; ", ""),
        (7, "of vector cores", "SyncAll needs a mixed kernel; add KERNEL_TASK_", "507035, 0"),
        (8, "of cube cores", "SyncAll needs a mixed kernel; add KERNEL_TASK_TYPE", "507015, 0"),
        (10, "in a kernel", "the kernel called aclrtSynchronizeDevice(), which is ", "507035, 0"),
        (11, "no blocks", "the launch has 0 blocks, but a launch has 1 to 65535", "0, 3"),
    ],
)
def test_each_is_told(program: Path, number: int, line: str, sentence: str, output: str) -> None:
    """At its line, and the program goes on where it can."""
    answer = subprocess.run(
        [program, str(number)], capture_output=True, text=True, check=False, timeout=20
    )
    at = next(i for i, text in enumerate(MISTAKES.splitlines(), 1) if line in text)
    assert f"mistakes.cpp:{at}: error: {sentence}" in answer.stderr
    assert answer.stdout.strip() == output, answer.stderr
    assert answer.returncode == 66


@pytest.mark.parametrize("number", [0, 9])
def test_nothing_wrong(program: Path, number: int) -> None:
    """Without a mistake; with cores that meet in a kernel whose kind the driver finds."""
    answer = subprocess.run(
        [program, str(number)], capture_output=True, text=True, check=False, timeout=20
    )
    assert (answer.stdout, answer.stderr, answer.returncode) == ("0, 3\n", "", 0)


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
def test_each_error_of_the_compiler_once(tmp_path: Path, compiler: str) -> None:
    """Though a source is compiled for the host and for each kind of core."""
    source = tmp_path / "wrong.cpp"
    source.write_text("""#include "kernel_operator.h"
inline int shared() { return missing; }
__global__ __aicore__ void k() { shared(); absent(); }
int main() { nowhere(); }
""")
    command = [DRIVER, "build", source, "-o", tmp_path / "wrong", "--cxx", compiler]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert built.returncode == 1
    errors = [line for line in built.stderr.splitlines() if ": error: " in line]
    for name in ("missing", "nowhere", "absent"):
        assert sum(name in line for line in errors) == 1, built.stderr
    assert len(errors) == 3


TWO_DEVICES = """#include "acl/acl.h"
#include "kernel_operator.h"
#include <cstdio>
using namespace AscendC;
extern "C" __global__ __aicore__ void copy(GM_ADDR to, GM_ADDR from) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> x, y;
  x.SetGlobalBuffer((__gm__ float*)from);
  y.SetGlobalBuffer((__gm__ float*)to);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  DataCopy(t, x, 64); // reads
  PipeBarrier<PIPE_ALL>();
  DataCopy(y, t, 64); // writes
}
void say(int code) {
  const char* text = aclGetRecentErrMsg();
  printf("%d %s\\n", code, text ? text : "");
}
int main() {
  aclInit(nullptr);
  void* memory[2];
  aclrtStream streams[2];
  for (int device : {0, 1}) {
    aclrtSetDevice(device);
    aclrtMalloc(&memory[device], 256, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemset(memory[device], 256, 0, 256);
    aclrtCreateStream(&streams[device]);
  }
  float host[64];
  auto copies = [&](void* to, void* from) {
    copy<<<1, nullptr, streams[1]>>>((GM_ADDR)to, (GM_ADDR)from);
    int code = aclrtSynchronizeStream(streams[1]);
    aclGetRecentErrMsg();
    printf("%d\\n", code);
  };
  copies(memory[1], memory[1]);
  copies(memory[1], memory[0]);
  copies(memory[0], memory[1]);
  say(aclrtMemcpy(memory[1], 256, memory[0], 256, ACL_MEMCPY_DEVICE_TO_DEVICE));
  say(aclrtMemcpy(host, 256, memory[0], 256, ACL_MEMCPY_DEVICE_TO_HOST));
  say(aclrtMemcpyAsync(memory[0], 256, host, 256, ACL_MEMCPY_HOST_TO_DEVICE, streams[1]));
  say(aclrtMemcpyAsync(memory[1], 256, host, 256, ACL_MEMCPY_HOST_TO_DEVICE, streams[1]));
  say(aclrtMemsetAsync(memory[0], 256, 0, 256, streams[1]));
}
"""


def test_memory_of_another_device(tmp_path: Path) -> None:
    """Kernels and copies that touch it are told of both devices."""
    source, program = tmp_path / "main.cpp", tmp_path / "main"
    source.write_text(TWO_DEVICES)
    subprocess.run([DRIVER, "build", source, "-o", program], check=True, timeout=120)
    environment = {**os.environ, "TILEWRIGHT_ASCEND_DEVICES": "2"}
    answer = subprocess.run(
        [program], capture_output=True, text=True, check=False, timeout=60, env=environment
    )
    assert answer.stdout.splitlines() == [
        "0",
        "507035",
        "507035",
        "100000 aclrtMemcpy: dst is memory of device 1 but src of device 0; "
        "copy it through host memory [100000]",
        "0 ",
        "100000 aclrtMemcpyAsync: dst is memory of device 0 but stream is of device 1 [100000]",
        "0 ",
        "100000 aclrtMemsetAsync: devPtr is memory of device 0 but stream is of device 1 [100000]",
    ]
    lines = TWO_DEVICES.splitlines()
    for verb, code in (("reads", "ErrorRead1"), ("writes", "ErrorWrite1")):
        line = 1 + next(i for i, text in enumerate(lines) if f"// {verb}" in text)
        found = [e for e in answer.stderr.splitlines() if f"main.cpp:{line}: error:" in e]
        assert len(found) == 1, answer.stderr
        assert f"DataCopy {verb} GM at 0x" in found[0]
        assert (
            f", which is memory of device 0, but the kernel runs on device 1 [{code}]" in found[0]
        )
    assert (
        "note: launch it on a stream of that device, or call aclrtMalloc while device 1 is set"
        in answer.stderr
    )


def test_kernel_that_is_nowhere(tmp_path: Path) -> None:
    """The linker names the line of the launch; with g++ it knows only the function."""
    if not shutil.which("clang++-22"):
        pytest.skip("clang++-22 is not installed")
    source = tmp_path / "main.cpp"
    source.write_text(
        '#include "kernel_operator.h"\n'
        '#include "acl/acl.h"\n'
        "__global__ __aicore__ void nowhere(GM_ADDR x);\n"
        "int main() {\n"
        "  nowhere<<<1, nullptr, nullptr>>>(nullptr);\n"
        "}\n"
    )
    built = subprocess.run(
        [DRIVER, "build", "main.cpp", "-o", "main", "--cxx", "clang++-22"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
    )
    assert built.returncode == 1
    assert "undefined symbol: nowhere(unsigned char*)" in built.stderr
    assert "main.cpp:5" in built.stderr, built.stderr
    assert "launch.h" not in built.stderr
