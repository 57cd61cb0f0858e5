# SPDX-License-Identifier: Apache-2.0
"""Functions in C that a kernel brings with it (T.import_source), and what stands for them."""

from __future__ import annotations

import ctypes
import math
import re
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.language import libm


@pytest.fixture
def floats(random):
    return lambda *shape: random.standard_normal(shape).astype(np.float32)


def test_import_source(agree, floats):
    """Functions of the kernel's own, in C; the interpreter has Python ones instead."""

    def scaled_sum(address, count, scale):
        return sum((ctypes.c_float * count).from_address(address)) * scale

    def reverse(address, count):
        values = (ctypes.c_float * count).from_address(address)
        values[:] = list(values)[::-1]

    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4, 9), "float32")):
        with T.Kernel(4) as bx:
            T.import_source(None)  # none
            T.import_source("""
                #include <stdint.h>
                #ifndef __CUDACC__
                #define __device__
                #endif
                float scaled_sum(const float* x, int32_t count, float scale) {
                  float total = 0;
                  for (int32_t i = 0; i < count; ++i) total += x[i];
                  return total * scale;
                }
                static __device__ void swap(float* a, float* b) { float t = *a; *a = *b; *b = t; }
                void reverse(float* x, int32_t count) {
                  for (int32_t i = 0; i < count / 2; ++i) swap(x + i, x + count - 1 - i);
                }
            """)
            tile = T.alloc_shared((8,), "float32")
            T.copy(A[bx, 0:8], tile)
            T.call_extern("handle", "reverse", tile.access_ptr("rw"), 8, reference=reverse)
            B[bx, 0] = T.call_extern(
                "float32", "scaled_sum", T.address_of(tile[2]), 6, 0.5, reference=scaled_sum
            )
            T.copy(tile, B[bx, 1:9])

    a = floats(4, 8)
    sums = a[:, ::-1][:, 2:].astype(float).sum(1) * 0.5
    expected = np.hstack([sums[:, None], a[:, ::-1]]).astype(np.float32)
    agree(kernel, [a, np.zeros((4, 9), np.float32)], {1: expected}, 1e-6)


def test_prelude_of_a_launch(agree, floats):
    """The same, as an argument of T.Kernel."""

    def doubled(x):
        return 2 * x

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(8, prelude="float doubled(float x) { return 2 * x; }") as bx:
            B[bx] = T.call_extern("float32", "doubled", A[bx], reference=doubled)

    a = floats(8)
    agree(kernel, [a, np.zeros(8, np.float32)], {1: 2 * a}, 0)


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("float f(float x) { return x +; }", tilewright.CompileError,
         "the source of T.import_source does not compile: source:1:"),
        ("int puts(const char*); float f(float x) { puts(\"no\"); return x; }",
         tilewright.CompileError,
         "the source of T.import_source calls 'puts', which kernels on the cpu target cannot: they "
         "have libm, memcpy, memset and printf"),
        ("template <typename U> __device__ U f(U x) { return x; }", tilewright.UnsupportedError,
         "the source of T.import_source is CUDA (__device__), which is unsupported on cpu: write "
         "its functions in C, or what they do in the language"),
        ("float g(float x) { return x; }", tilewright.UnsupportedError,
         "there is no function 'f' for kernels on the cpu target"),
    ],
)  # fmt: skip
def test_wrong_sources(source, kind, message):
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            T.import_source(source)
            A[0] = T.call_extern("float32", "f", A[1])

    with pytest.raises(kind) as caught:
        tilewright.compile(kernel)
    assert caught.value.diagnostics[0].message.startswith(message)


def test_source_without_a_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TILEWRIGHT_CC", raising=False)

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            T.import_source("float one(void) { return 1; }")
            A[0] = T.call_extern("float32", "one")

    message = "T.import_source needs a C compiler: clang or gcc, or the one in TILEWRIGHT_CC"
    with pytest.raises(tilewright.CompileError, match=message):
        tilewright.compile(kernel)


def test_function_without_a_reference(floats):
    """Counts as not interpreted, with the reason; so does one whose reference fails."""

    def failing(x):
        raise ValueError("not today")

    def make(reference):
        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                T.import_source("float f(float x) { return x; }")
                A[0] = T.call_extern("float32", "f", A[1], reference=reference)

        return tilewright.compile(kernel, target="reference")

    start = "the reference interpreter does not run the C function 'f': "
    for reference, reason in ((None, "it has no Python reference"), (failing, "not today")):
        with pytest.raises(tilewright.KernelError) as caught:
            make(reference)(floats(4))
        assert start in str(caught.value) and reason in str(caught.value)


TABLE = Path(__file__).parents[2] / "compiler" / "base" / "libm_functions.cpp"
KINDS = {"r": "float64", "i": "int32", "l": "int64"}


def test_compiler_and_interpreter_have_the_same_functions_of_libm():
    assert dict(re.findall(r'\{"(\w+)", "(\w+)"\}', TABLE.read_text())) == libm.FUNCTIONS
    for name in ("cabs", "f", "sqrtl", "system", "frexp", "sincosf"):
        assert libm.function_of_libm(name) is None


@pytest.mark.parametrize("real", ["float32", "float64"])
@pytest.mark.parametrize("kinds", sorted(set(libm.FUNCTIONS.values())))
def test_functions_of_libm(agree, kinds, real):
    """Each runs on both, and gives what the C library gives."""
    names = [n for n, k in libm.FUNCTIONS.items() if k == kinds]
    suffix = "f" if real == "float32" else ""
    result = real if kinds[-1] == "r" else KINDS[kinds[-1]]
    values = [0.7, -2.5, 1.5]
    second = "int32" if "i" in kinds[1:-1] else real

    @T.prim_func
    def kernel(
        X: T.Tensor((3, 3), real),
        Y: T.Tensor((3, 3), second),
        Out: T.Tensor((len(names), 3), result),
    ):
        with T.Kernel(3) as i:
            for number, name in enumerate(names):
                if len(kinds) == 2:
                    Out[number, i] = T.call_extern(result, name + suffix, X[0, i])
                elif len(kinds) == 3:
                    Out[number, i] = T.call_extern(result, name + suffix, X[0, i], Y[1, i])
                else:
                    Out[number, i] = T.call_extern(result, name + suffix, X[0, i], Y[1, i], X[2, i])

    x = np.array([np.roll(values, k) for k in range(3)]).astype(real)
    y = x.astype(second)
    expected = np.zeros((len(names), 3), result)
    for number, name in enumerate(names):
        for i in range(3):
            given = [x[0, i].item(), y[1, i].item(), x[2, i].item()][: len(kinds) - 1]
            expected[number, i] = libm.function_of_libm(name + suffix)(*given)
    agree(kernel, [x, y, np.zeros_like(expected)], {2: expected}, 1e-6)


@pytest.mark.parametrize(
    ("dtype", "name", "arguments", "message"),
    [
        ("float32", "fmaxf", lambda A, D, n: [A[1]],
         "libm's fmaxf is float32(float32, float32), but it is called as float32(float32)"),
        ("float32", "powf", lambda A, D, n: [A[1], n],
         "libm's powf is float32(float32, float32), but it is called as float32(float32, int32)"),
        ("float32", "exp", lambda A, D, n: [A[1]],
         "libm's exp is float64(float64), but it is called as float32(float32)"),
        ("float32", "ldexpf", lambda A, D, n: [A[1], 1.5],
         "libm's ldexpf is float32(float32, int32), but it is called as float32(float32, float32)"),
        ("handle", "expf", lambda A, D, n: [D[1]],
         "libm's expf is float32(float32), but it is called as void(float64)"),
    ],
)  # fmt: skip
def test_wrong_calls_of_libm(dtype, name, arguments, message):
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32"), D: T.Tensor((4,), "float64"), n: T.int32):
        with T.Kernel(1):
            T.call_extern(dtype, name, *arguments(A, D, n))

    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    (found,) = caught.value.errors
    assert found.message == message and found.place.file == __file__


def test_literals_take_the_dtypes_of_libm(agree):
    @T.prim_func
    def kernel(A: T.Tensor((2,), "float64"), F: T.Tensor((2,), "float32")):
        with T.Kernel(1):
            A[1] = T.call_extern("float64", "pow", A[0], 2)
            F[0] = T.call_extern("float32", "powf", 3, 0.5)
            F[1] = T.call_extern("float32", "ldexpf", F[1], 3)

    given = [np.array([1.1, 0]), np.array([0, 1.5], np.float32)]
    expected = {0: np.array([1.1, 1.1**2]), 1: np.array([3**0.5, 12], np.float32)}
    agree(kernel, given, expected)


def test_own_functions_may_have_names_of_others(cpu_only):
    """Those of the process, too: the kernel's own ones are called."""

    @T.prim_func
    def kernel(A: T.Tensor((3,), "int32")):
        with T.Kernel(1):
            T.import_source("""
                int fdim(int x) { return x + 1; }
                int toupper(int x) { return fdim(x) + 1; }
            """)
            A[1] = T.call_extern("int32", "fdim", A[0])
            A[2] = T.call_extern("int32", "toupper", A[0])

    cpu_only(kernel, [np.array([97, 0, 0], np.int32)], {0: np.array([97, 98, 99], np.int32)})


#: What LLVM folds when it is libm's, and what else it knows.
KNOWN_TO_LLVM = [("fmaxf", 2), ("fminf", 2), ("fabsf", 1), ("sqrtf", 1), ("powf", 2), ("floorf", 1),
                 ("copysignf", 2), ("fmaf", 3), ("tanhf", 1)]  # fmt: skip


@pytest.mark.parametrize("numbered", [False, True])
def test_own_functions_of_names_that_llvm_knows(cpu_only, numbered):
    """They aren't folded as libm's, neither in the kernel nor among themselves."""

    @T.prim_func
    def kernel(A: T.Tensor((len(KNOWN_TO_LLVM), 3), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(1):
            for name, count in KNOWN_TO_LLVM:
                letters = "abc"[:count]
                T.import_source(
                    f"float {name}({', '.join('float ' + x for x in letters)})"
                    f" {{ return {' + '.join(letters)} + 100; }}"
                )
            T.import_source("float both(float x) { return sqrtf(x) + fmaxf(x, 2.0f); }")
            for number, (name, count) in enumerate(KNOWN_TO_LLVM):
                last = [A[number, i] for i in range(1, count)]
                if numbered and count == 2:
                    last = [2.0]
                A[number, 0] = T.call_extern("float32", name, A[number, 0], *last)
            B[1] = T.call_extern("float32", "both", B[0])
            B[0] = T.pow(B[0], 2.5)

    given = np.resize(np.array([1.5, 2, 3], np.float32), (len(KNOWN_TO_LLVM), 3))
    expected = given.copy()
    for number, (_, count) in enumerate(KNOWN_TO_LLVM):
        expected[number, 0] = 100 + given[number, :count].sum()
    of_b = np.array([1.5**2.5, 101.5 + 103.5], np.float32)
    cpu_only(kernel, [given, np.array([1.5, 0], np.float32)], {0: expected, 1: of_b})


def test_own_functions_behind_their_calls(cpu_only):
    @T.prim_func
    def kernel(A: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            A[1] = T.call_extern("int32", "fdim", A[0])
            T.import_source("int fdim(int x) { return x + 1; }")

    cpu_only(kernel, [np.array([97, 0], np.int32)], {0: np.array([97, 98], np.int32)})

    @T.prim_func
    def late(A: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            A[1] = T.call_extern("int32", "fdim", A[0], 3)
            T.import_source("int fdim(int x, int y) { return x + y; }")

    message = "this source has a function 'fdim', but a call before was taken for libm's"
    with pytest.raises(tilewright.CompileError, match=message):
        late.capture()


def test_interpreter_takes_no_own_function_for_one_of_libm(floats):
    def make(source, reference=None):
        @T.prim_func
        def kernel(A: T.Tensor((2,), "float32")):
            with T.Kernel(1):
                T.import_source(source)
                A[1] = T.call_extern("float32", "floorf", A[0], reference=reference)

        return tilewright.compile(kernel, target="reference")

    own = "float floorf(float x) { return x + 100; }"
    with pytest.raises(tilewright.KernelError, match="'floorf': it has no Python reference"):
        make(own)(floats(2))
    given = np.array([1.5, 0], np.float32)
    make(own, lambda x: x + 100)(given)
    assert given[1] == 101.5
    make("float floorf(float); float f(float x) { if (floorf(x)) {} return 1; } // floorf")(given)
    assert given[1] == 1.0


def test_compiling_own_functions_leaves_the_kernel_as_it_is():
    @T.prim_func
    def kernel(A: T.Tensor((2,), "float32")):
        with T.Kernel(1):
            T.import_source("float floorf(float x) { return x + 100; }")
            A[1] = T.call_extern("float32", "floorf", A[0])

    for configs in ({}, {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True}):
        given = np.array([1.5, 0], np.float32)
        tilewright.compile(kernel, pass_configs=configs)(given)
        assert given[1] == 101.5
    with pytest.raises(tilewright.KernelError, match="'floorf': it has no Python reference"):
        tilewright.compile(kernel, target="reference")(given)


def test_definitions_in_c():
    for text in (
        "int f(int x) { }",
        "int f ( int (*g)(int) )\n{}",
        "DEF(f)",
        "int f(int x) NOTHROW {}",
        "int f(",
        "auto g = f;",
    ):
        assert libm.defines(["", text], "f"), text
    for text in (
        "",
        "int f(int);",
        "/* f */ // f",
        "int g() { return f(1) + f(h(2)); }",
        "ff(1) {}",
        "if (f(x)) { }",
    ):
        assert not libm.defines([text], "f"), text


def test_functions_of_libm_give_what_python_gives():
    """A sample, so that letters of the table are right."""
    of = libm.function_of_libm
    assert of("fabs")(-1.5) == 1.5 and of("fma")(2.0, 3.0, 4.0) == 10.0
    assert of("round")(2.5) == 3.0 and of("rint")(2.5) == 2.0 and of("roundf")(-2.5) == -3.0
    assert of("lgamma")(5.0) == pytest.approx(math.lgamma(5.0))
    assert of("tgammaf")(5.0) == pytest.approx(24.0)
    assert of("fdim")(1.0, 3.0) == 0.0 and of("remainderf")(5.0, 3.0) == -1.0
    assert of("ldexpf")(1.5, 3) == 12.0 and of("ilogb")(10.0) == 3 and of("llround")(-2.5) == -3
    assert math.isnan(of("sqrt")(-1.0)) and of("exp")(1e4) == math.inf
