# SPDX-License-Identifier: Apache-2.0
"""Flags by hand in branches on the number of an iteration, in loops whose length is known at run
time only: they match for every length, so the checker says nothing; of each that is taken out it
says what the host says."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

GROUP = KernelGroup()
random = np.random.default_rng(59)
SIZE = 64


def waits_from_the_third(behind: int = 2) -> PrimFunc:
    """No flag is set before the loop, and none is left behind it: the first two turns don't wait,
    the last two don't set."""
    size = T.symbolic("size")

    @T.prim_func
    def main(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            tiles = T.alloc_ub((2, SIZE), "float32")
            count = T.ceildiv(size, SIZE)
            for i in T.serial(count):
                turn = i % 2
                if i >= 2:
                    T.wait_flag("mte3", "mte2", turn)
                T.copy(A[i * SIZE], tiles[turn, :])
                T.set_flag("mte2", "v", turn)
                T.wait_flag("mte2", "v", turn)
                T.tile.add(tiles[turn, :], tiles[turn, :], 1.0)
                T.set_flag("v", "mte3", turn)
                T.wait_flag("v", "mte3", turn)
                T.copy(tiles[turn, :], B[i * SIZE])
                if i < count - behind:
                    T.set_flag("mte3", "mte2", turn)

    return main


def loads_ahead(stages: int = 2) -> PrimFunc:
    """The next tiles are loaded while one is computed; the last turns load none."""
    size = T.symbolic("size")

    @T.prim_func
    def main(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            a = T.alloc_ub((stages, SIZE), "float32")
            b = T.alloc_ub((stages, SIZE), "float32")
            count = T.ceildiv(size, SIZE)
            for turn in range(stages):
                T.set_flag("v", "mte2", turn)
                T.set_flag("mte3", "v", turn)
            for turn in range(stages - 1):
                if turn == 0 or turn < count:
                    T.wait_flag("v", "mte2", turn)
                    T.copy(A[turn * SIZE], a[turn, :])
                    T.set_flag("mte2", "v", turn)
            for i in T.serial(count):
                ahead = (i + stages - 1) % stages
                if i + (stages - 1) < count:
                    T.wait_flag("v", "mte2", ahead)
                    T.copy(A[(i + stages - 1) * SIZE], a[ahead, :])
                    T.set_flag("mte2", "v", ahead)
                T.wait_flag("mte2", "v", i % stages)
                T.wait_flag("mte3", "v", i % stages)
                T.tile.add(b[i % stages, :], a[i % stages, :], 1.0)
                T.set_flag("v", "mte2", i % stages)
                T.set_flag("v", "mte3", i % stages)
                T.wait_flag("v", "mte3", i % stages)
                T.copy(b[i % stages, :], B[i * SIZE])
                T.set_flag("mte3", "v", i % stages)
            for turn in range(stages):
                T.wait_flag("v", "mte2", turn)
                T.wait_flag("mte3", "v", turn)

    return main


def rows_of_blocks() -> PrimFunc:
    """One tile, in the turns of each block: the first waits for nothing, the last tells nobody, and
    what a last turn does besides needs an order of its own."""
    size = T.symbolic("size")

    @T.prim_func
    def main(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True, threads=1) as cid, T.Scope("V"):
            tile = T.alloc_ub((SIZE,), "float32")
            count = T.ceildiv(size, SIZE)
            for i in T.serial(cid, count, step=2):
                if i != cid:
                    T.wait_flag("mte3", "mte2", 1)
                T.copy(A[i * SIZE], tile)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.tile.add(tile, tile, 1.0)
                if i + 2 >= count:
                    T.pipe_barrier("v")
                    T.tile.mul(tile, tile, 2.0)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(tile, B[i * SIZE])
                if i + 2 < count:
                    T.set_flag("mte3", "mte2", 1)

    return main


def turns_by_an_argument(form: str, behind: int = 1) -> PrimFunc:
    """The number of turns is an int32, of which one less could be another number: not in a turn."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((8 * SIZE,), "float32"), n: T.int32, B: T.Tensor((8 * SIZE,), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            tile = T.alloc_ub((SIZE,), "float32")
            for i in T.serial(1, n):
                if i > 1:
                    T.wait_flag("mte3", "mte2", 0)
                T.copy(A[i * SIZE], tile)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.tile.add(tile, tile, 1.0)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(tile, B[i * SIZE])
                if form == "not the last":
                    if i != n - behind:
                        T.set_flag("mte3", "mte2", 0)
                elif form == "or else":
                    if i == n - behind:
                        T.pipe_barrier("v")
                    else:
                        T.set_flag("mte3", "mte2", 0)
                elif form == "before the last":
                    if i < n - behind:
                        T.set_flag("mte3", "mte2", 0)
                elif form == "one more":
                    if i + behind < n:
                        T.set_flag("mte3", "mte2", 0)
                elif n - i > behind:
                    T.set_flag("mte3", "mte2", 0)

    return main


def turns_of(count: int) -> np.ndarray[Any, Any]:
    return random.standard_normal(count * SIZE - 24 * (count > 1)).astype(np.float32)


def doubled_at_the_ends(given: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    result = given.astype(np.float64) + 1
    result[max(-(-given.size // SIZE) - 2, 0) * SIZE :] *= 2
    return result


MAKERS: dict[str, tuple[Callable[[], PrimFunc], Callable[[Any], Any]]] = {
    "waits from the third": (waits_from_the_third, lambda a: a.astype(np.float64) + 1),
    "loads ahead": (loads_ahead, lambda a: a.astype(np.float64) + 1),
    "rows of blocks": (rows_of_blocks, doubled_at_the_ends),
}
LONG = 9  # turns: enough for each flag to count
for kind, (make, wanted) in MAKERS.items():
    for count in (1, 2, 3, 4, 5, LONG):
        given = turns_of(count)
        GROUP.add(
            f"{kind}, {count}", make(), [given, np.zeros_like(given)], wanted(given), configs={}
        )


BY_ARGUMENT = ("not the last", "or else", "before the last", "one more", "left")
for form in BY_ARGUMENT:
    for count in (-3, 1, 2, 3, 8):
        given = random.standard_normal(8 * SIZE).astype(np.float32)
        stored = np.zeros(8 * SIZE)
        stored[SIZE : count * SIZE] = given[SIZE : count * SIZE].astype(np.float64) + 1
        GROUP.add(
            f"{form}, {count}",
            turns_by_an_argument(form),
            [given, count, np.zeros_like(given)],
            stored if count > 0 else np.zeros(8 * SIZE),
            configs={},
        )


@pytest.mark.parametrize("form", BY_ARGUMENT)
def test_turns_by_an_argument(form: str) -> None:
    """No warning; but of one flag too few."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilewright.compile(turns_by_an_argument(form), target="ascend")
    if form not in ("not the last", "or else"):
        with pytest.warns(UserWarning, match="event 0 from MTE3 to MTE2"):
            tilewright.compile(turns_by_an_argument(form, 2), target="ascend")


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("kind", MAKERS)
def test_each_flag_is_needed(kind: str) -> None:
    removals = GROUP.removals(f"{kind}, {LONG}")
    assert len(removals.host) > 4
    assert removals.missed() == []
    assert removals.needless() == []
    assert removals.neither() == []


def test_one_flag_too_few() -> None:
    """The last turn but two sets none, though the last one waits."""
    with pytest.warns(UserWarning, match="event [01] from MTE3 to MTE2"):
        kernel = tilewright.compile(waits_from_the_third(3), target="ascend")
    given = turns_of(LONG)
    with pytest.raises(RuntimeError, match="MTE3_MTE2"):
        kernel(given, np.zeros_like(given))


@pytest.mark.parametrize("count", [-(2**31), 0, 1, 2, 4])
def test_the_end_of_a_loop_does_not_wrap_round(count: int) -> None:
    """Of the least number a loop to one less has no turn: the flags aren't made for 2^31."""

    @T.prim_func
    def main(n: T.int32, A: T.Tensor((4, SIZE), "float32"), B: T.Tensor((4, SIZE), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((SIZE,), "float32")
            for i in T.serial(n - 1):
                T.copy(A[i % 4, 0], x)
                for j in T.serial(n - 2):
                    T.tile.add(x, x, T.cast(j + 1, "float32"))
                T.copy(x, B[i % 4, 0])

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    source = kernel.get_kernel_source()
    assert "int64_t(n) - 1" in source and "int64_t(n) - 2" in source
    given = np.arange(4 * SIZE, dtype=np.float32).reshape(4, SIZE)
    made = np.zeros_like(given)
    kernel(count, given, made)
    turns, added = max(count - 1, 0), sum(range(1, count - 1))
    wanted = np.where(np.arange(4)[:, None] < turns, given + added, 0)
    np.testing.assert_array_equal(made, wanted)
