# SPDX-License-Identifier: Apache-2.0
"""Copies that lie wholly beyond their tensors, in all blocks or in some blocks or iterations: what
they would load is padding, and nothing waits for what never happens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
GROUP = KernelGroup()
NUMBERS = (np.arange(4 * 32) % 7 / 8).reshape(4, 32)


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


@T.prim_func
def padding_only(A: T.Tensor((4, 32), "float16"), C: T.Tensor((6, 32), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(3, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((2, 32), "float32")
        T.copy(A[cid * 2 + 4, 0], a, pad_value=3.0)
        T.tile.add(a, a, 1.0)
        T.copy(a, C[cid * 2, 0])


@T.prim_func
def beyond_both_ends(A: T.Tensor((4, 32), "float32"), C: T.Tensor((4, 32), "float32")):  # type: ignore[no-untyped-def]
    """Before the first row or behind the last column; stores that reach nothing."""
    with T.Kernel(1, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((4, 32), "float32")
        b = T.alloc_ub((4, 32), "float32")
        T.copy(A[cid - 4, 0], a)
        T.copy(A[0, 40 + cid], b)
        T.tile.add(a, a, b)
        T.copy(a, C[cid + 7, 0])
        T.tile.add(a, a, 2.0)
        T.copy(a, C)


@T.prim_func
def some_blocks(A: T.Tensor((4, 32), "float32"), C: T.Tensor((6, 32), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(3, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((2, 32), "float32")
        b = T.alloc_ub((2, 32), "float32")
        T.copy(A[cid * 2, 0], a)
        T.tile.add(b, a, 1.0)
        T.copy(b, C[cid * 2, 0])


@T.prim_func
def first_iteration(A: T.Tensor((4, 32), "float32"), C: T.Tensor((3, 32), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((3, 32), "float32")
        total = T.alloc_ub((3, 32), "float32")
        T.clear(total)
        for k in T.serial(4):
            T.copy(A[k * 3 + 2, 0], a)
            T.tile.add(total, total, a)
        T.copy(total, C)


@T.prim_func
def last_iteration(A: T.Tensor((4, 32), "float32"), C: T.Tensor((2, 32), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(2, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((2, 32), "float32")
        T.copy(A[cid, 0], a)
        for k in T.serial(4):
            T.tile.add(a, a, 1.0)
            T.copy(a, C[6 - k * 2 + cid * 2, 0])


@T.prim_func
def cube(
    A: T.Tensor((16, 32), "float16"),
    B: T.Tensor((32, 16), "float16"),
    C: T.Tensor((16, 16), "float32"),
):  # type: ignore[no-untyped-def]
    """The steps of k behind the first are not there, nor is the second block's product."""
    with T.Kernel(2, is_npu=True, threads=1) as cid:
        a = T.alloc_L1((16, 32), "float16")
        b = T.alloc_L1((32, 16), "float16")
        c = T.alloc_L0C((16, 16), "float32")
        for k in T.serial(3):
            T.copy(A[0, k * 32], a)
            T.copy(B[k * 32, 0], b)
            T.gemm_v0(a, b, c, init=(k == 0))
        T.copy(c, C[cid * 16, 0])
        T.copy(c, C[cid * 16 + 16, 0])


@T.prim_func
def branches(A: T.Tensor((4, 32), "float32"), C: T.Tensor((4, 32), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as cid:
        a = T.alloc_ub((4, 32), "float32")
        T.tile.fill(a, 1.0)
        if cid > 2 and A[0, 0] > 0.0:
            T.copy(A, a)
        for _ in T.serial(cid * 2 - 3, cid):
            T.tile.exp(a, a)
        for _ in T.serial(cid, cid * 2):
            T.tile.add(a, a, 5.0)
        T.copy(a, C)


@T.prim_func
def last_turn_of_all(A: T.Tensor((16, 32), "float32"), n: T.int32, C: T.Tensor((2, 32), "float32")):  # type: ignore[no-untyped-def]
    """A turn that loads by k isn't the one that leaves; the last one of all has nothing to load."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((1, 32), "float32")
        total = T.alloc_ub((1, 32), "float32")
        T.clear(total)
        for k in T.serial(17):
            T.copy(A[k % 2, 0], a)
            T.tile.add(total, total, a)
            if k < n:
                T.copy(A[k, 0], a)
            if k >= n:
                break
        T.copy(total, C[0, 0])
        T.copy(a, C[1, 0])


f32 = NUMBERS.astype(np.float32)
f16 = NUMBERS.astype(np.float16)
GROUP.add("padding only", padding_only, [f16, zeros(6, 32)], np.full((6, 32), 4.0))
GROUP.add("beyond both ends", beyond_both_ends, [f32, zeros(4, 32)], np.full((4, 32), 2.0))
GROUP.add("some blocks", some_blocks, [f32, zeros(6, 32)], np.pad(NUMBERS, ((0, 2), (0, 0))) + 1)
GROUP.add(
    "first iteration", first_iteration, [f32, zeros(3, 32)], np.pad(NUMBERS[2:], ((0, 1), (0, 0)))
)
GROUP.add("last iteration", last_iteration, [f32, zeros(2, 32)], NUMBERS[:2] + 4)
left = (np.arange(16 * 32) % 5 - 2).reshape(16, 32).astype(np.float16)
right = (np.arange(32 * 16) % 7 - 3).reshape(32, 16).astype(np.float16)
GROUP.add(
    "cube",
    cube,
    [left, right, zeros(16, 16)],
    left.astype(np.float64) @ right.astype(np.float64),
)
e3 = np.exp(np.exp(np.exp(1.0)))
GROUP.add("branches", branches, [f32, zeros(4, 32)], np.full((4, 32), e3), rtol=1e-5)

sixteen = (np.arange(16 * 32) % 7 / 8).reshape(16, 32).astype(np.float32)
GROUP.add(
    "last turn of all",
    last_turn_of_all,
    [sixteen, 17, zeros(2, 32)],
    np.stack([9 * sixteen[0] + 8 * sixteen[1], np.zeros(32)]),
)


def operand_in_pieces(rows: int, there: int) -> Any:
    """Pieces of so many rows of an operand in L1, the last one first, of a tensor that ends before
    the tile does: what is padded of one are its own rows, whatever lies below them."""

    @T.prim_func
    def main(A: T.Tensor((there, 32), "float16"), C: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((64, 32), "float16")
            c = T.alloc_L0C((64, 64), "float32")
            for i in T.serial(64 // rows):
                start = 64 - rows - i * rows
                T.copy(A[(start + 16) % 64, 0], a[start : start + rows, :])
            T.gemm_v0(a, a, c, transpose_B=True, init=True)
            T.copy(c, C)

    return main


for rows, there in ((1, 30), (4, 33), (8, 50), (16, 40)):
    full = np.zeros((64, 32), np.float16)
    full[:there] = (np.arange(there * 32) % 11 / 8).reshape(there, 32)
    # A piece begins 16 rows further on in the tensor, or again at its start.
    starts = [(start + 16) % 64 for start in range(0, 64, rows)]
    loaded = np.vstack([full[at : at + rows] for at in starts]).astype(np.float64)
    GROUP.add(
        f"operand in pieces of {rows}",
        operand_in_pieces(rows, there),
        [full[:there], zeros(64, 64)],
        {1: loaded @ loaded.T},
    )


@T.prim_func
def by_hand(A: T.Tensor((40, 32), "float16"), C: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
    """The same with flags by hand, which are enough: pieces are loaded side by side, also the one
    that the tensor's end cuts."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_L1((64, 32), "float16")
        c = T.alloc_L0C((64, 64), "float32")
        for i in T.serial(4):
            T.copy(A[i * 16, 0], a[i * 16 : (i + 1) * 16, :])
        T.set_flag("mte2", "mte1", 0)
        T.wait_flag("mte2", "mte1", 0)
        T.gemm_v0(a, a, c, transpose_B=True, init=True)
        T.set_flag("m", "fix", 0)
        T.wait_flag("m", "fix", 0)
        T.copy(c, C)


part = np.pad((np.arange(40 * 32) % 11 / 8).reshape(40, 32), ((0, 24), (0, 0)))
GROUP.add(
    "operand in pieces by hand",
    by_hand,
    [part[:40].astype(np.float16), zeros(64, 64)],
    part @ part.T,
    configs=AUTOMATIC | {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: False},
)


def test_flags_by_hand_are_enough() -> None:
    assert GROUP.told("operand in pieces by hand") == []


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_no_flag_is_for_nothing(name: str) -> None:
    removals = GROUP.removals(name)
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
    assert removals.missed() == []
    assert removals.needless() == []


@pytest.mark.parametrize(
    ("name", "loads", "stores"),
    [("padding only", 0, 1), ("beyond both ends", 0, 1), ("branches", 0, 1), ("cube", 2, 1)],
)
def test_what_never_moves_is_not_printed(name: str, loads: int, stores: int) -> None:
    GROUP.run(name)
    source = GROUP.cases[name].ascendc
    assert source.count("copyGmTo") == loads
    assert source.count("ToGm(") == stores
