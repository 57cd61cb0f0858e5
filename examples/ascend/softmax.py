# SPDX-License-Identifier: Apache-2.0
"""Softmax of rows on an Ascend NPU: in mixed mode, with T.tile and reductions; of rows that don't
fit on the chip (online), also with T.Parallel alone and in Expert mode; in Developer mode; and in
Expert mode.

Run it without an NPU: tilewright run --target ascend examples/ascend/softmax.py
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
def softmax_mixed(M, N, block_M, dtype="float"):
    """The founding snippet, made complete: each vector core takes half of a block's rows."""
    m_num = M // block_M
    rows = block_M // 2

    @T.prim_func
    def main(scores: T.Tensor((M, N), dtype), out: T.Tensor((M, N), dtype)):
        with T.Kernel(m_num, is_npu=True) as (cid, vid):
            scores_ub = T.alloc_ub((rows, N), dtype)
            row_max_ub = T.alloc_ub((rows,), dtype)
            row_sum_ub = T.alloc_ub((rows,), dtype)
            first = cid * block_M + vid * rows

            T.copy(scores[first, 0], scores_ub)
            T.reduce_max(scores_ub, row_max_ub, dim=-1)
            T.tile.sub(scores_ub, scores_ub, row_max_ub)
            T.tile.exp(scores_ub, scores_ub)
            T.reduce_sum(scores_ub, row_sum_ub, dim=-1)
            T.tile.div(scores_ub, scores_ub, row_sum_ub)
            T.copy(scores_ub, out[first, 0])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def softmax_online(M, N, block_M, block_N, dtype="float"):
    """Rows that don't fit on the chip: the maximum and the sum are carried from tile to tile."""
    m_num = M // block_M
    n_num = N // block_N

    @T.prim_func
    def main(scores: T.Tensor((M, N), dtype), out: T.Tensor((M, N), dtype)):
        with T.Kernel(m_num, is_npu=True, threads=2) as (cid):
            tile = T.alloc_shared((block_M, block_N), dtype)
            tile_max = T.alloc_shared((block_M,), dtype)
            new_max = T.alloc_shared((block_M,), dtype)
            old_max = T.alloc_shared((block_M,), dtype)
            scale = T.alloc_shared((block_M,), dtype)
            tile_sum = T.alloc_shared((block_M,), dtype)
            total = T.alloc_shared((block_M,), dtype)

            T.tile.fill(old_max, -1e30)
            T.tile.fill(total, 0.0)
            for n in T.serial(n_num):
                T.copy(scores[cid * block_M, n * block_N], tile)
                T.reduce_max(tile, tile_max, dim=-1)
                T.tile.max(new_max, old_max, tile_max)
                T.tile.sub(scale, old_max, new_max)
                T.tile.exp(scale, scale)
                T.tile.sub(tile, tile, new_max)
                T.tile.exp(tile, tile)
                T.reduce_sum(tile, tile_sum, dim=-1)
                T.tile.mul(total, total, scale)
                T.tile.add(total, total, tile_sum)
                T.copy(new_max, old_max)
            for n in T.serial(n_num):
                T.copy(scores[cid * block_M, n * block_N], tile)
                T.tile.sub(tile, tile, old_max)
                T.tile.exp(tile, tile)
                T.tile.div(tile, tile, total)
                T.copy(tile, out[cid * block_M, n * block_N])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def softmax_developer(M, N, block_M, dtype="float"):
    m_num = M // block_M

    @T.prim_func
    def main(scores: T.Tensor((M, N), dtype), out: T.Tensor((M, N), dtype)):
        with T.Kernel(m_num, is_npu=True, threads=2) as (cid):
            tile = T.alloc_shared((block_M, N), dtype)
            row_max = T.alloc_shared((block_M,), dtype)
            row_sum = T.alloc_shared((block_M,), dtype)

            T.copy(scores[cid * block_M, 0], tile)
            T.reduce_max(tile, row_max, dim=1)
            for i, j in T.Parallel(block_M, N):
                tile[i, j] = T.exp(tile[i, j] - row_max[i])
            T.reduce_sum(tile, row_sum, dim=1)
            for i, j in T.Parallel(block_M, N):
                tile[i, j] = tile[i, j] / row_sum[i]
            T.copy(tile, out[cid * block_M, 0])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def softmax_expert(M, N, block_M, dtype="float"):
    """As the first, with flags and addresses by hand."""
    m_num = M // block_M
    rows = block_M // 2

    @T.prim_func
    def main(scores: T.Tensor((M, N), dtype), out: T.Tensor((M, N), dtype)):
        with T.Kernel(m_num, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((rows, N), dtype)
            row_max = T.alloc_ub((rows,), dtype)
            row_sum = T.alloc_ub((rows,), dtype)
            T.annotate_address({tile: 0, row_max: rows * N * 4, row_sum: rows * N * 4 + 256})
            first = cid * block_M + vid * rows
            with T.Scope("V"):
                T.copy(scores[first, 0], tile)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.reduce_max(tile, row_max, dim=-1)
                T.pipe_barrier("v")
                T.tile.sub(tile, tile, row_max)
                T.pipe_barrier("v")
                T.tile.exp(tile, tile)
                T.pipe_barrier("v")
                T.reduce_sum(tile, row_sum, dim=-1)
                T.pipe_barrier("v")
                T.tile.div(tile, tile, row_sum)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(tile, out[first, 0])

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def softmax_online_developer(M, N, block_M, block_N, dtype="float"):
    """As the online one, with T.Parallel alone."""
    m_num = M // block_M
    n_num = N // block_N

    @T.prim_func
    def main(scores: T.Tensor((M, N), dtype), out: T.Tensor((M, N), dtype)):
        with T.Kernel(m_num, is_npu=True, threads=2) as (cid):
            tile = T.alloc_shared((block_M, block_N), dtype)
            new_max = T.alloc_shared((block_M,), dtype)
            old_max = T.alloc_shared((block_M,), dtype)
            tile_sum = T.alloc_shared((block_M,), dtype)
            total = T.alloc_shared((block_M,), dtype)

            for i in T.Parallel(block_M):
                old_max[i] = -1e30
                total[i] = 0.0
            for n in T.serial(n_num):
                T.copy(scores[cid * block_M, n * block_N], tile)
                T.reduce_max(tile, new_max, dim=1)
                for i in T.Parallel(block_M):
                    new_max[i] = T.max(new_max[i], old_max[i])
                for i, j in T.Parallel(block_M, block_N):
                    tile[i, j] = T.exp(tile[i, j] - new_max[i])
                T.reduce_sum(tile, tile_sum, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * T.exp(old_max[i] - new_max[i]) + tile_sum[i]
                    old_max[i] = new_max[i]
            for n in T.serial(n_num):
                T.copy(scores[cid * block_M, n * block_N], tile)
                for i, j in T.Parallel(block_M, block_N):
                    tile[i, j] = T.exp(tile[i, j] - old_max[i]) / total[i]
                T.copy(tile, out[cid * block_M, n * block_N])

    return main


@tilelang.jit(out_idx=[-1], target="ascend")
def softmax_online_expert(M, N, block_M, block_N, dtype="float"):
    """As the online one, with barriers by hand."""
    m_num = M // block_M
    n_num = N // block_N
    rows = block_M // 2

    @T.prim_func
    def main(scores: T.Tensor((M, N), dtype), out: T.Tensor((M, N), dtype)):
        with T.Kernel(m_num, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((rows, block_N), dtype)
            tile_max = T.alloc_ub((rows,), dtype)
            new_max = T.alloc_ub((rows,), dtype)
            old_max = T.alloc_ub((rows,), dtype)
            scale = T.alloc_ub((rows,), dtype)
            tile_sum = T.alloc_ub((rows,), dtype)
            total = T.alloc_ub((rows,), dtype)
            first = cid * block_M + vid * rows
            with T.Scope("V"):
                T.tile.fill(old_max, -1e30)
                T.tile.fill(total, 0.0)
                for n in T.serial(n_num):
                    T.barrier_all()
                    T.copy(scores[first, n * block_N], tile)
                    T.barrier_all()
                    T.reduce_max(tile, tile_max, dim=-1)
                    T.pipe_barrier("v")
                    T.tile.max(new_max, old_max, tile_max)
                    T.pipe_barrier("v")
                    T.tile.sub(scale, old_max, new_max)
                    T.pipe_barrier("v")
                    T.tile.exp(scale, scale)
                    T.tile.sub(tile, tile, new_max)
                    T.pipe_barrier("v")
                    T.tile.exp(tile, tile)
                    T.pipe_barrier("v")
                    T.reduce_sum(tile, tile_sum, dim=-1)
                    T.tile.mul(total, total, scale)
                    T.pipe_barrier("v")
                    T.tile.add(total, total, tile_sum)
                    T.copy(new_max, old_max)
                for n in T.serial(n_num):
                    T.barrier_all()
                    T.copy(scores[first, n * block_N], tile)
                    T.barrier_all()
                    T.tile.sub(tile, tile, old_max)
                    T.pipe_barrier("v")
                    T.tile.exp(tile, tile)
                    T.pipe_barrier("v")
                    T.tile.div(tile, tile, total)
                    T.barrier_all()
                    T.copy(tile, out[first, n * block_N])

    return main


def reference(x):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def main():
    x = np.random.default_rng(0).standard_normal((64, 128)).astype(np.float32) * 4
    kernels = {
        "mixed": softmax_mixed(64, 128, 32),
        "online": softmax_online(64, 128, 32, 32),
        "online, developer": softmax_online_developer(64, 128, 32, 32),
        "online, expert": softmax_online_expert(64, 128, 32, 32),
        "developer": softmax_developer(64, 128, 32),
        "expert": softmax_expert(64, 128, 32),
    }
    for name, kernel in kernels.items():
        np.testing.assert_allclose(kernel(x), reference(x), rtol=1e-4, atol=1e-7)
        print(f"softmax, {name}: Kernel Output Match!")


if __name__ == "__main__":
    main()
