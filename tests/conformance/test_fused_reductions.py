# SPDX-License-Identifier: Apache-2.0
"""Reductions of what the nest before them computes: on the CPU both are one loop."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.mark.parametrize("columns", [8, 48, 64, 1280])
def test_sums_and_maxima(agree, random, columns):
    """From a stored exponential, of magnitudes, and with what the target held; a NaN in one row."""

    @T.prim_func
    def reductions(
        A: T.Tensor((12, columns), "float32"),
        B: T.Tensor((3, 12), "float32"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((12, columns), "float32")
            x = T.alloc_fragment((12, columns), "float32")
            largest = T.alloc_fragment((12,), "float32")
            total = T.alloc_fragment((12,), "float32")
            magnitude = T.alloc_fragment((12, 1), "float32")
            T.copy(A, a)
            T.fill(largest, 0.75)
            for i, j in T.Parallel(12, columns):
                x[i, j] = a[i, j] * 0.5
            T.reduce_max(x, largest, dim=1, clear=False)
            for i, j in T.Parallel(12, columns):
                x[i, j] = T.exp(a[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(12, columns):
                x[i, j] = T.if_then_else(a[i, j] > largest[i], a[i, j] - 3.0, total[i])
            T.reduce_absmax(x, magnitude, dim=1)
            for i in T.Parallel(12):
                B[0, i] = largest[i]
                B[1, i] = total[i]
                B[2, i] = magnitude[i, 0]

    a = random.standard_normal((12, columns)).astype(np.float32)
    a[3, 5] = np.nan
    exact = a.astype(np.float64)
    largest = np.fmax(np.fmax.reduce(exact * 0.5, axis=1), 0.75)
    total = np.exp(exact - largest[:, None]).sum(axis=1)
    shifted = np.where(exact > largest[:, None], exact - 3.0, total[:, None])
    expected = np.stack([largest, total, np.fmax.reduce(np.abs(shifted), axis=1)])
    agree(reductions, [a, np.zeros((3, 12), np.float32)], {1: expected})


def test_one_row_of_bfloat16(agree, random, numpy_dtypes):
    """Wider on the way, in strips; the sum lands in the middle of a buffer."""

    @T.prim_func
    def squares(A: T.Tensor((4, 2048), "bfloat16"), B: T.Tensor((4,), "float32")):
        with T.Kernel(4, threads=32) as row:
            a = T.alloc_shared((1, 2048), "bfloat16")
            x = T.alloc_fragment((1, 2048), "float32")
            sums = T.alloc_fragment((3,), "float32")
            T.copy(A[row, 0], a)
            for i, j in T.Parallel(1, 2048):
                x[i, j] = T.cast(a[i, j], "float32") * T.cast(a[i, j], "float32")
            T.reduce_sum(x, sums[1:2], dim=1)
            B[row] = sums[1]

    a = random.standard_normal((4, 2048)).astype(numpy_dtypes["bfloat16"])
    expected = (a.astype(np.float64) ** 2).sum(axis=1)
    agree(squares, [a, np.zeros(4, np.float32)], {1: expected})


def test_bfloat16_that_stays_along_a_row(agree, random, numpy_dtypes):
    """All lanes of a vector are one number, which stands before the row's loop."""

    @T.prim_func
    def kernel(
        A: T.Tensor((1, 768), "float16"),
        V: T.Tensor((2,), "float32"),
        B: T.Tensor((1,), "float32"),
        C: T.Tensor((1, 768), "bfloat16"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((1, 768), "float16")
            x = T.alloc_fragment((1, 768), "float32")
            y = T.alloc_fragment((1, 768), "bfloat16")
            v = T.alloc_fragment((2,), "float32")
            least = T.alloc_fragment((1,), "float32")
            T.copy(A, a)
            T.copy(V, v)
            for i, j in T.Parallel(1, 768):
                y[i, j] = T.sqrt(T.abs(v[0] + v[1] * v[0]))
                x[i, j] = 1.0 / (T.abs(T.cast(a[i, j], "float32")) + T.exp2(v[1]))
            T.reduce_min(x, least, dim=1)
            T.copy(least, B)
            T.copy(y, C)

    bfloat16 = numpy_dtypes["bfloat16"]
    a = random.standard_normal((1, 768)).astype(np.float16)
    v = np.array([1.75, 0.625], np.float32)
    least = (1 / (np.abs(a.astype(np.float64)) + 2**0.625)).min(axis=1)
    root = np.full((1, 768), np.sqrt(1.75 * 1.625)).astype(bfloat16)
    agree(
        kernel, [a, v, np.zeros(1, np.float32), np.zeros((1, 768), bfloat16)], {2: least, 3: root}
    )


@pytest.mark.parametrize("columns", [8, 16, 32, 40])
@pytest.mark.parametrize("rows", [6, 7])
def test_columns(agree, random, rows, columns):
    """Down the columns, from a stored exponential and with what the target held; a NaN in one."""

    @T.prim_func
    def reductions(
        A: T.Tensor((2, rows, columns), "float32"),
        B: T.Tensor((3, 2, columns), "float32"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((2, rows, columns), "float32")
            x = T.alloc_fragment((2, rows, columns), "float32")
            weight = T.alloc_fragment((rows,), "float32")
            largest = T.alloc_fragment((2, columns), "float32")
            total = T.alloc_fragment((2, columns), "float32")
            kept = T.alloc_fragment((2, 1, columns), "float32")
            T.copy(A, a)
            T.fill(largest, 0.75)
            T.reduce_max(a, largest, dim=1, clear=False)
            for i in T.Parallel(rows):
                weight[i] = 0.5 + i
            for b, i, j in T.Parallel(2, rows, columns):
                x[b, i, j] = T.exp(a[b, i, j] - largest[b, j]) * weight[i]
            T.reduce_sum(x, total, dim=1)
            T.fill(kept, 2.0)
            for b, i, j in T.Parallel(2, rows, columns):
                x[b, i, j] = x[b, i, j] + weight[i]
            T.reduce_min(x, kept, dim=1, clear=False)
            T.copy(largest, B[0, :, :])
            T.copy(total, B[1, :, :])
            for b, j in T.Parallel(2, columns):
                B[2, b, j] = kept[b, 0, j]

    a = random.standard_normal((2, rows, columns)).astype(np.float32)
    a[0, 3, 5] = np.nan
    exact = a.astype(np.float64)
    largest = np.fmax(np.fmax.reduce(exact, axis=1), 0.75)
    weight = 0.5 + np.arange(rows)[:, None]
    x = np.exp(exact - largest[:, None]) * weight
    kept = np.fmin(np.fmin.reduce(x + weight, axis=1), 2.0)
    expected = np.stack([largest, x.sum(axis=1), kept])
    agree(reductions, [a, np.zeros((3, 2, columns), np.float32)], {1: expected})


@pytest.mark.parametrize("rows", [16, 64, 80])
def test_exponentials_that_feed_a_gemm(agree, random, rows):
    """By a unit matrix, so that the products are the exponentials themselves: computed beside
    products where the machine has room for that, within 2^-22 with fast math."""
    columns = 32

    @T.prim_func
    def fed(
        A: T.Tensor((rows, columns), "float32"),
        V: T.Tensor((rows, rows), "float32"),
        C: T.Tensor((rows, columns), "float32"),
        S: T.Tensor((columns,), "float32"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((rows, columns), "float32")
            v = T.alloc_shared((rows, rows), "float32")
            c = T.alloc_fragment((rows, columns), "float32")
            added = T.alloc_fragment((columns,), "float32")
            total = T.alloc_fragment((columns,), "float32")
            T.copy(A, a)
            T.copy(V, v)
            T.fill(total, 1)
            for i, j in T.Parallel(rows, columns):
                a[i, j] = T.exp2(a[i, j])
            T.reduce_sum(a, added, dim=0)
            for j in T.Parallel(columns):
                total[j] += added[j]
            T.gemm(v, a, c, transpose_A=True, clear_accum=True)
            T.copy(c, C)
            T.copy(total, S)

    unit = np.eye(rows, dtype=np.float32)
    empty = [np.zeros((rows, columns), np.float32), np.zeros(columns, np.float32)]
    fast = tilewright.compile(
        fed, pass_configs={tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True}
    )
    for lowest in (-2, -125):
        for _ in range(20):
            x = random.uniform(lowest, 2, (rows, columns)).astype(np.float32)
            x[random.integers(rows), :4] = [-np.inf, 0, -1, -0.03125]
            exact = np.exp2(x.astype(np.float64))
            fast(x, unit, *empty)
            assert np.all(np.abs(empty[0] - exact) <= 2.0**-22 * exact)
            assert np.allclose(empty[1], exact.sum(axis=0) + 1, rtol=1e-5)
    agree(fed, [x, unit, *empty], {2: exact, 3: exact.sum(axis=0) + 1})
