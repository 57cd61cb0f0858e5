# SPDX-License-Identifier: Apache-2.0
"""T.copy of sides of different extents: the one nearer to the threads says how much is copied."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning


def test_partial_copies(agree, random):
    @T.prim_func
    def kernel(A: T.Tensor((40, 48), "float32"), B: T.Tensor((40, 48), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16, 32), "float32")
            own = T.alloc_fragment((8, 32), "float32")
            T.copy(A[4:36, 8:48], tile)
            T.copy(tile[4:16, :], own)
            T.copy(own, B[0:20, 0:48])
            T.copy(A[36:38, :], B[30:36, :])

    a = random.standard_normal((40, 48)).astype(np.float32)
    expected = np.zeros_like(a)
    expected[:8, :32] = a[8:16, 8:40]
    expected[30:32] = a[36:38]
    with pytest.warns(TilewrightWarning) as told:
        agree(kernel, [a, np.zeros_like(a)], {1: expected})
    texts = {str(each.message).partition("error: ")[2] or str(each.message) for each in told}
    for words in (
        "copy source has 32 rows but destination has 16, so 16 are copied",
        "copy source has 12 rows but destination has 8, so 8 are copied",
        "copy source has 32 columns but destination has 48, so 32 are copied",
    ):
        assert any(words in text for text in texts), texts


def test_what_the_nearer_side_lacks_is_refused():
    @T.prim_func
    def kernel(A: T.Tensor((40, 32), "float32"), B: T.Tensor((40, 32), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16, 32), "float32")
            T.copy(A[0:8, :], tile)
            T.copy(tile, B[0:12, :])
            T.copy(A[0:8, :], B[0:4, :])

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel)
    assert [d.message for d in caught.value.errors] == [
        "copy source has 8 rows but destination has 16",
        "copy source has 16 rows but destination has 12",
        "copy source has 8 rows but destination has 4",
    ]
