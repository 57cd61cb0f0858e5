# SPDX-License-Identifier: Apache-2.0
"""More tiles go from the cube core to the vector cores than there are flags between cores: flags
share ids, and none is set again before its core knows that it has been waited for. The loops over
tiles are written out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
#: What the host warns of is an error.
ERRORS = pytest.mark.filterwarnings("error::tilewright.errors.TilewrightWarning")
SIDE = 16
NUMBERS = tuple(range(32))
A = (np.arange(SIDE * SIDE) % 5 - 2).reshape(SIDE, SIDE).astype(np.float16)
EXACT = A.astype(np.float64)


def summed(form: str, count: int, turns: int | None, threads: int) -> Any:  # noqa: ANN401
    """In `turns` turns of a loop, or as many as the argument says, `count` products are added."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        n: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = T.alloc_shared((SIDE, SIDE), "float16")
            s = T.alloc_shared((SIDE, SIDE), "float16")
            x = T.alloc_ub((SIDE, SIDE), "float32")
            h = T.alloc_ub((SIDE, SIDE), "float16")
            T.copy(A, a)
            T.copy(A, s)
            T.tile.fill(x, 0.0)
            for t in T.serial(turns or n):
                if form == "late":
                    tiles = [T.alloc_fragment((SIDE, SIDE), "float32") for _ in range(count)]
                    for k in NUMBERS[:count]:
                        T.gemm_v0(a, s, tiles[k], init=True)
                    for k in NUMBERS[:count]:
                        for i, j in T.Parallel(SIDE, SIDE):
                            x[i, j] = x[i, j] + tiles[k][i, j] * (k + 1.0)
                else:
                    for k in NUMBERS[:count]:
                        c = T.alloc_fragment((SIDE, SIDE), "float32")
                        if form == "own branches":
                            if n > k:
                                T.gemm_v0(a, s, c, init=True)
                                for i, j in T.Parallel(SIDE, SIDE):
                                    x[i, j] = x[i, j] + c[i, j] * (k + 1.0)
                        else:
                            T.gemm_v0(a, s, c, init=True)
                            # form is known when the kernel is captured
                            if form != "branches" or (t + k) % 3 != 1:
                                for i, j in T.Parallel(SIDE, SIDE):
                                    x[i, j] = x[i, j] + c[i, j] * (k + 1.0)
                        if form == "exit" and k == count // 2:  # noqa: SIM102
                            if t == n - 2:
                                T.loop_break()
                        if form == "back" and k % 5 == 0:
                            for i, j in T.Parallel(SIDE, SIDE):
                                h[i, j] = T.cast(T.min(T.max(x[i, j], -2.0), 2.0), "float16")
                            T.copy(h, s)
            T.copy(x, C)

    return main


def expected(form: str, count: int, turns: int | None, n: int) -> Any:  # noqa: ANN401
    x, s = np.zeros((SIDE, SIDE)), EXACT
    for t in range(turns or n):
        for k in range(count):
            if (form != "branches" or (t + k) % 3 != 1) and (form != "own branches" or n > k):
                x = x + EXACT @ s * (k + 1)
            if form == "exit" and k == count // 2 and t == n - 2:
                return x
            if form == "back" and k % 5 == 0:
                s = np.clip(x, -2, 2)
    return x


#: Form, tiles, turns, the argument, threads.
CASES: list[tuple[str, int, int | None, int, int]] = [
    ("plain", 12, 2, 0, 1),
    ("plain", 13, None, 1, 1),
    ("plain", 16, 1, 0, 2),
    ("plain", 20, None, 4, 1),
    ("plain", 32, None, 2, 1),
    ("branches", 13, None, 4, 1),
    ("branches", 20, 2, 0, 2),
    ("exit", 12, None, 4, 2),
    ("exit", 16, None, 3, 1),
    ("own branches", 12, 1, 7, 1),
    ("own branches", 16, None, 3, 1),
    ("late", 13, 1, 0, 1),
    ("late", 20, None, 3, 1),
    ("back", 16, 1, 0, 1),
    ("back", 20, None, 3, 2),
]
NAMES = [f"{form} {count} {turns or n} {threads}" for form, count, turns, n, threads in CASES]
for name, (form, count, turns, n, threads) in zip(NAMES, CASES, strict=True):
    arguments = [A, n, np.zeros((SIDE, SIDE), np.float32)]
    wanted = expected(form, count, turns, n)
    GROUP.add(name, summed(form, count, turns, threads), arguments, wanted)


@ERRORS
@pytest.mark.parametrize("name", NAMES)
def test_no_flag_counts(name: str) -> None:
    case = GROUP.check(name)
    ids = re.findall(r"CrossCoreSetFlag<.*>\((\d+)\)", case.ascendc)
    assert len(ids) > len(set(ids))
    assert max(map(int, ids)) < 11


@pytest.mark.parametrize("name", NAMES)
def test_each_flag_is_needed(name: str) -> None:
    GROUP.check_removals(name)


@ERRORS
def test_any_number_of_turns() -> None:
    for count, name in ((12, "exit 12 4 2"), (16, "exit 16 3 1")):
        for n in range(5):
            made = GROUP.run(name, A, n, np.zeros((SIDE, SIDE), np.float32))
            np.testing.assert_array_equal(made[-1], expected("exit", count, None, n))


COUNTS = np.array([1, 2, 0, 2, 0, 1, 0, 4], np.int32)


@T.prim_func
def loops_side_by_side(  # type: ignore[no-untyped-def]
    A: T.Tensor((SIDE, SIDE), "float16"),
    N: T.Tensor((8,), "int32"),
    n: T.int32,
    m: T.int32,
    C: T.Tensor((SIDE, SIDE), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_shared((SIDE, SIDE), "float16")
        s = T.alloc_shared((SIDE, SIDE), "float16")
        u = T.alloc_ub((SIDE, SIDE), "float32")
        x = T.alloc_ub((SIDE, SIDE), "float32")
        T.copy(A, a)
        T.copy(A, s)
        T.tile.fill(u, 0.0)
        tiles = [T.alloc_L0C((SIDE, SIDE), "float32") for _ in range(8)]
        for k in NUMBERS[:8]:
            T.gemm_v0(a, s, tiles[k], init=True)
        for _i in T.serial(n):
            for k in (0, 1):
                T.copy(tiles[k], x)
                T.tile.add(u, u, x)
        for i in T.serial(2):
            T.copy(tiles[2], x)
            T.tile.add(u, u, x)
            for j in T.serial(m - 1):
                if N[i] > 1:
                    for k in (3, 4):
                        T.copy(tiles[k], x)
                        T.tile.add(u, u, x)
                for _p in T.serial(2):
                    if j > 1:
                        T.loop_break()
                    for k in (5, 6):
                        T.copy(tiles[k], x)
                        T.tile.add(u, u, x)
                for _q in T.serial(m):
                    T.copy(tiles[7], x)
                    T.tile.add(u, u, x)
        T.copy(u, C)


@T.prim_func
def loop_behind_branch(  # type: ignore[no-untyped-def]
    A: T.Tensor((SIDE, SIDE), "float16"),
    N: T.Tensor((8,), "int32"),
    n: T.int32,
    m: T.int32,
    C: T.Tensor((SIDE, SIDE), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=2) as _:
        a = T.alloc_shared((SIDE, SIDE), "float16")
        s = T.alloc_shared((SIDE, SIDE), "float16")
        u = T.alloc_ub((SIDE, SIDE), "float32")
        x = T.alloc_ub((SIDE, SIDE), "float32")
        T.copy(A, a)
        T.copy(A, s)
        T.tile.fill(u, 0.0)
        tiles = [T.alloc_L0C((SIDE, SIDE), "float32") for _ in range(12)]
        for k in NUMBERS[:12]:
            T.gemm_v0(a, s, tiles[k], init=True)
        for _i in T.serial(m - 1):
            for k in NUMBERS[:4]:
                T.copy(tiles[k], x)
                T.tile.add(u, u, x)
            if N[n] > 0:
                for k in (4, 5):
                    T.copy(tiles[k], x)
                    T.tile.add(u, u, x)
            for k in (6, 7):
                T.copy(tiles[k], x)
                T.tile.add(u, u, x)
            for _j in T.serial(m - 1):
                for k in NUMBERS[8:12]:
                    T.copy(tiles[k], x)
                    T.tile.add(u, u, x)
        T.copy(u, C)


def added_side_by_side(n: int, m: int) -> int:
    inner = sum(2 * (COUNTS[i] > 1) + 4 * (j <= 1) + m for i in range(2) for j in range(m - 1))
    return 2 * n + 2 + int(inner)


def added_behind_branch(n: int, m: int) -> int:
    turns = max(m - 1, 0)
    return turns * (6 + 2 * int(COUNTS[n] > 0) + 4 * turns)


NESTED = {
    "loops side by side": (loops_side_by_side, added_side_by_side),
    "a loop behind a branch": (loop_behind_branch, added_behind_branch),
}
for name, (function, added) in NESTED.items():
    arguments = [A, COUNTS, 3, 4, np.zeros((SIDE, SIDE), np.float32)]
    GROUP.add(name, function, arguments, EXACT @ EXACT * added(3, 4))


@ERRORS
@pytest.mark.parametrize("name", NESTED)
def test_nested_loops(name: str) -> None:
    """One was refused for want of flags, the other had flags that counted."""
    _, added = NESTED[name]
    for n in range(4):
        for m in range(5):
            made = GROUP.run(name, A, COUNTS, n, m, np.zeros((SIDE, SIDE), np.float32))
            np.testing.assert_array_equal(made[-1], EXACT @ EXACT * added(n, m), err_msg=f"{n} {m}")


def test_what_other_flags_do_is_left_to_them() -> None:
    """In each turn of the loop of `m - 1` turns, that of `m` turns has one: the flag back for its
    tile tells that those before it, in the branch, have been loaded."""
    GROUP.run("loops side by side")
    waits = GROUP.cases["loops side by side"].stages["waits"]
    back = re.findall(r"overwrites what T.copy to UB .* reads of 'workspace_(\d)'", waits)
    assert sorted(back) == ["0", "1", "2", "5", "7"]
