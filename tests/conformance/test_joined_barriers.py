# SPDX-License-Identifier: Apache-2.0
"""T.sync_threads on both sides of a branch on the thread's number: one barrier of all threads."""

from __future__ import annotations

from linecache import getline

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

N = 64


def numbers():
    return np.arange(1, N + 1, dtype=np.float32)


def test_threads_of_both_sides_exchange_numbers(agree):
    """What was loaded before the barrier is there behind it."""

    @T.prim_func
    def exchange(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "float32")
            if tx < 32:
                mine = A[tx]
                place = A[tx] > 0.0
                s[tx] = mine
                T.sync_threads()
                B[tx] = s[tx + 32] + T.if_then_else(place, mine, 0.0)
            else:
                count = T.alloc_var("int32", init=tx)
                s[tx] = A[tx] * 2
                T.sync_threads()
                B[tx] = s[tx - 32] + count
                T.sync_threads(1, 32)

    a = numbers()
    expected = np.concatenate([a[32:] * 2 + a[:32], a[:32] + np.arange(32, 64)])
    agree(exchange, [a, np.zeros(N, np.float32)], {1: expected.astype(np.float32)}, 0)


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_loops_of_both_sides(agree, turns):
    """Producer and consumer, whose loops have the same bounds; and one more branch of all."""

    @T.prim_func
    def pipeline(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), n: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((32,), "float32")
            total = T.alloc_var("float32", init=0.0)
            if tx < 32:
                for k in T.serial(n):
                    s[tx] = A[tx] + k
                    T.sync_threads()
                    T.sync_threads()
                if n > 1:
                    s[tx] = 100.0
                    T.sync_threads(2, N)
            else:
                for k in range(n):
                    T.sync_threads()
                    total += s[tx - 32] * k
                    T.sync_threads()
                if n > 1:
                    T.sync_threads(2, N)
                    total += s[63 - tx]
            B[tx] = total

    a, b = numbers(), np.zeros(N, np.float32)
    b[32:] = sum((a[:32] + k) * k for k in range(turns)) + (100 if turns > 1 else 0)
    agree(pipeline, [a, np.zeros(N, np.float32), turns], {1: b}, 0)


def test_a_side_of_conditions_that_nobody_knows(agree):
    """Nested branches, from inside out; threads of any pattern."""

    @T.prim_func
    def nested(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "float32")
            if A[tx] > 20.0:
                if tx % 2 == 0:
                    s[tx] = 1.0
                    T.sync_threads()
                else:
                    s[tx] = 2.0
                    T.sync_threads()
                    s[tx] = s[tx] + s[63 - tx]
            else:
                s[tx] = 4.0
                T.sync_threads()
            T.sync_threads()
            B[tx] = s[tx]

    a = numbers() * 1.5 % 40
    first = np.where(a > 20, np.where(np.arange(N) % 2 == 0, 1, 2), 4).astype(np.float32)
    later = first + first[::-1]
    expected = np.where((a > 20) & (np.arange(N) % 2 == 1), later, first)
    mixed = (a > 20) & (np.arange(N) % 2 == 1)
    assert not (mixed & mixed[::-1]).any()  # else they race
    agree(nested, [a, np.zeros(N, np.float32)], {1: expected}, 0)


def test_barriers_that_have_no_other():
    @T.prim_func
    def alone(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 32:
                T.sync_threads()
                A[tx] = 1.0
                T.sync_threads()
            else:
                T.sync_threads()

    @T.prim_func
    def other_loops(A: T.Tensor((N,), "float32"), n: T.int32):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            if tx < 32:
                for _ in T.serial(n):
                    T.sync_threads()
            else:
                for _ in T.serial(n + 1):
                    T.sync_threads()

    message = (
        "T.sync_threads on both sides of a branch is one barrier of all threads, but to this one "
        "no other of the other side belongs, which is not supported; let both sides have as many, "
        "in loops of the same bounds, or end the branch before it"
    )
    for kernel, more in ((alone, []), (other_loops, [2])):
        with pytest.raises(CompileError) as caught:
            tilewright.compile(kernel, target="cpu")
        (error,) = caught.value.errors
        assert error.message == message
        assert getline(error.place.file, error.place.line).strip() == "T.sync_threads()"
        with pytest.raises(tilewright.KernelError, match="no other of the other side belongs"):
            tilewright.compile(kernel, target="reference")(numbers(), *more)


def test_loops_of_other_turns_in_other_threads():
    """What all threads do together can't stand in them: an error when compiling, at the line."""

    @T.prim_func
    def copies(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "float32")
            for _ in T.serial(tx):
                T.copy(A, s)

    @T.prim_func
    def waits(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            for i in T.serial(0, N, tx + 1):
                A[i] = 1.0
                T.sync_threads()

    @T.prim_func
    def alike(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "float32")
            for _ in T.serial(tx // N + 1):
                T.copy(A, s)
            for _ in T.serial(tx):
                A[tx] += 1.0

    why = (
        " in a loop of other turns in other threads is not supported, as all of them take part in "
        "it; let its bounds be the same in all threads"
    )
    wrong = {copies: ("an operation on tiles", "T.copy(A, s)"), waits: ("T.sync_threads",) * 2}
    for kernel, (what, line) in wrong.items():
        with pytest.raises(CompileError) as caught:
            tilewright.compile(kernel, target="cpu")
        (error,) = caught.value.errors
        assert error.message == what + why
        assert getline(error.place.file, error.place.line).strip().startswith(line)
    for target in ("cpu", "reference"):
        a = numbers()
        tilewright.compile(alike, target=target)(a)
        np.testing.assert_array_equal(a, numbers() + np.arange(N))
