# SPDX-License-Identifier: Apache-2.0
"""Elements that may lie outside of their tensor, in a kernel that has a gemm: the branch that asks
first whether they are inside is the vector cores' alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
ROWS, DEPTH, COLUMNS = 32, 64, 32
SHAPE = (DEPTH, DEPTH)
A = (np.arange(DEPTH * DEPTH) % 7 - 3).reshape(SHAPE).astype(np.float16)
B = (np.arange(DEPTH * COLUMNS) % 5 - 2).reshape(DEPTH, COLUMNS).astype(np.float16)
ROW, COLUMN = np.indices((ROWS, DEPTH))


def inside(rows: Any, columns: Any) -> Any:
    """A[rows, columns], 0 where that is outside."""
    is_inside = (rows >= 0) & (rows < DEPTH) & (columns >= 0) & (columns < DEPTH)
    return np.where(is_inside, A[rows % DEPTH, columns % DEPTH], 0).astype(np.float64)


#: What the gemm multiplies by B.
LEFT = {
    "rows behind the end": inside(ROW + 40, COLUMN // 2),
    "columns behind the end": inside(ROW, COLUMN // 2 + 40),
    "columns before the start": np.where(COLUMN > ROW, inside(ROW, COLUMN - ROW), 0),
    "under a branch": np.where(COLUMN % 3 == 0, inside(ROW + 40, COLUMN), 1),
    "of two tensors": inside(ROW + 40, COLUMN) * inside(ROW, COLUMN + 10),
}


def gathered(form: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(SHAPE, "float16"),
        B: T.Tensor((DEPTH, COLUMNS), "float16"),
        C: T.Tensor((ROWS, COLUMNS), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((ROWS, DEPTH), "float16")
            b = T.alloc_shared((DEPTH, COLUMNS), "float16")
            c = T.alloc_fragment((ROWS, COLUMNS), "float32")
            f = T.alloc_fragment((ROWS, DEPTH), "float16")
            T.copy(B, b)
            T.clear(c)
            for i, j in T.Parallel(ROWS, DEPTH):
                if form == "rows behind the end":
                    f[i, j] = A[i + 40, j // 2]
                elif form == "columns behind the end":
                    f[i, j] = A[i, j // 2 + 40]
                elif form == "columns before the start":
                    f[i, j] = T.if_then_else(j > i, A[i, j - i], 0)
                elif form == "under a branch":
                    f[i, j] = 1
                    if j % 3 == 0:
                        f[i, j] = A[i + 40, j]
                else:
                    f[i, j] = A[i + 40, j] * A[i, j + 10]
            T.copy(f, a)
            T.gemm(a, b, c)
            T.copy(c, C)

    return main


for form, left in LEFT.items():
    GROUP.add(
        form,
        gathered(form),
        [A, B, np.zeros((ROWS, COLUMNS), np.float32)],
        left @ B.astype(np.float64),
    )


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
@pytest.mark.parametrize("form", LEFT)
def test_guarded_loads(form: str) -> None:
    GROUP.check(form)
