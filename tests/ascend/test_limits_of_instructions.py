# SPDX-License-Identifier: Apache-2.0
"""What is more than one instruction can say: the distance of a tensor's rows, as in the last layer
of a language model, and the number of rows to spread numbers over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

random = np.random.default_rng(65)
GROUP = KernelGroup()
pytestmark = pytest.mark.xdist_group("ascend_limits_of_instructions")


@GROUP.each(dtype=["float16", "float32", "int8"], width=[65535, 65536, 70001], fixed=[True, False])
def product(dtype: str, width: int, fixed: bool) -> Any:
    """The last columns of two tensors, one as it lies and one transposed, with tails."""
    accum = "int32" if dtype == "int8" else "float32"
    W = width if fixed else T.dynamic("w")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((20, W), dtype), B: T.Tensor((64, W), dtype), C: T.Tensor((20, W), accum)
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1((32, 64), dtype)
            b = T.alloc_L1((64, 32), dtype)
            c = T.alloc_L0C((32, 32), accum)
            T.copy(A[0, W - 40], a)
            T.copy(B[0, W - 32], b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[0, W - 33])

    a, b = (random.integers(-8, 8, (rows, width)).astype(dtype) for rows in (20, 64))
    expected = np.zeros((20, width))
    left = a[:, -40:].astype(np.float64)
    expected[:, -33:-1] = left @ b[:40, -32:].astype(np.float64)
    return main, [a, b, np.zeros((20, width), accum)], expected


@GROUP.each(rows=[2032, 2050, 2500], dtype=["float16", "float32"])
def spread(rows: int, dtype: str) -> Any:
    """A number per row becomes the row."""

    @T.prim_func
    def main(A: T.Tensor((rows,), dtype), C: T.Tensor((rows, 8), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((rows, 1), dtype)
            c = T.alloc_ub((rows, 8), dtype)
            T.copy(A, a[:, 0])
            T.tile.broadcast(c, a)
            T.copy(c, C)

    a = random.standard_normal(rows).astype(dtype)
    return main, [a, np.zeros((rows, 8), dtype)], np.repeat(a[:, None], 8, 1).astype(np.float64)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


def test_verdicts() -> None:
    GROUP.check_removals("product float16 70001 True")
