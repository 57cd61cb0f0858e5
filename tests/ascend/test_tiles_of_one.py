# SPDX-License-Identifier: Apache-2.0
"""Functions on tiles of one element, as a kernel that takes one row at a time has for its sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
ROWS, COLUMNS = 4, 64


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_the_norm_of_each_row(shape: tuple[int, ...]) -> None:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32"), C: T.Tensor((ROWS, COLUMNS), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((1, COLUMNS), "float32")
            squares = T.alloc_ub((1, COLUMNS), "float32")
            norm = T.alloc_ub(shape, "float32")
            other = T.alloc_ub(shape, "float32")
            for i in T.serial(ROWS):
                T.copy(A[i, 0], a)
                T.tile.mul(squares, a, a)
                T.reduce_sum(squares, norm, dim=-1)
                T.tile.mul(norm, norm, 1.0 / COLUMNS)
                T.tile.add(norm, norm, 0.5)
                T.tile.sqrt(norm, norm)
                T.tile.fill(other, 3.0)
                T.tile.max(norm, norm, other)
                T.tile.sub(other, norm, other)
                T.tile.add(norm, norm, other)
                T.tile.broadcast(squares, norm)
                T.tile.div(a, a, squares)
                T.copy(a, C[i, 0])

    kernel: Any = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    assert "SetValue" not in kernel.get_kernel_source()
    scales = np.array([[1.0], [3.0], [4.0], [9.0]])
    a = (np.random.default_rng(3).uniform(0.5, 1.5, (ROWS, COLUMNS)) * scales).astype(np.float32)
    norm = np.sqrt((a.astype(float) ** 2).mean(1, keepdims=True) + 0.5)
    assert (norm > 3).any()
    assert (norm < 3).any()
    wanted = a / (2 * np.maximum(norm, 3) - 3)
    np.testing.assert_allclose(np.asarray(kernel(a)), wanted, rtol=1e-5)


@pytest.mark.filterwarnings("error")
def test_one_element_of_a_longer_tile_is_a_number() -> None:
    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), C: T.Tensor((8,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((8,), "float32")
            one = T.alloc_ub((1,), "float32")
            T.copy(A, a)
            T.tile.fill(one, 2.0)
            T.tile.mul(one, one, a[5])
            T.tile.mul(a, a, one[0])
            T.copy(a, C)

    a = np.arange(1, 9, dtype=np.float32)
    kernel: Any = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    np.testing.assert_array_equal(np.asarray(kernel(a)), a * 12)
