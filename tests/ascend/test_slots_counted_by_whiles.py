# SPDX-License-Identifier: Apache-2.0
"""Slots between both kinds of core that a counter of turns names, in turns of which only data says
whether they come: flags that take turns are followed all the same, and those of an inner loop that
ends before all of them have had their turn become one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
FILLED = np.full((16, 16), 3.0, np.float16)
SQUARE = FILLED.astype(np.float64) @ FILLED.astype(np.float64)
START = np.zeros((8, 16, 16), np.float32)
ASKED = np.array([1, 3, 0, 0, 0, 0, 0, 0], np.int32)


@GROUP.each(slots=["w & 3", "(w + 1) & 3", "w % 2", "w"], toggles=[False, True])
def counted(slots: str, toggles: bool) -> Any:  # noqa: ANN401
    """The first three turns hand a tile on; a toggle of every second turn has no part in that."""

    def slot(w: Any) -> Any:  # noqa: ANN401
        return {"w & 3": w & 3, "(w + 1) & 3": (w + 1) & 3, "w % 2": w % 2, "w": w}[slots]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        P: T.Tensor((8,), "int32"),
        W: T.Tensor((8, 16, 16), "float16"),
        C: T.Tensor((8, 16, 16), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as _:
            h = T.alloc_ub((16, 16), "float16")
            p = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            w = T.alloc_var("int32", init=0)
            s = T.alloc_var("int32", init=0)
            T.tile.fill(h, 3.0)
            while w < 4:
                if w < P[1]:
                    T.copy(h, W[slot(w), 0, 0])
                    T.copy(W[slot(w), 0, 0], p)
                    T.gemm_v0(p, p, c, init=True)
                    T.copy(c, C[w, 0, 0])
                if toggles:
                    if w != 1:
                        s = s ^ 1
                    if s > P[0]:
                        T.copy(h, W[7, 0, 0])
                w = w + 1

    handed, products = np.zeros((8, 16, 16), np.float16), np.zeros((8, 16, 16))
    for w in range(3):
        handed[slot(w)], products[w] = FILLED, SQUARE
    return main, [ASKED, np.zeros_like(handed), START], {1: handed, 2: products}, AUTOMATIC


@GROUP.each(n=[0, 1, 3])
def ended_early(n: int) -> Any:  # noqa: ANN401
    """Four turns in each of the outer loop, of eight that the columns of C would take."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        W: T.Tensor((4, 16, 16), "float16"), C: T.Tensor((8, 16, 16), "float32"), n: T.int32
    ):
        with T.Kernel(1, is_npu=True) as _:
            h = T.alloc_ub((16, 16), "float16")
            p = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            w = T.alloc_var("int32", init=0)
            T.tile.fill(h, 3.0)
            for _o in T.serial(n):
                w = 0
                for _q in T.serial(4):
                    T.copy(h, W[w & 3, 0, 0])
                    T.copy(W[w % 2, 0, 0], p)
                    T.gemm_v0(p, p, c, init=True)
                    T.copy(c, C[w & 7, 0, 0])
                    w = w + 1

    handed, products = np.zeros((4, 16, 16), np.float16), np.zeros((8, 16, 16))
    handed[:], products[:4] = (FILLED, SQUARE) if n else (0, 0)
    return main, [np.zeros_like(handed), START, n], {0: handed, 1: products}, AUTOMATIC


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_each_flag_is_needed(name: str) -> None:
    GROUP.check_removals(name)
