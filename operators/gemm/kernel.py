# SPDX-License-Identifier: Apache-2.0
"""C = A B: float32 and its like accumulate in float32, int8 in int32.

By blocks, tiles of A and B come step by step along k. Of whole depth, a block brings its columns of
B once and multiplies rows of A by them: for B of which some columns fit a second-level cache. No
sums are stored but the results. By steps, each tile of B is multiplied by many rows of A: its sums
lie in the third-level cache, but little is brought for each product."""

import tilewright
import tilewright.language as T

FAST = {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True, "tilewright.normwise_gemm": True}


def gemm(m: int, n: int, k: int, dtype: str, rows: int = 0, fast: bool = False, **blocks: int):
    """A [m, k], B [k, n] of `dtype`; C [m, n] of `dtype`, or int32 for int8. rows: of A in a block,
    by steps of block_k or of whole depth; 0: by blocks. fast: with fast math and errors by norm,
    by which AMX and AMD's AVX-512 gain in float32 and float16. blocks: block_m and so on."""
    if not rows:
        form, given = gemm_by_blocks, {}
    elif "block_k" in blocks:
        form, given = gemm_by_steps, {"rows": rows}
    else:
        form, given = gemm_of_whole_depth, {"rows": rows}
    factory = tilewright.jit(out_idx=[2], pass_configs=FAST if fast else {})(form)
    return factory(m, n, k, dtype, **given, **blocks)


def gemm_by_blocks(m: int, n: int, k: int, dtype: str, block_m=256, block_n=256, block_k=128):
    """A tile of A and one of B at a time."""
    accumulator, out = ("int32", "int32") if dtype == "int8" else ("float32", dtype)

    @T.prim_func
    def gemm_kernel(
        A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), out)
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_m, block_k), dtype)
            B_shared = T.alloc_shared((block_k, block_n), dtype)
            C_local = T.alloc_fragment((block_m, block_n), accumulator)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=2):
                T.copy(A[by * block_m, step * block_k], A_shared)
                T.copy(B[step * block_k, bx * block_n], B_shared)
                T.gemm(A_shared, B_shared, C_local, clear_accum=step == 0)
            T.copy(C_local, C[by * block_m, bx * block_n])

    return gemm_kernel


def gemm_of_whole_depth(m: int, n: int, k: int, dtype: str, rows: int, block_m=128, block_n=256):
    """All of k at once; block_m divides rows."""
    accumulator, out = ("int32", "int32") if dtype == "int8" else ("float32", dtype)

    @T.prim_func
    def gemm_kernel(
        A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), out)
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, rows), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_m, k), dtype)
            B_shared = T.alloc_shared((k, block_n), dtype)
            C_local = T.alloc_fragment((block_m, block_n), accumulator)
            T.copy(B[0, bx * block_n], B_shared)
            for part in T.Pipelined(rows // block_m, num_stages=2):
                T.copy(A[by * rows + part * block_m, 0], A_shared)
                T.gemm(A_shared, B_shared, C_local, clear_accum=True)
                T.copy(C_local, C[by * rows + part * block_m, bx * block_n])

    return gemm_kernel


def gemm_by_steps(
    m: int, n: int, k: int, dtype: str, rows: int, block_k: int, block_m=64, block_n=512
):
    """A tile of B for all rows of a block, step by step; block_m divides rows."""
    accumulator, out = ("int32", "int32") if dtype == "int8" else ("float32", dtype)
    parts, steps = rows // block_m, -(-k // block_k)

    @T.prim_func
    def gemm_kernel(
        A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), out)
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, rows), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_m, block_k), dtype)
            B_shared = T.alloc_shared((block_k, block_n), dtype)
            C_local = T.alloc_fragment((parts, block_m, block_n), accumulator)
            for step in T.serial(steps):
                T.copy(B[step * block_k, bx * block_n], B_shared)
                for part in T.Pipelined(parts, num_stages=2):
                    T.copy(A[by * rows + part * block_m, step * block_k], A_shared)
                    T.gemm(A_shared, B_shared, C_local[part, :, :], clear_accum=step == 0)
                    if step == steps - 1:
                        T.copy(C_local[part, :, :], C[by * rows + part * block_m, bx * block_n])

    return gemm_kernel
