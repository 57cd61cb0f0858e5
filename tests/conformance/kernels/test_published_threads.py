# SPDX-License-Identifier: Apache-2.0
"""Kernels that people write for the threads of a GPU: the largest k by radix, a Hadamard transform
by shuffles, matrix times vector with a reduction over threads, and weights unpacked per thread."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilewright
import tilewright.language as T

RADIX = 256


@T.macro
def ordered_bits(x):
    """An unsigned number that sorts as `x` does."""
    bits = T.reinterpret("uint32", x)
    top = T.cast(0x80000000, "uint32")
    return T.if_then_else(x < 0, ~bits & T.cast(0xFFFFFFFF, "uint32"), bits | top)


@T.macro
def find_threshold(tx, histogram, threshold, wanted):
    """Of each bin how many lie in it or above; and the bin of the last one that is wanted."""
    held = T.alloc_var("int32")
    for i in T.serial(8):
        offset = 1 << i
        T.sync_threads(3, RADIX)
        if tx < RADIX - offset:
            held = histogram[tx] + histogram[tx + offset]
        T.sync_threads(3, RADIX)
        if tx < RADIX - offset:
            histogram[tx] = held
    T.sync_threads(3, RADIX)
    if histogram[tx] > wanted and histogram[tx + 1] <= wanted:
        threshold[0] = tx


def largest_by_radix(batch, seq, k, threads):
    @T.prim_func
    def select(
        scores: T.Tensor((batch, seq), "float32"),
        index: T.Tensor((batch, k), "int32"),
        ends: T.Tensor((batch,), "int32"),
    ):
        with T.Kernel(batch, threads=threads) as bx:
            tx = T.get_thread_binding()
            threshold = T.alloc_shared([1], "int32")
            histogram = T.alloc_shared([RADIX + 1], "int32")
            count = T.alloc_shared([2], "int32")
            candidates = T.alloc_shared([2, seq], "int32")
            wanted = T.alloc_var("int32", init=k)
            bin_id = T.alloc_var("int32")
            place = T.alloc_var("int32")
            above = T.alloc_var("int32")
            start = T.alloc_var("int32")
            if tx == 0:
                count[0] = ends[bx]
            for s in T.serial(T.ceildiv(ends[bx], threads)):
                if s * threads + tx < ends[bx]:
                    candidates[0, s * threads + tx] = s * threads + tx
            for step in T.serial(4):
                if wanted <= 0:
                    T.loop_break()
                now = step % 2
                start = k - wanted
                T.sync_threads()
                T.fill(histogram, 0)
                T.fill(count[now ^ 1], 0)
                T.sync_threads()
                for s in T.serial(T.ceildiv(count[now], threads)):
                    if s * threads + tx < count[now]:
                        x = scores[bx, candidates[now, s * threads + tx]]
                        bin_id = T.cast((ordered_bits(x) >> (24 - step * 8)) & 0xFF, "int32")
                        T.atomic_add(histogram[bin_id], 1)
                T.sync_threads()
                if tx < RADIX:
                    find_threshold(tx, histogram, threshold, wanted)
                T.sync_threads()
                above = threshold[0]
                wanted = wanted - histogram[above + 1]
                T.sync_threads()
                for s in T.serial(T.ceildiv(count[now], threads)):
                    if s * threads + tx < count[now]:
                        i = candidates[now, s * threads + tx]
                        bits = ordered_bits(scores[bx, i])
                        bin_id = T.cast((bits >> (24 - step * 8)) & 0xFF, "int32")
                        if bin_id > above:
                            place = T.atomic_add(histogram[bin_id + 1], 1, return_prev=True)
                            index[bx, place + start] = i
                        elif bin_id == above and wanted > 0:
                            if step == 3:
                                place = T.atomic_add(histogram[bin_id + 1], 1, return_prev=True)
                                if place + start < k:
                                    index[bx, place + start] = i
                            else:
                                place = T.atomic_add(count[now ^ 1], 1, return_prev=True)
                                candidates[now ^ 1, place] = i

    return select


@pytest.mark.parametrize(("seq", "k", "threads"), [(500, 64, 256), (300, 33, 512)])
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_largest_k_by_radix(random, seq, k, threads, target):
    """Which of equal candidates has which place is the threads' affair: the sets are the same."""
    ends = np.array([seq, seq - 77, k + 1], np.int32)
    scores = random.standard_normal((3, seq)).astype(np.float32)
    scores[0, :: seq // 7] = -0.0
    index = np.full((3, k), -1, np.int32)
    kernel = tilewright.compile(largest_by_radix(3, seq, k, threads), target=target)
    kernel(scores, index, ends)
    for row in range(3):
        assert len(set(index[row])) == k
        found = np.sort(scores[row, index[row]])
        np.testing.assert_array_equal(found, np.sort(scores[row, : ends[row]])[-k:])


def hadamard(rows, n, threads, dtype="float32"):
    own = n // threads
    warp = min(threads, 32)

    @T.prim_func
    def transform(A: T.Tensor((rows, n), dtype), B: T.Tensor((rows, n), dtype)):
        with T.Kernel(rows, threads=threads) as bx:
            local = T.alloc_local((own,), dtype)
            exchange = T.alloc_shared((threads, own), dtype)
            tx = T.get_thread_binding(0)
            for i in T.vectorized(own):
                local[i] = A[bx, tx * own + i]
            for i in T.serial(int(math.log2(own))):
                half = 1 << i
                for j in T.serial(own >> (i + 1)):
                    for k in T.serial(half):
                        base = j * 2 * half + k
                        local[base] = local[base] + local[base + half]
                        local[base + half] = local[base] - 2 * local[base + half]
            for i in T.serial(int(math.log2(warp))):
                another = tx ^ (1 << i)
                sign = (tx >> i) & 1
                for j in T.Pipelined(own, num_stages=1):
                    other = T.tvm_warp_shuffle(0xFFFFFFFF, local[j], another % warp, warp, warp)
                    local[j] = T.if_then_else(sign == 0, local[j] + other, other - local[j])
            for i in T.serial(int(math.log2(threads // warp))):
                another = tx ^ (warp << i)
                sign = (tx // warp >> i) & 1
                for j in T.vectorized(own):
                    exchange[tx, j] = local[j]
                T.sync_threads()
                for j in T.serial(own):
                    other = exchange[another, j]
                    local[j] = T.if_then_else(sign == 0, local[j] + other, other - local[j])
                T.sync_threads()
            for i in T.vectorized(own):
                B[bx, tx * own + i] = local[i]

    return transform


@pytest.mark.parametrize(("n", "threads"), [(16, 2), (256, 32), (1024, 128)])
def test_hadamard_transform(agree, random, n, threads):
    matrix = np.array([[1.0]])
    while len(matrix) < n:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    a = random.standard_normal((2, n)).astype(np.float32)
    expected = (a.astype(np.float64) @ matrix).astype(np.float32)
    agree(hadamard(2, n, threads), [a, np.zeros_like(a)], {1: expected})


@pytest.mark.parametrize("by_atomics", [False, True])
def test_matrix_times_vector(agree, random, by_atomics):
    N, K, rows, parts, own = 32, 512, 4, 32, 8

    @T.prim_func
    def gemv(
        A: T.Tensor((K,), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((N,), "float16")
    ):
        with T.Kernel(T.ceildiv(N, rows), threads=(rows, parts)) as bn:
            tn = T.get_thread_binding(0)
            tk = T.get_thread_binding(1)
            a = T.alloc_local((own,), "float16")
            b = T.alloc_local((own,), "float16")
            total = T.alloc_local((1,), "float32")
            shared = T.alloc_shared((rows,), "float32")
            if tk == 0:
                shared[tn] = 0
            T.clear(total)
            for bk in T.serial(T.ceildiv(K, parts * own)):
                for k in T.vectorized(own):
                    a[k] = A[bk * parts * own + tk * own + k]
                    b[k] = B[bn * rows + tn, bk * parts * own + tk * own + k]
                for k in T.serial(own):
                    total[0] += a[k].astype("float32") * b[k].astype("float32")
            if by_atomics:
                T.atomic_add(shared[tn], total[0])
                C[bn * rows + tn] = shared[tn]
            else:
                reduced = T.alloc_local((1,), "float32")
                with T.attr(
                    T.comm_reducer(lambda x, y: x + y, [T.Cast("float32", 0)]),
                    "reduce_scope",
                    T.reinterpret(T.uint64(0), dtype="handle"),
                ):
                    T.evaluate(
                        T.tvm_thread_allreduce(
                            T.uint32(1), total[0], True, reduced[0], tk, dtype="handle"
                        )
                    )
                C[bn * rows + tn] = reduced[0]

    a, b = (random.standard_normal(s).astype(np.float16) for s in ((K,), (N, K)))
    expected = (b.astype(np.float64) @ a.astype(np.float64)).astype(np.float16)
    agree(gemv, [a, b, np.zeros(N, np.float16)], {2: expected})


def test_weights_unpacked_by_each_thread(agree, random):
    """Eight weights of four bits in an int32, their zero points packed in the other direction."""
    N, K, threads, group = 16, 512, 32, 32

    @T.prim_func
    def unpack(
        B: T.Tensor((N, K // 8), "int32"),
        scales: T.Tensor((N, K // group), "float16"),
        zeros: T.Tensor((N // 8, K // group), "int32"),
        Out: T.Tensor((N, K), "float16"),
    ):
        with T.Kernel(N, threads=threads) as bx:
            tx = T.get_thread_binding(0)
            packed = T.alloc_local((1,), "int32")
            out = T.alloc_local((8,), "float16")
            for r in T.serial(T.ceildiv(K // 8, threads)):
                at = r * threads + tx
                if at < K // 8:
                    packed[0] = B[bx, at]
                    for v in T.vectorized(8):
                        zero = (zeros[bx // 8, at * 8 // group] >> (4 * (bx % 8))) & 0xF
                        weight = ((packed[0] >> (4 * v)) & 0xF) - zero
                        out[v] = T.cast(weight, "float16") * scales[bx, at * 8 // group]
                    for v in T.vectorized(8):
                        Out[bx, at * 8 + v] = out[v]

    b, zeros = (
        random.integers(-(2**31), 2**31, s).astype(np.int32)
        for s in ((N, K // 8), (N // 8, K // group))
    )
    scales = random.uniform(0.01, 0.1, (N, K // group)).astype(np.float16)
    weights = np.stack([(b >> (4 * v)) & 15 for v in range(8)], -1).reshape(N, K)
    points = np.stack([(zeros >> (4 * v)) & 15 for v in range(8)], 1).reshape(N, -1)
    expected = (weights - points.repeat(group, 1)) * scales.repeat(group, 1).astype(np.float64)
    arguments = [b, scales, zeros, np.zeros((N, K), np.float16)]
    agree(unpack, arguments, {3: expected.astype(np.float16)})
