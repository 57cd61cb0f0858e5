# SPDX-License-Identifier: Apache-2.0
"""Rows that variables name: where all that they can be lies within the tensor, nothing is done for
its edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
ROWS = 6


def kernel(form: str) -> Any:  # noqa: ANN401, C901
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS * 16, 16), "float32"),
        P: T.Tensor((8,), "int32"),
        n: T.int32,
        C: T.Tensor((ROWS * 16, 16), "float32"),
    ):
        with T.Kernel(1, threads=1, is_npu=True) as _:
            u = T.alloc_ub((16, 16), "float32")
            w = T.alloc_var("int32", init=0)
            if form == "skipped":
                while w < ROWS:
                    T.copy(A[w * 16, 0], u)
                    T.copy(u, C[w * 16, 0])
                    if P[w] > 2:
                        w = w + 1
                    w = w + 1
            elif form == "compacted":
                for q in T.serial(ROWS):
                    if P[q] <= 2:
                        T.copy(A[q * 16, 0], u)
                        T.copy(u, C[w * 16, 0])
                        w = w + 1
            elif form == "round":
                for _t in T.serial(n):
                    T.copy(A[w * 16, 0], u)
                    T.copy(u, C[w * 16, 0])
                    w = w + 2
                    if w >= ROWS:
                        w = w - ROWS
            elif form == "beyond":  # the row behind the last one is read as zeros, and not written
                while w <= ROWS:
                    T.copy(A[w * 16, 0], u)
                    T.tile.add(u, u, 1.0)
                    T.copy(u, C[w * 16, 0])
                    w = w + 1
            elif form == "before":
                w = 2
                while w > -2:
                    w = w - 1
                    T.copy(A[w * 16, 0], u)
                    T.copy(u, C[w * 16, 0])
            elif form == "argument":
                w = n
                while w < n + 3:
                    T.copy(A[w * 16, 0], u)
                    T.copy(u, C[w * 16, 0])
                    w = w + 1

    return main


A = np.random.default_rng(48).standard_normal((ROWS * 16, 16)).astype(np.float32)
P = np.array([1, 3, 0, 2, 9, 1, 0, 0], np.int32)
#: Which rows of 16 come to which.
MOVED = {
    "skipped": {0: 0, 1: 1, 3: 3, 4: 4},
    "compacted": {0: 0, 1: 2, 2: 3, 3: 5},
    "round": {0: 0, 2: 2, 4: 4},
    "beyond": {row: row for row in range(ROWS)},
    "before": {0: 0, 1: 1},
    "argument": {4: 4, 5: 5},
}
WITHIN = {"skipped", "compacted", "round"}
for form, moved in MOVED.items():
    expected = np.zeros((ROWS, 16, 16))
    for to, row in moved.items():
        expected[to] = A.reshape(ROWS, 16, 16)[row] + (form == "beyond")
    GROUP.add(
        form,
        kernel(form),
        [A, P, 4, np.zeros((ROWS * 16, 16), np.float32)],
        {3: expected.reshape(ROWS * 16, 16).astype(np.float32)},
        configs=AUTOMATIC,
    )


@pytest.mark.parametrize("form", MOVED)
def test_rows(form: str) -> None:
    GROUP.check(form)


@pytest.mark.parametrize("form", MOVED)
def test_edges(form: str) -> None:
    """Zeros for what lies beyond, and the question whether it does, are there where a row may."""
    made = tilewright.compile(kernel(form), target="ascend", pass_configs=AUTOMATIC)
    text = made.get_kernel_source()
    assert ("Duplicate" in text) == (form not in WITHIN)
    assert ("< 96" in text or ">= 0" in text) == (form not in WITHIN)
