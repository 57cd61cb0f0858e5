# SPDX-License-Identifier: Apache-2.0
"""The least integer by -1 wraps, and what is left of it is 0; unsigned integers know no -1."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint32", "uint64"])
def test_the_least_integer_by_the_greatest_bits(agree, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((16,), dtype), B: T.Tensor((16,), dtype), C: T.Tensor((4, 16), dtype)):
        with T.Kernel(1, threads=16):
            for i in T.Parallel(16):
                C[0, i] = A[i] // B[i]
                C[1, i] = A[i] % B[i]
                C[2, i] = T.truncdiv(A[i], B[i])
                C[3, i] = T.truncmod(A[i], B[i])

    limits = np.iinfo(dtype)
    a = np.resize(np.array([limits.min, limits.max // 2 + 1, limits.max, 5], dtype), 16)
    b = np.full(16, limits.max if dtype.startswith("u") else -1, dtype)
    with np.errstate(over="ignore"):
        # By -1 and by what is not smaller, rounding down and towards zero are the same.
        expected = np.stack([a // b, a % b] * 2)
    agree(kernel, [a, b, np.zeros((4, 16), dtype)], {2: expected})
