# SPDX-License-Identifier: Apache-2.0
"""GEMM in Developer and Expert mode: the founding kernels, and with transposes, tails, other dtypes
and persistent blocks.

Run it without an NPU: tilewright run --target ascend examples/ascend/gemm.py
"""

import numpy as np

import tilelang
import tilelang.language as T

pass_configs = {
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def matmul_developer(M, N, K, block_M, block_N, K_L1, dtype="float16", accum_dtype="float"):
    m_num = M // block_M
    n_num = N // block_N

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, _):
            bx = cid // n_num
            by = cid % n_num

            A_L1 = T.alloc_shared((block_M, K_L1), dtype)
            B_L1 = T.alloc_shared((K_L1, block_N), dtype)
            C_L0 = T.alloc_fragment((block_M, block_N), accum_dtype)

            loop_k = T.ceildiv(K, K_L1)
            for k in T.serial(loop_k):
                T.copy(A[bx * block_M, k * K_L1], A_L1)
                T.copy(B[k * K_L1, by * block_N], B_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))

            T.copy(C_L0, C[bx * block_M, by * block_N])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def matmul_expert(M, N, K, block_M, block_N, block_K, dtype="float16", accum_dtype="float"):
    m_num = T.ceildiv(M, block_M)
    n_num = T.ceildiv(N, block_N)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), accum_dtype),
    ):
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, _):
            bx = cid // n_num
            by = cid % n_num

            A_L1 = T.alloc_L1([block_M, block_K], dtype)
            B_L1 = T.alloc_L1([block_K, block_N], dtype)
            C_L0 = T.alloc_L0C([block_M, block_N], accum_dtype)

            for k in T.serial(T.ceildiv(K, block_K)):
                T.copy(A[bx * block_M, k * block_K], A_L1)
                T.copy(B[k * block_K, by * block_N], B_L1)

                T.barrier_all()
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
                T.barrier_all()

            T.copy(C_L0, C[bx * block_M, by * block_N])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def matmul_transposed(M, N, K, block_M, block_N, block_K, transpose_A, transpose_B):
    """A as [K, M] and B as [N, K], where they are transposed."""
    m_num, n_num = T.ceildiv(M, block_M), T.ceildiv(N, block_N)
    a_shape = (K, M) if transpose_A else (M, K)
    b_shape = (N, K) if transpose_B else (K, N)
    a_tile = (block_K, block_M) if transpose_A else (block_M, block_K)
    b_tile = (block_N, block_K) if transpose_B else (block_K, block_N)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, "float16"),
        B: T.Tensor(b_shape, "float16"),
        C: T.Tensor((M, N), "float"),
    ):
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, _):
            m, n = cid // n_num * block_M, cid % n_num * block_N
            A_L1 = T.alloc_shared(a_tile, "float16")
            B_L1 = T.alloc_shared(b_tile, "float16")
            C_L0 = T.alloc_fragment((block_M, block_N), "float")
            for step in T.serial(T.ceildiv(K, block_K)):
                k = step * block_K
                if transpose_A:
                    T.copy(A[k, m], A_L1)
                else:
                    T.copy(A[m, k], A_L1)
                if transpose_B:
                    T.copy(B[n, k], B_L1)
                else:
                    T.copy(B[k, n], B_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, transpose_A, transpose_B, init=(step == 0))
            T.copy(C_L0, C[m, n])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def matmul_persistent(M, N, K, block_M, block_N, block_K, cores):
    """As many blocks as the chip has cores; each takes its share of the tiles."""
    m_num, n_num = T.ceildiv(M, block_M), T.ceildiv(N, block_N)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float")
    ):
        with T.Kernel(cores, is_npu=True) as (cid, _):
            A_L1 = T.alloc_shared((block_M, block_K), "float16")
            B_L1 = T.alloc_shared((block_K, block_N), "float16")
            C_L0 = T.alloc_fragment((block_M, block_N), "float")
            for bx, by in T.Persistent([m_num, n_num], cores, cid):
                for k in T.serial(T.ceildiv(K, block_K)):
                    T.copy(A[bx * block_M, k * block_K], A_L1)
                    T.copy(B[k * block_K, by * block_N], B_L1)
                    T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
                T.copy(C_L0, C[bx * block_M, by * block_N])

    return main


def main():
    rng = np.random.default_rng(0)

    def check(name, kernel, a, b, expected_a=None, expected_b=None, **tolerances):
        left, right = (x.astype(np.float64) for x in (a, b))
        left = left.T if expected_a else left
        right = right.T if expected_b else right
        np.testing.assert_allclose(kernel(a, b), left @ right, **tolerances)
        print(f"GEMM, {name}: Kernel Output Match!")

    close = {"rtol": 1e-4, "atol": 1e-4}
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((128, 96), (96, 64)))
    developer = matmul_developer(128, 64, 96, 64, 32, 32)
    check("developer", developer, a, b, rtol=2e-3, atol=1e-2)
    check("expert", matmul_expert(128, 64, 96, 64, 32, 32), a, b, **close)
    persistent = matmul_persistent(128, 64, 96, 32, 32, 32, 3)
    check("persistent", persistent, a, b, **close)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((80, 72), (72, 56)))
    check("tails", matmul_expert(80, 56, 72, 64, 32, 32), a, b, **close)
    for flags in ((True, False), (False, True), (True, True)):
        kernel = matmul_transposed(80, 56, 72, 32, 32, 32, *flags)
        left, right = (
            np.ascontiguousarray(x.T) if f else x for x, f in zip((a, b), flags, strict=True)
        )
        check(f"transposed {flags}", kernel, left, right, *flags, **close)
    try:
        from ml_dtypes import bfloat16  # NumPy alone has no bfloat16
    except ImportError:
        bfloat16 = None
    if bfloat16 is not None:
        a, b = (rng.standard_normal(s).astype(bfloat16) for s in ((80, 72), (72, 56)))
        check("bfloat16", matmul_expert(80, 56, 72, 64, 32, 32, "bfloat16"), a, b, **close)
    a, b = (rng.integers(-100, 100, s).astype(np.int8) for s in ((64, 128), (128, 64)))
    check("int8", matmul_expert(64, 64, 128, 32, 32, 64, "int8", "int32"), a, b, rtol=0)


if __name__ == "__main__":
    main()
