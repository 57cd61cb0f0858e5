# SPDX-License-Identifier: Apache-2.0
"""Tiles of bytes with rows that end within a block: written one by one, then taken as a whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright.language as T

sys.path.insert(0, str(Path(__file__).parent))
from kernel_group import KernelGroup  # noqa: E402

Array = np.ndarray[Any, Any]
random = np.random.default_rng(61)
GROUP = KernelGroup()
pytestmark = pytest.mark.xdist_group("ascend_padded_bytes")


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    low = 0 if dtype == "uint8" else -100
    return random.integers(low, 100, shape).astype(dtype)


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


for dtype in ("int8", "uint8"):
    for columns in (8, 13, 20):
        add_elements(columns, dtype)
        add_planes(columns, dtype)


@pytest.mark.parametrize("name", GROUP.cases)
def test_padded_bytes(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_removals(name: str) -> None:
    GROUP.check_removals(name)
