# SPDX-License-Identifier: Apache-2.0
"""Two buffers in turn whose tiles the tensor's edge cuts: the checker says of each flag what the
host says, and what is put in is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(43)
STEP = 16


def by_hand(shape: tuple[int, int], is_dynamic: bool = False) -> Any:  # noqa: ANN401
    """Events take turns with the tiles."""
    rows = T.symbolic("rows") if is_dynamic else shape[0]
    columns = shape[1]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            a = T.alloc_ub((2, STEP, columns), "float32")
            T.set_flag("mte3", "mte2", 0)
            T.set_flag("mte3", "mte2", 1)
            for i in T.serial(T.ceildiv(rows, STEP)):
                turn = i % 2
                T.wait_flag("mte3", "mte2", turn)
                T.copy(A[i * STEP, 0], a[turn, :, :])
                T.set_flag("mte2", "v", turn)
                T.wait_flag("mte2", "v", turn)
                T.tile.add(a[turn, :, :], a[turn, :, :], 1.0)
                T.set_flag("v", "mte3", turn)
                T.wait_flag("v", "mte3", turn)
                T.copy(a[turn, :, :], B[i * STEP, 0])
                T.set_flag("mte3", "mte2", turn)
            T.wait_flag("mte3", "mte2", 0)
            T.wait_flag("mte3", "mte2", 1)

    return main


def columns_by_hand(width: int, is_dynamic: bool = False) -> Any:  # noqa: ANN401
    """As `by_hand`; the edge cuts columns, and a whole row of tiles is one step."""
    columns = T.symbolic("columns") if is_dynamic else width

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((STEP, columns), "float32"), B: T.Tensor((STEP, columns), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            a = T.alloc_ub((2, STEP, 32), "float32")
            T.set_flag("mte3", "mte2", 0)
            T.set_flag("mte3", "mte2", 1)
            for i in T.serial(T.ceildiv(columns, 32)):
                turn = i % 2
                T.wait_flag("mte3", "mte2", turn)
                T.copy(A[0, i * 32], a[turn, :, :])
                T.set_flag("mte2", "mte3", turn)
                T.wait_flag("mte2", "mte3", turn)
                T.copy(a[turn, :, :], B[0, i * 32])
                T.set_flag("mte3", "mte2", turn)
            T.wait_flag("mte3", "mte2", 0)
            T.wait_flag("mte3", "mte2", 1)

    return main


def products_by_hand(inner: int, width: int) -> Any:  # noqa: ANN401
    """A gemm whose steps of k go through two pairs of tiles in L1, and whose tiles of columns go
    through two in L0C; the last of both is cut."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, inner), "float16"),
        B: T.Tensor((inner, width), "float16"),
        C: T.Tensor((32, width), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("C"):
            a = T.alloc_L1((2, 32, 32), "float16")
            b = T.alloc_L1((2, 32, 32), "float16")
            left = T.alloc_L0A((32, 32), "float16")
            right = T.alloc_L0B((32, 32), "float16")
            c = T.alloc_L0C((2, 32, 32), "float32")
            for turn in range(2):
                T.set_flag("mte1", "mte2", turn)
                T.set_flag("fix", "m", turn)
            T.set_flag("m", "mte1", 0)
            for j in T.serial(T.ceildiv(width, 32)):
                T.wait_flag("fix", "m", j % 2)
                for k in T.serial(T.ceildiv(inner, 32)):
                    T.wait_flag("mte1", "mte2", k % 2)
                    T.copy(A[0, k * 32], a[k % 2, :, :])
                    T.copy(B[k * 32, j * 32], b[k % 2, :, :])
                    T.set_flag("mte2", "mte1", k % 2)
                    T.wait_flag("mte2", "mte1", k % 2)
                    T.wait_flag("m", "mte1", 0)
                    T.copy(a[k % 2, :, :], left)
                    T.copy(b[k % 2, :, :], right)
                    T.set_flag("mte1", "mte2", k % 2)
                    T.set_flag("mte1", "m", 0)
                    T.wait_flag("mte1", "m", 0)
                    T.mma(left, right, c[j % 2, :, :], init=(k == 0))
                    T.set_flag("m", "mte1", 0)
                T.set_flag("m", "fix", j % 2)
                T.wait_flag("m", "fix", j % 2)
                T.copy(c[j % 2, :, :], C[0, j * 32])
                T.set_flag("fix", "m", j % 2)
            for turn in range(2):
                T.wait_flag("mte1", "mte2", turn)
                T.wait_flag("fix", "m", turn)
            T.wait_flag("m", "mte1", 0)

    return main


def automatic(rows: int) -> Any:  # noqa: ANN401
    """Rows of 20 elements are padded: tiles are defined before the loop, and the tail in it."""

    @T.prim_func
    def main(A: T.Tensor((rows, 20), "float32"), B: T.Tensor((rows, 20), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((2, STEP, 20), "float32")
            b = T.alloc_ub((2, STEP, 20), "float32")
            for i in T.serial(T.ceildiv(rows, STEP)):
                T.copy(A[i * STEP, 0], a[i % 2, :, :])
                T.tile.add(b[i % 2, :, :], a[i % 2, :, :], 1.0)
                T.copy(b[i % 2, :, :], B[i * STEP, 0])

    return main


def floats(*shape: int) -> Any:  # noqa: ANN401
    return random.standard_normal(shape).astype(np.float32)


for is_dynamic in (False, True):
    given = floats(86, 32)
    name = f"rows by hand, {'dynamic' if is_dynamic else 'static'}"
    wanted = given.astype(np.float64) + 1
    GROUP.add(
        name, by_hand((86, 32), is_dynamic), [given, np.zeros_like(given)], wanted, configs={}
    )
    given = floats(16, 150)
    GROUP.add(
        name.replace("rows", "columns"),
        columns_by_hand(150, is_dynamic),
        [given, np.zeros_like(given)],
        given.astype(np.float64),
        configs={},
    )
left, right = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((32, 72), (72, 90)))
GROUP.add(
    "products by hand",
    products_by_hand(72, 90),
    [left, right, np.zeros((32, 90), np.float32)],
    left.astype(np.float64) @ right.astype(np.float64),
    configs={},
)
for rows in (37, 85):
    given = floats(rows, 20)
    GROUP.add(
        f"automatic {rows}",
        automatic(rows),
        [given, np.zeros_like(given)],
        given.astype(np.float64) + 1,
        configs=AUTOMATIC,
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
