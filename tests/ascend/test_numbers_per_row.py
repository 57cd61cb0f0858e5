# SPDX-License-Identifier: Apache-2.0
"""Nests between a tile and one number for each of its rows: an instruction takes the number from a
block that is full of it, so that no tile of such numbers is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(71)
FORMS = ("add", "sub", "mul", "div", "max", "min", "on the left", "twice")
#: Forms, and shapes, of which the numbers must be spread over a tile all the same.
SPREAD = ("under", "over", "both", "function")


def numpy_of(form: str, x: Any, r: Any) -> Any:
    return {
        "add": lambda: x + r,
        "sub": lambda: x - r,
        "mul": lambda: x * r,
        "div": lambda: x / r,
        "max": lambda: np.maximum(x, r),
        "min": lambda: np.minimum(x, r),
        "on the left": lambda: r * x,
        "twice": lambda: (x - r) * r,
        "under": lambda: r - x,
        "over": lambda: r / x,
        "both": lambda: (x + r) * (r - 1),
        "function": lambda: x + np.abs(r),
    }[form]()


@GROUP.each(
    form=[*FORMS, *SPREAD],
    dtype=["float32", "float16", "int32", "int16"],
    shape=[(8, 64), (13, 64), (300, 16), (1, 64), (40, 24)],
)
def nest(form: str, dtype: str, shape: tuple[int, int]) -> Any:
    rows, columns = shape
    form = "mul" if dtype.startswith("int") and form in ("div", "over") else form

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(shape, dtype), B: T.Tensor((rows,), dtype), C: T.Tensor(shape, dtype)
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub(shape, dtype)
            r = T.alloc_ub((rows,), dtype)
            T.copy(A, x)
            T.copy(B, r)
            for i, j in T.Parallel(rows, columns):
                if form == "add":
                    x[i, j] = x[i, j] + r[i]
                elif form == "sub":
                    x[i, j] = x[i, j] - r[i]
                elif form == "mul":
                    x[i, j] = x[i, j] * r[i]
                elif form == "div":
                    x[i, j] = x[i, j] / r[i]
                elif form == "max":
                    x[i, j] = T.max(x[i, j], r[i])
                elif form == "min":
                    x[i, j] = T.min(x[i, j], r[i])
                elif form == "on the left":
                    x[i, j] = r[i] * x[i, j]
                elif form == "twice":
                    x[i, j] = (x[i, j] - r[i]) * r[i]
                elif form == "under":
                    x[i, j] = r[i] - x[i, j]
                elif form == "over":
                    x[i, j] = r[i] / x[i, j]
                elif form == "both":
                    x[i, j] = (x[i, j] + r[i]) * (r[i] - 1)
                else:
                    x[i, j] = x[i, j] + T.abs(r[i])
            T.copy(x, C)

    # Quotients by these are exact.
    a, b = (random.choice([-4, -2, -1, 1, 2, 4], size).astype(dtype) for size in (shape, rows))
    expected = numpy_of(form, a.astype(np.float64), b.astype(np.float64)[:, None])
    return main, [a, b, np.zeros(shape, dtype)], expected


@GROUP.each(columns=[2040, 2048], online=[False, True])
def softmax(columns: int, online: bool) -> Any:
    """Of more than 255 blocks a stride can't say how long a row is."""

    @T.prim_func
    def main(A: T.Tensor((5, columns), "float32"), C: T.Tensor((5, columns), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((5, columns), "float32")
            most = T.alloc_ub((5,), "float32")
            total = T.alloc_ub((5,), "float32")
            T.copy(A, x)
            T.reduce_max(x, most, dim=1)
            if online:
                T.tile.sub(x, x, most)
                T.tile.exp(x, x)
            else:
                for i, j in T.Parallel(5, columns):
                    x[i, j] = T.exp(x[i, j] - most[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(5, columns):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, C)

    a = random.standard_normal((5, columns)).astype(np.float32)
    e = np.exp(a.astype(np.float64) - a.max(1, keepdims=True))
    return main, [a, np.zeros_like(a)], e / e.sum(1, keepdims=True)


@GROUP.each(by_hand=[False, True])
def flagged(by_hand: bool) -> Any:
    """What the instruction makes of its own, it orders itself."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((24, 64), "float32"),
        B: T.Tensor((24,), "float32"),
        C: T.Tensor((24, 64), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((24, 64), "float32")
            r = T.alloc_ub((24,), "float32")
            T.copy(A, x)
            T.copy(B, r)
            if by_hand:
                T.barrier_all()
            T.tile.add(r, r, 1.0)
            if by_hand:
                T.pipe_barrier("v")
            T.tile.mul(x, x, r)
            if by_hand:
                T.pipe_barrier("v")
            T.tile.add(r, r, 1.0)
            if by_hand:
                T.pipe_barrier("v")
            T.tile.sub(x, x, r)
            if by_hand:
                T.barrier_all()
            T.copy(x, C)

    a, b = (random.integers(-8, 9, shape).astype(np.float32) for shape in ((24, 64), 24))
    wide = b.astype(np.float64)[:, None]
    expected = a.astype(np.float64) * (wide + 1) - (wide + 2)
    arguments = [a, b, np.zeros((24, 64), np.float32)]
    return (main, arguments, expected, {}) if by_hand else (main, arguments, expected)


@pytest.mark.parametrize("name", GROUP.cases)
def test_values(name: str) -> None:
    case = GROUP.check(name)
    assert not any("scalar unit" in told for told in case.told)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int16"])
def test_no_tile_is_made_of_the_numbers(form: str, dtype: str) -> None:
    case = GROUP.check(f"nest {form} {dtype} (13, 64)")
    assert "ByRows(" in case.ascendc
    assert "broadcastRows" not in case.ascendc


@pytest.mark.parametrize(
    "name",
    ["flagged False", "nest twice float32 (13, 64)", "softmax 2040 False", "softmax 2040 True"],
)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name, most=None)
