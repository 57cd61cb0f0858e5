# SPDX-License-Identifier: Apache-2.0
"""More tiles go from the cube core to the vector cores than there are flags between cores: an id is
set again only where its core knows that it has been waited for."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
SIDE = 16
TILES = 16
A = (np.arange(SIDE * SIDE) % 5 - 2).reshape(SIDE, SIDE).astype(np.float16)
PRODUCT = A.astype(np.float64) @ A.astype(np.float64)


def sums(count: int, turns: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((SIDE, SIDE), "float16")
            x = T.alloc_ub((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.tile.fill(x, 0.0)
            for _turn in T.serial(turns):
                for k in range(count):
                    c = T.alloc_fragment((SIDE, SIDE), "float32")
                    T.gemm_v0(a, a, c, init=True)
                    for i, j in T.Parallel(SIDE, SIDE):
                        x[i, j] = x[i, j] + c[i, j] * (k + 1.0)
            T.copy(x, C)

    return main


CASES = {"once": (TILES, 1), "in a loop": (7, 3)}
for name, (count, turns) in CASES.items():
    total = turns * count * (count + 1) // 2 * PRODUCT
    GROUP.add(name, sums(count, turns), [A, np.zeros((SIDE, SIDE), np.float32)], total)


@pytest.mark.parametrize("name", CASES)
def test_no_flag_counts(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    case = GROUP.check(name)
    assert "again before it is waited for" not in capfd.readouterr().err
    ids = re.findall(r"CrossCoreSetFlag<.*>\((\d+)\)", case.ascendc)
    assert len(ids) > len(set(ids))
