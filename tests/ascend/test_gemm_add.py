# SPDX-License-Identifier: Apache-2.0
"""GEMM followed by add: flags by hand, found by the compiler, and all left to the compiler."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(7)

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
M, N, K, BLOCK, STEP = 128, 128, 128, 64, 64
PER_ROW = N // BLOCK
BLOCKS = M // BLOCK * PER_ROW
HALF = BLOCK // 2


@tilewright.jit(out_idx=[-1], workspace_idx=[3], target="ascend")
def by_hand() -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((M, N), "float32"),
        space: T.Tensor((M, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(BLOCKS, is_npu=True) as (cid, vid):
            row = cid // PER_ROW * BLOCK
            column = cid % PER_ROW * BLOCK
            a = T.alloc_L1((BLOCK, STEP), "float16")
            b = T.alloc_L1((STEP, BLOCK), "float16")
            c = T.alloc_L0C((BLOCK, BLOCK), "float32")
            x = T.alloc_ub((HALF, BLOCK), "float32")
            y = T.alloc_ub((HALF, BLOCK), "float32")
            with T.Scope("C"):
                for k in T.serial(K // STEP):
                    T.copy(A[row, k * STEP], a)
                    T.copy(B[k * STEP, column], b)
                    T.barrier_all()
                    T.gemm_v0(a, b, c, init=(k == 0))
                    T.barrier_all()
                T.copy(c, space[row, column])
                T.set_cross_flag("FIX", 0)
            with T.Scope("V"):
                T.copy(D[row + vid * HALF, column], y)
                T.wait_cross_flag(0)
                T.copy(space[row + vid * HALF, column], x)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.tile.add(x, x, y)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(x, C[row + vid * HALF, column])

    return main


@tilewright.jit(out_idx=[-1], workspace_idx=[3], target="ascend", pass_configs=AUTOMATIC)
def inferred() -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((M, N), "float32"),
        space: T.Tensor((M, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(BLOCKS, is_npu=True) as (cid, vid):
            row = cid // PER_ROW * BLOCK
            column = cid % PER_ROW * BLOCK
            a = T.alloc_shared((BLOCK, STEP), "float16")
            b = T.alloc_shared((STEP, BLOCK), "float16")
            c = T.alloc_fragment((BLOCK, BLOCK), "float32")
            x = T.alloc_shared((HALF, BLOCK), "float32")
            y = T.alloc_shared((HALF, BLOCK), "float32")
            for k in T.serial(K // STEP):
                T.copy(A[row, k * STEP], a)
                T.copy(B[k * STEP, column], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, space[row, column])
            T.copy(D[row + vid * HALF, column], y)
            T.copy(space[row + vid * HALF, column], x)
            T.tile.add(x, x, y)
            T.copy(x, C[row + vid * HALF, column])

    return main


@tilewright.jit(out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
def automatic() -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((M, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(BLOCKS, threads=2, is_npu=True) as cid:
            row = cid // PER_ROW * BLOCK
            column = cid % PER_ROW * BLOCK
            a = T.alloc_shared((BLOCK, STEP), "float16")
            b = T.alloc_shared((STEP, BLOCK), "float16")
            c = T.alloc_fragment((BLOCK, BLOCK), "float32")
            x = T.alloc_shared((BLOCK, BLOCK), "float32")
            y = T.alloc_shared((BLOCK, BLOCK), "float32")
            for k in T.serial(K // STEP):
                T.copy(A[row, k * STEP], a)
                T.copy(B[k * STEP, column], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            T.copy(c, x)
            T.copy(D[row, column], y)
            T.tile.add(x, x, y)
            T.copy(x, C[row, column])

    return main


@pytest.fixture(scope="module")
def inputs() -> tuple[Array, Array, Array]:
    a = random.standard_normal((M, K)).astype(np.float16)
    b = random.standard_normal((K, N)).astype(np.float16)
    return a, b, random.standard_normal((M, N)).astype(np.float32)


def test_same_numbers(inputs: tuple[Array, Array, Array], capfd: Any) -> None:
    os.environ.pop("TILEWRIGHT_ASCEND", None)
    a, b, d = inputs
    results = [np.asarray(make()(a, b, d)) for make in (by_hand, inferred, automatic)]
    expected = a.astype(np.float64) @ b.astype(np.float64) + d
    np.testing.assert_allclose(results[0], expected, rtol=1e-4, atol=1e-4)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    assert "error:" not in capfd.readouterr().err


def test_automatic_kernel_reads_well() -> None:
    source = automatic().get_kernel_source()
    assert "KERNEL_TYPE_MIX_AIC_1_2" in source
    assert source.count("CrossCoreSetFlag") == 1
    assert source.count("CrossCoreWaitFlag") == 1
    assert "PIPE_ALL" not in source
