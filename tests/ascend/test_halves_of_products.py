# SPDX-License-Identifier: Apache-2.0
"""Which half of a gemm's result a vector core takes, in the forms in which kernels say it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
SIZE, HALF, VEC_NUM = 48, 24, 2
PARTS = {
    "product": lambda c, vid: c[vid * HALF : (vid + 1) * HALF, :],
    "quotient": lambda c, vid: c[vid * SIZE // VEC_NUM : (vid + 1) * SIZE // VEC_NUM, :],
    "sum": lambda c, vid: c[vid * SIZE // VEC_NUM : vid * SIZE // VEC_NUM + HALF, :],
    "start": lambda c, vid: c[vid * SIZE // VEC_NUM, 0],
    "third": lambda c, vid: c[vid * (3 * HALF) // 3, 0],
}


@pytest.mark.parametrize("form", PARTS)
def test_forms(form: str) -> None:
    part = PARTS[form]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2 * SIZE, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
        C: T.Tensor((2 * SIZE, 64), "float32"),
    ):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            a = T.alloc_L1((SIZE, 64), "float16")
            b = T.alloc_L1((64, 64), "float16")
            c = T.alloc_L0C((SIZE, 64), "float32")
            y = T.alloc_ub((HALF, 64), "float32")
            T.copy(A[cid * SIZE, 0], a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(part(c, vid), y)
            T.tile.mul(y, y, 2.0)
            T.copy(y, C[cid * SIZE + vid * SIZE // VEC_NUM, 0])

    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (n, 64)).astype(np.float16) for n in (2 * SIZE, 64))
    expected = 2 * (a.astype(np.float64) @ b.astype(np.float64))
    made = np.zeros((2 * SIZE, 64), np.float32)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, b, made)
    np.testing.assert_array_equal(made, expected)
