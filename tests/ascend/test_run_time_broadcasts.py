# SPDX-License-Identifier: Apache-2.0
"""T.tile.broadcast and rows of numbers where the kernel counts the rows as it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

GROUP = KernelGroup(tolerance=2e-3)

FORMS = ["column", "column by axis", "line", "line by axis", "row", "row by axis", "product"]


def kernel(form: str) -> Any:  # noqa: ANN401
    """Each element less its row's or column's number; or, as a product, times its row's."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 64), "float16"), R: T.Tensor((16, 1), "float16"), m: T.int32,
        C: T.Tensor((16, 64), "float16"),
    ):  # fmt: skip
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16, 64), "float16")
            b = T.alloc_ub((16, 64), "float16")
            r = T.alloc_ub((16, 1), "float16")
            s = T.alloc_ub((16,), "float16")
            T.copy(A[0:m, :], x[0:m, :])
            T.copy(R[0:m, :], r[0:m, :])
            if form == "column":
                T.tile.broadcast(b[0:m, :], r[0:m, :])
            if form == "column by axis":
                T.tile.broadcast(b[0:m, :], r[0:m, :], axis=1)
            if form == "line":
                T.copy(R[0:16, 0], s)
                T.tile.broadcast(b[0:m, :], s[0:m])
            if form == "line by axis":
                T.copy(R[0:16, 0], s)
                T.tile.broadcast(b[0:m, :], s[0:m], axis=1)
            if form == "row":
                T.tile.broadcast(b[0:m, :], x[1:2, :])
            if form == "row by axis":
                T.tile.broadcast(b[0:m, :], x[1:2, :], axis=0)
            if form == "product":
                T.tile.mul(x[0:m, :], x[0:m, :], r[0:m, :])
            else:
                T.tile.sub(x[0:m, :], x[0:m, :], b[0:m, :])
            T.copy(x[0:m, :], C[0:m, :])

    return main


def expected(form: str, a: Any, r: Any, m: int) -> Any:  # noqa: ANN401
    a, r, c = a.astype(np.float64), r.astype(np.float64), np.zeros((16, 64))
    number = a[1:2] if form.startswith("row") else r[:m]
    c[:m] = a[:m] * number if form == "product" else a[:m] - number
    return c


for form_ in FORMS:
    for rows in (2, 7, 16):
        table = np.linspace(-2, 2, 1024, dtype=np.float16).reshape(16, 64)
        numbers = np.linspace(-3, 1, 16, dtype=np.float16).reshape(16, 1)
        GROUP.add(
            f"{form_} {rows}",
            kernel(form_),
            [table, numbers, rows, np.zeros((16, 64), np.float16)],
            expected(form_, table, numbers, rows),
        )


@pytest.mark.parametrize("rows", [2, 7, 16])
@pytest.mark.parametrize("form", FORMS)
def test_values(form: str, rows: int) -> None:
    GROUP.check(f"{form} {rows}")


def test_a_line_that_may_be_a_row_or_a_column_is_refused() -> None:
    @T.prim_func
    def main(n: T.int32, m: T.int32, k: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            b = T.alloc_ub((16, 64), "float16")
            s = T.alloc_ub((64,), "float16")
            T.tile.broadcast(b[0:n, 0:m], s[0:k])

    told = r"'b' of \(n, m\) but source 's' of \(k\); say axis=0 \(one row for all\) or axis=1 "
    with pytest.raises(CompileError, match=told):
        tilewright.compile(main, target="ascend")
