# SPDX-License-Identifier: Apache-2.0
"""Scalar code: control flow, integers, casts, math, atomics."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilewright.language as T

FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
INTEGERS = [f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)]


@pytest.mark.parametrize("source", FLOATS + INTEGERS + ["bool"])
@pytest.mark.parametrize("target", FLOATS + INTEGERS + ["bool"])
def test_casts(agree, numpy_dtypes, source, target):
    values = (
        [0, 1, 2, 3, 5, 7, 11, 100] if "u" in source + target else [-100, -7, -3, -1, 0, 1, 2, 100]
    )
    if "float" in source:
        values = [v * 1.25 if abs(v) < 90 else v for v in values]
    if source == "bool":
        values = [0, 1] * 4

    @T.prim_func
    def cast(X: T.Tensor((8,), source), Y: T.Tensor((8,), target), Z: T.Tensor((8,), target)):
        with T.Kernel(1, threads=32) as _:
            T.copy(X, Y)
            for i in T.Parallel(8):
                Z[i] = T.cast(X[i], target)

    x = np.array(values).astype(numpy_dtypes[source])
    expected = x.astype(np.float64).astype(numpy_dtypes[target])
    if target == "bool":
        expected = x.astype(np.float64) != 0
    empty = np.zeros(8, numpy_dtypes[target])
    agree(cast, [x, empty, empty], {1: expected, 2: expected}, tolerance=0)


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_division_rounds_down_and_truncates(agree, random, numpy_dtypes, dtype):
    @T.prim_func
    def divide(
        X: T.Tensor((64,), dtype),
        Y: T.Tensor((64,), dtype),
        Q: T.Tensor((4, 64), dtype),
    ):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(64):
                Q[0, i] = X[i] // Y[i]
                Q[1, i] = X[i] % Y[i]
                Q[2, i] = T.truncdiv(X[i], Y[i])
                Q[3, i] = T.truncmod(X[i], Y[i])

    x = random.integers(-100, 100, 64).astype(numpy_dtypes[dtype])
    y = random.integers(1, 9, 64).astype(numpy_dtypes[dtype]) * random.choice([-1, 1], 64).astype(
        dtype
    )
    expected = np.stack([x // y, x % y, np.trunc(x / y).astype(dtype), np.fmod(x, y)])
    agree(divide, [x, y, np.zeros((4, 64), numpy_dtypes[dtype])], {2: expected})


def test_bits(agree, random):
    @T.prim_func
    def bits(
        X: T.Tensor((32,), "int32"), U: T.Tensor((32,), "uint32"), Y: T.Tensor((5, 32), "int32")
    ):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(32):
                Y[0, i] = X[i] & 0xF0F
                Y[1, i] = X[i] | 3
                Y[2, i] = X[i] ^ 0x55
                Y[3, i] = X[i] >> 3
                Y[4, i] = T.cast(U[i] >> 3, "int32")

    x = random.integers(-(2**31), 2**31, 32).astype(np.int32)
    u = random.integers(0, 2**32, 32).astype(np.uint32)
    expected = np.stack([x & 0xF0F, x | 3, x ^ 0x55, x >> 3, (u >> np.uint32(3)).astype(np.int32)])
    agree(bits, [x, u, np.zeros((5, 32), np.int32)], {2: expected})


UNARY = {
    "exp": (T.exp, np.exp),
    "exp2": (T.exp2, np.exp2),
    "log": (T.log, np.log),
    "log2": (T.log2, np.log2),
    "sqrt": (T.sqrt, np.sqrt),
    "rsqrt": (T.rsqrt, lambda x: 1 / np.sqrt(x)),
    "tanh": (T.tanh, np.tanh),
    "sin": (T.sin, np.sin),
    "cos": (T.cos, np.cos),
    "floor": (T.floor, np.floor),
    "ceil": (T.ceil, np.ceil),
    "trunc": (T.trunc, np.trunc),
    "abs": (T.abs, np.abs),
    "log1p": (T.log1p, np.log1p),
    "sigmoid": (T.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "erf": (T.erf, np.vectorize(math.erf)),
    "nearbyint": (T.nearbyint, np.rint),
}


@pytest.mark.parametrize("name", UNARY)
def test_math(agree, random, name):
    function, reference = UNARY[name]

    @T.prim_func
    def apply(X: T.Tensor((200,), "float32"), Y: T.Tensor((200,), "float32")):
        with T.Kernel(1, threads=128) as _:
            for i in T.Parallel(200):
                Y[i] = function(X[i])

    x = (random.random(200) * 6 + 0.01).astype(np.float32)
    agree(apply, [x, np.zeros_like(x)], {1: reference(x.astype(np.float64)).astype(np.float32)})


def test_while_counts_steps_to_one(agree):
    """The steps of the Collatz sequence: a loop whose length only the data knows."""

    @T.prim_func
    def collatz(X: T.Tensor((30,), "int32"), Y: T.Tensor((30,), "int32")):
        with T.Kernel(30, threads=1) as bx:
            number = T.alloc_var("int32")
            count = T.alloc_var("int32")
            number = X[bx]
            count = 0
            while number != 1:
                if number % 2 == 0:  # noqa: SIM108
                    number = number // 2
                else:
                    number = number * 3 + 1
                count += 1
            Y[bx] = count

    def steps(number: int) -> int:
        return 0 if number == 1 else 1 + steps(number // 2 if number % 2 == 0 else 3 * number + 1)

    x = np.arange(1, 31, dtype=np.int32)
    agree(collatz, [x, np.zeros(30, np.int32)], {1: np.array([steps(int(n)) for n in x], np.int32)})


def test_variables_are_buffers_of_one_element(agree):
    """In TileLang, `T.alloc_var` makes a buffer: its one element is the variable."""

    @T.prim_func
    def tally(X: T.Tensor((40,), "float32"), Y: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=1):
            least = T.alloc_var("float32", init=T.max_value("float32"))
            positive = T.alloc_var("int32", init=0)
            for i in range(40):
                least[0] = T.min(least[0], X[i])
                if X[i] > 0:
                    positive[0] += 1
            Y[0] = least
            Y[1] = X[positive[0]]
            T.copy(X[7], least[0])
            Y[2], least[-1] = least[0], 2.5
            Y[3] = least

    x = np.random.default_rng(5).standard_normal(40).astype(np.float32)
    agree(
        tally, [x, np.zeros(4, np.float32)], {1: np.float32([x.min(), x[(x > 0).sum()], x[7], 2.5])}
    )


def test_break_and_continue(agree):
    @T.prim_func
    def odd_sum(Y: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=1) as bx:
            total = T.alloc_var("int32")
            total = 0
            for i in T.serial(100):
                if i > bx * 10:
                    break
                if i % 2 == 0:
                    continue
                total += i
            Y[bx] = total

    expected = [sum(range(1, b * 10 + 1, 2)) for b in range(4)]
    agree(odd_sum, [np.zeros(4, np.int32)], {0: np.array(expected, np.int32)})


def test_range_with_step_and_nested_loops(agree):
    @T.prim_func
    def loops(Y: T.Tensor((10, 12), "int32")):
        with T.Kernel(1, threads=1) as _:
            for i in range(1, 10, 3):
                for j in T.unroll(12):
                    Y[i, j] = i * 100 + j

    expected = np.zeros((10, 12), np.int32)
    for i in range(1, 10, 3):
        expected[i] = i * 100 + np.arange(12)
    agree(loops, [np.zeros((10, 12), np.int32)], {0: expected})


def test_branches_of_parallel_loops(agree, random):
    @T.prim_func
    def branches(X: T.Tensor((100,), "float32"), Y: T.Tensor((100,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            for i in T.Parallel(64):
                if bx * 64 + i < 100:
                    if X[bx * 64 + i] > 0 and i % 3 != 0:
                        Y[bx * 64 + i] = X[bx * 64 + i]
                    else:
                        Y[bx * 64 + i] = T.if_then_else(X[bx * 64 + i] < -1, -1, i)

    x = random.standard_normal(100).astype(np.float32) * 2
    lane = np.arange(100) % 64
    expected = np.where((x > 0) & (lane % 3 != 0), x, np.where(x < -1, -1, lane)).astype(np.float32)
    agree(branches, [x, np.zeros_like(x)], {1: expected})


def test_accesses_outside_of_tensors_read_zero_and_write_nothing(agree, random):
    @T.prim_func
    def shift(X: T.Tensor((50,), "float32"), Y: T.Tensor((50,), "float32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                Y[i + 5] = X[i - 3] + 1

    x = random.standard_normal(50).astype(np.float32)
    padded = np.concatenate([np.zeros(3, np.float32), x, np.zeros(20, np.float32)])
    expected = np.zeros(50, np.float32)
    expected[5:] = padded[:45] + np.float32(1)
    agree(shift, [x, np.zeros_like(x)], {1: expected})


def test_atomics_of_all_blocks(agree, random):
    @T.prim_func
    def histogram(X: T.Tensor((1000,), "int32"), H: T.Tensor((16,), "int32")):
        with T.Kernel(10, threads=100) as bx:
            for i in T.Parallel(100):
                T.atomic_add(H[X[bx * 100 + i]], 1)

    x = random.integers(0, 16, 1000).astype(np.int32)
    agree(
        histogram, [x, np.zeros(16, np.int32)], {1: np.bincount(x, minlength=16).astype(np.int32)}
    )


def test_strided_tensors(agree, random):
    @T.prim_func
    def column_sums(X: T.StridedTensor((6, 5), (1, 6), "float32"), Y: T.Tensor((5,), "float32")):
        with T.Kernel(1, threads=32) as _:
            for j in T.Parallel(5):
                Y[j] = 0
                for i in T.serial(6):
                    Y[j] += X[i, j]

    x = np.asfortranarray(random.standard_normal((6, 5)).astype(np.float32))
    agree(column_sums, [x, np.zeros(5, np.float32)], {1: x.astype(np.float64).sum(0).astype("f")})


def test_scalar_arguments(agree):
    @T.prim_func
    def scalars(Y: T.Tensor((4,), "float32"), n: T.int32, f: T.float32, flag: T.bool):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(4):
                Y[i] = T.if_then_else(flag, f * n + i, 0)

    agree(scalars, [np.zeros(4, np.float32), 3, 0.5, 1], {0: np.arange(4, dtype=np.float32) + 1.5})


def test_small_integers_wrap(agree):
    @T.prim_func
    def wrap(X: T.Tensor((4,), "uint8"), Y: T.Tensor((4,), "uint8"), Z: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(4):
                Y[i] = X[i] + X[i]
                Z[i] = T.cast(X[i], "int32") + 1

    x = np.array([0, 100, 200, 255], np.uint8)
    agree(
        wrap,
        [x, np.zeros(4, np.uint8), np.zeros(4, np.int32)],
        {1: (x + x).astype(np.uint8), 2: x.astype(np.int32) + 1},
    )


def test_nan_in_maximum_is_skipped(agree):
    @T.prim_func
    def clamp(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(4):
                Y[i] = T.max(X[i], T.float32(0.0))

    x = np.array([np.nan, -1, 2, np.inf], np.float32)
    agree(clamp, [x, np.zeros_like(x)], {1: np.array([0, 0, 2, np.inf], np.float32)})


def test_numbers_of_loops_that_are_cast_to_int32(agree):
    """What is computed with them wraps; without a cast it doesn't. Bits are counted of 32."""
    symbol = T.dynamic("m")

    @T.prim_func
    def kernel(
        C: T.Tensor((symbol,), "int32"), B: T.Tensor((10, 8), "int32"), D: T.Tensor((4, 8), "int64")
    ):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            cast = T.cast(tx, "int32")
            B[0, tx] = cast * 1103515245 + 12345 >> 16
            B[1, tx] = T.int32(tx - 4) << 30 >> 29
            B[2, tx] = T.clz(tx + 1)
            B[3, tx] = T.popcount(-tx - 1)
            B[4, tx] = T.popcount(~cast)
            B[5, tx] = T.clz(symbol) - T.clz(T.cast(symbol, "int32") * 65536 * 65536)
            for i in T.serial(symbol):
                B[6, i] = T.cast(i, "int32") * 1000000007 // 3
            for i in T.Parallel(8):
                B[7, i] = 31 - T.clz(i + 1)
                B[8, i] = (-i.astype("int32") * 3) ** 21 % 5
            B[9, T.cast(tx // 2 * 2, "int32") + T.int32(tx) % 2] = C[T.cast(tx, "int32") // 2]
            D[0, tx] = T.cast(tx * 1000000000, "int32")
            D[1, tx] = tx * 1000000000
            D[2, tx] = T.max(cast, 2) * 1000000000
            D[3, tx] = cast - 2147483647 - T.int32(3)

    def wrapped(numbers):
        return (numbers + 2**31) % 2**32 - 2**31

    i = np.arange(8, dtype=np.int64)
    c = np.arange(8, dtype=np.int32) * 3
    powers = np.array([wrapped(int(-k * 3) ** 21) for k in range(8)])
    rows = [
        wrapped(i * 1103515245 + 12345) >> 16,
        wrapped((i - 4) << 30) >> 29,
        [31 - int(k + 1).bit_length() + 1 for k in i],
        [bin(2**32 - 1 - k).count("1") for k in i],
        [bin(2**32 - 1 - k).count("1") for k in i],
        np.full(8, 28 - 32),
        wrapped(i * 1000000007) // 3,
        [int(k + 1).bit_length() - 1 for k in i],
        powers % 5,
        c[i // 2],
    ]
    wide = [
        wrapped(i * 1000000000),
        i * 1000000000,
        wrapped(np.maximum(i, 2) * 1000000000),
        wrapped(i - 2147483647 - 3),
    ]
    expected = {1: np.array(rows).astype(np.int32), 2: np.array(wide)}
    agree(kernel, [c, np.zeros((10, 8), np.int32), np.zeros((4, 8), np.int64)], expected)


def test_a_number_cast_to_int32_that_is_made_of_itself_twice_and_again(agree):
    """Whether it fits isn't asked of all ways through it: that would have no end."""

    @T.prim_func
    def kernel(B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            number = T.cast(tx, "int32")
            for _ in [*range(40)]:
                number = T.max(number // 2, T.min(number, number % 8))
            B[tx] = number

    expected = np.arange(8, dtype=np.int32)
    agree(kernel, [np.zeros(8, np.int32)], {0: expected})
