# SPDX-License-Identifier: Apache-2.0
"""A GEMM of float16 that keeps the cube unit busy, in Expert and in Developer mode.

Each core takes tiles of 128x256, in panels of four columns, so that cores that run side by side
share blocks in L2. Blocks of k come to L1 in several buffers, parts of 64 to L0 in two halves.

Run it without an NPU: tilewright run --target ascend examples/ascend/tuned_gemm.py
"""

import numpy as np

import tilelang
import tilelang.language as T

pass_configs = {
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
PANEL = 4  # columns of tiles
BUFFERS = 4  # blocks of k in L1: one in use, three on their way


@tilelang.jit(out_idx=[-1], target="ascend")
def gemm_expert(M, N, K, cores=24, block_M=128, block_N=256, K_L1=128, K_L0=64):
    m_num, n_num, k_num = M // block_M, N // block_N, K // K_L1
    assert k_num % BUFFERS == 0  # a tile begins with the buffer that the last one began with
    tiles, ahead = m_num * n_num, BUFFERS - 1

    @T.macro
    def load(A, B, a_l1, b_l1, cid, step, buffer):
        """Block `step` of all that this core needs."""
        tile = T.min(cid + step // k_num * cores, tiles - 1)
        in_panel = tile % (m_num * PANEL)
        m = in_panel // PANEL * block_M
        n = (tile // (m_num * PANEL) * PANEL + in_panel % PANEL) * block_N
        k = step % k_num * K_L1
        T.copy(A[m, k], a_l1[buffer, :, :])
        T.copy(B[k, n], b_l1[buffer, :, :])

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(cores, is_npu=True) as (cid, _):
            a_l1 = T.alloc_L1((BUFFERS, block_M, K_L1), "float16")
            b_l1 = T.alloc_L1((BUFFERS, K_L1, block_N), "float16")
            a_l0 = T.alloc_L0A((2, block_M, K_L0), "float16")
            b_l0 = T.alloc_L0B((2, K_L0, block_N), "float16")
            c_l0 = T.alloc_L0C((block_M, block_N), "float")
            with T.Scope("C"):
                own = T.ceildiv(tiles - cid, cores)
                T.set_flag("mte1", "mte2", ahead)
                T.set_flag("m", "mte1", 0)
                T.set_flag("m", "mte1", 1)
                T.set_flag("fix", "m", 0)
                for step in range(ahead):
                    load(A, B, a_l1, b_l1, cid, step, step)
                    T.set_flag("mte2", "mte1", step)
                for i in T.serial(own):
                    T.wait_flag("fix", "m", 0)
                    for k in T.serial(k_num):
                        # A later block, of this tile or of the next one.
                        T.wait_flag("mte1", "mte2", (k + ahead) % BUFFERS)
                        if i * k_num + k + ahead < own * k_num:
                            step = i * k_num + k + ahead
                            load(A, B, a_l1, b_l1, cid, step, (k + ahead) % BUFFERS)
                        T.set_flag("mte2", "mte1", (k + ahead) % BUFFERS)
                        T.wait_flag("mte2", "mte1", k % BUFFERS)
                        for s in T.serial(K_L1 // K_L0):
                            T.wait_flag("m", "mte1", s % 2)
                            at = k % BUFFERS
                            T.copy(a_l1[at, :, s * K_L0 : (s + 1) * K_L0], a_l0[s % 2, :, :])
                            T.copy(b_l1[at, s * K_L0 : (s + 1) * K_L0, :], b_l0[s % 2, :, :])
                            T.set_flag("mte1", "m", s % 2)
                            T.wait_flag("mte1", "m", s % 2)
                            first = T.And(k == 0, s == 0)
                            T.mma(a_l0[s % 2, :, :], b_l0[s % 2, :, :], c_l0, init=first)
                            T.set_flag("m", "mte1", s % 2)
                        T.set_flag("mte1", "mte2", k % BUFFERS)
                    T.set_flag("m", "fix", 0)
                    T.wait_flag("m", "fix", 0)
                    tile = T.min(cid + i * cores, tiles - 1)
                    in_panel = tile % (m_num * PANEL)
                    n = tile // (m_num * PANEL) * PANEL + in_panel % PANEL
                    T.copy(c_l0, C[in_panel // PANEL * block_M, n * block_N])
                    T.set_flag("fix", "m", 0)
                for step in range(ahead):
                    T.wait_flag("mte2", "mte1", step)
                T.wait_flag("mte1", "mte2", ahead)
                T.wait_flag("m", "mte1", 0)
                T.wait_flag("m", "mte1", 1)
                T.wait_flag("fix", "m", 0)

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def gemm_developer(M, N, K, cores=24, block_M=128, block_N=256, K_L1=128, stages=3):
    m_num, n_num = M // block_M, N // block_N

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(cores, is_npu=True) as (cid, _):
            a = T.alloc_shared((block_M, K_L1), "float16")
            b = T.alloc_shared((K_L1, block_N), "float16")
            c = T.alloc_fragment((block_M, block_N), "float")
            for bx, by in T.Persistent([m_num, n_num], cores, cid, group_size=PANEL):
                for k in T.Pipelined(K // K_L1, num_stages=stages):
                    T.copy(A[bx * block_M, k * K_L1], a)
                    T.copy(B[k * K_L1, by * block_N], b)
                    T.gemm_v0(a, b, c, init=(k == 0))
                T.copy(c, C[bx * block_M, by * block_N])

    return main


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((256, 1024), (1024, 512)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    small = {"cores": 3, "block_M": 64, "block_N": 128}
    for mode, kernel in (("expert", gemm_expert), ("developer", gemm_developer)):
        result = kernel(256, 512, 1024, **small)(a, b)
        np.testing.assert_allclose(result, expected, rtol=2e-3, atol=0.1)
        print(f"Tuned GEMM, {mode}: Kernel Output Match!")


if __name__ == "__main__":
    main()
