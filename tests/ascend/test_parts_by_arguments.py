# SPDX-License-Identifier: Apache-2.0
"""Parts of a tile, or of a tensor, that lie beside each other wherever arguments put the border: no
flag stands between them, and each flag that is there is missed by some run."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup(tolerance=1e-6)

ROWS = T.Tensor((64, 64), "float32")


def of_two_cores(form: str) -> Any:  # noqa: ANN401
    """Each of the vector cores has half of the first rows, and what is left of its tile is 0."""

    @T.prim_func
    def main(A: ROWS, m: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_ub((32, 64), "float32")
            if form == "rounded up":
                half = T.ceildiv(m, 2)
                rows = T.min(half, m - vid * half)
                T.tile.fill(x[rows:32, :], 0.0)
                T.copy(A[vid * half : vid * half + rows, :], x[0:rows, :])
                T.copy(x, C[vid * 32 : vid * 32 + 32, :])
            if form == "rounded down":
                more = T.if_then_else(vid == 0, m // 2, m - m // 2)
                T.tile.fill(x[more:32, :], 0.0)
                T.copy(A[vid * (m // 2) : vid * (m // 2) + more, :], x[0:more, :])
                T.copy(x, C[vid * 32 : vid * 32 + 32, :])

    return main


def in_a_tile(form: str) -> Any:  # noqa: ANN401, C901
    @T.prim_func
    def main(A: ROWS, B: ROWS, m: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64, 64), "float32")
            if form == "fill behind a load":
                T.tile.fill(x[m:64, :], 3.0)
                T.copy(A[0:m, :], x[0:m, :])
            if form == "fill before a load":
                T.tile.fill(x[0:m, :], 3.0)
                T.copy(A[m:64, :], x[m:64, :])
            if form == "two fills":
                T.tile.fill(x[0:m, :], 3.0)
                T.tile.fill(x[m:64, :], 4.0)
            if form == "two loads":
                T.copy(A[0:m, :], x[0:m, :])
                T.copy(B[m:64, :], x[m:64, :])
            if form == "two sums":
                T.copy(A, x)
                T.tile.add(x[0:m, :], x[0:m, :], 1.0)
                T.tile.add(x[m:64, :], x[m:64, :], 2.0)
            if form == "rows in a loop":
                T.copy(A, x)
                for i in T.serial(m):
                    T.tile.add(x[i, :], x[i, :], 1.0)
                T.tile.add(x[m:64, :], x[m:64, :], 2.0)
            if form == "columns":
                T.tile.fill(x[:, m * 8 : 64], 3.0)
                T.copy(A[:, 0 : m * 8], x[:, 0 : m * 8])
            T.copy(x, C)

    return main


def stores(form: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(n: T.int32, m: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16, 64), "float32")
            y = T.alloc_ub((1024,), "float32")
            T.tile.fill(x, 1.0)
            T.tile.fill(y, 2.0)
            if form == "blocks":
                for i in T.serial(n):
                    T.copy(x[0:m, :], C[i * m : i * m + m, :])
            if form == "blocks that overlap":
                for i in T.serial(n):
                    T.copy(x[0:m, :], C[i * m - i : i * m - i + m, :])
            if form == "a view":
                V = T.view(C, (4, 1024), "float32")
                T.copy(x, C[m * 16, 0])
                T.copy(y, V[m + 1, :])

    return main


GIVEN, OTHER = (np.linspace(first, 1, 4096, dtype=np.float32).reshape(64, 64) for first in (-1, -2))
ZERO = np.zeros((64, 64), np.float32)


def halves(m: int, first: int) -> Any:  # noqa: ANN401
    result = ZERO.copy()
    result[:first], result[32 : 32 + m - first] = GIVEN[:first], GIVEN[first:m]
    return result


for form, first in {"rounded up": 9, "rounded down": 8}.items():
    GROUP.add(form, of_two_cores(form), [GIVEN, 17, ZERO.copy()], halves(17, first))

TILES: dict[str, tuple[Any, Any, int]] = {
    "fill behind a load": (GIVEN[:5], 3.0, 2),
    "fill before a load": (3.0, GIVEN[5:], 2),
    "two fills": (3.0, 4.0, 1),
    "two loads": (GIVEN[:5], OTHER[5:], 1),
    "two sums": (GIVEN[:5] + 1, GIVEN[5:] + 2, 2),
    "rows in a loop": (GIVEN[:5] + 1, GIVEN[5:] + 2, 2),
}
for form, (begin, end, _) in TILES.items():
    wanted = np.empty_like(ZERO)
    wanted[:5], wanted[5:] = begin, end
    GROUP.add(form, in_a_tile(form), [GIVEN, OTHER, 5, ZERO.copy()], wanted)
wanted = np.full_like(ZERO, 3)
wanted[:, :40] = GIVEN[:, :40]
GROUP.add("columns", in_a_tile("columns"), [GIVEN, OTHER, 5, ZERO.copy()], wanted)


def rows(*parts: tuple[int, int, float]) -> Any:  # noqa: ANN401
    result = ZERO.copy()
    for first, end, value in parts:
        result[first:end] = value
    return result


STORES = {
    "blocks": ([3, 5], rows((0, 15, 1)), 0),
    "blocks that overlap": ([3, 5], rows((0, 13, 1)), 1),
    "a view": ([3, 1], rows((16, 32, 1), (32, 48, 2)), 0),
}
for form, (numbers, wanted, _) in STORES.items():
    GROUP.add(form, stores(form), [*numbers, ZERO.copy()], wanted)


def waits(name: str) -> int:
    return len(re.findall(r"PipeBarrier<|SetFlag<", GROUP.check(name).ascendc))


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize("name", TILES)
def test_flags_of_tiles(name: str) -> None:
    assert waits(name) == TILES[name][2]


@pytest.mark.parametrize("name", STORES)
def test_barriers_between_stores(name: str) -> None:
    text = GROUP.check(name).ascendc
    assert text.count("PipeBarrier<PIPE_MTE3>") == STORES[name][2]
