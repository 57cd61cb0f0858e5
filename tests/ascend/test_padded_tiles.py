# SPDX-License-Identifier: Apache-2.0
"""Tiles with rows that end within a block of 32 bytes: what lies behind them is read only where it
was written, and written only where it is read."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(61)
GROUP = KernelGroup()
#: Kernels that the host must stop.
MISTAKES = KernelGroup()


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    low = 0 if dtype.startswith("u") else -100
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return random.integers(low, 100, shape).astype(kind)


def add_elements(columns: int, dtype: str) -> None:
    """Elements one by one, then the tile as a whole."""

    @T.prim_func
    def main(A: T.Tensor((3, columns), dtype), C: T.Tensor((3, columns), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((3, columns), dtype)
            b = T.alloc_ub((3, columns), dtype)
            c = T.alloc_ub((3, columns), dtype)
            T.copy(A, a)
            for i in T.serial(3):
                for j in T.serial(columns):
                    b[i, j] = a[i, j]
            T.copy(b, c)
            T.tile.max(c, c, b)
            T.copy(c, C)

    a = numbers((3, columns), dtype)
    GROUP.add(f"elements {columns} {dtype}", main, [a, np.zeros_like(a)], {1: a.astype(np.float64)})


def add_planes(columns: int, dtype: str) -> None:
    """A plane of a tensor, which the compiler keeps in a tile of its own."""

    @T.prim_func
    def main(A: T.Tensor((3, columns, 5), dtype), C: T.Tensor((3, columns), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((3, columns), dtype)
            for i, j in T.Parallel(3, columns):
                c[i, j] = T.max(A[i, j, 2], A[i, j, 3])
            T.copy(c, C)

    a = numbers((3, columns, 5), dtype)
    largest = a[:, :, 2:4].max(axis=2)
    GROUP.add(
        f"planes {columns} {dtype}",
        main,
        [a, np.zeros_like(largest)],
        {1: largest.astype(np.float64)},
    )


def add_copies(shape: tuple[int, ...], dtype: str, *, through: str | None = None) -> None:
    """What an instruction has written is copied twice as a whole; `through` another type first."""

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, dtype)
            b = T.alloc_ub(shape, dtype)
            c = T.alloc_ub(shape, dtype)
            T.copy(A, a)
            if through is None:
                for i, j in T.Parallel(*((1,) * (2 - len(shape)) + shape)):
                    b[(i, j)[2 - len(shape) :]] = a[(i, j)[2 - len(shape) :]] + T.cast(1, dtype)
            else:
                other = T.alloc_ub(shape, through)
                T.copy(a, other)
                T.tile.add(other, other, 1)
                T.copy(other, b)
            T.copy(b, c)
            T.copy(c, a)
            T.copy(a, C)

    a = numbers(shape, dtype)
    GROUP.add(
        f"copies {shape} {dtype} {through}",
        main,
        [a, np.zeros_like(a)],
        {1: a.astype(np.float64) + 1},
    )


def add_first_iteration(columns: int, dtype: str) -> None:
    """Written one by one in one iteration of a loop, and taken as a whole in all others."""

    @T.prim_func
    def main(A: T.Tensor((3, columns), dtype), C: T.Tensor((3, columns), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((3, columns), dtype)
            b = T.alloc_ub((3, columns), dtype)
            c = T.alloc_ub((3, columns), dtype)
            T.copy(A, a)
            for k in T.serial(3):
                if k == 0:
                    for i in T.serial(3):
                        for j in T.serial(columns):
                            b[i, j] = a[i, j]
                else:
                    T.copy(b, c)
                    T.tile.add(b, c, 1)
            T.copy(b, C)

    a = numbers((3, columns), dtype)
    expected = {1: a.astype(np.float64) + 2}
    GROUP.add(f"first {columns} {dtype}", main, [a, np.zeros_like(a)], expected)


def add_rows(columns: int, dtype: str, *, rows: int) -> None:
    """Of three rows only so many are written, one by one; all are taken."""

    @T.prim_func
    def main(A: T.Tensor((3, columns), dtype), C: T.Tensor((3, columns), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((3, columns), dtype)
            b = T.alloc_ub((3, columns), dtype)
            c = T.alloc_ub((3, columns), dtype)
            T.copy(A, a)
            for i in T.serial(rows):
                for j in T.serial(columns):
                    b[i, j] = a[i, j]
            T.copy(b, c)
            T.copy(c, C)

    a = numbers((3, columns), dtype)
    expected = {1: a.astype(np.float64)} if rows == 3 else {}
    (GROUP if rows == 3 else MISTAKES).add(
        f"{rows} rows {columns} {dtype}", main, [a, np.zeros_like(a)], expected
    )


SHAPES = ((13,), (1, 13), (3, 5), (3, 20), (2, 33))
DTYPES = ("float16", "float32", "bfloat16", "int16", "int32", "int8", "uint8", "uint16", "int64")
for dtype in ("int8", "uint8", "int64"):
    for columns in (8, 13, 20):
        add_elements(columns, dtype)
        if dtype != "int64":
            add_planes(columns, dtype)
for number, dtype in enumerate(DTYPES):
    for shape in (SHAPES[number % 5], SHAPES[(number + 2) % 5], (3, 20)):
        add_copies(shape, dtype)
for shape, dtype, through in [
    ((3, 5), "int32", "float32"),
    ((3, 20), "float16", "float32"),
    ((2, 33), "float32", "float16"),
    ((3, 20), "int8", "float16"),
    ((13,), "uint8", "float16"),
]:
    add_copies(shape, dtype, through=through)
for dtype in ("float16", "int32"):
    add_first_iteration(20, dtype)
    for rows in (2, 3):
        add_rows(20, dtype, rows=rows)


@pytest.mark.parametrize("name", GROUP.cases)
def test_padded_tiles(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", [name for name in GROUP.cases if " float16 None" in name])
def test_nothing_is_written_that_no_copy_reads(name: str) -> None:
    GROUP.run(name)
    assert "Duplicate" not in GROUP.cases[name].ascendc


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_rows_that_are_never_written_are_told(dtype: str) -> None:
    with pytest.raises(RuntimeError, match="which nothing has written"):
        MISTAKES.run(f"2 rows 20 {dtype}")
