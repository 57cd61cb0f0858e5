# SPDX-License-Identifier: Apache-2.0
"""Tensors whose last dim is 1: copies of parts that meet are ordered, wherever they begin. The
checker asks the same boxes as what places the flags: the host says whether both are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

Array = np.ndarray[Any, Any]
Part = tuple[tuple[int, int], ...]
GROUP = KernelGroup()
random = np.random.default_rng(31)


def slices(part: Part) -> tuple[slice, ...]:
    return tuple(slice(*ends) for ends in part)


def extents(part: Part) -> tuple[int, ...]:
    return tuple(end - begin for begin, end in part)


def in_turn(shape: tuple[int, ...], part: Part, order: str) -> Any:  # noqa: ANN401
    """The whole of C and a part of it, one after the other, each a load (r) or a store (w)."""
    there, size = slices(part), extents(part)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(shape, "float32"), C: T.Tensor(shape, "float32"), D: T.Tensor(shape, "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            whole = T.alloc_ub(shape, "float32")
            some = T.alloc_ub(size, "float32")
            T.copy(A, whole)
            T.copy(A[there], some)
            T.tile.mul(some, some, 2.0)
            if order == "ww":
                T.copy(whole, C)
                T.copy(some, C[there])
            elif order == "pw":
                T.copy(some, C[there])
                T.copy(whole, C)
            elif order == "wr":
                T.copy(some, C[there])
                T.copy(C, whole)
                T.copy(whole, D)
            else:
                T.copy(C, whole)
                T.copy(some, C[there])
                T.copy(whole, D)

    return main


PARTS: list[tuple[tuple[int, ...], Part]] = [
    ((16, 1), ((8, 14), (0, 1))),
    ((2, 8, 1), ((1, 2), (0, 6), (0, 1))),
    ((2, 8, 1), ((0, 1), (2, 6), (0, 1))),
    ((4, 8, 1), ((1, 3), (0, 8), (0, 1))),
    ((4, 1, 8, 1), ((2, 3), (0, 1), (0, 6), (0, 1))),
    ((1, 24, 1), ((0, 1), (8, 16), (0, 1))),
    ((24, 1, 1), ((8, 16), (0, 1), (0, 1))),
    ((4, 32, 1), ((1, 3), (8, 24), (0, 1))),
    ((4, 16, 1, 1), ((0, 4), (8, 16), (0, 1), (0, 1))),
    ((1, 4, 32, 1), ((0, 1), (0, 3), (16, 24), (0, 1))),
    ((2, 3, 32, 1), ((0, 2), (1, 3), (8, 24), (0, 1))),
]
for shape, part in PARTS:
    for order in ("ww", "pw", "wr", "rw"):
        a, c, d = (random.standard_normal(shape).astype(np.float32) for _ in range(3))
        changed, copied = c.copy(), d.copy()
        changed[slices(part)] = 2 * a[slices(part)]
        if order == "ww":
            changed = a.copy()
            changed[slices(part)] *= 2
        elif order == "pw":
            changed = a.copy()
        else:
            copied = (changed if order == "wr" else c).copy()
        name = f"{order} {shape} {part}"
        GROUP.add(name, in_turn(shape, part, order), [a, c, d], {1: changed, 2: copied})


@T.prim_func
def sums_of_rows(  # type: ignore[no-untyped-def]
    A: T.Tensor((16, 64), "float32"),
    S: T.Tensor((16, 1), "float32"),
    C: T.Tensor((16, 64), "float32"),
):
    """Stored block by block, and loaded as one."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 64), "float32")
        s = T.alloc_ub((8, 1), "float32")
        t = T.alloc_ub((16, 1), "float32")
        b = T.alloc_ub((16, 64), "float32")
        for i in T.serial(2):
            T.copy(A[i * 8, 0], a)
            T.reduce_sum(a, s, dim=-1)
            T.copy(s, S[i * 8, 0])
        T.copy(S, t)
        T.copy(A, b)
        for i, j in T.Parallel(16, 64):
            b[i, j] = b[i, j] - t[i, 0]
        T.copy(b, C)


@T.prim_func
def rows_of_a_block(S: T.Tensor((32, 1), "float32"), C: T.Tensor((16, 1), "float32")):  # type: ignore[no-untyped-def]
    """The second half of what each block has stored."""
    with T.Kernel(2, is_npu=True, threads=1) as cid:
        s = T.alloc_ub((16, 1), "float32")
        t = T.alloc_ub((8, 1), "float32")
        T.copy(S[cid * 16, 0], s)
        T.tile.add(s, s, 1.0)
        T.copy(s, S[cid * 16, 0])
        T.copy(S[cid * 16 + 8, 0], t)
        T.copy(t, C[cid * 8, 0])


@T.prim_func
def rows_at_the_edge(S: T.Tensor((20, 1), "float32"), C: T.Tensor((8, 1), "float32")):  # type: ignore[no-untyped-def]
    """Parts that an edge cuts."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        s = T.alloc_ub((8, 1), "float32")
        t = T.alloc_ub((8, 1), "float32")
        for i in T.serial(3):
            T.copy(S[i * 8, 0], s)
            T.tile.add(s, s, 1.0)
            T.copy(s, S[i * 8, 0])
        T.copy(S[15, 0], t)
        T.copy(t, C)


@T.prim_func
def rows_that_lie_apart(S: T.Tensor((32, 1), "float32"), C: T.Tensor((16, 1), "float32")):  # type: ignore[no-untyped-def]
    """No row is touched twice, so that what one copy writes no other waits for."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        s = T.alloc_ub((16, 1), "float32")
        t = T.alloc_ub((16, 1), "float32")
        T.copy(S[0, 0], s)
        T.copy(s, C)
        T.copy(S[16, 0], t)
        T.tile.add(t, t, 1.0)
        T.copy(t, S[16, 0])


def statistics(dtype: str, form: str, rows: int, columns: int) -> Any:  # noqa: ANN401
    """Planes of numbers that lie side by side, though the tensor's last dim is 1: parts in tiles
    of two or of three dims, an edge that cuts them, and as a nest."""
    extent = T.dynamic("extent") if form == "dynamic" else 40
    shape = (rows, columns, 1) if form == "three dims" else (rows, columns)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        L: T.Tensor((2, 3, extent, 1), dtype), C: T.Tensor((2, 3, extent, 1), dtype)
    ):
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            w = T.alloc_ub(shape, dtype)
            for s in T.serial(T.ceildiv(extent, columns)):
                first, end = s * columns, s * columns + columns
                if form == "three dims":
                    T.copy(L[cid, 0:rows, first:end, 0:1], w)
                elif form == "nest":
                    for i, j in T.Parallel(rows, columns):
                        w[i, j] = L[cid, i, first + j, 0]
                else:
                    T.copy(L[cid, 0:rows, first:end, 0], w)
                T.tile.add(w, w, w)
                if form == "three dims":
                    T.copy(w, C[cid, 0:rows, first:end, 0:1])
                elif form == "nest":
                    for i, j in T.Parallel(rows, columns):
                        C[cid, i, first + j, 0] = w[i, j]
                else:
                    T.copy(w, C[cid, 0:rows, first:end, 0])

    return main


for dtype in ("float32", "float16", "int32"):
    for form, height, width in (
        ("two dims", 3, 8),
        ("two dims", 2, 16),
        ("two dims", 3, 5),
        ("three dims", 2, 16),
        ("dynamic", 3, 16),
        ("nest", 2, 16),
    ):
        before = [(8 * random.standard_normal((2, 3, 40, 1))).astype(dtype) for _ in range(2)]
        doubled = before[1].copy()
        doubled[:, :height] = 2 * before[0][:, :height]
        of_case = f"{form} {height} {width} {dtype}"
        GROUP.add(of_case, statistics(dtype, form, height, width), before, {1: doubled})


@T.prim_func
def planes_at_the_edge(A: T.Tensor((4, 8, 1), "float32"), C: T.Tensor((2, 8, 1), "float32")):  # type: ignore[no-untyped-def]
    """Are no one row, though as many elements are copied as such planes have."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((2, 8, 1), "float32")
        T.copy(A[1, 2, 0], a)
        T.copy(a, C)


planes = random.standard_normal((4, 8, 1)).astype(np.float32)
cut = np.concatenate([planes[1:3, 2:], np.zeros((2, 2, 1))], axis=1)
GROUP.add("planes", planes_at_the_edge, [planes, np.zeros((2, 8, 1), np.float32)], {1: cut})
rows = random.standard_normal((16, 64)).astype(np.float32)
sums = rows.astype(np.float64).sum(1, keepdims=True)
zeros = [np.zeros(shape, np.float32) for shape in ((16, 1), (16, 64), (8, 1))]
GROUP.add("sums of rows", sums_of_rows, [rows, zeros[0], zeros[1]], {1: sums, 2: rows - sums})
column = random.standard_normal((32, 1)).astype(np.float32)
later = column.astype(np.float64) + 1
halves = np.concatenate([later[8:16], later[24:]])
GROUP.add("rows of a block", rows_of_a_block, [column, zeros[0]], {0: later, 1: halves})
edge = np.concatenate([later[15:20], np.zeros((3, 1))])
GROUP.add("rows at the edge", rows_at_the_edge, [column[:20], zeros[2]], {0: later[:20], 1: edge})
apart = np.concatenate([column[:16], later[16:]])
GROUP.add("rows apart", rows_that_lie_apart, [column, zeros[0]], {0: apart, 1: column[:16]})


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    removals = GROUP.removals(name)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
