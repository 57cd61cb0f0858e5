# SPDX-License-Identifier: Apache-2.0
"""A copy between a part of a tensor and a larger whole tile takes the tile's extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


def test_vector_tiles() -> None:
    """The rest of the tile is padded, and not stored."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((3, 50, 70), "float32"),
        P: T.Tensor((64, 96), "float32"),
        C: T.Tensor((50, 70), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            a = T.alloc_ub((64, 96), "float32")
            T.copy(A[2, 0:50, 0:70], a, pad_value=7.0)
            T.copy(a, P)
            T.copy(a, C[0:50, 0:70])

    a = np.arange(3 * 50 * 70).reshape(3, 50, 70).astype(np.float32)
    padded = np.full((64, 96), 7, np.float32)
    padded[:50, :70] = a[2]
    for run in (tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC), None):
        p, c = np.zeros((64, 96), np.float32), np.zeros((50, 70), np.float32)
        run(a, p, c) if run else interpret(main, a, p, c)
        np.testing.assert_array_equal(p, padded)
        np.testing.assert_array_equal(c, a[2])


def test_cube_tiles() -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((50, 70), "float16"),
        B: T.Tensor((70, 40), "float16"),
        C: T.Tensor((50, 40), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            a = T.alloc_shared((64, 96), "float16")
            b = T.alloc_shared((96, 48), "float16")
            c = T.alloc_fragment((64, 48), "float32")
            T.copy(A[0:50, 0:70], a)
            T.copy(B[0:70, 0:40], b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[0:50, 0:40])

    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((50, 70), (70, 40)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    made, same = (np.zeros((50, 40), np.float32) for _ in range(2))
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, b, made)
    interpret(main, a, b, same)
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(same, expected)


def copying(loads: bool, is_npu: bool = True) -> Any:
    """One of the copies between 3 of 8 elements and a tile of 5."""

    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), C: T.Tensor((5,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=is_npu) as _:
            a = T.alloc_shared((5,), "float32")
            if loads:
                T.copy(A[2:5], a)
                T.copy(a, C)
            else:
                T.copy(C, a)
                T.copy(a, A[2:5])

    return main


def test_what_the_part_does_not_name() -> None:
    """It is read, with a warning, but not written over."""
    with pytest.warns(TilewrightWarning) as caught:
        function = copying(True)
        kernel = tilewright.compile(function, target="ascend", pass_configs=AUTOMATIC)
    told = "copy reads 5 elements in dim 0 of 'A', as many as 'a' has, not 3"
    assert [told in str(warning.message) for warning in caught] == [True]
    assert caught[0].lineno == function.function.__code__.co_firstlineno + 5
    a, c = np.arange(8, dtype=np.float32), np.zeros(5, np.float32)
    kernel(a, c)
    np.testing.assert_array_equal(c, a[2:7])
    for form, counts in (((False,), (5, 3)), ((True, False), (3, 5))):
        told = "copy source has {} elements but destination has {}".format(*counts)
        with pytest.raises(tilewright.CompileError, match=told):
            tilewright.compile(copying(*form), target="ascend" if len(form) == 1 else "cpu")
