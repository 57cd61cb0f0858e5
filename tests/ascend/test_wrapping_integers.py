# SPDX-License-Identifier: Apache-2.0
"""Numbers of single elements wrap in every integer: also where a comparison asks whether they did,
which a C++ compiler answers with no, unless it is told that they wrap; in quotients by -1; beside
short literals; and beside those that uint64 alone holds."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()


def add(dtype: str) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16,), dtype),
        B: T.Tensor((16,), dtype),
        C: T.Tensor((6, 16), dtype),
        D: T.Tensor((4, 16), "int32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1):
            for i in T.serial(16):
                C[0, i] = A[i] + B[i]
                C[1, i] = A[i] * B[i]
                C[2, i] = -A[i]
                C[3, i] = (A[i] + A[i]) // 2
                C[4, i] = A[i] << 3
                C[5, i] = T.abs(A[i]) - B[i]
                D[0, i] = T.cast(A[i] + B[i] < A[i], "int32")
                D[1, i] = T.cast(A[i] - B[i] > A[i], "int32")
                D[2, i] = T.cast(A[i] * B[i] // B[i] == A[i], "int32")
                D[3, i] = T.cast(T.abs(A[i]) < 0, "int32")

    limits = np.iinfo(dtype)
    numbers = [limits.min, limits.max, 1, -1, limits.max // 2 + 1, 3, limits.min + 1, 7]
    a = np.resize(np.array(numbers, dtype), 16)
    b = np.resize(np.array([1, 1, limits.max, limits.min, 2, -3, -2], dtype), 16)
    two, three = np.array([2, 3], dtype)
    with np.errstate(over="ignore"):
        made = [a + b, a * b, -a, (a + a) // two, a << three, np.abs(a) - b]
        asked = [a + b < a, a - b > a, a * b // b == a, np.abs(a) < 0]
    wanted = {2: np.stack(made), 3: np.stack(asked).astype(np.int32)}
    arguments = [a, b, np.zeros((6, 16), dtype), np.zeros((4, 16), np.int32)]
    GROUP.add(dtype, main, arguments, wanted, rtol=0, atol=0)


def add_divisions(dtype: str) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16,), dtype), B: T.Tensor((16,), dtype), C: T.Tensor((6, 16), dtype)
    ):
        with T.Kernel(1, is_npu=True, threads=1):
            for i in T.serial(16):
                C[0, i] = A[i] // B[i]
                C[1, i] = A[i] % B[i]
                C[2, i] = T.truncdiv(A[i], B[i])
                C[3, i] = T.truncmod(A[i], B[i])
                C[4, i] = T.ceildiv(A[i], B[i])
                C[5, i] = A[i] // B[i] // 2

    limits = np.iinfo(dtype)
    numbers = [limits.min, limits.max, 1, limits.max // 2 + 1, 3, limits.min + 1, 7]
    divisors = [-1, 1, limits.max, -2, 2, -3, 7] if limits.min < 0 else [1, limits.max, 2, 3, 5, 7]
    pairs = [(a, b) for a in numbers for b in divisors]
    pairs = [pairs[k * len(pairs) // 16] for k in range(16)]
    rows = []
    for x, y in pairs:
        cut = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        rows.append([x // y, x % y, cut, x - cut * y, -(-x // y)])
    exact = np.array(rows, object).T & (2**limits.bits - 1)  # as Python computes it, wrapped
    expected = exact.astype(f"uint{limits.bits}").view(dtype)
    expected = np.vstack([expected, expected[0] // np.array(2, dtype)])
    a, b = (np.array(each, dtype) for each in zip(*pairs, strict=True))
    made = np.zeros((6, 16), dtype)
    GROUP.add(f"{dtype} divisions", main, [a, b, made], expected, rtol=0, atol=0)


@T.prim_func
def beside_literals(  # type: ignore[no-untyped-def]
    A: T.Tensor((16,), "int32"),
    B: T.Tensor((16,), "int64"),
    C: T.Tensor((4, 16), "int64"),
    D: T.Tensor((2, 16), "int32"),
):
    with T.Kernel(1, is_npu=True, threads=1):
        for i in T.serial(16):
            C[0, i] = T.int64(1) << (B[i] & 63)
            C[1, i] = T.int64(-5) >> (B[i] & 63)
            C[2, i] = T.Select(A[i] > 0, T.int64(2000000000), T.int64(3)) * T.Select(
                A[i] < 5, T.int64(2000000000), T.int64(7)
            )
            C[3, i] = T.Select(A[i] > 0, T.int64(1), T.int64(3)) << (B[i] & 31)
            D[0, i] = T.cast(A[i] + T.int32(-(2**31)) < A[i], "int32")
            D[1, i] = T.cast(T.min(A[i], T.int32(-(2**31))) - 1 > 0, "int32")


def add_literals() -> None:
    a = np.resize(np.array([-(2**31), 2**31 - 1, -1, 0, 1, 5, 1000], np.int32), 16)
    b = np.resize(np.array([0, 1, 31, 32, 33, 62, 63, -(2**63), 2**63 - 1], np.int64), 16)
    far, two = np.int64(2_000_000_000), np.int64(2)
    chosen = np.where(a > 0, far, np.int64(3)) * np.where(a < 5, far, np.int64(7))
    wide = [np.int64(1) << (b & 63), np.int64(-5) >> (b & 63), chosen]
    wide.append(np.where(a > 0, np.int64(1), two + 1) << (b & 31))
    short = np.stack([a >= 0, np.ones(16, bool)]).astype(np.int32)
    arguments = [a, b, np.zeros((4, 16), np.int64), np.zeros((2, 16), np.int32)]
    expected = {2: np.stack(wide), 3: short}
    GROUP.add("literals", beside_literals, arguments, expected, rtol=0, atol=0)


MASK, HIGH = 0xF000000000000001, 2**63


@T.prim_func
def beside_larger_literals(  # type: ignore[no-untyped-def]
    A: T.Tensor((64,), "uint64"), B: T.Tensor((5, 64), "uint64"), C: T.Tensor((6, 64), "uint64")
):
    with T.Kernel(1, is_npu=True, threads=1):
        x = T.alloc_ub((64,), "uint64")
        y = T.alloc_ub((5, 64), "uint64")
        T.copy(A, x)
        for i in T.Parallel(64):
            y[0, i] = x[i] & MASK
            y[1, i] = x[i] | HIGH
            y[2, i] = MASK ^ x[i]
            y[3, i] = T.if_then_else(x[i] == MASK, HIGH, x[i])
            y[4, i] = MASK
        T.copy(y, B)
        for i in T.serial(64):
            C[0, i] = A[i] + MASK
            C[1, i] = HIGH - A[i]
            C[2, i] = A[i] // HIGH
            C[3, i] = A[i] % MASK
            C[4, i] = T.Select(A[i] < MASK, A[i], MASK)
            C[5, i] = MASK >> (i % 64)


def add_larger_literals() -> None:
    mask, high = np.uint64(MASK), np.uint64(HIGH)
    a = np.random.default_rng(8).integers(0, 2**64, 64, np.uint64, endpoint=False)
    a[:5] = 0, HIGH - 1, HIGH, MASK, 2**64 - 1
    tiles = [a & mask, a | high, mask ^ a, np.where(a == mask, high, a), np.full(64, mask)]
    scalars = [a + mask, high - a, a // high, a % mask, np.minimum(a, mask)]
    scalars.append(mask >> np.arange(64, dtype=np.uint64))
    arguments = [a, np.zeros((5, 64), np.uint64), np.zeros((6, 64), np.uint64)]
    expected = {1: np.stack(tiles), 2: np.stack(scalars)}
    GROUP.add("larger literals", beside_larger_literals, arguments, expected, rtol=0, atol=0)


for each in ("int8", "int16", "int32", "int64"):
    add(each)
    add_divisions(each)
    add_divisions(f"u{each}")
add_literals()
add_larger_literals()


@pytest.mark.parametrize("name", list(GROUP.cases))
def test_integers_wrap(name: str) -> None:
    GROUP.check(name)
