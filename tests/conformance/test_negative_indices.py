# SPDX-License-Identifier: Apache-2.0
"""Indices that are negative for all values of their variables count from the end."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


@pytest.mark.parametrize("loop", [T.serial, T.Parallel, T.unroll])
@pytest.mark.parametrize("space", ["tensor", "tile", "tensor of n"])
def test_what_is_always_negative(agree, loop, space):
    extent = T.dynamic("n") if space == "tensor of n" else 16

    @T.prim_func
    def kernel(A: T.Tensor((extent,), "int32"), B: T.Tensor((3, 4), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16,), "int32")
            T.copy(A[0:16], tile)
            source = tile if space == "tile" else A
            for i in loop(4):
                B[0, i] = source[-i - 1]
                B[1, i] = source[i - 4]
                B[i - i - 1, i] = source[2 * i - 16]

    a = np.arange(100, 116, dtype=np.int32)
    expected = np.stack([a[::-1][:4], a[-4:], a[0:8:2]])
    agree(kernel, [a, np.zeros((3, 4), np.int32)], {1: expected})


def test_what_is_negative_only_at_times_reads_nothing(agree):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.serial(4):
                B[i] = A[i - 2]

    a = np.arange(100, 116, dtype=np.int32)
    agree(kernel, [a, np.ones(4, np.int32)], {1: np.array([0, 0, 100, 101], np.int32)})


def test_a_halo_starts_before_its_tensor(agree):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32) as bx:
            tile = T.alloc_shared((8,), "int32")
            T.copy(A[bx * 8 - 3 : bx * 8 + 5], tile)
            T.copy(tile, B)

    a = np.arange(100, 116, dtype=np.int32)
    agree(kernel, [a, np.ones(8, np.int32)], {1: np.r_[[0, 0, 0], a[:5]].astype(np.int32)})
