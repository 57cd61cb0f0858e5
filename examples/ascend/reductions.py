# SPDX-License-Identifier: Apache-2.0
"""Reductions of rows and columns, and broadcasts, in Developer and in Expert mode.

Run it without an NPU: tilewright run --target ascend examples/ascend/reductions.py
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
def row_sum_developer(M, N, block_M, dtype="float"):
    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), S: T.Tensor((M,), dtype)):
        with T.Kernel(M // block_M, is_npu=True, threads=2) as (cid):
            x = T.alloc_shared((block_M, N), dtype)
            s = T.alloc_shared((block_M,), dtype)
            T.copy(X[cid * block_M, 0], x)
            T.reduce_sum(x, s, dim=1)
            T.copy(s, S[cid * block_M])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def row_sum_expert(M, N, block_M, dtype="float"):
    rows = block_M // 2

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), S: T.Tensor((M,), dtype)):
        with T.Kernel(M // block_M, is_npu=True) as (cid, vid):
            x = T.alloc_ub((rows, N), dtype)
            s = T.alloc_ub((rows,), dtype)
            first = cid * block_M + vid * rows
            with T.Scope("V"):
                T.copy(X[first, 0], x)
                T.barrier_all()
                T.reduce_sum(x, s, dim=-1)
                T.barrier_all()
                T.copy(s, S[first])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def column_max_developer(M, N, block_M, block_N, dtype="float"):
    """Tiles of rows one after the other: each merges with what the tiles before gave."""

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), S: T.Tensor((1, N), dtype)):
        with T.Kernel(N // block_N, is_npu=True, threads=1) as (cid):
            x = T.alloc_shared((block_M, block_N), dtype)
            s = T.alloc_shared((1, block_N), dtype)
            T.tile.fill(s, -T.infinity(dtype))
            for m in T.serial(M // block_M):
                T.copy(X[m * block_M, cid * block_N], x)
                T.reduce_max(x, s, dim=0, clear=False)
            T.copy(s, S[0, cid * block_N])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def column_max_expert(M, N, block_N, dtype="float"):
    columns = block_N // 2

    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), S: T.Tensor((1, N), dtype)):
        with T.Kernel(N // block_N, is_npu=True) as (cid, vid):
            x = T.alloc_ub((M, columns), dtype)
            s = T.alloc_ub((1, columns), dtype)
            first = cid * block_N + vid * columns
            with T.Scope("V"):
                T.copy(X[0, first], x)
                T.barrier_all()
                T.reduce_max(x, s, dim=0)
                T.barrier_all()
                T.copy(s, S[0, first])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def outer_sum_developer(M, N, block_M, dtype="float"):
    """Y[i, j] = a[i] + b[j]."""

    @T.prim_func
    def main(A: T.Tensor((M,), dtype), B: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M, is_npu=True, threads=2) as (cid):
            a = T.alloc_shared((block_M,), dtype)
            b = T.alloc_shared((1, N), dtype)
            y = T.alloc_shared((block_M, N), dtype)
            T.copy(A[cid * block_M], a)
            T.copy(B[0], b)
            for i, j in T.Parallel(block_M, N):
                y[i, j] = a[i] + b[0, j]
            T.copy(y, Y[cid * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def outer_sum_expert(M, N, block_M, dtype="float"):
    rows = block_M // 2

    @T.prim_func
    def main(A: T.Tensor((M,), dtype), B: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M // block_M, is_npu=True) as (cid, vid):
            a = T.alloc_ub((rows,), dtype)
            b = T.alloc_ub((1, N), dtype)
            y = T.alloc_ub((rows, N), dtype)
            z = T.alloc_ub((rows, N), dtype)
            first = cid * block_M + vid * rows
            with T.Scope("V"):
                T.copy(A[first], a)
                T.copy(B[0], b)
                T.barrier_all()
                T.tile.broadcast(y, a, axis=1)
                T.tile.broadcast(z, b, axis=0)
                T.pipe_barrier("v")
                T.tile.add(y, y, z)
                T.barrier_all()
                T.copy(y, Y[first, 0])

    return main


def main():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 128)).astype(np.float32)
    a, b = x[:, 0].copy(), x[0].copy()
    exact = x.astype(np.float64)
    checks = [
        ("row sum, developer", row_sum_developer(64, 128, 32)(x), exact.sum(1)),
        ("row sum, expert", row_sum_expert(64, 128, 32)(x), exact.sum(1)),
        ("column max, developer", column_max_developer(64, 128, 16, 64)(x), exact.max(0)[None]),
        ("column max, expert", column_max_expert(64, 128, 64)(x), exact.max(0)[None]),
        ("outer sum, developer", outer_sum_developer(64, 128, 32)(a, b), exact[:, :1] + exact[0]),
        ("outer sum, expert", outer_sum_expert(64, 128, 32)(a, b), exact[:, :1] + exact[0]),
    ]
    for name, made, expected in checks:
        np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)
        print(f"{name}: Kernel Output Match!")


if __name__ == "__main__":
    main()
