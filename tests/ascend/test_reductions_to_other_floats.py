# SPDX-License-Identifier: Apache-2.0
"""Reductions of floats into a tile of other floats: the wider dtype accumulates."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
ROWS, COLUMNS = 8, 80
FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}
#: Half of the last bit, of what is stored.
ROUNDING = {"float16": 5e-4, "bfloat16": 4e-3, "float32": 1e-6}
random = np.random.default_rng(11)


def reduction(kind: str, source: str, target: str, dim: int, clear: bool) -> Any:  # noqa: ANN401, FBT001
    kept = COLUMNS if dim == 0 else ROWS

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), source), B: T.Tensor((kept,), target)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), source)
            b = T.alloc_ub((kept,), target)
            T.copy(A, a)
            if not clear:
                T.copy(B, b)
            T.reduce(a, b, kind, dim, clear=clear)
            T.copy(b, B)

    return main


PAIRS = [("float16", "float32"), ("bfloat16", "float32")]
PAIRS += [(target, source) for source, target in PAIRS]
for kind, (source, target), dim, clear in product(
    ("sum", "max", "min"), PAIRS, (0, 1), (True, False)
):
    a = random.standard_normal((ROWS, COLUMNS)).astype(FLOATS[source])
    before = random.standard_normal(COLUMNS if dim == 0 else ROWS).astype(FLOATS[target])
    of = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind]
    wanted = of.reduce(a.astype(np.float64), axis=dim)
    if not clear:
        wanted = of(wanted, before.astype(np.float64))
    GROUP.add(
        f"{kind} of {source} to {target}, dim {dim}{'' if clear else ' and what was there'}",
        reduction(kind, source, target, dim, clear),
        [a, before],
        wanted,
        rtol=ROUNDING[target],
        atol=ROUNDING[target],
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_reductions_to_other_floats(name: str) -> None:
    """The host and the interpreter."""
    GROUP.check(name)
