# SPDX-License-Identifier: Apache-2.0
"""Flags between the cores by hand, those within a core by the compiler: a tensor that both kinds of
core touch keeps the order of the text in each of them, but for what the flags by hand order."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

SIZE, TURNS = 32, 3
KEYS = tilewright.PassConfigKey
WITHIN_CORES = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True}
random = np.random.default_rng(5)


@T.prim_func
def overwritten_by_its_reader(  # type: ignore[no-untyped-def]
    A: T.Tensor((SIZE, SIZE), "float16"),
    W: T.Tensor((SIZE, SIZE), "float16"),
    C: T.Tensor((TURNS, SIZE, SIZE), "float32"),
):
    """The cube core loads W and, by another pipe, stores A @ A where it was."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_L1((SIZE, SIZE), "float16")
        w = T.alloc_L1((SIZE, SIZE), "float16")
        square = T.alloc_L0C((SIZE, SIZE), "float32")
        product = T.alloc_L0C((SIZE, SIZE), "float32")
        half = T.alloc_ub((SIZE // 2, SIZE), "float16")
        with T.Scope("C"):
            T.copy(A, a)
            for i in T.serial(TURNS):
                T.wait_cross_flag(1)
                T.copy(W, w)
                T.gemm_v0(a, a, square, init=True)
                T.copy(square, W)
                T.set_cross_flag("FIX", 0)
                T.gemm_v0(a, w, product, init=True)
                T.copy(product, C[i, 0, 0])
        with T.Scope("V"):
            T.tile.fill(half, 1.0)
            for _turn in T.serial(TURNS):
                T.copy(half, W[vid * SIZE // 2, 0])
                T.set_cross_flag("MTE3", 1)
                T.wait_cross_flag(0)
                T.copy(W[vid * SIZE // 2, 0], half)
                T.tile.add(half, half, 1.0)


@T.prim_func
def overwritten_by_the_other_core(  # type: ignore[no-untyped-def]
    A: T.Tensor((SIZE, SIZE), "float16"),
    W: T.Tensor((SIZE, SIZE), "float16"),
    P: T.Tensor((SIZE, SIZE), "float16"),
    C: T.Tensor((SIZE, SIZE), "float16"),
):
    """The vector cores need the W that they load only behind the flag that lets go of it."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_L1((SIZE, SIZE), "float16")
        p = T.alloc_L1((SIZE, SIZE), "float16")
        product = T.alloc_L0C((SIZE, SIZE), "float32")
        x = T.alloc_ub((SIZE // 2, SIZE), "float16")
        y = T.alloc_ub((SIZE // 2, SIZE), "float16")
        with T.Scope("C"):
            T.copy(A, a)
            T.gemm_v0(a, a, product, init=True)
            T.copy(product, P)
            T.copy(product, W)
            T.set_cross_flag("FIX", 0)
            T.wait_cross_flag(1)
            T.copy(P, p)
            T.gemm_v0(a, p, product, init=True)
            T.copy(product, W)
            T.set_cross_flag("FIX", 2)
        with T.Scope("V"):
            T.wait_cross_flag(0)
            T.copy(P[vid * SIZE // 2, 0], y)
            T.copy(W[vid * SIZE // 2, 0], x)
            T.tile.add(y, y, 1.0)
            T.copy(y, P[vid * SIZE // 2, 0])
            T.set_cross_flag("MTE3", 1)
            T.wait_cross_flag(2)
            T.copy(W[vid * SIZE // 2, 0], y)
            T.tile.add(x, x, y)
            T.copy(x, C[vid * SIZE // 2, 0])


def number_of(kernel: tilewright.Kernel, flag: str) -> int:
    return kernel.get_kernel_source().count(f"SetFlag<HardEvent::{flag}>")


@pytest.mark.filterwarnings("error")
def test_a_reader_overwrites() -> None:
    kernel = tilewright.compile(
        overwritten_by_its_reader, target="ascend", pass_configs=WITHIN_CORES
    )
    assert number_of(kernel, "MTE2_FIX") == 1
    for ordered in ("FIX_MTE2", "MTE3_MTE2"):  # by the flags there and back
        assert number_of(kernel, ordered) == 0
    assert number_of(kernel, "FIX_M") == 2  # of the product: before the loop and in it
    a = random.integers(-1, 2, (SIZE, SIZE)).astype(np.float16)
    w, c = np.zeros_like(a), np.zeros((TURNS, SIZE, SIZE), np.float32)
    kernel(a, w, c)
    square = a.astype(float) @ a
    wanted = [a @ np.ones_like(square)] + [a @ (square + 1)] * (TURNS - 1)
    np.testing.assert_array_equal(c, wanted)
    np.testing.assert_array_equal(w, square)


@pytest.mark.filterwarnings("error")
def test_the_other_core_overwrites() -> None:
    kernel = tilewright.compile(
        overwritten_by_the_other_core, target="ascend", pass_configs=WITHIN_CORES
    )
    assert number_of(kernel, "MTE2_MTE3") == 1
    for ordered in ("M_MTE1", "FIX_MTE2", "FIX_M", "MTE3_MTE2"):
        assert number_of(kernel, ordered) == 0
    a = random.integers(-1, 2, (SIZE, SIZE)).astype(np.float16)
    w, p, c = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    kernel(a, w, p, c)
    square = a.astype(float) @ a
    np.testing.assert_array_equal(c, square + a @ (square + 1))
