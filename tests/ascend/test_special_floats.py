# SPDX-License-Identifier: Apache-2.0
"""NaN, infinities and zeros with a sign in what the scalar unit computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
NUMBERS = [np.nan, 1, -1, 0.0, -0.0, np.inf, -np.inf, 0.5, -0.5, 2.5, -2.5, 3e7, -3e7, 0.3, -0.3, 4]


def add(dtype: str) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16,), dtype), B: T.Tensor((16,), dtype), C: T.Tensor((10, 16), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1):
            for i in T.serial(16):
                C[0, i] = T.max(A[i], B[i])
                C[1, i] = T.min(A[i], B[i])
                C[2, i] = T.max(B[i], A[i])
                C[3, i] = T.min(B[i], A[i])
                C[4, i] = 1.0 / T.cast(T.abs(A[i]), "float32")
                C[5, i] = 1.0 / T.cast(-A[i], "float32")
                C[6, i] = 1.0 / T.cast(T.floor(A[i]), "float32")
                C[7, i] = 1.0 / T.cast(T.ceil(A[i]), "float32")
                C[8, i] = 1.0 / T.cast(T.trunc(A[i]), "float32")
                C[9, i] = 1.0 / T.cast(T.nearbyint(A[i]), "float32")

    with np.errstate(over="ignore", divide="ignore"):
        a = np.array(NUMBERS, dtype)
        b = np.roll(a, 3)
        x, y = a.astype(np.float64), b.astype(np.float64)
        rounded: list[Any] = [np.abs(x), -x, np.floor(x), np.ceil(x), np.trunc(x), np.rint(x)]
        pairs: list[Any] = [np.fmax(x, y), np.fmin(x, y)] * 2
        expected = np.stack(pairs + [1 / each for each in rounded]).astype(np.float32)
    GROUP.add(dtype, main, [a, b, np.zeros((10, 16), np.float32)], expected, rtol=1e-6, atol=0)


for each in ("float32", "float16"):
    add(each)


@pytest.mark.parametrize("name", list(GROUP.cases))
def test_special_numbers(name: str) -> None:
    GROUP.check(name)
