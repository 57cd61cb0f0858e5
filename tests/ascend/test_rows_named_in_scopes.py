# SPDX-License-Identifier: Apache-2.0
"""A variable that turns change in a T.Scope, and that names rows outside of it for the same kind of
core alone: it is followed as one outside of scopes is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
TURNS, ROWS = 8, 3
A = np.random.default_rng(6).integers(-9, 10, (ROWS, 32, 16)).astype(np.float32)
B = np.random.default_rng(7).integers(-3, 4, (ROWS, 16, 16)).astype(np.float16)
START = np.zeros((TURNS, 16, 16), np.float32)


def wanted() -> tuple[Any, Any]:
    """Each turn adds 1 to the next plane; the products are of these of B with themselves."""
    planes, products, row = A.copy(), np.zeros((TURNS, 16, 16)), 0
    for turn in range(TURNS):
        row = (row + 1) % ROWS
        planes[row] += 1
        products[turn] = B[row].astype(np.float64) @ B[row].astype(np.float64)
    return planes, products


@GROUP.each(form=["outside", "of the vector cores", "of the cube core", "in turns of a while"])
def rows(form: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, 32, 16), "float32"),
        B: T.Tensor((ROWS, 16, 16), "float16"),
        C: T.Tensor((TURNS, 16, 16), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            h = T.alloc_ub((16, 16), "float32")
            a = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            i = T.alloc_var("int32", init=0)
            j = T.alloc_var("int32", init=0)
            k = T.alloc_var("int32", init=0)
            if form == "in turns of a while":
                while k < TURNS:
                    with T.Scope("V"):
                        i = (i + 1) % ROWS
                    with T.Scope("C"):
                        j = (j + 1) % ROWS
                    T.copy(A[i, vid * 16, 0], h)
                    T.tile.add(h, h, 1.0)
                    T.copy(h, A[i, vid * 16, 0])
                    T.copy(B[j, 0, 0], a)
                    T.gemm_v0(a, a, c, init=True)
                    T.copy(c, C[k, 0, 0])
                    k = k + 1
            else:
                for turn in T.serial(TURNS):
                    if form == "of the vector cores":
                        with T.Scope("V"):
                            i = (i + 1) % ROWS
                    else:
                        i = (i + 1) % ROWS
                    if form == "of the cube core":
                        with T.Scope("C"):
                            j = (j + 1) % ROWS
                    else:
                        j = (j + 1) % ROWS
                    T.copy(A[i, vid * 16, 0], h)
                    T.tile.add(h, h, 1.0)
                    T.copy(h, A[i, vid * 16, 0])
                    T.copy(B[j, 0, 0], a)
                    T.gemm_v0(a, a, c, init=True)
                    T.copy(c, C[turn, 0, 0])

    planes, products = wanted()
    return main, [A, B, START], {0: planes, 2: products}, AUTOMATIC


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_each_flag_is_needed(name: str) -> None:
    GROUP.check_removals(name, most=None)
