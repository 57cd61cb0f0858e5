# SPDX-License-Identifier: Apache-2.0
"""The last sums of a gemm go straight to the result: for any number of turns, in any type."""

from __future__ import annotations

from itertools import product as product_of

import ml_dtypes
import numpy as np
import pytest

import tilewright.language as T


def product(dtype, out, rows, depth, columns, blocks, turns=None):
    """C = A B in blocks; the depth may be known when it is called only."""
    block_m, block_n, block_k = blocks
    K = T.dynamic("K") if turns is None else turns * block_k

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, K), dtype),
        B: T.Tensor((K, columns), dtype),
        C: T.Tensor((rows, columns), out),
    ):
        with T.Kernel(columns // block_n, rows // block_m, threads=64) as (bx, by):
            a = T.alloc_shared((block_m, block_k), dtype)
            b = T.alloc_shared((block_k, block_n), dtype)
            c = T.alloc_fragment((block_m, block_n), "int32" if dtype == "int8" else "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(K, block_k), num_stages=2):
                T.copy(A[by * block_m, step * block_k], a)
                T.copy(B[step * block_k, bx * block_n], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block_m, bx * block_n])

    return kernel


# A depth of 0 can't be known: such a tensor has no elements.
@pytest.mark.parametrize("turns, known", [(0, False), *product_of([1, 2, 3], [True, False])])
@pytest.mark.parametrize(
    "dtype, out",
    [
        ("float32", "float32"),
        ("float32", "float16"),
        ("float32", "bfloat16"),
        ("bfloat16", "bfloat16"),
        ("float16", "float32"),
        ("int8", "int32"),
    ],
)
def test_turns(agree, dtype, out, turns, known):
    """No turn leaves what was there before the loop: zeros."""
    rows, columns, blocks = 40, 64, (20, 32, 16)
    depth = turns * blocks[2]
    random = np.random.default_rng(turns)
    # Small integers: every order of a sum is exact, and the results fit bfloat16's 8 bits.
    a = random.integers(-1, 2, (rows, depth)).astype(dtype)
    b = random.integers(-2, 3, (depth, columns)).astype(dtype)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    assert abs(exact).max(initial=0) <= 256
    kernel = product(dtype, out, rows, depth, columns, blocks, turns if known else None)
    agree(kernel, [a, b, np.ones((rows, columns), out)], {2: exact.astype(out)})


def test_rounding_of_results(agree):
    """bfloat16 of sums of products of bfloat16: to nearest even, infinities and NaN stay."""
    rows, depth, columns = 12, 16, 32
    random = np.random.default_rng(3)
    a = random.integers(-256, 257, (rows, depth)).astype(ml_dtypes.bfloat16)
    b = random.integers(-256, 257, (depth, columns)).astype(ml_dtypes.bfloat16)
    a[:, 0] = 1
    b[0, 0], b[0, 1], b[0, 2] = np.inf, -np.inf, np.nan
    exact = a.astype(np.float64) @ b.astype(np.float64)  # below 2^24: float32 is exact, too
    kernel = product("bfloat16", "bfloat16", rows, depth, columns, (rows, columns, depth), 1)
    zeros = np.zeros((rows, columns), ml_dtypes.bfloat16)
    agree(kernel, [a, b, zeros], {2: exact.astype(np.float32).astype(ml_dtypes.bfloat16)})


@pytest.mark.parametrize("inner", [1, 2])
@pytest.mark.parametrize("anew", [False, True])
def test_sums_that_go_on(agree, inner, anew):
    """Each turn of a loop copies the sums so far away; `anew` begins at 0 every time."""
    turns, size, depth = 3, 32, 16

    @T.prim_func
    def kernel(
        A: T.Tensor((size, turns * inner * depth), "float32"),
        B: T.Tensor((turns * inner * depth, size), "float32"),
        C: T.Tensor((turns * size, size), "float32"),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((size, depth), "float32")
            b = T.alloc_shared((depth, size), "float32")
            c = T.alloc_fragment((size, size), "float32")
            T.clear(c)
            for turn in T.serial(turns):
                for step in T.Pipelined(inner, num_stages=2):
                    T.copy(A[0, (turn * inner + step) * depth], a)
                    T.copy(B[(turn * inner + step) * depth, 0], b)
                    T.gemm(a, b, c, clear_accum=anew and step == 0)
                T.copy(c, C[turn * size, 0])

    random = np.random.default_rng(5)
    a = random.integers(-4, 5, (size, turns * inner * depth)).astype(np.float32)
    b = random.integers(-4, 5, (turns * inner * depth, size)).astype(np.float32)
    ends = [(turn + 1) * inner * depth for turn in range(turns)]
    exact = [
        a[:, end - inner * depth if anew else 0 : end] @ b[end - inner * depth if anew else 0 : end]
        for end in ends
    ]
    agree(kernel, [a, b, np.zeros((turns * size, size), np.float32)], {2: np.vstack(exact)})


@pytest.mark.parametrize("dtype, out", [("bfloat16", "bfloat16"), ("int8", "int32")])
def test_parts_in_the_last_turn(agree, dtype, out):
    """Steps of the depth around parts of the rows, each with sums of its own."""
    rows, size, depth, parts = 32, 64, 32, 2

    @T.prim_func
    def kernel(
        A: T.Tensor((parts * rows, size), dtype),
        B: T.Tensor((size, size), dtype),
        C: T.Tensor((parts * rows, size), out),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((rows, depth), dtype)
            b = T.alloc_shared((depth, size), dtype)
            c = T.alloc_fragment((parts, rows, size), "int32" if dtype == "int8" else "float32")
            for step in T.serial(size // depth):
                T.copy(B[step * depth, 0], b)
                for part in T.Pipelined(parts, num_stages=2):
                    T.copy(A[part * rows, step * depth], a)
                    T.gemm(a, b, c[part, :, :], clear_accum=step == 0)
                    if step == size // depth - 1:
                        T.copy(c[part, :, :], C[part * rows, 0])

    random = np.random.default_rng(5)
    a = random.integers(-1, 2, (parts * rows, size)).astype(dtype)
    b = random.integers(-1, 2, (size, size)).astype(dtype)
    exact = (a.astype(np.int64) @ b.astype(np.int64)).astype(out)
    agree(kernel, [a, b, np.zeros_like(exact)], {2: exact})
