# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501 - answers of the runtime are one line each
"""Kernel objects: made by the driver, loaded and launched by name. Needs a build of the simulator."""

import sys
from pathlib import Path

import pytest
from built_driver import BUILD, COMPILERS, DRIVER, ROOT, needs_driver, run

LIBRARY = BUILD / "lib" / "libtilewright_ascend.so"
HERE = Path(__file__).parent

pytestmark = needs_driver


def build(compiler: str, *arguments: str | Path) -> None:
    """Builds without a word."""
    built = run(DRIVER, "build", "--cxx", compiler, *arguments)
    assert (built.returncode, built.stderr) == (0, "")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls(tmp_path: Path, compiler: str) -> None:
    """Every call, what it does and how it refuses; the program has a symbol of a kernel's name."""
    kernels, program = tmp_path / "kernels.o", tmp_path / "program"
    build(compiler, "--kernel", HERE / "loaded_kernels.cpp", "-o", kernels)
    build(compiler, "-Wl,--export-dynamic", HERE / "load_kernels.cpp", "-o", program)
    answer = run("env", "TILEWRIGHT_ASCEND_EXIT=0", program, kernels, LIBRARY)
    assert answer.returncode == 0, answer.stderr
    said = answer.stdout.replace(str(kernels), "KERNELS").replace(str(BUILD), "BUILD")
    line = 1 + (HERE / "loaded_kernels.cpp").read_text().split("// the wild line")[0].count("\n")
    expected = ANSWERS.replace("LINE", f"{HERE / 'loaded_kernels.cpp'}:{line}")
    assert [line.rstrip() for line in said.splitlines()] == expected.splitlines()


ANSWERS = """\
before a device: 0
no context: aclrtLaunchKernelWithArgsArray: this thread has no device; call aclrtSetDevice first [107002]
parameters: 0+8 8+1 12+4 16+2 24+32 56+4
no such parameter: aclrtFunctionGetParamInfo: paramIndex is 6, but kernel 'arguments' has 6 parameters [100000]
name: 0
arguments
short name: aclrtGetFunctionName: maxLen is 9, but 'arguments' and its end take 10 bytes [100000]
packed: 0
packed: -3 70000 60000 7 8 11 12 0 -3 70000 60000 7 8 11 12 0
slots: 0
slots: -3 70000 60000 7 8 11 12 0 0 0 0 0 0 0 0 0
device: 0
device: -3 71000 60000 7 8 11 12 0 0 0 0 0 0 0 0 0
device, V2: 0
device, V2: -3 71000 60000 7 8 11 12 0 0 0 0 0 0 0 0 0
array: 0
array: -3 71000 60000 7 8 11 12 0 0 0 0 0 0 0 0 0
host memory: aclrtLaunchKernel: argsData is no device memory; aclrtLaunchKernelWithHostArgs takes arguments in host memory [100000]
size: aclrtLaunchKernel: argsSize is 24, but the 6 parameters of kernel 'arguments' take 60 bytes (64 with padding), or 72 where each stands at a multiple of 8 [100000]
blocks: aclrtLaunchKernel: numBlocks is 0, but a launch has 1 to 65535 [100000]
default stream: 0
its end: 0
default stream: -3 71000 60000 7 8 11 12 0 0 0 0 0 0 0 0 0
no stream: aclrtLaunchKernel: stream is a kernel function, not a stream [107017]
no function: aclrtLaunchKernel: funcHandle is a stream, not a kernel function [107017]
offset: aclrtLaunchKernelV2: cfg->attrs[0].value.blockDimOffset is 4; blocks begin at 0 here [200006]
memory: aclrtLaunchKernelV2: cfg->attrs[0].value.dynUBufSize is 4; arch 2201 has no such memory [200006]
attribute: aclrtLaunchKernelV2: cfg->attrs[0].id is 99, which is none [100000]
argument: aclrtBinaryGetFunction: 'KERNELS' has no kernel 'argument'; it has arguments, ns::same(unsigned char*, float), ns::same(unsigned char*, int), typed<double>(unsigned char*), wild [100029]
ns::same: aclrtBinaryGetFunction: 'KERNELS' has several kernels 'ns::same': ns::same(unsigned char*, float), ns::same(unsigned char*, int) [100029]
init: 0
out: 0
bytes: aclrtKernelArgsAppend: argument 1 of kernel 'ns::same(unsigned char*, int)' has 4 bytes, but 8 were given [100000]
too few: aclrtKernelArgsFinalize: kernel 'ns::same(unsigned char*, int)' has 2 parameters, but 1 were appended [100000]
value: 0
too many: aclrtKernelArgsAppend: kernel 'ns::same(unsigned char*, int)' has 2 parameters, and all have a value already [100000]
not final: aclrtLaunchKernelWithConfig: argsHandle was changed after its last aclrtKernelArgsFinalize, or has had none [100000]
final: 0
of another: aclrtLaunchKernelWithConfig: argsHandle has the arguments of kernel 'ns::same(unsigned char*, int)', not of this funcHandle ('ns::same(unsigned char*, float)') [100000]
reserve: aclrtLaunchKernelWithConfig: reserve is not null [100000]
launch: 0
update: 0
again: aclrtLaunchKernelWithConfig: argsHandle was changed after its last aclrtKernelArgsFinalize, or has had none [100000]
first values: 42 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
second values: 78 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
update's size: aclrtKernelArgsParaUpdate: the argument has 4 bytes, but 2 were given [100000]
no parameter: aclrtKernelArgsParaUpdate: paramHandle is no parameter of this argsHandle [107017]
no holder: aclrtKernelArgsGetPlaceHolderBuffer: paramHandle is a value, not a place holder [100000]
16 1
own memory: 0
full: aclrtKernelArgsAppend: userHostMem has 4 bytes left, but 8 are needed [300000]
own: 0
own values: 78 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
no buffer: aclrtKernelArgsFinalize: argument 0 is a place holder without a buffer; aclrtKernelArgsGetPlaceHolderBuffer gives it one [100000]
buffer: 0
second buffer: aclrtKernelArgsGetPlaceHolderBuffer: paramHandle has a buffer already [100000]
update: aclrtKernelArgsParaUpdate: paramHandle is a place holder; write to its buffer [100000]
place holder: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
holder: 0
holder: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
outside: aclrtLaunchKernelWithHostArgs: placeHolderArray[0] has the offsets 0 and 24, but argsSize is 24 [100000]
overload: 6 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
template: 8 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
engine: aclrtLaunchKernelWithArgsArray: cfg->attrs[0].value.engineType is AIV, but kernel 'ns::same(unsigned char*, int)' is for cube cores [100000]
: aclrtBinaryLoadFromFile: binPath is null [100000]
: aclrtBinaryLoadFromFile: binHandle is null [100000]
: aclrtBinaryLoadFromFile: options->options is null, but options->numOpt is not 0 [100000]
: aclrtBinaryLoadFromFile: option 0 has the unknown type 9 [100000]
: aclrtBinaryLoadFromData: data is null [100000]
: aclrtBinaryLoadFromData: length is 0 [100000]
: aclrtBinaryLoadFromData: binHandle is null [100000]
: aclrtCreateBinary: data is null [100000]
: aclrtCreateBinary: dataLen is 0 [100000]
: aclrtBinaryLoad: binHandle is null [100000]
: aclrtBinaryLoad: binary is null [107017]
: aclrtBinaryGetFunction: kernelName is null [100000]
: aclrtBinaryGetFunction: funcHandle is null [100000]
: aclrtBinaryGetFunction: binHandle is null [107017]
: aclrtBinaryGetFunctionByEntry: funcHandle is null [100000]
: aclrtFunctionGetBinary: binHandle is null [100000]
: aclrtGetFunctionName: name is null [100000]
: aclrtGetFunctionName: funcHandle is null [107017]
: aclrtFunctionGetParamCount: paramCount is null [100000]
: aclrtFunctionGetParamInfo: paramOffset is null [100000]
: aclrtKernelArgsInit: argsHandle is null [100000]
: aclrtKernelArgsInitByUserMem: argsHandle is null [100000]
: aclrtKernelArgsInitByUserMem: userHostMem is null [100000]
: aclrtKernelArgsGetMemSize: actualArgsSize is null [100000]
: aclrtKernelArgsGetHandleMemSize: memSize is null [100000]
: aclrtKernelArgsGetHandleMemSize: funcHandle is kernel arguments, not a kernel function [107017]
: aclrtKernelArgsAppend: param is null [100000]
: aclrtKernelArgsAppend: paramHandle is null [100000]
: aclrtKernelArgsAppend: argsHandle is a kernel function, not kernel arguments [107017]
: aclrtKernelArgsAppendPlaceHolder: paramHandle is null [100000]
: aclrtKernelArgsGetPlaceHolderBuffer: dataSize is 0 [100000]
: aclrtKernelArgsGetPlaceHolderBuffer: bufferAddr is null [100000]
: aclrtKernelArgsParaUpdate: param is null [100000]
: aclrtLaunchKernel: argsData is null [100000]
: aclrtLaunchKernelV2: cfg->attrs is null [100000]
: aclrtLaunchKernelWithConfig: argsHandle is null [107017]
: aclrtLaunchKernelWithHostArgs: hostArgs is null [100000]
: aclrtLaunchKernelWithHostArgs: placeHolderArray is null [100000]
: aclrtLaunchKernelWithArgsArray: args is null [100000]
: aclrtLaunchKernelWithArgsArray: args[0] is null [100000]
entry: aclrtBinaryGetFunctionByEntry: a tiling key (1) names a function only where there is one kernel, but 'KERNELS' has 5: arguments, ns::same(unsigned char*, float), ns::same(unsigned char*, int), typed<double>(unsigned char*), wild [100029]
data: 0
mode: aclrtBinaryLoadFromData: option 0 is for kernels of AI CPUs, which the host does not model [200006]
object: 0
end of it: 0
once more: aclrtDestroyBinary: binary is data of a kernel binary that was destroyed already [107017]
unload third: 0
in use: aclrtBinaryUnLoad: binHandle is in use: 1 of its launches has not ended; synchronise their streams first [100000]
wild: aclrtSynchronizeStream: kernel 'wild' failed: LINE: error: the kernel's scalar code touched address 0x10, which is not its memory (vector core 0)
      put(out, 0, *reinterpret_cast<volatile int*>(16)); // the wild line
 [507035]
unload: 0
function gone: aclrtLaunchKernelWithArgsArray: funcHandle is a kernel function that was destroyed already [107017]
twice: aclrtBinaryUnLoad: binHandle is a kernel binary that was destroyed already [107017]
unload first: 0
text: aclrtBinaryLoadFromData: data is no ELF object; tilewright-ascendc build --kernel makes kernel objects for this host [100003]
none: aclrtBinaryLoadFromFile: binPath '/nothing' cannot be read [100003]
itself: aclrtBinaryLoadFromFile: 'BUILD/lib/libtilewright_ascend.so' has no seal at its end: it was cut off or changed, or is no kernel object; tilewright-ascendc build --kernel makes kernel objects for this host [100003]
"""

KEYS = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void d(GM_ADDR out) { // to demangle it would give double
  KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIV_ONLY);
  KERNEL_TASK_TYPE(2, KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<int32_t> g;
  g.SetGlobalBuffer((__gm__ int32_t*)out);
  if (TILING_KEY_IS(1))
    g.SetValue(0, 10 + (g_coreType == AIV));
  else if (TILING_KEY_IS(2))
    g.SetValue(0, 20 + (g_coreType == AIC));
}
"""
LOAD_KEYS = """
#include "acl/acl.h"
#include <cstdio>
int main(int, char** argv) {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* out;
  aclrtMalloc(&out, 32, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtBinHandle binary;
  aclrtBinaryLoadFromFile(argv[1], nullptr, &binary);
  aclrtFuncHandle byName;
  char name[4] = "";
  printf("%d ", aclrtBinaryGetFunction(binary, "d", &byName));
  aclrtGetFunctionName(byName, sizeof name, name);
  printf("%s ", name);
  for (uint64_t key = 2; key > 0; --key) {
    aclrtFuncHandle kernel;
    int value = 0, error = aclrtBinaryGetFunctionByEntry(binary, key, &kernel);
    error |= aclrtLaunchKernelWithHostArgs(kernel, 1, nullptr, nullptr, &out, 8, nullptr, 0);
    error |= aclrtSynchronizeStream(nullptr);
    aclrtMemcpy(&value, 4, out, 4, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%d %d ", error, value);
  }
  return aclFinalize();
}
"""


def test_tiling_keys(tmp_path: Path) -> None:
    """A key chooses the kernel's kind, and what it does; a name may be one letter."""
    (tmp_path / "keys.cpp").write_text(KEYS)
    (tmp_path / "load.cpp").write_text(LOAD_KEYS)
    build("clang++-22", "--kernel", tmp_path / "keys.cpp", "-o", tmp_path / "keys.o")
    build("clang++-22", tmp_path / "load.cpp", "-o", tmp_path / "load")
    assert run(tmp_path / "load", tmp_path / "keys.o").stdout == "0 d 0 21 0 11 "


def test_built_again_while_loaded(tmp_path: Path) -> None:
    """The same path holds another kernel by now: each load has the file as it was then."""
    template = """#include "kernel_operator.h"
    extern "C" __global__ __aicore__ void number(GM_ADDR out) {
      KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
      AscendC::GlobalTensor<int32_t> g;
      g.SetGlobalBuffer((__gm__ int32_t*)out);
      g.SetValue(0, NUMBER);
    }"""
    for number in ("1", "2"):
        (tmp_path / "kernel.cpp").write_text(template.replace("NUMBER", number))
        build("clang++-22", "--kernel", tmp_path / "kernel.cpp", "-o", tmp_path / f"{number}.o")
    (tmp_path / "load.cpp").write_text("""
    #include "acl/acl.h"
    #include <cstdio>
    #include <cstdlib>
    #include <string>
    int main(int, char** argv) {
      aclInit(nullptr);
      aclrtSetDevice(0);
      void* out;
      aclrtMalloc(&out, 32, ACL_MEM_MALLOC_HUGE_FIRST);
      std::string folder = argv[1], path = folder + "/kernel.o";
      aclrtBinHandle binaries[2];
      aclrtFuncHandle kernels[2];
      for (int i = 0; i < 2; ++i) {
        rename((folder + "/" + std::to_string(i + 1) + ".o").c_str(), path.c_str());
        if (aclrtBinaryLoadFromFile(path.c_str(), nullptr, &binaries[i]) ||
            aclrtBinaryGetFunction(binaries[i], "number", &kernels[i]))
          return 1;
      }
      for (aclrtFuncHandle kernel : kernels) {
        int value = 0;
        void* pointers[] = {&out};
        aclrtLaunchKernelWithArgsArray(kernel, 1, nullptr, nullptr, pointers);
        aclrtSynchronizeStream(nullptr);
        aclrtMemcpy(&value, 4, out, 4, ACL_MEMCPY_DEVICE_TO_HOST);
        printf("%d ", value);
        aclrtBinaryUnLoad(binaries[value - 1]);
      }
      return aclFinalize();
    }""")
    build("clang++-22", tmp_path / "load.cpp", "-o", tmp_path / "load")
    assert run(tmp_path / "load", tmp_path).stdout == "1 2 "


LOAD_DAMAGED = """
#include "acl/acl.h"
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
void load(const char* what, const std::string& bytes) {
  aclrtBinHandle binary;
  int code = aclrtBinaryLoadFromData(bytes.data(), bytes.size(), nullptr, &binary);
  const char* message = aclGetRecentErrMsg();
  printf("%s: %s\\n", what, code == 0 ? "loaded" : message);
  if (code == 0)
    aclrtBinaryUnLoad(binary);
}
int main(int, char** argv) {
  aclInit(nullptr);
  std::ifstream in(argv[1], std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  load("whole", whole);
  load("in a larger buffer", whole + std::string(100, '\\0'));
  for (int percent : {1, 5, 10, 20, 50, 90, 99})
    load("cut", whole.substr(0, whole.size() * percent / 100));
  load("header", whole.substr(0, 20));
  load("without its seal", whole.substr(0, whole.size() - 32));
  load("without a byte of it", whole.substr(0, whole.size() - 1));
  for (size_t first : {size_t(16), size_t(64), size_t(4096)}) {
    std::string damaged = whole;
    for (size_t i = first; i < damaged.size() - 32; i += 97)
      damaged[i] ^= 0x5a;
    load("damaged", damaged);
  }
  int told = 0, all = 0;
  for (size_t i = 4; i < whole.size(); i += 211, ++all) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    aclrtBinHandle binary;
    told += aclrtBinaryLoadFromData(damaged.data(), damaged.size(), nullptr, &binary) != 0;
  }
  printf("%d of single bits not told\\n", all - told);
  std::ofstream(argv[2], std::ios::binary) << whole.substr(0, whole.size() / 3);
  aclrtBinHandle binary;
  aclrtBinaryLoadFromFile(argv[2], nullptr, &binary);
  puts(aclGetRecentErrMsg());
  return aclFinalize();
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_damaged_objects(tmp_path: Path, compiler: str) -> None:
    """What was cut off or changed has the documented codes; the loader of the system never sees it."""
    kernels, program, cut = tmp_path / "kernels.o", tmp_path / "program", tmp_path / "cut.o"
    (tmp_path / "load.cpp").write_text(LOAD_DAMAGED)
    build(compiler, "--kernel", HERE / "loaded_kernels.cpp", "-o", kernels)
    build(compiler, tmp_path / "load.cpp", "-o", program)
    answer = run(program, kernels, cut)
    assert answer.returncode == 0, answer.stderr
    said = answer.stdout.splitlines()
    length = kernels.stat().st_size
    call = "aclrtBinaryLoadFromData: data "
    sections = "bytes, but its sections are listed behind them; build it or copy it again [100005]"
    kept = [length * percent // 100 for percent in (1, 5, 10, 20, 50, 90, 99)] + [20]
    without = (
        f"{call}has no seal at its end: it was cut off or changed, or is no kernel object; "
        "tilewright-ascendc build --kernel makes kernel objects for this host [100003]"
    )
    damaged = (
        "is damaged: its bytes are not those that were built (their checksum differs); "
        "build it or copy it again [100003]"
    )
    assert said == [
        "whole: loaded",
        "in a larger buffer: loaded",
        *(
            f"{'header' if n == 20 else 'cut'}: {call}is cut off: it has {n} {sections}"
            for n in kept
        ),
        f"without its seal: {without}",
        f"without a byte of it: {without}",
        *[f"damaged: {call}{damaged}"] * 3,
        "0 of single bits not told",
        f"aclrtBinaryLoadFromFile: '{cut}' is cut off: it has {length // 3} {sections}",
    ]


def test_objects_without_kernels(tmp_path: Path) -> None:
    """Objects that nothing can be found in by name, or that lack a function, are refused when they are loaded."""
    loader = ROOT / "examples" / "ascend" / "load_kernel.cpp"
    build("clang++-22", loader, "-o", tmp_path / "loader")
    how = "; tilewright-ascendc build --kernel makes kernel objects for this host [100003]\n"
    for source, text in {
        "int f() { return 1; }": "holds no kernels that can be found by name",
        "int nowhere();\nint f() { return nowhere(); }": (
            "cannot be loaded: undefined symbol: _Z7nowherev"
        ),
    }.items():
        (tmp_path / "none.cpp").write_text(source)
        build("clang++-22", "--kernel", tmp_path / "none.cpp", "-o", tmp_path / "none.o")
        answer = run(tmp_path / "loader", tmp_path / "none.o")
        assert answer.stderr == f"aclrtBinaryLoadFromFile: '{tmp_path / 'none.o'}' {text}{how}"


def test_refusals_of_the_driver(tmp_path: Path) -> None:
    """What makes no sense with --kernel."""
    said = run(DRIVER, "compile", "--kernel", HERE / "loaded_kernels.cpp")
    assert said.returncode != 0
    assert "error: --kernel makes a kernel object of sources; it goes with build" in said.stderr
    (tmp_path / "unnamed.cpp").write_text("""#include "kernel_operator.h"
    template <class T> __global__ __aicore__ void k(GM_ADDR out, T) {
      KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    }
    void start(void* stream) {
      struct Local {};
      k<Local><<<1, nullptr, stream>>>((GM_ADDR)0, Local());
    }""")
    said = run(DRIVER, "build", "--kernel", tmp_path / "unnamed.cpp", "-o", tmp_path / "k.o")
    assert said.returncode != 0
    assert "has a type without a name, so that nobody could load it by name" in said.stderr


def test_headers_of_another_version(tmp_path: Path) -> None:
    """A program and a kernel object that do not fit the library say so."""
    other = "-DTILEWRIGHT_ASCEND_INTERFACE=1000"
    program, kernels = tmp_path / "program", tmp_path / "kernels.o"
    sentence = (
        "was built with the headers of another version of the Ascend host than "
        f"its library {LIBRARY.resolve()}; build it again with the tilewright-ascendc of that "
        "library, or let it find its own (LD_LIBRARY_PATH)\n"
    )
    example = ROOT / "examples" / "ascend" / "relu_custom.cpp"
    build("clang++-22", other, example, "-o", program)
    answer = run(program)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == f"error: {program} {sentence}"
    # What is loaded into a program does not end it.
    library = tmp_path / "library.so"
    build("clang++-22", other, "--shared", example, "-o", library)
    answer = run(sys.executable, "-c", f"import ctypes; ctypes.CDLL('{library}'); print('goes on')")
    assert (answer.returncode, answer.stdout) == (0, "goes on\n")
    assert answer.stderr == f"error: {library} {sentence}"
    build("clang++-22", other, "--kernel", HERE / "loaded_kernels.cpp", "-o", kernels)
    loader = ROOT / "examples" / "ascend" / "load_kernel.cpp"
    build("clang++-22", loader, "-o", tmp_path / "loader")
    answer = run(tmp_path / "loader", kernels)
    assert answer.stderr == (
        f"aclrtBinaryLoadFromFile: '{kernels}' was built with the headers of another version of the "
        "Ascend host; build it again with this one's tilewright-ascendc [100003]\n"
    )
