# SPDX-License-Identifier: Apache-2.0
"""Copies between shapes that differ in dims of one element. Rows of a tile whose last dim is one
lie side by side in UB, those of other tiles at a block each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(1)

SHAPES = {
    "last": ((3, 5), (3, 5, 1)),
    "inner": ((3, 5), (3, 1, 5)),
    "moved": ((3, 5, 1), (1, 3, 5)),
    "of_three": ((2, 3, 5), (2, 3, 5, 1)),
    "whole_blocks": ((8, 16), (8, 16, 1)),
}


def all_of(shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(0, extent) for extent in shape)


def add(name: str, first: Any, second: Any, dtype: str, to: str) -> None:
    """To UB, within UB and from UB; then of a wider tensor, whose rows are apart."""
    wider = (*first[:-1], first[-1] + 4)

    @T.prim_func
    def main(
        A: T.Tensor(first, dtype),
        W: T.Tensor(wider, dtype),
        B: T.Tensor(second, to),
        C: T.Tensor(second, to),
        D: T.Tensor(second, dtype),
        E: T.Tensor(second, dtype),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(first, dtype)
            b = T.alloc_ub(second, to)
            d = T.alloc_ub(second, dtype)
            T.copy(A[all_of(first)], b)
            T.copy(b, B)
            T.copy(A, a)
            T.copy(a[all_of(first)], b)
            T.copy(b, C)
            T.copy(a, D[all_of(second)])
            T.copy(W[all_of(first)], d)
            T.copy(d, E)

    a = random.integers(-99, 100, first).astype(dtype)
    w = random.integers(-99, 100, wider).astype(dtype)
    b = a.astype(to).reshape(second)
    results = {2: b, 3: b, 4: a.reshape(second), 5: w[all_of(first)].reshape(second)}
    made = [np.zeros(second, to), np.zeros(second, to), np.zeros(second, dtype)]
    arguments = [a, w, *made, np.zeros(second, dtype)]
    GROUP.add(name, main, arguments, {n: r.astype(np.float64) for n, r in results.items()})


for NAME, (FIRST, SECOND) in SHAPES.items():
    for DTYPE, TO in (("float32", "float32"), ("float16", "float16"), ("int16", "float32")):
        add(f"{NAME} {DTYPE} {TO}", FIRST, SECOND, DTYPE, TO)
        add(f"{NAME} {DTYPE} {TO} back", SECOND, FIRST, DTYPE, TO)


def folded(start: int, stop: int) -> Any:  # noqa: ANN401
    """Rows of several dims are rows of a tile with fewer, in both directions."""
    rows = 2 * 4 * (stop - start)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2, 4, 5, 16), "float16"),
        B: T.Tensor((rows, 16), "float16"),
        C: T.Tensor((2, 4, 5, 16), "float16"),
        n: T.Tensor((), "float16"),
        D: T.Tensor((16,), "float16"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            tile = T.alloc_ub((rows, 16), "float16")
            one = T.alloc_ub((1,), "float16")
            row = T.alloc_ub((16,), "float16")
            if vid == 0:
                T.copy(A[:, :, start:stop, :], tile)
                T.copy(tile, B)
                T.tile.add(tile, tile, 1.0)
                T.copy(tile, C[:, :, start:stop, :])
                T.copy(n, one)
                T.tile.fill(row, one[0])
                T.copy(row, D)

    return main


for START, STOP in ((2, 3), (1, 4), (0, 5)):
    values = random.standard_normal((2, 4, 5, 16)).astype(np.float16)
    part = values[:, :, START:STOP].astype(np.float64).reshape(-1, 16)
    stored = np.zeros((2, 4, 5, 16))
    stored[:, :, START:STOP] = values[:, :, START:STOP].astype(np.float64) + 1
    GROUP.add(
        f"folded {START} to {STOP}",
        folded(START, STOP),
        [
            values,
            np.zeros(part.shape, np.float16),
            np.zeros(values.shape, np.float16),
            np.array(2.5, np.float16),
            np.zeros(16, np.float16),
        ],
        {1: part, 2: stored, 4: np.full(16, 2.5)},
        rtol=2e-3,
        atol=2e-3,
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_copy(name: str) -> None:
    GROUP.check(name)
