# SPDX-License-Identifier: Apache-2.0
"""A part whose place within its tile says that the tensor's edge can't cut it: nothing pads it.
What a number puts beyond the tile is told before, so all others lie in a tensor that is as long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()


def kernel(rows: int, by_element: bool) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((rows, 64), "float32"), n: T.int32, N: T.Tensor((1,), "int32"),
        C: T.Tensor((8, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((8, 64), "float32")
            for i in T.serial(N[0] if by_element else n):
                T.copy(A[i, :], x[i, :])
            for i in T.serial(N[0] if by_element else n):
                T.tile.add(x[i, :], x[i, :], 1.0)
                T.copy(x[i, :], C[i, :])

    return main


CASES = [
    (tensor, by, count)
    for tensor in (5, 8, 40)
    for by in ("argument", "element")
    for count in (0, 1, 8)
]
for tensor_, by_, count_ in CASES:
    table = np.linspace(-1, 1, tensor_ * 64, dtype=np.float32).reshape(tensor_, 64)
    result = np.zeros((8, 64), np.float32)
    result[:count_] = 1
    result[: min(count_, tensor_)] += table[: min(count_, tensor_)]
    number = np.array([count_], np.int32)
    GROUP.add(
        f"{tensor_} {by_} {count_}",
        kernel(tensor_, by_ == "element"),
        [table, count_, number, np.zeros((8, 64), np.float32)],
        result,
    )


@pytest.mark.parametrize(("tensor", "by", "count"), CASES)
def test_values(tensor: int, by: str, count: int) -> None:
    text = GROUP.check(f"{tensor} {by} {count}").ascendc
    assert ("Duplicate(" in text) == (tensor < 8)


@pytest.mark.parametrize("by", ["argument", "element"])
@pytest.mark.parametrize("tensor", [8, 40])
def test_verdicts(tensor: int, by: str) -> None:
    GROUP.check_removals(f"{tensor} {by} 8", most=None)


@pytest.mark.parametrize("tensor", [8, 40])
def test_rows_beyond_the_tile_are_told(tensor: int) -> None:
    made = tilewright.compile(
        kernel(tensor, by_element=False), target="ascend", pass_configs=GROUP.configs
    )
    table, number = np.zeros((tensor, 64), np.float32), np.array([0], np.int32)
    with pytest.raises(RuntimeError, match=r"'x' is written at \[8, 0\] to \[8, 63\]"):
        made(table, 9, number, np.zeros((8, 64), np.float32))
