# SPDX-License-Identifier: Apache-2.0
"""A variable goes round the slots of a tile, and on from one loop to the next: no loop knows with
which slot it begins, and two uses that lie one step apart wait for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup(tolerance=1e-6)
pytestmark = pytest.mark.xdist_group("ascend_rings_in_nested_loops")

ROWS = T.Tensor((16, 64), "float32")
GIVEN = np.arange(1, 17, dtype=np.float32)[:, None].repeat(64, 1)


@T.macro
def use(x: Any, y: Any, slot: Any) -> None:
    T.tile.add(y[slot, :], y[slot, :], x[slot, :])


def kernel(form: str) -> Any:  # noqa: ANN401, C901
    @T.prim_func
    def main(A: ROWS, n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((3, 64), "float32")
            y = T.alloc_ub((3, 64), "float32")
            z = T.alloc_ub((64,), "float32")
            t = T.alloc_var("int32", init=0)
            slot = T.alloc_var("int32", init=0)
            T.copy(A[0:3, :], x)
            T.copy(A[3:6, :], y)
            T.copy(x[0, :], z)
            T.tile.add(z, z, y[0, :])
            T.tile.add(z, z, y[1, :])
            if form == "set back behind":
                while t < n:
                    for _k in T.serial(n + t):
                        use(x, y, slot)
                        slot = slot + 1
                        if slot == 3:
                            slot = 0
                    t = t + 1
            if form == "a remainder":
                while t < n:
                    for _k in T.serial(n + t):
                        use(x, y, slot)
                        slot = (slot + 1) % 3
                    t = t + 1
            if form == "a toggle":
                while t < n:
                    for _k in T.serial(n + t):
                        use(x, y, slot)
                        T.copy(y[1 - slot, :], x[2, :])
                        slot = 1 - slot
                    t = t + 1
            if form == "two steps in a turn":
                while t < n:
                    for _k in T.serial(n + t):
                        if slot == 3:
                            slot = 0
                        use(x, y, slot)
                        slot = slot + 1
                        if slot == 3:
                            slot = 0
                        T.copy(y[slot, :], x[slot, :])
                        slot = slot + 1
                    t = t + 1
            if form == "not in each turn":
                while t < n:
                    for k in T.serial(n + t):
                        use(x, y, slot)
                        if k != 1:
                            slot = slot + 1
                        if slot == 3:
                            slot = 0
                    t = t + 1
            if form == "three steps in a turn":
                while t < n:
                    for _k in T.serial(n + t):
                        use(x, y, slot)
                        slot = (slot + 3) % 3
                    t = t + 1
            if form == "begins by an argument":
                slot = n % 3
                while t < n:
                    for _k in T.serial(n + t):
                        use(x, y, slot)
                        slot = (slot + 1) % 3
                    t = t + 1
            T.copy(y, C[0:3, :])
            T.copy(z, C[3, :])

    return main


def wanted(form: str) -> np.ndarray:
    """By Python's own numbers."""
    x, y, slot, n = GIVEN[0:3].copy(), GIVEN[3:6].copy(), 0, 3
    result = np.zeros_like(GIVEN)
    result[3] = x[0] + y[0] + y[1]
    for t in range(n):
        for k in range(n + t):
            slot %= 2 if form == "a toggle" else 3
            y[slot] += x[slot]
            if form == "two steps in a turn":
                slot = (slot + 1) % 3
                x[slot] = y[slot]
            if form == "a toggle":
                x[2] = y[1 - slot]
            slot += 3 if form == "three steps in a turn" else form != "not in each turn" or k != 1
    result[0:3] = y
    return result


FORMS = (
    "set back behind",
    "a remainder",
    "a toggle",
    "two steps in a turn",
    "not in each turn",
    "three steps in a turn",
    "begins by an argument",
)
for name in FORMS:
    GROUP.add(name, kernel(name), [GIVEN, 3, np.zeros_like(GIVEN)], wanted(name))


@pytest.mark.parametrize("name", FORMS)
def test_values(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", FORMS)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name, most=None)


def barriers(name: str) -> int:
    text = GROUP.check(name).ascendc
    return text[text.index("while") :].count("PipeBarrier<PIPE_V>")


def test_uses_one_step_apart_wait_for_nothing() -> None:
    """The one barrier is for what the turns before the last one did."""
    for name in ("two steps in a turn", "a toggle"):
        assert barriers(name) == 1


def test_a_slot_that_is_used_twice_in_a_row_waits() -> None:
    assert barriers("not in each turn") == 1
    assert barriers("three steps in a turn") == 1
