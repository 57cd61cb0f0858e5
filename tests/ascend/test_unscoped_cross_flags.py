# SPDX-License-Identifier: Apache-2.0
"""Flags between the cores by hand in one body that the compiler splits: each belongs to the kind of
core that can set it, or that its sets tell, else to that of the statement before."""

from __future__ import annotations

import re
from linecache import getline
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

KEYS = tilewright.PassConfigKey
SIZE, TURNS = 32, 3
HALF = SIZE // 2
COMBINED = {
    KEYS.TL_ASCEND_AUTO_SYNC: True,
    KEYS.TL_ASCEND_MEMORY_PLANNING: True,
    KEYS.TL_ASCEND_AUTO_CV_COMBINE: True,
}
FACTORS = T.Tensor((SIZE, SIZE), "float16")
SUMS = T.Tensor((SIZE, SIZE), "float32")


@T.prim_func
def sum_behind_product(A: FACTORS, D: SUMS, W: SUMS, C: SUMS):  # type: ignore[no-untyped-def]
    """A @ A + D, by way of W."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_L1((SIZE, SIZE), "float16")
        c = T.alloc_L0C((SIZE, SIZE), "float32")
        d = T.alloc_ub((HALF, SIZE), "float32")
        w = T.alloc_ub((HALF, SIZE), "float32")
        T.copy(A, a)
        T.gemm_v0(a, a, c, init=True)
        T.copy(c, W)
        T.set_cross_flag("FIX", 0)
        T.copy(D[vid * HALF, 0], d)
        T.wait_cross_flag(0)
        T.copy(W[vid * HALF, 0], w)
        T.tile.add(w, w, d)
        T.copy(w, C[vid * HALF, 0])


@T.prim_func
def sum_before_product(A: FACTORS, D: SUMS, W: SUMS, C: SUMS):  # type: ignore[no-untyped-def]
    """The same: the text of the vector cores stands first, and a wait right behind a set."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_L1((SIZE, SIZE), "float16")
        c = T.alloc_L0C((SIZE, SIZE), "float32")
        d = T.alloc_ub((HALF, SIZE), "float32")
        w = T.alloc_ub((HALF, SIZE), "float32")
        T.copy(D[vid * HALF, 0], d)
        T.set_cross_flag("MTE2", 1)
        T.wait_cross_flag(0)
        T.copy(W[vid * HALF, 0], w)
        T.tile.add(w, w, d)
        T.copy(w, C[vid * HALF, 0])
        T.copy(A, a)
        T.gemm_v0(a, a, c, init=True)
        T.wait_cross_flag(1)
        T.copy(c, W)
        T.set_cross_flag("FIX", 0)


@T.prim_func
def sums_in_turns(A: FACTORS, D: SUMS, W: SUMS, C: SUMS):  # type: ignore[no-untyped-def]
    """A @ A + TURNS * D: each turn adds D, and the cube core waits until W has been read."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_L1((SIZE, SIZE), "float16")
        c = T.alloc_L0C((SIZE, SIZE), "float32")
        d = T.alloc_ub((HALF, SIZE), "float32")
        w = T.alloc_ub((HALF, SIZE), "float32")
        total = T.alloc_ub((HALF, SIZE), "float32")
        T.set_cross_flag("MTE2", 2)
        for turn in T.serial(TURNS):
            T.wait_cross_flag(2)
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c, W)
            T.set_cross_flag("FIX", turn % 2)
            T.wait_cross_flag(turn % 2)
            T.copy(W[vid * HALF, 0], w)
            T.set_cross_flag("MTE2", 2)
            T.copy(D[vid * HALF, 0], d)
            if turn == 0:
                T.tile.add(total, w, d)
            else:
                T.tile.add(total, total, d)
        T.wait_cross_flag(2)
        T.copy(total, C[vid * HALF, 0])


GROUP = KernelGroup(COMBINED)
random = np.random.default_rng(3)
a = random.integers(-2, 3, (SIZE, SIZE)).astype(np.float16)
d, nothing = random.integers(-9, 10, (SIZE, SIZE)).astype(np.float32), np.zeros((SIZE, SIZE), "f4")
product = a.astype(np.float64) @ a
for kernel, times in ((sum_behind_product, 1), (sum_before_product, 1), (sums_in_turns, TURNS)):
    GROUP.add(kernel.__name__, kernel, [a, d, nothing, nothing], product + times * d)


@pytest.mark.parametrize("name", GROUP.cases)
def test_each_flag_is_of_one_kind_of_core(name: str) -> None:
    text = GROUP.check(name).ascendc
    cube, vector = text.split("if ASCEND_IS_AIC", 1)[1].split("if ASCEND_IS_AIV", 1)
    for number in "0", "2":
        in_cube, in_vector = (
            {
                kind
                for kind in ("Set", "Wait")
                if re.search(rf"CrossCore{kind}Flag.*\({number}\);", part)
            }
            for part in (cube, vector)
        )
        assert not in_cube & in_vector


@pytest.mark.parametrize("name", GROUP.cases)
def test_checker_and_host_agree_without_a_flag(name: str) -> None:
    GROUP.check_removals(name)


def problem_of(kernel: Any, configs: dict[Any, bool]) -> tuple[str, str]:
    """The message of the only error, and the statement it is at."""
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel, target="ascend", pass_configs=configs)
    (error,) = caught.value.errors
    return error.message, getline(error.place.file, error.place.line).strip()


def test_nothing_says_which_core_waits() -> None:
    @T.prim_func
    def main(A: FACTORS, W: SUMS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            c = T.alloc_L0C((SIZE, SIZE), "float32")
            w = T.alloc_ub((HALF, SIZE), "float32")
            a = T.alloc_L1((SIZE, SIZE), "float16")
            T.wait_cross_flag(3)
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c, W)
            T.copy(W[vid * HALF, 0], w)

    assert problem_of(main, COMBINED) == (
        "no statement before this one says whether the cube core or the vector cores wait for this "
        'flag: put it into T.Scope("C") or T.Scope("V")',
        "T.wait_cross_flag(3)",
    )


def test_a_wait_of_both_kinds_that_only_one_can_end() -> None:
    """Without the switch what stands outside of scopes runs on both."""

    @T.prim_func
    def main(A: FACTORS, W: SUMS, C: SUMS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((SIZE, SIZE), "float16")
            c = T.alloc_L0C((SIZE, SIZE), "float32")
            w = T.alloc_ub((HALF, SIZE), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, c, init=True)
                T.copy(c, W)
            T.set_cross_flag("FIX", 0)
            T.wait_cross_flag(0)
            with T.Scope("V"):
                T.copy(W[vid * HALF, 0], w)
                T.copy(w, C[vid * HALF, 0])

    configs = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True}
    assert problem_of(main, configs) == (
        "cross-core flag 0 of the cube core is waited for, but nothing has set it",
        "T.wait_cross_flag(0)",
    )


def test_a_flag_that_its_own_core_sets() -> None:
    """Nobody tells the vector cores."""

    @T.prim_func
    def main(A: FACTORS, D: SUMS, W: SUMS, C: SUMS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((SIZE, SIZE), "float16")
            c = T.alloc_L0C((SIZE, SIZE), "float32")
            w = T.alloc_ub((HALF, SIZE), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c, W)
            T.copy(D[vid * HALF, 0], w)
            T.set_cross_flag("MTE2", 0)
            with T.Scope("V"):
                T.wait_cross_flag(0)
            T.copy(w, C[vid * HALF, 0])

    assert problem_of(main, COMBINED) == (
        "cross-core flag 0 of the vector cores is waited for, but nothing has set it",
        "T.wait_cross_flag(0)",
    )
