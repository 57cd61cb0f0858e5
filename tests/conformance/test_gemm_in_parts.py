# SPDX-License-Identifier: Apache-2.0
"""More rows of A than stay in a cache go in parts; C is cleared in the first turn only."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("columns", [16, 24])
@pytest.mark.parametrize("first", [0, 1])
def test_rows_in_parts(agree, dtype, columns, first):
    """A is 160 KB: 24 rows of it and 16. Where the first product doesn't clear, the fill counts."""
    rows, depth, fill = 40, 1024, 3

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, 2 * depth), dtype),
        B: T.Tensor((2 * depth, columns), dtype),
        C: T.Tensor((rows, columns), dtype),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((rows, depth), dtype)
            b = T.alloc_shared((depth, columns), dtype)
            c = T.alloc_fragment((rows, columns), dtype)
            T.fill(c, fill)
            for step in T.Pipelined(2, num_stages=2):
                T.copy(A[0, step * depth], a)
                T.copy(B[step * depth, 0], b)
                T.gemm(a, b, c, clear_accum=step + first == 0)
            T.copy(c, C)

    # Small integers: every order of a sum is exact.
    random = np.random.default_rng(9)
    a = random.integers(-4, 5, (rows, 2 * depth)).astype(dtype)
    b = random.integers(-4, 5, (2 * depth, columns)).astype(dtype)
    agree(kernel, [a, b, np.zeros((rows, columns), dtype)], {2: a @ b + fill * first})


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_what_is_summed_so_far_is_multiplied(agree, dtype):
    """Each turn multiplies the sums of the turns up to it: they can't be made in one."""
    turns, block = 4, 16

    @T.prim_func
    def kernel(
        A: T.Tensor((block, turns * block), dtype),
        B: T.Tensor((turns * block, block), dtype),
        C: T.Tensor((block, block), dtype),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((block, block), dtype)
            b = T.alloc_shared((block, block), dtype)
            sums = T.alloc_fragment((block, block), dtype)
            c = T.alloc_fragment((block, block), dtype)
            T.clear(c)
            for step in T.Pipelined(turns, num_stages=2):
                T.copy(A[0, step * block], a)
                T.copy(B[step * block, 0], b)
                T.gemm(a, b, sums, clear_accum=step == 0)
                T.gemm(sums, b, c)
            T.copy(c, C)

    random = np.random.default_rng(10)
    a = random.integers(-2, 3, (block, turns * block)).astype(dtype)
    b = random.integers(-2, 3, (turns * block, block)).astype(dtype)
    sums, want = np.zeros((block, block), dtype), np.zeros((block, block), dtype)
    for step in range(turns):
        part = slice(step * block, (step + 1) * block)
        sums = sums + a[:, part] @ b[part]
        want = want + sums @ b[part]
    agree(kernel, [a, b, np.zeros((block, block), dtype)], {2: want})


def test_each_turn_has_its_own_padding(agree):
    """Rows past A's end hold the turn's number."""
    turns, block, rows = 4, 16, 10

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, turns * block), "float32"),
        B: T.Tensor((turns * block, block), "float32"),
        C: T.Tensor((block, block), "float32"),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((block, block), "float32")
            b = T.alloc_shared((block, block), "float32")
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for step in T.Pipelined(turns, num_stages=2):
                T.copy(A[0, step * block], a, pad_value=T.cast(step, "float32"))
                T.copy(B[step * block, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    random = np.random.default_rng(11)
    a = random.integers(-4, 5, (rows, turns * block)).astype(np.float32)
    b = random.integers(-4, 5, (turns * block, block)).astype(np.float32)
    padding = np.repeat(np.arange(turns, dtype=np.float32), block)
    padded = np.concatenate([a, np.tile(padding, (block - rows, 1))])
    agree(kernel, [a, b, np.zeros((block, block), np.float32)], {2: padded @ b})


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_each_turn_has_its_own_tensor(target):
    turns, block = 4, 16

    @T.prim_func
    def kernel(
        start: T.int64,
        B: T.Tensor((turns * block, block), "float32"),
        C: T.Tensor((block, block), "float32"),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((block, block), "float32")
            b = T.alloc_shared((block, block), "float32")
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for step in T.Pipelined(turns, num_stages=2):
                address = start + T.cast(step, "int64") * (block * turns * block * 4)
                part = T.make_tensor_from_addr(address, (block, turns * block), "float32")
                T.copy(part[0, step * block], a)
                T.copy(B[step * block, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    random = np.random.default_rng(12)
    a = random.integers(-4, 5, (turns, block, turns, block)).astype(np.float32)
    b = random.integers(-4, 5, (turns, block, block)).astype(np.float32)
    c = np.zeros((block, block), np.float32)
    tilewright.compile(kernel, target=target)(a.ctypes.data, b.reshape(-1, block), c)
    np.testing.assert_array_equal(c, sum(a[k, :, k] @ b[k] for k in range(turns)))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("shape", [(0, 16, 32), (16, 0, 32), (16, 32, 0)])
def test_of_no_elements(agree, dtype, shape):
    """What has no elements is no product; without depth the sums are cleared all the same."""
    M, N, K = shape
    out = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def kernel(C: T.Tensor((2, 16, 32), out), n: T.int32):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((M, K), dtype)
            b = T.alloc_shared((K, N), dtype)
            c = T.alloc_fragment((M, N), out)
            T.fill(a, 1)
            T.fill(b, 1)
            T.fill(c, 3)
            T.gemm(a, b, c)
            T.copy(c, C[0, 0:M, 0:N])
            for step in T.Pipelined(3, num_stages=2):
                T.gemm(a, b, c, clear_accum=step + n == 2)
            T.copy(c, C[1, 0:M, 0:N])

    filled = np.zeros((2, 16, 32), out)
    filled[0, :M, :N], filled[1, :M, :N] = 3, 0
    agree(kernel, [np.zeros((2, 16, 32), out), 1], {0: filled})
