# SPDX-License-Identifier: Apache-2.0
"""RMSNorm and LayerNorm of rows, in Developer and in Expert mode.

Run it without an NPU: tilewright run --target ascend examples/ascend/norms.py
"""

import numpy as np

import tilelang
import tilelang.language as T

pass_configs = {
    tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
}


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def rms_norm_developer(M, N, block_M, eps=1e-5, dtype="float"):
    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M, is_npu=True, threads=2) as (cid):
            x = T.alloc_shared((block_M, N), dtype)
            squares = T.alloc_shared((block_M, N), dtype)
            scale = T.alloc_shared((block_M,), dtype)
            w = T.alloc_shared((1, N), dtype)
            T.copy(W[0], w)
            T.copy(X[cid * block_M, 0], x)
            for i, j in T.Parallel(block_M, N):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = T.rsqrt(scale[i] / N + eps)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] * scale[i] * w[0, j]
            T.copy(x, Y[cid * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def rms_norm_expert(M, N, block_M, eps=1e-5, dtype="float"):
    rows = block_M // 2

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M, is_npu=True) as (cid, vid):
            x = T.alloc_ub((rows, N), dtype)
            squares = T.alloc_ub((rows, N), dtype)
            w = T.alloc_ub((1, N), dtype)
            scale = T.alloc_ub((rows,), dtype)
            first = cid * block_M + vid * rows
            with T.Scope("V"):
                T.copy(W[0], w)
                T.copy(X[first, 0], x)
                T.barrier_all()
                T.tile.mul(squares, x, x)
                T.pipe_barrier("v")
                T.reduce_sum(squares, scale, dim=-1)
                T.pipe_barrier("v")
                T.tile.mul(scale, scale, 1.0 / N)
                T.pipe_barrier("v")
                T.tile.add(scale, scale, eps)
                T.pipe_barrier("v")
                T.tile.sqrt(scale, scale)
                T.tile.broadcast(squares, w)
                T.pipe_barrier("v")
                T.tile.div(x, x, scale)
                T.pipe_barrier("v")
                T.tile.mul(x, x, squares)
                T.barrier_all()
                T.copy(x, Y[first, 0])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def layer_norm_developer(M, N, block_M, eps=1e-5, dtype="float"):
    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M, is_npu=True, threads=2) as (cid):
            x = T.alloc_shared((block_M, N), dtype)
            squares = T.alloc_shared((block_M, N), dtype)
            mean = T.alloc_shared((block_M,), dtype)
            scale = T.alloc_shared((block_M,), dtype)
            T.copy(X[cid * block_M, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i in T.Parallel(block_M):
                mean[i] = mean[i] / N
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] - mean[i]
            for i, j in T.Parallel(block_M, N):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = T.rsqrt(scale[i] / N + eps)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = x[i, j] * scale[i]
            T.copy(x, Y[cid * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def layer_norm_expert(M, N, block_M, eps=1e-5, dtype="float"):
    rows = block_M // 2

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M, is_npu=True) as (cid, vid):
            x = T.alloc_ub((rows, N), dtype)
            squares = T.alloc_ub((rows, N), dtype)
            row = T.alloc_ub((rows,), dtype)
            first = cid * block_M + vid * rows
            with T.Scope("V"):
                T.copy(X[first, 0], x)
                T.barrier_all()
                T.reduce_sum(x, row, dim=-1)
                T.pipe_barrier("v")
                T.tile.mul(row, row, 1.0 / N)
                T.pipe_barrier("v")
                T.tile.sub(x, x, row)
                T.pipe_barrier("v")
                T.tile.mul(squares, x, x)
                T.pipe_barrier("v")
                T.reduce_sum(squares, row, dim=-1)
                T.pipe_barrier("v")
                T.tile.mul(row, row, 1.0 / N)
                T.pipe_barrier("v")
                T.tile.add(row, row, eps)
                T.pipe_barrier("v")
                T.tile.sqrt(row, row)
                T.pipe_barrier("v")
                T.tile.div(x, x, row)
                T.barrier_all()
                T.copy(x, Y[first, 0])

    return main


def main():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((64, 128)).astype(np.float32), rng.random(128).astype(np.float32)
    exact = x.astype(np.float64)
    rms = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-5) * w
    layer = (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-5)
    for name, kernel in (("developer", rms_norm_developer), ("expert", rms_norm_expert)):
        np.testing.assert_allclose(kernel(64, 128, 32)(x, w), rms, rtol=1e-4, atol=1e-5)
        print(f"RMSNorm, {name}: Kernel Output Match!")
    for name, kernel in (("developer", layer_norm_developer), ("expert", layer_norm_expert)):
        np.testing.assert_allclose(kernel(64, 128, 32)(x), layer, rtol=1e-4, atol=1e-5)
        print(f"LayerNorm, {name}: Kernel Output Match!")


if __name__ == "__main__":
    main()
