# SPDX-License-Identifier: Apache-2.0
"""Tiles of bools take a byte an element; the vector unit chooses by a bit an element."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()

TYPES: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int32": np.int32,
    "int16": np.int16,
    "int8": np.int8,
}


def add(dtype: str, rows: int, columns: int) -> None:
    """A tile that the kernel compares into, one that it is given, both at once, one as numbers, and
    one number per row."""
    shape = (rows, columns)

    @T.prim_func
    def main(
        A: T.Tensor(shape, dtype),
        M: T.Tensor(shape, "bool"),
        C: T.Tensor((5, rows, columns), dtype),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared(shape, dtype)
            c = T.alloc_shared(shape, dtype)
            given = T.alloc_shared(shape, "bool")
            made = T.alloc_shared(shape, "bool")
            T.copy(A, a)
            T.copy(M, given)
            for i, j in T.Parallel(rows, columns):
                made[i, j] = a[i, j] > T.cast(0, dtype)
            for i, j in T.Parallel(rows, columns):
                c[i, j] = T.if_then_else(made[i, j], a[i, j], T.cast(1, dtype))
            T.copy(c, C[0, 0, 0])
            for i, j in T.Parallel(rows, columns):
                c[i, j] = T.Select(given[i, j], a[i, j], T.cast(2, dtype))
            T.copy(c, C[1, 0, 0])
            for i, j in T.Parallel(rows, columns):
                c[i, j] = T.if_then_else(T.And(given[i, j], made[i, j]), a[i, j], T.cast(3, dtype))
            T.copy(c, C[2, 0, 0])
            for i, j in T.Parallel(rows, columns):
                c[i, j] = T.cast(given[i, j], dtype)
            T.copy(c, C[3, 0, 0])
            for i, j in T.Parallel(rows, columns):
                c[i, j] = T.if_then_else(given[i, 0], a[i, j], T.cast(4, dtype))
            T.copy(c, C[4, 0, 0])

    rng = np.random.default_rng(columns)
    x = rng.integers(-5, 5, shape)
    given, made = rng.integers(0, 2, shape).astype(bool), x > 0
    results = [
        np.where(made, x, 1),
        np.where(given, x, 2),
        np.where(given & made, x, 3),
        given,
        np.where(given[:, :1], x, 4),
    ]
    kind = TYPES[dtype]
    wanted = np.stack([np.asarray(result, np.float64) for result in results])
    arguments = [x.astype(kind), given, np.zeros(wanted.shape, kind)]
    GROUP.add(f"{dtype} {rows} {columns}", main, arguments, wanted, rtol=0, atol=0)


for element in TYPES:
    for size in ((1, 64), (4, 64), (3, 24), (2, 128)):
        add(element, *size)


@pytest.mark.parametrize("name", GROUP.cases)
def test_tiles_of_bools(name: str) -> None:
    text = GROUP.check(name).ascendc
    if name == "float32 4 64":
        assert text.count("Select(") >= 3
