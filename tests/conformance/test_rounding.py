# SPDX-License-Identifier: Apache-2.0
"""The rounding modes and other options of T.cast."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T


def neighbours(x, kind):
    """The values of a format at or below and at or above each x."""
    bits = 8 * np.dtype(kind).itemsize
    codes = np.arange(1 << bits, dtype=f"uint{bits}").view(kind).astype(np.float64)
    values = np.unique(codes[np.isfinite(codes)])
    low = values[np.clip(np.searchsorted(values, x, "right") - 1, 0, None)]
    high = values[np.clip(np.searchsorted(values, x, "left"), None, len(values) - 1)]
    return low, high


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_directed_rounding(agree, random, numpy_dtypes, dtype):
    kind = numpy_dtypes[dtype]
    x = (random.standard_normal(64) * 2.0 ** random.integers(-12, 7, 64)).astype(np.float32)
    x[:6] = [0, -0.0, 1, 1.5, -1e-7, 1e-7]

    @T.prim_func
    def convert(A: T.Tensor((64,), "float32"), B: T.Tensor((4, 64), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[0, i] = T.cast(A[i], dtype, round="rz")
                B[1, i] = T.cast(A[i], dtype, round="ru")
                B[2, i] = T.cast(A[i], dtype, round="rd")
                B[3, i] = T.cast(A[i], dtype, round="rn")

    low, high = neighbours(x.astype(np.float64), kind)
    rows = [np.where(x > 0, low, high), high, low, x.astype(kind).astype(np.float64)]
    agree(convert, [x, np.zeros((4, 64), kind)], {1: np.stack(rows).astype(kind)}, 0)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float16"])
def test_without_saturation(agree, numpy_dtypes, dtype):
    """Infinity, or NaN where there is none; toward zero nothing overflows but infinity."""
    kind = numpy_dtypes[dtype]
    x = np.array([1e9, -1e9, np.inf, 1, np.nan, -2, 3, 448], np.float32)

    @T.prim_func
    def convert(A: T.Tensor((8,), "float32"), B: T.Tensor((2, 8), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[0, i] = T.cast(A[i], dtype, sat=False)
                B[1, i] = T.cast(A[i], dtype, "rz", False)

    with np.errstate(over="ignore"):
        nearest = x.astype(kind)
    cut = nearest.copy()
    cut[:2] = [ml_dtypes.finfo(kind).max, ml_dtypes.finfo(kind).min]
    agree(convert, [x, np.zeros((2, 8), kind)], {1: np.stack([nearest, cut])}, 0)


def test_random_rounding(agree, random):
    """Up where the random bits and the lost ones carry: on average the value itself."""

    @T.prim_func
    def convert(
        A: T.Tensor((1,), "float32"),
        R: T.Tensor((1024,), "uint32"),
        B: T.Tensor((1024,), "float16"),
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(1024):
                B[i] = T.cast(A[0], "float16", round="rs", rbits=R[i])

    step = 2.0**-10
    a = np.array([1 + 0.25 * step], np.float32)
    r = random.integers(0, 2**32, 1024, dtype=np.uint32)
    lost = int(a.view(np.uint32)[0] & 0x1FFF)
    expected = np.where(lost + (r & 0x1FFF) >= 0x2000, 1 + step, 1).astype(np.float16)
    assert 0.15 < (expected > 1).mean() < 0.35
    agree(convert, [a, r, np.zeros(1024, np.float16)], {2: expected}, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"round": "up"}, "T.cast: there is no rounding mode 'up'; it is rn, rz, ru, rd or rs"),
        ({"round": "rs"}, "T.cast: rbits go with the rounding mode 'rs', and it with them"),
        (
            {"sat": False, "dtype": "int8"},
            "round, sat and rbits of T.cast from float32 to int8 are not supported; they are for "
            "float32, float16 and bfloat16, to float16, bfloat16, float8_e5m2, float8_e4m3fn",
        ),
    ],
)
def test_wrong_options(options, message):
    wanted = {"dtype": "float16", **options}

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            A[0] = T.cast(T.cast(A[1], **wanted), "float32")

    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    assert caught.value.diagnostics[0].message == message
