# SPDX-License-Identifier: Apache-2.0
"""Nests that read across what they write: square blocks are turned in registers."""

import numpy as np
import pytest

import tilewright.language as T


@pytest.fixture
def floats(random):
    def make(*shape):
        return random.standard_normal(shape).astype(np.float32)

    return make


@pytest.mark.parametrize("rows", [64, 50])
def test_strips_and_back(agree, floats, cpus, rows):
    """As attention by columns brings Q and its result; the last block may be ragged."""

    @T.prim_func
    def kernel(A: T.Tensor((rows, 32), "float32"), B: T.Tensor((rows, 32), "float32")):
        with T.Kernel(T.ceildiv(rows, 32), threads=32) as b:
            a = T.alloc_shared((2, 32, 16), "float32")
            total = T.alloc_fragment((2, 16), "float32")
            for s, i in T.Parallel(2, 16):
                total[s, i] = 1.0 + s * 16 + i
            for s, d, i in T.Parallel(2, 32, 16):
                a[s, d, i] = A[b * 32 + s * 16 + i, d]
            for s, i, d in T.Parallel(2, 16, 32):
                B[b * 32 + s * 16 + i, d] = a[s, d, i] / total[s, i]

    a = floats(rows, 32)
    wanted = a / (1 + np.arange(rows) % 32)[:, None]
    agree(kernel, [a, np.zeros_like(a)], {1: wanted.astype(np.float32)}, cpus=cpus)


def test_several_operands(agree, floats, cpus):
    """Two that are turned, one that is not, one of a row, and a number."""

    @T.prim_func
    def kernel(
        A: T.Tensor((48, 32), "float32"),
        B: T.Tensor((48, 64), "float32"),
        C: T.Tensor((32, 48), "float32"),
        D: T.Tensor((32,), "float32"),
        E: T.Tensor((64, 96), "float32"),
    ):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(32, 48):
                E[i + 32, j + 48] = -(A[j, i] - B[j, i + 32]) * C[i, j] + D[i] * 2.0

    a, b, c, d = floats(48, 32), floats(48, 64), floats(32, 48), floats(32)
    e = np.zeros((64, 96), np.float32)
    wanted = e.copy()
    wanted[32:, 48:] = -(a.T - b[:, 32:].T) * c + d[:, None] * 2
    agree(kernel, [a, b, c, d, e], {4: wanted}, cpus=cpus)


def test_numbers_made_of_the_last_variable(agree, floats, cpus):
    """They differ in each lane."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(32, 32):
                B[i, j] = A[j, i] + T.cast(j * 3 + i, "float32")

    a = floats(32, 32)
    j, i = np.meshgrid(np.arange(32), np.arange(32))
    wanted = (a.T + j * 3 + i).astype(np.float32)
    agree(kernel, [a, np.zeros_like(a)], {1: wanted}, cpus=cpus)


def test_strides(agree, floats, cpus):
    """Rows that lie apart, and rows backwards."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 32), "float32"),
        B: T.Tensor((32, 32), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(32, 32):
                B[i, j] = A[2 * j + 1, i]
            for i, j in T.Parallel(32, 32):
                C[i, j] = A[31 - j, i]

    a = floats(64, 32)
    b = np.zeros((32, 32), np.float32)
    agree(kernel, [a, b, b.copy()], {1: a[1::2].T, 2: a[31::-1].T}, cpus=cpus)


@pytest.mark.parametrize("shape", [(2, 3, 1), (2, 1, 3), (2, 3, 4), (4, 1), (1, 5), (2, 2, 1, 1)])
def test_transposed_rows_and_columns(agree, random, shape):
    """The dims before the last two stay where they are, also where one of these is a single row."""
    other = (*shape[:-2], shape[-1], shape[-2])

    @T.prim_func
    def kernel(A: T.Tensor(shape, "float32"), B: T.Tensor(other, "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared(shape, "float32")
            turned = T.alloc_shared(other, "float32")
            T.copy(A, tile)
            T.transpose(tile, turned)
            T.copy(turned, B)

    a = random.standard_normal(shape).astype(np.float32)
    agree(kernel, [a, np.zeros(other, np.float32)], {1: np.swapaxes(a, -1, -2).copy()}, 0)
