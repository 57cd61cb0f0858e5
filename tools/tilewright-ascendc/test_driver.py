# SPDX-License-Identifier: Apache-2.0
"""The driver tilewright-ascendc, from the command line. Needs a build of the simulator."""

import textwrap
from pathlib import Path

import pytest
from built_driver import COMPILERS, DRIVER, ROOT, needs_driver, run

EXAMPLE = ROOT / "examples" / "ascend" / "relu_custom.cpp"

pytestmark = needs_driver


@pytest.mark.parametrize("compiler", COMPILERS)
def test_example(tmp_path: Path, compiler: str) -> None:
    """The page's example is right with both compilers."""
    program = tmp_path / "relu"
    built = run(DRIVER, "build", EXAMPLE, "-o", program, "--cxx", compiler)
    assert built.returncode == 0, built.stderr
    answer = run(program)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "0 of 32768 values are wrong, the stream says 0\n"


def test_missing_barrier(tmp_path: Path) -> None:
    """The page's report, with both lines of the kernel."""
    program = tmp_path / "relu"
    source = EXAMPLE.relative_to(ROOT)  # as on the page
    built = run(DRIVER, "build", source, "-o", program, "-DFORGET_BARRIER", cwd=ROOT)
    assert built.returncode == 0, built.stderr
    answer = run(program, cwd=ROOT)
    assert answer.returncode == 66
    page = (ROOT / "docs" / "ascend-host.md").read_text()
    report = page.split("## Read a race report")[1].split("```\n\n")[1].split("\n\n")[0]
    assert answer.stderr.splitlines() == textwrap.dedent(report).splitlines()
    relaxed = run(DRIVER, "build", EXAMPLE, "-o", program, "-DFORGET_BARRIER", "--relaxed")
    assert relaxed.returncode == 0
    assert run(program).returncode == 0


@pytest.mark.parametrize("compiler", COMPILERS)
def test_forms_of_kernels(tmp_path: Path, compiler: str) -> None:
    """Template code of C++17, kernels, their heads and launches in macros, kernels in variables."""
    program = tmp_path / "forms"
    source = Path(__file__).with_name("kernel_forms.cpp")
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert built.returncode == 0, built.stderr
    answer = run(program)
    # 1 + 10 + 10 + (100 + 'd' + 200) + 1 + 1000 + 1 + 1 + 2 + 1,
    # of template arguments 4 + 1 + 3 + 1 + 4 + 1 + 0 + 1 + 1, of macros' heads 1 + 85 + 10000;
    # one for cubes
    assert (answer.returncode, answer.stdout) == (0, "0 11529 1\n"), answer.stderr


HOST = """
#include "acl/acl.h"
#include <cstdio>
template <class T> T kind() { return T(3); }
inline int counter = 30;
void start(void* y, void* stream);
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  void* y;
  int32_t values[32] = {};
  aclrtMalloc(&y, 128, ACL_MEM_MALLOC_HUGE_FIRST);
  start(y, stream);
  int error = aclrtSynchronizeStream(stream);
  aclrtMemcpy(values, 128, y, 128, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%d %d %d %d\\n", error, values[0], values[16], kind<int>() + counter);
}
"""
KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
template <class T> T kind() { return g_coreType == AIC ? T(1) : T(2); }
inline int counter = g_coreType == AIC ? 10 : 20;
__global__ __aicore__ void kinds(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  GlobalTensor<int32_t> out;
  out.SetGlobalBuffer((__gm__ int32_t*)y);
  out.SetValue(g_coreType == AIC ? 0 : 16, kind<int32_t>() + counter);
}
void start(void* y, void* stream) { kinds<<<1, nullptr, stream>>>((uint8_t*)y); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kernel_first", [False, True])
def test_passes_share_nothing(tmp_path: Path, compiler: str, kernel_first: bool) -> None:
    """A template and an inline variable that differ per core, linked both ways."""
    (tmp_path / "host.cpp").write_text(HOST.replace("kind", "hostKind").replace("counter", "n"))
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    sources = [tmp_path / "host.cpp", tmp_path / "kernel.cpp"]
    if kernel_first:
        sources.reverse()
    program = tmp_path / "program"
    built = run(DRIVER, "build", *sources, "-o", program, "--cxx", compiler)
    assert built.returncode == 0, built.stderr
    assert run(program).stdout == "0 11 22 33\n"


def test_wrong_runtime_options(tmp_path: Path) -> None:
    """Each is named, once, and the default holds."""
    program = tmp_path / "relu"
    assert run(DRIVER, "build", EXAMPLE, "-o", program).returncode == 0
    for options, warning in (
        ("fast", "has an unknown option 'fast'"),
        ("threads=x", "has threads='x', which is no number that it takes"),
        ("time-limit=-1", "has time-limit='-1', which is no number that it takes"),
        ("seed", "has seed='', which is no number that it takes"),
        ("mute=1k", "has mute='1k', which is no number that it takes"),
        ("chip=910Z", "has the unknown chip '910Z'; the chip is 910B2"),
    ):
        answer = run("env", f"TILEWRIGHT_ASCEND={options}", program)
        assert answer.returncode == 0
        assert answer.stderr == f"warning: TILEWRIGHT_ASCEND {warning}\n"
    assert run("env", "TILEWRIGHT_ASCEND=threads=2,chip=A3", program).stderr == ""


def test_synchronisations_are_listed_and_switched_off(tmp_path: Path) -> None:
    """By number, by text, and with a warning where there is none of that name."""
    program = tmp_path / "relu"
    assert run(DRIVER, "build", EXAMPLE, "-o", program).returncode == 0
    listed = run("env", "TILEWRIGHT_ASCEND=list-syncs", program)
    assert listed.returncode == 0
    lines = listed.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"synchronisation {number}" for number in range(len(lines))
    ]
    barrier = next(i for i, line in enumerate(lines) if "PipeBarrier PIPE_V" in line)
    text = lines[barrier].split(": ", 1)[1]
    for choice in (f"mute={barrier}", f"mute={text}", f"seed=5,mute={text}"):
        muted = run("env", f"TILEWRIGHT_ASCEND={choice}", program)
        assert muted.returncode == 66
        assert "add PipeBarrier<PIPE_V>() between them" in muted.stderr
    absent = run("env", "TILEWRIGHT_ASCEND=mute=999", program)
    assert absent.returncode == 0
    assert absent.stderr == (
        f"warning: mute=999 names no synchronisation of this launch, which has {len(lines)}; "
        "list-syncs prints them\n"
    )


FAILING_KERNEL = """
#include "acl/acl.h"
#include "kernel_operator.h"
#include <cstdio>
using namespace AscendC;
__global__ __aicore__ void stuck(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  WaitFlag<HardEvent::MTE2_V>(1);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  PipeBarrier<PIPE_MTE3>();
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  stuck<<<1, nullptr, stream>>>(nullptr);
  aclrtSynchronizeStream(stream);
  printf("%s", aclGetRecentErrMsg());
}
"""


def test_deadlock_says_what_stands_behind_what(tmp_path: Path) -> None:
    """A flag that is set behind another wait is told from one that nothing sets."""
    source = tmp_path / "stuck.cpp"
    source.write_text(FAILING_KERNEL)
    program = tmp_path / "stuck"
    assert run(DRIVER, "build", source, "-o", program).returncode == 0
    answer = run(program)
    assert answer.returncode == 66
    assert "HardEvent::MTE2_V, event id 1; nothing sets it" in answer.stderr
    assert (
        "HardEvent::V_MTE3, event id 0; its SetFlag at line 9 is behind what PIPE_V stands at"
        in answer.stderr
    )
    assert "kernel 'stuck(unsigned char*)' failed" in answer.stdout


@pytest.mark.parametrize(
    ("init", "bytes_asked"),
    [
        ("TBuf<> b; pipe.InitBuffer(b, 0xffffffffu);", 1 << 32),
        ("TQue<TPosition::VECIN, 2> q; pipe.InitBuffer(q, 16, 0x10000000u);", 1 << 32),
    ],
)
def test_huge_buffers_do_not_wrap(tmp_path: Path, init: str, bytes_asked: int) -> None:
    """A size of 32 bits and more is refused where InitBuffer has it."""
    source = tmp_path / "stuck.cpp"
    body = FAILING_KERNEL.index("  WaitFlag<HardEvent::MTE2_V>")
    end = FAILING_KERNEL.index("}\nint main")
    source.write_text(FAILING_KERNEL[:body] + f"TPipe pipe; {init}\n" + FAILING_KERNEL[end:])
    program = tmp_path / "huge"
    assert run(DRIVER, "build", source, "-o", program).returncode == 0
    expected = f"stuck.cpp:8: error: InitBuffer needs {bytes_asked} bytes of UB at byte 0, but UB"
    assert expected in run(program).stderr


@pytest.mark.parametrize(
    ("body", "error", "place"),
    [
        # What a library has taken lies in the heap of the program.
        (
            'char* p = strdup("a text of some length"); free(p);\nfree(p);',
            "error: the kernel damaged the program's memory (something freed twice, or ",
            "stuck.cpp:10\n",
        ),
        # Around the mask is the core.
        (
            "memset((void*)&tilewright::ascend::maskState(), 0xFF, 4000);\nPipeBarrier<PIPE_V>();",
            "error: the machine itself failed while a kernel ran: a wild write of the kernel has ",
            "",
        ),
    ],
)
def test_damaged_heap_ends_the_program(tmp_path: Path, body: str, error: str, place: str) -> None:
    """Where the C library may hold a lock for ever, nothing goes on; the report has a place."""
    source = tmp_path / "stuck.cpp"
    start = FAILING_KERNEL.index("  WaitFlag<HardEvent::MTE2_V>")
    end = FAILING_KERNEL.index("}\nint main")
    source.write_text(
        "#include <cstring>\n" + FAILING_KERNEL[:start] + body + "\n" + FAILING_KERNEL[end:]
    )
    program = tmp_path / "heap"
    assert run(DRIVER, "build", source, "-o", program, "-fno-builtin").returncode == 0
    answer = run(program)
    assert answer.returncode == 66, answer.stderr
    assert error in answer.stderr
    assert place in answer.stderr


def test_gm_without_a_runtime(tmp_path: Path) -> None:
    """GmAlloc and GmFree with sizes and pointers that are wrong."""
    source = tmp_path / "gm.cpp"
    source.write_text("""#include "tikicpulib.h"
int main() {
  void* p = AscendC::GmAlloc(100);
  AscendC::GmFree(p);
  AscendC::GmFree(p);
  AscendC::GmFree(nullptr);
  return AscendC::GmAlloc(~size_t{0}) != nullptr || AscendC::GmAlloc(~size_t{0} / 2) != nullptr;
}
""")
    program = tmp_path / "gm"
    assert run(DRIVER, "build", source, "-o", program).returncode == 0
    answer = run(program)
    assert answer.returncode == 0
    assert answer.stderr.count(", which GmAlloc did not give or which is free") == 1


@pytest.mark.parametrize("compiler", COMPILERS)
def test_library_functions_of_the_host(tmp_path: Path, compiler: str) -> None:
    """What the standard library deprecates but uses gives no warning; the user's own does."""
    source = tmp_path / "sorts.cpp"
    source.write_text("""#include "kernel_operator.h"
#include <algorithm>
#include <vector>
[[deprecated]] inline int old() { return 0; }
__global__ __aicore__ void nothing() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); }
int main() {
  std::vector<int> v = {2, 1};
  std::stable_sort(v.begin(), v.end());
  return v[0] - 1 + old();
}
""")
    program = tmp_path / "sorts"
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert "temporary_buffer" not in built.stderr
    assert "old" in built.stderr
    assert run(program).returncode == 0


def test_matmul_types_that_the_host_has_not(tmp_path: Path) -> None:
    """Each is refused when it is compiled."""
    source = tmp_path / "types.cpp"
    source.write_text("""#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
using namespace matmul;
template <class T, TPosition p = TPosition::GM, CubeFormat f = CubeFormat::ND,
          LayoutMode layout = LayoutMode::NONE>
using M = MatmulType<p, f, T, false, layout>;
using Batches = M<half, TPosition::GM, CubeFormat::ND, LayoutMode::BSNGD>;
template class Matmul<Batches, M<half>, M<float>>;
template class Matmul<M<half, TPosition::A1>, M<half>, M<float>>;
template class Matmul<M<half>, M<half>, M<float, TPosition::CO1>>;
template class Matmul<M<half>, M<float>, M<float>>;
__global__ __aicore__ void nothing() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY); }
int main() {}
""")
    built = run(DRIVER, "build", source, "-o", tmp_path / "types")
    assert built.returncode != 0
    for text in (
        "unsupported: the host's Matmul takes A and B from GM, UB or L1 (A1, B1, TSCM), in rows "
        "(ND) or fractals (NZ), without batches",
        "matrices of a Matmul in L1 are fractals; say CubeFormat::NZ",
        "unsupported: the host's Matmul gives C to GM or UB, in rows (ND) or fractals (NZ), "
        "without batches",
        "unsupported: the host's Matmul multiplies two matrices of half, bfloat16_t, float or "
        "int8_t",
    ):
        assert text in built.stderr, built.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_header_of_a_kernel_that_is_launched(tmp_path: Path, compiler: str) -> None:
    """As older builds have it: host and kernel apart, a header for each kernel between them."""
    (tmp_path / "kernel.cpp").write_text("""#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void put(GM_ADDR y, float value, int64_t at /* of y */) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> out;
  out.SetGlobalBuffer((__gm__ float*)y);
  out.SetValue(at, value);
  DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(out[at]);
}
__global__ __mix__(1, 2) void more(GM_ADDR) {}
""")
    (tmp_path / "main.cpp").write_text("""#include "acl/acl.h"
#include "aclrtlaunch_more.h"
#include "aclrtlaunch_put.h"
#include <cstdint>
int main() {
  void* y = nullptr;
  float values[2] = {};
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtMalloc(&y, 128, ACL_MEM_MALLOC_HUGE_FIRST);
  ACLRT_LAUNCH_KERNEL(put)(1, nullptr, y, 2, 0); // an int for a float
  aclrtlaunch_put(1, nullptr, (uint8_t*)y, 3, 16);
  ACLRT_LAUNCH_KERNEL(more)(1, nullptr, (uint8_t*)y);
  aclrtSynchronizeDevice();
  aclrtMemcpy(&values[0], 4, y, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtMemcpy(&values[1], 4, (char*)y + 64, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  int later(void* y, float* value);
  return values[0] != 2 || values[1] != 3 || later(y, values) || values[0] != 4;
}
""")
    # Whoever declares the wrapper himself has no header.
    (tmp_path / "later.cpp").write_text("""#include "acl/acl.h"
extern "C" uint32_t aclrtlaunch_put(uint32_t, aclrtStream, void*, float, int64_t);
int later(void* y, float* value) {
  uint32_t error = aclrtlaunch_put(1, nullptr, y, 4, 0);
  aclrtSynchronizeDevice();
  aclrtMemcpy(value, 4, y, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  return error;
}
""")
    program = tmp_path / "put"
    sources = [tmp_path / f"{name}.cpp" for name in ("main", "kernel", "later")]
    built = run(DRIVER, "build", *sources, "-o", program, "--cxx", compiler)
    assert built.returncode == 0, built.stderr
    answer = run(program)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_place_of_a_fault(tmp_path: Path, compiler: str) -> None:
    """In the user's file and line, also where the compiler makes several files of it."""
    source = tmp_path / "stuck.cpp"
    start = FAILING_KERNEL.index("  WaitFlag<HardEvent::MTE2_V>")
    end = FAILING_KERNEL.index("}\nint main")
    body = "volatile int zero = 0;\nvolatile int x = 7 / zero;\n"
    source.write_text(FAILING_KERNEL[:start] + body + FAILING_KERNEL[end:])
    program = tmp_path / "divides"
    assert run(DRIVER, "build", source, "-o", program, "--cxx", compiler).returncode == 0
    expected = f"{source}:9: error: the kernel divided an integer by zero"
    assert expected in run(program).stderr


def test_compile_then_link(tmp_path: Path) -> None:
    """Objects of `compile` link like any other."""
    (tmp_path / "host.cpp").write_text(HOST.replace("kind", "hostKind").replace("counter", "n"))
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    compiled = run(DRIVER, "compile", tmp_path / "kernel.cpp", "-o", tmp_path / "kernel.o")
    assert compiled.returncode == 0, compiled.stderr
    program = tmp_path / "program"
    built = run(DRIVER, "build", tmp_path / "host.cpp", tmp_path / "kernel.o", "-o", program)
    assert built.returncode == 0, built.stderr
    assert run(program).stdout == "0 11 22 33\n"
    for part in ("host", "kernel"):
        source, made = tmp_path / f"{part}.cpp", tmp_path / f"{part}.o"
        compiled = run(DRIVER, "compile", source, "-o", made, "--time-only")
        assert compiled.returncode == 0, compiled.stderr
    built = run(DRIVER, "build", tmp_path / "host.o", tmp_path / "kernel.o", "-o", program)
    assert built.returncode == 0, built.stderr
    assert "modelled time on " in run(program).stderr


HEADER_KERNEL = """
#pragma once
#include "kernel_operator.h"
#include "deep/numbers.h"
template <class T> __global__ __aicore__ void fill(__gm__ uint8_t* y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  AscendC::GlobalTensor<T> out;
  out.SetGlobalBuffer((__gm__ T*)y);
  out.SetValue(0, theNumber());
  out.SetValue(16, g_coreType == AscendC::AIV ? T(2) : T(1));
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_kernel_and_launch_in_headers(tmp_path: Path, compiler: str) -> None:
    """A kernel in one header, its launch in another, found beside the includer and by -I."""
    (tmp_path / "inc" / "deep").mkdir(parents=True)
    (tmp_path / "inc" / "fill.h").write_text(HEADER_KERNEL)
    (tmp_path / "inc" / "deep" / "numbers.h").write_text(
        '#pragma once\n#include "more.h"\ninline int theNumber() { return number; }\n'
    )
    (tmp_path / "inc" / "deep" / "more.h").write_text("#pragma once\nconstexpr int number = 7;\n")
    (tmp_path / "start.h").write_text(
        "#pragma once\n#include <fill.h>\n#include <vector>\n"
        "inline void start(void* y, void* stream) {\n"
        "  fill<int32_t><<<1, nullptr, stream>>>((uint8_t*)y);\n}\n"
    )
    source = tmp_path / "main.cpp"
    source.write_text(HOST.replace("void start(void* y, void* stream);", '#include "start.h"'))
    program = tmp_path / "program"
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler, f"-I{tmp_path / 'inc'}")
    assert built.returncode == 0, built.stderr
    assert run(program).stdout == "0 7 2 33\n"


LOCAL = """
#include "kernel_operator.h"
#include "acl/acl.h"
#include <cstdio>
using namespace AscendC;
namespace {
struct Plan { int32_t count; float value; };
__aicore__ inline void addTo(GM_ADDR x, float value, int32_t count) {
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  DataCopy(t, gm, count);
  PipeBarrier<PIPE_ALL>();
  Adds(t, t, value, count);
  PipeBarrier<PIPE_ALL>();
  DataCopy(gm, t, count);
}
}
__global__ __aicore__ void takes_plan(GM_ADDR x, Plan plan) { addTo(x, plan.value, plan.count); }
namespace {
__global__ __aicore__ void unnamed(GM_ADDR x) { addTo(x, TENS, 64); }
template <class P> __global__ __aicore__ void generic(GM_ADDR x, P p) { addTo(x, p.value, 64); }
}
float FUNCTION() {
  struct Local { float value; };
  float values[64] = {};
  void* x;
  aclrtMalloc(&x, 256, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(x, 256, values, 256, ACL_MEMCPY_HOST_TO_DEVICE);
  takes_plan<<<1, nullptr, nullptr>>>((GM_ADDR)x, Plan{64, 1});
  unnamed<<<1, nullptr, nullptr>>>((GM_ADDR)x);
  generic<Local><<<1, nullptr, nullptr>>>((GM_ADDR)x, Local{100});
  if (aclrtSynchronizeStream(nullptr))
    puts(aclGetRecentErrMsg());
  aclrtMemcpy(values, 256, x, 256, ACL_MEMCPY_DEVICE_TO_HOST);
  return values[63];
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_kernels_in_unnamed_namespaces(tmp_path: Path, compiler: str) -> None:
    """Kernels whose names are local to an object; two sources have some of the same name."""
    for name, tens in (("first", "20.0f"), ("second", "30.0f")):
        text = LOCAL.replace("FUNCTION", name).replace("TENS", tens)
        # Of the kernels with a name that others see, each source has its own.
        (tmp_path / f"{name}.cpp").write_text(text.replace("takes_plan", f"takes_plan_{name}"))
    (tmp_path / "main.cpp").write_text(
        '#include "acl/acl.h"\n#include <cstdio>\nfloat first();\nfloat second();\n'
        "int main() {\n  aclInit(nullptr);\n  aclrtSetDevice(0);\n"
        '  printf("%g %g\\n", first(), second());\n}\n'
    )
    program = tmp_path / "program"
    sources = [tmp_path / f"{name}.cpp" for name in ("main", "first", "second")]
    built = run(DRIVER, "build", *sources, "-o", program, "--cxx", compiler)
    assert built.returncode == 0, built.stderr
    answer = run(program)
    assert (answer.returncode, answer.stdout) == (0, "121 131\n"), answer.stderr


KINDS = """
#include "kernel_operator.h"
#include "acl/acl.h"
#include <cstdio>
using namespace AscendC;
__aicore__ inline void count(GM_ADDR y) {
  GlobalTensor<int32_t> out;
  out.SetGlobalBuffer((__gm__ int32_t*)y);
  out.SetValue(16 * (GetBlockIdx() + (g_coreType == AIC ? 0 : 8)), 1);
}
#define OF_KIND(name, kind) \\
  extern "C" __global__ __aicore__ void name(GM_ADDR y) { \\
    KERNEL_TASK_TYPE_DEFAULT(kind); count(y); }
#define CUBE(name) __global__ __cube__ void name(GM_ADDR y) { count(y); }
#define MIXED(name) template <int n> __global__ __mix__(1, 2) void name(GM_ADDR y) { count(y); }
OF_KIND(vectors, KERNEL_TYPE_AIV_ONLY)
OF_KIND(both, KERNEL_TYPE_MIX_AIC_1_1)
CUBE(cubes)
MIXED(mixed)
__global__ __aicore__ void keyed(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  if (TILING_KEY_IS(7)) {
    KERNEL_TASK_TYPE(7, KERNEL_TYPE_MIX_AIC_1_2);
  }
#ifdef TWICE
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
#endif
  count(y);
}
void show(int32_t* y) {
  int cubes = 0, vectors = 0;
  for (int i = 0; i < 8; ++i) {
    cubes += y[16 * i];
    vectors += y[16 * (i + 8)];
    y[16 * i] = y[16 * (i + 8)] = 0;
  }
  printf("%d %d\\n", cubes, vectors);
}
int main() {
  auto* y = (int32_t*)AscendC::GmAlloc(1024);
  vectors<<<2, nullptr, nullptr>>>((GM_ADDR)y);
  show(y);
  both<<<2, nullptr, nullptr>>>((GM_ADDR)y);
  show(y);
  cubes<<<2, nullptr, nullptr>>>((GM_ADDR)y);
  show(y);
  mixed<3><<<2, nullptr, nullptr>>>((GM_ADDR)y);
  show(y);
  ICPU_RUN_KF(keyed, 2, (GM_ADDR)y);
  show(y);
  ICPU_SET_TILING_KEY(7);
  ICPU_RUN_KF(keyed, 2, (GM_ADDR)y);
  show(y);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_kernel_has_its_own_kind(tmp_path: Path, compiler: str) -> None:
    """Of a macro's argument, a macro's qualifier, a template in a macro, and of one tiling key."""
    source = tmp_path / "kinds.cpp"
    source.write_text(KINDS)
    program = tmp_path / "kinds"
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert built.returncode == 0, built.stderr
    answer = run(program)
    expected = "0 2\n2 2\n2 0\n2 4\n0 2\n2 4\n"
    assert (answer.returncode, answer.stdout) == (0, expected), answer.stderr


def test_a_kernel_has_one_kind(tmp_path: Path) -> None:
    """Two that contradict each other are an error at the second."""
    source = tmp_path / "kinds.cpp"
    source.write_text(KINDS.replace("#ifdef TWICE", "#ifndef TWICE"))
    twice = run(DRIVER, "build", source, "-o", tmp_path / "kinds")
    line = KINDS[: KINDS.index("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY)")].count("\n") + 1
    assert twice.returncode == 1
    assert twice.stderr == (
        f"{source}:{line}: error: kernel 'keyed' has another kind at line {line - 5}; "
        "KERNEL_TASK_TYPE gives kinds to its tiling keys\n"
    )


LAUNCHED = """
#include "kernel_operator.h"
#include "acl/acl.h"
#include <cstdio>
using namespace AscendC;
enum class Way { up, down };
namespace lib { template <Way way, class T> __global__ __aicore__ void one(GM_ADDR y, T value) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<T> out;
  out.SetGlobalBuffer((__gm__ T*)y);
  out.SetValue(0, way == Way::up ? value + T(OWN) : value - T(OWN));
} }
struct Holder { template <class T> static __global__ __aicore__ void held(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<T> out;
  out.SetGlobalBuffer((__gm__ T*)y);
  out.SetValue(0, out.GetValue(0) * 2);
} };
template <class K, class... A> void go(K kernel, GM_ADDR y, A... a) {
  kernel<<<1, nullptr, nullptr>>>(y, a...);
}
float helper(GM_ADDR y) {
  go(lib::one<Way::down, float>, y, 100.0f);
  go(Holder::held<float>, y);
  return *(float*)y;
}
int main() {
  auto* y = (GM_ADDR)AscendC::GmAlloc(64);
  lib::one<Way::up, int32_t><<<1, nullptr, nullptr>>>(y, 5);
  printf("%d ", *(int32_t*)y);
  printf("%g\\n", helper(y));
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_templates_that_only_the_host_names(tmp_path: Path, compiler: str) -> None:
    """The passes of the cores don't compile the functions in which kernels get their arguments."""
    source, program = tmp_path / "main.cpp", tmp_path / "program"
    source.write_text(LAUNCHED.replace("OWN", "1"))
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert (built.returncode, built.stderr) == (0, "")
    assert run(program).stdout == "6 198\n"
    source.write_text(LAUNCHED.replace("OWN", "nothing"))
    wrong = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert wrong.returncode == 1
    assert "nothing" in wrong.stderr


def test_own_precompiled_header(tmp_path: Path) -> None:
    """A header that has changed is not taken from the precompiled one."""
    source, program, own = tmp_path / "main.cpp", tmp_path / "program", tmp_path / "own.h"
    source.write_text('#include "own.h"\n' + LAUNCHED)
    for number in (1, 2):
        own.write_text("#pragma once\n" + "// longer\n" * number + f"#define OWN {number}\n")
        built = run(DRIVER, "build", source, "-o", program, "--precompile", own)
        assert (built.returncode, built.stderr) == (0, "")
        assert run(program).stdout == f"{5 + number} {2 * (100 - number)}\n"


@pytest.mark.parametrize(("compiler", "headers"), [("clang++-22", 1), ("g++-12", 3)])
def test_passes_share_a_precompiled_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str, headers: int
) -> None:
    """Clang takes one for the host and each kind of core, which still know what they are; g++ takes
    none that was made with other flags."""
    source, program = tmp_path / "main.cpp", tmp_path / "program"
    source.write_text(KINDS_OF_CORES)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert (built.returncode, built.stderr) == (0, "")
    assert run(program).stdout == "0 1 2\n"
    kept = [each for each in (tmp_path / "cache" / "ascendc").iterdir() if each.is_dir()]
    assert len(kept) == headers


KINDS_OF_CORES = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void kinds(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  GlobalTensor<int32_t> words;
  words.SetGlobalBuffer((__gm__ int32_t*)out);
  if (g_coreType == AIC) words.SetValue(0, g_coreType);
  if ASCEND_IS_AIV words.SetValue(16, g_coreType);
}
int main() {
  auto* out = (GM_ADDR)GmAlloc(128);
  kinds<<<1, nullptr, nullptr>>>(out);
  printf("%d %d %d\\n", ((int32_t*)out)[0], ((int32_t*)out)[16], g_coreType);
}
"""


def test_error_in_a_header_names_the_header(tmp_path: Path) -> None:
    """The rewriter's and the compiler's errors point at the user's file, not at a copy."""
    header = tmp_path / "kernel.h"
    source = tmp_path / "main.cpp"
    source.write_text('#include "kernel.h"\nint main() {}\n')
    header.write_text('#include "kernel_operator.h"\n\n__global__ __aicore__ void k() { wrong(); }')
    answer = run(DRIVER, "build", source, "-o", tmp_path / "x")
    assert answer.returncode == 1
    assert f"{header}:3:34: error: use of undeclared identifier 'wrong'" in answer.stderr
    header.write_text("__global__ int k;\n")
    answer = run(DRIVER, "build", source, "-o", tmp_path / "x")
    assert f"{header}:1: error: __global__ stands before something" in answer.stderr


def test_names_of_other_chips(tmp_path: Path) -> None:
    """What arch 2201 hasn't is said by the compiler, with what to use instead."""
    source = tmp_path / "other.cpp"
    body = FAILING_KERNEL.index("  WaitFlag<HardEvent::MTE2_V>")
    end = FAILING_KERNEL.index("}\nint main")
    calls = (
        "LocalTensor<half> t; RpSort16(t, t, 1); Scatter(t, t); MrgSort4(t, t);\n"
        "ProposalConcat(t, t, 1, 4); ProposalExtract(t, t, 1, 4); LoadDataWithStride(t, t);\n"
        "SetLoadDataRepeatWithStride(1);\n"
    )
    source.write_text(FAILING_KERNEL[:body] + calls + FAILING_KERNEL[end:])
    answer = run(DRIVER, "build", source, "-o", tmp_path / "x")
    assert answer.returncode == 1
    for name, advice in (
        ("RpSort16", "use Sort32"),
        ("Scatter", "write from the other side with Gather, or with scalars"),
        ("MrgSort4", "use MrgSort"),
        ("ProposalConcat", "use Concat and Sort32"),
        ("ProposalExtract", "use Extract"),
        ("LoadDataWithStride", "use LoadData with LoadData3DParamsV2"),
        ("SetLoadDataRepeatWithStride", "use SetLoadDataRepeat"),
    ):
        assert f"{name} isn't on arch 2201; {advice}" in answer.stderr


def test_atomic_stores_of_other_types(tmp_path: Path) -> None:
    source = tmp_path / "atomics.cpp"
    body = FAILING_KERNEL.index("  WaitFlag<HardEvent::MTE2_V>")
    end = FAILING_KERNEL.index("}\nint main")
    calls = "SetAtomicAdd<uint8_t>(); SetAtomicMax<int64_t>(); SetAtomicType<uint16_t>();\n"
    source.write_text(FAILING_KERNEL[:body] + calls + FAILING_KERNEL[end:])
    answer = run(DRIVER, "build", source, "-o", tmp_path / "x")
    assert answer.returncode == 1
    words = "atomic stores are of float, half, bfloat16_t, int8_t, int16_t and int32_t on arch 2201"
    assert answer.stderr.count(words) >= 3


def test_wrong_command_lines(tmp_path: Path) -> None:
    """Each is refused with a sentence."""
    assert "no command" in run(DRIVER).stderr
    assert "unknown command 'make'" in run(DRIVER, "make").stderr
    assert "no source" in run(DRIVER, "build").stderr
    for question in (("--help",), ("-h",), ("build", "--help")):
        answer = run(DRIVER, *question)
        assert (answer.returncode, answer.stderr) == (0, "")
        assert answer.stdout.startswith("usage: tilewright-ascendc build source")
    assert "unknown option '--fast'" in run(DRIVER, "build", "a.cpp", "--fast").stderr
    assert (
        "compile takes one source, but 2 were given"
        in run(DRIVER, "compile", "a.cpp", "b.cpp").stderr
    )
    assert "launch-headers needs a folder: -o folder" in run(DRIVER, "launch-headers", "a").stderr
    missing = tmp_path / "missing.cpp"
    answer = run(DRIVER, "launch-headers", missing, "-o", tmp_path)
    assert (answer.returncode, answer.stderr) == (1, f"error: cannot read '{missing}'\n")
    assert f"cannot read '{missing}'" in run(DRIVER, "build", missing).stderr
    wrong = tmp_path / "wrong.cpp"
    wrong.write_text('#include "kernel_operator.h"\nint x = <<<1>>>(2);\n')
    answer = run(DRIVER, "build", wrong, "-o", tmp_path / "x")
    assert answer.returncode == 1
    assert f"{wrong}:2: error: '<<<' needs a kernel before it" in answer.stderr
    absent = run(DRIVER, "build", EXAMPLE, "--cxx", "nothing++")
    assert "--cxx names 'nothing++', but PATH has no such compiler" in absent.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_kernel_has_a_kind_of_its_own(tmp_path: Path, compiler: str) -> None:
    """Kernels that say none beside each other: each by what it calls, also through functions."""
    source = tmp_path / "kinds.cpp"
    source.write_text("""#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
__attribute__((noinline)) static __aicore__ void fill(const LocalTensor<float>& t) {
  Duplicate(t, 1.0f, 8);
}
template <int meets> __attribute__((noinline)) __aicore__ void vectors() {
  fill(LocalTensor<float>(TPosition::VECCALC, 0, 8));
  if (meets)
    SyncAll();
}
__global__ __aicore__ void on_vectors() {
  vectors<0>();
  ASSERT(GetBlockIdx() < GetBlockNum()); // one vector core for each block
}
__global__ __aicore__ void on_vectors_that_meet() {
  vectors<1>();
  ASSERT(GetBlockIdx() < GetBlockNum());
}
__global__ __aicore__ void on_cubes() {
  ASSERT(g_coreType == AIC);
  LocalTensor<half> t(TPosition::A1, 0, 16);
  InitConstValue(t, InitConstValueParams<half>(1, 1, 0, half(0)));
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  on_vectors<<<2, nullptr, nullptr>>>();
  on_vectors_that_meet<<<2, nullptr, nullptr>>>();
  on_cubes<<<2, nullptr, nullptr>>>();
  return aclrtSynchronizeStream(nullptr);
}
""")
    program = tmp_path / "kinds"
    built = run(DRIVER, "build", source, "-o", program, "--cxx", compiler)
    assert (built.returncode, built.stderr) == (0, "")
    answer = run(program)
    assert (answer.returncode, answer.stderr) == (0, "")
