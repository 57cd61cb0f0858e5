# SPDX-License-Identifier: Apache-2.0
"""Branches of a nest: where what they do may be done everywhere, vector instructions choose between
its numbers and what was there; else the scalar unit goes from element to element, with a remark."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
random = np.random.default_rng(41)
KINDS = ("float32", "float16", "int32", "int16")


def check(
    function: Any, arrays: list[Array], expected: Array, remark: str = "", **more: Any
) -> str:
    """The last array on the host and on the interpreter; the text."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kernel = tilewright.compile(function, target="ascend", pass_configs=AUTOMATIC)
    remarks = [str(each.message) for each in told if each.category is TilewrightWarning]
    assert bool(remarks) == bool(remark)
    assert all(remark in each for each in remarks)
    made, same = ([array.copy() for array in arrays] for _ in range(2))
    kernel(*made, *more.values())
    interpret(function, *same, *more.values())
    np.testing.assert_array_equal(made[-1], same[-1])
    np.testing.assert_allclose(made[-1].astype(np.float64), expected, rtol=1e-3, atol=1e-3)
    text: str = kernel.get_kernel_source()
    assert ("GetValue" in text) == bool(remark)
    return text


def causal(rows: int, columns: int, kind: str) -> Any:
    """As attention masks its scores: each vector core has rows of its own."""

    @T.prim_func
    def main(S: T.Tensor((4 * rows, columns), kind), C: T.Tensor((4 * rows, columns), kind)):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True) as (cid, vid):
            s = T.alloc_shared((rows, columns), kind)
            T.copy(S[(cid * 2 + vid) * rows, 0], s)
            for i, j in T.Parallel(rows, columns):
                if (cid * 2 + vid) * rows + i < j:
                    s[i, j] = -100
            T.copy(s, C[(cid * 2 + vid) * rows, 0])

    return main


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(16, 64), (5, 20), (1, 33), (3, 8)])
def test_causal_mask(shape: tuple[int, int], kind: str) -> None:
    rows, columns = shape
    s = (random.standard_normal((4 * rows, columns)) * 9).astype(kind)
    mask = np.arange(4 * rows)[:, None] < np.arange(columns)
    check(causal(rows, columns, kind), [s, np.zeros_like(s)], np.where(mask, -100, s))


@pytest.mark.parametrize("kind", ["float32", "int32"])
@pytest.mark.parametrize("shape", [(8, 64), (5, 12)])
def test_chains_and_nests(shape: tuple[int, int], kind: str) -> None:
    rows, columns = shape

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((rows, columns), kind),
        B: T.Tensor((rows, columns), kind),
        C: T.Tensor((2, rows, columns), kind),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((rows, columns), kind)
            b = T.alloc_ub((rows, columns), kind)
            c = T.alloc_ub((rows, columns), kind)
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(rows, columns):
                if a[i, j] > b[i, j]:
                    c[i, j] = a[i, j] - b[i, j]
                elif i > j:
                    c[i, j] = a[i, j] * 2
                else:
                    c[i, j] = 5
            T.copy(c, C[0, 0, 0])
            for i, j in T.Parallel(rows, columns):
                b[i, j] = b[i, j] + 1
                if a[i, j] < 0:
                    a[i, j] = a[i, j] + b[i, j]
                    if j > 3:
                        b[i, j] = b[i, j] + a[i, j]
                c[i, j] = a[i, j] + b[i, j]
            T.copy(c, C[1, 0, 0])

    a, b = ((random.standard_normal(shape) * 9).astype(kind) for _ in range(2))
    i, j = np.indices(shape)
    first = np.where(a > b, a - b, np.where(i > j, a * 2, 5))
    is_less = a < 0
    x, y = np.where(is_less, a + b + 1, a), b + 1
    y = np.where(is_less & (j > 3), y + x, y)
    check(main, [a, b, np.zeros((2, *shape), kind)], np.stack([first, x + y]))


@T.prim_func
def neighbours(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((64,), "float32")
        c = T.alloc_ub((64,), "float32")
        T.copy(A, a)
        T.tile.fill(c, 0.0)
        for i in T.Parallel(64):
            if i >= 8:
                c[i] = a[i - 8]
        T.copy(c, C)


def test_elements_that_are_not_there() -> None:
    """Without the branch, the first would be read before the tile."""
    a = random.standard_normal(64).astype(np.float32)
    expected = np.concatenate([np.zeros(8), a[:-8]])
    check(neighbours, [a, np.zeros_like(a)], expected, remark="it holds 'if'")


@T.prim_func
def guarded(A: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32"), n: T.int32):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((64,), "int32")
        T.copy(A, a)
        for i in T.Parallel(64):
            if n != 0:
                a[i] = a[i] + 100 // n
        T.copy(a, C)


@pytest.mark.parametrize("n", [0, 7])
def test_divisions_stay_guarded(n: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = tilewright.compile(guarded, target="ascend", pass_configs=AUTOMATIC)
    a = random.integers(-99, 99, 64).astype(np.int32)
    c = np.zeros_like(a)
    kernel(a.copy(), c, n)
    np.testing.assert_array_equal(c, a + 100 // n if n else a)


@T.prim_func
def halves(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 64), "float32")
        c = T.alloc_ub((8, 64), "float32")
        T.copy(A, a)
        for i, j in T.Parallel(8, 64):
            if i >= j:
                c[i, j] = a[i, j]
        for i, j in T.Parallel(8, 64):
            if i < j:
                c[i, j] = a[i, j] * 2.0
        T.copy(c, C)


def test_what_nothing_has_written_stays_so() -> None:
    """A choice reads all of a tile of which a branch writes a part first, and leaves the rest."""
    a = random.standard_normal((8, 64)).astype(np.float32)
    i, j = np.indices(a.shape)
    check(halves, [a, np.zeros_like(a)], np.where(i >= j, a, a * 2.0))


@pytest.mark.parametrize("n", [0, 5, 13, 16])
def test_a_copy_of_a_number_of_rows_writes_no_others(n: int) -> None:
    """What it left is not read: a choice would. Each row is one branch's or the other's."""

    @T.prim_func
    def main(A: T.Tensor((16, 64), "float32"), C: T.Tensor((16, 64), "float32"), n: T.int32):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            s = T.alloc_ub((8, 64), "float32")
            rows = T.min(T.max(n - cid * 8, 0), 8)
            T.copy(A[cid * 8 : cid * 8 + rows, :], s[0:rows, :])
            for i, j in T.Parallel(8, 64):
                if i >= rows:
                    s[i, j] = -1.0
                else:
                    s[i, j] = s[i, j] * 2.0
            T.copy(s, C[cid * 8, 0])

    a = random.integers(-9, 10, (16, 64)).astype(np.float32)
    expected = np.where(np.arange(16)[:, None] < n, a * 2, -1)
    check(main, [a, np.zeros_like(a)], expected, n=n)


@T.prim_func
def uniform(  # type: ignore[no-untyped-def]
    A: T.Tensor((8, 40), "float32"),
    B: T.Tensor((8, 40), "float32"),
    F: T.Tensor((8,), "int32"),
    C: T.Tensor((5, 8, 40), "float32"),
    n: T.int32,
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a, b, c = (T.alloc_ub((8, 40), "float32") for _ in range(3))
        f = T.alloc_ub((8,), "int32")
        T.copy(A, a)
        T.copy(B, b)
        T.copy(F, f)
        for k in T.serial(3):
            for i, j in T.Parallel(8, 40):
                if k == 0:
                    c[i, j] = a[i, j]
                elif n > k:
                    c[i, j] = c[i, j] + b[i, j]
        T.copy(c, C[0, 0, 0])
        for i, j in T.Parallel(8, 40):
            if n == 2:
                c[i, j] = b[i, j] * 2.0
            c[i, j] = c[i, j] - a[i, j]
            if n == 2:
                c[i, j] = c[i, j] + 1.0
        T.copy(c, C[1, 0, 0])
        for i, j in T.Parallel(8, 40):  # rows, of which c has no numbers before
            if f[i] > 4:
                c[i, j] = a[i, j]
            elif i == n:
                c[i, j] = b[i, j]
            else:
                c[i, j] = 3.0
        T.copy(c, C[2, 0, 0])
        for i, j in T.Parallel(8, 40):  # a row that isn't there is not read
            c[i, j] = T.if_then_else(i > 0, a[i - 1, j], 0.0) + T.if_then_else(n > 1, 1.0, b[i, j])
        T.copy(c, C[3, 0, 0])
        for i, j in T.Parallel(8, 40):
            if f[2] < 0:
                c[i, j] = 7.0
        T.copy(c, C[4, 0, 0])


@pytest.mark.parametrize("n", [0, 2, 5])
def test_branches_that_all_elements_take(n: int) -> None:
    """Of the nest there is one for each side; of a nest of rows in a loop over them."""
    a, b = (random.integers(-9, 10, (8, 40)).astype(np.float32) for _ in range(2))
    f = np.array([9, 0, -3, 5, 4, 6, 1, 8], np.int32)
    first = a + b * sum(n > k for k in (1, 2))
    second = b * 2 - a + 1 if n == 2 else first - a
    third = np.where(f[:, None] > 4, a, np.where(np.arange(8)[:, None] == n, b, 3))
    fourth = np.concatenate([np.zeros((1, 40)), a[:-1]]) + (1 if n > 1 else b)
    expected = np.stack([first, second, third, fourth, np.full((8, 40), 7.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none of it runs on the scalar unit
        kernel = tilewright.compile(uniform, target="ascend", pass_configs=AUTOMATIC)
    made, same = np.zeros_like(expected, np.float32), np.zeros_like(expected, np.float32)
    kernel(a, b, f, made, n)
    interpret(uniform, a, b, f, same, n)
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(same, expected)


def picked(form: str, kind: str) -> Any:
    """Elements decide what is changed of a tile; what is there before came in several ways."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 64), kind),
        B: T.Tensor((16, 64), kind),
        C: T.Tensor((16, 64), kind),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 64), kind)
            c = T.alloc_ub((16, 64), kind)
            T.copy(A, a)
            if form == "halves":
                T.copy(B[0:8, :], c[0:8, :])
                T.copy(B[8:16, :], c[8:16, :])
            elif form == "rows":
                for i in T.serial(16):
                    T.copy(B[i, :], c[i, :])
            elif form == "some rows":
                T.copy(B[0:n, :], c[0:n, :])
            for i, j in T.Parallel(16, 64):
                if a[i, j] > 0:
                    c[i, j] = a[i, j] + 1
            if form in ("some rows", "nothing"):
                for i, j in T.Parallel(16, 64):
                    if (form == "nothing" or i >= n) and a[i, j] <= 0:
                        c[i, j] = 5
            T.copy(c, C)

    return main


@pytest.mark.parametrize("kind", [*KINDS, "uint8"])
@pytest.mark.parametrize("form", ["halves", "rows", "some rows", "nothing"])
def test_elements_that_one_branch_changes(form: str, kind: str) -> None:
    dtype = np.dtype(kind)
    least = 0 if kind == "uint8" else -9
    a, b = (random.integers(least, 10, (16, 64)).astype(dtype) for _ in range(2))
    expected = np.where(a > 0, a + dtype.type(1), b).astype(np.float64)
    n = 11
    if form in ("some rows", "nothing"):
        first = n if form == "some rows" else 0
        expected[first:] = np.where(a[first:] > 0, expected[first:], 5)
    check(picked(form, kind), [a, b, np.zeros_like(a)], expected, n=n)


def test_what_no_branch_has_written_is_found() -> None:
    """By the host and the interpreter, as of elements that are never written by any nest."""

    @T.prim_func
    def main(A: T.Tensor((16, 64), "float32"), C: T.Tensor((16, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 64), "float32")
            c = T.alloc_ub((16, 64), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(16, 64):
                if a[i, j] > 0:
                    c[i, j] = a[i, j]
            T.copy(c, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a, c = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
    kernel(a, c)
    np.testing.assert_array_equal(c, a)
    a[3, 5] = -1
    with pytest.raises(RuntimeError, match="which nothing has written"):
        kernel(a, c)
    with pytest.raises(tilewright.CompileError, match="never written"):
        interpret(main, a, c)
