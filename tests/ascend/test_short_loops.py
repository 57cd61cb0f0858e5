# SPDX-License-Identifier: Apache-2.0
"""Loops that make one turn at most, whatever their ends are: nothing in them waits for a turn
before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

# Tile FIRST is that of turn 0, as there may be turns before.
SIZE, COUNT, FIRST = 32, 8, 2
GROUP = KernelGroup()

A = np.arange(COUNT * SIZE, dtype=np.float32) % 97
ZEROS = np.zeros_like(A)
TURN = np.arange(COUNT * SIZE) // SIZE - FIRST

Ends = Callable[[Any, Any], tuple[Any, ...]]
#: The ends of the loop, by an argument and by the number of the loop around; and its turns.
ENDS: dict[str, tuple[Ends, Callable[[int, int], range]]] = {
    "n - 1, n": (lambda n, k: (n - 1, n), lambda n, k: range(n - 1, n)),
    "n - 2, n - 1": (lambda n, k: (n - 2, n - 1), lambda n, k: range(n - 2, n - 1)),
    "k, k + 1": (lambda n, k: (k, k + 1), lambda n, k: range(k, k + 1)),
    "k, min": (lambda n, k: (k, T.min(k + 1, n - 1)), lambda n, k: range(k, min(k + 1, n - 1))),
    "n & 1": (lambda n, k: (0, n & 1), lambda n, k: range(n & 1)),
    "min": (lambda n, k: (0, T.min(n, 1)), lambda n, k: range(min(n, 1))),
    "by four": (
        lambda n, k: (k, T.min(n, k + 4), 4),
        lambda n, k: range(k, min(n, k + 4), 4),
    ),
}


@T.macro
def add_one(A: Any, C: Any, tile: Any, result: Any, i: Any) -> None:
    T.copy(A[(i + FIRST) * SIZE], tile)
    T.tile.add(result, tile, 1.0)
    T.copy(result, C[(i + FIRST) * SIZE])


def after_one(turns: Callable[[int, int], range], n: int) -> np.ndarray[Any, Any]:
    return np.where(np.isin(TURN, list(turns(n, 0))), A + 1, 0).astype(np.float64)


def after_all(turns: Callable[[int, int], range], n: int) -> np.ndarray[Any, Any]:
    done = [at for k in range(n) for at in turns(n, k)]
    return np.where(np.isin(TURN, done), A + 1, 0).astype(np.float64)


@GROUP.each(ends=ENDS)
def alone(ends: str) -> Any:
    of, turns = ENDS[ends]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((SIZE,), "float32")
            result = T.alloc_ub((SIZE,), "float32")
            for i in T.serial(*of(n, 0)):
                add_one(A, C, tile, result, i)

    return main, [A, ZEROS, 5], {1: after_one(turns, 5)}


@GROUP.each(ends=ENDS)
def in_a_loop(ends: str) -> Any:
    """Then turns of the loop around wait for each other, once."""
    of, turns = ENDS[ends]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((SIZE,), "float32")
            result = T.alloc_ub((SIZE,), "float32")
            for k in T.serial(n):
                for i in T.serial(*of(n, k)):
                    add_one(A, C, tile, result, i)

    return main, [A, ZEROS, 5], {1: after_all(turns, 5)}


@GROUP.each(ends=["n - 1, n", "n & 1", "min"])
def by_hand(ends: str) -> Any:
    """Flags by hand lack nothing, as turns that there aren't need none."""
    of, turns = ENDS[ends]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            tile = T.alloc_ub((SIZE,), "float32")
            result = T.alloc_ub((SIZE,), "float32")
            for i in T.serial(*of(n, 0)):
                T.copy(A[(i + FIRST) * SIZE], tile)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.tile.add(result, tile, 1.0)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(result, C[(i + FIRST) * SIZE])

    return main, [A, ZEROS, 5], {1: after_one(turns, 5)}, {}


@GROUP.each(numbers=["i % 2", "1 - k % 2"])
def with_numbers(numbers: str) -> Any:
    """The number of the only turn is that of the loop around."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            tiles = T.alloc_ub((2, SIZE), "float32")
            for k in T.serial(n):
                for i in T.serial(k, k + 1):
                    number = i % 2 if numbers == "i % 2" else 1 - k % 2
                    T.copy(A[(i + FIRST) * SIZE], tiles[number, :])
                    T.set_flag("mte2", "v", number)
                    T.wait_flag("mte2", "v", number)
                    T.tile.add(tiles[number, :], tiles[number, :], 1.0)
                    T.set_flag("v", "mte3", number)
                    T.wait_flag("v", "mte3", number)
                    T.copy(tiles[number, :], C[(i + FIRST) * SIZE])
                    T.set_flag("mte3", "mte2", number)
                    T.wait_flag("mte3", "mte2", number)

    return main, [A, ZEROS, 5], {1: after_all(ENDS["k, k + 1"][1], 5)}, {}


@pytest.mark.parametrize("name", GROUP.cases)
def test_a_kernel(name: str) -> None:
    GROUP.check(name)
    assert GROUP.told(name) == []


@pytest.mark.parametrize("name", GROUP.cases)
def test_what_a_kernel_lacks(name: str) -> None:
    GROUP.check_removals(name)


@pytest.mark.parametrize("ends", ENDS)
def test_alone_no_turn_waits_for_one_before(ends: str) -> None:
    """A flag there and one on, and no other one."""
    assert GROUP.check(f"alone {ends}").ascendc.count("SetFlag") == 2
