# SPDX-License-Identifier: Apache-2.0
"""Eager kernels of packed tensors, whose extents and strides each call gives: as kernels of given
extents have them. Annotations are read where they stand, so they may name a test's parameters."""

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

pytest.importorskip("tilewright._runtime")


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float4_e2m1fn"])
def test_extents_of_the_call_count_packed_elements(dtype):
    """`int` is what the kernel of given extents has: two elements to a byte."""

    @tilewright.jit
    def given(A):
        A: T.Tensor[[int, int], dtype]
        B = T.empty(A.shape, "float32")
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(*A.shape):
                B[i, j] = A[i, j]
        return B

    @tilewright.jit
    def strided(A):
        A: T.StridedTensor[[int, int], [int, int], dtype]
        B = T.empty(A.shape, "float32")
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(*A.shape):
                B[i, j] = A[i, j]
        return B

    @tilewright.jit(out_idx=[-1])
    def declared(dtype):
        @T.prim_func
        def main(A: T.Tensor((3, 16), dtype), B: T.Tensor((3, 16), "float32")):
            with T.Kernel(1, threads=32):
                for i, j in T.Parallel(3, 16):
                    B[i, j] = A[i, j]

        return main

    held = np.arange(0, 192, 4, dtype=np.uint8).reshape(6, 8)
    held = held if dtype == "uint4" else held.view(np.int8)
    expected = np.asarray(declared(dtype)(np.ascontiguousarray(held[::2])))
    np.testing.assert_array_equal(given(np.ascontiguousarray(held[::2])), expected)
    np.testing.assert_array_equal(strided(held[::2]), expected)


def test_extents_and_dtype_of_pairs():
    """PyTorch's pairs of floats of 4 bits are elements of that dtype, two each."""
    torch = pytest.importorskip("torch")

    @tilewright.jit
    def widened(A: T.Tensor[[int, int], Any]):
        B = T.empty(A.shape, "float32")
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(*A.shape):
                B[i, j] = A[i, j]
        return B

    held = torch.arange(16, dtype=torch.uint8).reshape(2, 8).view(torch.float4_e2m1fn_x2)
    made = np.asarray(widened(held))
    table = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert made.shape == (2, 16)
    assert made[0, ::2].tolist() == table and made[1, ::2].tolist() == [-x for x in table]
    assert not made[:, 1::2].any()
