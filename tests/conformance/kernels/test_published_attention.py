# SPDX-License-Identifier: Apache-2.0
"""More attention as people write it for GPUs: blocks that a mask leaves out, the backward pass with
grouped heads, decoding with latent heads in pages, and a scan in chunks."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T
from tilewright.layout import make_swizzled_layout

LOG2_E = 1.44269504


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float16)


def wide(array):
    return array.astype(np.float64)


def attention(q, k, v, visible):
    """What each query gives, and the logarithm of its sum of weights."""
    scores = np.where(visible, q @ k.T / np.sqrt(q.shape[-1]), -np.inf)
    log_sum = np.log(np.exp(scores).sum(1, keepdims=True))
    weights = np.exp(scores - log_sum)
    return weights @ v, weights, log_sum[:, 0]


def sparse_attention(heads, seq, dim, block, is_causal):
    scale = (1 / dim) ** 0.5 * LOG2_E
    shape, blocks = [1, heads, seq, dim], seq // block

    @T.prim_func
    def forward(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        BlockMask: T.Tensor([1, heads, blocks, blocks], T.bool),
        Out: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(blocks, heads, 1, threads=128) as (bx, by, bz):
            q = T.alloc_shared([block, dim], "float16")
            k = T.alloc_shared([block, dim], "float16")
            v = T.alloc_shared([block, dim], "float16")
            scores = T.alloc_fragment([block, block], "float32")
            weights = T.alloc_fragment([block, block], "float16")
            out = T.alloc_fragment([block, dim], "float32")
            top, before, factor, row_sum, total = [
                T.alloc_fragment([block], "float32") for _ in range(5)
            ]
            wanted = T.alloc_local([blocks], T.bool)
            T.copy(Q[bz, by, bx * block : (bx + 1) * block, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            for j in T.serial(blocks):
                wanted[j] = BlockMask[bz, by, bx, j]
            for step in T.Pipelined(bx + 1 if is_causal else blocks, num_stages=1):
                if wanted[step] != 0:
                    T.copy(K[bz, by, step * block : (step + 1) * block, :], k)
                    for i, j in T.Parallel(block, block):
                        hidden = is_causal and bx * block + i < step * block + j
                        scores[i, j] = T.if_then_else(hidden, -T.infinity(scores.dtype), 0)
                    T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    T.copy(top, before)
                    T.fill(top, -T.infinity("float32"))
                    T.reduce_max(scores, top, dim=1, clear=False)
                    for i in T.Parallel(block):
                        top[i] = T.max(top[i], before[i])
                        factor[i] = T.exp2(before[i] * scale - top[i] * scale)
                    for i, j in T.Parallel(block, block):
                        scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                    T.reduce_sum(scores, row_sum, dim=1)
                    for i in T.Parallel(block):
                        total[i] = total[i] * factor[i] + row_sum[i]
                    T.copy(scores, weights)
                    for i, j in T.Parallel(block, dim):
                        out[i, j] *= factor[i]
                    T.copy(V[bz, by, step * block : (step + 1) * block, :], v)
                    T.gemm(weights, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[bz, by, bx * block : (bx + 1) * block, :])

    return forward


@pytest.mark.parametrize("is_causal", [False, True])
def test_blocks_left_out_by_a_mask(agree, random, is_causal):
    heads, seq, dim, block = 2, 96, 32, 32
    q, k, v = (normal(random, 1, heads, seq, dim) for _ in range(3))
    mask = random.random((1, heads, seq // block, seq // block)) < 0.4
    mask[..., np.arange(seq // block), np.arange(seq // block)] = True
    expected = np.zeros(q.shape)
    for h in range(heads):
        visible = mask[0, h].repeat(block, 0).repeat(block, 1)
        if is_causal:
            visible = visible & np.tri(seq, dtype=bool)
        expected[0, h] = attention(wide(q[0, h]), wide(k[0, h]), wide(v[0, h]), visible)[0]
    kernel = sparse_attention(heads, seq, dim, block, is_causal)
    agree(kernel, [q, k, v, mask, np.zeros_like(q)], {4: expected.astype(np.float16)}, 4e-3)


def backward(heads, groups, seq, dim, block):
    """Each block has a part of the keys; what it adds to dQ, and to the dK and dV that the heads of
    a group share, are atomic updates."""
    scale, share = (1 / dim) ** 0.5, heads // groups
    of_q, of_k, rows = [1, seq, heads, dim], [1, seq, groups, dim], [1, heads, seq]

    @T.prim_func
    def gradients(
        Q: T.Tensor(of_q, "float16"),
        K: T.Tensor(of_k, "float16"),
        V: T.Tensor(of_k, "float16"),
        dO: T.Tensor(of_q, "float16"),
        LogSum: T.Tensor(rows, "float32"),
        Delta: T.Tensor(rows, "float32"),
        dQ: T.Tensor(of_q, "float32"),
        dK: T.Tensor(of_k, "float32"),
        dV: T.Tensor(of_k, "float32"),
    ):
        with T.Kernel(heads, T.ceildiv(seq, block), 1, threads=128) as (bx, by, bz):
            k = T.alloc_shared([block, dim], "float16")
            v = T.alloc_shared([block, dim], "float16")
            q = T.alloc_shared([block, dim], "float16")
            do = T.alloc_shared([block, dim], "float16")
            log_sum = T.alloc_shared([block], "float32")
            delta = T.alloc_shared([block], "float32")
            ds_shared = T.alloc_shared([block, block], "float16")
            weights = T.alloc_fragment([block, block], "float32")
            weights_cast = T.alloc_fragment([block, block], "float16")
            ds = T.alloc_fragment([block, block], "float32")
            ds_cast = T.alloc_fragment([block, block], "float16")
            dk, dv, dq = [T.alloc_fragment([block, dim], "float32") for _ in range(3)]
            dk_shared = T.alloc_shared([block, dim], "float32")
            T.annotate_layout({k: make_swizzled_layout(k)})
            T.copy(K[bz, by * block : (by + 1) * block, bx // share, :], k)
            T.copy(V[bz, by * block : (by + 1) * block, bx // share, :], v)
            T.clear(dk)
            T.clear(dv)
            for step in T.Pipelined(by, T.ceildiv(seq, block), num_stages=2):
                T.copy(Q[bz, step * block : (step + 1) * block, bx, :], q)
                T.clear(weights)
                T.gemm(k, q, weights, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(LogSum[bz, bx, step * block : (step + 1) * block], log_sum)
                for i, j in T.Parallel(block, block):
                    weights[i, j] = T.exp2(weights[i, j] * scale * LOG2_E - log_sum[j])
                for i, j in T.Parallel(block, block):
                    weights[i, j] = T.if_then_else(
                        by * block + i <= step * block + j, weights[i, j], 0
                    )
                T.copy(dO[bz, step * block : (step + 1) * block, bx, :], do)
                T.clear(ds)
                T.gemm(v, do, ds, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(weights, weights_cast)
                T.gemm(weights_cast, do, dv, policy=T.GemmWarpPolicy.FullRow)
                T.copy(Delta[bz, bx, step * block : (step + 1) * block], delta)
                for i, j in T.Parallel(block, block):
                    ds_cast[i, j] = weights[i, j] * (ds[i, j] - delta[j]) * scale
                T.gemm(ds_cast, q, dk, policy=T.GemmWarpPolicy.FullRow)
                T.copy(ds_cast, ds_shared)
                T.clear(dq)
                T.gemm(ds_shared, k, dq, transpose_A=True)
                T.atomic_add(dQ[bz, step * block : (step + 1) * block, bx, :], dq)
            T.atomic_add(dV[bz, by * block : (by + 1) * block, bx // share, :], dv)
            T.copy(dk, dk_shared)
            T.atomic_add(dK[bz, by * block : (by + 1) * block, bx // share, :], dk_shared)

    return gradients


def test_backward_with_grouped_heads(agree, random):
    heads, groups, seq, dim, block = 4, 2, 80, 32, 32
    q, do = normal(random, 1, seq, heads, dim), normal(random, 1, seq, heads, dim)
    k, v = (normal(random, 1, seq, groups, dim) for _ in range(2))
    log_sums, deltas = np.zeros((1, heads, seq)), np.zeros((1, heads, seq))
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    for h in range(heads):
        g = h // (heads // groups)
        one_q, one_do, one_k, one_v = wide(q[0, :, h]), wide(do[0, :, h]), k[0, :, g], v[0, :, g]
        out, p, log_sum = attention(one_q, wide(one_k), wide(one_v), np.tri(seq, dtype=bool))
        log_sums[0, h] = log_sum * LOG2_E
        deltas[0, h] = (out * one_do).sum(1)
        ds = p * (one_do @ wide(one_v).T - deltas[0, h][:, None]) / np.sqrt(dim)
        dq[0, :, h] = ds @ wide(one_k)
        dk[0, :, g] += ds.T @ one_q
        dv[0, :, g] += p.T @ one_do
    given = [q, k, v, do, log_sums.astype(np.float32), deltas.astype(np.float32)]
    made = [np.zeros(a.shape, np.float32) for a in (q, k, v)]
    kernel = backward(heads, groups, seq, dim, block)
    agree(kernel, [*given, *made], {6: dq, 7: dk, 8: dv}, 4e-3)


def latent_decode(Q, Q_pe, KV, K_pe, table, lengths, block=32):
    batch, heads, pages, rows = T.const("batch, heads, pages, rows")
    dim, dim_pe = 64, 16
    scale = LOG2_E / (dim + dim_pe) ** 0.5
    Q: T.Tensor[[batch, heads, dim], T.float16]
    Q_pe: T.Tensor[[batch, heads, dim_pe], T.float16]
    KV: T.Tensor[[rows, 1, dim], T.float16]
    K_pe: T.Tensor[[rows, 1, dim_pe], T.float16]
    table: T.Tensor[[batch, pages], T.int32]
    lengths: T.Tensor[[batch], T.int32]
    Out = T.empty([batch, heads, dim], T.float16)
    with T.Kernel(batch, threads=256) as bx:
        q = T.alloc_shared([heads, dim], T.float16)
        q_pe = T.alloc_shared([heads, dim_pe], T.float16)
        kv = T.alloc_shared([block, dim], T.float16)
        k_pe = T.alloc_shared([block, dim_pe], T.float16)
        weights = T.alloc_shared([heads, block], T.float16)
        scores = T.alloc_fragment([heads, block], T.float32)
        out = T.alloc_fragment([heads, dim], T.float32)
        top, before, factor, row_sum, total = [
            T.alloc_fragment([heads], T.float32) for _ in range(5)
        ]
        T.use_swizzle(10)
        T.copy(Q[bx, :, :], q)
        T.copy(Q_pe[bx, :, :], q_pe)
        T.fill(out, 0)
        T.fill(total, 0)
        T.fill(top, -T.infinity(T.float32))
        steps = T.ceildiv(lengths[bx], block)
        for from_end in T.Pipelined(steps, num_stages=2):
            step = steps - 1 - from_end
            start = table[bx, step * block // 32] * 32 + step * block % 32
            T.copy(KV[start : start + block, 0, :], kv)
            T.copy(K_pe[start : start + block, 0, :], k_pe)
            T.clear(scores)
            T.gemm(q, kv, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
            T.gemm(q_pe, k_pe, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
            if from_end == 0:
                for i, j in T.Parallel(heads, block):
                    scores[i, j] = T.if_then_else(
                        step * block + j >= lengths[bx], -T.infinity(T.float32), scores[i, j]
                    )
            T.copy(top, before)
            T.reduce_max(scores, top, dim=1, clear=False)
            for i in T.Parallel(heads):
                factor[i] = T.exp2(before[i] * scale - top[i] * scale)
            for i, j in T.Parallel(heads, block):
                scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
            T.reduce_sum(scores, row_sum, dim=1)
            T.copy(scores, weights)
            for i in T.Parallel(heads):
                total[i] = total[i] * factor[i] + row_sum[i]
            for i, j in T.Parallel(heads, dim):
                out[i, j] *= factor[i]
            T.gemm(weights, kv, out, policy=T.GemmWarpPolicy.FullCol)
        for i, j in T.Parallel(heads, dim):
            out[i, j] /= total[i]
        T.copy(out, Out[bx, :, :])
    return Out


def test_decoding_with_latent_heads_in_pages(eager, random):
    batch, heads, pages = 3, 16, 3
    lengths = np.array([70, 32, 95], np.int32)
    table = random.permutation(batch * pages).reshape(batch, pages).astype(np.int32)
    q, q_pe = normal(random, batch, heads, 64), normal(random, batch, heads, 16)
    kv, k_pe = normal(random, 288, 1, 64), normal(random, 288, 1, 16)
    expected = np.zeros((batch, heads, 64), np.float16)
    for b in range(batch):
        rows = (table[b][:, None] * 32 + np.arange(32)).ravel()[: lengths[b]]
        keys = np.concatenate([wide(kv[rows, 0]), wide(k_pe[rows, 0])], 1)
        queries = np.concatenate([wide(q[b]), wide(q_pe[b])], 1)
        expected[b] = attention(queries, keys, wide(kv[rows, 0]), True)[0]
    eager(latent_decode, [q, q_pe, kv, k_pe, table, lengths], [expected])


def chunk_scan(batch, seq, chunk, heads, dim, states, block=16):
    """What a chunk's own steps give, and what the state before it gives: a state-space scan."""
    chunks = seq // chunk
    columns = T.ceildiv(dim, block)

    @T.prim_func
    def scan(
        CB: T.Tensor((batch, chunks, 1, chunk, chunk), "float16"),
        X: T.Tensor((batch, seq, heads, dim), "float16"),
        Step: T.Tensor((batch, heads, chunks, chunk), "float16"),
        Decay: T.Tensor((batch, heads, chunks, chunk), "float16"),
        C: T.Tensor((batch, seq, 1, states), "float16"),
        Before: T.Tensor((batch, chunks, heads, dim, states), "float16"),
        D: T.Tensor((heads,), "float16"),
        Out: T.Tensor((batch, seq, heads, dim), "float16"),
    ):
        with T.Kernel(heads, T.ceildiv(chunk, block) * columns, batch * chunks, threads=128) as (
            bz,
            bx,
            by,
        ):
            out = T.alloc_fragment((block, block), "float32")
            cb_shared = T.alloc_shared((block, block), "float16", scope="shared.dyn")
            cb = T.alloc_fragment((block, block), "float16")
            decay_shared = T.alloc_shared((block), "float16", scope="shared")
            decay_k = T.alloc_fragment((block), "float32")
            decay_m = T.alloc_fragment((block), "float32")
            step = T.alloc_fragment((block), "float32")
            x = T.alloc_shared((block, block), "float16", scope="shared.dyn")
            own = T.alloc_fragment((block, block), "float32")
            c = T.alloc_shared((block, states), "float16")
            before = T.alloc_shared((block, states), "float16")
            skip = T.alloc_fragment((1), "float32")
            b, n = by % batch, by // batch
            m_row, n_col = bx // columns * block, bx % columns * block
            start = n * chunk
            T.annotate_layout({cb_shared: make_swizzled_layout(cb_shared)})
            T.no_set_max_nreg()
            T.copy(Decay[b, bz, n, m_row : m_row + block], decay_shared)
            T.copy(decay_shared, decay_m)
            T.clear(out)
            T.copy(C[b, start + m_row : start + m_row + block, 0, 0:states], c)
            T.copy(Before[b, n, bz, n_col : n_col + block, 0:states], before)
            T.gemm(c, before, out, transpose_B=True)
            for i, j in T.Parallel(block, block):
                out[i, j] *= T.exp2(decay_m[i] * LOG2_E)
            for k in T.Pipelined(T.ceildiv(m_row + block, block), num_stages=2):
                k_row = k * block
                T.copy(CB[b, n, 0, m_row : m_row + block, k_row : k_row + block], cb_shared)
                T.copy(cb_shared, cb)
                T.copy(Decay[b, bz, n, k_row : k_row + block], decay_k)
                T.copy(Step[b, bz, n, k_row : k_row + block], step)
                for i, j in T.Parallel(block, block):
                    cb[i, j] *= T.exp2(decay_m[i] * LOG2_E - decay_k[j] * LOG2_E) * step[j]
                for i, j in T.Parallel(block, block):
                    cb[i, j] = T.if_then_else(m_row + i >= k_row + j, cb[i, j], 0)
                T.copy(X[b, start + k_row : start + k_row + block, bz, n_col : n_col + block], x)
                T.gemm(cb, x, out)
            skip[0] = D[bz]
            T.copy(X[b, start + m_row : start + m_row + block, bz, n_col : n_col + block], own)
            for i, j in T.Parallel(block, block):
                out[i, j] += own[i, j] * skip[0]
            T.copy(out, Out[b, start + m_row : start + m_row + block, bz, n_col : n_col + block])

    return scan


def test_chunk_scan(agree, random):
    batch, seq, chunk, heads, dim, states = 2, 64, 32, 2, 32, 16
    chunks = seq // chunk
    cb, x = normal(random, batch, chunks, 1, chunk, chunk), normal(random, batch, seq, heads, dim)
    step, steps = (random.uniform(0, s, (batch, heads, chunks, chunk)) for s in (1, 0.1))
    step, decay = step.astype(np.float16), (-np.cumsum(steps, -1)).astype(np.float16)
    c, d = normal(random, batch, seq, 1, states), normal(random, heads)
    before = normal(random, batch, chunks, heads, dim, states)
    expected = np.zeros(x.shape)
    for b, n, h in np.ndindex(batch, chunks, heads):
        rows, a = slice(n * chunk, (n + 1) * chunk), wide(decay[b, h, n])
        weights = wide(cb[b, n, 0]) * np.exp(a[:, None] - a) * wide(step[b, h, n])
        expected[b, rows, h] = np.tril(weights) @ wide(x[b, rows, h])
        expected[b, rows, h] += np.exp(a)[:, None] * (wide(c[b, rows, 0]) @ wide(before[b, n, h]).T)
        expected[b, rows, h] += wide(x[b, rows, h]) * float(d[h])
    kernel = chunk_scan(batch, seq, chunk, heads, dim, states)
    arguments = [cb, x, step, decay, c, before, d, np.zeros_like(x)]
    agree(kernel, arguments, {7: expected.astype(np.float16)}, 4e-3)
