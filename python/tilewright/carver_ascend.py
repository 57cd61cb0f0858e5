# SPDX-License-Identifier: Apache-2.0
"""`tilelang.carver` for Ascend: blocks that fit the chip's memories, the likely fastest first.

An estimate, for `tilewright.autotune` to measure: turns of the cores, in each of which the slower
of the cube and the load from global memory counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from .language.dtypes import to_dtype
from .language.values import LanguageError


class Ascend:
    """A 910B2; memories are those of one core, in bytes."""

    name = "Ascend910B2"
    core_num = 24
    ub_cap = 192 << 10
    l1_cap = 512 << 10
    l0a_cap = l0b_cap = 64 << 10
    l0c_cap = 128 << 10

    def __init__(self, target: object = None) -> None:
        self.target = target or "ascend"

    def __repr__(self) -> str:
        return f"Ascend({self.name!r})"


@dataclass
class Hint:
    """`block` is rows and columns of a block's product, `rstep` what of K is loaded at once."""

    block: list[int]
    rstep: list[int] = field(default_factory=list)


#: What one core does in a cycle: products of the cube, and bytes from global memory.
_PRODUCTS, _BYTES = 16 * 16 * 16, 32
#: Cycles of a step over K, and of a block, beside that.
_STEP, _BLOCK = 200, 1000


class MatmulTemplate:
    """Blocks of C = A @ B; what is stored and where sums are kept doesn't matter to them."""

    def __init__(
        self,
        M: int,
        N: int,
        K: int,
        in_dtype: Any = "float16",
        out_dtype: Any = None,
        accum_dtype: Any = None,
        **layouts: Any,
    ) -> None:
        self.sizes = (M, N, K)
        self.bits: int = to_dtype(in_dtype).bits
        self.arch: Ascend | None = None

    def with_arch(self, arch: Any) -> MatmulTemplate:
        if not isinstance(arch, Ascend):
            from .absent import REASONS
            from .language.values import unsupported

            message = f"carver.MatmulTemplate for {arch!r} is not supported: {REASONS['carver']}"
            raise unsupported(message)
        self.arch = arch
        return self

    def recommend_hints(self, topk: int = 10) -> list[Hint]:
        if self.arch is None:
            raise LanguageError("carver.MatmulTemplate needs with_arch before it has hints")
        M, N, K = self.sizes
        arch = self.arch
        ranked = [
            (self._cycles(arch, m, n, k), -m * n, -k, Hint([m, n], [k]))
            for m in _lengths(M, 256)
            for n in _lengths(N, 256)
            for k in _lengths(K, 512)
            if self._fits(arch, m, n, k)
        ]
        ranked.sort(key=lambda each: each[:3])
        return [hint for *_, hint in ranked[:topk]]

    def _fits(self, arch: Ascend, m: int, n: int, k: int) -> bool:
        """In L0C as 32 bits, and in L1 twice, for the next step is loaded meanwhile."""
        is_in_l1 = 2 * (m + n) * k * self.bits // 8 <= arch.l1_cap - 256
        return is_in_l1 and m * n * 4 <= arch.l0c_cap

    def _cycles(self, arch: Ascend, m: int, n: int, k: int) -> float:
        M, N, K = self.sizes
        blocks = math.ceil(M / m) * math.ceil(N / n)
        turns = math.ceil(blocks / arch.core_num)
        products = m * n * K / _PRODUCTS * self.bits / 16
        load = (m + n) * K * self.bits / 8 / _BYTES
        return turns * (max(products, load) + math.ceil(K / k) * _STEP + _BLOCK)


def _lengths(length: int, most: int) -> list[int]:
    """Powers of 2 from 16 on that divide a length; 16 if none does."""
    found = [size for size in (16 << n for n in range(6)) if size <= most and length % size == 0]
    return found or [16]
