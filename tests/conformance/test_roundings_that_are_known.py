# SPDX-License-Identifier: Apache-2.0
"""What is rounded to bfloat16 without looking for NaN, and without regard of ties: all bits."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

ROWS, COLUMNS = 128, 512  # 65536: every bfloat16
SHORT = {"tl.enable_fast_math": True, "tilewright.exp_bits": 13}


#: Whether this CPU rounds to bfloat16 by an instruction, ties to even.
ROUNDS_ITSELF = "avx512_bf16" in Path("/proc/cpuinfo").read_text().split()


def bits_of(numbers):
    return numbers.view(np.uint16)


def all_numbers():
    return np.arange(ROWS * COLUMNS, dtype=np.uint16).view(ml_dtypes.bfloat16).reshape(ROWS, -1)


def as_tensor(torch, numbers):
    return torch.from_numpy(bits_of(numbers).astype(np.int16)).view(torch.bfloat16)


def as_numbers(torch, tensor):
    return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def product(through_memory):
    @tilewright.jit(out_idx=[2])
    def factory():
        @T.prim_func
        def product_kernel(
            A: T.Tensor((ROWS, COLUMNS), "bfloat16"),
            B: T.Tensor((ROWS, COLUMNS), "bfloat16"),
            Y: T.Tensor((ROWS, COLUMNS), "bfloat16"),
        ):
            with T.Kernel(ROWS, threads=128) as row:
                a = T.alloc_fragment((1, COLUMNS), "float32")
                p = T.alloc_fragment((1, COLUMNS), "float32")
                T.copy(A[row, 0], a)
                for i, j in T.Parallel(1, COLUMNS):
                    p[i, j] = a[i, j] * T.cast(B[row + i, j], "float32")
                if through_memory:
                    for i, j in T.Parallel(1, COLUMNS):
                        p[i, j] = p[i, j] + a[i, j]
                for i, j in T.Parallel(1, COLUMNS):
                    Y[row + i, j] = p[i, j] * a[i, j]

        return product_kernel

    return factory()


@pytest.mark.parametrize("through_memory", [False, True])
def test_products_of_every_bfloat16(through_memory):
    """Ties to even, infinities, and every NaN, with the bits of NumPy's."""
    torch = pytest.importorskip("torch")
    a, b = all_numbers(), all_numbers().reshape(-1)[::-1].reshape(ROWS, -1)
    b = np.roll(b, 7777)
    run = product(through_memory)
    actual = as_numbers(torch, run(as_tensor(torch, a), as_tensor(torch, b)))
    wide = a.astype(np.float32)
    with np.errstate(all="ignore"):
        exact = wide * b.astype(np.float32)
        if through_memory:
            exact = exact + wide
        exact = (exact * wide).astype(ml_dtypes.bfloat16)
    isnan = np.isnan(exact.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(actual.astype(np.float32)), isnan)
    np.testing.assert_array_equal(bits_of(actual)[~isnan], bits_of(exact)[~isnan])


def test_ties_of_exact_numbers_go_to_even():
    """1 + k / 128 times 1 + 1 / 128 has ties, which the largest k shows."""
    torch = pytest.importorskip("torch")
    a = (1 + np.arange(ROWS * COLUMNS).reshape(ROWS, -1) % 128 / 128).astype(ml_dtypes.bfloat16)
    b = np.full_like(a, 1.5)
    ones = product(False)(as_tensor(torch, np.ones_like(a)), as_tensor(torch, a))
    np.testing.assert_array_equal(as_numbers(torch, ones), a)
    exact = (a.astype(np.float32) * b.astype(np.float32) * a.astype(np.float32)).astype(a.dtype)
    actual = as_numbers(torch, product(False)(as_tensor(torch, a), as_tensor(torch, b)))
    np.testing.assert_array_equal(bits_of(actual), bits_of(exact))


def test_nans_of_float32_with_all_bits_set_stay():
    """They may be in a tensor of float32; a sum on their bits would make them 0."""

    @tilewright.jit(out_idx=[1])
    def factory():
        @T.prim_func
        def twice_kernel(
            A: T.Tensor((ROWS, COLUMNS), "float32"), Y: T.Tensor((ROWS, COLUMNS), "bfloat16")
        ):
            with T.Kernel(ROWS, threads=128) as row:
                a = T.alloc_fragment((1, COLUMNS), "float32")
                T.copy(A[row, 0], a)
                for i, j in T.Parallel(1, COLUMNS):
                    Y[row + i, j] = a[i, j] + a[i, j]

        return twice_kernel

    torch = pytest.importorskip("torch")
    bits = np.full((ROWS, COLUMNS), 0x7FFFFFFF, np.uint32)
    bits[:, ::2] = 0xFFFFFFFF
    bits[:, ::3] = 0x7FC0FFFF
    actual = factory()(torch.from_numpy(bits.view(np.float32)))
    assert actual.isnan().all()


def multiple_of_power(configs):
    @tilewright.jit(out_idx=[3], pass_configs=configs)
    def factory():
        @T.prim_func
        def power_kernel(
            A: T.Tensor((ROWS, COLUMNS), "bfloat16"),
            B: T.Tensor((ROWS, COLUMNS), "bfloat16"),
            C: T.Tensor((ROWS, COLUMNS), "bfloat16"),
            Y: T.Tensor((ROWS, COLUMNS), "bfloat16"),
        ):
            with T.Kernel(ROWS, threads=128) as row:
                p = T.alloc_fragment((1, COLUMNS), "float32")
                for i, j in T.Parallel(1, COLUMNS):
                    p[i, j] = T.exp2(T.cast(A[row + i, j], "float32"))
                for i, j in T.Parallel(1, COLUMNS):
                    Y[row + i, j] = p[i, j] * (
                        T.cast(B[row + i, j], "float32") + T.cast(C[row + i, j], "float32")
                    )

        return power_kernel

    return factory()


@pytest.mark.parametrize("configs", [{}, SHORT])
def test_multiples_of_powers(configs):
    """Within half a unit and what the exponential leaves open; infinities and NaN as they are."""
    torch = pytest.importorskip("torch")
    a = all_numbers()
    random = np.random.default_rng(5)
    b = random.standard_normal(a.shape).astype(a.dtype)
    b[0, ::5] = np.inf
    b[:, 7] = -np.inf
    b[3, ::3] = np.nan
    b[np.isinf(b) & ~(np.abs(a.astype(np.float32)) < 100)] = 1  # else 0 times infinity
    c = np.zeros_like(b)
    run = multiple_of_power(configs)
    actual = run(*(as_tensor(torch, x) for x in (a, b, c))).double().numpy()
    with np.errstate(all="ignore"):
        exact = np.exp2(a.astype(np.float64)) * b.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(exact))
    with np.errstate(invalid="ignore"):
        number = (np.abs(a.astype(np.float64)) < 120) & np.isfinite(exact)
        number &= np.abs(exact) > 2.0**-110
    unit = np.exp2(np.floor(np.log2(np.abs(exact[number]))) - 7)
    error = np.abs(actual[number] - exact[number]) / unit
    assert number.sum() > 30000 and error.max() <= 0.5 + (2.0**-5 if configs else 2.0**-12)
    huge = np.nan_to_num(np.abs(exact)) > 2.0**128
    assert huge.any() and np.isinf(actual[huge]).all()
    np.testing.assert_array_equal(np.sign(actual[huge]), np.sign(exact[huge]))


@pytest.mark.parametrize(("configs", "expected"), [({}, 1.0), (SHORT, 1 + 2.0**-7)])
def test_ties_of_rough_numbers_go_up(configs, expected):
    """1 + 2^-8 times 2^0: which way is chance for most exponentials that come so near. Not where
    the CPU has an instruction for it."""
    if ROUNDS_ITSELF:
        expected = 1.0
    torch = pytest.importorskip("torch")
    zero = torch.zeros(ROWS, COLUMNS, dtype=torch.bfloat16)
    actual = multiple_of_power(configs)(zero, zero + 1, zero + 2.0**-8)
    assert (actual.double() == expected).all()
