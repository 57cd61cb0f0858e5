# SPDX-License-Identifier: Apache-2.0
"""Branches on the thread's number with operations on tiles: who takes one does them as a group."""

from __future__ import annotations

from linecache import getline

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

N = 64


def numbers(count=N, start=0):
    return np.arange(start, start + count, dtype=np.int32)


def test_a_copy_of_some_threads(agree):
    @T.prim_func
    def copied(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((N,), "int32")
            tx = T.get_thread_binding()
            if tx < 128:
                T.copy(A, s)
            if tx >= 192:
                B[tx - 192] = s[255 - tx]

    agree(copied, [numbers(), np.zeros(N, np.int32)], {1: numbers()[::-1]})


def test_two_sides_as_in_mhc(agree):
    """Each side has its own tiles, loops, reductions and pipelines."""

    @T.prim_func
    def sides(
        A: T.Tensor((8, N), "int32"), B: T.Tensor((8,), "int32"), C: T.Tensor((8, N), "int32")
    ):
        with T.Kernel(1, threads=96):
            all_ = T.alloc_shared((8, N), "int32")
            T.copy(A, all_)
            if T.get_thread_binding() < 32:
                x = T.alloc_fragment((8, N), "int32")
                largest = T.alloc_fragment((8,), "int32")
                T.copy(all_, x)
                for _ in T.serial(3):
                    T.reduce_max(x, largest, dim=1)
                    for i, j in T.Parallel(8, N):
                        x[i, j] = x[i, j] - largest[i] + i
                T.copy(largest, B)
            else:
                factor = T.alloc_shared((8,), "int32")
                for i in T.Parallel(8):
                    factor[i] = all_[i, 0] + 1
                for i in T.Pipelined(8, num_stages=2):
                    row = T.alloc_shared((N,), "int32")
                    T.copy(A[i, 0], row)
                    f = factor[i]
                    for j in T.Parallel(N):
                        row[j] = row[j] * f
                    T.copy(row, C[i, 0])

    a = numbers(8 * N).reshape(8, N)
    x = a.copy()
    for _ in range(3):
        largest = x.max(1)
        x = x - largest[:, None] + np.arange(8)[:, None]
    expected = {1: largest.astype(np.int32), 2: a * (a[:, :1] + 1)}
    agree(sides, [a, np.zeros(8, np.int32), np.zeros((8, N), np.int32)], expected)


def test_what_each_thread_does_beside_the_tiles(agree):
    """Variables, elements and barriers of the group; those of the other side don't wait."""

    @T.prim_func
    def beside(A: T.Tensor((N,), "int32"), B: T.Tensor((96,), "int32")):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            mine = T.alloc_var("int32", init=tx)
            if tx >= 32:
                T.copy(A, s)
                mine += s[tx - 32]
                T.sync_threads()
                s[95 - tx] = mine
                T.sync_threads(1, 64)
                mine = s[tx - 32]
                for i in T.Parallel(N):
                    s[i] += 1000
                mine += s[tx - 32]
            else:
                mine = -mine
            B[tx] = mine

    t = np.arange(32, 96)
    s = (t + t - 32)[::-1]
    expected = np.concatenate([-np.arange(32), s + s + 1000]).astype(np.int32)
    agree(beside, [numbers(), np.zeros(96, np.int32)], {1: expected})


@pytest.mark.parametrize("limit", [0, 1, 40, 96, 200])
def test_ranges_that_are_known_in_the_run(agree, limit):
    @T.prim_func
    def dynamic(A: T.Tensor((N,), "int32"), B: T.Tensor((2, N), "int32"), n: T.int32):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            s = T.alloc_shared((2, N), "int32")
            T.clear(s)
            if tx < n:
                T.copy(A, s[0, :])
                if tx >= 32 and n != 200:
                    for i in T.Parallel(N):
                        s[0, i] += 7
            else:
                T.fill(s[1, :], 3)
                if tx < N:
                    s[1, tx] += 1
            T.copy(s, B)

    first = numbers() * (limit > 0) + 7 * (32 < limit < 200)
    second = 3 * (limit < 96) + (np.arange(N) >= limit)
    expected = np.stack([first, second]).astype(np.int32)
    agree(dynamic, [numbers(), np.zeros((2, N), np.int32), limit], {1: expected})


@pytest.mark.parametrize("chosen", [0, 1, 2, 5])
def test_threads_on_both_sides_of_a_group(agree, chosen):
    """The other side is no range: each of its threads does what stands there, before or behind."""

    @T.prim_func
    def around(A: T.Tensor((N,), "int32"), B: T.Tensor((96,), "int32"), chosen: T.int32):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            s = T.alloc_shared((96,), "int32")
            t = T.alloc_shared((N,), "int32")
            s[tx] = tx
            if tx // 32 == chosen:
                T.copy(A, t)
                s[tx] = t[tx % 32]
            else:
                s[tx] = T.shfl_xor(tx, 1)
            if tx // 32 != 1:
                s[tx] += 1000
            else:
                T.copy(A, t)
                s[tx] += t[1]
            B[tx] = s[tx]

    t = np.arange(96)
    expected = np.where(t // 32 == chosen, 10 + t % 32, t ^ 1) + np.where(t // 32 != 1, 1000, 11)
    arguments = [numbers(start=10), np.zeros(96, np.int32), chosen]
    agree(around, arguments, {1: expected.astype(np.int32)})


def test_groups_in_groups_and_in_loops(agree):
    @T.prim_func
    def nested(A: T.Tensor((4, N), "int32"), B: T.Tensor((4, N), "int32")):
        with T.Kernel(2, threads=(32, 4)) as bx:
            x, y = T.get_thread_binding(0), T.get_thread_binding(1)
            t = y * 32 + x
            s, u = T.alloc_shared((N,), "int32"), T.alloc_shared((N,), "int32")
            for k in T.serial(2):
                T.copy(A[bx * 2 + k, 0], s)
                if y < 2:
                    for step in T.serial(3):
                        if t % 64 < 16:
                            for i in T.Parallel(N):
                                s[i] += 1
                        elif step == 1:
                            T.fill(u, 5)
                        if step == 2:
                            break
                    if bx == 1:
                        for i in T.Parallel(N):
                            s[i] += u[i]
                T.copy(s, B[bx * 2 + k, 0])

    a = numbers(4 * N).reshape(4, N)
    expected = a + 3 + np.array([0, 0, 5, 5], np.int32)[:, None]
    agree(nested, [a, np.zeros((4, N), np.int32)], {1: expected})


def test_one_thread_and_the_rest(agree):
    @T.prim_func
    def leader(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            c = T.alloc_fragment((1,), "int32")
            if tx == 0:
                T.copy(A, s)
                T.cumsum(s)
            else:
                T.fill(c, 9)
            B[tx] = s[tx] + c[0]

    expected = (np.cumsum(numbers()) + 9).astype(np.int32)
    agree(leader, [numbers(), np.zeros(N, np.int32)], {1: expected})


def test_groups_that_race():
    """Two groups, one tile and no barrier between: the interpreter says so."""

    @T.prim_func
    def races(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=96):
            s = T.alloc_shared((N,), "int32")
            if T.get_thread_binding() < 1:
                T.copy(A, s)
            else:
                for i in T.Parallel(N):
                    B[i] = s[i]

    with pytest.raises(RuntimeError, match="two threads of the block, with no barrier between"):
        tilewright.compile(races, target="reference")(numbers(), np.zeros(N, np.int32))


def test_what_no_group_can_do():
    @T.prim_func
    def wrong(A: T.Tensor((N,), "int32"), n: T.int32):
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            if tx % 2 == 0:
                T.copy(A, s)
            if tx // 32 == n:
                A[0] = 1
            else:
                for i in T.Parallel(N):
                    s[i] = 1
            if tx < 40:
                T.copy(A, s)
                T.sync_threads()
                A[tx] = T.shfl_xor(tx, 1)
            if tx < 64:
                T.sync_threads(1, 96)
                A[tx] = T.syncthreads_count(tx < 5)
            for _ in T.serial(4):
                if tx == 1:
                    T.copy(A, s)
                    break

    places = []
    for target in ("cpu", "reference"):
        with pytest.raises((CompileError, RuntimeError)) as caught:
            tilewright.compile(wrong, target=target)(numbers(), 1)
        found = caught.value.errors if target == "cpu" else []
        places += [(d.message, getline(d.place.file, d.place.line).strip()) for d in found]
        assert "in a branch of threads 0, 2, 4, .. is not supported" in str(caught.value)
    neighbours = (
        "is not supported, as the threads that share its work must be neighbours; take a range of "
        "threads, as `tx < 32`, or write it outside of the branch"
    )
    warps = (
        "is not supported, as it takes whole warps of 32 threads; let the branch begin and end at "
        "multiples of 32, or write it outside"
    )
    assert places == [
        (f"an operation on tiles in a branch of threads 0, 2, 4, .. {neighbours}", "T.copy(A, s)"),
        (f"T.Parallel in a branch of threads that are known only when it runs {neighbours}",
         "for i in T.Parallel(N):"),
        (f"T.sync_threads in a branch of threads 0 to 39 {warps}", "T.sync_threads()"),
        (f"a shuffle in a branch of threads 0 to 39 {warps}", "A[tx] = T.shfl_xor(tx, 1)"),
        ("a barrier for 96 threads in a branch of threads 0 to 63 is not supported, as the others "
         "don't come to it; end the branch, wait with T.sync_threads() for all threads, and go on "
         "in a second one", "T.sync_threads(1, 96)"),
        ("a vote in a branch of threads 0 to 63 is not supported, as all threads of the block take "
         "part in it; write it outside of the branch", "A[tx] = T.syncthreads_count(tx < 5)"),
        ("break in a branch of thread 1 is not supported, as the other threads go on in the loop; "
         "let all threads leave it, by a condition that is the same for them", "break"),
    ]  # fmt: skip
