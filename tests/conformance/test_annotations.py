# SPDX-License-Identifier: Apache-2.0
"""Annotations: those that change values, and those that never do."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


@pytest.mark.parametrize(("dtype", "safe"), [("float32", -3), ("int8", -3), ("float32", 0)])
def test_annotate_safe_value(agree, dtype, safe):
    """Copies and single reads past all ends of a tensor; a copy's own pad goes before, and of two
    values the last counts, also if it is 0."""

    @T.prim_func
    def kernel(
        A: T.Tensor((13, 11), dtype),
        B: T.Tensor((16, 16), dtype),
        C: T.Tensor((16, 16), dtype),
        D: T.Tensor((16, 16), dtype),
    ):
        with T.Kernel(2, 2, threads=32) as (bx, by):
            T.annotate_safe_value({A: 7})
            T.annotate_safe_value({A: safe})
            a = T.alloc_shared((8, 8), dtype)
            T.copy(A[by * 8 - 1, bx * 8 + 1], a)
            T.copy(a, B[by * 8, bx * 8])
            T.copy(A[by * 8, bx * 8], a, pad_value=5)
            T.copy(a, D[by * 8, bx * 8])
            for i, j in T.Parallel(8, 8):
                C[by * 8 + i, bx * 8 + j] = A[by * 8 + i - 2, bx * 8 + j]

    def moved(rows, columns, pad):
        return [[a[i, j] if 0 <= i < 13 and 0 <= j < 11 else pad for j in columns] for i in rows]

    a = np.arange(13 * 11).reshape(13, 11).astype(dtype)
    outputs = [np.zeros((16, 16), dtype) for _ in range(3)]
    expected = {
        1: np.array(moved([*range(-1, 7), *range(7, 15)], range(1, 17), safe), dtype),
        2: np.array(moved(range(-2, 14), range(16), safe), dtype),
        3: np.array(moved(range(16), range(16), 5), dtype),
    }
    agree(kernel, [a, *outputs], expected)


def test_layouts_of_loops_and_schedules_change_nothing(agree):
    @T.prim_func
    def kernel(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32, 8), "float32")):
        with T.Kernel(1, threads=32):
            rows = T.alloc_fragment((8, 8), "float32")
            layout = T.Fragment((8, 8), forward_fn=lambda i, j: (i * 4 + j // 2, j % 2))
            for k in T.Pipelined(
                4, num_stages=2, order=[0, 1], stage=[0, 1], sync=[1], group=[[0], [1]]
            ):
                T.copy(A[k * 8, 0], rows, loop_layout=layout)
                for i, j in T.Parallel(8, 8, loop_layout=layout):
                    B[k * 8 + i, j] = rows[i, j] * 2

    a = np.arange(256, dtype=np.float32).reshape(32, 8)
    agree(kernel, [a, np.zeros_like(a)], {1: a * 2})
