# SPDX-License-Identifier: Apache-2.0
"""Flags between cores that the compiler sets, where a branch in a loop does what needs them: turns
that do not take it let no core run ahead of the other until a flag's counter is full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
SIDE = 32
TURNS = 64  # the counter of a flag ends at 15

left, right = (
    np.random.default_rng(seed).integers(-3, 4, (SIDE, SIDE)).astype(np.float16) for seed in (5, 6)
)
product = left.astype(np.float64) @ right.astype(np.float64)


def result(form: str, threads: int) -> Any:  # noqa: ANN401
    """A gemm in the branch; vector work on its result in the branch or behind it."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        m: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            for o in T.serial(TURNS):
                for i, j in T.Parallel(SIDE, SIDE):
                    c[i, j] = c[i, j] + 1.0
                if o < m:
                    T.gemm_v0(a, b, c, init=True)
                    if form == "in":
                        for i, j in T.Parallel(SIDE, SIDE):
                            c[i, j] = c[i, j] * 2.0
                if form == "behind":
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[i, j] = c[i, j] + 1.0
            T.copy(c, C)

    return main


def expected(form: str, m: int) -> Any:  # noqa: ANN401
    c = product
    for o in range(TURNS):
        c = c + 1
        if o < m:
            c = 2 * product if form == "in" else product
        if form == "behind":
            c = c + 1
    return c


def handed_over(threads: int) -> Any:  # noqa: ANN401
    """The branch stores; what loads stands right behind it."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        W: T.Tensor((SIDE, SIDE), "float32"),
        m: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            s = T.alloc_ub((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.tile.fill(s, 0.0)
            for o in T.serial(TURNS):
                if o < m:
                    T.copy(c, W)
                T.copy(W, u)
                T.tile.add(s, s, u)
            T.copy(s, C)

    return main


for taken in (0, 3):
    for threads in (1, 2):
        for form in ("in", "behind"):
            GROUP.add(
                f"{form}, {taken} turns, {threads} threads",
                result(form, threads),
                [left, right, taken, np.zeros((SIDE, SIDE), np.float32)],
                expected(form, taken),
                configs=AUTOMATIC,
            )
        GROUP.add(
            f"handed over, {taken} turns, {threads} threads",
            handed_over(threads),
            [left, np.zeros((SIDE, SIDE), np.float32), taken, np.zeros((SIDE, SIDE), np.float32)],
            TURNS * (left.astype(np.float64) @ left.astype(np.float64)) if taken else 0 * product,
            configs=AUTOMATIC,
        )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", [name for name in GROUP.cases if "3 turns, 2" in name])
def test_verdicts(name: str) -> None:
    removals = GROUP.removals(name, most=3)
    assert removals.missed() == []
    assert removals.needless() == []
