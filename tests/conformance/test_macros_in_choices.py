# SPDX-License-Identifier: Apache-2.0
"""Macros that only compute a value may stand where a value is computed lazily."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T
from tilewright import CompileError


@T.macro
def scaled(a, b):
    return T.max(a * 2 + b, b - 9)


@T.macro
def in_steps(a, b):
    """Names are bound, other macros are called, and more is chosen."""
    twice = a * 2
    with_b = twice + b
    return T.max(with_b if a > 2 else scaled(a, b), b - 9)


@T.macro
def of_memory(tile, i):
    return tile[i + 4]


@pytest.mark.parametrize("macro", [scaled, in_steps])
def test_values_are_chosen(agree, macro):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((5, 16), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(16):
                B[0, i] = T.if_then_else(A[i] > 3, macro(A[i], i), 0)
                B[1, i] = macro(A[i], i) if A[i] > 3 else -1
                B[2, i] = -2 if A[i] > 3 else macro(A[i], i)
                if A[i] > 3 and macro(A[i], i) > 20:
                    B[3, i] = 1
                if A[i] > 3 or macro(A[i], i) > 20:
                    B[4, i] = 1

    a = (np.arange(16, dtype=np.int32) * 7) % 11 - 3
    i = np.arange(16)
    value = np.maximum(a * 2 + i, i - 9)
    expected = [
        np.where(a > 3, value, 0),
        np.where(a > 3, value, -1),
        np.where(a > 3, -2, value),
        (a > 3) & (value > 20),
        (a > 3) | (value > 20),
    ]
    agree(kernel, [a, np.zeros((5, 16), np.int32)], {1: np.stack(expected).astype(np.int32)})


def test_nothing_is_read_where_it_is_not_chosen(agree):
    """The interpreter tells of an index beyond the tile."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8,), "int32")
            T.copy(A, tile)

            def two_names(j):
                k = j + 4
                return tile[k]

            for i in T.serial(8):
                B[i] = of_memory(tile, i) if i < 4 else 0
                if i < 4 and two_names(i) > 15:
                    B[i] = -1

    a = np.arange(10, 18, dtype=np.int32)
    wanted = np.r_[np.where(a[4:] > 15, -1, a[4:]), np.zeros(4)].astype(np.int32)
    agree(kernel, [a, np.zeros(8, np.int32)], {1: wanted})


@T.macro
def stores(B, i):
    B[i] = 1
    return 1


@T.macro
def loops(B, i):
    for _ in T.serial(i):
        pass
    return 1


@T.macro
def branches(B, i):
    if i > 2:
        pass
    return 1


@T.macro
def allocates(B, i):
    x = T.alloc_var("int32")
    return x


@T.macro
def adds(B, i):
    T.atomic_add(B[i], 1)
    return 1


@T.macro
def stores_below(B, i):
    return stores(B, i)


@pytest.mark.parametrize("macro", [stores, loops, branches, allocates, adds, stores_below])
def test_statements_are_refused(macro):
    name = macro.__name__

    @T.prim_func
    def kernel(B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.serial(8):
                B[i] = macro(B, i) if i > 3 else 0

    with pytest.raises(CompileError) as caught:
        kernel.capture()
    message = f"macro '{name}' has statements and can't be used in a lazy expression"
    assert [error.message for error in caught.value.errors] == [message]


def test_statements_before_a_choice_are_none_of_it(agree):
    @T.prim_func
    def kernel(B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.serial(8):
                B[i] = stores(B, i) + (scaled(i, 1) if i // (i + 1) == 0 and i > 3 else 0)

    expected = np.array([1 + (max(2 * i + 1, -8) if i > 3 else 0) for i in range(8)], np.int32)
    agree(kernel, [np.zeros(8, np.int32)], {0: expected})
