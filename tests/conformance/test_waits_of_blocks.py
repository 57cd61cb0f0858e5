# SPDX-License-Identifier: Apache-2.0
"""Blocks that wait for others in loops on atomics: the interpreter has blocks take turns there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import KernelError, TilewrightWarning

K, N = 4, 40
LATE = (
    "block {} waits here for a later block, which need not begin before this one has ended; a "
    "block may wait for earlier ones, or for all in a launch with T.sync_grid"
)
ENDLESS = "this loop never ends: all of the kernel's memory is as it was 1 turn before"


def zeros(*shape):
    return np.zeros(shape, np.int32)


def run(kernel, *arrays):
    """On the interpreter: what it warned of, and where."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tilewright.compile(kernel, target="reference")(*arrays)
    assert all(warning.category is TilewrightWarning for warning in told)
    assert all(warning.filename == __file__ for warning in told)
    return [str(warning.message) for warning in told]


def wrong(kernel, *arrays):
    with pytest.raises(KernelError) as said:
        tilewright.compile(kernel, target="reference")(*arrays)
    return str(said.value)


def pair(first, load="acquire", counts=False, views=False):
    """One of two blocks waits for what the other one, `first`, stores."""

    @T.prim_func
    def kernel(
        Flag: T.Tensor((1,), "int32"), X: T.Tensor((1,), "int32"), Out: T.Tensor((2,), "int32")
    ):
        with T.Kernel(2, threads=1) as bx:
            if bx == first:
                X[0] = 7
                T.atomic_store(Flag[0], 1, memory_order="release")
            else:
                tries = T.alloc_var("int32", 0)
                while T.atomic_load(Flag[0], memory_order=load) == 0:
                    if counts:
                        tries += 1
                Out[0] = X[0] + 1
                if views:
                    halves = T.view(Out, (4,), "int16")
                    halves[2] = 3

    return kernel


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_one_block_waits_for_another(first, counts, views):
    out = zeros(2)
    told = run(pair(first, counts=counts, views=views), zeros(1), zeros(1), out)
    assert out.tolist() == [8, 3 if views else 0]
    # Where it also counts its turns, or memory has two names, it may be waiting for itself.
    assert told == ([LATE.format(0)] if first == 1 and not counts and not views else [])


@pytest.mark.parametrize("first", [0, 1])
def test_such_a_wait_without_an_order(first):
    kernel = pair(first, load="relaxed")
    message = "two blocks of the grid use element [0] of 'X', and one of them writes it"
    assert message in wrong(kernel, zeros(1), zeros(1), zeros(2))


def line(downwards, threads):
    """Each block waits for the one beside it, and adds to what that left."""

    @T.prim_func
    def kernel(Flag: T.Tensor((K + 1,), "int32"), Sum: T.Tensor((threads,), "int32")):
        with T.Kernel(K, threads=threads) as bx:
            tx = T.get_thread_binding()
            place = T.if_then_else(downwards, K - 1 - bx, bx)
            if tx == 0:
                while T.atomic_load(Flag[place], memory_order="acquire") == 0:
                    T.evaluate(0)
            T.sync_threads()
            Sum[tx] = Sum[tx] * 2 + place + tx
            T.sync_threads()
            if tx == 0:
                T.atomic_store(Flag[place + 1], 1, memory_order="release")

    return kernel


@pytest.mark.parametrize("threads", [1, N])
@pytest.mark.parametrize("downwards", [False, True])
def test_a_line_of_blocks(downwards, threads):
    flags, out, expected = zeros(K + 1), zeros(threads), np.zeros(threads, np.int32)
    flags[0] = 1
    for place in range(K):
        expected = expected * 2 + place + np.arange(threads)
    assert run(line(downwards, threads), flags, out) == ([LATE.format(0)] if downwards else [])
    np.testing.assert_array_equal(out, expected)
    assert flags.tolist() == [1] * (K + 1)


def meeting(order, threads):
    """Blocks count those that came, and each goes on when all have: a barrier made of atomics. As
    the launch has a T.sync_grid, too, all of its blocks run at once, on each target."""

    @T.prim_func
    def kernel(
        A: T.Tensor((K, threads), "int32"),
        Count: T.Tensor((3,), "int32"),
        B: T.Tensor((3, K, threads), "int32"),
    ):
        with T.Kernel(K, threads=threads) as bx:
            tx = T.get_thread_binding()
            kept = T.alloc_var("int32", A[bx, tx])
            for turn in T.serial(3):
                B[turn, bx, tx] = kept
                T.sync_threads()
                if tx == 0:
                    T.atomic_add(Count[turn], 1, memory_order=order)
                    while T.atomic_load(Count[turn], memory_order="acquire") < K:
                        T.evaluate(0)
                T.sync_threads()
                kept = B[turn, (bx + 1) % K, tx] + turn
            T.sync_grid()
            B[0, bx, tx] = kept

    return kernel


@pytest.mark.parametrize("threads", [1, N])
def test_a_barrier_made_of_atomics(agree, threads):
    a = np.arange(K * threads, dtype=np.int32).reshape(K, threads)
    turns = [np.roll(a, -turn, 0) + turn * (turn - 1) // 2 for turn in range(4)]
    arguments = [a, zeros(3), zeros(3, K, threads)]
    wanted = {1: np.full(3, K, np.int32), 2: np.stack([turns[3], turns[1], turns[2]])}
    agree(meeting("release", threads), arguments, wanted)
    message = "two blocks of the grid use element"
    assert message in wrong(meeting("relaxed", threads), *[a.copy() for a in arguments])


@pytest.mark.parametrize("together", [False, True])
def test_blocks_that_give_each_other_turns(together):
    """After a turn of both, memory is as it was before: they have come further all the same."""

    @T.prim_func
    def kernel(Flag: T.Tensor((1,), "int32"), Out: T.Tensor((2,), "int32")):
        with T.Kernel(2, threads=1) as bx:
            for _ in T.serial(5):
                while T.atomic_load(Flag[0], memory_order="acquire") != bx:
                    T.evaluate(0)
                T.atomic_store(Flag[0], 1 - bx, memory_order="release")
            if together:
                T.sync_grid()
            Out[bx] = 5

    out = zeros(2)
    assert run(kernel, zeros(1), out) == ([] if together else [LATE.format(0)])
    assert out.tolist() == [5, 5]


def test_waits_that_nobody_ends():
    @T.prim_func
    def alone(Flag: T.Tensor((1,), "int32")):
        with T.Kernel(3, threads=1) as bx:
            if bx != 1:
                while T.atomic_load(Flag[0]) == 0:
                    T.evaluate(0)

    said = wrong(alone, zeros(1))
    assert ENDLESS in said
    assert "while T.atomic_load(Flag[0]) == 0:" in said
    run(alone, np.ones(1, np.int32))

    @T.prim_func
    def crossed(Flag: T.Tensor((2,), "int32")):
        with T.Kernel(2, threads=1) as bx:
            while T.atomic_load(Flag[1 - bx]) == 0:
                T.evaluate(0)
            T.atomic_store(Flag[bx], 1)

    assert ENDLESS in wrong(crossed, zeros(2))

    @T.prim_func
    def behind_the_barrier(Flag: T.Tensor((1,), "int32")):
        with T.Kernel(2, threads=1) as bx:
            if bx == 0:
                while T.atomic_load(Flag[0]) == 0:
                    T.evaluate(0)
            T.sync_grid()
            T.atomic_store(Flag[0], 1)

    assert ENDLESS in wrong(behind_the_barrier, zeros(1))


def test_a_wait_that_is_no_atomic():
    """Nothing says that another block may end it."""

    @T.prim_func
    def kernel(Flag: T.Tensor((1,), "int32")):
        with T.Kernel(2, threads=1) as bx:
            if bx == 0:
                while Flag[0] == 0:
                    T.evaluate(0)
            else:
                T.atomic_store(Flag[0], 1)

    assert ENDLESS in wrong(kernel, zeros(1))


def test_blocks_of_a_second_launch_are_counted_anew():
    @T.prim_func
    def waits(Flag: T.Tensor((1,), "int32")):
        with T.Kernel(5, threads=1):
            T.evaluate(0)
        with T.Kernel(3, threads=1) as bx:
            if bx == 2:
                T.atomic_store(Flag[0], 1)
            elif bx == 1:
                while T.atomic_load(Flag[0]) == 0:
                    T.evaluate(0)

    assert run(waits, zeros(1)) == [LATE.format(1)]

    @T.prim_func
    def leaves(Out: T.Tensor((4,), "int32")):
        with T.Kernel(5, threads=1):
            T.evaluate(0)
        with T.Kernel(2, threads=1) as bx:
            if bx > 0:
                T.sync_grid()
            Out[bx] = 1

    assert "block 1 waits here for block 0, which has ended" in wrong(leaves, zeros(4))
