# SPDX-License-Identifier: Apache-2.0
"""Buffers on chip that a kernel reads and writes by their addresses."""

import numpy as np
import pytest

import tilewright
import tilewright.language as T

TURN = """void turn(const float* a, float* b) {
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j)
      b[64 * i + j] = a[64 * j + i];
}"""
ZERO = "void zero(float* a) { for (int i = 0; i < 64 * 96; ++i) a[i] = 0; }"


def test_buffers_known_by_address_lie_apart():
    """Nothing but the call reads a, and nothing but the call writes b."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=1) as _:
            T.import_source(TURN)
            a = T.alloc_shared((64, 64), "float32")
            b = T.alloc_shared((64, 64), "float32")
            T.copy(A, a)
            T.call_extern("handle", "turn", T.address_of(a[0, 0]), T.address_of(b[0, 0]))
            T.copy(b, C)

    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    np.testing.assert_array_equal(tilewright.compile(kernel, out_idx=[1])(a), a.T)


@pytest.mark.parametrize("config", ["tl.enable_fast_math", "tilewright.normwise_gemm"])
def test_operands_that_a_call_changes(config):
    """By an address that was taken before the loop."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 96), "float32"),
        B: T.Tensor((96, 64), "float32"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=1) as _:
            T.import_source(ZERO)
            a = T.alloc_shared((64, 96), "float32")
            b = T.alloc_shared((96, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            place = T.address_of(a[0, 0])
            for _ in T.serial(2):
                T.gemm(a, b, c)
                T.call_extern("handle", "zero", place)
            T.copy(c, C)

    random = np.random.default_rng(1)
    a = random.integers(-4, 5, (64, 96)).astype(np.float32)
    b = random.integers(-4, 5, (96, 64)).astype(np.float32)
    made = tilewright.compile(kernel, out_idx=[2], pass_configs={config: True})
    np.testing.assert_array_equal(made(a, b), a @ b)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_a_tensor_at_the_address_of_a_tile(target):
    """What is stored to one is read of the other, whichever of two it is."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), B: T.Tensor((2,), "int32"), which: T.int32):
        with T.Kernel(1, threads=1) as _:
            a = T.alloc_shared((8, 8), "int32")
            b = T.alloc_shared((64,), "int32")
            T.copy(A, T.view(a, (64,)))
            T.copy(A, b)
            place = T.if_then_else(which == 0, T.address_of(a[0, 0]), T.address_of(b[0]))
            chosen = T.make_tensor_from_addr(place, (64,), "int32")
            a[1, 1] = 5
            b[9] = 6
            chosen[9] = 7
            B[0] = a[1, 1]
            B[1] = b[9]

    a = np.arange(64, dtype=np.int32)
    kernel = tilewright.compile(kernel, out_idx=[1], target=target)
    np.testing.assert_array_equal(kernel(a, 0), [7, 6])
    np.testing.assert_array_equal(kernel(a, 1), [5, 7])
