# SPDX-License-Identifier: Apache-2.0
"""What a core tells another one by a flag, and is told back, is over on all of its own pipes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

ROWS, TURNS = 32, 3
KEYS = tilewright.PassConfigKey
BY_HAND = {KEYS.TL_ASCEND_AUTO_SYNC: False, KEYS.TL_ASCEND_MEMORY_PLANNING: True}
random = np.random.default_rng(5)


def round_trips(is_told_back: bool) -> Any:  # noqa: ANN401
    """Vector cores hand A[turn] on to the cube core, and load the next one to the same tile behind
    the flag that says that the product is there."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((TURNS, 2 * ROWS, ROWS), "float16"),
        B: T.Tensor((ROWS, ROWS), "float16"),
        W: T.Tensor((2 * ROWS, ROWS), "float16"),
        C: T.Tensor((TURNS, 2 * ROWS, ROWS), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            tile = T.alloc_ub((ROWS, ROWS), "float16")
            a = T.alloc_L1((2 * ROWS, ROWS), "float16")
            b = T.alloc_L1((ROWS, ROWS), "float16")
            c = T.alloc_L0C((2 * ROWS, ROWS), "float32")
            with T.Scope("V"):
                for turn in T.serial(TURNS):
                    if is_told_back and turn > 0:
                        T.wait_cross_flag(1)
                    T.copy(A[turn, vid * ROWS, 0], tile)
                    T.set_flag("mte2", "mte3", 0)
                    T.wait_flag("mte2", "mte3", 0)
                    if not is_told_back and turn > 0:
                        T.wait_cross_flag(1)
                    T.copy(tile, W[vid * ROWS, 0])
                    T.set_cross_flag("MTE3", 0)
                T.wait_cross_flag(1)
            with T.Scope("C"):
                T.copy(B, b)
                for turn in T.serial(TURNS):
                    T.wait_cross_flag(0)
                    T.copy(W, a)
                    T.gemm_v0(a, b, c, init=True)
                    T.copy(c, C[turn, 0, 0])
                    T.set_cross_flag("FIX", 1)

    return main


A = random.standard_normal((TURNS, 2 * ROWS, ROWS)).astype(np.float16)
B = random.standard_normal((ROWS, ROWS)).astype(np.float16)


def run(kernel: Any) -> Any:  # noqa: ANN401
    made = np.zeros((TURNS, 2 * ROWS, ROWS), np.float32)
    kernel(A, B, np.zeros((2 * ROWS, ROWS), np.float16), made)
    return made


@pytest.mark.parametrize("pass_configs", [BY_HAND, {KEYS.TL_ASCEND_AUTO_SYNC: True}])
def test_a_round_trip_orders_all_pipes(pass_configs: dict[Any, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilewright.compile(round_trips(True), target="ascend", pass_configs=pass_configs)
        made = run(kernel)
    expected = A.astype(np.float64) @ B.astype(np.float64)
    np.testing.assert_allclose(made, expected, rtol=1e-3, atol=1e-3)


def test_without_it_nothing_does() -> None:
    """The next load doesn't wait for the store: it is told when compiled, and by the host."""
    with pytest.warns(TilewrightWarning) as told:
        kernel = tilewright.compile(round_trips(False), target="ascend", pass_configs=BY_HAND)
    text = "T.copy to UB overwrites what T.copy from UB of an earlier iteration reads of 'tile'"
    assert any(text in str(each.message) for each in told)
    with pytest.raises(RuntimeError, match="while DataCopyPad on PIPE_MTE3 may still be reading"):
        run(kernel)


@T.prim_func
def as_often_as_the_call_says(  # type: ignore[no-untyped-def]
    A: T.Tensor((TURNS, 2 * ROWS, ROWS), "float16"),
    B: T.Tensor((ROWS, ROWS), "float16"),
    W: T.Tensor((2 * ROWS, ROWS), "float16"),
    C: T.Tensor((TURNS, 2 * ROWS, ROWS), "float32"),
    D: T.Tensor((2 * ROWS, ROWS), "float16"),
    n: T.int32,
):
    """The tile is stored first, and loaded behind the loop: for n of 0 nobody tells anybody."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        tile = T.alloc_ub((ROWS, ROWS), "float16")
        a = T.alloc_L1((2 * ROWS, ROWS), "float16")
        b = T.alloc_L1((ROWS, ROWS), "float16")
        c = T.alloc_L0C((2 * ROWS, ROWS), "float32")
        with T.Scope("V"):
            T.tile.fill(tile, 1.0)
            for turn in T.serial(n):
                T.copy(tile, W[vid * ROWS, 0])
                T.set_cross_flag("MTE3", 0)
                T.wait_cross_flag(1)
                T.copy(A[turn, vid * ROWS, 0], tile)
            T.copy(tile, D[vid * ROWS, 0])
            T.copy(A[0, vid * ROWS, 0], tile)
            T.copy(tile, W[vid * ROWS, 0])
        with T.Scope("C"):
            T.copy(B, b)
            for turn in T.serial(n):
                T.wait_cross_flag(0)
                T.copy(W, a)
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, C[turn, 0, 0])
                T.set_cross_flag("FIX", 1)


@pytest.mark.filterwarnings("error")
def test_round_trips_of_a_loop_of_unknown_length() -> None:
    """What only turns of the loop order has no flag; what a run without any needs has one."""
    kernel = tilewright.compile(
        as_often_as_the_call_says,
        target="ascend",
        pass_configs={KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True},
    )
    text = kernel.get_kernel_source()
    assert text.count("SetFlag<HardEvent::MTE3_MTE2>") == 1  # behind the loop
    assert "SetFlag<HardEvent::FIX_M>" not in text
    tiles = np.concatenate([np.ones_like(A[:1]), A])
    for n in range(TURNS + 1):
        w, d = (np.zeros((2 * ROWS, ROWS), np.float16) for _ in range(2))
        made = np.zeros((TURNS, 2 * ROWS, ROWS), np.float32)
        assert kernel(A, B, w, made, d, n) == []
        expected = tiles[:n].astype(np.float64) @ B.astype(np.float64)
        np.testing.assert_allclose(made[:n], expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_array_equal(d, tiles[n])
        np.testing.assert_array_equal(w, A[0])
