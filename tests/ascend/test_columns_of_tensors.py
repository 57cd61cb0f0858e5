# SPDX-License-Identifier: Apache-2.0
"""Tensors whose last dim is 1: copies of parts that meet are ordered, wherever they begin. The
checker asks the same boxes as what places the flags: the host says whether both are right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

sys.path.insert(0, str(Path(__file__).parent))
from kernel_group import KernelGroup  # noqa: E402

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


def test_planes_that_an_edge_cuts() -> None:
    """Are no one row, though as many elements are copied as such planes have."""

    @T.prim_func
    def main(A: T.Tensor((4, 8, 1), "float32"), C: T.Tensor((2, 8, 1), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((2, 8, 1), "float32")
            T.copy(A[1, 2, 0], a)
            T.copy(a, C)

    with pytest.raises(tilewright.CompileError, match="not side by side in global memory"):
        tilewright.compile(main, target="ascend")
