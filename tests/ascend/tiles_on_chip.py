# SPDX-License-Identifier: Apache-2.0
"""Products of tiles that the cube core makes and the vector cores add up: what the kernels do that
are about flags between the two."""

from __future__ import annotations

from typing import Any

import tilewright.language as T

SIDE = 16


class TilesOnChip:
    """Two left operands, one right operand, so many products, which are made of the first, and the
    sum of those that are added. A kernel makes it in its launch."""

    def __init__(self, left: Any, right: Any, count: int) -> None:  # noqa: ANN401
        self.a = [T.alloc_L1((SIDE, SIDE), "float16") for _ in range(2)]
        self.b = T.alloc_L1((SIDE, SIDE), "float16")
        self.u = T.alloc_ub((SIDE, SIDE), "float32")
        self.x = T.alloc_ub((SIDE, SIDE), "float32")
        self.h = T.alloc_ub((SIDE, SIDE), "float16")
        self.c = [T.alloc_L0C((SIDE, SIDE), "float32") for _ in range(count)]
        T.copy(left[0, :, :], self.a[0])
        T.copy(left[1, :, :], self.a[1])
        T.copy(right, self.b)
        T.copy(left[0, :, :], self.h)
        T.tile.fill(self.u, 0.0)
        for k in range(count):
            self.gemm(k, 0)

    def gemm(self, k: int, operand: int) -> None:
        T.gemm_v0(self.a[operand], self.b, self.c[k], init=True)

    def add(self, k: int) -> None:
        T.copy(self.c[k], self.x)
        T.tile.add(self.u, self.u, self.x)

    def step(self, k: int, operand: int) -> None:
        self.gemm(k, operand)
        self.add(k)

    def one(self) -> None:
        T.tile.add(self.u, self.u, 1.0)


@T.macro
def back(h: Any, operand: Any) -> None:  # noqa: ANN401
    """From the vector cores to the cube core."""
    for p, q in T.Parallel(SIDE, SIDE):
        h[p, q] = T.min(T.max(1 - h[p, q], -3), 3)
    T.copy(h, operand)
