# SPDX-License-Identifier: Apache-2.0
"""Gemms into parts of a tile that vector instructions use: each part has its newer twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
SIDE = 32


def parts(form: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        which: T.Tensor((8,), "int32"),
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((2, SIDE, SIDE), "float32")
            T.copy(A, a)
            T.copy(B, b)
            if form == "each changed":
                for p in T.serial(2):
                    T.gemm_v0(a, b, c[p, :, :], init=True)
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[p, i, j] = c[p, i, j] * 2.0
            elif form == "each changed, in steps":
                for p in T.serial(2):
                    for k in T.serial(3):
                        T.gemm_v0(a, b, c[p, :, :], init=(k == 0))
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[p, i, j] = c[p, i, j] * 2.0
            elif form == "one of two":
                T.clear(c)
                T.gemm_v0(a, b, c[0, :, :], init=True)
            elif form == "the other by a nest":
                T.gemm_v0(a, b, c[0, :, :], init=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    c[1, i, j] = 3.0
            elif form == "both in each turn":
                for r in T.serial(2):
                    T.gemm_v0(a, b, c[0, :, :], init=True)
                    T.gemm_v0(a, b, c[1, :, :], init=True)
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[r, i, j] = c[r, i, j] * 2.0
            elif form == "read between":
                T.gemm_v0(a, b, c[0, :, :], init=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    C[0, i, j] = c[0, i, j]
                T.gemm_v0(a, b, c[1, :, :], init=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    c[0, i, j] = c[0, i, j] + c[1, i, j]
                T.gemm_v0(a, b, c[1, :, :])
            elif form == "between two":
                for p in T.serial(2):
                    T.gemm_v0(a, b, c[p, :, :], init=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    c[0, i, j] = c[0, i, j] * 2.0
                T.gemm_v0(a, b, c[1, :, :], init=True)
            elif form == "all cleared, then added":
                T.clear(c)
                for p in T.serial(2):
                    for _k in T.serial(3):
                        T.gemm_v0(a, b, c[p, :, :])
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[p, i, j] = c[p, i, j] * 2.0
            elif form == "each cleared, then added":
                for _r in T.serial(2):
                    for p in T.serial(2):
                        T.clear(c[p, :, :])
                        for _k in T.serial(3):
                            T.gemm_v0(a, b, c[p, :, :])
                        for i, j in T.Parallel(SIDE, SIDE):
                            c[1 - p, i, j] = 1.0 + p
            elif form == "in turns":
                for r in T.serial(4):
                    T.gemm_v0(a, b, c[r % 2, :, :], init=(r < 2))
                    if r == 0:
                        for i, j in T.Parallel(SIDE, SIDE):
                            c[1, i, j] = 5.0
            elif form == "which memory says":
                T.clear(c)
                for i, j in T.Parallel(SIDE, SIDE):
                    c[0, i, j] = 5.0
                T.gemm_v0(a, b, c[which[0], :, :], init=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    c[1, i, j] = c[1, i, j] * 2.0
            elif form == "added to what a nest has changed":
                for r in T.serial(2):
                    T.gemm_v0(a, b, c[1, :, :], init=(r == 0))
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[r, i, j] = 2.0
                    T.gemm_v0(a, b, c[r, :, :])
            else:  # added to what memory says
                for p in T.serial(2):
                    T.gemm_v0(a, b, c[p, :, :], init=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    c[0, i, j] = c[0, i, j] * 2.0
                T.gemm_v0(a, b, c[which[0], :, :])
            T.copy(c, C)

    return main


random = np.random.default_rng(59)
left, right = (random.integers(-3, 4, (SIDE, SIDE)).astype(np.float16) for _ in range(2))
product = left.astype(np.float64) @ right.astype(np.float64)
one = np.ones((SIDE, SIDE))
second = np.array([1] * 8, np.int32)
for form, (first, other) in {
    "each changed": (2 * product, 2 * product),
    "each changed, in steps": (6 * product, 6 * product),
    "one of two": (product, 0 * one),
    "the other by a nest": (product, 3 * one),
    "both in each turn": (product, 2 * product),
    "read between": (2 * product, 2 * product),
    "between two": (2 * product, product),
    "all cleared, then added": (6 * product, 6 * product),
    "each cleared, then added": (2 * one, 3 * product),
    "in turns": (2 * product, 2 * product),
    "which memory says": (5 * one, 2 * product),
    "added to what a nest has changed": (2 + product, 2 + product),
    "added to what memory says": (2 * product, 2 * product),
}.items():
    GROUP.add(
        form,
        parts(form),
        [left, right, second, np.zeros((2, SIDE, SIDE), np.float32)],
        np.stack([first, other]),
        configs=AUTOMATIC,
    )


def slabs(side: str) -> Any:  # noqa: ANN401
    """Parts that are rows, or columns, of a tile of two dims."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        C: T.Tensor((2 * SIDE, SIDE) if side == "rows" else (SIDE, 2 * SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            T.copy(A, a)
            T.copy(B, b)
            if side == "rows":
                c = T.alloc_fragment((2 * SIDE, SIDE), "float32")
                for p in T.serial(2):
                    T.gemm_v0(a, b, c[p * SIDE : p * SIDE + SIDE, :], init=True)
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[p * SIDE + i, j] = c[p * SIDE + i, j] * 2.0
            else:
                c = T.alloc_fragment((SIDE, 2 * SIDE), "float32")
                T.gemm_v0(a, b, c[:, 0:SIDE], init=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    c[i, j] = c[i, j] * 2.0
                T.gemm_v0(a, b, c[:, SIDE : 2 * SIDE], init=True)
                for i, j in T.Parallel(SIDE, SIDE):
                    c[i, SIDE + j] = c[i, SIDE + j] * 2.0
            T.copy(c, C)

    return main


for side, axis in (("rows", 0), ("columns", 1)):
    wanted = np.concatenate([2 * product, 2 * product], axis)
    GROUP.add(
        side,
        slabs(side),
        [left, right, np.zeros(wanted.shape, np.float32)],
        wanted,
        configs=AUTOMATIC,
    )


def left_early(form: str) -> Any:  # noqa: ANN401
    """The first turn that runs to the gemm clears, however a loop is left."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        which: T.Tensor((8,), "int32"),
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.copy(B, b)
            for r in T.serial(2):
                if form == "cleared, then skipped":
                    T.clear(c)
                for k in T.serial(4):
                    if form == "left before":
                        if k == 3:
                            T.loop_break()
                        T.gemm_v0(a, b, c, init=(k == 0))
                    elif form == "left behind":
                        T.gemm_v0(a, b, c, init=(k == 0))
                        if k == which[0]:
                            T.loop_break()
                    elif form == "skipped":
                        if k == 2:
                            continue
                        T.gemm_v0(a, b, c, init=(k == 0))
                    elif form == "skipped, as memory says":
                        T.gemm_v0(a, b, c, init=(k == 0))
                        if k > which[0]:
                            continue
                        T.gemm_v0(a, b, c)
                    elif form == "cleared, then skipped":
                        if k == which[1]:
                            continue
                        T.gemm_v0(a, b, c)
                    else:  # added to, then skipped
                        if k == which[0]:
                            continue
                        T.gemm_v0(a, b, c, init=(k == 0))
                for i, j in T.Parallel(SIDE, SIDE):
                    c[i, j] = c[i, j] * 2.0
                for i, j in T.Parallel(SIDE, SIDE):
                    C[r, i, j] = c[i, j]

    return main


for form, factor in {
    "left before": 6,
    "left behind": 4,
    "skipped": 6,
    "skipped, as memory says": 12,
    "cleared, then skipped": 6,
    "added to, then skipped": 6,
}.items():
    GROUP.add(
        form,
        left_early(form),
        [left, right, second, np.zeros((2, SIDE, SIDE), np.float32)],
        np.stack([factor * product, factor * product]),
        configs=AUTOMATIC,
    )


def counted_at_run_time() -> Any:  # noqa: ANN401
    """The loop of the gemm may run no turn, so both twins are cleared."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        turns: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            for _k in T.serial(turns):
                T.gemm_v0(a, b, c)
            for i, j in T.Parallel(SIDE, SIDE):
                c[i, j] = c[i, j] * 2.0 + 1.0
            T.copy(c, C)

    return main


for turns in (0, 3):
    GROUP.add(
        f"{turns} turns",
        counted_at_run_time(),
        [left, right, turns, np.zeros((SIDE, SIDE), np.float32)],
        2 * turns * product + 1,
        configs=AUTOMATIC,
    )


def counted_in_turns(form: str) -> Any:  # noqa: ANN401
    """What a nest has left stays where the loop of the gemm runs no turn."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        turns: T.int32,
        C: T.Tensor((3, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.copy(B, b)
            if form == "cleared":
                T.clear(c)
            for r in T.serial(3):
                for k in T.serial(turns - r):
                    T.gemm_v0(a, b, c, init=(k == 0))
                for i, j in T.Parallel(SIDE, SIDE):
                    c[i, j] = c[i, j] * 2.0
                T.copy(c, C[r, :, :])

    return main


for form, turns, factors in (("once", 2, (4, 2, 4)), ("cleared", 0, (0, 0, 0))):
    GROUP.add(
        f"{turns} turns, then fewer",
        counted_in_turns(form),
        [left, right, turns, np.zeros((3, SIDE, SIDE), np.float32)],
        np.stack([factor * product for factor in factors]),
        configs=AUTOMATIC,
    )


def seen_otherwise() -> Any:  # noqa: ANN401
    """What uses a view of the tile uses the tile."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        C: T.Tensor((SIDE // 2, 2 * SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            wide = T.reshape(c, (SIDE // 2, 2 * SIDE))
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            for i, j in T.Parallel(SIDE // 2, 2 * SIDE):
                wide[i, j] = wide[i, j] * 2.0
            for i, j in T.Parallel(SIDE // 2, 2 * SIDE):
                C[i, j] = wide[i, j]

    return main


GROUP.add(
    "seen otherwise",
    seen_otherwise(),
    [left, right, np.zeros((SIDE // 2, 2 * SIDE), np.float32)],
    (2 * product).reshape(SIDE // 2, 2 * SIDE),
    configs=AUTOMATIC,
)


@T.macro
def through_a_view(a: Any, b: Any, c: Any, view: Any, n: Any) -> None:
    for _ in T.serial(2):
        for k in T.serial(3):
            T.gemm_v0(a, b, view[SIDE : 2 * SIDE, :], init=(k == 0))
    T.gemm_v0(a, b, c[0, :, :], init=True)
    for p, i, j in T.Parallel(2, SIDE, SIDE):
        c[p, i, j] = c[p, i, j] * 2.0
    T.gemm_v0(a, b, view[0:SIDE, :])


@T.macro
def only_seen(a: Any, b: Any, c: Any, view: Any, n: Any) -> None:
    T.gemm_v0(a, b, view[0:SIDE, :], init=True)
    T.gemm_v0(a, b, view[SIDE : 2 * SIDE, :], init=True)


@T.macro
def in_many_turns(a: Any, b: Any, c: Any, view: Any, n: Any) -> None:
    """More than the compiler follows one by one."""
    for t in T.serial(65):
        for k in T.serial(2):
            T.gemm_v0(a, b, c[t % 2, :, :], init=(k == 0))
        for i, j in T.Parallel(SIDE, SIDE):
            c[t % 2, i, j] = c[t % 2, i, j] * 2.0


@T.macro
def in_n_turns(a: Any, b: Any, c: Any, view: Any, n: Any) -> None:
    T.clear(c)
    for t in T.serial(n):
        for k in T.serial(3):
            T.gemm_v0(a, b, c[t % 2, :, :], init=(k == 0))
        for i, j in T.Parallel(SIDE, SIDE):
            c[t % 2, i, j] = c[t % 2, i, j] * 2.0


def viewed(body: Any, on_chip: str, threads: Any) -> Any:  # noqa: ANN401
    """`view` has the rows of both parts of `c`."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        B: T.Tensor((SIDE, SIDE), "float16"),
        n: T.int32,
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            b = T.alloc_shared((SIDE, SIDE), "float16")
            if on_chip == "L0C":
                c = T.alloc_L0C((2, SIDE, SIDE), "float32")
            else:
                c = T.alloc_fragment((2, SIDE, SIDE), "float32")
            view = T.reshape(c, (2 * SIDE, SIDE))
            T.copy(A, a)
            T.copy(B, b)
            body(a, b, c, view, n)
            T.copy(c, C)

    return main


for body, n, first, other in (
    (through_a_view, 1, 3, 6),
    (only_seen, 1, 1, 1),
    (in_many_turns, 1, 4, 4),
    (in_n_turns, 1, 6, 0),
    (in_n_turns, 3, 6, 6),
):
    for on_chip, threads in (("L0C", 1), ("fragment", None)):
        GROUP.add(
            f"{body.__name__}, {n}, {on_chip}",
            viewed(body, on_chip, threads),
            [left, right, n, np.zeros((2, SIDE, SIDE), np.float32)],
            np.stack([first * product, other * product]),
        )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    removals = GROUP.removals(name, most=3)
    assert removals.missed() == []
    assert removals.needless() == []


@pytest.mark.parametrize("name", ["rows", "0 turns, then fewer"])
def test_what_is_there_is_needed(name: str) -> None:
    """A copy of rows waits for these only; what no turn needs, other numbers of turns do."""
    removals = GROUP.removals(name)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
