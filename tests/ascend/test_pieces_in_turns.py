# SPDX-License-Identifier: Apache-2.0
"""Pieces of one tile in L1 that are loaded and multiplied in turns: each orders itself alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

random = np.random.default_rng(23)
GROUP = KernelGroup()
TURNS, SIDE = 4, 64


def tensors(dtype: str) -> tuple[Any, ...]:
    shapes = ((SIDE, TURNS * SIDE), (TURNS * SIDE, SIDE))
    if dtype == "int8":
        a, b = (random.integers(-9, 10, shape).astype(np.int8) for shape in shapes)
    else:
        a, b = (random.integers(-4, 5, shape).astype(dtype) for shape in shapes)
    total = a.astype(np.float64) @ b.astype(np.float64)
    return [a, b, np.zeros((SIDE, SIDE), "int32" if dtype == "int8" else "float32")], total


@GROUP.each(by=("rows", "columns"), dtype=("float16", "int8"), configs=("by hand", "automatic"))
def halves(by: str, dtype: str, configs: str) -> tuple[Any, ...]:
    """One half of each operand's tile comes from memory while the other one is read."""
    flags = configs == "by hand"
    accumulator = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def main(
        A: T.Tensor((SIDE, TURNS * SIDE), dtype),  # type: ignore[valid-type]
        B: T.Tensor((TURNS * SIDE, SIDE), dtype),  # type: ignore[valid-type]
        C: T.Tensor((SIDE, SIDE), accumulator),  # type: ignore[valid-type]
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _), T.Scope("C"):
            a = T.alloc_L1((2 * SIDE, SIDE) if by == "rows" else (SIDE, 2 * SIDE), dtype)
            b = T.alloc_L1((2 * SIDE, SIDE), dtype)
            left = T.alloc_L0A((SIDE, SIDE), dtype)
            right = T.alloc_L0B((SIDE, SIDE), dtype)
            c = T.alloc_L0C((SIDE, SIDE), accumulator)
            if flags:
                for half in T.serial(2):
                    T.set_flag("mte1", "mte2", half)
                T.set_flag("m", "mte1", 2)
            for k in T.serial(TURNS):
                half = k % 2
                if flags:
                    T.wait_flag("mte1", "mte2", k % 2)
                if by == "rows":
                    T.copy(A[0, k * SIDE], a[half * SIDE : (half + 1) * SIDE, :])
                else:
                    T.copy(A[0, k * SIDE], a[:, half * SIDE : (half + 1) * SIDE])
                T.copy(B[k * SIDE, 0], b[half * SIDE : (half + 1) * SIDE, :])
                if flags:
                    T.set_flag("mte2", "mte1", k % 2)
                    T.wait_flag("mte2", "mte1", k % 2)
                    T.wait_flag("m", "mte1", 2)
                if by == "rows":
                    T.copy(a[half * SIDE : (half + 1) * SIDE, :], left)
                else:
                    T.copy(a[:, half * SIDE : (half + 1) * SIDE], left)
                T.copy(b[half * SIDE : (half + 1) * SIDE, :], right)
                if flags:
                    T.set_flag("mte1", "mte2", k % 2)
                    T.set_flag("mte1", "m", 3)
                    T.wait_flag("mte1", "m", 3)
                T.mma(left, right, c, init=(k == 0))
                if flags:
                    T.set_flag("m", "mte1", 2)
            if flags:
                for half in T.serial(2):
                    T.wait_flag("mte1", "mte2", half)
                T.wait_flag("m", "mte1", 2)
                T.set_flag("m", "fix", 4)
                T.wait_flag("m", "fix", 4)
            T.copy(c, C)

    given, total = tensors(dtype)
    return main, given, total, {} if flags else AUTOMATIC


@GROUP.each(dtype=("float16", "float32"), stages=(1, 2))
def gemms(dtype: str, stages: int) -> tuple[Any, ...]:
    """By gemm_v0: the pieces are those that it takes itself."""

    @T.prim_func
    def main(
        A: T.Tensor((SIDE, TURNS * SIDE), dtype),  # type: ignore[valid-type]
        B: T.Tensor((TURNS * SIDE, SIDE), dtype),  # type: ignore[valid-type]
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1((stages * SIDE, SIDE), dtype)
            b = T.alloc_L1((stages * SIDE, SIDE), dtype)
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            for k in T.serial(TURNS):
                part = k % stages
                T.copy(A[0, k * SIDE], a[part * SIDE : (part + 1) * SIDE, :])
                T.copy(B[k * SIDE, 0], b[part * SIDE : (part + 1) * SIDE, :])
                T.gemm_v0(
                    a[part * SIDE : (part + 1) * SIDE, :],
                    b[part * SIDE : (part + 1) * SIDE, :],
                    c,
                    init=(k == 0),
                )
            T.copy(c, C)

    given, total = tensors(dtype)
    return main, given, total


@pytest.mark.parametrize("name", GROUP.cases)
def test_product(name: str) -> None:
    GROUP.check(name)
    assert GROUP.told(name) == []


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)
