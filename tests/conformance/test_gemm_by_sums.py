# SPDX-License-Identifier: Apache-2.0
"""Gemms of float32 and float16 whose kernel asks for errors by norm only
(`tilewright.normwise_gemm`). Where the CPU adds beside multiplying, Winograd's inner products make
them (multiply_by_sums.cpp); elsewhere what is asked here holds as well."""

import numpy as np
import pytest

import tilewright
import tilewright.language as T

NORMWISE = {"tilewright.normwise_gemm": True}
UNIT = 2.0**-24


@tilewright.jit(out_idx=[2], pass_configs=NORMWISE)
def product(
    M, N, K, block_M, block_N, block_K, transposed=False, late=False, dtype="float32", out="float32"
):
    """A B, by blocks; transposed: A is [K, M], B [N, K]; late: the first turn clears the sums."""

    @T.prim_func
    def kernel(
        A: T.Tensor((K, M) if transposed else (M, K), dtype),
        B: T.Tensor((N, K) if transposed else (K, N), dtype),
        C: T.Tensor((M, N), out),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            a = T.alloc_shared((block_K, block_M) if transposed else (block_M, block_K), dtype)
            b = T.alloc_shared((block_N, block_K) if transposed else (block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), "float32")
            if not late:
                T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                if transposed:
                    T.copy(A[k * block_K, by * block_M], a)
                    T.copy(B[bx * block_N, k * block_K], b)
                else:
                    T.copy(A[by * block_M, k * block_K], a)
                    T.copy(B[k * block_K, bx * block_N], b)
                clear = (k == 0) if late else False
                T.gemm(a, b, c, transpose_A=transposed, transpose_B=transposed, clear_accum=clear)
            T.copy(c, C[by * block_M, bx * block_N])

    return kernel


def bound(a, b):
    """Of the error of each sum: Brent's for Winograd's inner products, with rows and columns scaled
    to between 1 and 2 (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
    23.2.1). (x + y)^2 is at most 4.5 x y there; the sums of blocks are added up besides."""
    depth = a.shape[1]
    steps = depth / 2 + 4 + 8
    most = np.abs(a).max(1, keepdims=True) * np.abs(b).max(0, keepdims=True)
    return 4.5 * depth * steps * UNIT / (1 - steps * UNIT) * most


def exact(a, b):
    with np.errstate(invalid="ignore"):
        return np.einsum("ik,kj->ij", a.astype(np.float64), b.astype(np.float64))


SHAPES = {
    "whole blocks": (128, 128, 192, 64, 64, 96),
    "one vector of columns": (256, 16, 128, 256, 16, 128),
    "rows that are left": (236, 192, 96, 118, 96, 48),
    "tails in all": (250, 190, 100, 128, 64, 72),
    "steps that are left": (64, 512, 256, 64, 512, 128),
}


@pytest.mark.parametrize("late", [False, True], ids=["cleared", "clears"])
@pytest.mark.parametrize("transposed", [False, True], ids=["as they are", "turned"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_errors_are_bounded_by_norm(shape, dtype, transposed, late):
    M, N, K = shape[:3]
    random = np.random.default_rng(1)
    a = random.standard_normal((M, K)).astype(dtype)
    b = random.standard_normal((K, N)).astype(dtype)
    kernel = product(*shape, transposed, late, dtype)
    result = kernel(*(np.ascontiguousarray(x.T) if transposed else x for x in (a, b)))
    error = np.abs(result - exact(a, b))
    assert np.all(error <= bound(a.astype("d"), b.astype("d")))
    # What is promised is the worst case; of random numbers they are as small as any other order's.
    assert np.sqrt(np.mean(error**2)) <= 2 * np.sqrt(K / 2) * UNIT * np.sqrt(K)


@pytest.mark.parametrize("out", ["float16", "bfloat16"])
def test_results_are_rounded_once(out):
    random = np.random.default_rng(2)
    a = random.integers(-8, 9, (128, 96)).astype(np.float32)
    b = random.integers(-8, 9, (96, 128)).astype(np.float32)
    kernel = product(128, 128, 96, 128, 64, 96, out=out)
    result = kernel(a, b)
    np.testing.assert_array_equal(result, exact(a, b).astype(np.float32).astype(result.dtype))


def test_rows_and_columns_of_all_sizes_keep_their_bits():
    """Each has one of its own, of 2^-70 to 2^70; sums are in range."""
    random = np.random.default_rng(4)
    rows, columns = random.integers(-70, 71, (128, 1)), random.integers(-50, 51, (1, 128))
    a = np.ldexp(random.standard_normal((128, 96)), rows).astype(np.float32)
    b = np.ldexp(random.standard_normal((96, 128)), columns).astype(np.float32)
    result = product(128, 128, 96, 128, 128, 96)(a, b)
    assert np.all(np.abs(result - exact(a, b)) <= bound(a.astype("d"), b.astype("d")))


def test_rows_and_columns_of_zeros_give_zeros():
    random = np.random.default_rng(5)
    a = random.standard_normal((128, 96)).astype(np.float32)
    b = random.standard_normal((96, 128)).astype(np.float32)
    a[3] = a[77] = 0
    b[:, 11] = b[:, 127] = 0
    result = product(128, 128, 96, 128, 128, 96)(a, b)
    assert not result[[3, 77]].any() and not result[:, [11, 127]].any()
    assert np.count_nonzero(result) == 126 * 126
    assert not product(128, 128, 96, 128, 128, 96)(0 * a, b).any()
    for late in (False, True):  # none of them is -0, as in the sum of products
        made = product(128, 128, 96, 128, 128, 96, late=late)
        for result in (made(a, b), made(np.zeros_like(a), b)):
            assert not np.signbit(result[result == 0]).any()


def test_integers_are_exact():
    random = np.random.default_rng(6)
    a = random.integers(-127, 128, (128, 192)).astype(np.float32)
    b = random.integers(-3, 4, (192, 128)).astype(np.float32)
    assert np.array_equal(product(128, 128, 192, 128, 128, 96)(a, b), a @ b)


@pytest.mark.parametrize("late", [False, True], ids=["cleared", "clears"])
@pytest.mark.parametrize("transposed", [False, True], ids=["as they are", "turned"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("where", [1, 40, 95])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_not_finite(dtype, where, side, transposed, late):
    """Infinity times a number is infinity, times 0 NaN; all other sums are as without it."""
    random = np.random.default_rng(7)
    a = random.integers(-8, 9, (64, 96)).astype(dtype)
    b = random.integers(1, 9, (96, 64)).astype(dtype)
    for row, value in ((3, np.inf), (9, -np.inf), (30, np.nan)):
        (a, b.T)[side][row, where] = value
    kernel = product(64, 64, 96, 64, 64, 96, transposed, late, dtype)
    result = kernel(*(np.ascontiguousarray(x.T) if transposed else x for x in (a, b)))
    assert not np.all(np.isfinite(result))
    np.testing.assert_array_equal(result, exact(a, b))


@pytest.mark.parametrize("where", [5, 40, 90])
def test_zeros_times_what_is_not_finite(where):
    """Are NaN, in a row of zeros and in a column."""
    random = np.random.default_rng(9)
    a = random.integers(-8, 9, (64, 96)).astype(np.float32)
    b = random.integers(1, 9, (96, 64)).astype(np.float32)
    a[7], b[:, 20] = 0, 0
    b[where, 9], a[30, where] = np.inf, np.nan
    result = product(64, 64, 96, 64, 64, 96)(a, b)
    assert np.isnan(result[7, 9]) and np.isnan(result[30, 20])
    np.testing.assert_array_equal(result, exact(a, b))


@pytest.mark.parametrize("side", [0, 1])
def test_subnormal_rows_keep_their_bits(side):
    """Whole numbers of the least one, times whole numbers."""
    random = np.random.default_rng(10)
    a = random.integers(-4, 5, (64, 96)).astype(np.float32)
    b = random.integers(-4, 5, (96, 64)).astype(np.float32)
    (a, b)[side][:] *= np.float32(2.0**-149)
    (a, b)[1 - side][:] *= np.float32(2.0**120)
    np.testing.assert_array_equal(product(64, 64, 96, 64, 64, 96)(a, b), exact(a, b))


def test_guarded_parts_are_not_read_elsewhere():
    """A part that a condition keeps from being one outside of its buffer."""

    @tilewright.jit(out_idx=[2], pass_configs=NORMWISE)
    def guarded(blocks):
        @T.prim_func
        def kernel(
            A: T.Tensor((2, 64, 96), "float32"),
            B: T.Tensor((96, 64), "float32"),
            C: T.Tensor((blocks, 64, 64), "float32"),
            turns: T.int32,
        ):
            with T.Kernel(blocks, threads=128) as bx:
                a = T.alloc_shared((2, 64, 96), "float32")
                b = T.alloc_shared((96, 64), "float32")
                c = T.alloc_fragment((64, 64), "float32")
                T.copy(A, a)
                T.copy(B, b)
                T.clear(c)
                for _ in T.serial(turns):
                    if bx < 2:
                        T.gemm(a[bx, :, :], b, c)
                T.copy(c, C[bx, :, :])

        return kernel

    random = np.random.default_rng(11)
    a = random.integers(-3, 4, (2, 64, 96)).astype(np.float32)
    b = random.integers(-3, 4, (96, 64)).astype(np.float32)
    result = guarded(20000)(a, b, 2)
    np.testing.assert_array_equal(result[:2], 2 * (a @ b))
    assert not result[2:].any()


def test_the_largest_numbers_stay_finite():
    largest = np.finfo(np.float32).max
    a = np.full((128, 96), largest * np.float32(0.99), np.float32)
    b = np.eye(96, 128, dtype=np.float32) * np.float32(0.5)
    result = product(128, 128, 96, 128, 128, 96)(a, b)
    assert np.all(np.abs(result - exact(a, b)) <= bound(a.astype("d"), b.astype("d")))


def test_operands_that_a_loop_keeps_or_changes():
    """q stays for all turns; p is made anew in each, after it was multiplied."""

    @tilewright.jit(out_idx=[2], pass_configs=NORMWISE)
    def chain(steps):
        @T.prim_func
        def kernel(
            Q: T.Tensor((96, 96), "float32"),
            V: T.Tensor((steps, 96, 96), "float32"),
            Out: T.Tensor((96, 96), "float32"),
        ):
            with T.Kernel(1, threads=128) as _:
                q = T.alloc_shared((96, 96), "float32")
                p = T.alloc_shared((96, 96), "float32")
                v = T.alloc_shared((steps, 96, 96), "float32")
                s = T.alloc_fragment((96, 96), "float32")
                out = T.alloc_fragment((96, 96), "float32")
                T.copy(Q, q)
                T.copy(V, v)
                T.fill(p, 1)
                T.clear(out)
                for step in T.serial(steps):
                    T.gemm(p, v[step, :, :], out)
                    T.gemm(q, v[step, :, :], s, clear_accum=True)
                    for i, j in T.Parallel(96, 96):
                        p[i, j] = s[i, j]
                T.copy(out, Out)

        return kernel

    random = np.random.default_rng(8)
    q = random.integers(-3, 4, (96, 96)).astype(np.float32)
    v = random.integers(-3, 4, (3, 96, 96)).astype(np.float32)
    expected, p = np.zeros((96, 96)), np.ones((96, 96))
    for turn in v.astype(np.float64):
        expected += p @ turn
        p = q @ turn
    assert np.array_equal(chain(3)(q, v), expected)


def test_who_multiplies_so():
    """AMD's AVX-512 does, of what is no bfloat16, where the kernel asks for it."""

    def made(cpu, configs, dtype="float32"):
        @T.prim_func
        def kernel(
            A: T.Tensor((64, 96), dtype),
            B: T.Tensor((96, 64), dtype),
            C: T.Tensor((64, 64), "float32"),
        ):
            with T.Kernel(1, threads=128) as _:
                a = T.alloc_shared((64, 96), dtype)
                b = T.alloc_shared((96, 64), dtype)
                c = T.alloc_fragment((64, 64), "float32")
                T.copy(A, a)
                T.copy(B, b)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C)

        kernel = tilewright.compile(kernel, cpu=cpu, pass_configs=configs)
        return any("cpu.sums" in text for _, text in kernel.stages())

    assert made("znver4", NORMWISE) and made("znver5", NORMWISE, "float16")
    assert not made("znver4", {"tl.enable_fast_math": True})
    assert not made("znver4", NORMWISE, "bfloat16")
    assert not made("sapphirerapids", NORMWISE)
    assert not made("znver3", NORMWISE)
