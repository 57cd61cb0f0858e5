# SPDX-License-Identifier: Apache-2.0
"""Gemms of int8 of which k is no multiple of 32: what is transposed on its way goes in squares of
32, so that such tiles have more rows than the kernel says."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup(tolerance=0)
random = np.random.default_rng(3)


def gemm(m: int, n: int, k: int, turned: tuple[bool, bool], steps: int) -> Any:  # noqa: ANN401
    def shape_of_a(depth: int) -> tuple[int, int]:
        return (depth, m) if turned[0] else (m, depth)

    def shape_of_b(depth: int) -> tuple[int, int]:
        return (n, depth) if turned[1] else (depth, n)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(shape_of_a(k * steps), "int8"),
        B: T.Tensor(shape_of_b(k * steps), "int8"),
        C: T.Tensor((m, n), "int32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1(shape_of_a(k), "int8")
            b = T.alloc_L1(shape_of_b(k), "int8")
            c = T.alloc_L0C((m, n), "int32")
            for step in T.serial(steps):
                if turned[0]:
                    T.copy(A[step * k, 0], a)
                else:
                    T.copy(A[0, step * k], a)
                if turned[1]:
                    T.copy(B[0, step * k], b)
                else:
                    T.copy(B[step * k, 0], b)
                T.gemm_v0(a, b, c, transpose_A=turned[0], transpose_B=turned[1], init=(step == 0))
            T.copy(c, C)

    return main


for m, n, k, steps in [(32, 64, 100, 1), (16, 48, 40, 2), (40, 32, 8, 3)]:
    for turned in product((False, True), repeat=2):
        a = random.integers(-128, 128, (m, k * steps), dtype=np.int8)
        b = random.integers(-128, 128, (k * steps, n), dtype=np.int8)
        wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
        given = [a.T.copy() if turned[0] else a, b.T.copy() if turned[1] else b]
        name = f"{m} x {n} x {k} in {steps} steps, transposed {turned}"
        GROUP.add(name, gemm(m, n, k, turned, steps), [*given, np.zeros_like(wanted)], wanted)


@pytest.mark.parametrize("name", GROUP.cases)
def test_gemms_of_bytes(name: str) -> None:
    """The host and the interpreter."""
    GROUP.check(name)
