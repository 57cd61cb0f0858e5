# SPDX-License-Identifier: Apache-2.0
"""Nests use what a gemm has computed in a tile that the kernel has put in L0C itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright.language as T

sys.path.insert(0, str(Path(__file__).parent))
from kernel_group import AUTOMATIC, KernelGroup  # noqa: E402

GROUP = KernelGroup()
ROWS, COLUMNS, INNER, BLOCK = 64, 64, 64, 32


def epilogue(form: str, on_chip: str) -> Any:  # noqa: ANN401
    half = BLOCK // 2

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, INNER), "float16"),
        B: T.Tensor((INNER, COLUMNS), "float16"),
        bias: T.Tensor((COLUMNS,), "float32"),
        C: T.Tensor((ROWS, COLUMNS), "float32"),
    ):
        with T.Kernel((ROWS // BLOCK) * (COLUMNS // BLOCK), is_npu=True) as (cid, vid):
            m = cid // (COLUMNS // BLOCK) * BLOCK
            n = cid % (COLUMNS // BLOCK) * BLOCK
            a = T.alloc_shared((BLOCK, BLOCK), "float16")
            b = T.alloc_shared((BLOCK, BLOCK), "float16")
            if on_chip == "L0C":
                c = T.alloc_L0C((BLOCK, BLOCK), "float32")
            else:
                c = T.alloc_fragment((BLOCK, BLOCK), "float32")
            for k in T.serial(INNER // BLOCK):
                T.copy(A[m, k * BLOCK], a)
                T.copy(B[k * BLOCK, n], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            if form == "into the tensor":
                for i, j in T.Parallel(BLOCK, BLOCK):
                    C[m + i, n + j] = c[i, j] * 2.0
            elif form == "in place":
                for i, j in T.Parallel(BLOCK, BLOCK):
                    c[i, j] = c[i, j] * 2.0
                T.copy(c, C[m, n])
            elif form == "with a row":
                for i, j in T.Parallel(BLOCK, BLOCK):
                    C[m + i, n + j] = c[i, j] + bias[n + j]
            else:
                u = T.alloc_shared((half, BLOCK), "float32")
                for i, j in T.Parallel(half, BLOCK):
                    u[i, j] = T.max(c[vid * half + i, j], 0.0)
                T.copy(u, C[m + vid * half, n])

    return main


random = np.random.default_rng(47)
left, right = (
    random.integers(-3, 4, shape).astype(np.float16) for shape in ((ROWS, INNER), (INNER, COLUMNS))
)
row = random.integers(-3, 4, COLUMNS).astype(np.float32)
product = left.astype(np.float64) @ right.astype(np.float64)
for form, wanted in {
    "into the tensor": 2 * product,
    "in place": 2 * product,
    "with a row": product + row,
    "halves": np.maximum(product, 0),
}.items():
    for on_chip in ("L0C", "fragment"):
        GROUP.add(
            f"{form}, {on_chip}",
            epilogue(form, on_chip),
            [left, right, row, np.zeros((ROWS, COLUMNS), np.float32)],
            wanted,
            configs=AUTOMATIC,
        )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    removals = GROUP.removals(name, most=3)
    assert removals.missed() == []
    assert removals.needless() == []
