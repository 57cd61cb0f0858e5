# SPDX-License-Identifier: Apache-2.0
"""Attention as people write it for GPUs: grouped heads, a sliding window, sequences of many lengths
in one tensor, decoding with the cache split, pages, and linear attention in chunks."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T

LOG2_E = 1.44269504


def normal(random, *shape, dtype=np.float16):
    return random.standard_normal(shape).astype(dtype)


def attention(q, k, v, visible):
    """q [m, d], k and v [n, d], in float64; `visible` [m, n]."""
    scores = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(q.shape[-1])
    scores = np.where(visible, scores, -np.inf)
    top = scores.max(1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(1, keepdims=True)
    return weights @ v.astype(np.float64) / np.where(total == 0, 1, total)


def grouped_attention(batch, heads, groups, seq, dim, is_causal, window, block_M=16, block_N=16):
    scale = LOG2_E / dim**0.5
    share = heads // groups

    @T.macro
    def softmax_step(scores, scores_cast, top, top_before, factor, row_sum, total, rows, columns):
        T.copy(top, top_before)
        T.fill(top, -T.infinity("float32"))
        T.reduce_max(scores, top, dim=1, clear=False)
        for i in T.Parallel(rows):
            top[i] = T.max(top[i], top_before[i])
            if top[i] == -T.infinity("float32"):  # nothing seen yet
                top[i] = 0
        for i in T.Parallel(rows):
            factor[i] = T.exp2(top_before[i] * scale - top[i] * scale)
        for i, j in T.Parallel(rows, columns):
            scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
        T.reduce_sum(scores, row_sum, dim=1)
        for i in T.Parallel(rows):
            total[i] = total[i] * factor[i] + row_sum[i]
        T.copy(scores, scores_cast)

    @T.prim_func
    def forward(
        Q: T.Tensor((batch, seq, heads, dim), "float16"),
        K: T.Tensor((batch, seq, groups, dim), "float16"),
        V: T.Tensor((batch, seq, groups, dim), "float16"),
        Out: T.Tensor((batch, seq, heads, dim), "float16"),
    ):
        with T.Kernel(T.ceildiv(seq, block_M), heads, batch, threads=128) as (bx, by, bz):
            q = T.alloc_shared((block_M, dim), "float16")
            k = T.alloc_shared((block_N, dim), "float16")
            v = T.alloc_shared((block_N, dim), "float16")
            scores = T.alloc_fragment((block_M, block_N), "float32")
            scores_cast = T.alloc_fragment((block_M, block_N), "float16")
            out = T.alloc_fragment((block_M, dim), "float32")
            top = T.alloc_fragment((block_M,), "float32")
            top_before = T.alloc_fragment((block_M,), "float32")
            factor = T.alloc_fragment((block_M,), "float32")
            row_sum = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(Q[bz, bx * block_M : (bx + 1) * block_M, by, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            end = T.ceildiv((bx + 1) * block_M, block_N) if is_causal else T.ceildiv(seq, block_N)
            stop = T.min(end, T.ceildiv(seq, block_N))
            start = T.max(0, (bx * block_M - window) // block_N) if window else 0
            for step in T.Pipelined(start, stop, num_stages=2):
                T.copy(K[bz, step * block_N : (step + 1) * block_N, by // share, :], k)
                for i, j in T.Parallel(block_M, block_N):
                    row = bx * block_M + i
                    column = step * block_N + j
                    outside = column >= seq
                    if is_causal:
                        outside = outside or column > row
                    if window:
                        outside = outside or column <= row - window
                    scores[i, j] = T.if_then_else(outside, -T.infinity("float32"), 0)
                T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                softmax_step(
                    scores, scores_cast, top, top_before, factor, row_sum, total, block_M, block_N
                )
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= factor[i]
                T.copy(V[bz, step * block_N : (step + 1) * block_N, by // share, :], v)
                T.gemm(scores_cast, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[bz, bx * block_M : (bx + 1) * block_M, by, :])

    return forward


@pytest.mark.parametrize(
    ("seq", "is_causal", "window"), [(32, False, 0), (48, True, 0), (40, True, 0), (64, True, 20)]
)
def test_grouped_attention(agree, random, seq, is_causal, window):
    batch, heads, groups, dim = 2, 4, 2, 16
    q = normal(random, batch, seq, heads, dim)
    k, v = (normal(random, batch, seq, groups, dim) for _ in range(2))
    row, column = np.arange(seq)[:, None], np.arange(seq)[None]
    visible = (column <= row) if is_causal else np.ones((seq, seq), bool)
    if window:
        visible = visible & (column > row - window)
    expected = np.zeros((batch, seq, heads, dim))
    for b in range(batch):
        for h in range(heads):
            expected[b, :, h] = attention(q[b, :, h], k[b, :, h // 2], v[b, :, h // 2], visible)
    kernel = grouped_attention(batch, heads, groups, seq, dim, is_causal, window)
    arguments = [q, k, v, np.zeros_like(q)]
    agree(kernel, arguments, {3: expected.astype(np.float16)}, 4e-3)


def test_attention_over_many_lengths(agree, random):
    """All sequences one after the other in one tensor; their starts are in another."""
    lengths, heads, dim, block = [5, 19, 32, 1], 2, 16, 16
    batch, longest = len(lengths), max(lengths)
    total = T.dynamic("total")
    scale = LOG2_E / dim**0.5

    @T.prim_func
    def forward(
        Q: T.Tensor((total, heads, dim), "float16"),
        K: T.Tensor((total, heads, dim), "float16"),
        V: T.Tensor((total, heads, dim), "float16"),
        starts: T.Tensor((batch + 1,), "int32"),
        Out: T.Tensor((total, heads, dim), "float16"),
    ):
        with T.Kernel(T.ceildiv(longest, block), heads, batch, threads=128) as (bx, by, bz):
            q = T.alloc_shared((block, dim), "float16")
            k = T.alloc_shared((block, dim), "float16")
            v = T.alloc_shared((block, dim), "float16")
            scores = T.alloc_fragment((block, block), "float32")
            weights = T.alloc_fragment((block, block), "float16")
            out = T.alloc_fragment((block, dim), "float32")
            top = T.alloc_fragment([block], "float32")
            before = T.alloc_fragment([block], "float32")
            factor = T.alloc_fragment([block], "float32")
            row_sum = T.alloc_fragment([block], "float32")
            sums = T.alloc_fragment([block], "float32")
            first = starts[bz]
            length = starts[bz + 1] - first
            T.copy(Q[first + bx * block : first + (bx + 1) * block, by, 0:dim], q)
            T.clear(out)
            T.clear(sums)
            T.fill(top, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(length, block), num_stages=1):
                for i, d in T.Parallel(block, dim):
                    if step * block + i < length:
                        k[i, d] = K[first + step * block + i, by, d]
                    else:
                        k[i, d] = 0
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.if_then_else(
                        step * block + j < length, 0, -T.infinity("float")
                    )
                T.gemm(q, k, scores, transpose_B=True)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(block):
                    factor[i] = T.exp2((before[i] - top[i]) * scale)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.exp2((scores[i, j] - top[i]) * scale)
                T.reduce_sum(scores, row_sum, dim=1)
                T.copy(scores, weights)
                for i in T.Parallel(block):
                    sums[i] = sums[i] * factor[i] + row_sum[i]
                for i, d in T.Parallel(block, dim):
                    out[i, d] *= factor[i]
                    v[i, d] = T.if_then_else(
                        step * block + i < length, V[first + step * block + i, by, d], 0
                    )
                T.gemm(weights, v, out)
            for i, d in T.Parallel(block, dim):
                if bx * block + i < length:
                    Out[first + bx * block + i, by, d] = out[i, d] / sums[i]

    q, k, v = (normal(random, sum(lengths), heads, dim) for _ in range(3))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    expected = np.zeros(q.shape)
    for begin, end in zip(starts, starts[1:], strict=False):
        for h in range(heads):
            part = slice(begin, end)
            visible = np.ones((end - begin, end - begin), bool)
            expected[part, h] = attention(q[part, h], k[part, h], v[part, h], visible)
    arguments = [q, k, v, starts, np.zeros_like(q)]
    agree(forward, arguments, {4: expected.astype(np.float16)}, 4e-3)


def combination(batch, heads, parts, dim):
    """Joins the parts of each row by their log-sums."""

    @T.prim_func
    def combine(
        lse: T.Tensor((batch, heads, parts), "float32"),
        partial: T.Tensor((batch, heads, parts, dim), "float32"),
        Out: T.Tensor((batch, heads, dim), "float16"),
    ):
        with T.Kernel(heads, batch, threads=128) as (by, bz):
            po_local = T.alloc_fragment([dim], "float32")
            out = T.alloc_fragment([dim], "float32")
            largest = T.alloc_var("float32")
            total = T.alloc_var("float32", 0.0)
            weight = T.alloc_local([1], "float32")
            T.clear(out)
            largest = -T.infinity("float32")
            for k in T.serial(parts):
                largest = T.max(largest, lse[bz, by, k])
            for k in T.serial(parts):
                total += T.exp2(lse[bz, by, k] - largest)
            for k in T.serial(parts):
                T.copy(partial[bz, by, k, 0:dim], po_local)
                weight[0] = T.exp2(lse[bz, by, k] - largest) / total
                for i in T.Parallel(dim):
                    out[i] += po_local[i] * weight[0]
            T.copy(out, Out[bz, by, 0:dim])

    return combine


def test_decoding_with_a_split_cache(agree, random):
    """One query per head; parts of the cache in blocks of their own, joined by their log-sums."""
    batch, heads, groups, seq, dim, parts, block = 2, 8, 2, 64, 16, 2, 16
    share = heads // groups
    scale = LOG2_E / dim**0.5

    @T.prim_func
    def decode(
        Q: T.Tensor((batch, heads, dim), "float16"),
        K: T.Tensor((batch, seq, groups, dim), "float16"),
        V: T.Tensor((batch, seq, groups, dim), "float16"),
        mask: T.Tensor((batch, seq), "uint8"),
        lse: T.Tensor((batch, heads, parts), "float32"),
        partial: T.Tensor((batch, heads, parts, dim), "float32"),
    ):
        with T.Kernel(batch, groups, parts, threads=128) as (bx, by, bz):
            q = T.alloc_shared((share, dim), "float16")
            k = T.alloc_shared((block, dim), "float16")
            v = T.alloc_shared((block, dim), "float16")
            scores = T.alloc_fragment((share, block), "float32")
            weights = T.alloc_fragment((share, block), "float16")
            out = T.alloc_fragment((share, dim), "float32")
            top = T.alloc_fragment([share], "float32")
            before = T.alloc_fragment([share], "float32")
            factor = T.alloc_fragment([share], "float32")
            row_sum = T.alloc_fragment([share], "float32")
            sums = T.alloc_fragment([share], "float32")
            visible = T.alloc_fragment([block], "uint8")
            T.copy(Q[bx, by * share : (by + 1) * share, :], q)
            T.fill(out, 0)
            T.fill(sums, 0)
            T.fill(top, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(seq // parts, block), num_stages=2):
                first = bz * (seq // parts) + step * block
                T.copy(K[bx, first : first + block, by, :], k)
                T.copy(mask[bx, first : first + block], visible)
                T.clear(scores)
                T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(share, block):
                    scores[i, j] = T.if_then_else(visible[j] != 0, scores[i, j], -1e30)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(share):
                    factor[i] = T.exp2(before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(share, block):
                    scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(share):
                    sums[i] = sums[i] * factor[i] + row_sum[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(share, dim):
                    out[i, j] *= factor[i]
                T.copy(V[bx, first : first + block, by, :], v)
                T.gemm(weights, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(share, dim):
                out[i, j] /= sums[i]
            for i in T.Parallel(share):
                sums[i] = T.log2(sums[i]) + top[i] * scale
            T.copy(sums, lse[bx, by * share : (by + 1) * share, bz])
            T.copy(out, partial[bx, by * share : (by + 1) * share, bz, :])

    q = normal(random, batch, heads, dim)
    k, v = (normal(random, batch, seq, groups, dim) for _ in range(2))
    mask = (random.random((batch, seq)) < 0.7).astype(np.uint8)
    expected = np.zeros(q.shape)
    for b in range(batch):
        for h in range(heads):
            visible = mask[b][None] != 0
            expected[b, h] = attention(
                q[b, h][None], k[b, :, h // share], v[b, :, h // share], visible
            )
    lse = np.zeros((batch, heads, parts), np.float32)
    partial = np.zeros((batch, heads, parts, dim), np.float32)
    arguments = [q, k, v, mask, lse, partial]
    agree(decode, arguments, {}, 2e-3)
    lse, partial = agree.compiled(decode, arguments)[4:]
    combine = combination(batch, heads, parts, dim)
    agree(combine, [lse, partial, np.zeros_like(q)], {2: expected.astype(np.float16)}, 4e-3)


def test_decoding_with_pages(agree, random):
    """The cache lies in pages that a table names."""
    heads, dim, page, pages = 4, 16, 8, 12
    batch, most = 2, 4
    scale = LOG2_E / dim**0.5

    @T.prim_func
    def decode(
        Q: T.Tensor((batch, heads, dim), "float32"),
        K: T.Tensor((pages * page, dim), "float32"),
        V: T.Tensor((pages * page, dim), "float32"),
        table: T.Tensor((batch, most), "int32"),
        lengths: T.Tensor((batch,), "int32"),
        Out: T.Tensor((batch, heads, dim), "float32"),
    ):
        with T.Kernel(batch, threads=128) as bx:
            q = T.alloc_shared((heads, dim), "float32")
            k = T.alloc_shared((page, dim), "float32")
            scores = T.alloc_fragment((heads, page), "float32")
            out = T.alloc_fragment((heads, dim), "float32")
            top = T.alloc_fragment((heads,), "float32")
            before = T.alloc_fragment((heads,), "float32")
            sums = T.alloc_fragment((heads,), "float32")
            part = T.alloc_fragment((heads,), "float32")
            T.copy(Q[bx, :, :], q)
            T.clear(out)
            T.clear(sums)
            T.fill(top, -T.infinity("float32"))
            length = lengths[bx]
            for step in T.serial(T.ceildiv(length, page)):
                where = table[bx, step] * page
                T.copy(K[where : where + page, :], k)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(V[where : where + page, :], k)
                for i, j in T.Parallel(heads, page):
                    if step * page + j >= length:
                        scores[i, j] = -T.infinity("float32")
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i, j in T.Parallel(heads, page):
                    scores[i, j] = T.exp2((scores[i, j] - top[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(heads):
                    sums[i] = sums[i] * T.exp2((before[i] - top[i]) * scale) + part[i]
                for i, j in T.Parallel(heads, dim):
                    out[i, j] = out[i, j] * T.exp2((before[i] - top[i]) * scale)
                T.gemm(scores, k, out)
            for i, j in T.Parallel(heads, dim):
                Out[bx, i, j] = out[i, j] / sums[i]

    q = normal(random, batch, heads, dim, dtype=np.float32)
    k, v = (normal(random, pages * page, dim, dtype=np.float32) for _ in range(2))
    table = random.permutation(pages)[: batch * most].reshape(batch, most).astype(np.int32)
    lengths = np.array([most * page, 11], np.int32)
    rows = [
        (table[b][:, None] * page + np.arange(page)).reshape(-1)[: lengths[b]] for b in range(2)
    ]
    expected = np.stack(
        [
            attention(q[b], k[rows[b]], v[rows[b]], np.ones((heads, lengths[b]), bool))
            for b in range(2)
        ]
    ).astype(np.float32)
    agree(decode, [q, k, v, table, lengths, np.zeros_like(q)], {5: expected})


def test_linear_attention_in_chunks(agree, random):
    """The state goes from chunk to chunk; inside one there are scores under the diagonal."""
    batch, heads, seq, dim, chunk = 1, 2, 48, 16, 16

    @T.prim_func
    def forward(
        Q: T.Tensor((batch, seq, heads, dim), "float32"),
        K: T.Tensor((batch, seq, heads, dim), "float32"),
        V: T.Tensor((batch, seq, heads, dim), "float32"),
        Out: T.Tensor((batch, seq, heads, dim), "float32"),
        Last: T.Tensor((batch, heads, dim, dim), "float32"),
    ):
        with T.Kernel(batch * heads) as block:
            b = block // heads
            h = block % heads
            q = T.alloc_shared((chunk, dim), "float32")
            k = T.alloc_shared((chunk, dim), "float32")
            v = T.alloc_shared((chunk, dim), "float32")
            scores = T.alloc_fragment((chunk, chunk), "float32")
            scores_shared = T.alloc_shared((chunk, chunk), "float32")
            out = T.alloc_fragment((chunk, dim), "float32")
            state = T.alloc_fragment((dim, dim), "float32")
            state_shared = T.alloc_shared((dim, dim), "float32", scope="shared")
            T.annotate_layout(
                {scores_shared: T.Layout(scores_shared.shape, lambda i, j: i * chunk + j)}
            )
            T.use_swizzle(10)
            T.clear(state)
            for step in T.Pipelined(0, T.ceildiv(seq, chunk), num_stages=2):
                for i, j in T.Parallel(chunk, dim):
                    q[i, j] = Q[b, step * chunk + i, h, j] * dim**-0.5
                T.copy(K[b, step * chunk : (step + 1) * chunk, h, 0:dim], k)
                T.copy(V[b, step * chunk : (step + 1) * chunk, h, 0:dim], v)
                T.gemm(q, k, scores, clear_accum=True, transpose_B=True)
                for i, j in T.Parallel(chunk, chunk):
                    scores_shared[i, j] = T.if_then_else(i >= j, scores[i, j], 0)
                T.gemm(scores_shared, v, out, clear_accum=True)
                T.copy(state, state_shared)
                T.gemm(q, state_shared, out)
                T.gemm(k, v, state, transpose_A=True)
                T.copy(out, Out[b, step * chunk : (step + 1) * chunk, h, 0:dim])
            T.copy(state, Last[b, h, 0:dim, 0:dim])

    q, k, v = (normal(random, batch, seq, heads, dim, dtype=np.float32) for _ in range(3))
    wide = [x.astype(np.float64)[0] for x in (q, k, v)]
    state, expected = np.zeros((heads, dim, dim)), np.zeros((seq, heads, dim))
    for t in range(seq):
        state += np.einsum("hk,hv->hkv", wide[1][t], wide[2][t])
        expected[t] = np.einsum("hk,hkv->hv", wide[0][t] / np.sqrt(dim), state)
    arguments = [q, k, v, np.zeros_like(q), np.zeros((batch, heads, dim, dim), np.float32)]
    outputs = {3: expected[None].astype(np.float32), 4: state[None].astype(np.float32)}
    agree(forward, arguments, outputs)
