# SPDX-License-Identifier: Apache-2.0
"""Conditions that hold for a number of rows, which may be none: what they guard is then neither
refused nor counted from the end. Each against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
ROWS, COLUMNS = 8, 64


def chosen(form: str, some: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((ROWS, COLUMNS), "float32"),
        B: T.Tensor((ROWS, COLUMNS), "float32"),
        C: T.Tensor((ROWS, COLUMNS), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), "float32")
            b = T.alloc_ub((ROWS, COLUMNS), "float32")
            c = T.alloc_ub((ROWS, COLUMNS), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(B, c)
            if form == "serial":
                for k in T.serial(ROWS):
                    if k < some:
                        T.copy(a[k, :], c[k, :])
                    c[k, 0] = T.if_then_else(k < some, a[k, 0], b[k, 0])
            else:
                for i, j in T.Parallel(ROWS, COLUMNS):
                    if form == "choice":
                        c[i, j] = T.if_then_else(i < some, a[i, j], b[i, j])
                    elif form == "difference":
                        c[i, j] = T.if_then_else(i - some >= 0, b[i, j], a[i, j])
                    elif form == "both":
                        c[i, j] = T.if_then_else(T.And(i < some, j >= 0), a[i, j], b[i, j])
                    elif form == "tensor":
                        c[i, j] = T.if_then_else(i < some, A[i, j], b[i, j])
                    elif i * 2 < 2 * ROWS + 1:  # in a branch
                        c[i, j] = T.if_then_else(i < some, a[i, j], b[i, j])
            T.copy(c, C)

    return main


FORMS = ("choice", "difference", "both", "tensor", "branch", "serial")
for each in FORMS:
    for count in (0, 2):
        a = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
        wanted = np.where(np.arange(ROWS)[:, None] < count, a, -a)
        GROUP.add(f"{each} {count}", chosen(each, count), [a, -a, np.zeros_like(a)], wanted)


@pytest.mark.parametrize("some", [0, 2])
@pytest.mark.parametrize("form", FORMS)
def test_rows(form: str, some: int) -> None:
    GROUP.check(f"{form} {some}")
