# SPDX-License-Identifier: Apache-2.0
"""More of what implementations get wrong: memory that is used again, pipelines in pipelines, and
kernels that several threads call."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright
import tilewright.language as T


def floats(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


# 7. Pipelines


def test_trap_07_pipelines_side_by_side_and_nested(agree, random):
    """Each has its own versions of a buffer; atomics and stores in them happen once per turn."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 4, 8), "float32"),
        B: T.Tensor((4, 8), "float32"),
        C: T.Tensor((1,), "int32"),
    ):
        with T.Kernel(1, threads=1):
            row = T.alloc_shared((8,), "float32")
            other = T.alloc_shared((8,), "float32")
            total = T.alloc_fragment((8,), "float32")
            for i in T.Pipelined(4, num_stages=2):
                T.clear(total)
                for k in T.Pipelined(4, num_stages=3):
                    T.copy(A[i, k, 0:8], row)
                    for j in T.Parallel(8):
                        total[j] += row[j]
                    T.atomic_add(C[0], 1)
                for k in T.Pipelined(2, num_stages=2):
                    T.copy(A[k, i, 0:8], other)
                    for j in T.Parallel(8):
                        total[j] -= other[j]
                T.copy(total, B[i, 0:8])

    a = floats(random, 4, 4, 8)
    wide = a.astype(np.float64)
    expected = (wide.sum(1) - wide[:2].sum(0)).astype(np.float32)
    arguments = [a, np.zeros((4, 8), np.float32), np.zeros(1, np.int32)]
    agree(kernel, arguments, {1: expected, 2: np.array([16], np.int32)})


# 9. Memory that is used again


def test_trap_09_buffers_that_never_live_at_once(agree, random):
    """Of different dtypes and sizes, in one place; none may see what another left."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float32"), B: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=32):
            first = T.alloc_shared((16, 16), "float32")
            T.copy(A, first)
            sums = T.alloc_fragment((16,), "float32")
            T.reduce_sum(first, sums, dim=1)
            codes = T.alloc_shared((16, 32), "int16")
            for i, j in T.Parallel(16, 32):
                codes[i, j] = i * 32 + j
            second = T.alloc_shared((16, 16), "float64")
            for i, j in T.Parallel(16, 16):
                second[i, j] = T.cast(codes[i, j], "float64") + T.cast(sums[i], "float64")
            for i, j in T.Parallel(16, 16):
                B[i, j] = second[i, j]

    a = floats(random, 16, 16)
    codes = np.arange(16)[:, None] * 32 + np.arange(16)
    expected = (codes + a.astype(np.float64).sum(1, keepdims=True)).astype(np.float32)
    agree(kernel, [a, np.zeros_like(a)], {1: expected})


def test_trap_09_buffer_that_lives_over_the_loop_s_end(agree, random):
    """Written at the end of one turn, read at the start of the next: nothing may lie there."""

    @T.prim_func
    def kernel(A: T.Tensor((6, 32), "float32"), B: T.Tensor((6, 32), "float32")):
        with T.Kernel(1, threads=32):
            before = T.alloc_shared((32,), "float32")
            T.fill(before, 0)
            for k in T.serial(6):
                row = T.alloc_shared((32,), "float32")
                T.copy(A[k, 0:32], row)
                for j in T.Parallel(32):
                    row[j] = row[j] - before[j]
                T.copy(row, B[k, 0:32])
                after = T.alloc_shared((32,), "float32")
                T.copy(A[k, 0:32], after)
                T.copy(after, before)

    a = floats(random, 6, 32)
    agree(kernel, [a, np.zeros_like(a)], {1: np.diff(a, axis=0, prepend=np.float32(0))})


def test_trap_09_tiles_of_all_sizes_of_elements(agree, random):
    """Those of bools, bytes and wide numbers live side by side, each with its own alignment."""

    @T.prim_func
    def kernel(A: T.Tensor((37,), "float64"), B: T.Tensor((37,), "float64")):
        with T.Kernel(1, threads=64):
            odd = T.alloc_shared((3,), "int8")
            mask = T.alloc_shared((37,), "bool")
            wide = T.alloc_shared((37,), "float64")
            half = T.alloc_shared((37,), "float16")
            T.fill(odd, 5)
            T.copy(A, wide)
            for i in T.Parallel(37):
                mask[i] = wide[i] > 0
                half[i] = wide[i]
            for i in T.Parallel(37):
                B[i] = T.if_then_else(mask[i], wide[i] * odd[2], T.cast(half[i], "float64"))

    a = random.standard_normal(37)
    expected = np.where(a > 0, a * 5, a.astype(np.float16).astype(np.float64))
    agree(kernel, [a, np.zeros(37)], {1: expected})


def test_trap_09_a_barrier_in_a_branch_of_some_threads(agree):
    """The threads that come to it are waited for; nobody waits for the others."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((64,), "int32")
            s[tx] = tx
            if tx < 32:
                T.sync_threads()
                A[tx] = s[63 - tx]

    expected = np.concatenate([np.arange(63, 31, -1), np.zeros(32)]).astype(np.int32)
    agree(kernel, [np.zeros(64, np.int32)], {0: expected})


# 10. Python semantics


@pytest.mark.parametrize("step", [3, 1, -2, -7, 0])
def test_trap_10_a_step_that_only_the_call_gives(agree, step):
    """The turns of Python's range, up or down; 0 has none."""

    @T.prim_func
    def kernel(start: T.int32, stop: T.int32, step: T.int32, B: T.Tensor((20,), "int32")):
        with T.Kernel(1, threads=1):
            for i in range(start, stop, step):
                B[i] = i + 1

    start, stop = (2, 15) if step >= 0 else (15, 2)
    expected = np.zeros(20, np.int32)
    for i in range(start, stop, step) if step else ():
        expected[i] = i + 1
    with pytest.warns(UserWarning, match="the step 'step' of this loop is not known"):
        kernel.capture()
    agree(kernel, [start, stop, step, np.zeros(20, np.int32)], {3: expected})


# 11. Integers and casts


def test_trap_11_fp4_rounds_to_even_and_saturates(agree):
    """Two to a byte, the first in the low half."""
    count = 64

    @T.prim_func
    def kernel(A: T.Tensor((count,), "float32"), B: T.Tensor((count // 2,), "uint8")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((count,), "float4_e2m1fn")
            T.copy(A, tile)
            T.copy(T.view(tile, (count // 2,), "uint8"), B)

    a = np.linspace(-8, 7.75, count).astype(np.float32)  # halfway between numbers, and beyond them
    size = np.abs(a)
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    nearest = np.abs(size[:, None] - table)
    ties = nearest == nearest.min(1, keepdims=True)
    code = np.where(ties, np.arange(8), 99).min(1)
    code += ties.sum(1) - 1 & code  # of two, the even one
    code = (code | np.where(a < 0, 8, 0)).astype(np.uint8)
    packed = code[::2] | code[1::2] << 4
    agree(kernel, [a, np.zeros(count // 2, np.uint8)], {1: packed})


# 13. Atomics


def test_trap_13_values_before_and_hints(agree):
    """Each value before is seen once; use_tma and a memory order change no result."""

    @T.prim_func
    def kernel(
        C: T.Tensor((1,), "int32"), Seen: T.Tensor((64,), "int32"), B: T.Tensor((8, 8), "float32")
    ):
        with T.Kernel(4, threads=16) as bx:
            tx = T.get_thread_binding()
            tile = T.alloc_shared((8, 8), "float32")
            before = T.atomic_add(C[0], 1, memory_order="relaxed", return_prev=True)
            T.atomic_add(Seen[before], 1)
            T.fill(tile, bx + 1)
            T.atomic_add(B, tile, use_tma=True)
            if tx == 0:
                T.atomic_add(B[2:4, 0:8], tile[0:2, 0:8], memory_order="acq_rel")

    expected = np.full((8, 8), 10, np.float32)
    expected[2:4] += 10
    arguments = [np.zeros(1, np.int32), np.zeros(64, np.int32), np.zeros((8, 8), np.float32)]
    wanted = {0: np.array([64], np.int32), 1: np.ones(64, np.int32), 2: expected}
    agree(kernel, arguments, wanted)


# 15. Several threads


def in_threads(call, count=6):
    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_trap_15_workspaces_of_launches_at_once():
    """Each launch has a workspace of its own."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):
        with T.Kernel(4, threads=64) as bx:
            space = T.alloc_global((4, 64), "float32")
            T.copy(A[bx, 0:64], space[bx, 0:64])
            T.sync_grid()
            T.copy(space[(bx + 1) % 4, 0:64], B[bx, 0:64])

    compiled = tilewright.compile(kernel)
    wrong = []

    def call(number):
        a = np.arange(256, dtype=np.float32).reshape(4, 64) + 1000 * number
        for _ in range(5):
            b = np.zeros_like(a)
            compiled(a, b)
            if not np.array_equal(b, np.roll(a, -1, 0)):
                wrong.append(number)

    in_threads(call)
    assert wrong == []


def test_trap_15_compiling_in_several_threads():
    """The same kernel and others, at once."""
    results = {}

    def call(number):
        size = 8 + number % 3

        @T.prim_func
        def kernel(A: T.Tensor((size,), "float32")):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(size):
                    A[i] = A[i] + size

        a = np.zeros(size, np.float32)
        tilewright.compile(kernel)(a)
        results[number] = a.tolist()

    in_threads(call)
    assert results == {n: [8.0 + n % 3] * (8 + n % 3) for n in range(6)}
