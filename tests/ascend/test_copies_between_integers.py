# SPDX-License-Identifier: Apache-2.0
"""T.copy within UB between any two integer types, by instructions or number by number: the low bits
of each number, with its sign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ROWS, COLUMNS = 3, 64


def numbers(dtype: str) -> Any:
    """Around zero, and around the ends of each type that this one has."""
    limits = np.iinfo(dtype)
    near = [base + step for bits in (0, 7, 8, 15, 16, 31, 32, 52) for base in (2**bits, -(2**bits))
            for step in (-1, 0, 1)]  # fmt: skip
    held = [number for number in near if limits.min <= number <= limits.max]
    return np.resize(np.array(held, dtype), (ROWS, COLUMNS))


def add(source: str, to: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), source), C: T.Tensor((ROWS, COLUMNS), to)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), source)
            c = T.alloc_ub((ROWS, COLUMNS), to)
            T.copy(A, a)
            T.copy(a, c)
            T.copy(c, C)

    a = numbers(source)
    wanted = a.astype(to)
    GROUP.add(f"{source} to {to}", main, [a, np.zeros_like(wanted)], wanted, rtol=0, atol=0)


for given in TYPES:
    for made in TYPES:
        if given != made:
            add(given, made)


@pytest.mark.parametrize("name", GROUP.cases)
def test_copies_between_integers(name: str) -> None:
    GROUP.check(name)
