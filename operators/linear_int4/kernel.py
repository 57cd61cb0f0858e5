# SPDX-License-Identifier: Apache-2.0
"""As linear, of weights of 4 bits with a scale per row: a quarter of bfloat16's bytes to read."""

import tilewright
import tilewright.language as T


@tilewright.jit(out_idx=[3])
def linear_int4(
    m: int,
    n: int,
    k: int,
    dtype: str,
    block_n: int = 32,
    block_k: int = 256,
    w_left: bool = False,
    gemm_from: int = 2,
):
    """A [m, k] of `dtype`; W [n, k / 2] in bytes: the low 4 bits of byte j are column j plus 8, the
    high ones column k / 2 + j plus 8; scales [n] and C [m, n] in float32. `w_left`:
    as C^T = W A^T (linear). `gemm_from`: so many rows and more go through `T.gemm`.
    ValueError where k is no multiple of 2 block_k."""
    if k % (2 * block_k):
        raise ValueError(f"linear_int4 takes k in steps of 2 block_k = {2 * block_k}, not {k}")
    half = k // 2

    @T.prim_func
    def vector_kernel(
        A: T.Tensor((m, k), dtype),
        W: T.Tensor((n, half), "uint8"),
        Scale: T.Tensor((n,), "float32"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), threads=128) as bx:
            part = T.alloc_fragment((m, block_k), "float32")
            total = T.alloc_fragment((m,), "float32")
            for row in T.serial(block_n):
                T.clear(part)
                for step in T.serial(half // block_k):
                    for i, j in T.Parallel(m, block_k):
                        both = T.cast(W[bx * block_n + row, step * block_k + j], "int32")
                        low = T.cast((both & 15) - 8, "float32")
                        high = T.cast((both >> 4) - 8, "float32")
                        part[i, j] += low * T.cast(A[i, step * block_k + j], "float32")
                        part[i, j] += high * T.cast(A[i, half + step * block_k + j], "float32")
                T.reduce_sum(part, total, dim=1)
                for i in T.Parallel(m):
                    C[i, bx * block_n + row] = total[i] * Scale[bx * block_n + row]

    @T.prim_func
    def matrix_kernel(
        A: T.Tensor((m, k), dtype),
        W: T.Tensor((n, half), "uint8"),
        Scale: T.Tensor((n,), "float32"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), threads=128) as bx:
            a = T.alloc_shared((m, block_k), dtype)
            b = T.alloc_shared((m, block_k), dtype)
            low = T.alloc_shared((block_n, block_k), dtype)
            high = T.alloc_shared((block_n, block_k), dtype)
            c = T.alloc_fragment((block_n, m) if w_left else (m, block_n), "float32")
            T.clear(c)
            for step in T.Pipelined(half // block_k, num_stages=2):
                T.copy(A[0, step * block_k], a)
                T.copy(A[0, half + step * block_k], b)
                for i, j in T.Parallel(block_n, block_k):
                    both = T.cast(W[bx * block_n + i, step * block_k + j], "int32")
                    low[i, j] = T.cast((both & 15) - 8, dtype)
                    high[i, j] = T.cast((both >> 4) - 8, dtype)
                T.gemm(low if w_left else a, a if w_left else low, c, transpose_B=True)
                T.gemm(high if w_left else b, b if w_left else high, c, transpose_B=True)
            for i, j in T.Parallel(m, block_n):
                C[i, bx * block_n + j] = (c[j, i] if w_left else c[i, j]) * Scale[bx * block_n + j]

    return vector_kernel if m < gemm_from else matrix_kernel
