# SPDX-License-Identifier: Apache-2.0
"""The numbers of a nest's elements, stored as integers of 64 bits: the instructions that count make
32 bits, so they are converted, or, where 32 bits may not hold them, stored element by element.
Nothing spreads 64 bits over a tile either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()

ROWS, COLUMNS, FAR = 4, 64, 2**33 + 5
ROW, COLUMN = np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
PLACE = ROW * COLUMNS + COLUMN


@T.macro
def columns(d: Any, start: Any) -> None:
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = j


@T.macro
def both(d: Any, start: Any) -> None:
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = i * 3 + j + 4


@T.macro
def downwards(d: Any, start: Any) -> None:
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = 100 - (i * 3 + j * 2)


@T.macro
def far(d: Any, start: Any) -> None:
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = i * 3 + j + FAR


@T.macro
def by_argument(d: Any, start: Any) -> None:
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = start + j


@T.macro
def created(d: Any, start: Any) -> None:
    T.tile.createvecindex(d, 4)


@T.macro
def progression(d: Any, start: Any) -> None:
    T.tile.arith_progression(d, 4, 3, ROWS * COLUMNS)


@T.macro
def bits_of_indices(d: Any, start: Any) -> None:
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = i + 8
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = d[i, j] ^ j


@T.macro
def bits_of_constants(d: Any, start: Any) -> None:
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = j
    for i, j in T.Parallel(ROWS, COLUMNS):
        d[i, j] = d[i, j] & 21


@T.macro
def bits_of_elements(d: Any, start: Any) -> None:
    T.tile.createvecindex(d, 4)
    for i, j in T.Parallel(ROWS - 1, COLUMNS):
        d[1 + i, j] = d[1 + i, j] | d[0, i]


#: What is written, what it gives, and whether instructions that count make it.
FORMS: dict[str, tuple[Any, Any, bool]] = {
    "columns": (columns, COLUMN, True),
    "both": (both, ROW * 3 + COLUMN + 4, True),
    "downwards": (downwards, 100 - (ROW * 3 + COLUMN * 2), True),
    "far": (far, ROW * 3 + COLUMN + FAR, False),
    "by argument": (by_argument, FAR + COLUMN, False),
    "created": (created, PLACE + 4, True),
    "progression": (progression, PLACE * 3 + 4, True),
    "bits of indices": (bits_of_indices, (ROW + 8) ^ COLUMN, True),
    "bits of constants": (bits_of_constants, COLUMN & 21, True),
    "bits of elements": (
        bits_of_elements,
        (PLACE + 4) | np.where(ROW == 0, 0, ROW + 3),
        True,
    ),
}


def add(name: str, dtype: str) -> None:
    form, wanted, _ = FORMS[name]

    @T.prim_func
    def main(D: T.Tensor((ROWS, COLUMNS), dtype), start: T.int64):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            d = T.alloc_ub((ROWS, COLUMNS), dtype)
            # What is not written shows.
            T.tile.fill(d, 2**62)
            form(d, start)
            T.copy(d, D[0, 0])

    wanted = np.asarray(wanted, dtype)
    GROUP.add(f"{name} {dtype}", main, [np.zeros_like(wanted), FAR], {0: wanted}, rtol=0, atol=0)


for form_name in FORMS:
    for element in ("int64", "uint64"):
        if (form_name, element) != ("downwards", "uint64"):
            add(form_name, element)


@pytest.mark.parametrize("name", GROUP.cases)
def test_counted_numbers(name: str) -> None:
    text = GROUP.check(name).ascendc
    counts = "CreateVecIndex(" in text or "ArithProgression(" in text
    assert counts == FORMS[name.rsplit(" ", 1)[0]][2]
