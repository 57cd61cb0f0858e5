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
    with pytest.warns(UserWarning, match="from MTE2 to V is"):
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
    with pytest.warns(UserWarning, match="unless branches go together that the compiler takes one"):
        kernel = tilewright.compile(asked_twice(False), target="ascend")
    kernel(a, 2, c)
    np.testing.assert_array_equal(c, np.where(np.arange(4 * SIZE) < 2 * SIZE, a, 0) + 3)
