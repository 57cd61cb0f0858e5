# SPDX-License-Identifier: Apache-2.0
"""T.fma: x * y + z with one rounding, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tilewright
import tilewright.language as T

#: Digits, and the power of 2 of the smallest number.
FORMATS = {
    "float16": (11, -24),
    "bfloat16": (8, -133),
    "float32": (24, -149),
    "float64": (53, -1074),
}


def nearest(exact, dtype, largest):
    """A fraction as a float of the dtype, ties to even."""
    digits, least = FORMATS[dtype]
    size, sign = abs(exact), 1 if exact > 0 else -1
    if not size:
        return 0.0
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= Fraction(2) ** power > size
    unit = Fraction(2) ** max(power - digits + 1, least)
    value = round(size / unit) * unit
    return sign * (float("inf") if value > Fraction(largest) else float(value))


def numbers(dtype, random):
    """Of ordinary sizes and of all, and such that a sum lies just beside the middle of two."""
    digits, least = FORMATS[dtype]
    reach = -least - digits - 2
    x, y, z = (random.integers(-(2**digits) + 1, 2**digits, 600).astype(float) for _ in range(3))
    powers = [random.integers(-8, 9, 600) for _ in range(3)]
    for power in powers:
        power[300:] = random.integers(-reach // 2, reach // 2, 300)
    x, y, z = (v * 2.0 ** (p - digits) for v, p in zip((x, y, z), powers, strict=True))
    half = digits // 2
    for i in range(100):  # an odd product of one digit too many, and the least of all beside it
        x[i], y[i] = 2.0**half + 1, 2.0 ** (digits - half) + 1
        z[i] = random.choice([-1, 1]) * 2.0 ** random.integers(least, -digits)
    return x, y, z


@pytest.mark.parametrize("dtype", list(FORMATS))
@pytest.mark.parametrize("is_nest", [True, False])
def test_fma_rounds_once_to_the_last_bit(agree, numpy_dtypes, random, dtype, is_nest):
    kind = np.dtype(numpy_dtypes.get(dtype, dtype))
    a, b, c = (v.astype(kind) for v in numbers(dtype, random))
    n = len(a)

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), dtype),
        B: T.Tensor((n,), dtype),
        C: T.Tensor((n,), dtype),
        D: T.Tensor((n,), dtype),
    ):
        with T.Kernel(1, threads=64):
            if is_nest:
                for i in T.Parallel(n):
                    D[i] = T.fma(A[i], B[i], C[i])
            else:
                for i in T.serial(n):
                    D[i] = T.fma(A[i], B[i], C[i])

    largest = (2 - Fraction(2) ** (1 - FORMATS[dtype][0])) * Fraction(2) ** {
        "float16": 15,
        "float64": 1023,
    }.get(dtype, 127)
    columns = ([Fraction(float(v)) for v in column] for column in (a, b, c))
    exact = [x * y + z for x, y, z in zip(*columns, strict=True)]
    expected = np.array([nearest(value, dtype, largest) for value in exact]).astype(kind)
    twice = (a * b).astype(kind) + c
    assert (twice != expected).sum() > 50  # else nothing is seen
    agree(kernel, [a, b, c, np.zeros(n, kind)], {3: expected}, 0.0)


@pytest.mark.parametrize("dtype", list(FORMATS))
def test_fma_of_what_is_no_number(agree, numpy_dtypes, dtype):
    kind = np.dtype(numpy_dtypes.get(dtype, dtype))
    inf, nan = float("inf"), float("nan")
    rows = [(inf, 1, 1), (inf, 0, 1), (1, 1, inf), (inf, 1, -inf), (nan, 1, 1), (1, 1, nan)]
    a, b, c = (np.array(column, "float64").astype(kind) for column in zip(*rows, strict=True))

    @T.prim_func
    def kernel(A: T.Tensor((6,), dtype), B: T.Tensor((6,), dtype), C: T.Tensor((6,), dtype)):
        with T.Kernel(1, threads=6):
            for i in T.Parallel(6):
                C[i] = T.fma(A[i], B[i], C[i])

    agree(kernel, [a, b, c], {2: np.array([inf, nan, inf, nan, nan, nan]).astype(kind)}, 0.0)


def test_fma_of_mixed_operands(agree, random):
    """In their common dtype, which literals take; of integers as the operators do."""

    @T.prim_func
    def kernel(
        H: T.Tensor((16,), "float16"),
        F: T.Tensor((16,), "float32"),
        I: T.Tensor((16,), "int32"),  # noqa: E741
        Out: T.Tensor((5, 16), "float64"),
    ):
        with T.Kernel(1, threads=16):
            for i in T.Parallel(16):
                Out[0, i] = T.fma(H[i], H[i], F[i])
                Out[1, i] = T.fma(H[i], 0.1, H[i])
                Out[2, i] = T.fma(I[i], F[i], 2)
                Out[3, i] = T.fma(I[i], I[i], 7)
                Out[4, i] = T.fma(I[i], 0.5, I[i])

    h = random.standard_normal(16).astype("float16")
    f = random.standard_normal(16).astype("float32")
    i = random.integers(-1000, 1000, 16).astype("int32")
    wide, single = h.astype("float64"), np.float32
    rows = [
        (wide * wide + f).astype(single),
        (wide * float(np.float16(0.1)) + wide).astype("float16"),
        (i * f.astype("float64") + 2).astype(single),
        i * i + 7,
        i * 1.5,
    ]
    expected = np.stack([row.astype("float64") for row in rows])
    agree(kernel, [h, f, i, np.zeros_like(expected)], {3: expected}, 0.0)


def test_fma_is_one_instruction_on_vectors():
    @T.prim_func
    def kernel(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(1024):
                B[i] = T.fma(A[i], A[i], B[i])

    text = tilewright.compile(kernel).get_kernel_source()
    assert "llvm.fma." in text
    assert "double" not in text


def test_fma_on_ascend_is_refused():
    @T.prim_func
    def kernel(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(1, is_npu=True) as (_, _):
            for i in T.Parallel(1024):
                B[i] = T.fma(A[i], A[i], A[i])

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel, target="ascend")
    reason = "fma has no statement in Ascend C; write x * y + z, which rounds twice"
    assert [d.message for d in caught.value.errors] == [f"unsupported on ascend: {reason}"]
