# SPDX-License-Identifier: Apache-2.0
"""Meetings of all cores, in the text of each kind of core and beside flags between them: what the
checker can't follow is the host's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

KEYS = tilewright.PassConfigKey
CONFIGS = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True}


def test_each_kind_of_core_meets_in_its_own_scope() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"),
        C: T.Tensor((64,), "float32"),
        E: T.Tensor((32, 32), "float16"),
    ):
        with T.Kernel(1, is_npu=True, threads=1):
            part = T.alloc_ub((64,), "float32")
            after = T.alloc_ub((64,), "float32")
            tile = T.alloc_L1((32, 32), "float16")
            with T.Scope("V"):
                T.copy(A, part)
                T.copy(part, C)
                T.sync_all()
                T.sync_all()
                T.copy(C, after)
                T.copy(after, A)
                T.wait_cross_flag(0)
            with T.Scope("C"):
                T.sync_all()
                T.copy(E, tile)
                T.set_cross_flag("FIX", 0)
                T.sync_all()

    source = tilewright.compile(main, target="ascend", pass_configs=CONFIGS).get_kernel_source()
    assert source.count("SyncAll") == 4


def handed_on(is_met_before: bool) -> Any:
    """The vector core writes W before both meet, or behind, while the cube core reads. Each
    stands in its own scope; the text says nothing of the order."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        W: T.Tensor((32, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1):
            part = T.alloc_ub((32, 32), "float16")
            tile = T.alloc_L1((32, 32), "float16")
            sums = T.alloc_L0C((32, 32), "float32")
            with T.Scope("C"):
                T.sync_all()
                T.copy(W, tile)
                T.gemm_v0(tile, tile, sums, init=True)
                T.copy(sums, C)
            with T.Scope("V"):
                T.copy(A, part)
                if is_met_before:
                    T.copy(part, W)
                    T.sync_all()
                else:
                    T.sync_all()
                    T.copy(part, W)

    return main


ones = np.ones((32, 32), np.float16)


def test_meetings_order_what_stands_in_two_texts() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilewright.compile(handed_on(True), target="ascend", pass_configs=CONFIGS)
    c = np.zeros((32, 32), np.float32)
    kernel(ones, np.zeros_like(ones), c)
    np.testing.assert_array_equal(c, np.full((32, 32), 32))


def test_what_both_do_behind_a_meeting_is_not_ordered() -> None:
    with pytest.warns(match="nothing orders them"):
        kernel = tilewright.compile(handed_on(False), target="ascend", pass_configs=CONFIGS)
    with pytest.raises(RuntimeError, match="nothing orders this"):
        kernel(ones, np.zeros_like(ones), np.zeros((32, 32), np.float32))


@pytest.mark.parametrize("is_automatic", [False, True])
def test_a_core_that_only_sets_a_flag_is_there(is_automatic: bool) -> None:
    """Without it the other core would wait for ever."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, is_npu=True, threads=1):
            a = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            with T.Scope("C"):
                T.wait_cross_flag(1)
                T.copy(A, a)
                T.barrier_all()
                T.gemm_v0(a, a, c, init=True)
                T.barrier_all()
                T.copy(c, C)
            with T.Scope("V"):
                T.set_cross_flag("MTE2", 1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilewright.compile(
            main, target="ascend", pass_configs=CONFIGS if is_automatic else None
        )
    c = np.zeros((32, 32), np.float32)
    kernel(ones, c)
    np.testing.assert_array_equal(c, np.full((32, 32), 32))


@pytest.mark.parametrize("target", ["reference", "ascend"])
def test_two_meetings_one_behind_the_other(target: str) -> None:
    """A core that is at the second one waits for those that haven't left the first."""

    @T.prim_func
    def main(A: T.Tensor((4, 64), "float32"), W: T.Tensor((4, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True) as (cid, vid):
            t = T.alloc_ub((64,), "float32")
            own = cid * 2 + vid
            T.copy(A[own, 0], t)
            T.copy(t, W[own, 0])
            T.sync_all()
            T.copy(W[3 - own, 0], t)
            T.tile.mul(t, t, 2.0)
            T.sync_all()
            T.copy(t, W[own, 0])

    a = np.arange(4 * 64, dtype=np.float32).reshape(4, 64)
    w = np.zeros_like(a)
    tilewright.compile(main, target=target, pass_configs=CONFIGS)(a, w)
    np.testing.assert_array_equal(w, a[::-1] * 2)


@pytest.mark.parametrize("blocks", [48, 49])
def test_more_blocks_than_cores(blocks: int) -> None:
    """They can't all be on the chip at a time: a warning tells it, and the host what it came to."""

    @T.prim_func
    def main(A: T.Tensor((64, 16), "float32"), B: T.Tensor((64, 16), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(blocks, threads=1, is_npu=True) as cid:
            a = T.alloc_ub((16,), "float32")
            T.copy(A[cid, 0], a)
            T.copy(a, B[cid, 0])
            T.sync_all()
            T.copy(B[blocks - 1 - cid, 0], a)
            T.copy(a, A[cid, 0])

    a = np.arange(64 * 16, dtype=np.float32).reshape(64, 16)
    given, b = a.copy(), np.zeros_like(a)
    if blocks == 48:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tilewright.compile(main, target="ascend", pass_configs=CONFIGS)(given, b)
        np.testing.assert_array_equal(given[:48], a[47::-1])
        return
    with pytest.warns(UserWarning) as told:
        kernel = tilewright.compile(main, target="ascend", pass_configs=CONFIGS)
    (warning,) = [str(each.message) for each in told]
    assert (
        "all blocks wait for each other here, but the grid has 49, and the chip has cores for 48 "
        "at a time: launch at most 48 blocks, each of which does several parts of the work"
    ) in warning
    with pytest.raises(
        RuntimeError,
        match="deadlock: the launch has 49 blocks, but the chip has cores for 48 at a time, which "
        "wait in SyncAll for the others",
    ):
        kernel(given, b)
