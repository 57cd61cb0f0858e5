# SPDX-License-Identifier: Apache-2.0
"""Copies between parts of one tile: all is read before anything is written."""

import numpy as np
import pytest

import tilewright.language as T

ROWS = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)


def moves(source, target):
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((8, 16), "float32")
            T.copy(A, s)
            first, second = source(n), target(n)
            T.copy(s[first : first + 5, 0:16], s[second : second + 5, 0:16])
            T.copy(s, B)

    return kernel


@pytest.mark.parametrize(
    ("source", "target", "rows"),
    [
        (lambda n: 0, lambda n: 2, (0, 2)),
        (lambda n: 2, lambda n: 0, (2, 0)),
        (lambda n: n, lambda n: n + 1, (1, 2)),
        (lambda n: n + 2, lambda n: n, (3, 1)),
        (lambda n: n, lambda n: 3, (1, 3)),
    ],
)
def test_rows_that_move_over_themselves(agree, source, target, rows):
    expected = ROWS.copy()
    expected[rows[1] : rows[1] + 5] = ROWS[rows[0] : rows[0] + 5]
    agree(moves(source, target), [ROWS, np.zeros_like(ROWS), 1], {1: expected}, 0)


def test_parts_of_a_tensor_that_overlap(agree):
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            T.copy(A[0:48], A[16:64])

    numbers = np.arange(64, dtype=np.int32)
    expected = numbers.copy()
    expected[16:] = numbers[:48]
    agree(kernel, [numbers], {0: expected}, 0)


def test_views_of_one_tile_that_overlap(agree):
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((8, 16), "float32")
            v = T.reshape(s, (16, 8))
            T.copy(A, s)
            T.copy(v[0:8, 0:8], s[0:8, 0:8])
            T.copy(s, B)

    expected = ROWS.copy()
    expected[:, :8] = ROWS.reshape(16, 8)[:8]
    agree(kernel, [ROWS, np.zeros_like(ROWS)], {1: expected}, 0)
