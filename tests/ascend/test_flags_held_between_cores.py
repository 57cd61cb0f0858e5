# SPDX-License-Identifier: Apache-2.0
"""No flag between cores that the compiler sets is set twice before it is waited for: in loops that
nothing else keeps together, with tiles in turn, in branches and in inner loops of no turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
#: What the host warns of is an error.
ERRORS = pytest.mark.filterwarnings("error::tilewright.errors.TilewrightWarning")
SIDE = 32
TURNS = 40  # the counter of a flag ends at 15
ROWS = 20  # tiles of a tensor

random = np.random.default_rng(8)
left = random.integers(-3, 4, (SIDE, SIDE)).astype(np.float16)
product = left.astype(np.float64) @ left.astype(np.float64)


def handed_on(form: str, threads: int, turns: int) -> Any:  # noqa: ANN401
    """A product is handed on by a tensor: by one tile of it, or by one for each turn."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        W: T.Tensor((TURNS * SIDE, SIDE), "float32"),
        m: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            s = T.alloc_ub((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.tile.fill(s, 0.0)
            for o in T.serial(turns):
                if form == "rows":
                    T.copy(c, W[o * SIDE, 0])
                    T.copy(W[o * SIDE, 0], u)
                    T.tile.add(s, s, u)
                if form == "branch":
                    if o < m:
                        T.copy(c, W[0, 0])
                        T.copy(W[0, 0], u)
                        T.tile.add(s, s, u)
                    T.copy(W[0, 0], u)
                    T.tile.add(s, s, u)
                if form == "arms":  # one core loads in one arm what the other stores in the other
                    if o == 0:
                        T.copy(s, W[o % 3 * SIDE, 0])
                        T.copy(W[o % 3 * SIDE, 0], u)
                    else:
                        T.copy(c, W[o % 3 * SIDE, 0])
                if form == "inner":
                    for p in T.serial(m):
                        T.copy(c, W[p * SIDE, 0])
                        T.copy(W[p * SIDE, 0], u)
                        T.tile.add(s, s, u)
                if form == "inner branch":
                    for p in T.serial(m):
                        if p % 4 == 1:
                            T.copy(c, W[p * SIDE, 0])
                        T.copy(W[p * SIDE, 0], u)
                        T.tile.add(s, s, u)
            T.copy(s, C)

    return main


def times(form: str, m: int) -> int:
    if form == "rows":
        return TURNS
    if form == "branch":
        return m + (TURNS if m else 0)
    if form == "arms":
        return 0
    return TURNS * (m if form == "inner" else len(range(1, m, 4)))


def pipelined(stages: int, turns: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((turns, SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=2) as _:
            a = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            s = T.alloc_fragment((SIDE, SIDE), "float32")
            T.clear(s)
            for k in T.Pipelined(turns, num_stages=stages):
                T.copy(A[k, 0, 0], a)
                T.gemm(a, a, c, clear_accum=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    s[i, j] = s[i, j] + c[i, j]
            T.copy(s, C)

    return main


for threads in (1, 2):
    for form, lengths in {
        "rows": (0,),
        "arms": (0,),
        "branch": (0, 1, 3, TURNS),
        "inner": (0, 1, ROWS),
        "inner branch": (0, 1, ROWS),
    }.items():
        for m in lengths:
            GROUP.add(
                f"{form}, {m}, {threads} threads",
                handed_on(form, threads, TURNS),
                [
                    left,
                    np.zeros((TURNS * SIDE, SIDE), np.float32),
                    m,
                    np.zeros((SIDE, SIDE), np.float32),
                ],
                times(form, m) * product,
                configs=AUTOMATIC,
            )
for stages, turns in ((2, 40), (2, 2), (3, 20), (4, 17)):
    many = random.integers(-3, 4, (turns, SIDE, SIDE)).astype(np.float16)
    GROUP.add(
        f"pipelined, {stages} stages, {turns} turns",
        pipelined(stages, turns),
        [many, np.zeros((SIDE, SIDE), np.float32)],
        (many.astype(np.float64) @ many.astype(np.float64)).sum(0),
        configs=AUTOMATIC,
    )


@pytest.mark.filterwarnings("error")
@ERRORS
@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize(
    "name", ["rows, 0, 1 threads", "branch, 3, 2 threads", f"inner, {ROWS}, 1 threads"]
)
def test_what_is_there_is_needed(name: str) -> None:
    removals = GROUP.removals(name)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []


def test_a_tensor_of_rows_is_handed_on_by_two_flags() -> None:
    """One there, one back: the second says what it is for."""
    text = GROUP.cases["rows, 0, 1 threads"].ascendc
    assert text.count("CrossCoreWaitFlag(0);") + text.count("CrossCoreWaitFlag(1);") == 3
    stages = GROUP.cases["rows, 0, 1 threads"].stages["check-hazards"]
    assert "so that no flag is set twice in a row" in stages
