# SPDX-License-Identifier: Apache-2.0
"""Gemms of int8 of which k is no multiple of 32: what is transposed on its way goes in squares of
32, so that such tiles have more rows than the kernel says."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
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


def small_tiles() -> Any:  # noqa: ANN401
    """Two tiles of 16 columns in L0B, which lie side by side, by hand."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 64), "int8"), B: T.Tensor((32, 64), "int8"), C: T.Tensor((16, 32), "int32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((16, 64), "int8")
            b = T.alloc_L1((32, 64), "int8")
            a_l0 = T.alloc_L0A((16, 64), "int8")
            left = T.alloc_L0B((64, 16), "int8")
            right = T.alloc_L0B((64, 16), "int8")
            c = T.alloc_L0C((2, 16, 16), "int32")
            T.annotate_address({left: 0, right: 64 * 16})
            T.copy(A, a)
            T.copy(B, b)
            T.copy(a, a_l0)
            T.copy(b[0:16, :], left, transpose=True)
            T.copy(b[16:32, :], right, transpose=True)
            T.mma(a_l0, left, c[0, :, :], init=True)
            T.mma(a_l0, right, c[1, :, :], init=True)
            T.copy(c[0, :, :], C[0, 0])
            T.copy(c[1, :, :], C[0, 16])

    return main


a, b = (random.integers(-128, 128, (rows, 64), dtype=np.int8) for rows in (16, 32))
wanted = (a.astype(np.int64) @ b.T.astype(np.int64)).astype(np.int32)
GROUP.add("small tiles", small_tiles(), [a, b, np.zeros_like(wanted)], wanted)


@pytest.mark.parametrize("name", GROUP.cases)
def test_gemms_of_bytes(name: str) -> None:
    """The host and the interpreter."""
    GROUP.check(name)


def test_tiles_of_16_columns_take_no_more_than_they_have() -> None:
    kernel = tilewright.compile(small_tiles(), target="ascend", pass_configs=AUTOMATIC)
    assert "L0B: 2048 of 65536 bytes" in kernel.report()
