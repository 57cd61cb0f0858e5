# SPDX-License-Identifier: Apache-2.0
"""Where no barrier is needed, none is put in: behind one that an instruction has inside, between
copies whose rows lie beside each other, where several loops choose a slot together, and behind
loops of as many turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(41)
JOINED = {"sum": np.add, "max": np.maximum}


def into_filled(kind: str, dim: int, shape: tuple[int, int]) -> Any:  # noqa: ANN401
    count = shape[1 - dim]

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), D: T.Tensor((count,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "float32")
            d = T.alloc_ub((count,), "float32")
            T.copy(A, a)
            T.tile.fill(d, 3.0)
            T.reduce(a, d, kind, dim, clear=False)
            T.copy(d, D)

    return main


def over_filled(shape: tuple[int, int]) -> Any:  # noqa: ANN401
    """What a fill has written, a reduction overwrites; what stands before it is done behind it."""
    count = shape[0]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(shape, "float32"),
        D: T.Tensor((count,), "float32"),
        E: T.Tensor((64,), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "float32")
            d = T.alloc_ub((count,), "float32")
            e = T.alloc_ub((64,), "float32")
            T.copy(A, a)
            T.tile.fill(d, 3.0)
            T.tile.fill(e, 4.0)
            T.reduce_sum(a, d, dim=-1)
            T.tile.add(e, e, 1.0)
            T.copy(d, D)
            T.copy(e, E)

    return main


@T.prim_func
def columns_beside(  # type: ignore[no-untyped-def]
    A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")
):
    """Both halves of a tile are loaded, computed and stored each for itself."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 64), "float32")
        T.copy(A[0:8, 0:32], a[0:8, 0:32])
        T.copy(A[0:8, 32:64], a[0:8, 32:64])
        T.tile.add(a[0:8, 0:32], a[0:8, 0:32], 1.0)
        T.tile.add(a[0:8, 32:64], a[0:8, 32:64], 2.0)
        T.copy(a[0:8, 0:32], C[0:8, 0:32])
        T.copy(a[0:8, 32:64], C[0:8, 32:64])


@T.prim_func
def parts_in_l1(  # type: ignore[no-untyped-def]
    A: T.Tensor((64, 64), "float16"),
    B: T.Tensor((64, 64), "float16"),
    C: T.Tensor((64, 64), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_L1((64, 64), "float16")
        b = T.alloc_L1((64, 64), "float16")
        c = T.alloc_L0C((64, 64), "float32")
        T.copy(B, b)
        for i in T.serial(2):
            for j in T.serial(2):
                T.copy(A[i * 32, j * 32], a[i * 32 : i * 32 + 32, j * 32 : j * 32 + 32])
        T.gemm_v0(a, b, c, init=True)
        T.copy(c, C)


@T.prim_func
def rows_with_scratch(A: T.Tensor((8, 64), "float32"), C: T.Tensor((16, 64), "float32")):  # type: ignore[no-untyped-def]
    """Each call of a function works in temporary memory, which the one behind it has as well."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 64), "float32")
        b = T.alloc_ub((8, 64), "float32")
        T.copy(A, a)
        T.tile.fill(b, 1.0)
        for i in T.serial(8):
            T.tile.sin(b[i, :], a[i, :])
        T.copy(b, C[0, 0])
        T.tile.cos(b[:, 0:32], a[:, 0:32])
        T.tile.pow(b[:, 32:64], a[:, 32:64], a[:, 0:32])
        T.copy(b, C[8, 0])


SLOTS = 3


@T.prim_func
def slots_of_two_loops(A: T.Tensor((8, 32), "float32"), C: T.Tensor((40, 32), "float32")):  # type: ignore[no-untyped-def]
    """The barrier in the inner loop orders all that stands behind it, too."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((2, 8, 32), "float32")
        b = T.alloc_ub((SLOTS, 8, 32), "float32")
        c = T.alloc_ub((8, 32), "float32")
        T.tile.fill(a, 0.0)
        T.tile.fill(b, 0.0)
        T.copy(A, c)
        for i in T.serial(2):
            for j in T.serial(2):
                T.tile.add(b[(j + i) % SLOTS, :, :], c, 0.5)
            T.tile.max(a[i % 2, :, :], a[0, :, :], b[0, :, :])
        for s in T.serial(2):
            T.copy(a[s, :, :], C[s * 8, 0])
        for s in T.serial(SLOTS):
            T.copy(b[s, :, :], C[16 + s * 8, 0])


@T.prim_func
def rows_of_two_loops(A: T.Tensor((8, 32), "float32"), C: T.Tensor((24, 32), "float32")):  # type: ignore[no-untyped-def]
    """Stores to rows that two loops choose, in a branch that one iteration takes."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        b = T.alloc_ub((SLOTS, 8, 32), "float32")
        c = T.alloc_ub((8, 32), "float32")
        T.tile.fill(b, 1.0)
        T.copy(A, c)
        for i in T.serial(2):
            if i % 2 == 1:
                for j in T.serial(2):
                    T.copy(b[(i * 4 + j + 1) % SLOTS, :, :], C[(j + i) % SLOTS * 8, 0])
                    T.tile.max(c, c, c)
        T.copy(c, C[0, 0])


def last_row_alone(rows: int, clear: bool) -> Any:  # noqa: ANN401
    """What a turn of the loop writes is done behind its barrier, but for the last one; a reduction
    of columns takes that row behind barriers of its own."""

    @T.prim_func
    def main(A: T.Tensor((rows, 16), "float32"), D: T.Tensor((16,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((rows, 16), "float32")
            b = T.alloc_ub((rows, 16), "float32")
            t = T.alloc_ub((16,), "float32")
            d = T.alloc_ub((16,), "float32")
            T.copy(A, a)
            T.tile.fill(d, 3.0)
            for i in T.serial(rows):
                T.tile.add(t, a[i, :], 1.0)
                T.tile.max(b[i, :], t, 0.0)
            T.reduce(b, d, "sum", 0, clear=clear)
            T.copy(d, D)

    return main


def last_columns_alone(begin: int) -> Any:  # noqa: ANN401
    """Of long rows a reduction takes the first 256 bytes, and behind a barrier the others."""

    @T.prim_func
    def main(A: T.Tensor((8, 128), "float32"), D: T.Tensor((8,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((8, 128), "float32")
            d = T.alloc_ub((8,), "float32")
            T.copy(A, a)
            T.tile.add(a[:, begin : begin + 64], a[:, begin : begin + 64], 1.0)
            T.reduce_sum(a, d, dim=-1)
            T.copy(d, D)

    return main


def bytes_in_two_loops(shape: tuple[int, int, int], begin: int, count: int) -> Any:  # noqa: ANN401
    """Bytes are filled as numbers of 16 bits, whose places are half of a sum of two loops."""
    outer, inner, _ = shape

    @T.prim_func
    def main(C: T.Tensor(shape, "int8")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            y = T.alloc_ub(shape, "int8")
            for h in T.serial(outer):
                for i in T.serial(inner):
                    T.tile.fill(y[h, i, begin : begin + count], h * 4 + i)
            for h in T.serial(outer):
                for i in T.serial(inner):
                    T.copy(y[h, i, begin : begin + count], C[h, i, begin : begin + count])

    return main


def rows_of_bytes(shape: tuple[int, int, int]) -> Any:  # noqa: ANN401
    """Rows that are not in their tensor are filled, between those that are loaded."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((8, shape[2]), "int8"),
        I: T.Tensor(shape[:2], "int32"),  # noqa: E741
        C: T.Tensor(shape, "int8"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            y = T.alloc_ub(shape, "int8")
            at = T.alloc_ub(shape[:2], "int32")
            T.copy(I, at)
            for h, i, j in T.Parallel(*shape):
                y[h, i, j] = A[at[h, i], j]
            T.copy(y, C)

    return main


def filled_planes(stages: int) -> Any:  # noqa: ANN401
    """What lies behind the tensor is filled, in the loop that loads the rest, behind which both is
    merged in a loop of as many turns: a flag in the first one orders the fill."""
    R = T.symbolic("R")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        X: T.Tensor((R, 6, 24), "float32"),
        planes: T.Tensor((6,), "int32"),
        lines: T.Tensor((6,), "int32"),
        columns: T.int32,
        Y: T.Tensor((24, 6, 24), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((4, 6, 24), "float32")
            for p in T.Pipelined(6, num_stages=stages):
                T.tile.fill(x, 2.0)
                T.copy(
                    X[p * 4 : p * 4 + planes[p], 0 : lines[p], 0:columns],
                    x[0 : planes[p], 0 : lines[p], 0:columns],
                )
                T.copy(x, Y[p * 4 : p * 4 + 4, :, :])

    return main


def floats(*shape: int) -> Any:  # noqa: ANN401
    return random.standard_normal(shape).astype(np.float32)


for kind in ("sum", "max"):
    for dim, shape in ((1, (5, 40)), (1, (16, 128)), (0, (5, 40)), (0, (2, 64))):
        given = floats(*shape)
        reduced = getattr(np, kind)(given.astype(np.float64), dim)
        count = shape[1 - dim]
        GROUP.add(
            f"{kind} of {shape} along {dim}",
            into_filled(kind, dim, shape),
            [given, np.zeros(count, np.float32)],
            JOINED[kind](reduced, 3.0),
        )
for shape in ((8, 128), (8, 40)):
    given = floats(*shape)
    GROUP.add(
        f"over filled {shape}",
        over_filled(shape),
        [given, np.zeros(8, np.float32), np.zeros(64, np.float32)],
        {1: given.astype(np.float64).sum(1), 2: np.full(64, 5.0)},
    )
for rows in (1, 2, 3, 17):
    for clear in (False, True):
        given = floats(rows, 16)
        summed = np.maximum(given.astype(np.float64) + 1, 0).sum(0) + (0 if clear else 3)
        GROUP.add(
            f"last of {rows} rows alone {clear}",
            last_row_alone(rows, clear),
            [given, np.zeros(16, np.float32)],
            summed,
        )
for begin in (0, 64):
    given = floats(8, 128)
    GROUP.add(
        f"columns from {begin} alone",
        last_columns_alone(begin),
        [given, np.zeros(8, np.float32)],
        given.astype(np.float64).sum(1) + 64,
    )
given = np.abs(floats(8, 64)) + 0.5
wide = given.astype(np.float64)
GROUP.add(
    "rows with scratch",
    rows_with_scratch,
    [given, np.zeros((16, 64), np.float32)],
    np.concatenate([np.sin(wide), np.hstack([np.cos(wide[:, :32]), wide[:, 32:] ** wide[:, :32]])]),
)
given = floats(8, 64)
GROUP.add(
    "columns beside each other",
    columns_beside,
    [given, np.zeros_like(given)],
    given.astype(np.float64) + np.repeat([1, 2], 32),
)
given = floats(8, 32)
GROUP.add(
    "slots of two loops",
    slots_of_two_loops,
    [given, np.zeros((40, 32), np.float32)],
    np.concatenate([np.maximum(given + 0.5, 0.0)] * 2 + [given + 0.5] * 3),
)
GROUP.add(
    "rows of two loops",
    rows_of_two_loops,
    [given, np.zeros((24, 32), np.float32)],
    np.concatenate([given, np.ones((16, 32))]),
)
for shape, begin, count in [
    ((4, 3, 64), 0, 64),
    ((4, 3, 64), 32, 32),
    ((2, 5, 15), 0, 15),
    ((3, 1, 48), 0, 48),
]:
    byte_numbers = np.zeros(shape, np.int8)
    byte_numbers[:, :, begin : begin + count] = np.add.outer(
        np.arange(shape[0]) * 4, np.arange(shape[1])
    )[:, :, None]
    GROUP.add(
        f"bytes {shape} {begin} {count}",
        bytes_in_two_loops(shape, begin, count),
        [np.zeros_like(byte_numbers)],
        byte_numbers,
    )
for shape in ((4, 3, 64), (2, 8, 32)):
    table = random.integers(-100, 100, (8, shape[2])).astype(np.int8)
    places = random.integers(-2, 10, shape[:2]).astype(np.int32)
    padded = np.concatenate([table, np.zeros((4, shape[2]), np.int8)])
    GROUP.add(
        f"rows of bytes {shape}",
        rows_of_bytes(shape),
        [table, places, np.zeros(shape, np.int8)],
        padded[np.where((places < 0) | (places > 7), 8, places)],
    )
planes, lines = (np.array(each, np.int32) for each in ((4, 2, 0, 4, 1, 3), (1, 6, 3, 6, 2, 6)))
for stages in (2, 3):
    given = floats(22, 6, 24)
    behind = np.concatenate([given, np.zeros((2, 6, 24), np.float32)])
    wanted = np.full((24, 6, 24), 2.0)
    for p in range(6):
        part = np.s_[p * 4 : p * 4 + planes[p], : lines[p], :13]
        wanted[part] = behind[part]
    GROUP.add(
        f"filled planes in {stages}",
        filled_planes(stages),
        [given, planes, lines, 13, np.zeros((24, 6, 24), np.float32)],
        {4: wanted},
    )
left, right = (random.integers(-3, 4, (64, 64)).astype(np.float16) for _ in range(2))
GROUP.add(
    "parts in L1",
    parts_in_l1,
    [left, right, np.zeros((64, 64), np.float32)],
    left.astype(np.float64) @ right.astype(np.float64),
)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_what_is_there_is_needed(name: str) -> None:
    removals = GROUP.removals(name)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
