# SPDX-License-Identifier: Apache-2.0
"""Numbers of NumPy name lanes, as Python's do."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

pytest.importorskip("tilewright._compiler")


def test_lanes_by_numbers_of_numpy():
    @T.prim_func
    def kernel(A: T.Tensor((2,), "float32x4"), C: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=1):
            v = A[0] + A[1]
            for j in np.arange(4):
                C[j] = v[j]

    a, c = np.arange(8, dtype=np.float32).reshape(2, 4), np.zeros(4, np.float32)
    tilewright.compile(kernel, target="cpu")(a, c)
    np.testing.assert_array_equal(c, a.sum(0))
