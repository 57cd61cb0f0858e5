# SPDX-License-Identifier: Apache-2.0
"""More rows of A than stay in a cache go in parts; C is cleared in the first turn only."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("columns", [16, 24])
@pytest.mark.parametrize("first", [0, 1])
def test_rows_in_parts(agree, dtype, columns, first):
    """A is 160 KB: 24 rows of it and 16. Where the first product doesn't clear, the fill counts."""
    rows, depth, fill = 40, 1024, 3

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, 2 * depth), dtype),
        B: T.Tensor((2 * depth, columns), dtype),
        C: T.Tensor((rows, columns), dtype),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((rows, depth), dtype)
            b = T.alloc_shared((depth, columns), dtype)
            c = T.alloc_fragment((rows, columns), dtype)
            T.fill(c, fill)
            for step in T.Pipelined(2, num_stages=2):
                T.copy(A[0, step * depth], a)
                T.copy(B[step * depth, 0], b)
                T.gemm(a, b, c, clear_accum=step + first == 0)
            T.copy(c, C)

    # Small integers: every order of a sum is exact.
    random = np.random.default_rng(9)
    a = random.integers(-4, 5, (rows, 2 * depth)).astype(dtype)
    b = random.integers(-4, 5, (2 * depth, columns)).astype(dtype)
    agree(kernel, [a, b, np.zeros((rows, columns), dtype)], {2: a @ b + fill * first})
