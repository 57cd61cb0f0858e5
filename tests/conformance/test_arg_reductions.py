# SPDX-License-Identifier: Apache-2.0
"""T.reduce_argmax and T.reduce_argmin."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError


def arg_kernel(shape, dim, kind, dtype="float32", place="int32", keeps=False, alloc="fragment"):
    axis = dim % len(shape)
    out = shape[:axis] + ((1,) if keeps else ()) + shape[axis + 1 :]
    find = T.reduce_argmax if kind == "max" else T.reduce_argmin
    make = T.alloc_fragment if alloc == "fragment" else T.alloc_shared

    @T.prim_func
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(out or (1,), place)):
        with T.Kernel(1, threads=32):
            a = make(shape, dtype)
            b = make(out or (1,), place)
            T.copy(A, a)
            find(a, b, dim)
            T.copy(b, B)

    return kernel, out or (1,)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize(
    ("shape", "dim", "keeps", "alloc"),
    [
        ((40,), -1, True, "fragment"),
        ((4, 33), 1, False, "shared"),
        ((33, 4), 0, False, "fragment"),
        ((3, 17, 5), 1, True, "shared"),
        ((3, 17, 5), -1, False, "fragment"),
    ],
)
def test_places_of_the_extremes(agree, random, kind, shape, dim, keeps, alloc):
    """Of equal ones the first."""
    kernel, out = arg_kernel(shape, dim, kind, keeps=keeps, alloc=alloc)
    a = random.integers(-5, 6, shape).astype(np.float32)
    found = getattr(np, f"arg{kind}")(a, axis=dim).astype(np.int32).reshape(out)
    agree(kernel, [a, np.full(out, -1, np.int32)], {1: found})


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int64", "uint8", "uint64"])
def test_places_of_other_dtypes(agree, random, kind, dtype):
    kernel, out = arg_kernel((6, 30), 1, kind, dtype, "int64")
    a = random.integers(0, 100, (6, 30)).astype(dtype)
    found = getattr(np, f"arg{kind}")(a, axis=1)
    agree(kernel, [a, np.zeros(out, np.int64)], {1: found})


def test_places_of_nan_and_infinity(agree):
    """The first NaN is the largest and the least, as for NumPy and torch."""
    a = np.full((5, 20), -3, np.float32)
    a[0, [7, 11]] = np.inf
    a[1, [0, 5, 9]] = np.inf, np.nan, np.nan
    a[2] = np.nan
    a[3] = -np.inf
    a[4, [3, 19]] = -np.inf, np.nan

    @T.prim_func
    def kernel(
        A: T.Tensor((5, 20), "float32"),
        Most: T.Tensor((5,), "int32"),
        Least: T.Tensor((5,), "int32"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_fragment((5, 20), "float32")
            most = T.alloc_fragment((5,), "int32")
            least = T.alloc_fragment((5,), "int32")
            T.copy(A, a)
            T.reduce_argmax(a, most, dim=1)
            T.reduce_argmin(a, least, dim=1)
            T.copy(most, Most)
            T.copy(least, Least)

    found = {1: np.argmax(a, axis=1).astype(np.int32), 2: np.argmin(a, axis=1).astype(np.int32)}
    agree(kernel, [a, np.zeros(5, np.int32), np.zeros(5, np.int32)], found)


@pytest.mark.parametrize(
    ("source", "target", "place", "dim", "message"),
    [
        ((4, 8), (4,), "int32", 2, "T.reduce_argmax has dim 2 but the source has 2 dims"),
        (
            (4, 8),
            (4,),
            "float32",
            1,
            "T.reduce_argmax gives int32 or int64, but the target holds float32",
        ),
        (
            (4, 8),
            (3,),
            "int32",
            1,
            "T.reduce_argmax gives [4] or [4, 1], but the target has [3]",
        ),
    ],
)
def test_what_is_refused(source, target, place, dim, message):
    @T.prim_func
    def kernel(A: T.Tensor((1,), "float32")):
        with T.Kernel(1):
            a = T.alloc_fragment(source, "float32")
            b = T.alloc_fragment(target, place)
            T.clear(a)
            T.reduce_argmax(a, b, dim)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    assert [e.message for e in caught.value.errors] == [message]


def test_tensors_are_refused():
    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            T.reduce_argmin(A, B)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    message = "T.reduce_argmin takes whole tiles, of a block or in T.alloc_fragment"
    assert [e.message for e in caught.value.errors] == [message]
