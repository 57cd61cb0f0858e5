# SPDX-License-Identifier: Apache-2.0
"""Reductions and scans whose target has another dtype than the source: the wider accumulates."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

ROWS, COLUMNS = 4, 300


def reduction(source, target, kind, clear, dim=1):
    kept = ROWS if dim == 1 else COLUMNS

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), source), B: T.Tensor((kept,), target)):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((ROWS, COLUMNS), source)
            b = T.alloc_fragment((kept,), target)
            T.copy(A, a)
            T.copy(B, b)
            T.reduce(a, b, kind, dim, clear)
            T.copy(b, B)

    return kernel


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("int8", "int32"),
        ("uint8", "int32"),
        ("bool", "int32"),
        ("int16", "int64"),
        ("int32", "int8"),
        ("int32", "float32"),
        ("float16", "float32"),
        ("float16", "float64"),
        ("float32", "float64"),
        ("float32", "float16"),
        ("float32", "int32"),
        ("bool", "bool"),
    ],
)
def test_sums(agree, random, numpy_dtypes, source, target, dim, clear):
    a = random.integers(0, 2, (ROWS, COLUMNS)).astype(numpy_dtypes[source])
    a[0] = 1
    kept = ROWS if dim == 1 else COLUMNS
    before = np.ones(kept, numpy_dtypes[target])
    wide = a.astype(np.float64).sum(dim) + (0 if clear else 1)
    if target == "bool":
        wide = wide != 0
    expected = wide.astype(np.int64).astype(numpy_dtypes[target])
    agree(reduction(source, target, "sum", clear, dim), [a, before], {1: expected}, 1e-3)


def test_magnitudes_hold_what_the_source_cannot(agree):
    a = np.full((ROWS, COLUMNS), -128, np.int8)
    before = np.full(ROWS, -7, np.int32)
    agree(reduction("int8", "int32", "absmax", True), [a, before], {1: np.full(ROWS, 128)})
    total = np.full(ROWS, 128 * COLUMNS)
    agree(reduction("int8", "int32", "abssum", True), [a, before], {1: total})


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
def test_the_largest_magnitude_is_that_of_the_lowest_integer(agree, random, dtype, clear):
    """It is compared as what it is, and stored with the bits that are left of it."""
    limits = np.iinfo(dtype)
    a = random.integers(-5, 6, (ROWS, COLUMNS)).astype(dtype)
    a[1, 3], a[2, 5], a[3, 7] = limits.max, limits.min, limits.min + 1
    before = np.full(ROWS, limits.min, dtype)
    before[0] = 4
    size = np.abs(a.astype(object))
    wanted = size.max(1) if clear else np.maximum(size.max(1), np.abs(before.astype(object)))
    expected = (wanted.astype(np.uint64)).astype(dtype)
    agree(reduction(dtype, dtype, "absmax", clear), [a, before], {1: expected}, 0)
    assert expected[2] == limits.min or limits.min == 0


@pytest.mark.parametrize("kind", ["sum", "max", "min", "absmax"])
@pytest.mark.parametrize("dtype", ["float6_e2m3fn", "float6_e3m2fn"])
def test_floats_of_6_bits(agree, random, dtype, kind):
    numpy_dtype = getattr(ml_dtypes, dtype)
    a = random.integers(-3, 4, (ROWS, COLUMNS)).astype(np.float32)
    a[:, 40:] = 0
    a[:, 17] = [-5, 5, 4, -4]
    function = {
        "sum": np.sum,
        "max": np.max,
        "min": np.min,
        "absmax": lambda x, axis: np.abs(x).max(axis),
    }
    wide = function[kind](a, axis=1)
    codes = a.astype(numpy_dtype).view(np.uint8)

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), dtype), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((ROWS, COLUMNS), dtype)
            b = T.alloc_fragment((ROWS,), "float32")
            T.copy(A, a)
            T.reduce(a, b, kind, 1, True)
            T.copy(b, B)

    agree(kernel, [codes, np.zeros(ROWS, np.float32)], {1: wide.astype(np.float32)})


@pytest.mark.parametrize(
    ("source", "target"), [("int8", "int32"), ("bool", "int32"), ("float16", "float32")]
)
def test_scans(agree, random, numpy_dtypes, source, target):
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), source), B: T.Tensor((ROWS, COLUMNS), target)):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((ROWS, COLUMNS), source)
            b = T.alloc_shared((ROWS, COLUMNS), target)
            T.copy(A, a)
            T.cumsum(a, b, dim=1)
            T.copy(b, B)

    a = random.integers(0, 2, (ROWS, COLUMNS)).astype(numpy_dtypes[source])
    a[0] = 1
    expected = np.cumsum(a.astype(np.float64), 1).astype(numpy_dtypes[target])
    agree(kernel, [a, np.zeros((ROWS, COLUMNS), numpy_dtypes[target])], {1: expected})


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "abssum", "absmax", "cumsum", "cummax"])
@pytest.mark.parametrize("dtype", ["int4", "float4_e2m1fn"])
def test_elements_of_four_bits(random, dtype, kind, dim):
    """They go through bytes or float32 and back: integers wrap, floats are rounded once."""
    shape = (6, 10)
    is_scan = kind.startswith("cum")
    result = shape if is_scan else (shape[1 - dim],)

    @T.prim_func
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(result, dtype), C: T.Tensor(result, "int8")):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment(shape, dtype)
            b = T.alloc_fragment(result, dtype)
            T.copy(A, a)
            if kind == "cumsum":
                T.cumsum(a, b, dim=dim)
            elif kind == "cummax":
                T.cummax(a, b, dim=dim)
            else:
                T.reduce(a, b, kind, dim, True)
            T.copy(b, B)
            T.copy(b, C)

    codes = random.integers(-8, 8, shape) if dtype == "int4" else random.integers(0, 8, shape)
    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = codes if dtype == "int4" else magnitudes[codes]
    packed = (codes[:, ::2] & 15 | (codes[:, 1::2] & 15) << 4).astype(np.uint8).view(np.int8)
    if is_scan:
        step = np.cumsum if kind == "cumsum" else np.maximum.accumulate
        wanted = step(values, dim)
    else:
        magnitude = np.abs(values) if kind.startswith("abs") else values
        wanted = getattr(np, kind.removeprefix("abs"))(magnitude, dim)
    if dtype == "int4":
        wanted = (wanted + 8) % 16 - 8
    else:
        wanted = wanted.astype(ml_dtypes.float4_e2m1fn).astype(np.float64)  # saturates at 6
    for target in ("cpu", "reference"):
        made = np.zeros((*result[:-1], result[-1] // 2), np.int8)
        as_int8 = np.zeros(result, np.int8)
        tilewright.compile(kernel, target=target)(packed, made, as_int8)
        np.testing.assert_array_equal(as_int8, np.trunc(wanted).astype(np.int8), err_msg=target)


@pytest.mark.parametrize("kind", ["absmax", "abssum"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("int8", "uint8"),
        ("int8", "uint16"),
        ("int8", "uint32"),
        ("int16", "uint64"),
        ("int32", "uint64"),
        ("int64", "float64"),
        ("int8", "int32"),
    ],
)
def test_magnitudes_are_taken_before_the_sign_is_lost(agree, random, source, target, dim, kind):
    """Also that of the lowest number, which has none in its own dtype."""
    lowest = np.iinfo(source).min
    a = random.integers(lowest, -1, (ROWS, COLUMNS)).astype(source)
    a[0, :2] = lowest
    before = np.ones(ROWS if dim == 1 else COLUMNS, target)
    sizes = np.array([[abs(int(x)) for x in row] for row in a], object)
    exact = sizes.sum(dim) if kind == "abssum" else sizes.max(dim)
    whole = np.issubdtype(target, np.integer)
    bits = 8 * np.dtype(target).itemsize
    expected = np.array([int(x) % 2**bits if whole else float(x) for x in exact])
    agree(
        reduction(source, target, kind, True, dim),
        [a, before],
        {1: expected.astype(target)},
        None if whole else 1e-12,
    )
