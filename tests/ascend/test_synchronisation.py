# SPDX-License-Identifier: Apache-2.0
"""Flags that the compiler inserts: the host finds nothing, and misses each that is left out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

Array = np.ndarray[Any, Any]

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
ROWS, COLUMNS, STEP = 64, 64, 16


@tilewright.jit(out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
def softmax() -> Any:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_shared((STEP, COLUMNS), "float32")
            largest = T.alloc_shared((STEP,), "float32")
            total = T.alloc_shared((STEP,), "float32")
            for i in T.serial(ROWS // STEP):
                T.copy(A[i * STEP, 0], x)
                T.reduce_max(x, largest, dim=1)
                for p, q in T.Parallel(STEP, COLUMNS):
                    x[p, q] = T.exp(x[p, q] - largest[p])
                T.reduce_sum(x, total, dim=1)
                for p, q in T.Parallel(STEP, COLUMNS):
                    x[p, q] = x[p, q] / total[p]
                T.copy(x, B[i * STEP, 0])

    return main


@tilewright.jit(out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
def two_buffers() -> Any:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((2, STEP, COLUMNS), "float32")
            y = T.alloc_ub((2, STEP, COLUMNS), "float32")
            for i in T.serial(ROWS // STEP):
                turn = i % 2
                T.copy(A[i * STEP, 0], x[turn, :, :])
                for p, q in T.Parallel(STEP, COLUMNS):
                    y[turn, p, q] = x[turn, p, q] + 1.0
                T.copy(y[turn, :, :], B[i * STEP, 0])

    return main


def reference_softmax(a: Array) -> Array:
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


KERNELS: list[tuple[Callable[[], Any], Callable[[Array], Array]]] = [
    (softmax, reference_softmax),
    (two_buffers, lambda a: a + 1.0),
]


@pytest.mark.parametrize(("make", "reference"), KERNELS, ids=["softmax", "two_buffers"])
def test_each_flag_is_needed(
    make: Callable[[], Any],
    reference: Callable[[Array], Array],
    monkeypatch: pytest.MonkeyPatch,
    capfd: Any,
) -> None:
    a = np.random.default_rng(3).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    monkeypatch.setenv("TILEWRIGHT_ASCEND", "list-syncs,threads=1")
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    kernel = make()
    result = np.asarray(kernel(a))
    np.testing.assert_allclose(result, reference(a.astype(np.float64)), rtol=1e-5, atol=1e-6)
    listed = capfd.readouterr().err
    assert "error:" not in listed
    sites = re.findall(r"synchronisation (\d+): (.*)", listed)
    assert len(sites) > 6
    silent = []
    for number, text in sites:
        monkeypatch.setenv("TILEWRIGHT_ASCEND", f"mute={number},threads=1")
        try:
            kernel(a)
        except RuntimeError:
            capfd.readouterr()
            continue
        if "error:" not in capfd.readouterr().err:
            silent.append(text)
    assert silent == []


@tilewright.jit(out_idx=[-1], target="ascend")
def flags_by_hand(without: str) -> Any:
    """One of its orderings may be left out."""
    has_load, has_store = without != "load", without != "store"
    has_free, has_drained = without != "free", without != "drained"
    has_barrier = without != "barrier"

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((STEP, COLUMNS), "float32")
            y = T.alloc_ub((STEP, COLUMNS), "float32")
            if has_free:
                T.set_flag("v", "mte2", 0)
            if has_drained:
                T.set_flag("mte3", "v", 0)
            for i in T.serial(ROWS // STEP):
                if has_free:
                    T.wait_flag("v", "mte2", 0)
                T.copy(A[i * STEP, 0], x)
                if has_load:
                    T.set_flag("mte2", "v", 0)
                    T.wait_flag("mte2", "v", 0)
                if has_drained:
                    T.wait_flag("mte3", "v", 0)
                T.tile.exp(y, x)
                if has_free:
                    T.set_flag("v", "mte2", 0)
                if has_barrier:
                    T.pipe_barrier("v")
                T.tile.add(y, y, 1.0)
                if has_store:
                    T.set_flag("v", "mte3", 0)
                    T.wait_flag("v", "mte3", 0)
                T.copy(y, B[i * STEP, 0])
                if has_drained:
                    T.set_flag("mte3", "v", 0)
            if has_free:
                T.wait_flag("v", "mte2", 0)
            if has_drained:
                T.wait_flag("mte3", "v", 0)

    return main


@pytest.mark.parametrize("without", ["", "load", "store", "free", "drained", "barrier"])
def test_the_compiler_says_what_the_host_says(
    without: str, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND", "threads=1")
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    a = np.zeros((ROWS, COLUMNS), np.float32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel = flags_by_hand(without)
    warned = any("nothing orders them" in str(each.message) for each in caught)
    found = False
    try:
        kernel(a)
    except RuntimeError:
        found = True
    found = found or "error:" in capfd.readouterr().err
    assert warned == found == bool(without)


@T.prim_func
def without_scalar_flags(  # type: ignore[no-untyped-def]
    A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float32")
):
    """By hand are the flags of the DMA only."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        x = T.alloc_ub((STEP, COLUMNS), "float32")
        y = T.alloc_ub((STEP, COLUMNS), "float32")
        T.set_flag("v", "mte2", 0)
        T.set_flag("mte3", "v", 0)
        for i in T.serial(ROWS // STEP):
            T.wait_flag("v", "mte2", 0)
            T.copy(A[i * STEP, 0], x)
            T.set_flag("mte2", "v", 0)
            T.wait_flag("mte2", "v", 0)
            T.wait_flag("mte3", "v", 0)
            T.tile.exp(y, x)
            T.set_flag("v", "mte2", 0)
            for j in T.serial(STEP):
                if j == 5:
                    break
                y[j, 0] = y[j, 1] * 2.0
            T.tile.add(y, y, 1.0)
            T.set_flag("v", "mte3", 0)
            T.wait_flag("v", "mte3", 0)
            T.copy(y, B[i * STEP, 0])
            T.set_flag("mte3", "v", 0)
        T.wait_flag("v", "mte2", 0)
        T.wait_flag("mte3", "v", 0)


def test_only_the_flags_of_the_scalar_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND", "threads=1")
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    a = np.random.default_rng(3).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    expected = np.exp(a.astype(np.float64))
    rows = np.arange(ROWS) % STEP < 5
    expected[rows, 0] = expected[rows, 1] * 2
    b = np.zeros((ROWS, COLUMNS), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        key = tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC_VS
        kernel = tilewright.compile(without_scalar_flags, target="ascend", pass_configs={key: True})
    kernel(a, b)
    np.testing.assert_allclose(b, expected + 1, rtol=1e-5)
    events = set(re.findall(r"HardEvent::(\w+)", kernel.get_kernel_source()))
    assert events == {"V_MTE2", "MTE3_V", "MTE2_V", "V_MTE3", "V_S", "S_V"}
    kernel = tilewright.compile(without_scalar_flags, target="ascend")
    with pytest.raises(RuntimeError, match=r'add T\.set_flag\("v", "s", id\) after line'):
        kernel(a, b)


@pytest.mark.filterwarnings("error")
def test_branches_decided_past_the_room_of_a_type() -> None:
    """As int8, 256 is 0 and 192 is -64: each turn of the loops takes its branch."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        W: T.Tensor((32, 32), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_L1((32, 32), "float16")
            sums = T.alloc_L0C((32, 32), "float32")
            part = T.alloc_ub((32, 32), "float32")
            with T.Scope("C"):
                for i in T.serial(2):
                    T.copy(A, tile)
                    T.gemm_v0(tile, tile, sums, init=True)
                    T.copy(sums, W)
                    if T.cast(i * 256, "int8") == 0:
                        T.set_cross_flag("FIX", 0)
            with T.Scope("V"):
                for i in T.serial(2):
                    if T.cast(i * 192, "int8") < 65:
                        T.wait_cross_flag(0)
                T.copy(W, part)
                T.tile.add(part, part, 1.0)
                T.copy(part, C)

    KEYS = tilewright.PassConfigKey
    configs = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True}
    kernel = tilewright.compile(main, target="ascend", pass_configs=configs)
    a = np.ones((32, 32), np.float16)
    w, c = np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32)
    with pytest.warns(TilewrightWarning, match="sets cross-core flag 0 again before it is waited"):
        kernel(a, w, c)
    np.testing.assert_array_equal(c, np.full((32, 32), 33))
