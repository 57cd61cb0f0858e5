# SPDX-License-Identifier: Apache-2.0
"""Tiles that the kernel puts over each other: flags order what meets in their bytes, and the
compiler tells of what is read when it is gone."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup, compiled

import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

GROUP = KernelGroup(tolerance=0)
A = np.arange(64, dtype=np.float32)
B = -A


def told(kernel: PrimFunc) -> list[str]:
    return compiled(kernel, AUTOMATIC)[1]


def in_turn(x_at: int, y_at: int) -> PrimFunc:
    """The second tile is loaded when the first one is stored."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((64,), "float"), B: T.Tensor((64,), "float"), C: T.Tensor((2, 64), "float")
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            x = T.alloc_ub((64,), "float")
            y = T.alloc_ub((64,), "float")
            T.annotate_address({x: x_at, y: y_at})
            for _ in T.serial(2):
                T.copy(A, x)
                T.copy(x, C[0, 0])
                T.copy(B, y)
                T.copy(y, C[1, 0])

    return main


def at_once(x_at: int, y_at: int) -> PrimFunc:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((64,), "float"), B: T.Tensor((64,), "float"), C: T.Tensor((2, 64), "float")
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            x = T.alloc_ub((64,), "float")
            y = T.alloc_ub((64,), "float")
            T.annotate_address({x: x_at, y: y_at})
            T.copy(A, x)
            T.copy(B, y)
            T.copy(x, C[0, 0])
            T.copy(y, C[1, 0])

    return main


PLACES = [(0, 128), (128, 0), (512, 512)]
for number, places in enumerate(PLACES):
    GROUP.add(
        f"in_turn_{number}",
        in_turn(*places),
        [A, B, np.zeros((2, 64), np.float32)],
        np.stack([A, B]),
    )


@pytest.mark.parametrize("number", range(len(PLACES)))
def test_lives_in_turn(number: int) -> None:
    """Flags order them, and there is nothing to tell."""
    GROUP.check(f"in_turn_{number}")
    assert GROUP.told(f"in_turn_{number}") == []


@pytest.mark.parametrize(
    ("places", "lost"),
    [((0, 128), "128 to 255"), ((128, 0), "128 to 255"), ((512, 512), "512 to 767")],
)
def test_what_is_gone_when_it_is_read(places: tuple[int, int], lost: str) -> None:
    kernel = at_once(*places)
    (text,) = told(kernel)
    assert (
        f"this reads 'x', but 'y' has been written over bytes {lost} of UB since, which "
        "T.annotate_address gives to both: give one of them another address, or, where one tile is "
        "meant, name it by T.view or a slice" in text
    )
    first = kernel.function.__code__.co_firstlineno
    assert f"line {first + 9}: that is here" in text
    x_at, y_at = places
    assert f"line {first + 5}: 'x' takes bytes {x_at} to {x_at + 255}" in text
    assert f"line {first + 6}: 'y' takes bytes {y_at} to {y_at + 255}" in text


def test_tiles_apart() -> None:
    assert told(at_once(0, 256)) == []


def test_gone_a_turn_later() -> None:
    """The first turn reads what stands there; the second one doesn't."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((64,), "float"), B: T.Tensor((64,), "float"), C: T.Tensor((8, 64), "float")
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            x = T.alloc_ub((64,), "float")
            y = T.alloc_ub((96,), "float")
            T.annotate_address({x: 256, y: 0})
            T.copy(A, x)
            for turn in T.serial(4):
                T.copy(x, C[turn, 0])
                T.copy(B, y[0:64])
                T.tile.add(y[64:96], y[0:32], 1.0)
                T.copy(y[32:96], C[4 + turn, 0])

    (text,) = told(main)
    assert "this reads 'x', but 'y' has been written over bytes 256 to 383 of UB since" in text


def test_one_that_names_a_part_of_another() -> None:
    """What only the other one has written is read: both are meant to be one."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float"), C: T.Tensor((64,), "float")):
        with T.Kernel(1, is_npu=True) as (_, _):
            x = T.alloc_ub((64,), "float")
            half = T.alloc_ub((32,), "float")
            T.annotate_address({x: 0, half: 128})
            for _ in T.serial(2):
                T.copy(A, x)
                T.tile.add(half, half, 1.0)
                T.copy(x, C)

    assert told(main) == []


@pytest.mark.parametrize("always", [True, False])
def test_what_one_branch_overwrites(always: bool) -> None:
    """It may not have been: the kernel may know."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float"), C: T.Tensor((64,), "float"), n: T.int32):
        with T.Kernel(1, is_npu=True) as (_, _):
            x = T.alloc_ub((64,), "float")
            y = T.alloc_ub((64,), "float")
            T.annotate_address({x: 0, y: 0})
            T.copy(A, x)
            if n > 0:
                T.copy(A, y)
                T.copy(y, C)
            elif always:
                T.copy(C, y)
                T.copy(y, A)
            T.copy(x, C)

    assert len(told(main)) == always


def test_products_in_turn() -> None:
    """A gemm that may begin a sum anew doesn't have to find the last one."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 64), "float16"),
        B: T.Tensor((64, 16), "float16"),
        C: T.Tensor((2, 16, 16), "float"),
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            a = T.alloc_L1((16, 16), "float16")
            b = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float")
            d = T.alloc_L0C((16, 16), "float")
            T.annotate_address({c: 0, d: 0})
            for k in T.serial(4):
                T.copy(A[0, k * 16], a)
                T.copy(B[k * 16, 0], b)
                T.gemm_v0(a, b, c, init=k == 0)
            T.copy(c, C[0, 0, 0])
            for k in T.serial(4):
                T.copy(A[0, k * 16], a)
                T.copy(B[k * 16, 0], b)
                T.gemm_v0(a, b, d, init=k == 0)
            T.copy(d, C[1, 0, 0])

    assert told(main) == []
