# SPDX-License-Identifier: Apache-2.0
"""Kernels of which the compiler has proven flags needless, and whose other flags share ids: the
checker behind it proves the same, and warns of nothing. Arguments say how long the loops are, what
branches take, and where a loop is left."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup
from tiles_on_chip import SIDE, TilesOnChip, back

import tilewright.language as T

GROUP = KernelGroup()
#: What the host warns of is an error.
ERRORS = pytest.mark.filterwarnings("error::tilewright.errors.TilewrightWarning")
Array = np.ndarray[Any, Any]
A = (np.arange(2 * SIDE * SIDE) % 5 - 2).reshape(2, SIDE, SIDE).astype(np.float16)
B = (np.arange(SIDE * SIDE) % 3 - 1).reshape(SIDE, SIDE).astype(np.float16)
ASKED = np.array([1, 2, 0, 2, 0, 1, 0, 4], np.int32)


class Tiles:
    """What the kernels do, one after the other: products, and sums of them."""

    def __init__(self) -> None:
        self.a = [A[0].astype(np.float64), A[1].astype(np.float64)]
        self.h = A[0].astype(np.float64)
        self.c: dict[int, Array] = {}
        self.u = np.zeros((SIDE, SIDE))

    def gemm(self, k: int) -> None:
        self.c[k] = self.a[k % 2] @ B.astype(np.float64)

    def add(self, k: int) -> None:
        self.u = self.u + self.c[k]

    def step(self, k: int) -> None:
        self.gemm(k)
        self.add(k)

    def one(self) -> None:
        self.u = self.u + 1

    def back(self, k: int) -> None:
        self.h = np.clip(1 - self.h, -3, 3)
        self.a[k] = self.h


def branch_in_no_turn() -> Any:  # noqa: ANN401
    """`if m < 1` in a loop of m turns is never taken."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2, SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        N: T.Tensor((8,), "int32"),
        n: T.int32,
        m: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            t = TilesOnChip(A, B, 16)
            back(t.h, t.a[0])
            for k in (0, 1):
                t.step(k, k % 2)
            t.gemm(2, 0)
            t.one()
            for _i in T.serial(2):
                back(t.h, t.a[1])
                t.step(3, 1)
                for _j in T.serial(m):
                    for _k in T.serial(2):
                        t.gemm(4, 0)
                        t.one()
                        back(t.h, t.a[1])
                        for k in (5, 6, 7, 8):
                            t.step(k, k % 2)
                    t.gemm(9, 1)
                    t.one()
                    if m < 1:
                        t.step(10, 0)
                        t.add(2)
                    else:
                        t.gemm(11, 1)
                        t.one()
                    t.step(12, 0)
            for i in T.serial(n):
                t.step(13, 1)
                if i < 2:
                    if N[n] > 1:
                        T.loop_break()
                    if N[n] > 1:
                        continue
                    t.gemm(14, 0)
                    t.one()
                t.step(15, 1)
                t.add(4)
            T.copy(t.u, C)

    return main


def sum_of_no_turn(n: int, m: int) -> Array:
    tiles = Tiles()
    tiles.gemm(4)
    tiles.back(0)
    tiles.step(0)
    tiles.step(1)
    tiles.one()
    for _ in range(2):
        tiles.back(1)
        tiles.step(3)
        for _ in range(m):
            for _ in range(2):
                tiles.gemm(4)
                tiles.one()
                tiles.back(1)
                for k in (5, 6, 7, 8):
                    tiles.step(k)
            tiles.one()
            tiles.one()
            tiles.step(12)
    for i in range(n):
        tiles.step(13)
        if i < 2:
            if ASKED[n] > 1:
                break
            tiles.one()
        tiles.step(15)
        tiles.add(4)
    return tiles.u


def exits_of_inner_loops() -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2, SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        N: T.Tensor((8,), "int32"),
        n: T.int32,
        m: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            t = TilesOnChip(A, B, 6)
            for i in T.serial(m):
                for k in (0, 1):
                    back(t.h, t.a[k])
                    t.step(k, k)
                for _j in T.serial(m):
                    for k in T.serial(2):
                        if N[k] > 2:
                            continue
                        t.step(2, 0)
                    for k in T.serial(2):
                        back(t.h, t.a[1])
                        t.step(3, 1)
                        if N[i] > 1:
                            T.loop_break()
                        if N[k] > 2:
                            continue
                        if i < m:
                            continue
                        t.step(4, 0)
                    t.gemm(5, 1)
                    t.one()
            T.copy(t.u, C)

    return main


def sum_of_exits(n: int, m: int) -> Array:  # noqa: ARG001
    tiles = Tiles()
    for i in range(m):
        for k in (0, 1):
            tiles.back(k)
            tiles.step(k)
        for _ in range(m):
            tiles.step(2)
            tiles.step(2)
            for _ in range(1 if ASKED[i] > 1 else 2):
                tiles.back(1)
                tiles.step(3)
            tiles.one()
    return tiles.u


def loops_in_a_loop() -> Any:  # noqa: ANN401
    """Two inner loops whose tiles have one id: what tells of the one is older than the other."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2, SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        N: T.Tensor((8,), "int32"),
        n: T.int32,
        m: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as _:
            t = TilesOnChip(A, B, 20)
            for _i in T.serial(m):
                for k in (1, 2):
                    t.step(k, k % 2)
                for _j in T.serial(m):
                    for k in (3, 4, 5):
                        t.step(k, k % 2)
                for k in (6, 7):
                    t.step(k, k % 2)
                for j in T.serial(n):
                    if N[j] > 1:
                        back(t.h, t.a[0])
                        t.step(8, 0)
                    else:
                        t.step(9, 1)
                    t.step(10, 0)
            t.step(11, 1)
            for _i in T.serial(m - 1):
                for k in (12, 13, 14):
                    t.step(k, k % 2)
                back(t.h, t.a[1])
                for k in (15, 16):
                    t.step(k, k % 2)
            for k in (17, 18):
                t.gemm(k, k % 2)
            t.add(18)
            for i in T.serial(m):
                if i < 0:
                    t.step(19, 1)
                    t.add(17)
            T.copy(t.u, C)

    return main


def sum_of_loops(n: int, m: int) -> Array:
    tiles = Tiles()
    for _ in range(m):
        for k in (1, 2, *(3, 4, 5) * m, 6, 7):
            tiles.step(k)
        for j in range(n):
            if ASKED[j] > 1:
                tiles.back(0)
            tiles.step(8 if ASKED[j] > 1 else 9)
            tiles.step(10)
    tiles.step(11)
    for _ in range(m - 1):
        for k in (12, 13, 14):
            tiles.step(k)
        tiles.back(1)
        tiles.step(15)
        tiles.step(16)
    tiles.step(18)
    return tiles.u


KERNELS = {
    "a branch in no turn": (branch_in_no_turn(), sum_of_no_turn),
    "exits of inner loops": (exits_of_inner_loops(), sum_of_exits),
    "loops in a loop": (loops_in_a_loop(), sum_of_loops),
}
for name, (kernel, wanted) in KERNELS.items():
    result = np.zeros((SIDE, SIDE), np.float32)
    n = 6 if kernel is KERNELS["a branch in no turn"][0] else 3  # its last loop is not left
    GROUP.add(name, kernel, [A, B, ASKED, n, 4, result], wanted(n, 4))


@ERRORS
@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_warned_of(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", KERNELS)
def test_what_lacks_is_found(name: str) -> None:
    GROUP.check_removals(name)


@ERRORS
@pytest.mark.parametrize("name", KERNELS)
def test_all_lengths(name: str) -> None:
    _, wanted = KERNELS[name]
    for n, m in itertools.product((0, 1, 2, 3), (0, 1, 2, 4)):
        made = GROUP.run(name, A, B, ASKED, n, m, np.zeros((SIDE, SIDE), np.float32))
        np.testing.assert_array_equal(made[-1], wanted(n, m), err_msg=f"{n}, {m}")
