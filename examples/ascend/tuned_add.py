# SPDX-License-Identifier: Apache-2.0
"""c = a + b of float16, as fast as memory gives the data, in Expert and in Developer mode.

Each vector core takes strips of rows and works on them in tiles, with two buffers of each kind: one
tile is loaded, one added, one stored at the same time.

Run it without an NPU: tilewright run --target ascend examples/ascend/tuned_add.py
"""

import numpy as np

import tilelang
import tilelang.language as T

pass_configs = {
    tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
}


@tilelang.jit(out_idx=[-1], target="ascend")
def add_expert(M, N, cores=24, rows=2):
    """`rows` are those of a tile; each vector core takes every (2 * cores)-th tile."""
    workers = 2 * cores

    @T.prim_func
    def main(
        A: T.Tensor((M, N), "float16"),
        B: T.Tensor((M, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(cores, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, rows, N), "float16")
            b = T.alloc_ub((2, rows, N), "float16")
            with T.Scope("V"):
                worker = cid * 2 + vid
                T.set_flag("mte3", "mte2", 0)
                T.set_flag("mte3", "mte2", 1)
                for i in T.serial(T.ceildiv(M // rows - worker, workers)):
                    first = (i * workers + worker) * rows
                    T.wait_flag("mte3", "mte2", i % 2)
                    T.copy(A[first, 0], a[i % 2, :, :])
                    T.copy(B[first, 0], b[i % 2, :, :])
                    T.set_flag("mte2", "v", i % 2)
                    T.wait_flag("mte2", "v", i % 2)
                    T.tile.add(a[i % 2, :, :], a[i % 2, :, :], b[i % 2, :, :])
                    T.set_flag("v", "mte3", i % 2)
                    T.wait_flag("v", "mte3", i % 2)
                    T.copy(a[i % 2, :, :], C[first, 0])
                    T.set_flag("mte3", "mte2", i % 2)
                T.wait_flag("mte3", "mte2", 0)
                T.wait_flag("mte3", "mte2", 1)

    return main


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs, target="ascend")
def add_developer(M, N, cores=24, rows=4):
    """The compiler gives each of a core's two vector cores half of a tile's rows."""

    @T.prim_func
    def main(
        A: T.Tensor((M, N), "float16"),
        B: T.Tensor((M, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(cores, is_npu=True, threads=2) as (cid):
            a = T.alloc_shared((rows, N), "float16")
            b = T.alloc_shared((rows, N), "float16")
            for i in T.Pipelined(T.ceildiv(M // rows - cid, cores), num_stages=2):
                first = (i * cores + cid) * rows
                T.copy(A[first, 0], a)
                T.copy(B[first, 0], b)
                for p, q in T.Parallel(rows, N):
                    a[p, q] = a[p, q] + b[p, q]
                T.copy(a, C[first, 0])

    return main


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 128)).astype(np.float16) for _ in range(2))
    for mode, kernel in (("expert", add_expert), ("developer", add_developer)):
        result = kernel(64, 128, cores=3)(a, b)
        np.testing.assert_array_equal(result, a + b)
        print(f"Tuned addition, {mode}: Kernel Output Match!")


if __name__ == "__main__":
    main()
