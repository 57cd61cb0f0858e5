# SPDX-License-Identifier: Apache-2.0
"""Two programs, one per kind of core, that hand tiles to each other through workspaces and say
nothing of how: the i-th use of one goes with the i-th use of the other, as TileLang-Ascend pairs
them by name."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
SIDE, PARTS = 32, 4


def test_there_and_back_in_a_loop() -> None:
    """C = sum over k of (2 * A[k] @ A[k]) @ A[k]: the vector cores double the first product."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((PARTS, SIDE, SIDE), "float16"),
        workspace_1: T.Tensor((SIDE, SIDE), "float32"),
        workspace_2: T.Tensor((SIDE, SIDE), "float16"),
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((SIDE, SIDE), "float16")
            b = T.alloc_L1((SIDE, SIDE), "float16")
            first = T.alloc_L0C((SIDE, SIDE), "float32")
            total = T.alloc_L0C((SIDE, SIDE), "float32")
            x = T.alloc_ub((SIDE, SIDE), "float32")
            y = T.alloc_ub((SIDE, SIDE), "float16")
            with T.Scope("C"):
                for k in T.serial(PARTS):
                    T.copy(A[k, 0, 0], a)
                    T.gemm_v0(a, a, first, init=True)
                    T.copy(first, workspace_1)
                    T.copy(workspace_2, b)
                    T.gemm_v0(b, a, total, init=(k == 0))
                T.copy(total, C)
            with T.Scope("V"):
                for _k in T.serial(PARTS):
                    T.copy(workspace_1, x)
                    T.tile.mul(x, x, 2.0)
                    T.tile.cast(y, x, "CAST_RINT", SIDE * SIDE)
                    T.copy(y, workspace_2)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = np.random.default_rng(4).integers(-1, 2, (PARTS, SIDE, SIDE)).astype(np.float16)
    spaces = np.zeros((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float16)
    result: Any = np.zeros((SIDE, SIDE), np.float32)
    kernel(a, *spaces, result)
    wide = a.astype(np.float64)
    np.testing.assert_array_equal(result, ((2 * wide @ wide) @ wide).sum(0))
    assert kernel.get_kernel_source().count("CrossCoreWaitFlag") >= 2


def test_in_one_text_without_scopes() -> None:
    """C[k] = (A[k] + 1) @ A[k], twice the numbers of which go on: the cube core's statements stand
    before those of the vector cores that write what it reads."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((PARTS, SIDE, SIDE), "float16"),
        workspace_1: T.Tensor((SIDE, SIDE), "float16"),
        workspace_2: T.Tensor((SIDE, SIDE), "float32"),
        C: T.Tensor((PARTS, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((SIDE, SIDE), "float16")
            b = T.alloc_L1((SIDE, SIDE), "float16")
            product = T.alloc_L0C((SIDE, SIDE), "float32")
            row = T.alloc_ub((SIDE,), "float16")
            half = T.alloc_ub((SIDE // 2, SIDE), "float32")
            first = vid * (SIDE // 2)
            for k in T.serial(PARTS):
                T.copy(workspace_1, b)
                T.copy(A[k, 0, 0], a)
                T.gemm_v0(b, a, product, init=True)
                T.copy(product, workspace_2)
                for i in range(SIDE // 2):
                    T.copy(A[k, first + i, :], row)
                    T.tile.add(row, row, 1.0)
                    T.copy(row, workspace_1[first + i, :])
                T.copy(workspace_2[first : first + SIDE // 2, :], half)
                T.tile.mul(half, half, 2.0)
                T.copy(half, C[k, first, 0])

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = np.random.default_rng(5).integers(-2, 3, (PARTS, SIDE, SIDE)).astype(np.float16)
    spaces = np.full((SIDE, SIDE), np.nan, np.float16), np.full((SIDE, SIDE), np.nan, np.float32)
    result: Any = np.zeros((PARTS, SIDE, SIDE), np.float32)
    kernel(a, *spaces, result)
    wide = a.astype(np.float64)
    np.testing.assert_array_equal(result, 2 * ((wide + 1) @ wide))
