# SPDX-License-Identifier: Apache-2.0
"""T.thread_return: threads, or whole blocks, that end before the rest of their launch."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.fixture
def floats(random):
    return lambda *shape: random.standard_normal(shape).astype("float32")


def test_thread_return_of_single_threads(agree, floats):
    """Also under two branches, where only some of those in the outer one end."""

    @T.prim_func
    def kernel(A: T.Tensor((100,), "float32"), B: T.Tensor((100,), "float32")):
        with T.Kernel(4, threads=32) as block:
            i = block * 32 + T.get_thread_binding()
            if i >= 100:
                T.thread_return()
            x = A[i]
            if x < 0:
                B[i] = 0.0
                if x < -1:
                    B[i] = -1.0
                    T.thread_return()
                B[i] = 0.5
            B[i] = B[i] + x

    a = floats(100)
    expected = np.where(a < -1, np.float32(-1), np.where(a < 0, np.float32(0.5) + a, a))
    agree(kernel, [a, np.zeros_like(a)], {1: expected})


@pytest.mark.parametrize("ends", [False, True])
def test_thread_return_of_blocks(agree, floats, ends):
    """The next launch runs with all blocks again; one in a macro, on all ways, ends its caller."""
    n = T.dynamic("n")

    @T.macro
    def note(C, block):
        C[block] = 5.0
        if ends:
            T.thread_return()

    @T.prim_func
    def kernel(
        A: T.Tensor((n, 16), "float32"),
        B: T.Tensor((n, 16), "float32"),
        C: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(8, threads=32) as block:
            if block >= n:
                T.thread_return()
            tile = T.alloc_shared((16,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            T.copy(A[block, :], tile)
            T.reduce_max(tile, largest, dim=0)
            if block % 2 == 0:
                note(C, block)
            else:
                note(C, block)
            for j in T.Parallel(16):
                B[block, j] = tile[j] - largest[0]
        with T.Kernel(8, threads=32) as block:
            C[block] = C[block] + 1.0

    a = floats(5, 16)
    expected = np.zeros_like(a) if ends else a - a.max(1, keepdims=True)
    marks = np.array([6] * 5 + [1] * 3, "float32")
    agree(kernel, [a, np.zeros_like(a), np.zeros(8, "float32")], {1: expected, 2: marks})


def test_thread_return_before_a_barrier(agree, floats):
    """Those that go on wait for each other only."""

    @T.prim_func
    def kernel(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            t = T.get_thread_binding()
            tile = T.alloc_shared((128,), "float32")
            if t >= 64:
                T.thread_return()
            tile[t] = A[t]
            T.sync_threads()
            B[t] = tile[63 - t]

    a = floats(128)
    expected = np.concatenate([a[63::-1], np.zeros(64, "float32")])
    agree(kernel, [a, np.zeros_like(a)], {1: expected})


def in_a_loop(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32) as block:
        for k in T.serial(4):
            if block > k:
                T.thread_return()
            A[block] = 1.0


@T.macro
def perhaps(block):
    if block > 2:
        T.thread_return()


def in_a_branch_of_a_macro(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32) as block:
        perhaps(block)
        A[block] = 1.0


@T.macro
def surely():
    T.thread_return()


def in_a_macro_of_one_way(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32) as block:
        if block > 2:
            surely()
        A[block] = 1.0


def outside(A: T.Tensor((4,), "float32")):
    T.thread_return()
    with T.Kernel(4, threads=32) as block:
        A[block] = 1.0


MACRO = "T.thread_return in a macro, on one way of a branch, is not supported; put what follows"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (in_a_loop, "T.thread_return in a loop, a 'with' or an expression is not supported; put"),
        (in_a_branch_of_a_macro, MACRO),
        (in_a_macro_of_one_way, MACRO),
        (outside, "T.thread_return stands outside of T.Kernel"),
    ],
)
def test_thread_return_where_it_cannot_be(kernel, message):
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(T.prim_func(kernel))
    assert [d.message[: len(message)] for d in caught.value.errors] == [message]
