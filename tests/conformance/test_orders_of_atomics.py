# SPDX-License-Identifier: Apache-2.0
"""Atomics with an order: what blocks and threads do around them is ordered, or is a race."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import KernelError

K, N = 4, 64
BLOCKS = r"two blocks of the grid use element \[{}\] of '{}', and {}"
THREADS = r"two threads of the block, with no barrier between, use element \[{}\] of '{}', and {}"
PLAIN, MIXED = "one of them writes it", "only one of them atomically"


def race(kernel, message, *arrays):
    with pytest.raises(KernelError, match=message) as wrong:
        tilewright.compile(kernel, target="reference")(*arrays)
    return str(wrong.value)


def zeros(*shape):
    return np.zeros(shape, np.int32)


def last_block_reduces(order, barriers=(True, True)):
    """Each block stores its part and takes a number; who has the last one adds up all parts."""
    before, behind = barriers

    @T.prim_func
    def kernel(
        A: T.Tensor((K, N), "int32"),
        Part: T.Tensor((K, N), "int32"),
        Count: T.Tensor((1,), "int32"),
        Out: T.Tensor((N,), "int32"),
    ):
        with T.Kernel(K, threads=N) as bx:
            tx = T.get_thread_binding()
            last = T.alloc_shared((1,), "int32")
            Part[bx, tx] = A[bx, tx] * 2
            if before:
                T.sync_threads()
            if tx == 0:
                last[0] = T.atomic_add(Count[0], 1, memory_order=order, return_prev=True)
            if behind:
                T.sync_threads()
                if last[0] == K - 1:
                    total = T.alloc_var("int32", 0)
                    for block in T.serial(K):
                        total += Part[block, tx]
                    Out[tx] = total
            elif bx == K - 1 and tx == 1:  # it doesn't wait for thread 0
                Out[tx] = Part[0, tx]

    return kernel


def parts():
    return np.arange(K * N, dtype=np.int32).reshape(K, N)


@pytest.mark.parametrize("order", ["acq_rel", "seq_cst"])
def test_the_last_block_reduces(agree, order):
    a = parts()
    arguments = [a, zeros(K, N), zeros(1), zeros(N)]
    wanted = {1: 2 * a, 2: np.array([K], np.int32), 3: 2 * a.sum(0, dtype=np.int32)}
    agree(last_block_reduces(order), arguments, wanted)


@pytest.mark.parametrize("order", ["relaxed", None, "acquire", "release", "consume"])
def test_half_an_order_is_none(order):
    message = BLOCKS.format("0, 0", "Part", PLAIN)
    said = race(last_block_reduces(order), message, parts(), zeros(K, N), zeros(1), zeros(N))
    assert "total += Part[block, tx]" in said
    assert "Part[bx, tx] = A[bx, tx] * 2" in said


def test_only_what_a_thread_knows_is_handed_on():
    """Without a barrier before the atomic the other threads' parts are not; without one behind it
    other threads don't know of them."""
    arrays = [parts(), zeros(K, N), zeros(1), zeros(N)]
    none_before = last_block_reduces("acq_rel", (False, True))
    race(none_before, BLOCKS.format("0, 1", "Part", PLAIN), *arrays)
    none_behind = last_block_reduces("acq_rel", (True, False))
    race(none_behind, BLOCKS.format("0, 1", "Part", PLAIN), *arrays)


def test_blocks_of_one_agent(agree):
    """The same with tiles, in blocks of one thread; the counter is set back for the next call."""

    @T.prim_func
    def kernel(
        A: T.Tensor((K, N), "float32"),
        Part: T.Tensor((K, N), "float32"),
        Count: T.Tensor((1,), "int32"),
        Out: T.Tensor((N,), "float32"),
    ):
        with T.Kernel(K, threads=1) as bx:
            tile = T.alloc_fragment((N,), "float32")
            total = T.alloc_fragment((N,), "float32")
            T.copy(A[bx, :], tile)
            T.copy(tile, Part[bx, :])
            last = T.atomic_add(Count[0], 1, memory_order="acq_rel", return_prev=True)
            if last == K - 1:
                T.clear(total)
                for block in T.serial(K):
                    T.copy(Part[block, :], tile)
                    for i in T.Parallel(N):
                        total[i] += tile[i]
                T.copy(total, Out)
                Count[0] = 0

    a = parts().astype(np.float32)
    arguments = [a, np.zeros((K, N), np.float32), zeros(1), np.zeros(N, np.float32)]
    agree(kernel, arguments, {1: a, 2: zeros(1), 3: a.sum(0)})


def chain(store, load, is_plain=False):
    """Each block waits for the one before, adds to what it left, and hands it on."""

    @T.prim_func
    def kernel(Flag: T.Tensor((K + 1,), "int32"), Sum: T.Tensor((N,), "int32")):
        with T.Kernel(K, threads=N) as bx:
            tx = T.get_thread_binding()
            if tx == 0 and bx > 0:
                while T.atomic_load(Flag[bx], memory_order=load) == 0:
                    T.evaluate(0)
            T.sync_threads()
            Sum[tx] = Sum[tx] * 2 + bx + tx
            T.sync_threads()
            if tx == 0:
                if is_plain:
                    Flag[bx + 1] = 1
                else:
                    T.atomic_store(Flag[bx + 1], 1, memory_order=store)

    return kernel


@pytest.mark.parametrize(("store", "load"), [("release", "acquire"), ("seq_cst", "consume")])
def test_a_block_waits_for_an_earlier_one(agree, store, load):
    expected = np.zeros(N, np.int32)
    for bx in range(K):
        expected = expected * 2 + bx + np.arange(N, dtype=np.int32)
    flags = np.array([0] + [1] * K, np.int32)
    agree(chain(store, load), [zeros(K + 1), zeros(N)], {0: flags, 1: expected})


def test_flags_without_an_order():
    plain = BLOCKS.format(0, "Sum", PLAIN)
    for store, load in [("relaxed", "acquire"), ("release", "relaxed")]:
        race(chain(store, load), plain, zeros(K + 1), zeros(N))
    mixed = BLOCKS.format(1, "Flag", MIXED)
    race(chain("release", "acquire", is_plain=True), mixed, zeros(K + 1), zeros(N))


def test_orders_reach_over_blocks_between(agree):
    """Block 2 knows by block 1 what block 0 did; what it did behind its store nobody knows."""

    def handed(late):
        @T.prim_func
        def kernel(
            Flag: T.Tensor((2,), "int32"), X: T.Tensor((2,), "int32"), Out: T.Tensor((1,), "int32")
        ):
            with T.Kernel(3, threads=1) as bx:
                if bx == 0:
                    X[0] = 5
                    T.atomic_store(Flag[0], 1, memory_order="release")
                    X[1] = 6
                elif bx == 1:
                    if T.atomic_load(Flag[0], memory_order="acquire") == 1:
                        T.atomic_store(Flag[1], 1, memory_order="release")
                else:
                    if T.atomic_load(Flag[1], memory_order="acquire") == 1:
                        Out[0] = X[1 if late else 0]

        return kernel

    reference = tilewright.compile(handed(late=False), target="reference")
    out = zeros(1)
    reference(zeros(2), zeros(2), out)
    assert out.tolist() == [5]
    race(handed(late=True), BLOCKS.format(1, "X", PLAIN), zeros(2), zeros(2), zeros(1))


def test_a_store_says_nothing_of_stores_before_it():
    """An update adds to what is handed on; a store hands on the work of its own block only."""

    def twice(is_update, order):
        @T.prim_func
        def kernel(
            Flag: T.Tensor((1,), "int32"), X: T.Tensor((2,), "int32"), Out: T.Tensor((1,), "int32")
        ):
            with T.Kernel(3, threads=1) as bx:
                if bx < 2:
                    X[bx] = bx + 1
                    if is_update:
                        T.atomic_add(Flag[0], 1, memory_order=order)
                    else:
                        T.atomic_store(Flag[0], 2, memory_order=order)
                else:
                    if T.atomic_load(Flag[0], memory_order="acquire") == 2:
                        Out[0] = X[0] + X[1]

        return kernel

    out = zeros(1)
    tilewright.compile(twice(True, "release"), target="reference")(zeros(1), zeros(2), out)
    assert out.tolist() == [3]
    race(twice(False, "release"), BLOCKS.format(0, "X", PLAIN), zeros(1), zeros(2), zeros(1))
    race(twice(True, "relaxed"), BLOCKS.format(0, "X", PLAIN), zeros(1), zeros(2), zeros(1))


def of_threads(store, load, late=False):
    """Threads of a block hand on elements, from warp to warp, by flags in shared memory."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Out: T.Tensor((N // 2,), "int32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            flags = T.alloc_shared((N // 2,), "int32")
            flags[tx // 2] = 0
            T.sync_threads()
            if tx < N // 2:
                X[tx] = tx * 3
                T.atomic_store(flags[tx], 1, memory_order=store)
                if late:
                    X[tx + N // 2] = 1
            else:
                while T.atomic_load(flags[tx - N // 2], memory_order=load) == 0:
                    T.evaluate(0)
                Out[tx - N // 2] = X[tx if late else tx - N // 2]

    return kernel


@pytest.mark.parametrize(("store", "load"), [("release", "acquire"), ("seq_cst", "seq_cst")])
def test_threads_of_a_block(store, load):
    x, out = zeros(N), zeros(N // 2)
    tilewright.compile(of_threads(store, load), target="reference")(x, out)
    np.testing.assert_array_equal(out, np.arange(N // 2) * 3)


def test_threads_of_a_block_without_an_order():
    message = THREADS.format(0, "X", PLAIN)
    for store, load in [("relaxed", "relaxed"), ("release", "relaxed"), ("relaxed", "acquire")]:
        race(of_threads(store, load), message, zeros(N), zeros(N // 2))
    late = THREADS.format(N // 2, "X", PLAIN)
    race(of_threads("release", "acquire", late=True), late, zeros(N), zeros(N // 2))


@pytest.mark.parametrize("order", ["acq_rel", "relaxed"])
def test_the_last_thread_reduces(agree, order):
    @T.prim_func
    def kernel(
        X: T.Tensor((N,), "int32"), Count: T.Tensor((1,), "int32"), Out: T.Tensor((1,), "int32")
    ):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            X[tx] = tx * tx
            before = T.atomic_add(Count[0], 1, memory_order=order, return_prev=True)
            if before == N - 1:
                total = T.alloc_var("int32", 0)
                for i in T.serial(N):
                    total += X[i]
                Out[0] = total

    if order == "relaxed":
        race(kernel, THREADS.format(0, "X", PLAIN), zeros(N), zeros(1), zeros(1))
        return
    squares = np.arange(N, dtype=np.int32) ** 2
    wanted = {0: squares, 1: np.array([N], np.int32), 2: squares.sum(keepdims=True)}
    agree(kernel, [zeros(N), zeros(1), zeros(1)], wanted)


def test_what_threads_learn_goes_through_warps():
    """A thread of the second warp learns of block 0, and its warp by a barrier; others don't."""

    def learned(by):
        @T.prim_func
        def kernel(
            Flag: T.Tensor((1,), "int32"), X: T.Tensor((1,), "int32"), Out: T.Tensor((1,), "int32")
        ):
            with T.Kernel(2, threads=96) as bx:
                tx = T.get_thread_binding()
                if bx == 0:
                    if tx == 70:
                        X[0] = 9
                        T.atomic_store(Flag[0], 1, memory_order="release")
                else:
                    if tx == 40:
                        T.evaluate(T.atomic_load(Flag[0], memory_order="acquire"))
                    T.sync_warp()
                    if tx == by:
                        Out[0] = X[0]

        return kernel

    out = zeros(1)
    tilewright.compile(learned(60), target="reference")(zeros(1), zeros(1), out)
    assert out.tolist() == [9]
    race(learned(70), BLOCKS.format(0, "X", PLAIN), zeros(1), zeros(1), zeros(1))
    race(learned(20), BLOCKS.format(0, "X", PLAIN), zeros(1), zeros(1), zeros(1))


def test_orders_around_tiles():
    """What all threads do together: a store in a nest hands it on, a load before it tells it."""

    def handed(order):
        @T.prim_func
        def kernel(
            Flag: T.Tensor((1,), "int32"), X: T.Tensor((N,), "int32"), Out: T.Tensor((N,), "int32")
        ):
            with T.Kernel(2, threads=32) as bx:
                tx = T.get_thread_binding()
                tile = T.alloc_fragment((N,), "int32")
                if bx == 0:
                    T.fill(tile, 3)
                    T.copy(tile, X)
                    for i in T.Parallel(1):
                        T.atomic_store(Flag[i], 1, memory_order=order)
                else:
                    if tx == 5:
                        T.evaluate(T.atomic_load(Flag[0], memory_order="acquire"))
                    T.copy(X, tile)
                    T.copy(tile, Out)

        return kernel

    out = zeros(N)
    tilewright.compile(handed("release"), target="reference")(zeros(1), zeros(N), out)
    assert out.tolist() == [3] * N
    race(handed("relaxed"), BLOCKS.format(0, "X", PLAIN), zeros(1), zeros(N), zeros(N))
