# SPDX-License-Identifier: Apache-2.0
"""Kernels whose threads do different things: ids, barriers, shuffles and votes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright import _compiler


def test_get_thread_binding(agree, random):
    N = 300

    @T.prim_func
    def scale(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
            tx = T.get_thread_binding()
            i = bx * 128 + tx
            if i < N:
                B[i] = A[i] * 2.0

    a = random.standard_normal(N).astype(np.float32)
    agree(scale, [a, np.zeros(N, np.float32)], {1: a * 2})


def test_ids_and_extents(agree):
    """Threads of 4 x 3 x 2 in a grid of 2 x 3: each writes its own number."""

    @T.prim_func
    def numbers(Out: T.Tensor((6, 24), "int32")):
        with T.Kernel(2, 3, threads=(4, 3, 2)):
            tx, ty, tz = T.get_thread_bindings()
            bx, by, bz = T.get_block_bindings()
            ex, ey, ez = T.get_thread_extents()
            gx, gy, gz = T.get_block_extents()
            block = T.get_block_binding(0) + by * T.get_block_extent(0) + bz * gy
            thread = tx + ty * T.get_thread_extent(0) + tz * ex * ey
            Out[block, thread] = block * 100 + thread + (ez + gx + gz) * 0

    expected = np.arange(6)[:, None] * 100 + np.arange(24)[None, :]
    agree(numbers, [np.zeros((6, 24), np.int32)], {0: expected.astype(np.int32)})


def test_current_launch(agree):
    @T.prim_func
    def count(Out: T.Tensor((5,), "int32")):
        with T.Kernel(5, threads=32) as bx:
            launch = T.KernelLaunchFrame.Current()
            if T.get_thread_binding() == 0:
                Out[bx] = launch.threads[0]

    agree(count, [np.zeros(5, np.int32)], {0: np.full(5, 32, np.int32)})


def test_sync_threads(agree, random):
    """Each thread reads what another one wrote before the barrier."""

    @T.prim_func
    def reverse(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):
        with T.Kernel(4, threads=64) as bx:
            tile = T.alloc_shared((64,), "float32")
            tx = T.get_thread_binding(0)
            value = A[bx, tx] + 1.0
            tile[tx] = value
            T.sync_threads()
            B[bx, tx] = tile[63 - tx] + value
            T.sync_global()

    a = random.standard_normal((4, 64)).astype(np.float32)
    agree(reverse, [a, np.zeros_like(a)], {1: (a + 1)[:, ::-1] + (a + 1)})


@pytest.mark.parametrize("n", [-5, 0, 1, 37, 64, 1000])
def test_conditions_on_the_thread(agree, n):
    """Each around all that the threads do between two barriers, so it becomes their range."""

    @T.prim_func
    def kernel(n: T.int32, Out: T.Tensor((7, 64), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if tx < n:
                Out[0, tx] = tx
            T.sync_threads()
            if n <= tx:
                Out[1, tx] = tx
            T.sync_threads()
            if tx == n:
                Out[2, tx] = 1
            T.sync_threads()
            if tx + 3 > n:
                Out[3, tx] = tx
            T.sync_threads()
            if tx >= 3 and tx < n:
                Out[4, tx] = tx
            T.sync_threads()
            if 63 - tx >= n:
                Out[5, tx] = tx
            T.sync_threads()
            if tx * 2 < n:
                Out[6, tx] = tx

    tx = np.arange(64)
    holds = [tx < n, n <= tx, tx == n, tx + 3 > n, (tx >= 3) & (tx < n)]
    holds += [63 - tx >= n, tx * 2 < n]
    values = [tx, tx, np.ones(64), tx, tx, tx, tx]
    expected = np.stack([np.where(h, v, -1) for h, v in zip(holds, values, strict=True)])
    agree(kernel, [n, np.full((7, 64), -1, np.int32)], {1: expected.astype(np.int32)})


def test_alloc_local(agree, random):
    """A thread's own array lives across barriers and tile operations."""

    @T.prim_func
    def transpose(A: T.Tensor((32, 8), "float32"), B: T.Tensor((8, 32), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8, 32), "float32")
            own = T.alloc_local((8,), "float32")
            count = T.alloc_var("int32", init=0)
            tx = T.get_thread_binding()
            T.clear(own)
            for k in T.serial(8):
                own[k] = own[k] + A[tx, k]
                count += 1
            T.sync_threads()
            for k in T.vectorized(8):
                tile[k, tx] = own[k] * count
            T.copy(tile, B)

    a = random.standard_normal((32, 8)).astype(np.float32)
    agree(transpose, [a, np.zeros((8, 32), np.float32)], {1: a.T * 8})


def test_loop_around_barrier(agree):
    """A tree of additions in shared memory: log2(n) rounds with a barrier each."""

    @T.prim_func
    def total(A: T.Tensor((3, 128), "int32"), Out: T.Tensor((3,), "int32")):
        with T.Kernel(3, threads=128) as bx:
            tile = T.alloc_shared((128,), "int32")
            stride = T.alloc_var("int32", init=64)
            tx = T.get_thread_binding()
            tile[tx] = A[bx, tx]
            T.sync_threads()
            while stride > 0:
                if tx < stride:
                    tile[tx] = tile[tx] + tile[tx + stride]
                T.sync_threads()
                stride = stride // 2
            if tx == 0:
                Out[bx] = tile[0]

    a = np.arange(384, dtype=np.int32).reshape(3, 128)
    agree(total, [a, np.zeros(3, np.int32)], {1: a.sum(1, dtype=np.int32)})


def test_break_around_barrier(agree):
    @T.prim_func
    def first_zero(A: T.Tensor((4, 32), "int32"), Out: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            found = T.alloc_shared((1,), "int32")
            if tx == 0:
                found[0] = 0
            T.sync_threads()
            for row in T.serial(4):
                if tx == 0:
                    found[0] = T.if_then_else(A[row, 0] == 0, 1, 0)
                T.sync_threads()
                if found[0] == 1:
                    break
                Out[tx] = Out[tx] + A[row, tx]
                T.sync_threads()

    a = np.ones((4, 32), np.int32)
    a[2, 0] = 0
    agree(first_zero, [a, np.zeros(32, np.int32)], {1: np.full(32, 2, np.int32)})


def test_tile_operations_beside_threads(agree, random):
    @T.prim_func
    def scaled_gemm(
        A: T.Tensor((64, 32), "float32"),
        B: T.Tensor((32, 64), "float32"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64, 32), "float32")
            b = T.alloc_shared((32, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            out = T.alloc_shared((64, 64), "float32")
            tx = T.get_thread_binding()
            T.copy(A, a)
            T.copy(B, b)
            for k in T.serial(32):
                a[tx, k] = a[tx, k] * 0.5
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, out)
            for i, j in T.Parallel(64, 64):
                out[i, j] = out[i, j] + 1.0
            C[tx, 0] = -1.0
            for k in T.serial(1, 64):
                C[tx, k] = out[tx, k]

    a = random.standard_normal((64, 32)).astype(np.float32)
    b = random.standard_normal((32, 64)).astype(np.float32)
    expected = (a.astype(np.float64) @ b * 0.5 + 1).astype(np.float32)
    expected[:, 0] = -1
    agree(scaled_gemm, [a, b, np.zeros((64, 64), np.float32)], {2: expected})


# Shuffles


def lanes(function, count=64, dtype=np.int32):
    return np.array([function(i) for i in range(count)], dtype)


@pytest.mark.parametrize("width", [32, 8])
def test_shuffles(agree, width):
    @T.prim_func
    def shuffle(Out: T.Tensor((4, 64), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            Out[0, tx] = T.shfl_sync(tx * 10, 5, width)
            Out[1, tx] = T.shfl_xor(tx * 10, 3, width)
            Out[2, tx] = T.shfl_up(tx * 10, 2, width)
            Out[3, tx] = T.shfl_down(tx * 10, 4, width)

    groups = [(i - i % width, i % width) for i in range(64)]
    expected = np.array(
        [
            [base + 5 for base, _ in groups],
            [base + (lane ^ 3) for base, lane in groups],
            [base + (lane - 2 if lane >= 2 else lane) for base, lane in groups],
            [base + (lane + 4 if lane + 4 < width else lane) for base, lane in groups],
        ],
        np.int32,
    )
    agree(shuffle, [np.zeros((4, 64), np.int32)], {0: expected * 10})


def test_warp_reductions(agree, random):
    @T.prim_func
    def reductions(
        A: T.Tensor((96,), "int32"), F: T.Tensor((96,), "float32"), Out: T.Tensor((4, 96), "int32"),
        Sums: T.Tensor((96,), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=96):
            tx = T.get_thread_binding()
            Out[0, tx] = T.warp_reduce_max(A[tx])
            Out[1, tx] = T.warp_reduce_min(A[tx])
            Out[2, tx] = T.warp_reduce_bitand(A[tx])
            Out[3, tx] = T.warp_reduce_bitor(A[tx])
            Sums[tx] = T.warp_reduce_sum(F[tx])

    a = random.integers(0, 1 << 20, 96, dtype=np.int32)
    f = random.standard_normal(96).astype(np.float32)
    warps = a.reshape(3, 32)
    expected = np.stack(
        [
            warps.max(1),
            warps.min(1),
            np.bitwise_and.reduce(warps, 1),
            np.bitwise_or.reduce(warps, 1),
        ]
    ).repeat(32, axis=1)
    sums = f.reshape(3, 32).astype(np.float64).sum(1).astype(np.float32).repeat(32)
    arguments = [a, f, np.zeros((4, 96), np.int32), np.zeros(96, np.float32)]
    agree(reductions, arguments, {2: expected, 3: sums})


def test_block_reduction_of_one_warp(agree, random):
    """The second stage runs in the first warp only: a shuffle under a condition of warps."""

    @T.prim_func
    def total(A: T.Tensor((128,), "float32"), Out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            parts = T.alloc_shared((32,), "float32")
            if T.get_warp_idx() == 0:
                parts[T.get_lane_idx()] = 0.0
            T.sync_threads()
            mine = T.warp_reduce_sum(A[tx])
            if T.get_lane_idx() == 0:
                parts[T.get_warp_idx_sync()] = mine
            T.sync_threads()
            if T.get_warp_idx() == 0:
                T.sync_warp()
                whole = T.warp_reduce_sum(parts[tx])
                if tx == 0:
                    Out[0] = whole

    a = random.standard_normal(128).astype(np.float32)
    agree(total, [a, np.zeros(1, np.float32)], {1: a.astype(np.float64).sum(keepdims=True)})


@pytest.mark.parametrize("N", [1, 300])
def test_row_sum_of_the_tile_ir_page(agree, random, N):
    """Kernel 4 of docs/tile-ir.md, from Python: 128 threads sum a row."""

    @T.prim_func
    def row_sum(A: T.Tensor((3, N), "float32"), Out: T.Tensor((3,), "float32")):
        with T.Kernel(3, threads=128) as bx:
            tx = T.get_thread_binding()
            acc = T.alloc_local((1,), "float32")
            sums = T.alloc_shared((4,), "float32")
            acc[0] = 0.0
            for i in T.serial(T.ceildiv(N, 128)):
                column = i * 128 + tx
                if column < N:
                    acc[0] += A[bx, column]
            offset = T.alloc_var("int32")
            offset = 16
            while offset > 0:
                acc[0] += T.shfl_xor(acc[0], offset)
                offset = offset >> 1
            if tx % 32 == 0:
                sums[tx // 32] = acc[0]
            T.sync_threads()
            if tx == 0:
                total = T.alloc_var("float32")
                total = 0.0
                for w in T.unroll(4):
                    total += sums[w]
                Out[bx] = total

    a = random.standard_normal((3, N)).astype(np.float32)
    expected = a.astype(np.float64).sum(1).astype(np.float32)
    agree(row_sum, [a, np.zeros(3, np.float32)], {1: expected}, 1e-5)


def test_votes(agree):
    @T.prim_func
    def votes(A: T.Tensor((64,), "int32"), Out: T.Tensor((6, 64), "int64")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            odd = A[tx] % 2 == 1
            Out[0, tx] = T.cast(T.any_sync(odd), "int64")
            Out[1, tx] = T.cast(T.all_sync(0xFFFFFFFF, odd), "int64")
            Out[2, tx] = T.cast(T.ballot_sync(0xFFFFFFFF, odd), "int64")
            Out[3, tx] = T.cast(T.ballot(A[tx] > 40), "int64")
            Out[4, tx] = T.cast(T.activemask(), "int64")
            Out[5, tx] = T.cast(T.match_any_sync(A[tx] // 8), "int64")

    a = np.arange(64, dtype=np.int32)
    a[:32] = 1
    warps = a.reshape(2, 32)
    bit = 1 << np.arange(32, dtype=np.int64)
    ballot = (bit * (warps % 2 == 1)).sum(1).repeat(32)
    above = (bit * (warps > 40)).sum(1).repeat(32)
    matches = np.array(
        [[(bit * (w // 8 == v // 8)).sum() for v in w] for w in warps], np.int64
    ).reshape(-1)
    expected = np.stack(
        [
            np.ones(64, np.int64),
            np.repeat([1, 0], 32),
            ballot,
            above,
            np.full(64, 0xFFFFFFFF),
            matches,
        ]
    )
    agree(votes, [a, np.zeros((6, 64), np.int64)], {1: expected})


def test_match_all_sync(agree):
    @T.prim_func
    def match(A: T.Tensor((64,), "int32"), Out: T.Tensor((64,), "uint32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            Out[tx] = T.match_all_sync(A[tx])

    a = np.ones(64, np.int32)
    a[40] = 7
    expected = np.repeat(np.array([0xFFFFFFFF, 0], np.uint32), 32)
    agree(match, [a, np.zeros(64, np.uint32)], {1: expected})


def test_votes_of_the_block(agree):
    @T.prim_func
    def votes(A: T.Tensor((2, 64), "int32"), Out: T.Tensor((2, 3), "int32")):
        with T.Kernel(2, threads=64) as bx:
            tx = T.get_thread_binding()
            count = T.syncthreads_count(A[bx, tx] > 0)
            every = T.syncthreads_and(A[bx, tx] > 0)
            some = T.syncthreads_or(A[bx, tx] > 0)
            if T.shuffle_elect(0):
                Out[bx, 0] = count
                Out[bx, 1] = T.if_then_else(every, 1, 0)
                Out[bx, 2] = T.if_then_else(some, 1, 0)

    a = np.zeros((2, 64), np.int32)
    a[0, :5] = 1
    a[1] = 1
    agree(votes, [a, np.zeros((2, 3), np.int32)], {1: np.array([[5, 0, 1], [64, 1, 1]], np.int32)})


def test_warp_groups(agree):
    @T.prim_func
    def groups(Out: T.Tensor((2, 256), "int32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            Out[0, tx] = T.get_warp_group_idx()
            Out[1, tx] = T.if_then_else(T.shuffle_elect(128), 1, 0)

    numbers = np.arange(256)
    expected = np.stack([numbers // 128, numbers % 128 == 0]).astype(np.int32)
    agree(groups, [np.zeros((2, 256), np.int32)], {0: expected})


# What may not be


def test_divergent_barrier_is_told():
    """Threads that part ways around a barrier: told when compiling, or in the run."""

    @T.prim_func
    def wrong(Out: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if tx < 40:
                T.sync_threads()
                Out[tx] = 1

    with pytest.raises(tilewright.CompileError, match="T.sync_threads in a branch of threads 0 to"):
        tilewright.compile(wrong)

    @T.prim_func
    def in_the_run(Out: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if Out[tx] == 0:
                T.sync_threads()
                Out[tx] = 1

    with pytest.raises(RuntimeError, match="the threads of a block must agree here"):
        tilewright.compile(in_the_run)(np.arange(64, dtype=np.int32))


def test_divergent_shuffle_is_told():
    @T.prim_func
    def wrong(Out: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if tx % 32 < 16:
                Out[tx] = T.shfl_xor(tx, 1)

    with pytest.raises(RuntimeError, match="the threads of a warp must agree here"):
        tilewright.compile(wrong)(np.zeros(64, np.int32))


def test_votes_take_a_condition():
    @T.prim_func
    def wrong(Out: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            Out[0] = T.any_sync(1, 2, 3)
            Out[1] = T.match_any_sync(None)

    with pytest.raises(tilewright.CompileError) as caught:
        wrong.capture()
    assert [d.message for d in caught.value.errors] == [
        "T.any_sync takes a value, or a mask and a value",
        "expected a scalar but got None of type NoneType",
    ]


def found_by_the_interpreter(kernel, *arrays):
    arguments = [
        (a.ctypes.data, list(a.shape), [s // a.itemsize for s in a.strides]) for a in arrays
    ]
    _, found = _compiler.interpret(kernel.capture().module, arguments)
    return [d.message for d in found]


def test_blocks_that_race():
    """Two blocks write one element: the interpreter says so."""

    @T.prim_func
    def wrong(Out: T.Tensor((4,), "int32")):
        with T.Kernel(4) as bx:
            Out[bx // 2] = bx

    assert found_by_the_interpreter(wrong, np.zeros(4, np.int32)) == [
        "two blocks of the grid use element [0] of 'Out', and one of them writes it"
    ]


def test_block_that_reads_what_another_writes():
    @T.prim_func
    def wrong(A: T.Tensor((4,), "int32"), Out: T.Tensor((4,), "int32")):
        with T.Kernel(4) as bx:
            Out[bx] = A[0]
            A[bx] = 1

    assert found_by_the_interpreter(wrong, np.zeros(4, np.int32), np.zeros(4, np.int32)) == [
        "two blocks of the grid use element [0] of 'A', and one of them writes it"
    ]


def test_last_block_writes_what_all_have_read():
    @T.prim_func
    def wrong(A: T.Tensor((1,), "int32"), Out: T.Tensor((4,), "int32")):
        with T.Kernel(4) as bx:
            Out[bx] = A[0]
            if bx == 3:
                A[0] = 1

    assert found_by_the_interpreter(wrong, np.zeros(1, np.int32), np.zeros(4, np.int32)) == [
        "two blocks of the grid use element [0] of 'A', and one of them writes it"
    ]


@pytest.mark.parametrize("plain_block", [0, 3])
@pytest.mark.parametrize("writes", [True, False])
def test_plain_access_of_what_other_blocks_update(plain_block, writes):
    """An atomic update has an order among atomic updates only."""

    @T.prim_func
    def wrong(Count: T.Tensor((1,), "int32"), Out: T.Tensor((1,), "int32")):
        with T.Kernel(4, threads=1) as bx:
            if bx != plain_block:
                T.atomic_add(Count[0], 1)
            elif writes:
                Count[0] = 5
            else:
                Out[0] = Count[0]

    assert found_by_the_interpreter(wrong, np.zeros(1, np.int32), np.zeros(1, np.int32)) == [
        "two blocks of the grid use element [0] of 'Count', and only one of them atomically"
    ]


def test_plain_access_before_the_own_update_is_no_race(agree):
    @T.prim_func
    def count(Out: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=1) as bx:
            Out[bx] = bx
            T.atomic_add(Out[bx], Out[bx] + 1)

    agree(count, [np.zeros(4, np.int32)], {0: np.array([1, 3, 5, 7], np.int32)})


def test_iterations_that_look_at_what_others_update():
    @T.prim_func
    def wrong(Count: T.Tensor((1,), "int32"), Out: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                T.atomic_add(Count[0], 1)
                Out[i] = Count[0]

    assert found_by_the_interpreter(wrong, np.zeros(1, np.int32), np.zeros(8, np.int32)) == [
        "two iterations of the parallel loop use element [0] of 'Count', and only one of them "
        "atomically"
    ]


def test_race_between_two_names_of_one_array():
    @T.prim_func
    def reverse(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            B[bx] = A[7 - bx]

    array = np.arange(8, dtype=np.int32)
    assert found_by_the_interpreter(reverse, array, np.zeros(8, np.int32)) == []
    assert found_by_the_interpreter(reverse, array, array) == [
        "two blocks of the grid use element [3] of 'A', and one of them writes it"
    ]


def test_blocks_that_add_atomically_do_not_race(agree):
    @T.prim_func
    def count(Out: T.Tensor((1,), "int32")):
        with T.Kernel(4, threads=1) as bx:
            T.atomic_add(Out[0], bx + 1)

    agree(count, [np.zeros(1, np.int32)], {0: np.array([10], np.int32)})


def test_shuffle_in_a_choice_is_refused():
    @T.prim_func
    def wrong(A: T.Tensor((64,), "int32"), Out: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            Out[tx] = T.shfl_xor(tx, 1) if A[0] > 0 else 0

    with pytest.raises(
        tilewright.UnsupportedError, match="a shuffle or vote inside of a choice between values"
    ):
        tilewright.compile(wrong)


@pytest.mark.parametrize("in_loop", [False, True])
def test_sync_grid(agree, in_loop):
    """Blocks wait for each other: each reads what the next one wrote before."""
    blocks, rounds = 5, 3

    @T.prim_func
    def rotate(A: T.Tensor((blocks, 8), "int32"), B: T.Tensor((blocks, 8), "int32")):
        with T.Kernel(blocks, threads=8) as bx:
            kept = T.alloc_fragment((8,), "int32")
            T.copy(A[bx, 0:8], kept)
            if in_loop:
                for _ in T.serial(rounds):
                    T.copy(kept, B[bx, 0:8])
                    T.sync_grid()
                    T.copy(B[(bx + 1) % blocks, 0:8], kept)
                    T.sync_grid()
            else:
                T.copy(kept, B[bx, 0:8])
                T.sync_grid()
                T.copy(B[(bx + rounds) % blocks, 0:8], kept)
                T.sync_grid()
            for i in T.Parallel(8):
                B[bx, i] = kept[i] + bx

    a = np.arange(blocks * 8, dtype=np.int32).reshape(blocks, 8)
    expected = np.roll(a, -rounds, 0) + np.arange(blocks)[:, None]
    agree(rotate, [a, np.zeros_like(a)], {1: expected.astype(np.int32)})


def test_alloc_global(agree, random):
    """A workspace of the launch: partial sums of all blocks, added up by the first."""
    blocks = 6

    @T.prim_func
    def total(A: T.Tensor((blocks, 64), "float32"), Out: T.Tensor((1,), "float32")):
        with T.Kernel(blocks, threads=64) as bx:
            partial = T.alloc_global((blocks,), "float32")
            counts = T.alloc_global((blocks, 2), "int32")
            tx = T.get_thread_binding()
            tile = T.alloc_fragment((64,), "float32")
            row = T.alloc_fragment((1,), "float32")
            T.copy(A[bx, 0:64], tile)
            T.reduce_sum(tile, row, dim=0)
            if tx == 0:
                partial[bx] = row[0]
                counts[bx, 1] = bx
            T.sync_grid()
            if bx == 0 and tx == 0:
                for k in T.serial(blocks):
                    Out[0] = Out[0] + partial[k] * counts[k, 1]

    a = random.standard_normal((blocks, 64)).astype(np.float32)
    expected = (a.astype(float).sum(1) * np.arange(blocks)).sum()
    agree(total, [a, np.zeros(1, np.float32)], {1: np.array([expected], np.float32)}, 1e-5)


def test_blocks_that_wait_for_one_that_has_ended():
    @T.prim_func
    def wrong(Out: T.Tensor((4,), "int32")):
        with T.Kernel(4) as bx:
            if bx > 0:
                T.sync_grid()
            Out[bx] = 1

    message = "wrong: blocks wait in T.sync_grid for others that have ended"
    with pytest.raises(RuntimeError, match=message):
        tilewright.compile(wrong)(np.zeros(4, np.int32))
    assert found_by_the_interpreter(wrong, np.zeros(4, np.int32)) == [
        "block 1 waits here for block 0, which has ended"
    ]


def test_too_many_blocks_that_wait():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(Out: T.Tensor((n,), "int32")):
        with T.Kernel(n) as bx:
            T.sync_grid()
            Out[bx] = 1

    compiled = tilewright.compile(kernel)
    few = np.zeros(3, np.int32)
    compiled(few)
    assert few.tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="2000 blocks are too many .at most 1024."):
        compiled(np.zeros(2000, np.int32))


def test_assertion_and_endless_loop_beside_waiting_blocks():
    """Who waits for a block that fails is let go."""

    @T.prim_func
    def failing(Out: T.Tensor((4,), "int32")):
        with T.Kernel(4) as bx:
            T.device_assert(bx != 2, "not two")
            T.sync_grid()
            Out[bx] = 1

    with pytest.raises(RuntimeError, match="device_assert failed: not two"):
        tilewright.compile(failing)(np.zeros(4, np.int32))
