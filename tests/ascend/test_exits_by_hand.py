# SPDX-License-Identifier: Apache-2.0
"""Flags by hand in loops that are left early: the compiler follows each way out of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

PLANNED = {tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}
random = np.random.default_rng(61)
GROUP = KernelGroup(PLANNED)


def sums(form: str) -> Any:
    """Adds rows up to the first one whose first element is negative."""

    @T.prim_func
    def main(
        A: T.Tensor((8, 64), "float32"),
        n: T.int32,
        S: T.Tensor((64,), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            total = T.alloc_ub((64,), "float32")
            T.tile.fill(total, 0.0)
            T.set_flag("v", "mte2", 0)
            for i in T.serial(n):
                T.wait_flag("v", "mte2", 0)
                T.copy(A[i, 0], x)
                if form != "not waited for":
                    T.set_flag("mte2", "v", 0)
                if form == "of elements":
                    T.set_flag("mte2", "s", 0)
                    T.wait_flag("mte2", "s", 0)
                if form != "of elements":
                    if i == 5:
                        if form not in ("left set", "not waited for"):
                            T.wait_flag("mte2", "v", 0)
                        T.set_flag("v", "mte2", 0)
                        break
                elif x[0] < 0.0:
                    T.wait_flag("mte2", "v", 0)
                    T.set_flag("v", "mte2", 0)
                    break
                if form == "goes on" and i == 2:
                    T.wait_flag("mte2", "v", 0)
                    T.set_flag("v", "mte2", 0)
                    continue
                if form != "not waited for":
                    T.wait_flag("mte2", "v", 0)
                T.tile.add(total, total, x)
                T.set_flag("v", "mte2", 0)
            T.wait_flag("v", "mte2", 0)
            T.set_flag("v", "mte3", 0)
            T.wait_flag("v", "mte3", 0)
            T.copy(total, S)

    return main


A = np.abs(random.standard_normal((8, 64))).astype(np.float32)
A[5, 0] = -1.0
LAST = np.zeros(64, np.float32)
RIGHT = ("of numbers", "of elements", "goes on")
for form in RIGHT:
    rows = [0, 1, 3, 4] if form == "goes on" else range(5)
    GROUP.add(form, sums(form), [A, 8, LAST], A[rows].astype(np.float64).sum(0))
for form in ("not waited for", "left set"):
    GROUP.add_faulty(form, sums(form), [A, 8, LAST], PLANNED)


@pytest.mark.parametrize("name", RIGHT)
def test_flags_that_match_on_each_way(name: str) -> None:
    case = GROUP.check(name)
    assert case.told == []
    assert "break;" in case.ascendc
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("not waited for", "but nothing orders them: set a flag from MTE2 to V"),
        ("left set", "matches only if branches go together"),
    ],
)
def test_what_is_wrong_is_told(name: str, told: str) -> None:
    assert any(told in each for each in GROUP.told(name)), GROUP.told(name)
    with pytest.raises(RuntimeError):
        GROUP.run(name)
