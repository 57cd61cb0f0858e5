# SPDX-License-Identifier: Apache-2.0
"""A product on the cube cores and a sum on the vector cores, in four ways with the same numbers:
cross-core flags by hand, flags that the compiler infers from a workspace, neither of them with each
vector core's rows by hand, and all left to the compiler.

Run it without an NPU: tilewright run --target ascend examples/ascend/gemm_add.py
"""

import numpy as np

import tilelang
import tilelang.language as T

pass_configs = {
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


@tilelang.jit(out_idx=[-1], workspace_idx=[3], target="ascend")
def by_hand(M, N, K, block_M, block_N, block_K):
    m_num, n_num, rows = M // block_M, N // block_N, block_M // 2

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((M, N), "float"),
        workspace: T.Tensor((M, N), "float"),
        C: T.Tensor((M, N), "float"),
    ):
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, vid):
            m, n = cid // n_num * block_M, cid % n_num * block_N
            A_L1 = T.alloc_L1((block_M, block_K), "float16")
            B_L1 = T.alloc_L1((block_K, block_N), "float16")
            C_L0 = T.alloc_L0C((block_M, block_N), "float")
            c_ub = T.alloc_ub((rows, block_N), "float")
            d_ub = T.alloc_ub((rows, block_N), "float")
            with T.Scope("C"):
                for k in T.serial(K // block_K):
                    T.copy(A[m, k * block_K], A_L1)
                    T.copy(B[k * block_K, n], B_L1)
                    T.barrier_all()
                    T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
                    T.barrier_all()
                T.copy(C_L0, workspace[m, n])
                T.set_cross_flag("FIX", 0)
            with T.Scope("V"):
                T.copy(D[m + vid * rows, n], d_ub)
                T.wait_cross_flag(0)
                T.copy(workspace[m + vid * rows, n], c_ub)
                T.barrier_all()
                T.tile.add(c_ub, c_ub, d_ub)
                T.barrier_all()
                T.copy(c_ub, C[m + vid * rows, n])

    return main


@tilelang.jit(out_idx=[-1], workspace_idx=[3], pass_configs=pass_configs, target="ascend")
def inferred(M, N, K, block_M, block_N, block_K):
    m_num, n_num, rows = M // block_M, N // block_N, block_M // 2

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((M, N), "float"),
        workspace: T.Tensor((M, N), "float"),
        C: T.Tensor((M, N), "float"),
    ):
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, vid):
            m, n = cid // n_num * block_M, cid % n_num * block_N
            A_L1 = T.alloc_shared((block_M, block_K), "float16")
            B_L1 = T.alloc_shared((block_K, block_N), "float16")
            C_L0 = T.alloc_fragment((block_M, block_N), "float")
            c_ub = T.alloc_shared((rows, block_N), "float")
            d_ub = T.alloc_shared((rows, block_N), "float")
            for k in T.serial(K // block_K):
                T.copy(A[m, k * block_K], A_L1)
                T.copy(B[k * block_K, n], B_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
            T.copy(C_L0, workspace[m, n])
            T.copy(D[m + vid * rows, n], d_ub)
            T.copy(workspace[m + vid * rows, n], c_ub)
            T.tile.add(c_ub, c_ub, d_ub)
            T.copy(c_ub, C[m + vid * rows, n])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def without_workspace(M, N, K, block_M, block_N, block_K):
    """Straight from L0C to UB: each vector core takes its half of the rows."""
    m_num, n_num, rows = M // block_M, N // block_N, block_M // 2

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((M, N), "float"),
        C: T.Tensor((M, N), "float"),
    ):
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, vid):
            m, n = cid // n_num * block_M, cid % n_num * block_N
            A_L1 = T.alloc_shared((block_M, block_K), "float16")
            B_L1 = T.alloc_shared((block_K, block_N), "float16")
            C_L0 = T.alloc_fragment((block_M, block_N), "float")
            c_ub = T.alloc_shared((rows, block_N), "float")
            d_ub = T.alloc_shared((rows, block_N), "float")
            for k in T.serial(K // block_K):
                T.copy(A[m, k * block_K], A_L1)
                T.copy(B[k * block_K, n], B_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
            T.copy(C_L0[vid * rows, 0], c_ub)
            T.copy(D[m + vid * rows, n], d_ub)
            T.tile.add(c_ub, c_ub, d_ub)
            T.copy(c_ub, C[m + vid * rows, n])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def automatic(M, N, K, block_M, block_N, block_K):
    """Straight from L0C to the tile of the vector cores; the compiler shares the rows out."""
    m_num, n_num = M // block_M, N // block_N

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((M, N), "float"),
        C: T.Tensor((M, N), "float"),
    ):
        with T.Kernel(m_num * n_num, threads=2, is_npu=True) as (cid):
            m, n = cid // n_num * block_M, cid % n_num * block_N
            A_L1 = T.alloc_shared((block_M, block_K), "float16")
            B_L1 = T.alloc_shared((block_K, block_N), "float16")
            C_L0 = T.alloc_fragment((block_M, block_N), "float")
            c_ub = T.alloc_shared((block_M, block_N), "float")
            d_ub = T.alloc_shared((block_M, block_N), "float")
            for k in T.serial(K // block_K):
                T.copy(A[m, k * block_K], A_L1)
                T.copy(B[k * block_K, n], B_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
            T.copy(C_L0, c_ub)
            T.copy(D[m, n], d_ub)
            for i, j in T.Parallel(block_M, block_N):
                c_ub[i, j] = c_ub[i, j] + d_ub[i, j]
            T.copy(c_ub, C[m, n])

    return main


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((64, 48), (48, 64)))
    d = rng.standard_normal((64, 64)).astype(np.float32)
    expected = a.astype(np.float64) @ b.astype(np.float64) + d
    kernels = (by_hand, inferred, without_workspace, automatic)
    made = [kernel(64, 64, 48, 32, 32, 16)(a, b, d) for kernel in kernels]
    np.testing.assert_allclose(made[0], expected, rtol=1e-4, atol=1e-4)
    for other in made[1:]:
        np.testing.assert_array_equal(other, made[0])
    print("GEMM and add, in four ways: Kernel Output Match!")


if __name__ == "__main__":
    main()
