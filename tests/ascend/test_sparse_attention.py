# SPDX-License-Identifier: Apache-2.0
"""Kernel 3 of docs/tile-ir.md, sparse FlashAttention, in both of its forms, with the blocks that it
has there: 64 heads, 512 + 64 columns, 64 keys at a time. Where the page works on whole tiles, the
masks are a row here and the result goes in four parts, so that UB has room for what the compiler
adds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

QUERIES, KEYS, CHOSEN, FIRST_QUERY = 1, 220, 192, 150
SCALE = 576**-0.5
AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


@T.macro
def mask(indices: Any, last: Any, bias: Any) -> None:
    """0 for a key that exists and doesn't come after the query, else minus infinity."""
    for j in T.Parallel(64):
        is_valid = T.And(indices[j] >= 0, indices[j] <= last)
        bias[j] = T.if_then_else(is_valid, 0.0, -T.infinity("float32"))
    T.pipe_barrier("v")


@T.macro
def weigh(
    rows: int, acc_s: Any, bias: Any, m_i: Any, m_prev: Any, alpha: Any, sumexp: Any, row_sum: Any
) -> None:
    """A step of the softmax: the scores become weights, relative to the largest score so far."""
    for h, j in T.Parallel(rows, 64):
        acc_s[h, j] = acc_s[h, j] * SCALE + bias[j]
    T.pipe_barrier("v")
    T.reduce_max(acc_s, m_i, dim=1, clear=False)
    T.pipe_barrier("v")
    for h in T.Parallel(rows):
        alpha[h] = T.exp(m_prev[h] - m_i[h])
    for h, j in T.Parallel(rows, 64):
        acc_s[h, j] = T.exp(acc_s[h, j] - m_i[h])
    T.pipe_barrier("v")
    T.reduce_sum(acc_s, row_sum, dim=1)
    T.pipe_barrier("v")
    for h in T.Parallel(rows):
        sumexp[h] = sumexp[h] * alpha[h] + row_sum[h]


@T.macro
def accumulate(rows: int, acc_o: Any, part_o: Any, alpha: Any) -> None:
    for part in T.serial(4):
        d0 = part * 128
        for h, d in T.Parallel(rows, 128):
            acc_o[h, d0 + d] = acc_o[h, d0 + d] * alpha[h] + part_o[h, d0 + d]


@T.prim_func
def with_workspaces(  # type: ignore[no-untyped-def]
    Q: T.Tensor((1, QUERIES, 128, 576), "float16"),
    KV: T.Tensor((1, KEYS, 1, 576), "float16"),
    Indices: T.Tensor((1, QUERIES, 1, CHOSEN), "int32"),
    workspace_1: T.Tensor((QUERIES * 2, 64, 512), "float16"),
    workspace_2: T.Tensor((QUERIES * 2, 64, 64), "float16"),
    workspace_3: T.Tensor((QUERIES * 2, 64, 64), "float32"),
    workspace_4: T.Tensor((QUERIES * 2, 64, 64), "float16"),
    workspace_5: T.Tensor((QUERIES * 2, 64, 512), "float32"),
    Output: T.Tensor((1, QUERIES, 128, 512), "float16"),
):
    with T.Kernel(QUERIES * 2, is_npu=True) as (cid, vid):
        query = cid // 2
        h0 = cid % 2 * 64
        v0 = vid * 32
        last = query + FIRST_QUERY
        q_l1 = T.alloc_L1([64, 512], "float16")
        q_tail_l1 = T.alloc_L1([64, 64], "float16")
        kv_l1 = T.alloc_L1([64, 512], "float16")
        kv_tail_l1 = T.alloc_L1([64, 64], "float16")
        p_l1 = T.alloc_L1([64, 64], "float16")
        s_l0c = T.alloc_L0C([64, 64], "float32")
        o_l0c = T.alloc_L0C([64, 512], "float32")
        T.annotate_address({s_l0c: 0, o_l0c: 0})
        indices = T.alloc_ub([64], "int32")
        kv = T.alloc_ub([512], "float16")
        kv_tail = T.alloc_ub([64], "float16")
        acc_s = T.alloc_ub([32, 64], "float32")
        acc_p = T.alloc_ub([32, 64], "float16")
        acc_o = T.alloc_ub([32, 512], "float32")
        part_o = T.alloc_ub([32, 512], "float32")
        out = T.alloc_ub([32, 128], "float16")
        m_i = T.alloc_ub([32], "float32")
        m_prev = T.alloc_ub([32], "float32")
        alpha = T.alloc_ub([32], "float32")
        sumexp = T.alloc_ub([32], "float32")
        row_sum = T.alloc_ub([32], "float32")
        bias = T.alloc_ub([64], "float32")
        with T.Scope("C"):
            T.copy(Q[0, query, h0 : h0 + 64, 0:512], q_l1)
            T.copy(Q[0, query, h0 : h0 + 64, 512:576], q_tail_l1)
            for _ in T.serial(CHOSEN // 64):
                T.wait_cross_flag(0)
                T.copy(workspace_1[cid, 0:64, 0:512], kv_l1)
                T.copy(workspace_2[cid, 0:64, 0:64], kv_tail_l1)
                T.barrier_all()
                T.gemm_v0(q_l1, kv_l1, s_l0c, transpose_B=True, init=True)
                T.gemm_v0(q_tail_l1, kv_tail_l1, s_l0c, transpose_B=True)
                T.barrier_all()
                T.copy(s_l0c, workspace_3[cid, 0:64, 0:64])
                T.set_cross_flag("FIX", 1)
                T.wait_cross_flag(2)
                T.copy(workspace_4[cid, 0:64, 0:64], p_l1)
                T.barrier_all()
                T.gemm_v0(p_l1, kv_l1, o_l0c, init=True)
                T.barrier_all()
                T.copy(o_l0c, workspace_5[cid, 0:64, 0:512])
                T.set_cross_flag("FIX", 3)
        with T.Scope("V"):
            T.tile.fill(acc_o, 0.0)
            T.tile.fill(sumexp, 0.0)
            T.tile.fill(m_i, -1.0e30)
            T.barrier_all()
            for i in T.serial(CHOSEN // 64):
                T.copy(Indices[0, query, 0, i * 64 : i * 64 + 64], indices)
                T.barrier_all()
                for r in T.serial(32):
                    T.copy(KV[0, indices[v0 + r], 0, 0:512], kv)
                    T.copy(KV[0, indices[v0 + r], 0, 512:576], kv_tail)
                    T.set_flag("mte2", "mte3", 0)
                    T.wait_flag("mte2", "mte3", 0)
                    T.copy(kv, workspace_1[cid, v0 + r, 0:512])
                    T.copy(kv_tail, workspace_2[cid, v0 + r, 0:64])
                    T.set_flag("mte3", "mte2", 0)
                    T.wait_flag("mte3", "mte2", 0)
                T.set_cross_flag("MTE3", 0)
                T.wait_cross_flag(1)
                T.copy(workspace_3[cid, v0 : v0 + 32, 0:64], acc_s)
                T.copy(m_i, m_prev)
                T.barrier_all()
                mask(indices, last, bias)
                weigh(32, acc_s, bias, m_i, m_prev, alpha, sumexp, row_sum)
                T.copy(acc_s, acc_p)
                T.barrier_all()
                T.copy(acc_p, workspace_4[cid, v0 : v0 + 32, 0:64])
                T.set_cross_flag("MTE3", 2)
                T.wait_cross_flag(3)
                T.copy(workspace_5[cid, v0 : v0 + 32, 0:512], part_o)
                T.barrier_all()
                accumulate(32, acc_o, part_o, alpha)
                T.barrier_all()
            for h in T.Parallel(32):
                sumexp[h] = T.if_then_else(sumexp[h] == 0.0, 1.0, sumexp[h])
            T.pipe_barrier("v")
            for part in T.serial(4):
                for h, d in T.Parallel(32, 128):
                    out[h, d] = acc_o[h, part * 128 + d] / sumexp[h]
                T.barrier_all()
                T.copy(out, Output[0, query, h0 + v0 : h0 + v0 + 32, part * 128 : part * 128 + 128])
                T.barrier_all()


@T.prim_func
def two_threads(  # type: ignore[no-untyped-def]
    Q: T.Tensor((1, QUERIES, 128, 576), "float16"),
    KV: T.Tensor((1, KEYS, 1, 576), "float16"),
    Indices: T.Tensor((1, QUERIES, 1, CHOSEN), "int32"),
    Output: T.Tensor((1, QUERIES, 128, 512), "float16"),
):
    with T.Kernel(QUERIES * 2, threads=2, is_npu=True) as cid:
        query = cid // 2
        h0 = cid % 2 * 64
        last = query + FIRST_QUERY
        q_l1 = T.alloc_shared([64, 512], "float16")
        q_tail_l1 = T.alloc_shared([64, 64], "float16")
        kv_l1 = T.alloc_shared([64, 512], "float16")
        kv_tail_l1 = T.alloc_shared([64, 64], "float16")
        p_l1 = T.alloc_shared([64, 64], "float16")
        s_l0c = T.alloc_fragment([64, 64], "float32")
        o_l0c = T.alloc_fragment([64, 512], "float32")
        indices = T.alloc_shared([64], "int32")
        kv = T.alloc_shared([512], "float16")
        kv_tail = T.alloc_shared([64], "float16")
        acc_s = T.alloc_shared([64, 64], "float32")
        acc_p = T.alloc_shared([64, 64], "float16")
        acc_o = T.alloc_shared([64, 512], "float32")
        part_o = T.alloc_shared([64, 512], "float32")
        out = T.alloc_shared([64, 512], "float16")
        m_i = T.alloc_shared([64], "float32")
        m_prev = T.alloc_shared([64], "float32")
        alpha = T.alloc_shared([64], "float32")
        sumexp = T.alloc_shared([64], "float32")
        row_sum = T.alloc_shared([64], "float32")
        bias = T.alloc_shared([64], "float32")
        T.copy(Q[0, query, h0 : h0 + 64, 0:512], q_l1)
        T.copy(Q[0, query, h0 : h0 + 64, 512:576], q_tail_l1)
        T.tile.fill(acc_o, 0.0)
        T.tile.fill(sumexp, 0.0)
        T.tile.fill(m_i, -1.0e30)
        for i in T.serial(CHOSEN // 64):
            T.copy(Indices[0, query, 0, i * 64 : i * 64 + 64], indices)
            for row in T.serial(64):
                T.copy(KV[0, indices[row], 0, 0:512], kv)
                T.copy(kv, kv_l1[row, :])
                T.copy(KV[0, indices[row], 0, 512:576], kv_tail)
                T.copy(kv_tail, kv_tail_l1[row, :])
            T.gemm_v0(q_l1, kv_l1, s_l0c, transpose_B=True, init=True)
            T.gemm_v0(q_tail_l1, kv_tail_l1, s_l0c, transpose_B=True)
            T.copy(s_l0c, acc_s)
            T.copy(m_i, m_prev)
            mask(indices, last, bias)
            weigh(64, acc_s, bias, m_i, m_prev, alpha, sumexp, row_sum)
            T.copy(acc_s, acc_p)
            T.copy(acc_p, p_l1)
            T.gemm_v0(p_l1, kv_l1, o_l0c, init=True)
            T.copy(o_l0c, part_o)
            accumulate(64, acc_o, part_o, alpha)
        for h in T.Parallel(64):
            sumexp[h] = T.if_then_else(sumexp[h] == 0.0, 1.0, sumexp[h])
        for part in T.serial(4):
            for h, d in T.Parallel(64, 128):
                acc_o[h, part * 128 + d] = acc_o[h, part * 128 + d] / sumexp[h]
        T.copy(acc_o, out)
        T.copy(out, Output[0, query, h0 : h0 + 64, 0:512])


def attention(q: np.ndarray, kv: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """In float64, over the keys that exist and don't come after the query."""
    wide_q, wide_kv = q.astype(np.float64)[0], kv.astype(np.float64)[0, :, 0]
    result = np.zeros((1, QUERIES, 128, 512))
    for query in range(QUERIES):
        keys = indices[0, query, 0]
        keys = keys[(keys >= 0) & (keys <= query + FIRST_QUERY)]
        scores = wide_q[query] @ wide_kv[keys].T * SCALE
        weights = np.exp(scores - scores.max(1, keepdims=True))
        result[0, query] = weights @ wide_kv[keys, :512] / weights.sum(1, keepdims=True)
    return result


@pytest.mark.parametrize("target", ["ascend", "reference"])
@pytest.mark.parametrize("form", [with_workspaces, two_threads])
def test_sparse_attention_of_the_tile_ir_page(form: Any, target: str, recwarn: Any) -> None:
    random = np.random.default_rng(0)
    q = random.standard_normal((1, QUERIES, 128, 576)).astype(np.float16)
    kv = random.standard_normal((1, KEYS, 1, 576)).astype(np.float16)
    indices = np.stack([random.permutation(KEYS)[:CHOSEN] for _ in range(QUERIES)])
    indices = indices.astype(np.int32).reshape(1, QUERIES, 1, CHOSEN)
    indices[..., :64] = -1  # a first tile without any valid key
    indices[..., 63:69] = KEYS, KEYS - 1, KEYS + 1000, FIRST_QUERY + 1, -7, 0
    spaces: list[np.ndarray] = []
    if form is with_workspaces:
        blocks = 2 * QUERIES
        spaces = [np.zeros((blocks, 64, width), np.float16) for width in (512, 64, 64)]
        spaces[2:] = [np.zeros((blocks, 64, 64), np.float32), spaces[2]]
        spaces.append(np.zeros((blocks, 64, 512), np.float32))
    configs = AUTOMATIC if form is two_threads else {}
    kernel = tilewright.compile(form, target=target, pass_configs=configs)
    output: Any = np.zeros((1, QUERIES, 128, 512), np.float16)
    kernel(q, kv, indices, *spaces, output)
    np.testing.assert_allclose(output, attention(q, kv, indices), rtol=2e-3, atol=1e-3)
    assert not [str(warning.message) for warning in recwarn]
