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


def test_thread_return_in_a_loop(agree, floats):
    """Of threads, each in a turn of its own, also in a branch; what follows is for the others."""

    @T.prim_func
    def kernel(
        A: T.Tensor((128, 8), "float32"),
        B: T.Tensor((128,), "float32"),
        C: T.Tensor((128,), "float32"),
    ):
        with T.Kernel(2, threads=64) as block:
            t = block * 64 + T.get_thread_binding()
            total = T.alloc_var("float32", init=0.0)
            if t < 120:
                for k in T.serial(8):
                    if A[t, k] < -1:
                        C[t] = k
                        T.thread_return()
                    else:
                        total += A[t, k]
                    total += 1.0
                B[t] = total
            B[t] = B[t] + 1.0

    a = floats(128, 8)
    ends = a < -1
    ends[120:] = False
    turn = np.where(ends.any(1), ends.argmax(1), 9).astype("float32")
    rest = np.where(np.arange(128) < 120, a.sum(1) + 8, 0) + 1
    expected = np.where(ends.any(1), 0, rest).astype("float32")
    nines = np.full(128, 9, "float32")
    agree(kernel, [a, np.zeros(128, "float32"), nines], {1: expected, 2: turn})


@pytest.mark.parametrize("last", [False, True])
def test_thread_return_in_loops_of_blocks(agree, floats, last):
    """A nested search, and tiles behind it; with a return at the end of the outer loop's turn."""

    @T.prim_func
    def kernel(
        A: T.Tensor((16, 4, 32), "float32"),
        B: T.Tensor((16, 32), "float32"),
        C: T.Tensor((16,), "int32"),
    ):
        with T.Kernel(16, threads=64) as block:
            tile = T.alloc_shared((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.clear(total)
            for k in T.serial(4):
                T.copy(A[block, k, :], tile)
                j = T.alloc_var("int32", init=0)
                while j < 32:
                    if A[block, k, j] > 2:
                        C[block] = k * 32 + j
                        T.thread_return()
                    j += 1
                for i in T.Parallel(32):
                    total[i] += tile[i]
                if last:
                    T.thread_return()
            if block % 2 == 0:
                T.copy(total, B[block, :])

    a = floats(16, 4, 32)
    found = (a > 2).reshape(16, -1)[:, : 32 if last else None]
    at = np.where(found.any(1), found.argmax(1), -1).astype("int32")
    goes_on = ~found.any(1) & (np.arange(16) % 2 == 0) & (not last)
    expected = np.where(goes_on[:, None], a.sum(1), 0).astype("float32")
    outputs = [np.zeros((16, 32), "float32"), np.full(16, -1, "int32")]
    agree(kernel, [a, *outputs], {1: expected, 2: at})


def in_a_nest(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32):
        for k in T.Parallel(4):
            if A[k] > 1:
                T.thread_return()


def in_a_grid(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32):
        for i, j in T.grid(2, 2):
            if A[i * 2 + j] > 1:
                T.thread_return()


def in_a_python_loop(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32):
        for k in [1, 2]:
            if A[k] > 1:
                T.thread_return()


def in_a_loop_of_launches(A: T.Tensor((4,), "float32")):
    for k in T.serial(2):
        with T.Kernel(4, threads=32):
            if A[k] > 1:
                T.thread_return()


def in_an_open_loop(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32):
        k = T.serial(4)
        if A[k] > 1:
            T.thread_return()


def in_a_with(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=256):
        with T.ws(0):
            T.thread_return()
        A[0] = 1.0


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


def in_a_loop_of_a_macro(A: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32):
        for _ in T.serial(4):
            surely()


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
        (in_a_nest, "T.thread_return in T.Parallel is not supported; put what follows under the"),
        (in_a_grid, "T.thread_return in a loop over several ranges is not supported; put what"),
        (in_a_python_loop, "T.thread_return in a loop that runs while compiling is not supported"),
        (in_a_loop_of_launches, "T.thread_return in a loop that runs while compiling is not"),
        (in_an_open_loop, "T.thread_return in a loop without 'for' is not supported; put what"),
        (in_a_with, "T.thread_return in a 'with' or an expression is not supported; put what"),
        (in_a_loop_of_a_macro, "T.thread_return in a macro that a loop calls is not supported"),
        (in_a_branch_of_a_macro, MACRO),
        (in_a_macro_of_one_way, MACRO),
        (outside, "T.thread_return stands outside of T.Kernel"),
    ],
)
def test_thread_return_where_it_cannot_be(kernel, message):
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(T.prim_func(kernel))
    assert [d.message[: len(message)] for d in caught.value.errors] == [message]
