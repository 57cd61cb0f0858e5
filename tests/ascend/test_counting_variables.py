# SPDX-License-Identifier: Apache-2.0
"""Variables that a loop counts up, from any number on, by any constant: rows that they choose are
another one in each turn, and lie within their tensor as long as the loop goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
pytestmark = pytest.mark.xdist_group("ascend_counting_variables")

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


@pytest.mark.parametrize("name", GROUP.cases)
def test_barriers(name: str) -> None:
    assert GROUP.check(name).ascendc.count("PipeBarrier<PIPE_MTE3>") == FORMS[name][1]


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)
