# SPDX-License-Identifier: Apache-2.0
"""Loops with shuffles that begin elsewhere in each thread: as many turns in all of them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


@pytest.mark.parametrize("count", [0, 40, 64, 96])
def test_strided_loops_with_votes(agree, random, count):
    """The second warp has nothing to do where `count` is small: its end lies before its start."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((128,), "uint32")):
        with T.Kernel(1, threads=64):
            thread = T.get_thread_binding()
            lane, warp = thread % 32, thread // 32
            start = warp * 64
            end = T.min(start + 64, n)
            for i in T.serial(start + lane, T.align_up(end, 32), 32):
                value = T.if_then_else(i < n, A[i], 0)
                B[i] = T.cast(T.ballot(value > 0), "uint32")

    a = random.integers(-4, 4, count).astype(np.int32)
    expected = np.zeros(128, np.uint32)
    for first in range(0, -(-count // 32) * 32, 32):
        positive = np.flatnonzero(a[first : first + 32] > 0)
        expected[first : first + 32] = sum(1 << int(lane) for lane in positive)
    agree(kernel, [a, np.zeros(128, np.uint32)], {1: expected})


def test_unit_loops_from_each_lane(agree, random):
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            lane = T.get_thread_binding()
            total = T.alloc_var("float32", 0.0)
            for i in T.serial(lane, lane + 8):
                total += T.shfl_xor(A[i], 1)
            B[lane] = total

    a = random.integers(-9, 9, 64).astype(np.float32)
    sums = np.array([a[lane : lane + 8].sum() for lane in range(32)], np.float32)
    agree(kernel, [a, np.zeros(32, np.float32)], {1: sums[np.arange(32) ^ 1]})
