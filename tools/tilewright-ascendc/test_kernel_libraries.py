# SPDX-License-Identifier: Apache-2.0
"""Users' own libraries of kernel code. Needs a build of the simulator."""

import subprocess
from pathlib import Path

import pytest
from built_driver import COMPILERS, DRIVER, ROOT, needs_driver, run

pytestmark = needs_driver


MACROS = """
#pragma once
#define __aicore__ [aicore]
#define LIB_DEVICE __forceinline__ __aicore__
#define LIB_OLD_DEVICE __forceinline__[aicore]
#define LIB_HOST_DEVICE __forceinline__[host, aicore]
#define LIB_NEW_HOST_DEVICE __forceinline__ __host_aicore__
#define LIB_GLOBAL __global__ [aicore]
#define LIB_HOST __host__
"""

LIBRARY = """
#pragma once
#include "macros.hpp"
#include "kernel_operator.h"
struct Coord {
  int at[3];
  LIB_HOST_DEVICE constexpr Coord(int x) : at{x, 2 * x, 3 * x} {}
  LIB_NEW_HOST_DEVICE int sum() const { return at[0] + at[1] + at[2]; }
  LIB_HOST static int onHost() { return 7; }
  [aicore] ~Coord() = default;
};
constexpr LIB_DEVICE int twice(int x) { return 2 * x; }
inline [aicore] int thrice(int x) { return 3 * x; }
template <class T> struct Store {
  LIB_OLD_DEVICE Store() {}
  LIB_DEVICE void operator()(GM_ADDR x, Coord const& c) {
    AscendC::GlobalTensor<T> out;
    out.SetGlobalBuffer((__gm__ T*)x);
    int host = 1, aicore = 2, table[3] = {4, 5, 6};
    auto sum = [host, aicore](int y) { return host + aicore + y; };
    out.SetValue(0, T(c.sum() + twice(table[host]) + thrice(table[aicore]) + sum(100)));
  }
};
template <class Op> LIB_GLOBAL void adapter(Op op, GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  op(x, Coord(2));
}
"""

PROGRAM = """
#include "acl/acl.h"
#include "library.hpp"
#include <cstdio>
int hostOnly();
extern "C" [aicore] __global__ void direct(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Store<float>()(x + 64, Coord(1));
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream = nullptr;
  aclrtCreateStream(&stream);
  void* memory = nullptr;
  aclrtMalloc(&memory, 128, ACL_MEM_MALLOC_HUGE_FIRST);
  auto* x = static_cast<uint8_t*>(memory);
  adapter<Store<float>><<<1, nullptr, stream>>>(Store<float>(), x);
  direct<<<1, nullptr, stream>>>(x);
  int status = aclrtSynchronizeStream(stream);
  float out[32];
  aclrtMemcpy(out, sizeof out, x, sizeof out, ACL_MEMCPY_DEVICE_TO_HOST);
  std::printf("%d %g %g ", status, out[0], out[16]);
  std::printf("%d %d %d\\n", Coord(1).sum(), Coord::onHost(), hostOnly());
}
"""

# Without a kernel: the driver hands such a source on as it is.
HOST_ONLY = """
#define __forceinline__ inline
#define __host_aicore__ [host, aicore]
#include "plain.hpp"
int hostOnly() { return number(); }
"""
PLAIN = """
__forceinline__ [host, aicore] int number() { return 9; }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_spellings_of_the_chips_compiler(tmp_path: Path, compiler: str) -> None:
    """Macros in a header of a header, direct ones, and what only looks like one."""
    include = tmp_path / "include"
    include.mkdir()
    (include / "macros.hpp").write_text(MACROS)
    (include / "library.hpp").write_text(LIBRARY)
    (include / "plain.hpp").write_text(PLAIN)
    (tmp_path / "main.cpp").write_text(PROGRAM)
    (tmp_path / "host.cpp").write_text(HOST_ONLY)
    sources = [tmp_path / "main.cpp", tmp_path / "host.cpp"]
    warnings = ["-Wall", "-Wextra", "-Werror"]
    program = tmp_path / "program"
    command = [DRIVER, "build", *sources, "-o", program, "--cxx", compiler, f"-I{include}"]
    built = subprocess.run(
        [*map(str, command), *warnings], capture_output=True, text=True, check=False, timeout=120
    )
    assert built.returncode == 0, built.stderr
    answer = subprocess.run(
        [str(program)], capture_output=True, text=True, check=False, timeout=120
    )
    # 12 + 10 + 18 + 103, and with 6 for 12
    assert answer.stdout == "0 143 137 6 7 9\n", answer.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_headers_are_free_of_warnings(tmp_path: Path, compiler: str) -> None:
    """Also for who includes the host's own headers without the driver, and not as the system's."""
    simulator = ROOT / "simulator"
    names = [str(h.relative_to(simulator / "include")) for h in simulator.rglob("include/**/*.h")]
    names += ["kernel_operator.h", "lib/matmul_intf.h"]
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "{name}"\n' for name in sorted(names)))
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    if compiler.startswith("clang"):
        warnings.append("-Wshadow")  # that of g++ also refuses parameters named like members
    folders = [f"-I{simulator / folder}" for folder in ("ascendc", "include")]
    for kind in ("-D__DAV_VEC__=1", "-D__DAV_CUBE__=1", "-DHOST"):
        command = [compiler, "-std=c++17", "-fsyntax-only", *warnings, *folders, kind, str(source)]
        made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert made.returncode == 0, made.stderr


OWN_OR_BUILT_IN = """
#include "kernel_operator.h"
#include "acl/acl.h"
#include <algorithm>
#include <cstdio>
OWN
template <class T> __aicore__ inline T clamped(T x) { return max(T(1), min(x, T(5))); }
extern "C" __global__ __aicore__ void k(GM_ADDR x, int32_t n, uint32_t m) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  AscendC::GlobalTensor<int32_t> out;
  out.SetGlobalBuffer((__gm__ int32_t*)x);
  out.SetValue(0, min(n, 3) * 1000 + max(n, 3) * 100 + clamped(9) * 10 + MIXED);
  AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE,
                                    AscendC::DcciDst::CACHELINE_OUT>(out);
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* x;
  aclrtMalloc(&x, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  k<<<1, nullptr, nullptr>>>((GM_ADDR)x, 7, 2);
  int32_t found = 0;
  aclrtMemcpy(&found, 4, x, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%d\\n", found);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_minimum_and_maximum_of_scalars(tmp_path: Path, compiler: str) -> None:
    """Built into the chip's compiler; beside those of the library, and a kernel's own."""
    source, program = tmp_path / "minima.cpp", tmp_path / "minima"
    own = "template <class A, class B> inline A NAME(A a, B b) { return a SIGN b ? a : b; }"
    both = own.replace("NAME", "min").replace("SIGN", "<") + own.replace("NAME", "max").replace(
        "SIGN", ">"
    )
    same = "template <class T> __aicore__ inline T min(T a, T b) { return a < b ? a : b; }"
    for words, mixed in (
        ("", "min(n, m)"),
        ("using namespace std;", "min(n, m)"),
        ("using namespace AscendC; using std::min; using std::max;", "min(n, 2)"),
        (both, "min(n, int(m))"),
        (same, "min(n, m)"),
    ):
        source.write_text(OWN_OR_BUILT_IN.replace("OWN", words).replace("MIXED", mixed))
        flags = ["-Wall", "-Wextra", "-Werror"]
        built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler, *flags)
        assert (built.returncode, built.stderr) == (0, ""), words
        assert run(program).stdout == "3752\n"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("precompiled", [True, False])
def test_warnings_are_about_the_users_code(
    tmp_path: Path, compiler: str, precompiled: bool
) -> None:
    """Of all that a compiler can say, errors: none in the headers, but in the source they are."""
    source = tmp_path / "warned.cpp"
    text = (ROOT / "examples" / "ascend" / "relu_custom.cpp").read_text()
    flags = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "--cxx", compiler]
    flags += [] if precompiled else ["--no-pch"]
    flags += ["-Wconversion", "-Wno-sign-conversion"] if compiler.startswith("clang") else []
    source.write_text('#include "lib/matmul_intf.h"\n#include "tiling/tiling_api.h"\n' + text)
    built = run(DRIVER, "build", source, "-o", tmp_path / "warned", *flags)
    assert (built.returncode, built.stderr) == (0, "")
    source.write_text(text + "\nint shadows(int x) { { int x = 2; return x; } }\n")
    built = run(DRIVER, "build", source, "-o", tmp_path / "warned", *flags)
    assert built.returncode == 1 and "-Werror" in built.stderr and "shadow" in built.stderr
