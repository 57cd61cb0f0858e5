# SPDX-License-Identifier: Apache-2.0
"""Outputs that no cache keeps: they are stored past the caches, and inputs are fetched ahead."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

COLUMNS = 4096
ROWS = (32 << 20) // (4 * COLUMNS) + 3


def aligned(shape, offset=0):
    """An array whose first element is `offset` bytes behind the beginning of a line."""
    count = int(np.prod(shape))
    raw = np.empty(4 * count + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + 4 * count].view(np.float32).reshape(shape)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(7).standard_normal((ROWS, COLUMNS), np.float32)


@pytest.mark.parametrize("offset", [0, 4])
@pytest.mark.parametrize("dynamic", [False, True])
def test_rows_that_are_copied_changed_and_written(rows, dynamic, offset):
    """Lines that begin evenly, and lines that don't; a size that is known, and one that isn't."""
    height = T.dynamic("height") if dynamic else ROWS

    @T.prim_func
    def kernel(
        X: T.Tensor((height, COLUMNS), "float32"), Y: T.Tensor((height, COLUMNS), "float32")
    ):
        with T.Kernel(height, threads=128) as row:
            x = T.alloc_fragment((1, COLUMNS), "float32")
            largest = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(1, COLUMNS):
                x[i, j] = x[i, j] - largest[i]
            for i, j in T.Parallel(1, COLUMNS):
                Y[row + i, j] = x[i, j] * 2.0

    y = aligned(rows.shape, offset)
    y[:] = 7
    tilewright.compile(kernel)(rows, y)
    expected = (rows - rows.max(1, keepdims=True)) * np.float32(2)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("target", ["float16", "float32"])
def test_tiles_that_are_copied_out(rows, target):
    """Of ragged height; a conversion stores vectors of half the width."""

    @T.prim_func
    def kernel(X: T.Tensor((2 * ROWS, 2048), "float32"), Y: T.Tensor((2 * ROWS, 2048), target)):
        with T.Kernel(T.ceildiv(2048, 256), T.ceildiv(2 * ROWS, 32), threads=128) as (bx, by):
            x = T.alloc_shared((32, 256), "float32")
            T.copy(X[by * 32, bx * 256], x)
            for i, j in T.Parallel(32, 256):
                x[i, j] = x[i, j] + 1.0
            T.copy(x, Y[by * 32, bx * 256])

    x = rows.reshape(2 * ROWS, 2048)
    y = aligned(x.shape) if target == "float32" else np.empty(x.shape, np.float16)
    tilewright.compile(kernel)(x, y)
    np.testing.assert_array_equal(y, (x + np.float32(1)).astype(target))


def test_a_long_vector(rows):
    """Of a length that is known when it runs, with a ragged end."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 4096), threads=128) as bx:
            for i in T.Parallel(4096):
                Y[bx * 4096 + i] = X[bx * 4096 + i] * 3.0

    x = rows.reshape(-1)[:-37]
    y = aligned(x.shape)
    tilewright.compile(kernel)(x, y)
    np.testing.assert_array_equal(y, x * np.float32(3))
