# SPDX-License-Identifier: Apache-2.0
"""Floats that the integer they become has no room for: saturated by the vector unit, element by
element on the scalar unit, in T.copy and in T.cast of single numbers, as the interpreter does; NaN
gives 0."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

Array = np.ndarray[Any, Any]
GROUP = KernelGroup()

FLOATS: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
#: What the vector unit casts to, in a step or more.
VECTORS = {
    "float32": ["int8", "uint8", "int16", "uint16", "int32", "int64"],
    "float16": ["int8", "uint8", "int16", "uint16", "int32", "int64"],
    "bfloat16": ["int8", "uint8", "int16", "uint16", "int32", "int64"],
}
#: CAST_NONE is CAST_RINT.
MODES: dict[str, Any] = {
    "CAST_NONE": np.rint,
    "CAST_RINT": np.rint,
    "CAST_FLOOR": np.floor,
    "CAST_CEIL": np.ceil,
    "CAST_ROUND": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "CAST_TRUNC": np.trunc,
}
ROWS, COLUMNS = 3, 64
#: Two rows and a half of columns that are no whole row: those go element by element.
PART, COUNT = 60, 150


def extremes(dtype: Any) -> Array:
    """Around each integer type's ends, halves, infinities and NaN, as the float has them."""
    ends = [s * 2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1)]
    inner = [e * (1 - 2.0**-9) for e in ends]
    near = [e + d for e in ends[:8] for d in (-1.5, -1, -0.5, 0.5, 1, 1.5)]
    small = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.25, -0.75, 4e4, -4e4, 1e10, -1e10]
    special = [np.nan, np.inf, -np.inf, 3e38, -3e38]
    numbers = np.array(ends + inner + near + small + special)
    with np.errstate(over="ignore"):
        return np.resize(numbers, (ROWS, COLUMNS)).astype(dtype)


def integers(x: Array, name: str) -> Array:
    """Numbers that are integral already, as the type has them."""
    limits = np.iinfo(name)
    low, high = int(limits.min), int(limits.max)
    whole = [0 if np.isnan(v) else low if v <= low else high if v >= high else int(v) for v in x]
    return np.array(whole, name)


def add(source: str, to: str, path: str) -> None:
    modes = list(MODES)

    def cast_all(a: Any, c: Any, C: Any) -> None:
        for number, mode in enumerate(modes):
            T.tile.fill(c, 0)
            if path == "vector":
                T.tile.cast(c, a, mode, ROWS * COLUMNS)
            else:
                T.tile.cast(c[0:ROWS, 0:PART], a[0:ROWS, 0:PART], mode, COUNT)
            T.copy(c, C[number, 0, 0])

    @T.prim_func
    def main(
        A: T.Tensor((ROWS, COLUMNS), source),
        C: T.Tensor((len(modes), ROWS, COLUMNS), to),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), source)
            c = T.alloc_ub((ROWS, COLUMNS), to)
            T.copy(A, a)
            cast_all(a, c, C)

    a = extremes(FLOATS[source])
    expected = np.zeros((len(modes), ROWS, COLUMNS), to)
    taken = np.full((ROWS, COLUMNS), path == "vector")
    if path == "element":
        place = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)[:, :PART].reshape(-1)[:COUNT]
        taken.reshape(-1)[place] = True
    for number, mode in enumerate(modes):
        rounded = MODES[mode](a[taken].astype(np.float64))
        expected[number][taken] = integers(rounded, to)
    made = np.zeros_like(expected)
    GROUP.add(f"{source} {to} {path}", main, [a, made], expected.astype(np.float64), rtol=0, atol=0)


def add_copy(source: str, to: str, path: str) -> None:
    """T.copy, which rounds to nearest in a kernel that is written for an NPU, else towards 0."""
    is_npu = path == "copy on NPU"

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), source), C: T.Tensor((ROWS, COLUMNS), to)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=is_npu, threads=1) as _:
            a = T.alloc_shared((ROWS, COLUMNS), source)
            c = T.alloc_shared((ROWS, COLUMNS), to)
            T.copy(A, a)
            T.copy(a, c)
            T.copy(c, C)

    a = extremes(FLOATS[source])
    rounded = MODES["CAST_RINT" if is_npu else "CAST_TRUNC"](a.astype(np.float64))
    expected = a != 0 if to == "bool" else integers(rounded.reshape(-1), to).reshape(a.shape)
    made = np.zeros_like(expected)
    name = f"{source} {to} {path}"
    GROUP.add(name, main, [a, made], expected.astype(np.float64), rtol=0, atol=0)


def add_numbers(source: str, to: str) -> None:
    """T.cast, one number after the other."""

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), source), C: T.Tensor((ROWS, COLUMNS), to)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), source)
            c = T.alloc_ub((ROWS, COLUMNS), to)
            T.copy(A, a)
            for i in T.serial(ROWS):
                for j in T.serial(COLUMNS):
                    c[i, j] = T.cast(a[i, j], to)
            T.copy(c, C)

    a = extremes(FLOATS[source])
    expected = integers(np.trunc(a.astype(np.float64)).reshape(-1), to).reshape(a.shape)
    made = np.zeros_like(expected)
    GROUP.add(f"{source} {to} number", main, [a, made], expected.astype(np.float64), rtol=0, atol=0)


for source in FLOATS:
    for to in INTEGERS:
        add(source, to, "vector")
        add(source, to, "element")
        add_numbers(source, to)


for source in FLOATS:
    for to in [*INTEGERS, "bool"]:
        add_copy(source, to, "copy")
        add_copy(source, to, "copy on NPU")


@pytest.mark.parametrize("name", GROUP.cases)
def test_extreme_conversion(name: str) -> None:
    text = GROUP.check(name).ascendc
    source, to, path = name.split(maxsplit=2)
    is_of_vectors = path not in {"element", "number"} and to in [*VECTORS[source], "bool"]
    assert ("toInteger<" not in text) == is_of_vectors
