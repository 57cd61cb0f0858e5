# SPDX-License-Identifier: Apache-2.0
"""What a `while` never comes to, whatever arguments and elements are, has no flags: turns that a
branch takes away, branches that what is asked around them rules out, elements that are known."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup(tolerance=1e-6)

ROWS = T.Tensor((16, 64), "float32")
NARROW = T.Tensor((16, 4), "float32")
GIVEN = np.arange(1, 17, dtype=np.float32)[:, None].repeat(64, 1)


def kernel(form: str) -> Any:  # noqa: ANN401, C901
    @T.prim_func
    def main(A: ROWS, B: NARROW, n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((4, 64), "float32")
            y = T.alloc_ub((2, 64), "float32")
            t = T.alloc_var("int32", init=0)
            s = T.alloc_var("int32", init=0)
            T.tile.fill(x, 1.0)
            T.tile.fill(y, 1.0)
            if form == "a branch sets it to its end":
                t = 2
                while t < 4:
                    T.copy(A[t, :], x[0, :])
                    T.copy(x[0, :], C[t, :])
                    if n < 2:
                        t = 9
                    t = t + 2
            if form == "what the loop asks rules a branch out":
                while t < 2 and n > 2:
                    if n < 1:
                        T.copy(A[t, :], x[1, :])
                    T.tile.add(y, y, 1.0)
                    t = t + 1
                T.copy(y[0, :], C[0, :])
            if form == "it has counted past":
                while t < n:
                    T.copy(A[t, :], x[0, :])
                    T.copy(x[0, :], C[t, :])
                    t = t + 1
                while t < 0:
                    T.tile.add(x, x, 1.0)
                    t = t + 1
            if form == "by what fills the tile":
                while t < 3 and x[1, 3] < 1.0:
                    T.copy(A[t, :], x[0, :])
                    T.tile.add(y[0, :], y[0, :], x[0, :])
                    t = t + 1
                T.copy(y[0, :], C[0, :])
            if form == "by what lies behind a tensor":
                T.copy(B[0:4, 0:4], x[0:4, 0:4])
                T.copy(B[1, 0], y[0, :])
                while y[0, 9] > 0.0:
                    T.tile.add(y, y, 1.0)
                T.copy(y[0, :], C[0, :])
            if form == "a break in the only turn":
                while t < n:
                    T.copy(A[t, :], x[0, :])
                    T.copy(x[0, :], C[t, :])
                    if x[0, 0] > 5.0:
                        break
                    t = n
            if form == "a break that never comes":
                for _k in T.serial(2):
                    t = 1
                    while t != 3:
                        t = t + 1
                        while s < 3:
                            T.copy(A[s, :], x[s, :])
                            s = s + 1
                        s = 0
                        if t == 0:
                            break
                T.copy(x[2, :], C[2, :])
            if form == "many turns":
                while t < 40:
                    s = s + 1
                    if s > n:
                        s = 0
                    t = t + 1
                while s < 0:
                    T.tile.add(y, y, 1.0)
                    s = s + 1
                T.copy(A[t % 2, :], y[0, :])
                T.copy(y[0, :], C[1, :])

    return main


#: The rows that are stored, where n is 3, and how many flags and barriers that takes.
FORMS: dict[str, tuple[dict[int, Any], int]] = {
    "a branch sets it to its end": ({2: GIVEN[2]}, 2),
    "what the loop asks rules a branch out": ({0: 3.0}, 2),
    "it has counted past": ({k: GIVEN[k] for k in range(3)}, 8),
    "by what fills the tile": ({0: 1.0}, 1),
    "by what lies behind a tensor": ({0: np.pad(GIVEN[1, :4], (0, 60))}, 4),
    "a break in the only turn": ({0: GIVEN[0]}, 3),
    "a break that never comes": ({2: GIVEN[2]}, 3),
    "many turns": ({1: GIVEN[0]}, 2),
}
for name, (stored, _) in FORMS.items():
    wanted = np.zeros_like(GIVEN)
    for row, of_row in stored.items():
        wanted[row] = of_row
    GROUP.add(name, kernel(name), [GIVEN, GIVEN[:, :4].copy(), 3, np.zeros_like(GIVEN)], wanted)


@pytest.mark.parametrize("name", FORMS)
def test_values(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", FORMS)
def test_verdicts(name: str) -> None:
    """No flag is needless."""
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize("name", FORMS)
def test_counts(name: str) -> None:
    text = GROUP.check(name).ascendc
    found = re.findall(r"^ *(?:WaitFlag|PipeBarrier)<", text, re.MULTILINE)
    assert len(found) == FORMS[name][1]
