# SPDX-License-Identifier: Apache-2.0
"""Arithmetic rounded in each mode, against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

import tilewright
import tilewright.language as T

MODES = ("rn", "rz", "ru", "rd")


def rounded(exact, mode, kind):
    """A fraction (not 0) as a float of a kind in the given mode, infinity and all."""
    kind = np.dtype(kind)
    digits, least = (24, -149) if kind == np.float32 else (53, -1074)
    size, sign = abs(exact), 1 if exact > 0 else -1
    power = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** power > size:
        power -= 1
    unit = Fraction(2) ** max(power - digits + 1, least)
    count, rest = divmod(size, unit)
    up = {"rn": rest * 2 > unit or (rest * 2 == unit and count % 2), "rz": False}
    away = mode == ("ru" if sign > 0 else "rd") and rest > 0
    value = (count + bool(up.get(mode, away))) * unit
    largest = Fraction(float(np.finfo(kind).max))
    if value > largest:
        goes_on = mode == "rn" or away or mode == ("ru" if sign > 0 else "rd")
        return kind.type(sign * (np.inf if goes_on else float(largest)))
    return kind.type(sign * float(value))


def numbers(kind, random):
    """Ordinary numbers, then the ends of the range."""
    info = np.finfo(kind)
    size = 20 if kind == "float32" else 60
    x = random.standard_normal(64) * 2.0 ** random.integers(-size, size, 64)
    tiny, huge = float(info.smallest_subnormal), float(info.max)
    ends = [tiny, 3 * tiny, float(info.tiny), float(info.tiny) * 1.37, huge, huge / 1.7]
    ends += [float(np.sqrt(info.tiny)) * 1.1, float(np.sqrt(huge)) * 1.3, 1.0, 1 + float(info.eps)]
    ends = [sign * end for sign in (1, -1) for end in ends]
    columns = [np.concatenate([random.permutation(x), random.choice(ends, 160)]) for _ in "abc"]
    return [column.astype(kind) for column in columns]


def fractions(column):
    return [Fraction(float(value)) for value in column]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arithmetic_in_each_mode(agree, random, dtype):
    """To the last bit, also where results vanish or leave the range."""
    a, b, c = numbers(dtype, random)
    n = len(a)

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), dtype),
        B: T.Tensor((n,), dtype),
        C: T.Tensor((n,), dtype),
        Out: T.Tensor((4, 6, n), dtype),
    ):
        with T.Kernel(1, threads=1):
            for i in T.serial(n):
                for mode, name in enumerate(MODES):
                    Out[mode, 0, i] = T.ieee_add(A[i], B[i], name)
                    Out[mode, 1, i] = T.ieee_sub(A[i], B[i], name)
                    Out[mode, 2, i] = T.ieee_mul(A[i], B[i], name)
                    Out[mode, 3, i] = T.ieee_fdiv(A[i], B[i], name)
                    Out[mode, 4, i] = T.ieee_frcp(B[i], name)
                    Out[mode, 5, i] = T.ieee_fmaf(A[i], B[i], C[i], name)

    expected = np.zeros((4, 6, n), dtype)
    for i, (x, y, z) in enumerate(zip(*map(fractions, (a, b, c)), strict=True)):
        exact = [x + y, x - y, x * y, x / y, 1 / y, x * y + z]
        for mode, name in enumerate(MODES):
            for row, value in enumerate(exact):
                zero = -0.0 if name == "rd" else 0.0
                expected[mode, row, i] = rounded(value, name, dtype) if value else zero
    agree(kernel, [a, b, c, np.zeros_like(expected)], {3: expected}, 0.0)
    made = [a, b, c, np.zeros_like(expected)]
    tilewright.compile(kernel)(*made)
    zeros = expected == 0
    assert zeros.sum() > 50
    np.testing.assert_array_equal(np.signbit(made[3][zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_roots_in_each_mode(agree, random, dtype):
    a = np.abs(numbers(dtype, random)[0])
    n = len(a)

    @T.prim_func
    def kernel(A: T.Tensor((n,), dtype), Out: T.Tensor((5, n), dtype)):
        with T.Kernel(1, threads=1):
            for i in T.serial(n):
                for mode, name in enumerate(MODES):
                    Out[mode, i] = T.ieee_fsqrt(A[i], name)
                Out[4, i] = T.ieee_frsqrt(A[i])

    def root(value, mode):
        """With more digits than the format has, and one more where it is not exact."""
        wide = value * 4**1300
        whole = isqrt(int(wide))
        return rounded(Fraction(2 * whole + (whole * whole != wide), 2 * 2**1300), mode, dtype)

    expected = np.zeros((5, n), dtype)
    expected[:4] = [[root(value, mode) for value in fractions(a)] for mode in MODES]
    with np.errstate(over="ignore"):
        expected[4] = (1 / np.sqrt(a.astype(np.longdouble))).astype(dtype)
    made = agree.compiled(kernel, [a, np.zeros((5, n), dtype)])[1]
    np.testing.assert_array_equal(made[:4], expected[:4])
    np.testing.assert_allclose(made[4], expected[4], rtol=0 if dtype == "float32" else 1e-15)
    if dtype == "float32":
        agree(kernel, [a, np.zeros((5, n), dtype)], {1: expected}, 0.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_and_nan_in_each_mode(agree, dtype):
    """They are exact: no mode takes them away."""
    a = np.array([np.inf, -np.inf, np.inf, np.nan, 1, -1, 0], dtype)
    b = np.array([1, 2, -np.inf, 1, 0, 0, 0], dtype)

    @T.prim_func
    def kernel(A: T.Tensor((7,), dtype), B: T.Tensor((7,), dtype), Out: T.Tensor((4, 5, 7), dtype)):
        with T.Kernel(1, threads=1):
            for i in T.serial(7):
                for mode, name in enumerate(MODES):
                    Out[mode, 0, i] = T.ieee_add(A[i], B[i], name)
                    Out[mode, 1, i] = T.ieee_mul(A[i], B[i], name)
                    Out[mode, 2, i] = T.ieee_fdiv(A[i], B[i], name)
                    Out[mode, 3, i] = T.ieee_fmaf(A[i], B[i], A[i], name)
                    Out[mode, 4, i] = T.ieee_fsqrt(A[i], name)

    with np.errstate(all="ignore"):
        rows = np.stack([a + b, a * b, a / b, a * b + a, np.sqrt(a)])
    agree(kernel, [a, b, np.zeros((4, 5, 7), dtype)], {2: np.stack([rows] * 4)}, 0.0)


def test_names_of_cuda(agree, random):
    """Kernels call them as functions in C."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32"),
        F: T.Tensor((6, 32), "float32"), D: T.Tensor((3, 32), "float64"),
    ):  # fmt: skip
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                F[0, i] = T.call_extern("float32", "__fadd_rz", A[i], B[i])
                F[1, i] = T.call_extern("float32", "__fmul_ru", A[i], 3)
                F[2, i] = T.call_extern("__fmaf_rd", A[i], B[i], A[i], dtype="float32")
                F[3, i] = T.call_pure_extern("float32", "__saturatef", A[i])
                F[4, i] = T.call_extern("float32", "__fdividef", A[i], B[i])
                F[5, i] = T.call_extern("float32", "__expf", B[i])
                D[0, i] = T.call_extern("float64", "__dadd_ru", A[i], B[i])
                D[1, i] = T.call_extern("float64", "__fma_rz", A[i], B[i], 1)
                D[2, i] = T.call_extern("float64", "__dsqrt_rd", 2.0)

    a, b = (random.standard_normal(32).astype(np.float32) for _ in range(2))
    x, y = fractions(a), fractions(b)
    pairs = list(zip(x, y, strict=True))
    floats = np.array(
        [
            [rounded(p + q, "rz", "float32") for p, q in pairs],
            [rounded(p * 3, "ru", "float32") for p in x],
            [rounded(p * q + p, "rd", "float32") for p, q in pairs],
            np.clip(a, 0, 1),
            a / b,
            np.exp(b.astype(np.float64)),
        ],
        np.float32,
    )
    doubles = np.array(
        [
            [rounded(p + q, "ru", "float64") for p, q in pairs],
            [rounded(p * q + 1, "rz", "float64") for p, q in pairs],
            [1.414213562373095] * 32,
        ]
    )
    arguments = [a, b, np.zeros((6, 32), np.float32), np.zeros((3, 32))]
    agree(kernel, arguments, {2: floats, 3: doubles}, 2e-7)
    made = agree.compiled(kernel, arguments)
    np.testing.assert_array_equal(made[2][:5], floats[:5])
    np.testing.assert_array_equal(made[3], doubles)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: T.call_extern("sqrtf", "float32", x),
         "T.call_extern has the name before the dtype: "
         "write T.call_extern('float32', 'sqrtf', ...)"),
        (lambda x: T.call_extern("float32", "sqrtf", x, dtype="float32"),
         "T.call_extern has its dtype twice: write T.call_extern('float32', 'sqrtf', ...)"),
        (lambda x: T.call_extern("float32", "__fadd_rz", x),
         "CUDA's __fadd_rz takes 2 arguments but is called with 1"),
    ],
)  # fmt: skip
def test_wrong_calls(call, message):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            A[0] = call(A[1])

    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    assert [d.message for d in caught.value.errors] == [message]


def test_large_numbers_for_functions_of_gpus():
    """The function is what isn't there; the number is no reason of its own."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            T.call_extern("handle", "tl::tma_load", A[0], 0x14F0000000000000, 2**64 - 1)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel)
    assert "there is no function 'tl::tma_load'" in caught.value.errors[0].message


def test_fused_products_of_16_bits_round_once(agree):
    @T.prim_func
    def kernel(A: T.Tensor((3, 4096), "float16"), B: T.Tensor((4096,), "float16")):
        with T.Kernel(8) as bx:
            for i in T.Parallel(512):
                at = bx * 512 + i
                B[at] = T.ieee_fmaf(A[0, at], A[1, at], A[2, at])

    numbers = np.random.default_rng(7).standard_normal((3, 4096)).astype(np.float16)
    x, y, z = numbers.astype(np.float64)  # where a product and a sum are exact
    fused = (x * y + z).astype(np.float16)
    assert (fused != ((x * y).astype(np.float16) + z).astype(np.float16)).any()
    agree(kernel, [numbers, np.zeros(4096, np.float16)], {1: fused}, tolerance=0)
