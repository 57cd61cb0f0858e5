# SPDX-License-Identifier: Apache-2.0
"""Flags between the cores by hand that don't match, in loops of any length: told where the kernel
is compiled, and by the host where it runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

ROWS, SIDE, TURNS = 16, 32, 6
KEYS = tilewright.PassConfigKey
WITHIN_CORES = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True}
GROUP = KernelGroup(WITHIN_CORES)
random = np.random.default_rng(40)


def handed_over(form: str, length: int | None) -> Any:
    """A @ B, one tile of rows per turn of a loop of constant length or up to the argument `k`; the
    vector cores add 1. A flag tells of each tile, and one back that it is loaded. What a form does
    otherwise stands in its branches."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(((length or TURNS) * ROWS, SIDE), "float16"),  # type: ignore[valid-type]
        B: T.Tensor((SIDE, SIDE), "float16"),
        W: T.Tensor(((length or TURNS) * ROWS, SIDE), "float32"),  # type: ignore[valid-type]
        k: T.int32,
        C: T.Tensor(((length or TURNS) * ROWS, SIDE), "float32"),  # type: ignore[valid-type]
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((ROWS, SIDE), "float16")
            b = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((ROWS, SIDE), "float32")
            u = T.alloc_ub((ROWS // 2, SIDE), "float32")
            with T.Scope("C"):
                T.copy(B, b)
                for i in T.serial(length or k):
                    T.copy(A[i * ROWS, 0], a)
                    T.gemm_v0(a, b, c, init=True)
                    T.copy(c, W[i * ROWS, 0])
                    if form != "no set":
                        T.set_cross_flag("FIX", 0)
                    if form == "two ways":
                        T.wait_cross_flag(1)
                    if form in ("twice", "two ways"):
                        T.set_cross_flag("FIX", 0)
                    T.wait_cross_flag(1)
            with T.Scope("V"):
                for i in T.serial(length or k):
                    if form == "in two branches":
                        if i == 2:
                            T.wait_cross_flag(0)
                        else:
                            T.wait_cross_flag(0)
                    elif form == "skipped":
                        if i != 2:
                            T.wait_cross_flag(0)
                    elif form == "left out":
                        if i == 2:
                            T.set_cross_flag("MTE2", 1)
                            continue
                        T.wait_cross_flag(0)
                    elif form != "no wait":
                        T.wait_cross_flag(0)
                    if form == "two ways":
                        T.set_cross_flag("MTE2", 1)
                        T.wait_cross_flag(0)
                    T.copy(W[i * ROWS + vid * ROWS // 2, 0], u)
                    T.set_cross_flag("MTE2", 1)
                    T.tile.add(u, u, 1.0)
                    T.copy(u, C[i * ROWS + vid * ROWS // 2, 0])

    rows = (length or TURNS) * ROWS
    a = random.integers(-2, 3, (rows, SIDE)).astype(np.float16)
    b = random.integers(-2, 3, (SIDE, SIDE)).astype(np.float16)
    results = [np.zeros((rows, SIDE), np.float32) for _ in range(2)]
    wide = a.astype(np.float64) @ b
    return main, [a, b, results[0], length or TURNS, results[1]], {2: wide, 4: wide + 1}


LENGTHS = (8, 16, 40, None)


@GROUP.each(form=("right", "in two branches", "two ways"), length=LENGTHS)
def matching(form: str, length: int | None) -> Any:
    return handed_over(form, length)


@pytest.mark.parametrize("name", GROUP.cases)
def test_flags_that_match(name: str) -> None:
    GROUP.check(name)
    assert GROUP.told(name) == []


@pytest.mark.parametrize("name", GROUP.cases)
def test_each_that_is_taken_out(name: str) -> None:
    """Nothing sets a flag or waits for it any more, a wait is skipped in one turn, and a flag is
    set twice in a turn and waited for once, or the other way round. What the compiler has put in
    is all needed: what the flags order, there and back, has none, also of a tile that only the
    turns behind the tensor's edge fill."""
    removals = GROUP.removals(name)
    cross = [number for number, line in removals.lines.items() if "cross_flag" in line]
    assert len(cross) >= 2
    assert [removals.lines[number] for number in cross if not removals.checker[number]] == []
    assert removals.left_to_host == set()
    assert removals.missed() == removals.needless() == []
    assert [text for text, is_needed in removals.inserted.items() if not is_needed] == []


LEFT = "cross-core flag 0 of the vector cores is still set when the kernel ends"
IN_VAIN = "cross-core flag 0 of the vector cores is waited for, but nothing has set it"


@pytest.mark.parametrize("length", [2, *LENGTHS, 1000])
@pytest.mark.parametrize(
    ("form", "wanted"), [("no set", IN_VAIN), ("no wait", LEFT), ("twice", LEFT)]
)
def test_flags_that_no_length_mends(form: str, wanted: str, length: int | None) -> None:
    kernel, *_ = handed_over(form, length)
    with pytest.raises(tilewright.CompileError, match=wanted):
        tilewright.compile(kernel, target="ascend", pass_configs=WITHIN_CORES)


@pytest.mark.parametrize("length", [8, 16, 100, 1000])
@pytest.mark.parametrize("form", ["skipped", "left out"])
def test_a_turn_without_its_wait(form: str, length: int) -> None:
    kernel, *_ = handed_over(form, length)
    with pytest.raises(tilewright.CompileError, match=LEFT):
        tilewright.compile(kernel, target="ascend", pass_configs=WITHIN_CORES)


@pytest.mark.parametrize("form", ["skipped", "left out"])
def test_a_turn_that_only_longer_loops_have(form: str) -> None:
    """Up to two turns all is right: a warning, and the host says the same of more."""
    kernel, arguments, _ = handed_over(form, None)
    wanted = (
        f"{LEFT}, with each number of turns of its loops from 3 on as the compiler has followed"
    )
    with pytest.warns(UserWarning, match=wanted):
        made = tilewright.compile(kernel, target="ascend", pass_configs=WITHIN_CORES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(*arguments[:3], 2, arguments[4])
    with pytest.raises(RuntimeError, match="cross"):
        made(*arguments)


def test_branches_that_are_not_followed() -> None:
    """The compiler says that it leaves the flags to the host."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        go: T.Tensor((1,), "int32"),
        W: T.Tensor((SIDE, SIDE), "float32"),
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            u = T.alloc_ub((SIDE // 2, SIDE), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, c, init=True)
                T.copy(c, W)
                if go[0] > 0:
                    T.set_cross_flag("FIX", 0)
            with T.Scope("V"):
                if go[0] > 0:
                    T.wait_cross_flag(0)
                T.copy(W[vid * SIDE // 2, 0], u)
                T.copy(u, C[vid * SIDE // 2, 0])

    wanted = (
        "the compiler can't follow the kernel's flags between cores through the branches and loops "
        "around them: what they order isn't checked while it is compiled, but the host checks it"
    )
    with pytest.warns(UserWarning, match=wanted):
        made = tilewright.compile(main, target="ascend", pass_configs=WITHIN_CORES)
    a, results = np.eye(SIDE, dtype=np.float16), np.zeros((2, SIDE, SIDE), np.float32)
    made(a, np.ones(1, np.int32), *results)
    np.testing.assert_array_equal(results[1], a)
    with pytest.raises(RuntimeError):
        made(a, np.zeros(1, np.int32), *results)
