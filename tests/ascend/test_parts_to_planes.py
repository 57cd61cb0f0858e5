# SPDX-License-Identifier: Apache-2.0
"""Parts of tensors and larger planes of tiles: the part is copied; a load pads the plane's rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup(tolerance=0)
ROWS, COLUMNS = 24, 44


def through_two_planes(dtype: str) -> Any:  # noqa: ANN401
    """Eight rows in turn to either half of a wider tile that holds another number."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, COLUMNS), dtype),
        P: T.Tensor((ROWS, 64), dtype),
        C: T.Tensor((ROWS, COLUMNS), dtype),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((2, 8, 64), dtype)
            T.tile.fill(tile, 5.0)
            for k in T.serial(3):
                half = k % 2
                T.barrier_all()
                T.copy(A[k * 8 : k * 8 + 8, 4:COLUMNS], tile[half, :, :], pad_value=7.0)
                T.barrier_all()
                T.copy(tile[half, :, :], P[k * 8, 0])
                T.copy(tile[half, :, :], C[k * 8 : k * 8 + 8, 4:COLUMNS])

    return main


@GROUP.each(dtype=["float32", "float16"])
def planes_in_turn(dtype: str) -> Any:  # noqa: ANN401
    a = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS).astype(dtype)
    padded = np.full((ROWS, 64), 7, dtype)
    padded[:, : COLUMNS - 4] = a[:, 4:]
    stored = np.zeros_like(a)
    stored[:, 4:] = a[:, 4:]
    return (
        through_two_planes(dtype),
        [a, np.zeros((ROWS, 64), dtype), np.zeros_like(a)],
        {1: padded, 2: stored},
    )


def rows_of_numbers(rows: int) -> Any:  # noqa: ANN401
    """Rows of six numbers each to rows of eight, one row at a time, as the DMA likes them."""

    @T.prim_func
    def main(N: T.Tensor((rows, 6), "int32"), C: T.Tensor((rows, 8), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            numbers = T.alloc_ub((2, rows, 8), "int32")
            for row in T.serial(rows):
                T.copy(N[row, :], numbers[1, row, :])
            T.barrier_all()
            T.copy(numbers[1, :, :], C)

    return main


@GROUP.each(rows=[1, 5])
def rows_of_six_in_rows_of_eight(rows: int) -> Any:  # noqa: ANN401
    n = np.arange(rows * 6).reshape(rows, 6).astype(np.int32) + 1
    made = np.zeros((rows, 8), np.int32)
    return rows_of_numbers(rows), [n, made], {1: np.pad(n, ((0, 0), (0, 2)))}


def padded_part(rows: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((16, COLUMNS), "float32"), C: T.Tensor((16, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((16, 64), "float32")
            T.tile.fill(tile, 5.0)
            T.barrier_all()
            T.copy(A[2 : 2 + rows, 0:COLUMNS], tile[8:16, 0:56], pad_value=7.0)
            T.barrier_all()
            T.copy(tile, C)

    return main


@GROUP.each(rows=[1, 4, 8])
def parts_of_a_tile_where_the_copy_says_what_pads_them(rows: int) -> Any:  # noqa: ANN401
    a = np.arange(16 * COLUMNS).reshape(16, COLUMNS).astype(np.float32)
    expected = np.full((16, 64), 5, np.float32)
    expected[8:, :56] = 7
    expected[8 : 8 + rows, :COLUMNS] = a[2 : 2 + rows]
    return padded_part(rows), [a, np.zeros((16, 64), np.float32)], {1: expected}


@pytest.mark.parametrize("name", GROUP.cases)
def test_parts_to_planes(name: str) -> None:
    """The host and the interpreter."""
    GROUP.check(name)


@pytest.mark.parametrize("target", ["ascend", "reference"])
def test_other_parts_of_a_tile_are_as_large(target: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 44), "float32"), C: T.Tensor((16, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((16, 64), "float32")
            T.copy(A[0:16, 0:44], tile[0:16, 0:56])
            T.copy(tile, C)

    told = "copy source has 44 columns but destination has 56"
    with pytest.raises(tilewright.CompileError, match=told):
        tilewright.compile(main, target=target)
