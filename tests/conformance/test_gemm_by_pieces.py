# SPDX-License-Identifier: Apache-2.0
"""Gemms of floats of 8 bits, and with fast math of float32 and float16. Where the CPU has AMX,
products of bfloat16 pieces make each (multiply_by_pieces.cpp); elsewhere vectors do. What is asked
here holds for both."""

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

FAST = {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True}
UNIT = 2.0**-24


@tilewright.jit(out_idx=[2], pass_configs=FAST)
def product(M, N, K, block_M, block_N, block_K, transposed=False, late=False, dtype="float32"):
    """A B, by blocks; transposed: B is [N, K]; late: the first turn clears the sums."""

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((N, K) if transposed else (K, N), dtype),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_N, block_K) if transposed else (block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), "float32")
            if not late:
                T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], a)
                if transposed:
                    T.copy(B[bx * block_N, k * block_K], b)
                else:
                    T.copy(B[k * block_K, bx * block_N], b)
                T.gemm(a, b, c, transpose_B=transposed, clear_accum=(k == 0) if late else False)
            T.copy(c, C[by * block_M, bx * block_N])

    return kernel


def bound(a, b):
    """Of the error of each sum in float32, in any order (Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., section 3.5)."""
    depth = a.shape[1] + 2
    return depth * UNIT / (1 - depth * UNIT) * (np.abs(a) @ np.abs(b)) + 2.0**-126


def check(result, a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    assert np.all(np.abs(np.asarray(result, np.float64) - a @ b) <= bound(a, b))


SHAPES = {
    "whole tiles": (128, 128, 128, 64, 64, 64),
    "a rest of 16 rows": (240, 192, 96, 80, 96, 32),
    "tails in all": (250, 190, 100, 128, 64, 64),
    "wide": (64, 1024, 128, 64, 512, 128),
}


@pytest.mark.parametrize("late", [False, True], ids=["cleared", "clears"])
@pytest.mark.parametrize("transposed", [False, True], ids=["KN", "NK"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_products_are_as_good_as_float32(shape, dtype, transposed, late):
    M, N, K = shape[:3]
    random = np.random.default_rng(1)
    a = random.standard_normal((M, K)).astype(dtype)
    b = random.standard_normal((K, N)).astype(dtype)
    kernel = product(*shape, transposed, late, dtype)
    check(kernel(a, np.ascontiguousarray(b.T) if transposed else b), a, b)


@pytest.mark.parametrize("exponent", [-40, -20, 0, 20, 30])
def test_numbers_of_all_sizes_keep_their_bits(exponent):
    """From 2^-20 to 2^20 beside each other, times 2^exponent; the sums are in range."""
    random = np.random.default_rng(exponent + 100)

    def numbers(*shape):
        sizes = random.integers(-20, 21, shape) + exponent
        return np.ldexp(random.standard_normal(shape), sizes).astype(np.float32)

    a, b = numbers(128, 64), numbers(64, 128)
    check(product(128, 128, 64, 128, 128, 64)(a, b), a, b)


def test_all_float16_numbers_count():
    """Each that is finite, subnormal ones too, times 1 and times the largest."""
    numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    numbers = np.where(np.isfinite(numbers), numbers, 0).reshape(512, 128)
    for factor in (1, 65504):
        b = np.eye(128, dtype=np.float16) * np.float16(factor)
        kernel = product(512, 128, 128, 128, 128, 128, dtype="float16")
        assert np.array_equal(kernel(numbers, b), numbers.astype(np.float32) * factor)


@pytest.mark.parametrize("other", ["float8_e5m2", "float8_e4m3fn"])
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"])
def test_all_floats_of_8_bits_count(dtype, other):
    """Each times 1 and -2; with what isn't finite, too, which makes NaN of its row's zeros."""
    numbers = np.arange(64 * 64).astype(np.uint8).reshape(64, 64).view(getattr(ml_dtypes, dtype))

    @tilewright.jit(out_idx=[2])
    def both():
        @T.prim_func
        def kernel(
            A: T.Tensor((64, 64), dtype),
            B: T.Tensor((64, 64), other),
            C: T.Tensor((64, 64), "float32"),
        ):
            with T.Kernel(1, threads=128) as _:
                a = T.alloc_shared((64, 64), dtype)
                b = T.alloc_shared((64, 64), other)
                c = T.alloc_fragment((64, 64), "float32")
                T.copy(A, a)
                T.copy(B, b)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C)

        return kernel

    b = (np.eye(64) - 2 * np.eye(64, k=1)).astype(getattr(ml_dtypes, other))
    kernel = both()
    wide = numbers.astype(np.float64)
    for a in (numbers, np.where(np.isfinite(wide), numbers, numbers[0, 0])):
        with np.errstate(invalid="ignore"):
            exact = np.einsum("ik,kj->ij", a.astype(np.float64), b.astype(np.float64))
        np.testing.assert_array_equal(kernel(a, b), exact)


@pytest.mark.parametrize("late", [False, True], ids=["cleared", "clears"])
@pytest.mark.parametrize("transposed", [False, True], ids=["KN", "NK"])
@pytest.mark.parametrize("side", [0, 1])
def test_float16_that_is_not_finite(side, transposed, late):
    """Infinity times a number is infinity, times 0 NaN; all other sums are as without it."""
    random = np.random.default_rng(6)
    a = random.integers(-8, 9, (64, 128)).astype(np.float16)
    b = random.integers(1, 9, (128, 64)).astype(np.float16)
    (a, b)[side][3, 5] = np.inf
    (a, b)[side][9, 70 if side == 0 else 7] = -np.inf
    (a, b)[side][100 if side else 30, 1] = np.nan
    kernel = product(64, 64, 128, 64, 64, 64, transposed, late, "float16")
    result = kernel(a, np.ascontiguousarray(b.T) if transposed else b)
    with np.errstate(invalid="ignore"):
        exact = np.einsum("ik,kj->ij", a.astype(np.float64), b.astype(np.float64))
    assert not np.all(np.isfinite(exact))
    np.testing.assert_array_equal(result, exact)


def test_integers_are_exact():
    """All sums stay below 2^24, and so do those of pieces: of 12 bits there are two."""
    random = np.random.default_rng(3)
    a = random.integers(-4095, 4096, (128, 64)).astype(np.float32)
    b = random.integers(-32, 33, (64, 128)).astype(np.float32)
    assert np.array_equal(product(128, 128, 64, 128, 128, 64)(a, b), a @ b)


def test_all_24_bits_of_a_number_count():
    """A permutation times numbers whose last bit is set gives them back."""
    random = np.random.default_rng(4)
    a = np.eye(128, dtype=np.float32)[random.permutation(128)]
    b = (random.integers(1 << 22, 1 << 23, (128, 128)) * 2 + 1).astype(np.float32)
    assert np.array_equal(product(128, 128, 128, 128, 128, 128)(a, b), a @ b)
    assert np.array_equal(product(128, 128, 128, 128, 128, 128)(b, a), b @ a)


def test_the_largest_numbers_stay_finite():
    """Rounding to 8 bits must not make infinity of what is left of them."""
    largest = np.finfo(np.float32).max
    a = np.full((128, 128), largest * np.float32(0.99), np.float32)
    b = np.eye(128, dtype=np.float32) * np.float32(0.5)
    check(product(128, 128, 128, 128, 128, 128)(a, b), a, b)


def test_operands_that_a_loop_keeps_or_changes():
    """q stays for all turns; p is made anew in each, after it was multiplied."""

    @tilewright.jit(out_idx=[2], pass_configs=FAST)
    def chain(steps):
        @T.prim_func
        def kernel(
            Q: T.Tensor((128, 128), "float32"),
            V: T.Tensor((steps, 128, 128), "float32"),
            Out: T.Tensor((128, 128), "float32"),
        ):
            with T.Kernel(1, threads=128) as _:
                q = T.alloc_shared((128, 128), "float32")
                p = T.alloc_shared((128, 128), "float32")
                v = T.alloc_shared((steps, 128, 128), "float32")
                s = T.alloc_fragment((128, 128), "float32")
                out = T.alloc_fragment((128, 128), "float32")
                T.copy(Q, q)
                T.copy(V, v)
                T.fill(p, 0.5)
                T.clear(out)
                for step in T.serial(steps):
                    T.gemm(p, v[step, :, :], out)
                    T.gemm(q, v[step, :, :], s, clear_accum=True)
                    for i, j in T.Parallel(128, 128):
                        p[i, j] = s[i, j] * 0.125
                T.copy(out, Out)

        return kernel

    random = np.random.default_rng(5)
    q = random.standard_normal((128, 128)).astype(np.float32)
    v = random.standard_normal((3, 128, 128)).astype(np.float32)
    exact, p = np.zeros((128, 128)), np.full((128, 128), 0.5)
    size = np.zeros((128, 128))
    for turn in v.astype(np.float64):
        exact += p @ turn
        size += np.abs(p) @ np.abs(turn)
        p = q.astype(np.float64) @ turn * 0.125
    # p's own error is that of one product more, of numbers as large.
    size += np.abs(q) @ np.abs(v[0]) @ np.abs(v[1]) + np.abs(q) @ np.abs(v[1]) @ np.abs(v[2])
    assert np.all(np.abs(chain(3)(q, v) - exact) <= 3 * 130 * UNIT * size)
