# SPDX-License-Identifier: Apache-2.0
"""Two programs, one per kind of core, that hand tiles to each other through workspaces and say
nothing of how: the i-th use of one goes with the i-th use of the other, as TileLang-Ascend pairs
them by name. The reference interpreter has the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
SIDE, PARTS = 32, 4
both_targets = pytest.mark.parametrize("target", ["ascend", "reference"])


@both_targets
def test_there_and_back_in_a_loop(target: str) -> None:
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

    kernel = tilewright.compile(main, target=target, pass_configs=AUTOMATIC)
    a = np.random.default_rng(4).integers(-1, 2, (PARTS, SIDE, SIDE)).astype(np.float16)
    spaces = np.zeros((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float16)
    result: Any = np.zeros((SIDE, SIDE), np.float32)
    kernel(a, *spaces, result)
    wide = a.astype(np.float64)
    np.testing.assert_array_equal(result, ((2 * wide @ wide) @ wide).sum(0))
    if target == "ascend":
        assert kernel.get_kernel_source().count("CrossCoreWaitFlag") >= 2


@both_targets
def test_in_one_text_without_scopes(target: str) -> None:
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

    kernel = tilewright.compile(main, target=target, pass_configs=AUTOMATIC)
    a = np.random.default_rng(5).integers(-2, 3, (PARTS, SIDE, SIDE)).astype(np.float16)
    spaces = np.full((SIDE, SIDE), np.nan, np.float16), np.full((SIDE, SIDE), np.nan, np.float32)
    result: Any = np.zeros((PARTS, SIDE, SIDE), np.float32)
    kernel(a, *spaces, result)
    wide = a.astype(np.float64)
    np.testing.assert_array_equal(result, 2 * ((wide + 1) @ wide))


@both_targets
@pytest.mark.parametrize("threads", [1, 2])
def test_gemms_before_what_gathers_for_them(threads: int, target: str) -> None:
    """As TileLang-Ascend's sparse attention in Developer mode: both gemms of a turn stand before
    the loop that gathers their operand and the instructions that make the weights."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        Q: T.Tensor((SIDE, SIDE), "float16"),
        KV: T.Tensor((3 * SIDE, SIDE), "float16"),
        rows: T.Tensor((PARTS, SIDE), "int32"),
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, threads=threads, is_npu=True) as _:
            q = T.alloc_shared((SIDE, SIDE), "float16")
            gathered = T.alloc_shared((SIDE, SIDE), "float16")
            weights = T.alloc_shared((SIDE, SIDE), "float16")
            scores = T.alloc_fragment((SIDE, SIDE), "float32")
            product = T.alloc_fragment((SIDE, SIDE), "float32")
            chosen = T.alloc_shared((SIDE,), "int32")
            row = T.alloc_shared((SIDE,), "float16")
            x = T.alloc_shared((SIDE, SIDE), "float32")
            half = T.alloc_shared((SIDE, SIDE), "float16")
            part = T.alloc_shared((SIDE, SIDE), "float32")
            o = T.alloc_shared((SIDE, SIDE), "float32")
            T.copy(Q, q)
            T.tile.fill(o, 0.0)
            for k in T.serial(PARTS):
                T.gemm_v0(q, gathered, scores, transpose_B=True, init=True)
                T.copy(scores, x)
                T.gemm_v0(weights, gathered, product, init=True)
                T.copy(product, part)
                T.copy(rows[k, 0], chosen)
                for i in range(SIDE):
                    T.copy(KV[chosen[i], :], row)
                    T.copy(row, gathered[i, :])
                for i, j in T.Parallel(SIDE, SIDE):
                    half[i, j] = T.max(x[i, j], 0.0)
                T.copy(half, weights)
                for i, j in T.Parallel(SIDE, SIDE):
                    o[i, j] += part[i, j]
            T.copy(o, C)

    kernel = tilewright.compile(main, target=target, pass_configs=AUTOMATIC)
    rng = np.random.default_rng(6)
    q, kv = (rng.integers(-1, 2, (n, SIDE)).astype(np.float16) for n in (SIDE, 3 * SIDE))
    rows = rng.integers(0, 3 * SIDE, (PARTS, SIDE)).astype(np.int32)
    result: Any = np.zeros((SIDE, SIDE), np.float32)
    kernel(q, kv, rows, result)
    wide, wide_q = kv.astype(np.float64), q.astype(np.float64)
    expected = sum(np.maximum(wide_q @ wide[each].T, 0) @ wide[each] for each in rows)
    np.testing.assert_array_equal(result, expected)
