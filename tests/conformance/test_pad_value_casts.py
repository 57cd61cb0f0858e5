# SPDX-License-Identifier: Apache-2.0
"""A pad value of another dtype than the tensor's, which only the call gives, is cast to it."""

import numpy as np
import pytest

import tilewright.language as T


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_a_pad_value_that_is_cast(agree, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((6,), dtype), C: T.Tensor((8,), dtype), n: T.int32):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((8,), dtype)
            T.copy(A[0], S, pad_value=n)
            T.copy(S, C)

    a = np.arange(6).astype(dtype)
    wanted = np.append(a, np.array([9, 9], dtype))
    agree(kernel, [a, np.zeros(8, dtype), 9], {1: wanted})
