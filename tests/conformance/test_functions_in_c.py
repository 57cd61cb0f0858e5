# SPDX-License-Identifier: Apache-2.0
"""Functions in C that a kernel brings with it (T.import_source), and what stands for them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tilewright
import tilewright.language as T


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
            T.import_source("""
                #include <stdint.h>
                float scaled_sum(const float* x, int32_t count, float scale) {
                  float total = 0;
                  for (int32_t i = 0; i < count; ++i) total += x[i];
                  return total * scale;
                }
                static void swap(float* a, float* b) { float t = *a; *a = *b; *b = t; }
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


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("float f(float x) { return x +; }", tilewright.CompileError,
         "the source of T.import_source does not compile: source:1:"),
        ("int puts(const char*); float f(float x) { puts(\"no\"); return x; }",
         tilewright.CompileError,
         "the source of T.import_source calls 'puts', which kernels on the cpu target cannot: they "
         "have libm, memcpy, memset and printf"),
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
