# SPDX-License-Identifier: Apache-2.0
"""Integers that the float they become has no room for: T.tile.cast takes the neighbour its mode
asks for, by one instruction where the vector unit has it, and element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
GROUP = KernelGroup()

MODES = ["CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC"]
ROWS, COLUMNS = 3, 64
#: Two rows and a half of columns that are no whole row: those go element by element.
PART, COUNT = 60, 150
#: What one instruction converts, or several that keep the rounding.
VECTORS = {"int16": ["float16"], "int32": ["float32", "float16"], "int64": ["float32", "float16"]}


def numbers(dtype: str, to: str) -> Array:
    """Around the powers of 2 from where on the float leaves numbers out, and their halves."""
    limits, digits = np.iinfo(dtype), np.finfo(to).nmant + 1
    found = [0, 1, int(limits.max), int(limits.min), int(limits.max) - 1]
    for power in range(digits, min(limits.bits, 16 if to == "float16" else 64)):
        step = 2 ** (power - digits)
        for factor in (1, 3):
            near = 2**power + factor * step * 2 - step
            found += [near, near + step, near - 1, near + 1, near + step // 2]
    held = [n for n in found + [-n for n in found] if limits.min <= n <= limits.max]
    if to == "float16":
        held = [n for n in held if abs(n) < 65504]
    spread = held[:: max(1, len(held) // (ROWS * COLUMNS))]
    return np.resize(np.array(spread, dtype), (ROWS, COLUMNS))


def rounded(number: int, to: Any, mode: str) -> float:
    if abs(number) <= 2 ** np.finfo(to).nmant:
        return float(number)
    below = to(number)
    while int(below) > number:
        below = np.nextafter(below, to(-np.inf))
    while int(np.nextafter(below, to(np.inf))) <= number:
        below = np.nextafter(below, to(np.inf))
    above = below if int(below) == number else np.nextafter(below, to(np.inf))
    toward_zero, away = (below, above) if number > 0 else (above, below)
    if mode in ("CAST_FLOOR", "CAST_CEIL", "CAST_TRUNC"):
        return float({"CAST_FLOOR": below, "CAST_CEIL": above, "CAST_TRUNC": toward_zero}[mode])
    left, right = number - int(below), int(above) - number
    if left != right:
        return float(below if left < right else above)
    bits = np.array(below).view(np.int32 if to is np.float32 else np.int16)
    even = below if int(bits) % 2 == 0 else above
    return float(away if mode == "CAST_ROUND" else even)


def add(source: str, to: str, path: str) -> None:
    def cast_all(a: Any, c: Any, C: Any) -> None:
        for number, mode in enumerate(MODES):
            T.tile.fill(c, 0)
            if path == "vector":
                T.tile.cast(c, a, mode, ROWS * COLUMNS)
            else:
                T.tile.cast(c[0:ROWS, 0:PART], a[0:ROWS, 0:PART], mode, COUNT)
            T.copy(c, C[number, 0, 0])

    @T.prim_func
    def main(
        A: T.Tensor((ROWS, COLUMNS), source),
        C: T.Tensor((len(MODES), ROWS, COLUMNS), to),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), source)
            c = T.alloc_ub((ROWS, COLUMNS), to)
            T.copy(A, a)
            cast_all(a, c, C)

    a = numbers(source, to)
    expected = np.zeros((len(MODES), ROWS, COLUMNS))
    taken = np.full((ROWS, COLUMNS), path == "vector")
    if path == "element":
        place = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)[:, :PART].reshape(-1)[:COUNT]
        taken.reshape(-1)[place] = True
    for number, mode in enumerate(MODES):
        kind = np.float32 if to == "float32" else np.float16
        expected[number][taken] = [rounded(int(n), kind, mode) for n in a[taken]]
    made = np.zeros(expected.shape, to)
    GROUP.add(f"{source} {to} {path}", main, [a, made], expected, rtol=0, atol=0)


def test_least_integer_of_64_bits_as_float16() -> None:
    """float16 has -infinity below it: what rounds up gives the least finite number."""

    @T.prim_func
    def main(A: T.Tensor((32,), "int64"), C: T.Tensor((len(MODES), 32), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((32,), "int64")
            c = T.alloc_ub((32,), "float16")
            T.copy(A, a)
            for number, mode in enumerate(MODES):
                T.tile.cast(c, a, mode, 32)
                T.copy(c, C[number, 0])

    made = np.zeros((len(MODES), 32), np.float16)
    least = np.iinfo(np.int64).min
    given = np.resize(np.array([least, least + 1]), 32)
    tilewright.compile(main, target="reference")(given, made)
    finite = {"CAST_CEIL": -65504, "CAST_TRUNC": -65504}
    for mode, row in zip(MODES, made, strict=True):
        assert (row == finite.get(mode, -np.inf)).all(), mode


for source in ("int16", "int32", "int64", "uint16", "uint32", "uint64"):
    for to in ("float32", "float16"):
        if source.endswith("16") and to == "float32":
            continue
        for path in ("vector", "element"):
            add(source, to, path)


@pytest.mark.parametrize("name", GROUP.cases)
def test_integers_as_floats(name: str) -> None:
    text = GROUP.check(name).ascendc
    source, to, path = name.split()
    is_vector = path == "vector" and to in VECTORS.get(source, [])
    assert ("RoundMode::CAST_FLOOR" in text) == is_vector
