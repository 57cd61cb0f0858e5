# SPDX-License-Identifier: Apache-2.0
"""The interpreter reports threads of a block that use one element with no barrier between."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import KernelError

N = 64
RACE = r"two threads of the block, with no barrier between, use element \[{}\] of '{}', and {}"
PLAIN = "one of them writes it"


def race(kernel, message, *arrays):
    with pytest.raises(KernelError, match=message) as wrong:
        tilewright.compile(kernel, target="reference")(*arrays)
    return str(wrong.value)


def numbers(count=N):
    return np.arange(count, dtype=np.int32)


def test_all_threads_write_one_element():
    @T.prim_func
    def shared(Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((1,), "int32")
            s[0] = tx
            Out[tx] = s[0]

    assert "s[0] = tx" in race(shared, RACE.format(0, "s", PLAIN), numbers())

    @T.prim_func
    def tensor(Out: T.Tensor((N,), "int32")):
        with T.Kernel(2, threads=N) as bx:
            tx = T.get_thread_binding()
            Out[bx] = tx

    race(tensor, RACE.format(0, "Out", PLAIN), numbers())


def test_views_of_another_width():
    """The halves of a number are the number, too."""

    @T.prim_func
    def iterations(Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            words = T.alloc_shared((N,), "int32")
            halves = T.view(words, (2 * N,), "int16")
            T.fill(words, 0)
            for i in T.Parallel(N):
                halves[2 * i + 1] = i
                Out[i] = words[N - 1 - i]

    message = r"two iterations of the parallel loop use element \[\d+\] of 'words'"
    race(iterations, message, numbers())


def test_halves_that_are_apart_do_not_race(agree):
    @T.prim_func
    def apart(Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            words = T.alloc_shared((N // 2,), "int32")
            halves = T.view(words, (N,), "int16")
            halves[tx] = tx
            T.sync_threads()
            Out[tx] = words[tx // 2] + halves[tx]

    pairs = np.arange(N, dtype=np.int16).view(np.int32)
    agree(apart, [np.zeros(N, np.int32)], {0: np.repeat(pairs, 2) + numbers()})


def test_both_places_are_told():
    @T.prim_func
    def two_places(Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 40:
                Out[tx] = tx
            if tx >= 32:
                Out[tx - 30] = 1

    said = race(two_places, RACE.format(2, "Out", PLAIN), numbers())
    assert "Out[tx - 30] = 1" in said
    assert "the other one uses it here" in said
    assert "Out[tx] = tx" in said


def test_a_missing_barrier_of_global_memory():
    """Shared memory gets its barriers from the compiler; tensors don't."""

    @T.prim_func
    def missing(A: T.Tensor((N,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            A[tx] = tx + 100
            Out[tx] = A[N - 1 - tx]

    race(missing, RACE.format(32, "A", PLAIN), numbers(), numbers())

    @T.prim_func
    def of_a_warp(A: T.Tensor((N,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            A[tx] = tx + 100
            T.sync_warp()
            Out[tx] = A[N - 1 - tx]

    race(of_a_warp, RACE.format(63, "A", PLAIN), numbers(), numbers())

    @T.prim_func
    def overwritten(A: T.Tensor((N,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            for i in T.serial(2):
                A[tx] = tx + i
                T.sync_threads()
                Out[tx] = A[tx ^ 1]

    race(overwritten, RACE.format(0, "A", PLAIN), numbers(), numbers())


def test_plain_access_of_what_other_threads_update():
    @T.prim_func
    def looks(Count: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            T.atomic_add(Count[0], 1)
            Out[tx] = Count[0]

    message = RACE.format(0, "Count", "only one of them atomically")
    race(looks, message, np.zeros(1, np.int32), numbers())


def test_barriers_order_threads(agree):
    @T.prim_func
    def ordered(A: T.Tensor((N,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            for i in T.serial(3):
                A[tx] = A[tx] + i
                T.sync_threads()
                Out[tx] = A[N - 1 - tx]
                T.sync_threads()

    agree(ordered, [numbers(), np.zeros(N, np.int32)], {1: numbers()[::-1] + 3})

    @T.prim_func
    def warp_by_warp(A: T.Tensor((N,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            A[tx] = A[tx] + 1
            T.sync_warp()
            Out[tx] = A[tx ^ 31]

    expected = (numbers() + 1).reshape(2, 32)[:, ::-1].reshape(N)
    agree(warp_by_warp, [numbers(), np.zeros(N, np.int32)], {1: expected})

    @T.prim_func
    def tiles_and_threads(A: T.Tensor((N,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "int32")
            for _ in T.serial(2):
                T.copy(A, s)
                A[tx] = s[N - 1 - tx]
                T.copy(A, Out)

    agree(tiles_and_threads, [numbers(), np.zeros(N, np.int32)], {1: numbers()})


def test_threads_that_write_the_same_value(agree):
    """What all threads do alike, because nobody said `if tx == 0`, has one result."""

    @T.prim_func
    def alike(A: T.Tensor((N,), "int32"), Out: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            t = T.alloc_shared((1,), "int32")
            if A[tx] % 7 == 3:
                Out[1] = 1
            t[0] = 0
            T.atomic_add(t[0], A[tx])
            Out[0] = t[0]

    agree(alike, [numbers(), np.zeros(2, np.int32)], {1: np.array([2016, 1], np.int32)})


def test_threads_that_read_what_they_have_set_alike(agree):
    """Each reads its own value, and no order gives another one."""

    @T.prim_func
    def alike(A: T.Tensor((N,), "int32"), C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            C[0] = 5
            Out[tx] = C[0] + A[tx]
            T.sync_threads()
            C[0] = 7
            T.sync_warp()
            Out[tx] += C[0]

    agree(alike, [numbers(), np.zeros(1, np.int32), np.zeros(N, np.int32)], {2: numbers() + 12})


def test_barriers_make_no_race_of_what_is_set_alike(agree):
    """What was no race without a barrier is none with one."""

    @T.prim_func
    def warps(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            C[0] = 5
            T.sync_warp()
            if tx < 40:
                Out[tx] = C[0]
            C[0] = 5

    five = np.where(numbers() < 40, 5, 0).astype(np.int32)
    agree(warps, [np.zeros(1, np.int32), np.zeros(N, np.int32)], {1: five})

    @T.prim_func
    def block(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            C[0] = 5
            T.sync_threads()
            Out[tx] = C[0]
            C[0] = 5
            T.sync_threads()
            C[0] = tx // N
            Out[tx] += C[0]

    agree(block, [np.zeros(1, np.int32), np.zeros(N, np.int32)], {1: numbers() * 0 + 5})


def test_barriers_and_reads_by_those_who_have_not_written():
    """The value before the barrier is another one's, or isn't that of the tensor any more."""

    @T.prim_func
    def one_writes(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx == 0:
                C[0] = 5
            T.sync_threads()
            if tx < 32:
                Out[tx] = C[0]
            if tx == 40:
                C[0] = 5

    race(one_writes, RACE.format(0, "C", PLAIN), np.zeros(1, np.int32), numbers())

    @T.prim_func
    def changed(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            C[0] = 5
            T.fill(C, 6)
            Out[tx] = C[0]
            C[0] = 6

    race(changed, RACE.format(0, "C", PLAIN), np.zeros(1, np.int32), numbers())

    @T.prim_func
    def changed_by_no_thread(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx == 40:
                C[0] = 5
            T.sync_threads()
            T.fill(C, 7)
            T.sync_threads()
            if tx == 0:
                C[0] = 5
            if tx == 40:
                Out[0] = C[0]

    race(changed_by_no_thread, RACE.format(0, "C", PLAIN), np.zeros(1, np.int32), numbers())

    @T.prim_func
    def other_block(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            C[0] = 5 + 0 * T.get_thread_binding()
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            Out[tx] = C[0]
            C[0] = 5

    race(other_block, RACE.format(0, "C", PLAIN), np.zeros(1, np.int32), numbers())


def test_reads_of_what_only_others_have_set():
    @T.prim_func
    def last_reads(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < N - 1:
                C[0] = 5
            Out[tx] = C[0]

    race(last_reads, RACE.format(0, "C", PLAIN), np.zeros(1, np.int32), numbers())

    @T.prim_func
    def first_reads(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx > 0:
                C[0] = 5
            Out[tx] = C[0]

    race(first_reads, RACE.format(0, "C", PLAIN), np.zeros(1, np.int32), numbers())


def test_reads_between_two_values():
    """Another thread's write of the second value may come before the first one's read."""

    @T.prim_func
    def two_values(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx == 0:
                C[0] = 5
                Out[0] = C[0]
            C[0] = 7

    race(two_values, RACE.format(0, "C", PLAIN), np.zeros(1, np.int32), numbers())

    @T.prim_func
    def other_warp(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 32:
                C[0] = 5
                T.sync_warp()
                Out[tx] = C[0]
                T.sync_warp()
                C[0] = 7
            else:
                T.sync_warp()
                T.sync_warp()
                C[0] = 7

    race(other_warp, RACE.format(0, "C", PLAIN), np.zeros(1, np.int32), numbers())

    @T.prim_func
    def updated(C: T.Tensor((1,), "int32"), Out: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx == N - 1:
                T.atomic_add(C[0], 1)
            else:
                C[0] = 5
                Out[tx] = C[0]

    message = RACE.format(0, "C", "only one of them atomically")
    race(updated, message, np.zeros(1, np.int32), numbers())


def test_shuffles_atomics_and_own_elements(agree):
    @T.prim_func
    def sums(A: T.Tensor((N,), "int32"), Out: T.Tensor((N + 1,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            v = T.alloc_var("int32", init=A[tx])
            for i in T.serial(5):
                v += T.shfl_xor(v, 1 << i)
            Out[tx] = v
            Out[tx] = Out[tx] + 1
            if tx % 32 == 0:
                T.atomic_add(Out[N], v)

    halves = np.repeat(numbers().reshape(2, 32).sum(1), 32)
    expected = np.append(halves + 1, numbers().sum()).astype(np.int32)
    agree(sums, [numbers(), np.zeros(N + 1, np.int32)], {1: expected})


def test_an_atomic_and_a_plain_store_of_threads_that_nothing_tells_apart():
    @T.prim_func
    def counted(B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=64):
            T.atomic_add(B[0], 1)
            B[0] = 5

    @T.prim_func
    def ordered(B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=64):
            B[0] = 5
            T.sync_threads()
            T.atomic_add(B[0], 1)

    with pytest.raises(RuntimeError, match=r"two threads of the block, .*'B'"):
        tilewright.compile(counted, target="reference")(np.zeros(4, np.int32))
    made = np.zeros(4, np.int32)
    tilewright.compile(ordered, target="reference")(made)
    assert made[0] == 69


def test_iterations_take_turns_by_the_kernel_s_word(random):
    """A layout may give all iterations that share an element to one thread; then it is no race."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=64):
            sums = T.alloc_fragment((8, 8), "float32")
            T.clear(sums)
            for i, j in T.Parallel(8, 64):
                sums[i, j // 8] += A[i, j]
            T.copy(sums, B)

    a = random.integers(-9, 9, (8, 64)).astype(np.float32)
    b = np.zeros((8, 8), np.float32)
    with pytest.raises(KernelError, match="two iterations of the parallel loop use"):
        tilewright.compile(kernel, target="reference")(a, b)
    turns = {tilewright.PassConfigKey.TL_DISABLE_DATA_RACE_CHECK: True}
    for target in ("reference", "cpu"):
        tilewright.compile(kernel, target=target, pass_configs=turns)(a, b)
        np.testing.assert_array_equal(b, a.reshape(8, 8, 8).sum(2))
