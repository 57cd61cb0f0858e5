# SPDX-License-Identifier: Apache-2.0
"""Parts of tiles in L1 and L0C are multiplied, and nothing beside them changes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

random = np.random.default_rng(11)
AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


@T.prim_func
def products(
    A: T.Tensor((64, 64), "float16"),
    B: T.Tensor((64, 64), "float16"),
    X: T.Tensor((64, 64), "int8"),
    m: T.int32,
    C: T.Tensor((64, 64), "float32"),
    Y: T.Tensor((16, 48), "int32"),
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, _):
        a = T.alloc_L1((64, 64), "float16")
        b = T.alloc_L1((64, 64), "float16")
        x = T.alloc_L1((64, 64), "int8")
        c = T.alloc_L0C((64, 64), "float32")
        y = T.alloc_L0C((16, 48), "int32")
        T.copy(A, a)
        T.copy(B, b)
        T.copy(X, x)
        T.gemm_v0(a, b, c, init=True)
        T.gemm_v0(a[0:32, :], b, c[32:64, :])
        T.gemm_v0(a[m * 16 : m * 16 + 16, :], b[:, 16:48], c[16:32, 32:64], init=True)
        T.gemm_v0(a[0:32, 16:48], b[0:32, 0:16], c[m * 16 : m * 16 + 32, 0:16])
        T.gemm_v0(x[:, 32:48], x[:, 0:48], y, transpose_A=True, init=True)
        T.copy(c, C)
        T.copy(y, Y)


@pytest.mark.parametrize("configs", [{}, AUTOMATIC])
def test_parts(configs: dict[Any, Any]) -> None:
    a, b = (random.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    x = random.integers(-9, 9, (64, 64), np.int8)
    c, y = np.zeros((64, 64), np.float32), np.zeros((16, 48), np.int32)
    tilewright.compile(products, target="ascend", pass_configs=configs)(a, b, x, 2, c, y)
    left, right, bytes_ = (array.astype(np.float64) for array in (a, b, x))
    expected = left @ right
    expected[32:] += left[:32] @ right
    expected[16:32, 32:] = left[32:48] @ right[:, 16:48]
    expected[32:, :16] += left[:32, 16:48] @ right[:32, :16]
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(y, bytes_[:, 32:48].T @ bytes_[:, :48])


def gemm_beside_flags(taken: int) -> Any:
    """The kernel's own flags take so many events; a number that is not known may be any."""

    @T.prim_func
    def main(A: T.Tensor((64, 512), "float16"), n: T.int32, C: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1((64, 512), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            with T.Scope("C"):
                for source, target in (("m", "mte1"), ("mte2", "mte1"), ("m", "fix")):
                    for event in range(taken):
                        T.set_flag(source, target, event)
                        T.wait_flag(source, target, event)
                    if taken == 0:
                        T.set_flag(source, target, n)
                        T.wait_flag(source, target, n)
                T.copy(A, a)
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                T.copy(c, C)

    return main


@pytest.mark.parametrize("taken", [0, 5])
def test_events_that_the_kernel_leaves(taken: int) -> None:
    kernel = tilewright.compile(gemm_beside_flags(taken), out_idx=[-1], target="ascend")
    a = random.standard_normal((64, 512)).astype(np.float16)
    wide = a.astype(np.float64)
    np.testing.assert_allclose(kernel(a, 3), wide @ wide.T, rtol=1e-4, atol=1e-2)
    source = kernel.get_kernel_source()
    assert not re.search(r"Flag<\w+::\w+>\([67]\)", source)
    assert ("PipeBarrier<PIPE_ALL>" in source) == (taken == 0)


@T.prim_func
def gemm_beside_own_buffers(
    A: T.Tensor((32, 32), "float16"),
    B: T.Tensor((32, 32), "float16"),
    C: T.Tensor((32, 32), "float32"),
    D: T.Tensor((32, 32), "float32"),
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, _):
        a = T.alloc_L1((32, 32), "float16")
        b = T.alloc_L1((32, 32), "float16")
        left = T.alloc_L0A((32, 32), "float16")
        right = T.alloc_L0B((32, 32), "float16")
        c = T.alloc_L0C((32, 32), "float32")
        d = T.alloc_L0C((32, 32), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.copy(a, left)
        T.copy(b, right)
        T.gemm_v0(a, b, c, transpose_B=True, init=True)
        T.mma(left, right, d, init=True)
        T.copy(c, C)
        T.copy(d, D)


def test_own_buffers_in_l0_outlast_a_gemm() -> None:
    kernel = tilewright.compile(
        gemm_beside_own_buffers, out_idx=[2, 3], target="ascend", pass_configs=AUTOMATIC
    )
    a, b = (random.standard_normal((32, 32)).astype(np.float16) for _ in range(2))
    left, right = a.astype(np.float64), b.astype(np.float64)
    for result, expected in zip(kernel(a, b), (left @ right.T, left @ right), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-3)


@T.prim_func
def narrow_floats(
    A: T.Tensor((32, 16), "float32"),
    B: T.Tensor((24, 16), "float32"),
    C: T.Tensor((32, 24), "float32"),
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, _):
        a = T.alloc_L1((32, 16), "float32")
        b = T.alloc_L1((24, 16), "float32")
        left = T.alloc_L0A((32, 16), "float32")
        first = T.alloc_L0B((16, 24), "float32")
        second = T.alloc_L0B((16, 24), "float32")
        c = T.alloc_L0C((32, 24), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.copy(a, left)
        T.copy(b, second, transpose=True)
        T.copy(b, first, transpose=True)
        T.mma(left, first, c, init=True)
        T.mma(left, second, c)
        T.copy(c, C)


def test_columns_of_l0b_come_in_groups_of_16() -> None:
    kernel = tilewright.compile(
        narrow_floats, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC
    )
    a, b = (random.standard_normal((rows, 16)).astype(np.float32) for rows in (32, 24))
    expected = 2 * a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(kernel(a, b), expected, rtol=1e-4, atol=1e-3)


@T.prim_func
def halves_by_a_variable(
    A: T.Tensor((32, 32), "float16"),
    C: T.Tensor((32, 32), "float32"),
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_L1((32, 32), "float16")
        c = T.alloc_L0C((32, 32), "float32")
        u = T.alloc_ub((16, 32), "float32")
        row = T.alloc_var("int32", init=vid * 16)
        T.copy(A, a)
        T.gemm_v0(a, a, c, init=True)
        T.copy(c[row : row + 16, :], u)
        for i, j in T.Parallel(16, 32):
            u[i, j] = u[i, j] * 2.0
        T.copy(u, C[row, 0])


def test_a_variable_says_which_half_each_vector_core_has() -> None:
    a = random.integers(-3, 4, (32, 32)).astype(np.float16)
    c = np.zeros((32, 32), np.float32)
    configs = AUTOMATIC | {
        tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
        tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    }
    tilewright.compile(halves_by_a_variable, target="ascend", pass_configs=configs)(a, c)
    exact = a.astype(np.float64)
    np.testing.assert_array_equal(c, 2 * (exact @ exact))
