# SPDX-License-Identifier: Apache-2.0
"""Kernels over rows and time as people write them for GPUs: norms with a long row in parts, the
largest k, running sums, a state-space scan, routing tables, and kernels in the style of threads."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def test_rms_norm_of_long_rows(agree, random):
    """The row is read twice, in parts: squares first, then the scaled values."""
    M, N, rows, part = 10, 96, 4, 32

    @T.prim_func
    def norm(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            a = T.alloc_shared((rows, part), "float32")
            squares = T.alloc_fragment((rows, part), "float32")
            total = T.alloc_fragment((rows,), "float32")
            steps = T.ceildiv(N, part)
            T.clear(squares)
            for k in range(steps):
                T.copy(A[bx * rows, k * part], a)
                for i, j in T.Parallel(rows, part):
                    squares[i, j] += a[i, j] * a[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i in T.Parallel(rows):
                total[i] = T.rsqrt(total[i] / N + 1e-12)
            for k in range(steps):
                T.copy(A[bx * rows, (steps - 1 - k) * part], a)
                for i, j in T.Parallel(rows, part):
                    a[i, j] *= total[i]
                T.copy(a, B[bx * rows, (steps - 1 - k) * part])

    a = normal(random, M, N)
    wide = a.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-12)
    agree(norm, [a, np.zeros_like(a)], {1: expected.astype(np.float32)})


def test_largest_k_of_rows(agree, random):
    """k times: the largest of each row, its place, and away with it."""
    M, N, k, rows = 12, 24, 3, 4

    @T.prim_func
    def topk(
        logits: T.Tensor((M, N), "float32"),
        gates: T.Tensor((M, k), "float32"),
        places: T.Tensor((M, k), "int32"),
    ):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            values = T.alloc_fragment((rows, N), "float32")
            largest = T.alloc_fragment((rows,), "float32")
            where = T.alloc_fragment((rows, N), "int32")
            first = T.alloc_fragment((rows,), "int32")
            T.copy(logits[bx * rows, 0], values)
            for n in T.serial(k):
                T.fill(where, -1)
                T.reduce_max(values, largest, dim=1, clear=True)
                for i, j in T.Parallel(rows, N):
                    where[i, j] = T.if_then_else(largest[i] == values[i, j], j, where[i, j])
                T.reduce_max(where, first, dim=1, clear=True)
                for i, j in T.Parallel(rows, N):
                    values[i, j] = T.if_then_else(
                        largest[i] == values[i, j], -10000.0, values[i, j]
                    )
                for i in T.Parallel(rows):
                    gates[bx * rows + i, n] = largest[i]
                    places[bx * rows + i, n] = first[i]

    logits = normal(random, M, N)
    order = np.argsort(-logits, axis=1)[:, :k].astype(np.int32)
    expected = {1: np.take_along_axis(logits, order, 1), 2: order}
    agree(topk, [logits, np.zeros((M, k), np.float32), np.zeros((M, k), np.int32)], expected)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_running_sum_over_long_rows(agree, random, is_reversed):
    """Chunk by chunk; what came before is added."""
    M, N, chunk = 3, 64, 16

    @T.prim_func
    def running(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(M, threads=64) as row:
            part = T.alloc_shared((chunk,), "float32")
            carry = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.clear(carry)
            for step in T.serial(N // chunk):
                at = (N // chunk - 1 - step if is_reversed else step) * chunk
                T.copy(A[row, at : at + chunk], part)
                T.reduce_sum(part, total, dim=0)
                T.cumsum(src=part, dim=0, reverse=is_reversed)
                for j in T.Parallel(chunk):
                    B[row, at + j] = part[j] + carry[0]
                carry[0] += total[0]

    a = normal(random, M, N)
    flipped = np.flip(a, 1) if is_reversed else a
    sums = np.cumsum(flipped.astype(np.float64), 1)
    expected = (np.flip(sums, 1) if is_reversed else sums).astype(np.float32)
    agree(running, [a, np.zeros_like(a)], {1: expected}, 1e-5)


def test_state_space_scan(agree, random):
    """h = exp(dt A) h + dt B x; y = C h + D x, one channel a thread, the state in registers."""
    length, channels, states = 12, 40, 8
    threads = 32

    @T.prim_func
    def scan(
        x: T.Tensor((length, channels), "float32"),
        dt: T.Tensor((length, channels), "float32"),
        A: T.Tensor((channels, states), "float32"),
        B: T.Tensor((length, states), "float32"),
        C: T.Tensor((length, states), "float32"),
        D: T.Tensor((channels,), "float32"),
        y: T.Tensor((length, channels), "float32"),
    ):
        with T.Kernel(T.ceildiv(channels, threads), threads=threads) as bx:
            tx = T.get_thread_binding(0)
            channel = bx * threads + tx
            h = T.alloc_local((states,), "float32")
            out = T.alloc_var("float32", init=0.0)
            T.clear(h)
            for t in T.serial(length):
                if channel < channels:
                    step = dt[t, channel]
                    out = D[channel] * x[t, channel]
                    for n in T.serial(states):
                        h[n] = T.exp(step * A[channel, n]) * h[n] + step * B[t, n] * x[t, channel]
                        out += C[t, n] * h[n]
                    y[t, channel] = out

    x, D = normal(random, length, channels), normal(random, channels)
    dt = random.uniform(0.01, 0.5, (length, channels)).astype(np.float32)
    A = -random.uniform(0.1, 2, (channels, states)).astype(np.float32)
    B, C = normal(random, length, states), normal(random, length, states)
    h, expected = np.zeros((channels, states)), np.zeros((length, channels))
    for t in range(length):
        h = np.exp(dt[t][:, None] * A.astype(float)) * h + (dt[t] * x[t])[:, None] * B[t]
        expected[t] = h @ C[t] + D * x[t]
    arguments = [x, dt, A, B, C, D, np.zeros_like(x)]
    agree(scan, arguments, {6: expected.astype(np.float32)}, 2e-5)


def test_chunk_state_of_a_scan(agree, random):
    """The state-space model in chunks: decays from a running sum, the state by a gemm."""
    batch, chunks, size, heads, dim, states = 1, 3, 16, 2, 8, 16

    @T.prim_func
    def chunk_state(
        B: T.Tensor((batch, chunks * size, states), "float16"),
        x: T.Tensor((batch, chunks * size, heads, dim), "float16"),
        dt: T.Tensor((batch, heads, chunks, size), "float32"),
        dA: T.Tensor((batch, heads, chunks, size), "float32"),
        Out: T.Tensor((batch, chunks, heads, dim, states), "float32"),
    ):
        with T.Kernel(heads, chunks, batch, threads=128) as (bz, bc, bb):
            values = T.alloc_shared((size, dim), "float16")
            scaled = T.alloc_fragment((dim, size), "float16")
            b = T.alloc_shared((size, states), "float16")
            decay = T.alloc_shared((size,), "float32")
            step = T.alloc_fragment((size,), "float32")
            state = T.alloc_fragment((dim, states), "float32")
            T.copy(dA[bb, bz, bc, 0:size], decay)
            T.copy(dt[bb, bz, bc, 0:size], step)
            T.cumsum(decay)
            T.copy(x[bb, bc * size : (bc + 1) * size, bz, 0:dim], values)
            T.copy(B[bb, bc * size : (bc + 1) * size, 0:states], b)
            for i, j in T.Parallel(dim, size):
                weight = T.exp2((decay[size - 1] - decay[j]) * 1.44269504) * step[j]
                scaled[i, j] = T.cast(values[j, i] * weight, "float16")
            T.gemm(scaled, b, state, clear_accum=True)
            T.copy(state, Out[bb, bc, bz, 0:dim, 0:states])

    b = random.uniform(-1, 1, (batch, chunks * size, states)).astype(np.float16)
    x = random.uniform(-1, 1, (batch, chunks * size, heads, dim)).astype(np.float16)
    dt = random.uniform(0.1, 1, (batch, heads, chunks, size)).astype(np.float32)
    dA = -random.uniform(0, 0.3, dt.shape).astype(np.float32)
    sums = np.cumsum(dA.astype(float), -1)
    weight = np.exp(sums[..., -1:] - sums) * dt
    xs = x.astype(float).reshape(batch, chunks, size, heads, dim)
    bs = b.astype(float).reshape(batch, chunks, size, states)
    expected = np.einsum("bhcl,bclhp,bcln->bchpn", weight, xs, bs)
    arguments = [b, x, dt, dA, np.zeros(expected.shape, np.float32)]
    agree(chunk_state, arguments, {4: expected.astype(np.float32)}, 2e-3)


def test_threads_that_share_a_row(agree, random):
    """A product of a matrix and a vector in the style of threads: pieces in registers, partial sums
    over a dim of threads, and a shuffle or a tree at the end."""
    N, K, block, reduce, piece = 10, 128, 4, 32, 4

    @T.prim_func
    def gemv(
        A: T.Tensor((K,), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((N,), "float16")
    ):
        with T.Kernel(T.ceildiv(N, block), threads=(block, reduce)) as bn:
            tn = T.get_thread_binding(0)
            tk = T.get_thread_binding(1)
            a = T.alloc_local((piece,), "float16")
            b = T.alloc_local((piece,), "float16")
            total = T.alloc_shared((block,), "float32")
            sums = T.alloc_local((1,), "float32")
            if tk == 0:
                total[tn] = 0
            T.sync_threads()
            sums[0] = 0
            for step in T.serial(T.ceildiv(K, reduce * piece)):
                for k in T.vectorized(piece):
                    a[k] = A[step * reduce * piece + tk * piece + k]
                    b[k] = T.if_then_else(
                        bn * block + tn < N,
                        B[bn * block + tn, step * reduce * piece + tk * piece + k],
                        T.float16(0),
                    )
                for k in T.serial(piece):
                    sums[0] += a[k].astype("float32") * b[k].astype("float32")
            T.atomic_add(total[tn], sums[0])
            T.sync_threads()
            if tk == 0 and bn * block + tn < N:
                C[bn * block + tn] = total[tn]

    a = random.uniform(-1, 1, K).astype(np.float16)
    b = random.uniform(-1, 1, (N, K)).astype(np.float16)
    expected = (b.astype(float) @ a.astype(float)).astype(np.float16)
    agree(gemv, [a, b, np.zeros(N, np.float16)], {2: expected})


def test_routing_tokens_to_experts(agree, random):
    """A histogram with atomics that give the place, then rows go there."""
    tokens, experts, width = 40, 4, 8

    @T.prim_func
    def count(
        expert: T.Tensor((tokens,), "int32"),
        counts: T.Tensor((experts,), "int32"),
        place: T.Tensor((tokens,), "int32"),
    ):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if tx < tokens:
                place[tx] = T.atomic_add(counts[expert[tx]], 1, return_prev=True)

    expert = random.integers(0, experts, tokens).astype(np.int32)
    arguments = [expert, np.zeros(experts, np.int32), np.zeros(tokens, np.int32)]
    _, counts, place = agree.compiled(count, arguments)
    np.testing.assert_array_equal(counts, np.bincount(expert, minlength=experts))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)

    @T.prim_func
    def scatter(
        X: T.Tensor((tokens, width), "float32"),
        expert: T.Tensor((tokens,), "int32"),
        place: T.Tensor((tokens,), "int32"),
        starts: T.Tensor((experts,), "int32"),
        Y: T.Tensor((tokens, width), "float32"),
    ):
        with T.Kernel(tokens, threads=32) as token:
            row = starts[expert[token]] + place[token]
            for j in T.Parallel(width):
                Y[row, j] = X[token, j]

    x = normal(random, tokens, width)
    expected = np.zeros_like(x)
    expected[starts[expert] + place] = x
    assert (np.sort(starts[expert] + place) == np.arange(tokens)).all()
    agree(scatter, [x, expert, place, starts, np.zeros_like(x)], {4: expected})


def test_cross_entropy_over_a_vocabulary(agree, random):
    """Online maximum and sum over a row that doesn't fit, and the label's own score."""
    M, V, part = 6, 100, 32

    @T.prim_func
    def loss(
        logits: T.Tensor((M, V), "float32"),
        labels: T.Tensor((M,), "int64"),
        out: T.Tensor((M,), "float32"),
    ):
        with T.Kernel(M, threads=128) as row:
            x = T.alloc_fragment((1, part), "float32")
            top = T.alloc_fragment((1,), "float32")
            before = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            piece = T.alloc_fragment((1,), "float32")
            T.fill(top, -T.infinity("float32"))
            T.clear(total)
            for step in T.serial(T.ceildiv(V, part)):
                for i, j in T.Parallel(1, part):
                    column = step * part + j
                    x[i, j] = T.if_then_else(
                        column < V, logits[row, column], -T.infinity("float32")
                    )
                T.copy(top, before)
                T.reduce_max(x, top, dim=1, clear=False)
                for i, j in T.Parallel(1, part):
                    x[i, j] = T.exp(x[i, j] - top[i])
                T.reduce_sum(x, piece, dim=1)
                for i in T.Parallel(1):
                    total[i] = total[i] * T.exp(before[i] - top[i]) + piece[i]
            label = labels[row]
            if label >= 0:
                out[row] = T.log(total[0]) + top[0] - logits[row, label]
            else:
                out[row] = 0.0

    logits = normal(random, M, V) * 5
    labels = np.array([3, 99, 0, -100, 50, 7], np.int64)
    wide = logits.astype(float)
    log_sum = np.log(np.exp(wide - wide.max(1, keepdims=True)).sum(1)) + wide.max(1)
    expected = np.where(labels >= 0, log_sum - wide[np.arange(M), np.maximum(labels, 0)], 0)
    agree(loss, [logits, labels, np.zeros(M, np.float32)], {2: expected.astype(np.float32)}, 1e-5)
