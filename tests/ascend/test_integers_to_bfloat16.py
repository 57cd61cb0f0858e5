# SPDX-License-Identifier: Apache-2.0
"""Integers that float32 has no room for become bfloat16 as if by one rounding, compared with exact
integer arithmetic: by the vector unit where it has the type, element by element, and in rows
that are padded."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
GROUP = KernelGroup()

#: The vector unit casts those with a sign.
DTYPES = ["int32", "int64", "uint32", "uint64"]
MODES = ["NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC"]
ROWS, COLUMNS = 3, 88
#: Where no mode can be given, the nearest one is meant.
FORMS = ["copy", "load", "nest", "number"]
BITS = 8
random = np.random.default_rng(5)


def nearly_ties(dtype: str) -> Array:
    """Numbers of all sizes: ties, what lies beside them by one and by more, and the type's ends."""
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    numbers = [low, high, low + 1, high - 1, 2**24 + 2**16, 2**24 + 2**16 + 1, 2**24 + 2**16 - 1, 0]
    while len(numbers) < ROWS * COLUMNS:
        size = int(random.integers(BITS + 1, high.bit_length() + 1))
        unit = 1 << (size - BITS)
        number = int(random.integers(1 << (BITS - 1), 1 << BITS)) * unit + unit // 2
        number += int(random.integers(-2, 3)) * int(random.choice([1, max(unit >> 12, 1)]))
        sign = -1 if low < 0 and random.random() < 0.5 else 1
        numbers.append(min(max(sign * number, low), high))
    return np.array(numbers, dtype).reshape(ROWS, COLUMNS)


def rounded(number: int, mode: str) -> float:
    """By integers alone."""
    sign, size = (-1 if number < 0 else 1), abs(number)
    unit = 1 << max(size.bit_length() - BITS, 0)
    kept, rest = divmod(size, unit)
    takes_next = {
        "FLOOR": rest > 0 and sign < 0,
        "CEIL": rest > 0 and sign > 0,
        "TRUNC": False,
        "ROUND": 2 * rest >= unit and rest > 0,
    }.get(mode, 2 * rest > unit or (2 * rest == unit and kept % 2 == 1 and rest > 0))
    return float(sign * (kept + takes_next) * unit)


def expected(a: Array, mode: str) -> Array:
    return np.array([rounded(int(n), mode) for n in a.reshape(-1)], np.float64).reshape(a.shape)


def add_modes(dtype: str) -> None:
    def cast_all(n: Any, x: Any, C: Any) -> None:
        for number, mode in enumerate(MODES):
            T.tile.cast(x, n, f"CAST_{mode}", ROWS * COLUMNS)
            T.copy(x, C[number, 0, 0])

    @T.prim_func
    def main(
        A: T.Tensor((ROWS, COLUMNS), dtype),
        C: T.Tensor((len(MODES), ROWS, COLUMNS), "bfloat16"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            n = T.alloc_ub((ROWS, COLUMNS), dtype)
            x = T.alloc_ub((ROWS, COLUMNS), "bfloat16")
            T.copy(A, n)
            cast_all(n, x, C)

    a = nearly_ties(dtype)
    wanted = np.stack([expected(a, mode) for mode in MODES])
    made = np.zeros(wanted.shape, ml_dtypes.bfloat16)
    GROUP.add(f"{dtype} modes", main, [a, made], wanted, rtol=0, atol=0)


def add_forms(dtype: str) -> None:
    @T.prim_func
    def main(
        A: T.Tensor((ROWS, COLUMNS), dtype),
        C: T.Tensor((len(FORMS), ROWS, COLUMNS), "bfloat16"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            n = T.alloc_ub((ROWS, COLUMNS), dtype)
            x = T.alloc_ub((ROWS, COLUMNS), "bfloat16")
            T.copy(A, n)
            T.copy(n, x)
            T.copy(x, C[0, 0, 0])
            T.copy(A, x)
            T.copy(x, C[1, 0, 0])
            for i, j in T.Parallel(ROWS, COLUMNS):
                x[i, j] = T.cast(n[i, j], "bfloat16")
            T.copy(x, C[2, 0, 0])
            for i in T.serial(ROWS):
                for j in T.serial(COLUMNS):
                    x[i, j] = T.cast(n[i, j], "bfloat16")
            T.copy(x, C[3, 0, 0])

    a = nearly_ties(dtype)
    wanted = np.stack([expected(a, "RINT")] * len(FORMS))
    made = np.zeros(wanted.shape, ml_dtypes.bfloat16)
    GROUP.add(f"{dtype} forms", main, [a, made], wanted, rtol=0, atol=0)


for DTYPE in DTYPES:
    add_modes(DTYPE)
    add_forms(DTYPE)


@pytest.mark.parametrize("name", GROUP.cases)
def test_rounded_once(name: str) -> None:
    text = GROUP.check(name).ascendc
    dtype, form = name.split()
    if form == "modes":
        assert ("toBfloat16(" in text) == dtype.startswith("u")


def test_small_numbers_need_no_function() -> None:
    """What float32 has room for is rounded once by way of it."""

    @T.prim_func
    def main(C: T.Tensor((64,), "bfloat16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "bfloat16")
            for i in T.serial(64):
                x[i] = T.cast(i * 1000, "bfloat16")
            T.copy(x, C)

    kernel = tilewright.compile(main, target="ascend")
    assert "fromFloat<bfloat16_t>(float(" in kernel.get_kernel_source()
