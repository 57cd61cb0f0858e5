# SPDX-License-Identifier: Apache-2.0
"""Flags by hand in branches on the loop's number, or on one question that is asked twice: they
match in each run, and the kernel is compiled; where they don't, it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

SIZE = 64


def prefetched(count: int, last: int) -> Any:
    """Two buffers in turn; the next load goes ahead but in the turns from `last` on."""

    @T.prim_func
    def main(A: T.Tensor((count * SIZE,), "float32"), C: T.Tensor((count * SIZE,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((2, SIZE), "float32")
            T.set_flag("mte3", "mte2", 0)
            T.set_flag("mte3", "mte2", 1)
            T.wait_flag("mte3", "mte2", 0)
            T.copy(A[0:SIZE], tiles[0, :])
            T.set_flag("mte2", "v", 0)
            for k in T.serial(count):
                if k < last:
                    T.wait_flag("mte3", "mte2", (k + 1) % 2)
                    T.copy(A[(k + 1) * SIZE : (k + 2) * SIZE], tiles[(k + 1) % 2, :])
                    T.set_flag("mte2", "v", (k + 1) % 2)
                T.wait_flag("mte2", "v", k % 2)
                T.tile.add(tiles[k % 2, :], tiles[k % 2, :], 1.0)
                T.set_flag("v", "mte3", k % 2)
                T.wait_flag("v", "mte3", k % 2)
                T.copy(tiles[k % 2, :], C[k * SIZE : (k + 1) * SIZE])
                T.set_flag("mte3", "mte2", k % 2)
            T.wait_flag("mte3", "mte2", 0)
            T.wait_flag("mte3", "mte2", 1)

    return main


@pytest.mark.parametrize("count", [2, 5, 300])  # some are written out, 300 are not
def test_a_load_ahead(count: int) -> None:
    a = np.arange(count * SIZE, dtype=np.float32)
    c = np.zeros_like(a)
    tilewright.compile(prefetched(count, count - 1), target="ascend")(a, c)
    np.testing.assert_array_equal(c, a + 1)


@pytest.mark.parametrize("count", [2, 5])
def test_a_load_too_few(count: int) -> None:
    with pytest.raises(tilewright.CompileError, match="from MTE2 to V is"):
        tilewright.compile(prefetched(count, count - 2), target="ascend")


def test_a_load_too_few_in_a_long_loop() -> None:
    """Its last iteration but one is not written out: then the host has the last word."""
    with pytest.warns(
        UserWarning, match="events 0 and 1 from MTE2 to V, .* match only if branches"
    ):
        kernel = tilewright.compile(prefetched(300, 298), target="ascend")
    a = np.arange(300 * SIZE, dtype=np.float32)
    with pytest.raises(RuntimeError, match="MTE2"):
        kernel(a, np.zeros_like(a))


def one_after_the_other(count: int, first: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((count * SIZE,), "float32"), C: T.Tensor((count * SIZE,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tile = T.alloc_ub((SIZE,), "float32")
            for k in T.serial(count):
                if k > first:
                    T.wait_flag("mte3", "mte2", 0)
                T.copy(A[k * SIZE : k * SIZE + SIZE], tile)
                T.set_flag("mte2", "mte3", 0)
                T.wait_flag("mte2", "mte3", 0)
                T.copy(tile, C[k * SIZE : k * SIZE + SIZE])
                if k < count - 1:
                    T.set_flag("mte3", "mte2", 0)

    return main


@pytest.mark.parametrize("count", [1, 2, 7, 500])
def test_all_but_the_first_wait(count: int) -> None:
    a = np.arange(count * SIZE, dtype=np.float32)
    c = np.zeros_like(a)
    tilewright.compile(one_after_the_other(count, 0), target="ascend")(a, c)
    np.testing.assert_array_equal(c, a)


def test_all_but_the_second_wait() -> None:
    with pytest.raises(tilewright.CompileError, match="event 0 from MTE3 to MTE2 is"):
        tilewright.compile(one_after_the_other(7, 1), target="ascend")


def asked_twice(is_same: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((4 * SIZE,), "float32"), n: T.int32, C: T.Tensor((4 * SIZE,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as (cid, vid), T.Scope("V"):
            tile = T.alloc_ub((SIZE,), "float32")
            other = T.alloc_ub((SIZE,), "float32")
            T.tile.fill(tile, 0.0)
            T.set_flag("v", "mte2", 1)
            T.wait_flag("v", "mte2", 1)
            if cid < n:
                T.copy(A[cid * SIZE : cid * SIZE + SIZE], tile)
                T.set_flag("mte2", "v", 0)
            T.tile.fill(other, 3.0)
            if cid < n if is_same else cid + n < 2 * n:
                T.wait_flag("mte2", "v", 0)
            T.pipe_barrier("v")
            T.tile.add(tile, tile, other)
            T.set_flag("v", "mte3", 0)
            T.wait_flag("v", "mte3", 0)
            T.copy(tile, C[cid * SIZE : cid * SIZE + SIZE])

    return main


def test_one_question_asked_twice(recwarn: pytest.WarningsRecorder) -> None:
    a = np.arange(4 * SIZE, dtype=np.float32)
    c = np.zeros_like(a)
    tilewright.compile(asked_twice(True), target="ascend")(a, 2, c)
    np.testing.assert_array_equal(c, np.where(np.arange(4 * SIZE) < 2 * SIZE, a, 0) + 3)
    assert not recwarn.list


def test_two_questions() -> None:
    """They go together, but the compiler can't tell; the host counts."""
    a = np.arange(4 * SIZE, dtype=np.float32)
    c = np.zeros_like(a)
    told = "event 0 from MTE2 to V matches only if branches go together that the compiler takes one"
    with pytest.warns(UserWarning, match=told):
        kernel = tilewright.compile(asked_twice(False), target="ascend")
    kernel(a, 2, c)
    np.testing.assert_array_equal(c, np.where(np.arange(4 * SIZE) < 2 * SIZE, a, 0) + 3)


def blocks_in_turn(is_added_to: bool) -> Any:
    """The next block's load is issued before this one's store: whether there is a next one says
    what the last iteration asked of its own number."""
    core_count, rows = 4, 8

    @T.prim_func
    def main(A: T.Tensor((T.dyn["n"], 64), "float32"), C: T.Tensor((T.dyn["n"], 64), "float32")):  # type: ignore[no-untyped-def]
        blocks = T.ceildiv(A.shape[0], rows)
        with T.Kernel(core_count, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((2, rows, 64), "float32")
            if vid == 0:
                T.set_flag("mte3", "mte2", 0)
                T.set_flag("mte3", "mte2", 1)
                if cid < blocks:
                    T.wait_flag("mte3", "mte2", 0)
                    T.copy(A[cid * rows, 0], tiles[0, :, :])
                    T.set_flag("mte2", "mte3", 0)
                for i in T.serial(T.ceildiv(blocks, core_count)):
                    block = cid + i * core_count
                    if block < blocks:
                        if block + core_count < blocks:
                            T.wait_flag("mte3", "mte2", (i + 1) % 2)
                            T.copy(A[(block + core_count) * rows, 0], tiles[(i + 1) % 2, :, :])
                            T.set_flag("mte2", "mte3", (i + 1) % 2)
                        T.wait_flag("mte2", "mte3", i % 2)
                        if is_added_to:
                            T.tile.add(tiles[i % 2, :, :], tiles[i % 2, :, :], 1.0)
                        T.copy(tiles[i % 2, :, :], C[block * rows, 0])
                        T.set_flag("mte3", "mte2", i % 2)
                T.wait_flag("mte3", "mte2", 0)
                T.wait_flag("mte3", "mte2", 1)

    return main


def test_blocks_in_turn() -> None:
    """One warning for all such flags, and none of what they order."""
    with pytest.warns(UserWarning) as told:
        kernel = tilewright.compile(blocks_in_turn(False), target="ascend")
    assert len(told) == 1
    assert str(told[0].message).startswith(
        "events 0 and 1 from MTE2 to MTE3, events 0 and 1 from MTE3 to MTE2 match only if branches "
        "go together that the compiler takes one by one"
    )
    for rows in (1, 8, 100):
        a = np.arange(rows * 64, dtype=np.float32).reshape(rows, 64)
        c = np.zeros_like(a)
        kernel(a, c)
        np.testing.assert_array_equal(c, a)


def test_what_blocks_in_turn_lack() -> None:
    """No flag leads to V, nor from it."""
    with pytest.warns(UserWarning) as told:
        kernel = tilewright.compile(blocks_in_turn(True), target="ascend")
    texts = [str(each.message) for each in told]
    assert any("set a flag from MTE2 to V" in text for text in texts)
    assert any("set a flag from V to MTE3" in text for text in texts)
    a = np.zeros((40, 64), np.float32)
    with pytest.raises(RuntimeError, match="PIPE_V"):
        kernel(a, np.zeros_like(a))
