# SPDX-License-Identifier: Apache-2.0
"""Attention over chosen keys as people write it for GPUs: the scores that choose them, blocks by
their numbers, and the triangular solve of a gated delta rule."""

from __future__ import annotations

import numpy as np

import tilewright
import tilewright.language as T

LOG2_E = 1.44269504


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float16)


def wide(array):
    return array.astype(np.float64)


def index_scores(heads, dim, block_N=32, block_Q=8):
    """Of each query with the keys of its range: weighted over heads, negative ones count as 0."""
    m, n = T.dynamic("m, n")

    @T.prim_func
    def scores(
        Q: T.Tensor((m * heads, dim), "float16"),
        K: T.Tensor((n, dim), "float16"),
        Scale: T.Tensor((n,), "float32"),
        Out: T.Tensor((m, n), "float32"),
        Weights: T.Tensor((m, heads), "float32"),
        starts: T.Tensor((m,), "int32"),
        ends: T.Tensor((m,), "int32"),
    ):
        with T.Kernel(T.ceildiv(m, block_Q), threads=128) as bx:
            q = T.alloc_shared([block_Q * heads, dim], "float16")
            k = T.alloc_shared([block_N, dim], "float16")
            scale = T.alloc_fragment([block_N], "float32")
            s = T.alloc_fragment([block_N, block_Q * heads], "float32")
            by_head = T.reshape(s, (block_N, block_Q, heads))
            total = T.alloc_fragment([block_N, block_Q], "float32")
            weights = T.alloc_fragment([block_Q, heads], "float32")
            first = T.alloc_local([1], "int32")
            last = T.alloc_local([1], "int32")
            first[0] = 2147483647
            last[0] = -2147483648
            row = bx * block_Q
            for i in T.serial(block_Q):
                first[0] = T.min(first[0], T.min(starts[row + i], n))
            for i in T.serial(block_Q):
                last[0] = T.max(last[0], T.min(ends[row + i], n))
            T.copy(Q[row * heads, 0], q)
            T.copy(Weights[row, 0], weights)
            for step in T.Pipelined(T.ceildiv(last[0] - first[0], block_N), num_stages=2):
                key = first[0] + step * block_N
                T.copy(K[key, 0], k)
                T.copy(Scale[key], scale)
                T.gemm(k, q, s, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullCol)
                for j, i, h in T.Parallel(block_N, block_Q, heads):
                    by_head[j, i, h] = T.max(by_head[j, i, h], 0) * weights[i, h] * scale[j]
                T.reduce_sum(by_head, total, dim=-1, clear=True)
                for i, j in T.Parallel(block_Q, block_N):
                    Out[row + i, key + j] = total[j, i]

    @T.prim_func
    def clean(
        Out: T.Tensor((m, n), "float32"),
        starts: T.Tensor((m,), "int32"),
        ends: T.Tensor((m,), "int32"),
    ):
        with T.Kernel(m, threads=64) as bx:
            tx = T.thread_binding(0, 64, thread="threadIdx.x")
            start = T.alloc_local([1], "int32")
            end = T.alloc_local([1], "int32")
            start[0] = starts[bx]
            end[0] = ends[bx]
            for step in T.Pipelined(T.ceildiv(n, 128)):
                for part in T.serial(2):
                    j = step * 128 + part * 64 + tx
                    if j < start[0] or j >= end[0]:
                        Out[bx, j] = -T.infinity("float32")

    return scores, clean


def test_scores_that_choose_keys(random):
    m, n, heads, dim = 24, 100, 4, 32
    q, k = normal(random, m * heads, dim), normal(random, n, dim)
    scale = random.uniform(0.5, 1, n).astype(np.float32)
    weights = random.uniform(0, 1, (m, heads)).astype(np.float32)
    starts = np.sort(random.integers(0, 30, m)).astype(np.int32)
    ends = (starts + random.integers(20, 70, m)).astype(np.int32)
    products = np.einsum("mhd,nd->mhn", wide(q).reshape(m, heads, dim), wide(k))
    expected = (np.maximum(products, 0) * weights[:, :, None]).sum(1) * scale
    numbers = np.arange(n)
    expected[(numbers < starts[:, None]) | (numbers >= ends[:, None])] = -np.inf
    for target in ("cpu", "reference"):
        out = np.zeros((m, n), np.float32)
        scores, clean = (
            tilewright.compile(kernel, target=target) for kernel in index_scores(heads, dim)
        )
        scores(q, k, scale, out, weights, starts, ends)
        clean(out, starts, ends)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def chosen_blocks(heads, share, seq, dim, block, count):
    """Each query has the numbers of its blocks of keys; -1 stands for none."""
    scale, groups = dim**-0.5 * LOG2_E, heads // share

    @T.prim_func
    def forward(
        Q: T.Tensor([1, seq, heads, dim], "float16"),
        K: T.Tensor([1, seq, groups, dim], "float16"),
        V: T.Tensor([1, seq, groups, dim], "float16"),
        Blocks: T.Tensor([1, seq, groups, count], "int32"),
        Out: T.Tensor([1, seq, heads, dim], "float16"),
    ):
        with T.Kernel(seq, groups, threads=32) as (t, g):
            q = T.alloc_shared([share, dim], "float16")
            k = T.alloc_shared([block, dim], "float16")
            v = T.alloc_shared([block, dim], "float16")
            scores = T.alloc_fragment([share, block], "float32")
            weights = T.alloc_fragment([share, block], "float16")
            out = T.alloc_fragment([share, dim], "float32")
            top, before, factor, row_sum, total = [
                T.alloc_fragment([share], "float32") for _ in range(5)
            ]
            T.copy(Q[0, t, g * share : (g + 1) * share, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            for i in T.Pipelined(count, num_stages=0):
                start = Blocks[0, t, g, i] * block
                if start <= t and start >= 0:
                    T.copy(K[0, start : start + block, g, :], k)
                    for h, j in T.Parallel(share, block):
                        scores[h, j] = T.if_then_else(t >= start + j, 0, -T.infinity(scores.dtype))
                    T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    T.copy(top, before)
                    T.reduce_max(scores, top, dim=1, clear=True)
                    for h in T.Parallel(share):
                        top[h] = T.max(top[h], before[h])
                        factor[h] = T.exp2(before[h] * scale - top[h] * scale)
                    for h, j in T.Parallel(share, block):
                        scores[h, j] = T.exp2(scores[h, j] * scale - top[h] * scale)
                    T.reduce_sum(scores, row_sum, dim=1)
                    for h in T.Parallel(share):
                        total[h] = total[h] * factor[h] + row_sum[h]
                    T.copy(scores, weights)
                    for h, d in T.Parallel(share, dim):
                        out[h, d] *= factor[h]
                    T.copy(V[0, start : start + block, g, :], v)
                    T.gemm(weights, v, out, policy=T.GemmWarpPolicy.FullRow)
            for h, d in T.Parallel(share, dim):
                out[h, d] /= total[h]
            T.copy(out, Out[0, t, g * share : (g + 1) * share, :])

    return forward


def test_blocks_by_their_numbers(agree, random):
    heads, share, seq, dim, block, count = 8, 4, 40, 32, 16, 3
    groups = heads // share
    q = normal(random, 1, seq, heads, dim)
    k, v = (normal(random, 1, seq, groups, dim) for _ in range(2))
    blocks = np.full((1, seq, groups, count), -1, np.int32)
    expected = np.zeros(q.shape)
    for t, g in np.ndindex(seq, groups):
        chosen = random.permutation(t // block + 1)[: 1 + t % count]
        blocks[0, t, g, : len(chosen)] = chosen
        rows = (chosen[:, None] * block + np.arange(block)).ravel()
        rows = rows[rows <= t]
        for h in range(g * share, (g + 1) * share):
            scores = wide(k[0, rows, g]) @ wide(q[0, t, h]) / np.sqrt(dim)
            weights = np.exp(scores - scores.max())
            expected[0, t, h] = weights @ wide(v[0, rows, g]) / weights.sum()
    kernel = chosen_blocks(heads, share, seq, dim, block, count)
    arguments = [q, k, v, blocks, np.zeros_like(q)]
    agree(kernel, arguments, {4: expected.astype(np.float16)}, 4e-3)


def delta_rule(seq, heads, dim, block):
    """The inverse of 1 + L for each block, row by row; L is below the diagonal."""

    @T.prim_func
    def solve(
        K: T.Tensor((1, seq, heads, dim), "float16"),
        Beta: T.Tensor((1, seq, heads), "float16"),
        Gate: T.Tensor((1, seq, heads), "float32"),
        A: T.Tensor((1, seq, heads, block), "float32"),
    ):
        with T.Kernel(T.ceildiv(seq, block), heads, threads=128) as (bs, bh):
            k = T.alloc_shared((block, dim), "float16")
            k_beta = T.alloc_fragment((block, dim), "float16")
            a = T.alloc_fragment((block, block), "float32")
            a_shared = T.alloc_shared((block, block), "float32")
            beta = T.alloc_shared((block,), "float16", scope="shared")
            gate = T.alloc_shared((block,), "float32", scope="shared")
            row = T.alloc_fragment((block,), "float32")
            products = T.alloc_fragment((block, block), "float32")
            sums = T.alloc_fragment((block,), "float32")
            T.fill(a, 0)
            T.disable_warp_group_reg_alloc()
            for i in T.Parallel(block):
                beta[i] = Beta[0, bs * block + i, bh]
                gate[i] = Gate[0, bs * block + i, bh]
            T.copy(K[0, bs * block : (bs + 1) * block, bh, :], k)
            for i, j in T.Parallel(block, dim):
                k_beta[i, j] = k[i, j] * beta[i]
            T.gemm(k_beta, k, a, transpose_B=True)
            for i, j in T.Parallel(block, block):
                with T.If(i <= j):
                    with T.Then():
                        a[i, j] = 0
                    with T.Else():
                        a[i, j] = -a[i, j] * T.exp(gate[i] - gate[j])
            T.copy(a, a_shared)
            for i in T.serial(1, block):
                for j in T.Parallel(block):
                    row[j] = T.if_then_else(j < i, a_shared[i, j], 0)
                for p, j in T.Parallel(block, block):
                    products[j, p] = T.if_then_else(p < i and j < i, row[p] * a_shared[p, j], 0)
                T.reduce_sum(products, sums, dim=1)
                for j in T.Parallel(block):
                    if j < i:
                        a_shared[i, j] = row[j] + sums[j]
            for i in T.Parallel(block):
                a_shared[i, i] += 1
            T.copy(a_shared, A[0, bs * block : (bs + 1) * block, bh, :])

    return solve


def test_triangular_solve_of_a_delta_rule(agree, random):
    seq, heads, dim, block = 48, 2, 32, 16
    k = (random.standard_normal((1, seq, heads, dim)) * 0.3).astype(np.float16)
    beta = random.uniform(0, 1, (1, seq, heads)).astype(np.float16)
    gate = (-np.cumsum(random.uniform(0, 0.1, (1, seq, heads)), 1)).astype(np.float32)
    expected = np.zeros((1, seq, heads, block))
    for start, h in np.ndindex(seq // block, heads):
        rows = slice(start * block, (start + 1) * block)
        keys, gates = wide(k[0, rows, h]), wide(gate[0, rows, h])
        scaled = wide(k[0, rows, h] * beta[0, rows, h][:, None])
        lower = np.tril(scaled @ keys.T * np.exp(gates[:, None] - gates), -1)
        expected[0, rows, h] = np.linalg.inv(np.eye(block) + lower)
    arguments = [k, beta, gate, np.zeros(expected.shape, np.float32)]
    agree(delta_rule(seq, heads, dim, block), arguments, {3: expected}, 1e-4)
