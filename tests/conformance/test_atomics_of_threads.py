# SPDX-License-Identifier: Apache-2.0
"""Atomics outside of T.Parallel are each thread's, whether or not a kernel tells its threads apart;
those on tiles are the block's."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.mark.parametrize("threads", [1, 32, (8, 4)])
@pytest.mark.parametrize("asks", [False, True])
def test_each_thread_adds(agree, threads, asks):
    @T.prim_func
    def added(A: T.Tensor((8,), "float32"), B: T.Tensor((16,), "float32"), n: T.int32):
        with T.Kernel(3, threads=threads) as bx:
            if asks:
                tx = T.get_thread_binding()  # noqa: F841
            counted = T.alloc_shared((1,), "float32")
            T.clear(counted)
            T.atomic_add(B[0], 1.0)
            for i in T.serial(n):
                if i != 1:
                    T.atomic_add(B[1 + i], A[i])
            T.atomic_addx4(B[8], A[4])
            T.atomic_max(B[12], bx)
            T.atomic_add(counted[0], 2)
            T.sync_threads()
            for i in T.Parallel(1):  # once for the block
                T.atomic_add(B[13], counted[i])

    a, count = np.arange(1, 9, dtype=np.float32), int(np.prod(threads))
    expected = np.zeros(16, np.float32)
    expected[0] = 3 * count
    expected[1:4] = 3 * count * a[:3] * [1, 0, 1]
    expected[8:12] = 3 * count * a[4:]
    expected[12] = 2
    expected[13] = 3 * 2 * count
    agree(added, [a, np.zeros(16, np.float32), 3], {1: expected})


def test_each_thread_has_its_ticket(agree):
    @T.prim_func
    def tickets(Next: T.Tensor((1,), "int32"), Taken: T.Tensor((128,), "int32")):
        with T.Kernel(2, threads=64):
            ticket = T.atomic_add(Next[0], 1, return_prev=True)
            Taken[ticket] = 7

    agree(
        tickets,
        [np.zeros(1, np.int32), np.zeros(128, np.int32)],
        {0: np.array([128], np.int32), 1: np.full(128, 7, np.int32)},
    )


def test_of_a_kernel_for_gpus_on_ascend():
    """A core is no thread, but the sum is that of the threads."""

    @T.prim_func
    def added(B: T.Tensor((4,), "float32")):
        with T.Kernel(2, threads=32) as bx:
            T.atomic_add(B[bx], 2.0)

    b = np.zeros(4, np.float32)
    tilewright.compile(added, target="ascend")(b)
    assert b.tolist() == [64, 64, 0, 0]


def test_one_number_for_a_part_of_a_tensor(agree):
    """Each element takes it once; elements of the block's threads are shared out."""

    @T.prim_func
    def parts(
        A: T.Tensor((6, 8), "float32"), B: T.Tensor((1,), "int32"), C: T.Tensor((2, 3), "int32")
    ):
        with T.Kernel(2, threads=32) as bx:
            T.atomic_add(A[bx * 2 : bx * 2 + 2, 2:5], 1.5)
            T.atomic_max(A[bx * 2, 6:12], bx * 0.5)  # beyond the tensor nothing happens
            T.atomic_add(B, 1)
            T.atomic_min(C, bx)

    a = np.zeros((6, 8), np.float32)
    a[0:4, 2:5] = 1.5
    a[2, 6:] = 0.5
    c = np.array([[5, 0, -1], [1, 2, 3]], np.int32)
    agree(
        parts,
        [np.zeros((6, 8), np.float32), np.zeros(1, np.int32), c],
        {0: a, 1: np.array([2], np.int32), 2: np.minimum(c, 0)},
    )

    @T.prim_func
    def previous(B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            B[0] = T.atomic_add(B[0:2], 1, return_prev=True)

    wrong = r"return_prev of T.atomic_add needs one element, as A\[i\]"
    with pytest.raises(tilewright.CompileError, match=wrong):
        tilewright.compile(previous)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_vectors_that_were_there_before(agree, dtype):
    @T.prim_func
    def pairs(A: T.Tensor((8,), dtype), B: T.Tensor((8,), dtype), Old: T.Tensor((8,), dtype)):
        with T.Kernel(1, threads=1):
            Old[0:2] = T.atomic_addx2(B[0:2], A[0:2], return_prev=True)
            target = B[4:8]
            Old[4:8] = T.atomic_addx4(target, A[4:8], return_prev=True)

    a, b = np.arange(8).astype(dtype), np.arange(8, 16).astype(dtype)
    changes = np.array([1, 1, 0, 0, 1, 1, 1, 1], dtype)
    agree(pairs, [a, b, np.zeros(8, dtype)], {1: b + a * changes, 2: b * changes})


def test_threads_agree_on_the_part_and_on_the_number():
    """As of every operation on tiles: each thread's own part is no tile of the block."""

    @T.prim_func
    def parts(B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=16):
            tx = T.get_thread_binding()
            T.atomic_add(B[tx * 4 : tx * 4 + 4], 1)

    @T.prim_func
    def amounts(B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=16):
            T.atomic_add(B, T.get_thread_binding())

    for kernel in (parts, amounts):
        with pytest.raises(RuntimeError, match="the threads of a block must agree here"):
            tilewright.compile(kernel, target="cpu")(np.zeros(64, np.int32))
        with pytest.raises(tilewright.KernelError, match="take part in this operation with diff"):
            tilewright.compile(kernel, target="reference")(np.zeros(64, np.int32))


@pytest.mark.parametrize("name", ["add", "max", "min"])
def test_tiles_whose_source_ends(agree, name):
    """What lies outside of it is 0, as in copies."""
    update = getattr(T, f"atomic_{name}")

    @T.prim_func
    def kernel(A: T.Tensor((10,), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(2, threads=32) as bx:
            update(B[bx * 8 : bx * 8 + 8], A[bx * 8 : bx * 8 + 8])

    a = np.array([-1, 2, -3, 4, -5, 6, -7, 8, -9, 10], np.float32)
    b = np.array([-4, 4] * 8, np.float32)
    combine = {"add": np.add, "max": np.maximum, "min": np.minimum}[name]
    agree(kernel, [a, b], {1: combine(b, np.pad(a, (0, 6)))}, 0)


def test_whole_buffers_of_as_many_elements(agree):
    """They need no index."""

    @T.prim_func
    def kernel(
        A: T.Tensor((2,), "float16"), B: T.Tensor((2,), "float16"), C: T.Tensor((1, 4), "float32")
    ):
        with T.Kernel(1, threads=1):
            four = T.alloc_shared((4,), "float32")
            T.fill(four, 2)
            T.atomic_addx2(B, A)
            T.atomic_addx4(C, four)

    a, b = np.array([[1, 2], [3, 5]], np.float16)
    c = np.arange(4, dtype=np.float32)[None]
    agree(kernel, [a, b, c], {1: a + b, 2: c + 2})


@pytest.mark.parametrize("op", ["add", "max", "min", "load", "store"])
def test_bools(agree, op):
    """A sum that is not 0 is true, as it is without atomics."""

    @T.prim_func
    def updated(
        A: T.Tensor((8,), "bool"), B: T.Tensor((8,), "bool"), Before: T.Tensor((8,), "bool")
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                if op == "add":
                    Before[i] = T.atomic_add(A[i], B[i], return_prev=True)
                elif op == "max":
                    Before[i] = T.atomic_max(A[i], B[i], return_prev=True)
                elif op == "min":
                    Before[i] = T.atomic_min(A[i], B[i], return_prev=True)
                elif op == "load":
                    Before[i] = T.atomic_load(A[i])
                else:
                    T.atomic_store(A[i], B[i])

    a, b = np.array([0, 0, 1, 1] * 2, np.bool_), np.array([0, 1, 0, 1] * 2, np.bool_)
    after = {"add": a | b, "max": a | b, "min": a & b, "load": a, "store": b}[op]
    before = np.zeros_like(a) if op == "store" else a
    agree(updated, [a, b, np.zeros_like(a)], {0: after, 2: before})
