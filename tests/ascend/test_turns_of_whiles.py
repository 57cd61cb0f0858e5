# SPDX-License-Identifier: Apache-2.0
"""How many turns a `while` makes, as variables of constants say: what only a run of fewer or more
turns would need, the compiler doesn't put in. Variables that are set back within a turn choose
tiles in turn, as do the flags."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup(tolerance=1e-6)

ROWS = T.Tensor((16, 64), "float32")
GIVEN = np.arange(1, 17, dtype=np.float32)[:, None].repeat(64, 1)


@T.macro
def add(A: Any, x: Any, total: Any, row: Any) -> None:
    T.copy(A[row, :], x)
    T.tile.add(total, total, x)


def kernel(form: str) -> Any:  # noqa: ANN401, C901
    @T.prim_func
    def main(A: ROWS, n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            total = T.alloc_ub((64,), "float32")
            slots = T.alloc_ub((3, 64), "float32")
            t = T.alloc_var("int32", init=0)
            s = T.alloc_var("int32", init=0)
            T.tile.fill(total, 0.0)
            if form == "two":
                while t < 2:
                    add(A, x, total, t)
                    t = t + 1
                t = 0
                while t < 3:
                    T.copy(A[t, :], x)
                    T.tile.add(x, x, 1.0)
                    T.copy(x, C[t, :])
                    t = t + 1
                T.copy(total, C[9, :])
            if form == "one goes on where the other ends":
                while t < 2:
                    T.copy(A[t, :], slots[t, :])
                    t = t + 1
                while t < 4:
                    T.copy(slots[t - 2, :], C[t, :])
                    t = t + 1
            if form == "down":
                t = 3
                while t > 0:
                    t = t - 1
                    T.copy(A[t, :], x)
                    T.copy(x, C[t, :])
                T.copy(A[8, :], total)
                T.copy(total, C[3, :])
            if form == "halved":
                t = 4
                while t > 1:
                    add(A, x, total, t)
                    t = t // 2
                T.copy(total, C[t, :])
                T.copy(total, C[2, :])
            if form == "set back by the loop around":
                for k in T.serial(n):
                    t = 0
                    while t < 2:
                        add(A, x, total, 2 * k + t)
                        t = t + 1
                    T.copy(total, C[k, :])
            if form == "set back behind":
                for k in T.serial(n):
                    while t != 2:
                        add(A, x, total, 2 * k + t)
                        t = t + 1
                    t = 0
                    T.copy(total, C[k, :])
            if form == "the last of n":
                while t < n:
                    add(A, x, total, t)
                    if t == n - 1:
                        T.copy(total, C[0, :])
                    t = t + 1
            if form == "both up to n":
                while t < n:
                    add(A, x, total, t)
                    t = t + 1
                while s < n:
                    s = s + 1
                    T.copy(total, C[s, :])

    return main


def kernel_of_unknown(form: str) -> Any:  # noqa: ANN401, C901
    """What elements or arguments decide, too."""

    @T.prim_func
    def main(A: ROWS, n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            total = T.alloc_ub((64,), "float32")
            slots = T.alloc_ub((3, 64), "float32")
            t = T.alloc_var("int32", init=0)
            slot = T.alloc_var("int32")
            T.tile.fill(total, 0.0)
            T.tile.fill(x, 5.0)
            T.tile.fill(slots, 6.0)
            if form == "none, beside an argument":
                t = 2
                while t != 2 and n > 0:
                    T.copy(A[t, :], x)
                    t = t + 1
                T.copy(x, C[0, :])
            if form == "a break in the first turn":
                for k in T.serial(n):
                    t = 1
                    while t < n and total[6] < 4.0:
                        if k != 3:
                            break
                        T.copy(A[t, :], x)
                        T.tile.add(total, total, x)
                        t = t + 1
                T.copy(total, C[0, :])
            if form == "a number in an unknown branch":
                T.copy(A[0, :], x)
                for k in T.serial(n):
                    if x[0] > 0.5:
                        slot = 0
                        if k == 2:
                            slot = 1
                        T.copy(A[k, :], slots[slot, :])
                        T.copy(slots[1, :], C[k, :])
            if form == "no more than two, beside an element":
                T.copy(A[2, :], total)
                while t < 2 and total[0] > 1.0:
                    T.copy(A[t, :], slots[t, :])
                    T.copy(slots[t, :], C[t, :])
                    t = t + 1

    return main


def sums(rows: list[int]) -> Any:  # noqa: ANN401
    return GIVEN[rows].sum(0)


#: The rows that are stored, where n is 3.
FORMS: dict[str, dict[int, Any]] = {
    "two": {0: GIVEN[0] + 1, 1: GIVEN[1] + 1, 2: GIVEN[2] + 1, 9: sums([0, 1])},
    "one goes on where the other ends": {2: GIVEN[0], 3: GIVEN[1]},
    "down": {0: GIVEN[0], 1: GIVEN[1], 2: GIVEN[2], 3: GIVEN[8]},
    "halved": {1: sums([4, 2]), 2: sums([4, 2])},
    "set back by the loop around": {k: sums(list(range(2 * k + 2))) for k in range(3)},
    "set back behind": {k: sums(list(range(2 * k + 2))) for k in range(3)},
    "the last of n": {0: sums([0, 1, 2])},
    "both up to n": dict.fromkeys((1, 2, 3), sums([0, 1, 2])),
}
UNKNOWN: dict[str, dict[int, Any]] = {
    "none, beside an argument": {0: 5},
    "a break in the first turn": {0: 0},
    "a number in an unknown branch": {0: 6, 1: 6, 2: GIVEN[2]},
    "no more than two, beside an element": {0: GIVEN[0], 1: GIVEN[1]},
}
for name, stored in (FORMS | UNKNOWN).items():
    wanted = np.zeros_like(GIVEN)
    for row, of_row in stored.items():
        wanted[row] = of_row
    made = kernel(name) if name in FORMS else kernel_of_unknown(name)
    GROUP.add(name, made, [GIVEN, 3, np.zeros_like(GIVEN)], wanted)


@pytest.mark.parametrize("name", FORMS | UNKNOWN)
def test_values(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", FORMS | UNKNOWN)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name, most=None)


def test_no_barrier_between_rows() -> None:
    """Each turn of a `while` stores another row, also where another one has counted before."""
    for name in ("two", "one goes on where the other ends", "down"):
        assert "PipeBarrier<PIPE_MTE3>" not in GROUP.check(name).ascendc


HALF = T.Tensor((16, 16), "float16")
TILES = T.Tensor((48, 16), "float32")


@T.prim_func
def leaves_barriers_behind(A: HALF, R: TILES):  # type: ignore[no-untyped-def, valid-type]
    """The barrier of a turn that is left before the next one orders what follows the loop, too."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        new = T.alloc_shared((16, 16), "float32")
        left = T.alloc_shared((16, 16), "float16")
        product = T.alloc_fragment((16, 16), "float32")
        T.tile.fill(new, 1.0)
        T.copy(A, left)
        T.gemm_v0(left, left, product, init=True)
        for b in T.serial(17):
            T.copy(new, R[b % 3 * 16, 0])
            if b < 16:
                break
            if b == 16:
                T.gemm_v0(left, left, product, init=True)
        T.copy(new, R[0, 0])
        T.copy(product, R[16, 0])


halves = np.full((16, 16), 0.5, np.float16)
tiles = np.zeros((48, 16), np.float32)
tiles[:16], tiles[16:32] = 1, 4
GROUP.add("barriers behind", leaves_barriers_behind, [halves, np.zeros_like(tiles)], tiles)


def test_barriers_of_turns_behind_an_exit() -> None:
    GROUP.check("barriers behind")


@T.macro
def move(A: Any, C: Any, x: Any, y: Any, i: Any, slot: Any) -> None:
    T.copy(A[i, :], x[slot, :])
    T.tile.add(y[slot, :], x[slot, :], 1.0)
    T.copy(y[slot, :], C[i, :])


def ring(form: str) -> Any:  # noqa: ANN401, C901
    """A variable goes round three slots."""

    @T.prim_func
    def main(A: ROWS, n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((3, 64), "float32")
            y = T.alloc_ub((3, 64), "float32")
            i = T.alloc_var("int32", init=0)
            t = T.alloc_var("int32", init=0)
            if form == "set back ahead":
                while i < n:
                    if t == 3:
                        t = 0
                    move(A, C, x, y, i, t)
                    t = t + 1
                    i = i + 1
            if form == "set back ahead, in a for":
                for k in T.serial(n):
                    if t >= 3:
                        t = 0
                    move(A, C, x, y, k, t)
                    t = t + 1
            if form == "set back behind":
                while i < n:
                    move(A, C, x, y, i, t)
                    t = t + 1
                    i = i + 1
                    if t == 3:
                        t = 0
            if form == "up to a break":
                while i < n:
                    move(A, C, x, y, i, t)
                    if i == 11:
                        break
                    t = t + 1
                    if t == 3:
                        t = 0
                    i = i + 1
            if form == "up to a break, in a for":
                for k in T.serial(n):
                    move(A, C, x, y, k, t)
                    if x[t, 0] > 11.0:
                        break
                    t = t + 1
                    if t == 3:
                        t = 0
            if form == "down":
                while i < n:
                    if t == 0:
                        t = 3
                    t = t - 1
                    move(A, C, x, y, i, t)
                    i = i + 1

    return main


RINGS = (
    "set back ahead",
    "set back ahead, in a for",
    "set back behind",
    "up to a break",
    "up to a break, in a for",
    "down",
)
moved = np.where(np.arange(16)[:, None] < 12, GIVEN + 1, 0)
for name in RINGS:
    GROUP.add(f"ring {name}", ring(name), [GIVEN, 12, np.zeros_like(GIVEN)], moved)


@pytest.mark.parametrize("name", RINGS)
def test_rings(name: str) -> None:
    """Three events take turns."""
    text = GROUP.check(f"ring {name}").ascendc
    assert len(re.findall(r"^  SetFlag<HardEvent::MTE3_V>\(\d\);$", text, re.MULTILINE)) == 3


@pytest.mark.parametrize("name", RINGS)
def test_verdicts_of_rings(name: str) -> None:
    GROUP.check_removals(f"ring {name}")
