# SPDX-License-Identifier: Apache-2.0
"""Parts of a tile in UB are written, and nothing beside them: neither the rest of a block of 32
bytes nor what lies between two rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
M, N = 6, 14
ROWS = 4


def on_host(function: Any, source: Array) -> Array:
    """C, of which each element was 7 in UB before the kernel wrote a part."""
    result = np.zeros((M, N), np.float32)
    tilewright.compile(function, target="ascend", pass_configs=AUTOMATIC)(source, result)
    return result


def expected(part: Array | float, columns: int) -> Array:
    result = np.full((M, N), 7, np.float32)
    result[:ROWS, :columns] = part
    return result


@pytest.mark.parametrize("columns", [1, 8, 10, 13, 14])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_copy_within_ub(columns: int, dtype: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), C: T.Tensor((M, N), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((M, N), dtype)
            c = T.alloc_ub((M, N), "float32")
            T.copy(A, a)
            T.fill(c, 7.0)
            T.copy(a[0:ROWS, 0:columns], c[0:ROWS, 0:columns])
            T.copy(c, C)

    source = np.arange(M * N).reshape(M, N).astype(dtype)
    np.testing.assert_array_equal(on_host(main, source), expected(source[:ROWS, :columns], columns))


@pytest.mark.parametrize("columns", [1, 8, 10, 13, 14])
def test_fill(columns: int) -> None:
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((M, N), "float32")
            T.fill(c, 7.0)
            T.fill(c[0:ROWS, 0:columns], 3.0)
            T.copy(c, C)

    source = np.zeros((M, N), np.float32)
    np.testing.assert_array_equal(on_host(main, source), expected(3.0, columns))


@pytest.mark.parametrize("columns", [1, 8, 10, 13, 14])
def test_load(columns: int) -> None:
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((M, N), "float32")
            T.fill(c, 7.0)
            T.copy(A[0:ROWS, 0:columns], c[0:ROWS, 0:columns])
            T.copy(c, C)

    source = np.arange(M * N).reshape(M, N).astype(np.float32)
    np.testing.assert_array_equal(on_host(main, source), expected(source[:ROWS, :columns], columns))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_load_of_a_column(dtype: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((M, 1), dtype), C: T.Tensor((M, N), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((M, N), "float32")
            T.fill(c, 7.0)
            T.copy(A[0:ROWS, 0:1], c[0:ROWS, 0:1])
            T.copy(c, C)

    source = np.arange(M).reshape(M, 1).astype(dtype)
    np.testing.assert_array_equal(on_host(main, source), expected(source[:ROWS], 1))
