# SPDX-License-Identifier: Apache-2.0
"""Nests in which all rows of a large tile have one row in common: it isn't spread over another tile
as large."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

GROUP = KernelGroup()
random = np.random.default_rng(67)
WITHOUT_FLAGS = {tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}


def affine(rows: int, columns: int, dtype: str, *, waits: bool) -> PrimFunc:
    """On both sides of operations, and used twice."""

    @T.macro
    def wait() -> None:
        if waits:
            T.barrier_all()

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2 * rows, columns), dtype),
        W: T.Tensor((columns,), dtype),
        B: T.Tensor((columns,), dtype),
        C: T.Tensor((2 * rows, columns), dtype),
    ):
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((rows, columns), dtype)
            w = T.alloc_ub((columns,), dtype)
            b = T.alloc_ub((columns,), dtype)
            T.copy(A[cid * rows, 0], x)
            T.copy(W, w)
            T.copy(B, b)
            wait()
            for i, j in T.Parallel(rows, columns):
                x[i, j] = b[j] - x[i, j] * w[j]
            wait()
            for i, j in T.Parallel(rows, columns):
                x[i, j] = T.max(x[i, j], w[j]) + b[j]
            wait()
            T.copy(x, C[cid * rows, 0])

    return main


def expected(a: Any, w: Any, b: Any) -> Any:
    wide = [each.astype(np.float64) for each in (a, w, b)]
    return np.maximum(wide[2] - wide[0] * wide[1], wide[1]) + wide[2]


SHAPES = [(8, 2048), (2, 8192), (16, 1024), (3, 4096), (64, 128), (8, 2000)]

for dtype in ("float32", "float16", "bfloat16", "int32"):
    for rows, columns in SHAPES:
        if dtype == "bfloat16" and rows * columns > 10000:
            continue  # computed in float32, which needs as much again
        number = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
        a = random.integers(-9, 10, (2 * rows, columns)).astype(number)
        w, b = (random.integers(-9, 10, columns).astype(number) for _ in range(2))
        given = [a, w, b, np.zeros_like(a)]
        for waits in (True, False):
            kernel = affine(rows, columns, dtype, waits=waits)
            configs = WITHOUT_FLAGS if waits else AUTOMATIC
            name = f"{dtype} {rows} x {columns}" + (", waits by hand" if waits else "")
            GROUP.add(name, kernel, given, expected(a, w, b), configs=configs)


@pytest.mark.parametrize("name", GROUP.cases)
def test_nest(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", ["float32 8 x 2048", "float16 2 x 8192"])
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_no_tile_is_as_large() -> None:
    """Of two tiles of 64 KB, a third one would be too many, beside what it is made of."""
    GROUP.check("float32 8 x 2048")
    text = GROUP.cases["float32 8 x 2048"].ascendc
    assert "broadcastColumns" not in text
    assert "Mul(t[row * 2048], x[row * 2048], w, 2048);" in text


def fitting() -> PrimFunc:
    """Of UB's 192 KB the kernel has 160 for itself."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((8, 2048), "float32"),
        B: T.Tensor((8, 2048), "float32"),
        W: T.Tensor((4, 2048), "float32"),
        C: T.Tensor((8, 2048), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((8, 2048), "float32")
            y = T.alloc_ub((8, 2048), "float32")
            w = T.alloc_ub((4, 2048), "float32")
            T.copy(A, x)
            T.copy(B, y)
            T.copy(W, w)
            for i, j in T.Parallel(8, 2048):
                x[i, j] = x[i, j] * w[0, j]
            for i, j in T.Parallel(8, 2048):
                y[i, j] = y[i, j] + w[3, j]
            T.tile.add(x, x, y)
            T.copy(x, C)

    return main


def test_what_fits_only_so() -> None:
    a, b, w = (random.integers(-9, 10, (n, 2048)).astype(np.float32) for n in (8, 8, 4))
    c = np.zeros((8, 2048), np.float32)
    tilewright.compile(fitting(), target="ascend", pass_configs=AUTOMATIC)(a, b, w, c)
    np.testing.assert_array_equal(c, a * w[0] + b + w[3])
