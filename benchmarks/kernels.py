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


def square_gemm(size: int, dtype: str, threads: int):
    """The fastest form of those in `operators/gemm`."""
    import operator_speed

    long = operator_speed.long_blocks(size, size, size, dtype, threads)
    if long:
        return operator_speed.kernel("gemm", m=size, n=size, k=size, dtype=dtype, **long)
    return gemm(size, dtype, **gemm_blocks(size, dtype, threads))


def gemm_blocks(size: int, dtype: str, threads: int) -> dict[str, int]:
    """The largest blocks that still give every thread two, tuned on one core of each kind."""
    from tilewright import _compiler

    # With AVX2, A stays in the second-level cache by parts; only float32 gains by fewer copies.
    largest = 512 if dtype == "float32" and "avx2" in _compiler.host_cpu() else 256
    sizes = [block for block in (512, 256, 128, 64) if block <= largest]
    enough = (block for block in sizes if (size // block) ** 2 >= 2 * threads)
    block = next(enough, sizes[-1])
    # Pairs of bfloat16 are multiplied twice as fast: the sums are loaded and stored less often.
    deep = dtype == "bfloat16" and "avx512" in _compiler.host_cpu()
    return {"block": block, "block_k": 512 if deep else 256 if block == 512 else 128}


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
            for k in T.Pipelined(T.ceildiv(size, block_k), num_stages=2):
                T.copy(A[by * block, k * block_k], A_shared)
                T.copy(B[k * block_k, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local, clear_accum=k == 0)
            T.copy(C_local, C[by * block, bx * block])

    return gemm_kernel
