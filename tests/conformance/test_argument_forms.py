# SPDX-License-Identifier: Apache-2.0
"""Forms in which kernels declare their arguments, beside those of test_tile_names.py."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


def test_strides_without_a_dtype_or_a_shape():
    message = (
        "T.StridedTensor[...] needs a shape, strides and a dtype, as in "
        "T.StridedTensor[[M, N], [S, 1], dtype]"
    )
    for key in [4, ((4, 4), (4, 1), "float32", 0)]:
        with pytest.raises(TypeError) as caught:
            T.StridedTensor[key]
        assert str(caught.value) == message
    assert repr(T.StridedTensor) == "T.StridedTensor"


def test_strides_of_an_eager_kernel(eager, random):
    def last_column(A, dtype=T.float32):
        M, N, S = T.const("M, N, S")
        A: T.StridedTensor[[M, N], [S, 1], dtype]
        B = T.empty((M,), T.float32)
        with T.Kernel(M) as row:
            B[row] = A[row, N - 1]
        return B

    a = random.standard_normal((6, 20), np.float32)[:, :11]
    eager(last_column, [a], [a[:, -1]])


def test_match_buffer_with_symbols(agree, random):
    """`n = T.int32()` is TVM's way to make one."""

    @T.prim_func
    def kernel(a: T.handle, b: T.handle):
        n = T.int32()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n,), "float32")
        with T.Kernel(T.ceildiv(n, 4), threads=4) as block:
            for i in T.Parallel(4):
                B[block * 4 + i] = A[block * 4 + i, m - 1] + 1.0

    for rows, columns in [(10, 3), (7, 2)]:
        a = random.standard_normal((rows, columns), np.float32)
        agree(kernel, [a, np.zeros(rows, np.float32)], {1: a[:, -1] + 1})


def test_bytes_seen_as_bools(agree):
    """Whatever bit is set, it is True."""

    @T.prim_func
    def kernel(A: T.Tensor((5,), "bool"), B: T.Tensor((5,), "bool"), C: T.Tensor((5,), "int32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((5,), "bool")
            T.copy(A, s)
            for i in T.Parallel(5):
                B[i] = not s[i]
                C[i] = s[i] + s[i]

    seen = np.array([2, 0, 255, 1, 128], np.uint8).view(bool)
    expected = {1: np.array([0, 1, 0, 0, 0], bool), 2: np.array([2, 0, 2, 2, 2], np.int32)}
    agree(kernel, [seen, np.zeros(5, bool), np.zeros(5, np.int32)], expected, 0)
