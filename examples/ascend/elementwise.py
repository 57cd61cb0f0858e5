# SPDX-License-Identifier: Apache-2.0
"""SiLU and GELU(x) * y, in Developer and in Expert mode.

Run it without an NPU: tilewright run --target ascend examples/ascend/elementwise.py
"""

import math

import numpy as np

import tilelang
import tilelang.language as T

pass_configs = {
    tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
}


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def silu_developer(M, N, block_M, block_N, dtype="float"):
    n_num = N // block_N

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M * n_num, is_npu=True, threads=2) as (cid):
            x = T.alloc_shared((block_M, block_N), dtype)
            T.copy(X[cid // n_num * block_M, cid % n_num * block_N], x)
            for i, j in T.Parallel(block_M, block_N):
                x[i, j] = x[i, j] / (1.0 + T.exp(-1.0 * x[i, j]))
            T.copy(x, Y[cid // n_num * block_M, cid % n_num * block_N])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def silu_expert(M, N, block_M, block_N, dtype="float"):
    n_num = N // block_N
    rows = block_M // 2

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M * n_num, is_npu=True) as (cid, vid):
            x = T.alloc_ub((rows, block_N), dtype)
            e = T.alloc_ub((rows, block_N), dtype)
            first = cid // n_num * block_M + vid * rows
            with T.Scope("V"):
                T.copy(X[first, cid % n_num * block_N], x)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.tile.mul(e, x, -1.0)
                T.pipe_barrier("v")
                T.tile.exp(e, e)
                T.pipe_barrier("v")
                T.tile.add(e, e, 1.0)
                T.pipe_barrier("v")
                T.tile.div(x, x, e)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(x, Y[first, cid % n_num * block_N])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def gelu_mul_developer(M, N, block_M, dtype="float"):
    """With tanh, which is made of exp: 0.5 (1 + tanh(u)) is 1 / (1 + exp(-2 u))."""
    factor = 2.0 * math.sqrt(2.0 / math.pi)

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype), Z: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M, is_npu=True, threads=2) as (cid):
            x = T.alloc_shared((block_M, N), dtype)
            y = T.alloc_shared((block_M, N), dtype)
            e = T.alloc_shared((block_M, N), dtype)
            T.copy(X[cid * block_M, 0], x)
            T.copy(Y[cid * block_M, 0], y)
            for i, j in T.Parallel(block_M, N):
                e[i, j] = T.exp((x[i, j] * x[i, j] * x[i, j] * 0.044715 + x[i, j]) * -factor)
            for i, j in T.Parallel(block_M, N):
                y[i, j] = x[i, j] / (e[i, j] + 1.0) * y[i, j]
            T.copy(y, Z[cid * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def gelu_mul_expert(M, N, block_M, dtype="float"):
    factor = 2.0 * math.sqrt(2.0 / math.pi)
    rows = block_M // 2

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype), Z: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M, is_npu=True) as (cid, vid):
            x = T.alloc_ub((rows, N), dtype)
            y = T.alloc_ub((rows, N), dtype)
            e = T.alloc_ub((rows, N), dtype)
            first = cid * block_M + vid * rows
            with T.Scope("V"):
                T.copy(X[first, 0], x)
                T.copy(Y[first, 0], y)
                T.barrier_all()
                T.tile.mul(e, x, x)
                T.pipe_barrier("v")
                T.tile.mul(e, e, x)
                T.pipe_barrier("v")
                T.tile.mul(e, e, 0.044715)
                T.pipe_barrier("v")
                T.tile.add(e, e, x)
                T.pipe_barrier("v")
                T.tile.mul(e, e, -factor)
                T.pipe_barrier("v")
                T.tile.exp(e, e)
                T.pipe_barrier("v")
                T.tile.add(e, e, 1.0)
                T.pipe_barrier("v")
                T.tile.div(x, x, e)
                T.pipe_barrier("v")
                T.tile.mul(y, y, x)
                T.barrier_all()
                T.copy(y, Z[first, 0])

    return main


def main():
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((64, 128)).astype(np.float32) for _ in range(2))
    exact = x.astype(np.float64)
    silu = exact / (1 + np.exp(-exact))
    inner = np.sqrt(2 / np.pi) * (exact + 0.044715 * exact**3)
    gelu = exact * 0.5 * (1 + np.tanh(inner)) * y
    for name, kernel in (("developer", silu_developer), ("expert", silu_expert)):
        np.testing.assert_allclose(kernel(64, 128, 32, 64)(x), silu, rtol=1e-4, atol=1e-5)
        print(f"SiLU, {name}: Kernel Output Match!")
    for name, kernel in (("developer", gelu_mul_developer), ("expert", gelu_mul_expert)):
        np.testing.assert_allclose(kernel(64, 128, 32)(x, y), gelu, rtol=1e-4, atol=1e-5)
        print(f"GELU(x) * y, {name}: Kernel Output Match!")


if __name__ == "__main__":
    main()
