# SPDX-License-Identifier: Apache-2.0
"""Branches that part the threads of a warp, around what all of a warp do together."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

N = 96
TOLD = {
    "reference": "thread 32 waits here for threads that never come",
    "cpu": "the threads of a warp must agree here",
}

#: What a warp does together, in those threads below m.
TOGETHER = {
    "a shuffle": lambda v: T.shfl_xor(v, 1),
    "a vote": lambda v: T.cast(T.any_sync(v > 500), "int32"),
    "a barrier": lambda v: T.sync_warp(),
}


def numbers():
    return np.arange(N, dtype=np.int32) * 10


def run(kernel, target, *scalars):
    given = np.zeros(N, np.int32)
    tilewright.compile(kernel, target=target)(numbers(), given, *scalars)
    return given


@pytest.mark.parametrize("together", TOGETHER)
@pytest.mark.parametrize("is_else", [False, True])
def test_the_other_side_hands_over(together, is_else):
    """Its threads are a group; the warps of those below m may not be whole."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), m: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            v = T.alloc_var("int32", init=A[tx])
            w = T.alloc_var("int32", init=0)
            s[tx] = v
            if (tx >= m) if is_else else (tx < m):
                if is_else:
                    s[tx] = v + 1
                    w = s[tx ^ 2]
                elif together == "a barrier":
                    T.sync_warp()
                else:
                    w = TOGETHER[together](v)
            else:
                if not is_else:
                    s[tx] = v + 1
                    w = s[tx ^ 2]
                elif together == "a barrier":
                    T.sync_warp()
                else:
                    w = TOGETHER[together](v)
            B[tx] = w

    a, t = numbers(), np.arange(N)
    for m in (0, 32, 64, 96):
        below = {
            "a shuffle": a[t ^ 1],
            "a vote": (np.maximum.reduceat(a, range(0, N, 32))[t // 32] > 500).astype(np.int32),
            "a barrier": 0 * a,
        }[together]
        expected = np.where(t < m, below, a[t ^ 2] + 1)
        for target in ("reference", "cpu"):
            np.testing.assert_array_equal(run(kernel, target, m), expected)
    for target, message in TOLD.items():
        with pytest.raises(RuntimeError, match=message):
            run(kernel, target, 40)


@pytest.mark.parametrize("together", TOGETHER)
def test_what_no_thread_comes_to_is_no_error(together):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), n: T.int32, m: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            w = T.alloc_var("int32", init=0)
            if tx < m:
                if n < 2:
                    if together == "a barrier":
                        T.sync_warp()
                    else:
                        w = TOGETHER[together](A[tx])
                else:
                    for i in T.serial(n):
                        w += A[tx]
                        if tx >= 16:
                            if i < 0:
                                w = T.shfl_down(w, 1)
                            w += i
            else:
                for _ in T.serial(n - 5):
                    w -= T.shfl_up(A[tx], 1)
                w -= 3
            B[tx] = w

    t = np.arange(N)
    expected = np.where(t < 40, 3 * numbers() + np.where(t >= 16, 3, 0), -3)
    for target, message in TOLD.items():
        np.testing.assert_array_equal(run(kernel, target, 3, 40), expected)
        with pytest.raises(RuntimeError, match=message):
            run(kernel, target, 1, 40)
        run(kernel, target, 1, 64)
    with pytest.raises(RuntimeError, match=TOLD["cpu"]):
        run(kernel, "cpu", 7, 40)


def test_sides_of_one_warp_after_each_other():
    """Those who aren't neighbours, too, and a loop in which no shuffle is come to."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), n: T.int32, m: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            w = T.alloc_var("int32", init=0)
            if A[tx] % 20 == 0:
                w = 1
                if n > 5:
                    w = T.shfl_xor(w, 1)
                w += 1
            else:
                w = 5
                for i in T.serial(n):
                    w += i
                    if i > 5:
                        w = T.shfl_xor(w, 1)
            w += T.shfl_xor(w, m)
            B[tx] = w

    for target in TOLD:
        np.testing.assert_array_equal(run(kernel, target, 4, 2), np.tile([4, 22], N // 2))
        np.testing.assert_array_equal(run(kernel, target, 4, 1), np.full(N, 13))
