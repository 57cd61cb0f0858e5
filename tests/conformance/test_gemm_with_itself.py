# SPDX-License-Identifier: Apache-2.0
"""Both operands of a product are one tile, brought by one copy."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("rounds", [1, 2])
def test_of_one_tile(agree, dtype, transpose, rounds):
    @T.prim_func
    def kernel(A: T.Tensor((48, 48), dtype), C: T.Tensor((48, 48), "float32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((48, 48), dtype)
            c = T.alloc_fragment((48, 48), "float32")
            T.clear(c)
            for _ in T.serial(rounds):
                T.copy(A, a)
                T.gemm(a, a, c, transpose_B=transpose)
            T.copy(c, C)

    # Small integers: every order of a sum is exact.
    a = np.random.default_rng(7).integers(-4, 5, (48, 48)).astype(dtype)
    wide = a.astype(np.float32)
    agree(
        kernel,
        [a, np.zeros((48, 48), np.float32)],
        {1: rounds * (wide @ (wide.T if transpose else wide))},
    )
