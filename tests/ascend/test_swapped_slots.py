# SPDX-License-Identifier: Apache-2.0
"""Two slots of a tile that `a, b = b, a` swaps, one of them loaded ahead: each turn waits for what
it needs alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
ROWS = 6


def kernel(form: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS * 16, 16), "float32"),
        C: T.Tensor((ROWS * 16, 16), "float32"),
        n: T.int32,
    ):
        with T.Kernel(1, threads=1, is_npu=True) as _:
            u = T.alloc_ub((2, 16, 16), "float32")
            a = T.alloc_var("int32", init=0)
            b = T.alloc_var("int32", init=1)
            T.tile.fill(u, 2.0)
            T.copy(A[0, 0], u[0, :, :])
            for i in T.serial(n):
                if i < n - 1:
                    T.copy(A[(i + 1) * 16, 0], u[b, :, :])
                T.tile.add(u[a, :, :], u[a, :, :], 1.0)
                T.copy(u[a, :, :], C[i * 16, 0])
                if form == "swapped" or form == "left":
                    a, b = b, a
                if form == "left":
                    if i == 3:
                        T.loop_break()
                elif form == "sometimes":
                    if i != 1:
                        a, b = b, a
                elif form == "twice":
                    a, b = b, a
                    T.tile.add(u[a, :, :], u[a, :, :], 1.0)
                    b, a = a, b
                elif form == "taken":
                    a = b

    return main


A = np.random.default_rng(49).integers(-9, 10, (ROWS * 16, 16)).astype(np.float32)


def expected(form: str, n: int) -> Any:  # noqa: ANN401
    """In order, as the text has it."""
    tiles = A.reshape(ROWS, 16, 16)
    slots, results = np.full((2, 16, 16), 2.0, np.float32), np.zeros_like(tiles)
    slots[0] = tiles[0]
    a, b = 0, 1
    for i in range(n):
        if i < n - 1:
            slots[b] = tiles[i + 1]
        slots[a] += 1
        results[i] = slots[a]
        if form == "twice":
            slots[b] += 1
        elif form == "taken":
            a = b
        elif form != "sometimes" or i != 1:
            a, b = b, a
        if form == "left" and i == 3:
            break
    return results.reshape(ROWS * 16, 16)


FORMS = ("swapped", "left", "sometimes", "twice", "taken")
CASES = [(form, n) for form in FORMS for n in (1, 2, ROWS)]
for form, n in CASES:
    GROUP.add(
        f"{form} {n}",
        kernel(form),
        [A, np.zeros_like(A), n],
        {1: expected(form, n)},
        configs=AUTOMATIC,
    )


@pytest.mark.parametrize(("form", "n"), CASES)
def test_rows(form: str, n: int) -> None:
    GROUP.check(f"{form} {n}")


def test_no_barrier() -> None:
    """The tile that is loaded is the other one."""
    text = [
        tilewright.compile(
            kernel(form), target="ascend", pass_configs=AUTOMATIC
        ).get_kernel_source()
        for form in ("swapped", "taken")
    ]
    assert ["PipeBarrier" in each for each in text] == [False, True]
