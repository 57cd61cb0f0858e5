# SPDX-License-Identifier: Apache-2.0
"""T.copy between what is a thread's own (T.alloc_local) and memory of all: each thread does it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T

N = T.dynamic("n")


@pytest.fixture
def rows(random):
    return random.standard_normal((50, 4)).astype(np.float32)


@pytest.mark.parametrize("guarded", [False, True])
def test_rows_of_threads(agree, random, guarded):
    @T.prim_func
    def kernel(A: T.Tensor((N, 4), "float32"), B: T.Tensor((N, 4), "float32")):
        with T.Kernel(2, threads=32) as block:
            row = block * 32 + T.get_thread_binding()
            own = T.alloc_local((4,), "float32")
            if not guarded or row < N:
                T.copy(A[row, :], own)
                for j in T.unroll(4):
                    own[j] = own[j] * 2.0
                T.copy(own, B[row, :])

    a = random.standard_normal((50 if guarded else 64, 4)).astype(np.float32)
    agree(kernel, [a, np.zeros_like(a)], {1: a * 2})


def test_some_threads_copy(agree, rows):
    """Which ones only the data say, and in some turns only."""

    @T.prim_func
    def kernel(A: T.Tensor((N, 4), "float32"), B: T.Tensor((N, 4), "float32")):
        with T.Kernel(2, threads=32) as block:
            thread = T.get_thread_binding()
            row = block * 32 + thread
            if row < N:
                own = T.alloc_local((4,), "float32")
                T.copy(A[row, :], own)
                if own[0] < 0:
                    T.copy(own, B[row, :])
                turns = T.alloc_var("float32", 0.0)
                for _ in range(thread % 4):
                    T.copy(own[2:4], B[row, 2:4])
                    turns += 1
                B[row, 1] = turns

    expected = np.where(rows[:, :1] < 0, rows, 0)
    turns = np.arange(50) % 32 % 4
    expected[:, 2:] = np.where((turns > 0)[:, None], rows[:, 2:], expected[:, 2:])
    expected[:, 1] = turns
    agree(kernel, [rows, np.zeros_like(rows)], {1: expected})


def test_to_a_shared_tile(agree, rows):
    """A barrier stands before others read what threads have copied."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 4), "float32"), B: T.Tensor((32, 4), "float32")):
        with T.Kernel(1, threads=32):
            thread = T.get_thread_binding()
            tile = T.alloc_shared((32, 4), "float32")
            own = T.alloc_local((4,), "float32")
            T.copy(A[thread, :], own)
            T.copy(own, tile[thread, :])
            for j in T.serial(4):
                B[thread, j] = tile[31 - thread, j]

    a = rows[:32]
    agree(kernel, [a, np.zeros_like(a)], {1: a[::-1]})


def test_one_array_of_all(agree, rows):
    """Where nothing tells threads apart it happens once."""

    @T.prim_func
    def kernel(A: T.Tensor((50, 4), "float32"), B: T.Tensor((50, 4), "float32")):
        with T.Kernel(50, threads=32) as block:
            own = T.alloc_local((4,), "float32")
            T.copy(A[block, :], own)
            T.copy(own, B[block, :])

    agree(kernel, [rows, np.zeros_like(rows)], {1: rows})
