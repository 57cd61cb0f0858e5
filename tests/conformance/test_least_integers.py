# SPDX-License-Identifier: Apache-2.0
"""The least integer by -1 wraps, and what is left of it is 0; unsigned integers know no -1."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint32", "uint64"])
def test_the_least_integer_by_the_greatest_bits(agree, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((16,), dtype), B: T.Tensor((16,), dtype), C: T.Tensor((4, 16), dtype)):
        with T.Kernel(1, threads=16):
            for i in T.Parallel(16):
                C[0, i] = A[i] // B[i]
                C[1, i] = A[i] % B[i]
                C[2, i] = T.truncdiv(A[i], B[i])
                C[3, i] = T.truncmod(A[i], B[i])

    limits = np.iinfo(dtype)
    a = np.resize(np.array([limits.min, limits.max // 2 + 1, limits.max, 5], dtype), 16)
    b = np.full(16, limits.max if dtype.startswith("u") else -1, dtype)
    with np.errstate(over="ignore"):
        # By -1 and by what is not smaller, rounding down and towards zero are the same.
        expected = np.stack([a // b, a % b] * 2)
    agree(kernel, [a, b, np.zeros((4, 16), dtype)], {2: expected})


def exact_divisions(a: int, b: int) -> list[int]:
    cut = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return [a // b, a % b, cut, a - cut * b, -(-a // b), a * b]


@pytest.mark.parametrize("dtype", [f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)])
def test_what_is_folded_is_what_runs(agree, dtype):
    """Of two constants, of one, and of none: Python's integers, wrapped."""
    limits, typed = np.iinfo(dtype), getattr(T, dtype)
    numbers = [limits.min, limits.max, limits.min + 1, limits.max // 2 + 1, 3, 7]
    divisors = [1, 2, 3, 7, limits.max] + ([-1, -2, -3, limits.min] if limits.min < 0 else [])
    pairs = [(a, b) for a in numbers for b in divisors]
    count = len(pairs)

    @T.macro
    def divide(C, row, k, a, b):  # noqa: N803
        C[row, 0, k] = a // b
        C[row, 1, k] = a % b
        C[row, 2, k] = T.truncdiv(a, b)
        C[row, 3, k] = T.truncmod(a, b)
        C[row, 4, k] = T.ceildiv(a, b)
        C[row, 5, k] = a * b

    @T.prim_func
    def kernel(
        A: T.Tensor((count,), dtype),
        B: T.Tensor((count,), dtype),
        C: T.Tensor((4, 6, count), dtype),
    ):
        with T.Kernel(1, threads=1):
            for k, (a, b) in enumerate(pairs):
                divide(C, 0, k, typed(a), typed(b))
                divide(C, 1, k, typed(a), B[k])
                divide(C, 2, k, A[k], typed(b))
            for k in T.serial(count):
                divide(C, 3, k, A[k], B[k])

    exact = np.array([exact_divisions(a, b) for a, b in pairs], object).T
    wrapped = (exact & (2**limits.bits - 1)).astype(f"uint{limits.bits}").view(dtype)
    a, b = (np.array(each, dtype) for each in zip(*pairs, strict=True))
    agree(kernel, [a, b, np.zeros((4, 6, count), dtype)], {2: np.stack([wrapped] * 4)})


def test_folded_indices_have_64_bits(agree):
    """As those that are known in the running kernel only."""

    @T.prim_func
    def kernel(C: T.Tensor((6,), "int64")):
        with T.Kernel(1, threads=1) as bx:
            known = bx - bx + 70000
            C[0] = T.cast(known * 70000, "int64")
            C[1] = T.cast((bx + 70000) * 70000, "int64")
            C[2] = T.cast(-(known * 70000), "int64")
            C[3] = T.cast(known << 20, "int64")
            C[4] = known * 70000 // 3
            C[5] = T.cast(T.int32(70000) * 70000, "int64")  # no index: it wraps

    product = 70000 * 70000
    expected = [product, product, -product, 70000 << 20, product // 3, product - 2**32]
    agree(kernel, [np.zeros(6, np.int64)], {0: np.array(expected)})
