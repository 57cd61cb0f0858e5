# SPDX-License-Identifier: Apache-2.0
"""Rows and tiles that come again after many turns, of which a loop is too long to be written out:
what one turn leaves is apart from what the next ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
TURNS = 96
GIVEN = np.random.default_rng(52).integers(-9, 10, (TURNS * 8, 16)).astype(np.float32)
TILES = GIVEN.reshape(TURNS, 8, 16)


@GROUP.each(rows=[8, 16, 24, 32])
def two_stores_to_a_row(rows: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((TURNS * 8, 16), "float32"), C: T.Tensor((rows * 8, 16), "float32")
    ):
        with T.Kernel(1, threads=1, is_npu=True) as _:
            first = T.alloc_ub((8, 16), "float32")
            second = T.alloc_ub((8, 16), "float32")
            for k in T.serial(TURNS):
                T.tile.fill(first, 1.0)
                T.copy(first, C[k % rows * 8, 0])
                T.copy(A[k * 8, 0], second)
                T.copy(second, C[k % rows * 8, 0])

    wanted = TILES[-rows:] if TURNS % rows == 0 else np.roll(TILES[-rows:], TURNS % rows, axis=0)
    arguments = [GIVEN, np.zeros((rows * 8, 16), np.float32)]
    return main, arguments, wanted.reshape(-1, 16), AUTOMATIC


@GROUP.each(slots=[4, 16, 32])
def tiles_loaded_ahead(slots: int) -> Any:  # noqa: ANN401
    """All but one of the tiles are on the way."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((TURNS * 8, 16), "float32"), C: T.Tensor((TURNS * 8, 16), "float32")
    ):
        with T.Kernel(1, threads=1, is_npu=True) as _:
            tiles = T.alloc_ub((slots, 8, 16), "float32")
            for k in T.serial(slots - 1):
                T.copy(A[k * 8, 0], tiles[k, :, :])
            for k in T.serial(TURNS):
                if k < TURNS - slots + 1:
                    T.copy(A[(k + slots - 1) * 8, 0], tiles[(k + slots - 1) % slots, :, :])
                T.tile.add(tiles[k % slots, :, :], tiles[k % slots, :, :], 1.0)
                T.copy(tiles[k % slots, :, :], C[k * 8, 0])

    return main, [GIVEN, np.zeros_like(GIVEN)], GIVEN + 1, AUTOMATIC


@GROUP.each(form=["several", "backwards", "few turns", "any number"])
def several_remainders(form: str) -> Any:  # noqa: ANN401
    """Too many together for all to be told apart."""
    rows = 20 if form == "several" else TURNS

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((TURNS, 8, 16), "float32"),
        C: T.Tensor((TURNS, 8, 16), "float32"),
        n: T.int32,
    ):
        with T.Kernel(1, threads=1, is_npu=True) as _:
            tile = T.alloc_ub((8, 16), "float32")
            slots = T.alloc_ub((13, 8, 16), "float32")
            T.tile.fill(tile, 1.0)
            T.tile.fill(slots, 2.0)
            for k in T.serial(TURNS // 2 if form == "few turns" else n):
                if form == "several":
                    T.copy(A[TURNS - 1 - k % TURNS, 0, 0], slots[k % 13, :, :])
                    T.copy(tile, C[k % 16, 0, 0])
                    if k % 2 == 0:
                        T.copy(A[k % 32, 0, 0], slots[k % 13, :, :])
                    T.copy(slots[k % 13, :, :], C[k % rows, 0, 0])
                else:  # never one row in one turn
                    T.copy(tile, C[k % TURNS, 0, 0])
                    T.copy(slots[k % 13, :, :], C[TURNS - 1 - k % TURNS, 0, 0])
                    if form == "backwards":
                        T.copy(A[k % 20, 0, 0], tile)

    turns = TURNS // 2 if form == "few turns" else TURNS
    wanted, slots = np.zeros_like(TILES), np.full((13, 8, 16), 2.0, np.float32)
    tile = np.ones((8, 16), np.float32)
    for k in range(turns):
        if form == "several":
            slots[k % 13] = TILES[k % 32 if k % 2 == 0 else TURNS - 1 - k]
            wanted[k % 16] = tile
            wanted[k % rows] = slots[k % 13]
        else:
            wanted[k] = tile
            wanted[TURNS - 1 - k] = slots[k % 13]
            if form == "backwards":
                tile = TILES[k % 20]
    return main, [TILES, np.zeros_like(TILES), turns], {1: wanted}, AUTOMATIC


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_each_flag_is_needed(name: str) -> None:
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize("rows", [8, 16, 24, 32])
def test_no_barrier_between_turns(rows: int) -> None:
    """The second store of a turn waits for its first; nothing of the next turn does."""
    text = GROUP.check(f"two_stores_to_a_row {rows}").ascendc
    assert text.count("PipeBarrier<PIPE_MTE3>") == 1
