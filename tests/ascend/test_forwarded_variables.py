# SPDX-License-Identifier: Apache-2.0
"""A variable that one assignment gives is a number as any other: branches on it are decided, and
nothing waits for what is read for nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(71)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return random.standard_normal(shape).astype(np.float32)


def switched_off() -> Any:
    """No turn fills: so each loads right behind the store before."""

    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            debug = T.alloc_var("int32", init=0)
            t = T.alloc_ub((1, 64), "float32")
            for i in T.serial(4):
                if debug > 0:
                    T.tile.fill(t, 1.0)
                else:
                    T.copy(A[i * 2 + vid, 0], t)
                T.copy(t, C[i * 2 + vid, 0])

    given = floats(8, 64)
    return main, [given, np.zeros((8, 64), np.float32)], given


def chosen_by_vid() -> Any:
    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            row = T.alloc_var("int32", init=7)
            t = T.alloc_ub((1, 64), "float32")
            row = vid + 1
            if row > 2:
                T.tile.fill(t, 1.0)
            else:
                T.copy(A[row, 0], t)
            row = row + 2
            T.copy(t, C[row, 0])

    given = floats(8, 64)
    wanted = np.zeros((8, 64))
    wanted[3:5] = given[1:3]
    return main, [given, np.zeros((8, 64), np.float32)], wanted


@GROUP.each(times=(1, 3))
def read_for_nobody(times: int) -> Any:
    """Of the elements nothing is left but their sum, for which nobody asks."""

    @T.prim_func
    def main(A: T.Tensor((16, 64), "float32"), C: T.Tensor((16, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            y = T.alloc_var("float32", init=0.0)
            t = T.alloc_ub((8, 64), "float32")
            T.copy(A[vid * 8, 0], t)
            for i in T.serial(times):
                y = y + t[i, 0]
            T.tile.add(t, t, 1.0)
            T.copy(t, C[vid * 8, 0])

    given = floats(16, 64)
    return main, [given, np.zeros((16, 64), np.float32)], given.astype(np.float64) + 1


def added_by_both_cores() -> Any:
    """That the kernel asks for vid, though in no run, gives a block its second vector core."""

    @T.prim_func
    def main(C: T.Tensor((16,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            debug = T.alloc_var("int32", init=0)
            t = T.alloc_ub((16,), "float32")
            T.tile.fill(t, 1.0)
            if debug > 0:
                T.copy(t, C[vid * 8 : vid * 8 + 8])
            T.atomic_add(C, t)
            T.atomic_add(C[3], 2.0)

    wanted = np.full(16, 2.0)
    wanted[3] = 6
    return main, [np.zeros(16, np.float32)], wanted


def read_before_a_change() -> Any:
    """A number stays what it was when it was read, whatever becomes of the place."""

    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            row = T.alloc_var("int32", init=7)
            first = T.alloc_var("float32", init=7.0)
            rows = T.alloc_local((4,), "int32")
            t = T.alloc_ub((1, 64), "float32")
            T.copy(A[3, 0], t)
            rows[0] = 2
            rows[1] = 5
            row = rows[0]
            first = t[0, 9]
            rows[0] = 4
            T.tile.fill(t, 1.0)
            t[0, 1] = first
            T.copy(t, C[row + rows[0] + rows[1] - 9, 0])

    given = floats(8, 64)
    wanted = np.zeros((8, 64))
    wanted[2] = 1
    wanted[2, 1] = given[3, 9]
    return main, [given, np.zeros((8, 64), np.float32)], wanted


GROUP.add("read before a change", *read_before_a_change())
GROUP.add("switched off", *switched_off())
GROUP.add("chosen by vid", *chosen_by_vid())
GROUP.add("added by both cores", *added_by_both_cores())


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_what_is_there_is_needed(name: str) -> None:
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize("name", [each for each in GROUP.cases if each.startswith("read_for")])
def test_what_is_read_for_nobody_needs_no_flag(name: str) -> None:
    GROUP.told(name)
    text = GROUP.cases[name].ascendc
    assert "GetValue" not in text
    assert "_S>" not in text
