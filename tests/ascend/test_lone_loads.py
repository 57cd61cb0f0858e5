# SPDX-License-Identifier: Apache-2.0
"""Loads of a part of a tile whose length is known when the kernel runs. The DMA writes blocks of 32
bytes: where nothing else is kept in the tile, it may, and no second tile is needed; where something
is, it stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(51)
#: Elements of a tile that has no room for another one beside it.
MOST = 28000
BY_HAND: dict[Any, Any] = {}


def numbers(*shape: int) -> Any:
    return random.uniform(-1, 1, shape).astype(np.float32)


@GROUP.each(n=[0, 1, 1003, MOST], turns=[1, 3], configs=["automatic", "by hand"])
def alone(n: int, turns: int, configs: str) -> Any:
    """The same part in all turns."""

    @T.prim_func
    def main(A: T.Tensor((3 * MOST,), "float32"), n: T.int32, C: T.Tensor((3 * MOST,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((MOST,), "float32")
            for turn in T.serial(turns):
                T.copy(A[turn * n : turn * n + n], a[0:n])
                T.barrier_all()
                T.copy(a[0:n], C[turn * n : turn * n + n])
                T.barrier_all()

    a, before = numbers(3 * MOST), numbers(3 * MOST)
    expected = before.astype(np.float64)
    expected[: turns * n] = a[: turns * n]
    return main, [a, n, before], expected, AUTOMATIC if configs == "automatic" else BY_HAND


@GROUP.each(rows=[1, 5], columns=[3, 16, 21])
def rectangle(rows: int, columns: int) -> Any:
    """Of rows that are as long as n says, at a row that a loop says."""

    @T.prim_func
    def main(
        A: T.Tensor((8, 24), "float32"), m: T.int32, n: T.int32, C: T.Tensor((16, 24), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 24), "float32")
            for k in T.serial(2):
                T.copy(A[0:m, 0:n], a[k * 8 : k * 8 + m, 0:n])
            for k in T.serial(2):
                T.copy(a[k * 8 : k * 8 + m, 0:n], C[k * 8 : k * 8 + m, 0:n])

    a = numbers(8, 24)
    expected = np.zeros((2, 8, 24))
    expected[:, :rows, :columns] = a[:rows, :columns]
    result = np.zeros((16, 24), np.float32)
    return main, [a, rows, columns, result], expected.reshape(16, 24)


LONE = list(GROUP.cases)


def kept(form: str) -> Any:
    """Something lies behind the part."""

    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"), N: T.Tensor((4,), "int32"), C: T.Tensor((64,), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64,), "float32")
            n = N[0]
            if form == "shorter and shorter":
                for k in T.serial(4):
                    T.copy(A[k : k + N[k]], a[0 : N[k]])
            elif form == "filled before":
                T.tile.fill(a, 5.0)
                T.copy(A[0:n], a[0:n])
            elif form == "of another length":
                T.copy(A[8 : 8 + n], a[0:n])
                T.copy(A[0:3], a[0:3])
            else:
                view = T.reshape(a, (8, 8))
                T.tile.fill(view, 5.0)
                T.copy(A[0:n], a[0:n])
            T.copy(a[0:20], C[0])

    return main


def add_kept() -> None:
    a, lengths = numbers(64), np.array([20, 13, 6, 3], np.int32)
    part = a[:20].copy()
    for k in range(4):
        part[: lengths[k]] = a[k : k + lengths[k]]
    mixed = np.full(20, 5, np.float32)
    mixed[:13] = a[:13]
    expected = {
        "shorter and shorter": (lengths, part),
        "filled before": (lengths[1:], mixed),
        "of another length": (lengths, np.concatenate([a[:3], a[11:28]])),
        "a view is filled": (lengths[1:], mixed),
    }
    for form, (given, wanted) in expected.items():
        counts = np.zeros(4, np.int32)
        counts[: len(given)] = given
        whole = np.zeros(64)
        whole[: len(wanted)] = wanted
        GROUP.add(form, kept(form), [a, counts, np.zeros(64, np.float32)], whole)


add_kept()


@pytest.mark.parametrize("name", LONE)
def test_alone(name: str) -> None:
    assert "converted" not in GROUP.check(name).ascendc


@pytest.mark.parametrize("name", [name for name in GROUP.cases if name not in LONE])
def test_what_lies_behind_stays(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", ["alone 1003 3 automatic", "rectangle 5 16"])
def test_removals(name: str) -> None:
    """With a length that stays within the tile nothing is left to fill, and stores lie apart."""
    assert "Duplicate(" not in GROUP.check(name).ascendc
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("alone 1003 3 automatic", MOST + 1, f"'n' is {MOST + 1}, but at most {MOST} fits into"),
        ("rectangle 5 16", 9, "'m' is 9, but at most 8 fits into tile 'a'"),
    ],
)
def test_what_leaves_its_tile_is_told(name: str, given: int, told: str) -> None:
    case = GROUP.cases[name]
    place = next(at for at, each in enumerate(case.arguments) if isinstance(each, int))
    with pytest.raises(ValueError, match=told):
        GROUP.run(name, *case.arguments[:place], given, *case.arguments[place + 1 :])
