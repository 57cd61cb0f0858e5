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

import tilewright.language as T

GROUP = KernelGroup()
SIDE = 16
Array = np.ndarray[Any, Any]
A = (np.arange(2 * SIDE * SIDE) % 5 - 2).reshape(2, SIDE, SIDE).astype(np.float16)
B = (np.arange(SIDE * SIDE) % 3 - 1).reshape(SIDE, SIDE).astype(np.float16)
ASKED = np.array([1, 2, 0, 2, 0, 1, 0, 4], np.int32)
NUMBERS = tuple(range(20))


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
            a = [T.alloc_L1((SIDE, SIDE), "float16") for _ in range(2)]
            b = T.alloc_L1((SIDE, SIDE), "float16")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            x = T.alloc_ub((SIDE, SIDE), "float32")
            h = T.alloc_ub((SIDE, SIDE), "float16")
            c = [T.alloc_L0C((SIDE, SIDE), "float32") for _ in range(16)]
            T.copy(A[0, :, :], a[0])
            T.copy(A[1, :, :], a[1])
            T.copy(B, b)
            T.copy(A[0, :, :], h)
            T.tile.fill(u, 0.0)
            for k in NUMBERS[:16]:
                T.gemm_v0(a[0], b, c[k], init=True)
            for p, q in T.Parallel(SIDE, SIDE):
                h[p, q] = T.min(T.max(1 - h[p, q], -3), 3)
            T.copy(h, a[0])
            for k in (0, 1):
                T.gemm_v0(a[k % 2], b, c[k], init=True)
                T.copy(c[k], x)
                T.tile.add(u, u, x)
            T.gemm_v0(a[0], b, c[2], init=True)
            T.tile.add(u, u, 1.0)
            for _i in T.serial(2):
                for p, q in T.Parallel(SIDE, SIDE):
                    h[p, q] = T.min(T.max(1 - h[p, q], -3), 3)
                T.copy(h, a[1])
                T.gemm_v0(a[1], b, c[3], init=True)
                T.copy(c[3], x)
                T.tile.add(u, u, x)
                for _j in T.serial(m):
                    for _k in T.serial(2):
                        T.gemm_v0(a[0], b, c[4], init=True)
                        T.tile.add(u, u, 1.0)
                        for p, q in T.Parallel(SIDE, SIDE):
                            h[p, q] = T.min(T.max(1 - h[p, q], -3), 3)
                        T.copy(h, a[1])
                        for k in (5, 6, 7, 8):
                            T.gemm_v0(a[k % 2], b, c[k], init=True)
                            T.copy(c[k], x)
                            T.tile.add(u, u, x)
                    T.gemm_v0(a[1], b, c[9], init=True)
                    T.tile.add(u, u, 1.0)
                    if m < 1:
                        T.gemm_v0(a[0], b, c[10], init=True)
                        T.copy(c[10], x)
                        T.tile.add(u, u, x)
                        T.copy(c[2], x)
                        T.tile.add(u, u, x)
                    else:
                        T.gemm_v0(a[1], b, c[11], init=True)
                        T.tile.add(u, u, 1.0)
                    T.gemm_v0(a[0], b, c[12], init=True)
                    T.copy(c[12], x)
                    T.tile.add(u, u, x)
            for i in T.serial(n):
                T.gemm_v0(a[1], b, c[13], init=True)
                T.copy(c[13], x)
                T.tile.add(u, u, x)
                if i < 2:
                    if N[n] > 1:
                        T.loop_break()
                    if N[n] > 1:
                        continue
                    T.gemm_v0(a[0], b, c[14], init=True)
                    T.tile.add(u, u, 1.0)
                T.gemm_v0(a[1], b, c[15], init=True)
                T.copy(c[15], x)
                T.tile.add(u, u, x)
                T.copy(c[4], x)
                T.tile.add(u, u, x)
            T.copy(u, C)

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
            a = [T.alloc_L1((SIDE, SIDE), "float16") for _ in range(2)]
            b = T.alloc_L1((SIDE, SIDE), "float16")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            x = T.alloc_ub((SIDE, SIDE), "float32")
            h = T.alloc_ub((SIDE, SIDE), "float16")
            c = [T.alloc_L0C((SIDE, SIDE), "float32") for _ in range(6)]
            T.copy(A[0, :, :], a[0])
            T.copy(A[1, :, :], a[1])
            T.copy(B, b)
            T.copy(A[0, :, :], h)
            T.tile.fill(u, 0.0)
            for k in NUMBERS[:6]:
                T.gemm_v0(a[0], b, c[k], init=True)
            for i in T.serial(m):
                for k in (0, 1):
                    for p, q in T.Parallel(SIDE, SIDE):
                        h[p, q] = T.min(T.max(1 - h[p, q], -3), 3)
                    T.copy(h, a[k])
                    T.gemm_v0(a[k], b, c[k], init=True)
                    T.copy(c[k], x)
                    T.tile.add(u, u, x)
                for _j in T.serial(m):
                    for k in T.serial(2):
                        if N[k] > 2:
                            continue
                        T.gemm_v0(a[0], b, c[2], init=True)
                        T.copy(c[2], x)
                        T.tile.add(u, u, x)
                    for k in T.serial(2):
                        for p, q in T.Parallel(SIDE, SIDE):
                            h[p, q] = T.min(T.max(1 - h[p, q], -3), 3)
                        T.copy(h, a[1])
                        T.gemm_v0(a[1], b, c[3], init=True)
                        T.copy(c[3], x)
                        T.tile.add(u, u, x)
                        if N[i] > 1:
                            T.loop_break()
                        if N[k] > 2:
                            continue
                        if i < m:
                            continue
                        T.gemm_v0(a[0], b, c[4], init=True)
                        T.copy(c[4], x)
                        T.tile.add(u, u, x)
                    T.gemm_v0(a[1], b, c[5], init=True)
                    T.tile.add(u, u, 1.0)
            T.copy(u, C)

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
            a = [T.alloc_L1((SIDE, SIDE), "float16") for _ in range(2)]
            b = T.alloc_L1((SIDE, SIDE), "float16")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            x = T.alloc_ub((SIDE, SIDE), "float32")
            h = T.alloc_ub((SIDE, SIDE), "float16")
            c = [T.alloc_L0C((SIDE, SIDE), "float32") for _ in range(20)]
            T.copy(A[0, :, :], a[0])
            T.copy(A[1, :, :], a[1])
            T.copy(B, b)
            T.copy(A[0, :, :], h)
            T.tile.fill(u, 0.0)
            for k in NUMBERS:
                T.gemm_v0(a[0], b, c[k], init=True)
            for _i in T.serial(m):
                for k in (1, 2):
                    T.gemm_v0(a[k % 2], b, c[k], init=True)
                    T.copy(c[k], x)
                    T.tile.add(u, u, x)
                for _j in T.serial(m):
                    for k in (3, 4, 5):
                        T.gemm_v0(a[k % 2], b, c[k], init=True)
                        T.copy(c[k], x)
                        T.tile.add(u, u, x)
                for k in (6, 7):
                    T.gemm_v0(a[k % 2], b, c[k], init=True)
                    T.copy(c[k], x)
                    T.tile.add(u, u, x)
                for j in T.serial(n):
                    if N[j] > 1:
                        for p, q in T.Parallel(SIDE, SIDE):
                            h[p, q] = T.min(T.max(1 - h[p, q], -3), 3)
                        T.copy(h, a[0])
                        T.gemm_v0(a[0], b, c[8], init=True)
                        T.copy(c[8], x)
                        T.tile.add(u, u, x)
                    else:
                        T.gemm_v0(a[1], b, c[9], init=True)
                        T.copy(c[9], x)
                        T.tile.add(u, u, x)
                    T.gemm_v0(a[0], b, c[10], init=True)
                    T.copy(c[10], x)
                    T.tile.add(u, u, x)
            T.gemm_v0(a[1], b, c[11], init=True)
            T.copy(c[11], x)
            T.tile.add(u, u, x)
            for _i in T.serial(m - 1):
                for k in (12, 13, 14):
                    T.gemm_v0(a[k % 2], b, c[k], init=True)
                    T.copy(c[k], x)
                    T.tile.add(u, u, x)
                for p, q in T.Parallel(SIDE, SIDE):
                    h[p, q] = T.min(T.max(1 - h[p, q], -3), 3)
                T.copy(h, a[1])
                for k in (15, 16):
                    T.gemm_v0(a[k % 2], b, c[k], init=True)
                    T.copy(c[k], x)
                    T.tile.add(u, u, x)
            for k in (17, 18):
                T.gemm_v0(a[k % 2], b, c[k], init=True)
            T.copy(c[18], x)
            T.tile.add(u, u, x)
            for i in T.serial(m):
                if i < 0:
                    T.gemm_v0(a[1], b, c[19], init=True)
                    T.copy(c[19], x)
                    T.tile.add(u, u, x)
                    T.copy(c[17], x)
                    T.tile.add(u, u, x)
            T.copy(u, C)

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


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_is_warned_of(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    GROUP.check(name)
    assert "warning:" not in capfd.readouterr().err


@pytest.mark.parametrize("name", KERNELS)
def test_what_lacks_is_found(name: str) -> None:
    GROUP.check_removals(name)


@pytest.mark.parametrize("name", KERNELS)
def test_all_lengths(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    _, wanted = KERNELS[name]
    for n, m in itertools.product((0, 1, 2, 3), (0, 1, 2, 4)):
        made = GROUP.run(name, A, B, ASKED, n, m, np.zeros((SIDE, SIDE), np.float32))
        np.testing.assert_array_equal(made[-1], wanted(n, m), err_msg=f"{n}, {m}")
    assert "warning:" not in capfd.readouterr().err
