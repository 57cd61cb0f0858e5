# SPDX-License-Identifier: Apache-2.0
"""C = A W^T for few rows of A: what a model does with one token, or with some."""

import tilewright
import tilewright.language as T


@tilewright.jit(out_idx=[2])
def linear(
    m: int,
    n: int,
    k: int,
    dtype: str,
    block_n: int = 32,
    block_k: int = 256,
    gemm_from: int = 2,
    w_left: bool = False,
):
    """A [m, k] and W [n, k] of `dtype`, C [m, n] in float32. `block_n` is a multiple of 4. From
    `gemm_from` rows on `T.gemm` multiplies: 1 is best where it reads W in place (AVX-512).
    `w_left`: as C^T = W A^T, where tiles of 16 rows of W are multiplied as they lie (AMX)."""
    side, width = 4, 64

    @T.prim_func
    def vector_kernel(
        A: T.Tensor((m, k), dtype), W: T.Tensor((n, k), dtype), C: T.Tensor((m, n), "float32")
    ):
        """One row: 4 rows of W are read side by side, once, into sums that stay at hand."""
        with T.Kernel(T.ceildiv(n, block_n), threads=128) as bx:
            part = T.alloc_fragment((side, width), "float32")
            total = T.alloc_fragment((side,), "float32")
            for group in T.serial(block_n // side):
                T.clear(part)
                for step in T.serial(T.ceildiv(k, width)):
                    for i, j in T.Parallel(side, width):
                        row = bx * block_n + group * side + i
                        weight = T.cast(W[row, step * width + j], "float32")
                        part[i, j] += weight * T.cast(A[0, step * width + j], "float32")
                T.reduce_sum(part, total, dim=1)
                for i in T.Parallel(side):
                    C[0, bx * block_n + group * side + i] = total[i]

    @T.prim_func
    def matrix_kernel(
        A: T.Tensor((m, k), dtype), W: T.Tensor((n, k), dtype), C: T.Tensor((m, n), "float32")
    ):
        with T.Kernel(T.ceildiv(n, block_n), threads=128) as bx:
            a = T.alloc_shared((m, block_k), dtype)
            w = T.alloc_shared((block_n, block_k), dtype)
            c = T.alloc_fragment((block_n, m) if w_left else (m, block_n), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=2):
                T.copy(A[0, step * block_k], a)
                T.copy(W[bx * block_n, step * block_k], w)
                T.gemm(w if w_left else a, a if w_left else w, c, transpose_B=True)
            T.copy(c, C[0, bx * block_n], transpose=w_left)

    return vector_kernel if m < gemm_from else matrix_kernel
