# SPDX-License-Identifier: Apache-2.0
"""Attention without the matrix of scores in memory: softmax(Q K^T / sqrt(dim)) V, block by block.

The largest score so far and the sum of the weights go along; what is there already is scaled down
when a larger score comes (Milakov and Gimelshein, Online normalizer calculation for softmax)."""

import tilewright
import tilewright.language as T


@tilewright.jit(out_idx=[3])
def flash_attention(
    heads: int, length: int, dim: int, dtype: str, causal: bool, block_m=128, block_n=64
):
    """Q, K, V and the result [heads, length, dim]; heads of all batches in one row."""
    scale = dim**-0.5 * 1.4426950408889634  # 2^x instead of e^x
    shape = (heads, length, dim)

    @T.prim_func
    def attention_kernel(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        Out: T.Tensor(shape, dtype),
    ):
        with T.Kernel(T.ceildiv(length, block_m), heads, threads=128) as (bx, head):
            q = T.alloc_shared((block_m, dim), dtype)
            k = T.alloc_shared((block_n, dim), dtype)
            v = T.alloc_shared((block_n, dim), dtype)
            score = T.alloc_fragment((block_m, block_n), "float32")
            # What is float32 already is multiplied where it is.
            weight = score if dtype == "float32" else T.alloc_fragment((block_m, block_n), dtype)
            out = T.alloc_fragment((block_m, dim), "float32")
            largest = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            factor = T.alloc_fragment((block_m,), "float32")
            added = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            T.copy(Q[head, bx * block_m : (bx + 1) * block_m, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            columns = T.min((bx + 1) * block_m, length) if causal else length
            for step in T.Pipelined(T.ceildiv(columns, block_n), num_stages=2):
                T.copy(K[head, step * block_n : (step + 1) * block_n, :], k)
                T.copy(V[head, step * block_n : (step + 1) * block_n, :], v)
                T.gemm(q, k, score, transpose_B=True, clear_accum=True)
                # Only the last blocks hold what must not be seen.
                if causal:
                    if (step + 1) * block_n > bx * block_m + 1:
                        for i, j in T.Parallel(block_m, block_n):
                            score[i, j] = T.if_then_else(
                                bx * block_m + i >= step * block_n + j,
                                score[i, j],
                                -T.infinity("float32"),
                            )
                elif length % block_n != 0:
                    for i, j in T.Parallel(block_m, block_n):
                        score[i, j] = T.if_then_else(
                            step * block_n + j < length, score[i, j], -T.infinity("float32")
                        )
                T.copy(largest, before)
                T.reduce_max(score, largest, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    factor[i] = T.exp2(before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(block_m, block_n):
                    score[i, j] = T.exp2(score[i, j] * scale - largest[i] * scale)
                T.reduce_sum(score, added, dim=1)
                for i in T.Parallel(block_m):
                    total[i] = total[i] * factor[i] + added[i]
                for i, j in T.Parallel(block_m, dim):
                    out[i, j] *= factor[i]
                if dtype != "float32":
                    T.copy(score, weight)
                T.gemm(weight, v, out)
            for i, j in T.Parallel(block_m, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[head, bx * block_m : (bx + 1) * block_m, :])

    return attention_kernel
