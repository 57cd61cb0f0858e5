# SPDX-License-Identifier: Apache-2.0
"""Python's integers beyond int64 are uint64: beside values of that dtype, alone, and in buffers."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

MASK, HIGH, MOST = 0xF000000000000001, 2**63, 2**64 - 1


def numbers():
    drawn = np.random.default_rng(64).integers(0, 2**64, 28, np.uint64, endpoint=False)
    return np.concatenate([np.array([0, HIGH - 1, HIGH, MOST], np.uint64), drawn])


def test_literals_beyond_int64_beside_uint64(agree):
    @T.prim_func
    def kernel(A: T.Tensor((32,), "uint64"), B: T.Tensor((12, 32), "uint64"), C: T.Tensor((2, 32))):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                x = A[i]
                B[0, i] = x & MASK
                B[1, i] = MASK | x
                B[2, i] = x ^ MASK
                B[3, i] = x + MASK
                B[4, i] = HIGH - x
                B[5, i] = x * MASK
                B[6, i] = x // HIGH
                B[7, i] = x % MASK
                B[8, i] = T.if_then_else(x < MASK, x, MASK)
                B[9, i] = T.max(x, MASK)
                B[10, i] = MASK >> (i % 8)
                B[11, i] = MOST
                C[0, i] = T.cast(x >= HIGH, "float32")
                C[1, i] = C[1, i] * HIGH

    a = numbers()
    mask, high = np.uint64(MASK), np.uint64(HIGH)
    with np.errstate(over="ignore"):
        rows = [a & mask, a | mask, a ^ mask, a + mask, high - a, a * mask, a // high, a % mask]
    rows += [
        np.minimum(a, mask),
        np.maximum(a, mask),
        mask >> (np.arange(32) % 8).astype(np.uint64),
    ]
    rows.append(np.full(32, MOST, np.uint64))
    reals = np.stack([a >= high, np.full(32, 2.0**63)]).astype(np.float32)
    ones = np.ones((2, 32), np.float32)
    agree(kernel, [a, np.zeros((12, 32), np.uint64), ones], {1: np.stack(rows), 2: reals})


def test_tiles_of_a_literal_beyond_int64(agree):
    @T.prim_func
    def kernel(B: T.Tensor((32,), "uint64")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((32,), "uint64")
            T.fill(tile, MASK)
            T.copy(tile, B)

    agree(kernel, [np.zeros(32, np.uint64)], {0: np.full(32, MASK, np.uint64)})


def test_literals_beyond_int64_beside_other_integers():
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int64"), B: T.Tensor((32,), "int64")):
        with T.Kernel(1, threads=32):
            for i in T.serial(32):
                B[i] = A[i] & MASK
            B[0] = MASK

    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    text = str(caught.value)
    assert (
        "'&' of int64 and the integer 17293822569102704641: of integers, uint64 alone holds it; "
        "cast one side" in text
    )
    assert "the integer 17293822569102704641 does not fit the dtype int64 of 'B'" in text


def test_divisions_of_large_numbers_of_python():
    for a in (10**17 + 1, -(10**17) - 1, 7, -7, 0):
        for b in (10, -10, 3):
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            assert T.truncdiv(a, b) == quotient
            assert T.truncmod(a, b) == a - b * quotient
