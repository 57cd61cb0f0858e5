# SPDX-License-Identifier: Apache-2.0
"""Attention without the matrix of scores in memory: softmax(Q K^T / sqrt(dim)) V, block by block.

The largest score so far and the sum of the weights go along; what is there already is scaled down
when a larger score comes (Milakov and Gimelshein, Online normalizer calculation for softmax).

By rows, the scores of a query lie in a row: what instructions for products of tiles want. By
columns, they lie in a column beside those of its neighbours: a vector holds a strip of queries, so
that the largest scores and the sums need no exchange between lanes, K and V are used as they are in
memory, and the scores of a strip stay in the first-level cache."""

import tilewright
import tilewright.language as T

#: By so many powers of two weights may be larger than 1 before what is there is scaled down, which
#: a block of queries or a strip has one branch for.
TOLERATED = 8

FAST = {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True}
#: Bits of weights of which the result shows 8.
SHORT = {"tilewright.exp_bits": 13}
#: Weights are 2^TOLERATED at most: by columns, where no product is rounded between the largest
#: score and the others.
BOUNDED = {"tilewright.exp_most": TOLERATED}
#: A score may be as wrong as if all of its query and key were as large as their largest elements,
#: an element of the result as if all values that it is made of were.
NORMWISE = {"tilewright.normwise_gemm": True}


def flash_attention(
    heads: int, length: int, dim: int, dtype: str, causal: bool, strip: int = 0, **blocks: int
):
    """Q, K, V and the result [heads, length, dim]. strip: the queries of one or two vectors of
    float32, by columns; 0: by rows. blocks: block_m queries and block_n keys at a time."""
    if strip:
        by_columns = of_bfloat16_by_columns if dtype == "bfloat16" else of_floats_by_columns
        return by_columns(heads, length, dim, dtype, causal, strip, **blocks)
    by_rows = of_bfloat16_by_rows if dtype == "bfloat16" else of_floats_by_rows
    return by_rows(heads, length, dim, dtype, causal, **blocks)


def attention_by_rows(
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
            # Summed as they are computed: only their rounded form is in memory.
            power = T.alloc_fragment((block_m, block_n), "float32")
            weight = T.alloc_fragment((block_m, block_n), dtype)
            out = T.alloc_fragment((block_m, dim), "float32")
            largest = T.alloc_fragment((block_m,), "float32")
            now = T.alloc_fragment((block_m,), "float32")
            factor = T.alloc_fragment((block_m,), "float32")
            added = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            rise = T.alloc_fragment((1,), "float32")
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
                T.reduce_max(score, now, dim=1)
                for i in T.Parallel(block_m):
                    now[i] *= scale
                    factor[i] = now[i] - largest[i]
                T.reduce_max(factor, rise)
                # Or not a number, of a query that sees none.
                if not rise[0] <= TOLERATED:
                    for i in T.Parallel(block_m):
                        now[i] = T.max(now[i], largest[i])
                        factor[i] = T.exp2(largest[i] - now[i])
                        largest[i] = now[i]
                        total[i] *= factor[i]
                    for i, j in T.Parallel(block_m, dim):
                        out[i, j] *= factor[i]
                for i, j in T.Parallel(block_m, block_n):
                    x = T.exp2(score[i, j] * scale - largest[i])
                    power[i, j] = x
                    weight[i, j] = x
                T.reduce_sum(power, added, dim=1)
                for i in T.Parallel(block_m):
                    total[i] += added[i]
                T.gemm(weight, v, out)
            for i, j in T.Parallel(block_m, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[head, bx * block_m : (bx + 1) * block_m, :])

    return attention_kernel


of_floats_by_rows = tilewright.jit(out_idx=[3], pass_configs=FAST)(attention_by_rows)
of_bfloat16_by_rows = tilewright.jit(out_idx=[3], pass_configs={**FAST, **SHORT})(attention_by_rows)


def attention_by_columns(
    heads: int,
    length: int,
    dim: int,
    dtype: str,
    causal: bool,
    strip: int,
    block_m=256,
    block_n=64,
    panel=0,
):
    """Q, K, V and the result [heads, length, dim]; strip divides block_m. panel: V on chip by so
    many of its columns, which divide dim, each in one run of memory, so that few lines of it fall
    into one set of the first-level cache; 0: as it lies."""
    scale = dim**-0.5 * 1.4426950408889634
    shape = (heads, length, dim)
    strips = block_m // strip

    @T.prim_func
    def attention_kernel(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        Out: T.Tensor(shape, dtype),
    ):
        with T.Kernel(T.ceildiv(length, block_m), heads, threads=128) as (bx, head):
            q = T.alloc_shared((strips, dim, strip), "float32")
            k = T.alloc_shared((block_n, dim), "float32")
            v_shape = (dim // panel, block_n, panel) if panel else (block_n, dim)
            v = T.alloc_shared(v_shape, "float32")
            score = T.alloc_fragment((block_n, strip), "float32")
            out = T.alloc_fragment((strips, dim, strip), "float32")
            largest = T.alloc_fragment((strips, strip), "float32")
            total = T.alloc_fragment((strips, strip), "float32")
            now = T.alloc_fragment((strip,), "float32")
            factor = T.alloc_fragment((strip,), "float32")
            added = T.alloc_fragment((strip,), "float32")
            rise = T.alloc_fragment((1,), "float32")
            for s, d, i in T.Parallel(strips, dim, strip):
                q[s, d, i] = Q[head, bx * block_m + s * strip + i, d] * scale
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            rows = T.min((bx + 1) * block_m, length) if causal else length
            for step in T.Pipelined(T.ceildiv(rows, block_n), num_stages=2):
                T.copy(K[head, step * block_n : (step + 1) * block_n, :], k)
                if panel:
                    for p, j, c in T.Parallel(dim // panel, block_n, panel):
                        v[p, j, c] = V[head, step * block_n + j, p * panel + c]
                else:
                    T.copy(V[head, step * block_n : (step + 1) * block_n, :], v)
                for s in T.serial(strips):
                    # A causal strip sees nothing of the blocks behind it.
                    if (step * block_n < bx * block_m + (s + 1) * strip) if causal else True:
                        T.gemm(k, q[s, :, :], score, clear_accum=True)
                        if causal:
                            if (step + 1) * block_n > bx * block_m + s * strip + 1:
                                for j, i in T.Parallel(block_n, strip):
                                    score[j, i] = T.if_then_else(
                                        bx * block_m + s * strip + i >= step * block_n + j,
                                        score[j, i],
                                        -T.infinity("float32"),
                                    )
                        elif length % block_n != 0:
                            for j, i in T.Parallel(block_n, strip):
                                score[j, i] = T.if_then_else(
                                    step * block_n + j < length,
                                    score[j, i],
                                    -T.infinity("float32"),
                                )
                        T.reduce_max(score, now, dim=0)
                        for i in T.Parallel(strip):
                            factor[i] = now[i] - largest[s, i]
                        T.reduce_max(factor, rise)
                        # Or not a number, of a query that sees none.
                        if not rise[0] <= TOLERATED:
                            for i in T.Parallel(strip):
                                now[i] = T.max(now[i], largest[s, i])
                                factor[i] = T.exp2(largest[s, i] - now[i])
                                largest[s, i] = now[i]
                                total[s, i] *= factor[i]
                            for d, i in T.Parallel(dim, strip):
                                out[s, d, i] *= factor[i]
                        for j, i in T.Parallel(block_n, strip):
                            score[j, i] = T.exp2(score[j, i] - largest[s, i])
                        T.reduce_sum(score, added, dim=0)
                        for i in T.Parallel(strip):
                            total[s, i] += added[i]
                        if panel:
                            for p in T.serial(dim // panel):
                                columns = out[s, p * panel : (p + 1) * panel, :]
                                T.gemm(v[p, :, :], score, columns, transpose_A=True)
                        else:
                            T.gemm(v, score, out[s, :, :], transpose_A=True)
            for s, i in T.Parallel(strips, strip):
                total[s, i] = 1.0 / total[s, i]
            for s, i, d in T.Parallel(strips, strip, dim):
                Out[head, bx * block_m + s * strip + i, d] = out[s, d, i] * total[s, i]

    return attention_kernel


of_floats_by_columns = tilewright.jit(out_idx=[3], pass_configs={**FAST, **BOUNDED, **NORMWISE})(
    attention_by_columns
)
of_bfloat16_by_columns = tilewright.jit(out_idx=[3], pass_configs={**FAST, **BOUNDED, **SHORT})(
    attention_by_columns
)
