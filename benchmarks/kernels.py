# SPDX-License-Identifier: Apache-2.0
"""The kernels that are measured."""
# ruff: noqa: ANN201, ANN202

import tilewright
import tilewright.language as T


@tilewright.jit(out_idx=[2])
def add(n: int):
    """z = x + y of n elements, in one block: what a call costs."""

    @T.prim_func
    def add_kernel(
        x: T.Tensor((n,), "float32"),
        y: T.Tensor((n,), "float32"),
        z: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                z[i] = x[i] + y[i]

    return add_kernel


@tilewright.jit(out_idx=[2])
def gemm(size: int, dtype: str, block: int = 256, block_k: int = 128):
    """C = A B, square, with float32 accumulators."""

    @T.prim_func
    def gemm_kernel(
        A: T.Tensor((size, size), dtype),
        B: T.Tensor((size, size), dtype),
        C: T.Tensor((size, size), dtype),
    ):
        with T.Kernel(T.ceildiv(size, block), T.ceildiv(size, block), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block, block_k), dtype)
            B_shared = T.alloc_shared((block_k, block), dtype)
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(size, block_k), num_stages=2):
                T.copy(A[by * block, k * block_k], A_shared)
                T.copy(B[k * block_k, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block, bx * block])

    return gemm_kernel
