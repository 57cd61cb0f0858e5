# SPDX-License-Identifier: Apache-2.0
"""Threads that hand shared memory over to each other wait for each other, without being told."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T

N = 64


def numbers(count=N):
    return np.arange(count, dtype=np.int32)


def test_reading_what_another_thread_wrote(agree):
    @T.prim_func
    def reversed_(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            s[tx] = A[tx]
            B[tx] = s[N - 1 - tx]

    agree(reversed_, [numbers(), np.zeros(N, np.int32)], {1: numbers()[::-1]})


def test_loops_hand_over_to_their_next_iteration(agree):
    """A butterfly: each iteration reads what others wrote, and then overwrites it."""

    @T.prim_func
    def butterfly(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            v = T.alloc_var("int32", init=A[tx])
            for i in T.serial(6):
                s[tx] = v
                v = v + s[tx ^ (1 << i)]
            B[tx] = v

    total = np.full(N, numbers().sum(), np.int32)
    agree(butterfly, [numbers(), np.zeros(N, np.int32)], {1: total})


def test_one_thread_works_for_all(agree):
    @T.prim_func
    def first(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            t = T.alloc_shared((1,), "int32")
            s[tx] = A[tx]
            if tx == 0:
                t[0] = 0
                for i in T.serial(N):
                    t[0] += s[i]
            B[tx] = t[0]

    total = np.full(N, numbers().sum(), np.int32)
    agree(first, [numbers(), np.zeros(N, np.int32)], {1: total})


def test_a_tree_of_sums(agree):
    """Some threads only, in a loop whose stride is a variable."""

    @T.prim_func
    def tree(A: T.Tensor((N,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            stride = T.alloc_var("int32", init=N // 2)
            s[tx] = A[tx]
            while stride > 0:
                if tx < stride:
                    s[tx] += s[tx + stride]
                stride = stride // 2
            if tx == 0:
                B[0] = s[0]

    agree(tree, [numbers(), np.zeros(1, np.int32)], {1: np.array([numbers().sum()], np.int32)})


def test_atomics_between_stores_and_loads(agree):
    @T.prim_func
    def counted(A: T.Tensor((N,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=(4, 16)):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            s = T.alloc_shared((4,), "int32")
            if ty == 0:
                s[tx] = 0
            T.atomic_add(s[tx], A[ty * 4 + tx])
            B[tx] = s[tx]

    sums = numbers().reshape(16, 4).sum(0).astype(np.int32)
    agree(counted, [numbers(), np.zeros(4, np.int32)], {1: sums})


def test_views_and_tiles_of_a_thread(agree):
    """One memory under two shapes; a copy that each thread does for itself."""

    @T.prim_func
    def viewed(A: T.Tensor((N,), "int32"), B: T.Tensor((N, 2), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            pairs = T.view(s, (N // 2, 2))
            own = T.alloc_local((2,), "int32")
            s[tx] = A[tx]
            T.copy(pairs[(tx + 8) % (N // 2), 0:2], own)
            B[tx, 0] = own[0]
            B[tx, 1] = own[1]

    rows = (numbers() + 8) % (N // 2)
    expected = numbers().reshape(N // 2, 2)[rows]
    agree(viewed, [numbers(), np.zeros((N, 2), np.int32)], {1: expected})


@pytest.mark.parametrize("threads", [32, 48])
def test_rows_of_threads(agree, threads):
    """An index of a division and a remainder of the thread's number, and what lies beside it."""

    @T.prim_func
    def rows(A: T.Tensor((threads, 4), "int32"), B: T.Tensor((threads,), "int32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            s = T.alloc_shared((threads // 8, 32), "int32")
            for j in T.serial(4):
                s[tx // 8, tx % 8 * 4 + j] = A[tx, j]
            total = T.alloc_var("int32", init=0)
            for j in T.serial(32):
                total += s[tx // 8, j]
            B[tx] = total

    a = numbers(threads * 4).reshape(threads, 4)
    expected = np.repeat(a.reshape(threads // 8, 32).sum(1), 8).astype(np.int32)
    agree(rows, [a, np.zeros(threads, np.int32)], {1: expected})


def test_atomic_tiles_into_tensors_of_more_dims(agree):
    """Unit dims of the target, in front and in the middle, match nothing of the tile."""

    @T.prim_func
    def sums(P: T.Tensor((4, 3, 4), "float32"), Q: T.Tensor((3, 10, 10), "float32")):
        with T.Kernel(3, threads=32) as h:
            o = T.alloc_fragment((4, 4), "float32")
            for i, j in T.Parallel(4, 4):
                o[i, j] = i * 4 + j
            T.atomic_add(P[0:4, h, 0:4], o)
            T.atomic_add(Q[h, 2:6, 3:7], o)

    tile = np.arange(16, dtype=np.float32).reshape(4, 4)
    o, q = np.ones((4, 3, 4), np.float32), np.zeros((3, 10, 10), np.float32)
    expected = q.copy()
    expected[:, 2:6, 3:7] += tile
    agree(sums, [o, q], {0: o + tile[:, None, :], 1: expected})


@pytest.mark.parametrize("count", [128, 256, None])
@pytest.mark.parametrize("in_a_branch", [False, True])
def test_barriers_whose_number_is_computed(agree, count, in_a_branch):
    """Each group of 128 threads waits at its own barrier."""

    @T.prim_func
    def kernel(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            s = T.alloc_shared((256,), "int32")
            if in_a_branch:
                if tx < 128:
                    s[tx] = A[tx]
                    T.sync_threads(1 + tx // 128, count)
                    B[tx] = s[127 - tx]
                else:
                    s[tx] = A[tx]
                    T.sync_threads(1 + tx // 128, count)
                    B[tx] = s[383 - tx]
            else:
                s[tx] = A[tx]
                T.sync_threads(1 + tx // 128, count)
                B[tx] = s[tx // 128 * 128 + 127 - tx % 128]

    a = numbers(256)
    agree(kernel, [a, np.zeros(256, np.int32)], {1: a.reshape(2, 128)[:, ::-1].reshape(-1)})
