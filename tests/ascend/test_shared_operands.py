# SPDX-License-Identifier: Apache-2.0
"""An operand that vector cores make, or use, too, and that several gemms read: it goes to L1 once,
as long as nothing changes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(61)
SIDE = 32
A, B, D = ((random.integers(-4, 5, (SIDE, SIDE)) / 4).astype(np.float16) for _ in range(3))


#: How often the operand goes to L1, as the text has it.
TIMES = {
    "unchanged": 1,
    "loaded": 1,
    "both operands": 1,
    "in a loop": 1,
    "in a branch": 1,
    "other parts": 2,
    "changed between": 2,
    "changed in the loop": 2,
    "changed in a branch": 2,
    "filled by a copy": 2,
}


def kernel(form: str, threads: int | None) -> Any:
    launch = {"threads": 128} if threads is None else {"threads": threads, "is_npu": True}

    @T.prim_func
    def main(
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        D: T.Tensor((SIDE, SIDE), "float16"),
        n: T.int32,
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, **launch) as _:
            a = T.alloc_shared((SIDE, SIDE), "float16")
            p = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            d = T.alloc_shared((SIDE, SIDE), "float16")
            x = T.alloc_fragment((SIDE, SIDE), "float32")
            y = T.alloc_fragment((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(D, d)
            T.clear(y)
            if form == "loaded":
                T.copy(A, p)
                for i, j in T.Parallel(SIDE, SIDE):
                    a[i, j] = p[i, j] * 2
            else:
                for i, j in T.Parallel(SIDE, SIDE):
                    p[i, j] = a[i, j] * 2
            if form == "both operands":
                T.gemm(p, p, x, clear_accum=True)
                T.gemm(p, d, y)
            elif form == "other parts":
                T.gemm(p[0:16, :], b, x[0:16, :], clear_accum=True)
                T.gemm(p[16:32, :], b, x[16:32, :], clear_accum=True)
                T.gemm(p[0:16, :], d, y[0:16, :])
                T.gemm(p[16:32, :], d, y[16:32, :])
            else:
                T.gemm(p, b, x, clear_accum=True)
                if form == "changed between":
                    for i, j in T.Parallel(SIDE, SIDE):
                        p[i, j] = p[i, j] + 1
                    T.gemm(p, d, y)
                elif form == "filled by a copy":
                    T.copy(B, p)
                    T.gemm(p, d, y)
                elif form == "in a loop":
                    for _k in T.serial(n):
                        T.gemm(p, d, y)
                elif form == "changed in the loop":
                    for _k in T.serial(n):
                        T.gemm(p, d, y)
                        for i, j in T.Parallel(SIDE, SIDE):
                            p[i, j] = p[i, j] + 1
                elif form == "in a branch":
                    if n > 1:
                        T.gemm(p, d, y)
                elif form == "changed in a branch":
                    if n > 1:
                        for i, j in T.Parallel(SIDE, SIDE):
                            p[i, j] = p[i, j] + 1
                    T.gemm(p, d, y)
                else:
                    T.gemm(p, d, y)
            T.copy(x, C[0, :, :])
            T.copy(y, C[1, :, :])

    return main


def expected(form: str, n: int) -> Any:
    a, b, d = (each.astype(np.float64) for each in (A, B, D))
    p = a if form == "loaded" else a * 2
    x = p @ (p if form == "both operands" else b)
    if form == "in a loop":
        y = n * (p @ d)
    elif form == "changed in the loop":
        y = sum((p + k) @ d for k in range(n))
    elif form == "changed between" or form == "changed in a branch":
        y = (p + 1) @ d
    elif form == "filled by a copy":
        y = b @ d
    else:
        y = p @ d
    return np.stack([x, y])


@GROUP.each(form=list(TIMES), threads=[None, 1, 2])
def shared(form: str, threads: int | None) -> Any:
    result = np.zeros((2, SIDE, SIDE), np.float32)
    return kernel(form, threads), [A, B, D, 3, result], expected(form, 3), AUTOMATIC


@pytest.mark.parametrize("name", list(GROUP.cases))
def test_shared_operands(name: str) -> None:
    text = GROUP.check(name).ascendc
    form = name.removeprefix("shared ").rpartition(" ")[0]
    assert text.count("copyGmToL1(p") == TIMES[form]


def test_removals() -> None:
    for form in ("unchanged", "in a loop", "changed in a branch"):
        GROUP.check_removals(f"shared {form} 2")
