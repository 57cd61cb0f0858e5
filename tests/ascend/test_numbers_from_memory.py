# SPDX-License-Identifier: Apache-2.0
"""A number that is read from memory outside of a loop is one number in all of its turns: what an
argument of the kernel needs no flag for, it needs none for either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(67)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return random.standard_normal(shape).astype(np.float32)


def places(*values: int) -> np.ndarray[Any, Any]:
    return np.resize(np.array(values, np.int32), 8)


@GROUP.each(written=(False, True), outside=(False, True))
def row_nest(written: bool, outside: bool) -> Any:
    """Rows of a tile whose first column is read: once, or for each of some rounds."""
    rounds = 1 if outside else 3

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((8, 100), "float32"),
        P: T.Tensor((8,), "int32"),
        C: T.Tensor((8, 100), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            t = T.alloc_ub((8, 100), "float32")
            T.copy(A, t)
            if outside:
                p = P[0]
                for i, j in T.Parallel(8, 48):
                    t[i, p * 8 + j] = t[i, p * 8 + j] + 1.0
            else:
                for k in T.serial(rounds):
                    q = P[k]
                    for i, j in T.Parallel(8, 48):
                        t[i, q * 8 + j] = t[i, q * 8 + j] + 1.0
            if written:
                P[0] = 7
            T.copy(t, C)

    table = places(3, 1, 5)
    given = floats(8, 100)
    wanted = given.astype(np.float64)
    for p in table[:rounds]:
        wanted[:, p * 8 : p * 8 + 48] += 1
    return main, [given, table, np.zeros((8, 100), np.float32)], wanted


def two_planes() -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2, 64), "float32"),
        P: T.Tensor((8,), "int32"),
        C: T.Tensor((4, 9, 104), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            t = T.alloc_ub((2, 64), "float32")
            u = T.alloc_ub((1, 16), "float32")
            T.copy(A, t)
            p = P[1]
            T.tile.fill(u, 1.0)
            T.copy(t, C[0, p : p + 2, 36 : 36 + 64])
            T.copy(u, C[2, 1:2, p : p + 16])

    given = floats(2, 64)
    wanted = np.zeros((4, 9, 104))
    wanted[0, 4:6, 36:100] = given
    wanted[2, 1, 4:20] = 1
    return main, [given, places(0, 4), np.zeros((4, 9, 104), np.float32)], wanted


@GROUP.each(kept=("value", "variable"), loads=(1, 2))
def row_or_none(kept: str, loads: int) -> Any:
    """Each turn loads a row, or none of them does: then it is padded."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((5, 64), "float32"),
        P: T.Tensor((8,), "int32"),
        C: T.Tensor((4, 64), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_var("int32", init=0)
            t = T.alloc_ub((1, 64), "float32")
            if kept == "variable":
                x = P[0]
                for _i in T.serial(4):
                    for _n in range(loads):
                        T.copy(A[x, 0], t)
            else:
                y = P[0]
                for _i in T.serial(4):
                    for _n in range(loads):
                        T.copy(A[y, 0], t)
            T.copy(t, C[0:1, :])

    given = floats(5, 64)
    wanted = np.zeros((4, 64))
    wanted[0] = given[2]
    return main, [given, places(2), np.zeros((4, 64), np.float32)], wanted


def checked_before() -> Any:
    """No row beyond the tensor is asked for: a part of the tile would have stopped it."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((5, 64), "float32"),
        P: T.Tensor((8,), "int32"),
        C: T.Tensor((4, 64), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            t = T.alloc_ub((1, 64), "float32")
            u = T.alloc_ub((5, 64), "float32")
            p = P[0]
            T.tile.fill(t, 1.0)
            T.tile.fill(u, 2.0)
            T.copy(u[p : p + 1, :], C[1:2, :])
            T.copy(t, C[0:1, :])
            T.copy(A[p, 0], t)
            T.copy(t, C[2:3, :])

    given = floats(5, 64)
    wanted = np.zeros((4, 64))
    wanted[:3] = [np.full(64, 1), np.full(64, 2), given[4]]
    return main, [given, places(4), np.zeros((4, 64), np.float32)], wanted


GROUP.add("two planes", *two_planes())
GROUP.add("checked before", *checked_before())


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_what_is_there_is_needed(name: str) -> None:
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize("name", [each for each in GROUP.cases if each.startswith("row_nest")])
def test_only_rounds_of_a_nest_need_a_barrier(name: str) -> None:
    GROUP.told(name)
    needed = 0 if name.endswith("True") else 1
    assert GROUP.cases[name].ascendc.count("PipeBarrier<PIPE_V>") == needed
