# SPDX-License-Identifier: Apache-2.0
"""Atomic operations of whole tiles, between all dtypes of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T

NUMBERS = ("int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "float32", "float64")


@pytest.mark.parametrize("to", NUMBERS)
def test_atomics_of_tiles_convert(agree, to):
    """To the dtype of what they change, from each other one, as a copy does."""

    @T.prim_func
    def kernel(
        A: T.Tensor((len(NUMBERS), 16), "int32"),
        F: T.Tensor((len(NUMBERS), 16), "float64"),
        Out: T.Tensor((4, len(NUMBERS), 16), to),
    ):
        with T.Kernel(1, threads=32):
            for k, dtype in enumerate(NUMBERS):
                tile = T.alloc_fragment((1, 16), dtype)
                T.copy(F[k : k + 1, :] if dtype.startswith("f") else A[k : k + 1, :], tile)
                T.atomic_add(Out[0, k : k + 1, :], tile)
                T.atomic_max(Out[1, k : k + 1, :], tile)
                T.atomic_min(Out[2, k : k + 1, :], tile)
                T.atomic_add(Out[3, k : k + 1, 0:8], tile[:, 8:16])

    numbers = np.tile(np.array([0, 1, 2, 3, 5, 19, 31, 77, 100, 126, 90, 60, 40, 33, 8, 7]), (9, 1))
    negative = np.where(np.arange(16) % 3 == 0, -numbers, numbers)
    unsigned = np.array([[dtype.startswith("u") for dtype in NUMBERS]]).T
    a = np.where(unsigned | to.startswith("u"), numbers, negative).astype(np.int32)
    reals = a + np.where(to.startswith("u") | (a >= 0), 0.75, -0.75)
    before = np.full((4, len(NUMBERS), 16), 20).astype(to)
    given = [
        np.array(reals[k] if dtype.startswith("f") else a[k]).astype(dtype).astype(to)
        for k, dtype in enumerate(NUMBERS)
    ]
    added = np.stack(given)
    wanted = before.copy()
    wanted[0] += added
    wanted[1] = np.maximum(before[1], added)
    wanted[2] = np.minimum(before[2], added)
    wanted[3, :, :8] += added[:, 8:]
    agree(kernel, [a, reals, before], {2: wanted}, tolerance=0)
