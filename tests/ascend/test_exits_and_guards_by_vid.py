# SPDX-License-Identifier: Apache-2.0
"""Loops that a vector core leaves where vid says so, after turns that end early; and branches that
keep a copy from the cube core inside of its tile: those it doesn't leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

GROUP = KernelGroup()
SIDE = 32
HALF = SIDE // 2
A = (np.arange(SIDE * SIDE) % 5 - 2).reshape(SIDE, SIDE).astype(np.float16)
PRODUCT = A.astype(np.float64) @ A.astype(np.float64)


@T.prim_func
def two_exits(
    A: T.Tensor((SIDE, SIDE), "float16"), n: T.int32, C: T.Tensor((SIDE, SIDE), "float32")
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_shared((SIDE, SIDE), "float16")
        c = T.alloc_fragment((SIDE, SIDE), "float32")
        T.copy(A, a)
        T.gemm_v0(a, a, c, init=True)
        for k in T.serial(n):
            if k == 1:
                continue
            T.atomic_add(C[0, 0], c)
            if vid == 0:
                continue
            T.atomic_add(C[0, 0], c)
            if k == 2:
                T.loop_break()


#: By the number of turns: core 0 goes through all but one, core 1 leaves in the third.
for turns, adds in ((0, 0), (1, 1 + 2), (2, 1 + 2), (3, 2 + 4), (4, 3 + 4), (6, 5 + 4)):
    GROUP.add(
        f"two exits, {turns}",
        two_exits,
        [A, turns, np.zeros((SIDE, SIDE), np.float32)],
        adds * PRODUCT,
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_exits_by_vid(name: str) -> None:
    GROUP.check(name)


def refused(form: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        n: T.int32,
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.tile.fill(u, 0.0)
            if form == "part unwritten":
                T.gemm_v0(a[0:HALF, :], a, c[0:HALF, :], init=True)
                if n > 0:
                    T.gemm_v0(a[HALF:SIDE, :], a, c[HALF:SIDE, :], init=True)
                if vid == 1:  # noqa: SIM102
                    if n > 0:
                        T.copy(c[HALF:SIDE, :], u[0:HALF, :])
            else:
                T.gemm_v0(a, a, c, init=True)
            if form == "guard":
                if vid == 1:  # noqa: SIM102
                    if n < 2:
                        T.copy(c[n * HALF : n * HALF + HALF, :], u[0:HALF, :])
            elif form == "condition":
                if vid < n:
                    T.copy(c[(n - 1) * HALF : n * HALF, :], u[0:HALF, :])
            elif form == "loop":
                for _k in T.serial(vid, 2):
                    if n > 0:
                        T.copy(c[(n - 1) * HALF : n * HALF, :], u[0:HALF, :])
            elif form == "stored":
                for k in T.serial(n):
                    T.copy(c[vid * HALF : vid * HALF + HALF, :], C[0, vid * HALF, 0])
                    T.gemm_v0(a, a, c)
                    if vid == 0:
                        continue
                    if k == 1:
                        T.loop_break()
            elif form == "changed":
                for k in T.serial(n):
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[i, j] = c[i, j] * 2.0
                    if vid == 0:
                        continue
                    if k == 0:
                        T.loop_break()
                T.copy(c, C[0, 0, 0])
            T.copy(u, C[vid, 0, 0])

    return main


@pytest.mark.parametrize(
    ("form", "words", "place"),
    [
        ("part unwritten", "no flag can order them", "T.copy(c[HALF:SIDE, :]"),
        ("guard", "no flag can order them", "T.copy(c[n * HALF"),
        ("condition", "no flag can order them", "T.copy(c[(n - 1) * HALF"),
        ("loop", "no flag can order them", "T.copy(c[(n - 1) * HALF"),
        ("stored", "no flag can order them", "if vid == 0:"),
        ("changed", "what vid says here reaches only one of them", "c[i, j] = c[i, j] * 2.0"),
    ],
)
def test_what_is_refused(form: str, words: str, place: str) -> None:
    with pytest.raises(CompileError) as caught:
        tilewright.compile(refused(form), target="ascend", pass_configs=AUTOMATIC)
    assert words in str(caught.value) and place in str(caught.value)
