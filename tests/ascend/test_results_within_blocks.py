# SPDX-License-Identifier: Apache-2.0
"""Reductions whose results begin within a block of 32 bytes, as the sum of a row in `t[i : i + 1]`:
the scalar unit stores them."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

ROWS, COLUMNS, ROOM, FIRST = 16, 64, 24, 3
FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}
BY_HAND = {tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}
NEEDS_BLOCKS = "but the vector unit stores to UB from whole blocks of 32 bytes on"


FORMS = ("one row a turn", "four rows a turn", "columns in turn")


def kernel(form: str, dtype: str, kind: str, clear: bool) -> Any:  # noqa: ANN401, FBT001
    """The barriers matter where no flags are found."""

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), dtype), B: T.Tensor((ROOM,), dtype), n: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), dtype)
            b = T.alloc_ub((ROOM,), dtype)
            T.copy(A, a)
            T.copy(B, b)
            T.barrier_all()
            if form == "one row a turn":  # as many as an argument says
                for i in T.serial(n):
                    T.reduce(a[i, :], b[FIRST + i : FIRST + i + 1], kind, 1, clear=clear)
            elif form == "four rows a turn":
                for i in range(0, ROWS, 4):
                    results = b[FIRST + i : FIRST + i + 4]
                    T.reduce(a[i : i + 4, :], results, kind, 1, clear=clear)
            else:  # the results of two turns overlap
                for i in range(4):
                    results = b[FIRST + i : FIRST + i + 16]
                    T.reduce(a[:, i * 16 : i * 16 + 16], results, kind, 0, clear=clear)
            T.barrier_all()
            T.copy(b, B)

    return main


REDUCE = {
    "sum": (np.sum, np.add),
    "max": (np.max, np.maximum),
    "abssum": (lambda x, axis: np.sum(np.abs(x), axis=axis), None),
}


def wanted(form: str, kind: str, a: Any, b: Any, n: int, clear: bool) -> Any:  # noqa: ANN401, FBT001
    """In float64; the numbers are small integers, so each dtype holds them all."""
    reduce, merge = REDUCE[kind]
    a, b = a.astype(np.float64), b.astype(np.float64)
    parts = [(FIRST, reduce(a, axis=1)[: n if form == "one row a turn" else ROWS])]
    if form == "columns in turn":
        parts = [(FIRST + i, reduce(a[:, i * 16 : i * 16 + 16], axis=0)) for i in range(4)]
    for first, numbers in parts:
        place = slice(first, first + len(numbers))
        b[place] = numbers if clear else merge(b[place], numbers)
    return b


GROUP, HAND = KernelGroup(AUTOMATIC), KernelGroup(BY_HAND)
random = np.random.default_rng(39)
for form, dtype, kind, clear in product(FORMS, FLOATS, REDUCE, (True, False)):
    if kind == "abssum" and not clear:  # refused, wherever the results are
        continue
    a, b = (
        random.integers(-4, 5, shape).astype(FLOATS[dtype]) for shape in ((ROWS, COLUMNS), ROOM)
    )
    name = f"{form}: {kind} of {dtype}{'' if clear else ' and what was there'}"
    for group in GROUP, HAND:
        group.add(
            name,
            kernel(form, dtype, kind, clear),
            [a, b, 13],
            {1: wanted(form, kind, a, b, 13, clear)},
        )


@pytest.mark.parametrize("name", GROUP.cases)
def test_results_that_begin_within_blocks(name: str) -> None:
    assert any(NEEDS_BLOCKS in line for line in GROUP.check(name).told)


@pytest.mark.parametrize("name", HAND.cases)
def test_parts_of_the_statement_are_in_order_without_flags_of_the_kernel(name: str) -> None:
    HAND.check(name)


@pytest.mark.parametrize("name", [name for name in GROUP.cases if "float32" in name])
def test_checker_and_host_agree_without_a_flag(name: str) -> None:
    GROUP.check_removals(name)
