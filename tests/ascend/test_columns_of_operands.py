# SPDX-License-Identifier: Apache-2.0
"""Copies of some columns of a gemm's operand that end within 32 bytes: the load to L1 writes zeros
to what follows, so that the vector cores do it where that is not the copy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

random = np.random.default_rng(43)
GROUP = KernelGroup(tolerance=5e-3)


def overwriting(columns: int, rows: int, before: str, by_hand: bool = False) -> Any:
    """Some columns of 16 or fewer rows, over a tile that has been written or cleared."""
    alloc, result = (T.alloc_L1, T.alloc_L0C) if by_hand else (T.alloc_shared, T.alloc_fragment)

    @T.prim_func
    def main(
        A: T.Tensor((16, columns), "float16"),
        B: T.Tensor((16, 64), "float16"),
        W: T.Tensor((64, 32), "float16"),
        C: T.Tensor((16, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = alloc((16, 64), "float16")
            w = alloc((64, 32), "float16")
            c = result((16, 32), "float32")
            T.copy(W, w)
            if before == "copy":
                T.copy(B, a)
            else:
                T.clear(a)
            T.copy(A[0:rows, 0:columns], a[0:rows, 0:columns])
            T.gemm(a, w, c, clear_accum=True)
            T.copy(c, C)

    return main


for columns, rows, before in (
    (20, 16, "copy"),
    (20, 9, "copy"),
    (32, 9, "copy"),
    (20, 16, "clear"),
):
    a = random.uniform(-1, 1, (16, columns)).astype(np.float16)
    b = random.uniform(-1, 1, (16, 64)).astype(np.float16)
    w = random.uniform(-1, 1, (64, 32)).astype(np.float16)
    tile = b.astype(np.float64) if before == "copy" else np.zeros((16, 64))
    tile[:rows, :columns] = a[:rows]
    GROUP.add(
        f"{columns} {rows} {before}",
        overwriting(columns, rows, before),
        [a, b, w, np.zeros((16, 32), np.float32)],
        tile @ w.astype(np.float64),
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    text = GROUP.check(name).ascendc
    assert ("copyGmToUb(" in text) == (name in ("20 16 copy", "20 9 copy", "20 16 clear"))


def test_by_hand_it_is_said() -> None:
    with pytest.warns(TilewrightWarning) as caught:
        tilewright.compile(overwriting(20, 16, "copy", by_hand=True), target="ascend")
    found = [str(each.message) for each in caught if "columns writes 0" in str(each.message)]
    assert len(found) == 1
    assert found[0].startswith(
        "this copy of 20 columns writes 0 to the next 12 of its tile in L1, too, whose columns "
        "come in groups of 16; copy whole groups, or copy to a tile of T.alloc_ub and that to L1"
    )
