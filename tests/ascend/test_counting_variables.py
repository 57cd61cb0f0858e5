# SPDX-License-Identifier: Apache-2.0
"""Variables that a loop counts, from any number on, by any constant: rows that they choose are
another one in each turn, and lie within their tensor as long as the loop goes on; and a loop that
one of them ends behind its first turn has no second one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()

ROWS = T.Tensor((16, 64), "float32")


def kernel(form: str) -> Any:  # noqa: ANN401, C901
    @T.prim_func
    def main(n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_ub((64,), "float32")
            t = T.alloc_var("int32", init=0)
            T.tile.fill(x, 1.0)
            if form == "twice and vid":
                while t < 8:
                    T.copy(x, C[t * 2 + vid, :])
                    t = t + 1
            if form == "steps of two":
                while t < 8:
                    T.copy(x, C[t + vid, :])
                    t = t + 2
            if form == "from vid":
                t = vid
                while t < 8:
                    T.copy(x, C[t, :])
                    t = t + 2
            if form == "from an argument":
                t = T.max(n, 0)
                while t < 8:
                    t = t + 1
                    T.copy(x, C[2 * t - vid - 1, :])
            if form == "from a constant":
                t = 3
                while t < 8 and n > 0:
                    T.copy(x, C[2 * t + vid, :])
                    t = t + 1
            if form == "of a counted loop":
                for _ in T.serial(4):
                    T.copy(x, C[t + vid, :])
                    t = t + 4
            if form == "up to a break":
                while t < 8:
                    T.copy(x, C[t * 2 + vid, :])
                    if t == n:
                        break
                    t = t + 1
            if form == "each row twice":
                while t < 8:
                    T.copy(x, C[t // 2 * 2 + vid, :])
                    t = t + 1
            if form == "loop after loop":
                while t < 4:
                    T.copy(x, C[t * 2 + vid, :])
                    t = t + 1
                t = 0
                while t < 5:
                    T.copy(x, C[t * 2 + vid, :])
                    t = t + 1
            if form == "not in each turn":
                for i in T.serial(8):
                    T.copy(x, C[t * 2 + vid, :])
                    if i % 2 == 1:
                        t = t + 1

    return main


def pairs(first: int, end: int) -> list[int]:
    return list(range(2 * first, 2 * end))


#: The rows that are stored where n is 3, and how many barriers the text has.
FORMS: dict[str, tuple[list[int], int]] = {
    "twice and vid": (pairs(0, 8), 0),
    "steps of two": (pairs(0, 4), 0),
    "from vid": (list(range(8)), 0),
    "from an argument": (pairs(3, 8), 0),
    "from a constant": (pairs(3, 8), 0),
    "of a counted loop": ([0, 1, 4, 5, 8, 9, 12, 13], 0),
    "up to a break": (pairs(0, 4), 0),
    "each row twice": (pairs(0, 4), 1),
    "loop after loop": (pairs(0, 5), 1),
    "not in each turn": (pairs(0, 4), 1),
}

for name, (rows, _) in FORMS.items():
    wanted = np.zeros((16, 64), np.float32)
    wanted[rows] = 1
    GROUP.add(name, kernel(name), [3, np.zeros_like(wanted)], {1: wanted}, rtol=0, atol=0)


@pytest.mark.parametrize("name", FORMS)
def test_barriers(name: str) -> None:
    assert GROUP.check(name).ascendc.count("PipeBarrier<PIPE_MTE3>") == FORMS[name][1]


@pytest.mark.parametrize("name", FORMS)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


@T.macro
def turn(A: Any, C: Any, y: Any, k: Any) -> None:
    T.copy(A[k, :], y)
    T.tile.add(y, y, 1.0)
    T.copy(y, C[k, :])


def loop_of(form: str) -> Any:  # noqa: ANN401, C901
    """Each turn loads a row, adds 1 to it, and stores it."""

    @T.prim_func
    def main(A: ROWS, n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            y = T.alloc_ub((64,), "float32")
            e = T.alloc_ub((64,), "float32")
            t = T.alloc_var("int32", init=0)
            k = T.alloc_var("int32", init=0)
            T.copy(A[0, :], e)
            if form == "once":
                while t < 1:
                    t = t + 1
                    turn(A, C, y, k)
            if form == "once and up to n":
                while t <= 0 and k < n:
                    turn(A, C, y, k)
                    t = t + 2
                    k = k + 1
            if form == "up to n and once":
                while k < n and t == 0:
                    turn(A, C, y, k)
                    k = k + 1
                    t += 1
            if form == "down":
                t = 1
                while t > 0 and k < n:
                    t = t - 1
                    turn(A, C, y, k)
                    k = k + 1
            if form == "once beside an element":
                while t < 1 and e[0] > 0:
                    t = t + 1
                    if e[1] > 2:
                        continue
                    turn(A, C, y, k)
            if form == "once or to a break":
                while t < 1:
                    turn(A, C, y, k)
                    if e[1] > 2:
                        break
                    t = t + 1
            if form == "twice":
                while t < 2:
                    turn(A, C, y, t)
                    t = t + 1
            if form == "down twice":
                t = 2
                while t > 0:
                    t = t - 1
                    turn(A, C, y, 0)
            if form == "set back":
                while t < 1 and k < n:
                    t = t + 1
                    turn(A, C, y, k)
                    k = k + 1
                    if k < 3:
                        t = 0
            if form == "an element and once":
                while e[0] > 0 and t < 1:
                    t = t + 1
                    turn(A, C, y, k)
            if form == "never, beside an element that is read":
                t = 1
                T.tile.add(e, e, 1.0)
                while e[0] > 0 and t < 1:
                    t = t + 1
                T.copy(e, C[0, :])

    return main


#: How many rows are stored where n is 3, and whether a turn waits for one before.
LOOPS = {
    "once": (1, False),
    "once and up to n": (1, False),
    "up to n and once": (1, False),
    "down": (1, False),
    "once beside an element": (1, False),
    "once or to a break": (1, False),
    "twice": (2, True),
    "down twice": (1, True),
    "set back": (3, True),
    "an element and once": (1, False),
    "never, beside an element that is read": (1, False),
}
for name, (count, _) in LOOPS.items():
    given = np.ones((16, 64), np.float32)
    wanted = np.zeros_like(given)
    wanted[:count] = 2
    GROUP.add(f"loop {name}", loop_of(name), [given, 3, np.zeros_like(given)], {2: wanted})


@pytest.mark.parametrize("name", LOOPS)
def test_turns(name: str) -> None:
    assert ("MTE3_MTE2" in GROUP.check(f"loop {name}").ascendc) == LOOPS[name][1]


@pytest.mark.parametrize("name", LOOPS)
def test_verdicts_of_loops(name: str) -> None:
    GROUP.check_removals(f"loop {name}", most=None if name == "set back" else 3)
