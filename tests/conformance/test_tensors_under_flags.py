# SPDX-License-Identifier: Apache-2.0
"""None for a tensor that the kernel uses only where scalar arguments say so."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

TARGETS = ["cpu", "reference"]
ROWS = np.random.default_rng(2).uniform(-1, 1, (6, 8)).astype(np.float32)
BIAS = np.arange(8, dtype=np.float32)


@T.prim_func
def with_bias(
    A: T.Tensor((6, 8), "float32"),
    bias: T.Tensor((8,), "float32"),
    has_bias: T.bool,
    C: T.Tensor((6, 8), "float32"),
):
    with T.Kernel(3, threads=32) as bx:
        rows = T.alloc_fragment((2, 8), "float32")
        T.copy(A[bx * 2, 0], rows)
        if has_bias:
            row = T.alloc_shared((8,), "float32")
            T.copy(bias, row)
            for i, j in T.Parallel(2, 8):
                rows[i, j] += row[j]
        T.copy(rows, C[bx * 2, 0])


@pytest.mark.parametrize("target", [*TARGETS, "ascend"])
def test_a_flag(target):
    compiled = tilewright.compile(with_bias, target=target)
    for has_bias, bias in ((False, None), (True, BIAS), (False, BIAS)):
        result = np.zeros_like(ROWS)
        compiled(ROWS, bias, has_bias, result)
        expected = ROWS.astype(np.float64) + (BIAS if has_bias else 0)
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
    message = "with_bias: argument 1 'bias' is None but the kernel uses it"
    with pytest.raises(ValueError, match=message):
        compiled(ROWS, None, True, np.zeros_like(ROWS))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("dtype", "condition", "needs"),
    [
        ("int32", lambda n, m: n, lambda n, m: n != 0),
        ("int32", lambda n, m: n > 1, lambda n, m: n > 1),
        ("int64", lambda n, m: T.Not(n <= -2), lambda n, m: n > -2),
        ("int8", lambda n, m: (n == -1) & (m != 2), lambda n, m: n == -1 and m != 2),
        ("int32", lambda n, m: (n < 0) | (m >= 3), lambda n, m: n < 0 or m >= 3),
        ("uint8", lambda n, m: n == 200, lambda n, m: n == 200),
    ],
)
def test_conditions(target, dtype, condition, needs):
    """In loops over elements, and both ways of a branch."""

    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"),
        n: getattr(T, dtype),
        B: T.Tensor((8,), "float32"),
        m: T.int32,
        C: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                if condition(n, m):
                    C[i] = A[i] + 1
                else:
                    C[i] = B[i] * 2

    compiled = tilewright.compile(kernel, target=target)
    seen = set()
    for n in (-3, -2, -1, 0, 1, 2, 200):
        for m in (2, 3):
            if (n < 0 and dtype == "uint8") or (n > 127 and dtype == "int8"):
                continue
            needs_a = bool(needs(n, m))
            seen.add(needs_a)
            given = (None, BIAS) if not needs_a else (BIAS, None)
            result = np.zeros(8, np.float32)
            compiled(given[0], n, given[1], m, result)
            np.testing.assert_array_equal(result, BIAS + 1 if needs_a else BIAS * 2)
            with pytest.raises(ValueError, match=f"'{'A' if needs_a else 'B'}' is None but the"):
                compiled(given[1], n, given[0], m, result)
    assert len(seen) == 2


def test_an_unsigned_number_of_its_own_width():
    """Its bits would be those of a negative one: nothing is said of it."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), n: T.uint8, C: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            if n == T.uint8(200):
                T.copy(A, C)

    compiled = tilewright.compile(kernel)
    for n in (3, 200):
        with pytest.raises(ValueError, match="argument 0 'A' is None but the kernel uses it"):
            compiled(None, n, np.zeros(8, np.float32))
        result = np.zeros(8, np.float32)
        compiled(BIAS, n, result)
        np.testing.assert_array_equal(result, BIAS if n == 200 else 0)


@pytest.mark.parametrize("target", TARGETS)
def test_branches_in_branches_and_results(target):
    """A tensor of a dynamic shape that is written under two flags, one of the run's alone."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), "int32"), sums: T.Tensor((n,), "int32"), keep: T.int32, twice: T.bool
    ):
        with T.Kernel(1, threads=32):
            for i in T.serial(n):
                if A[i] > 0:
                    A[i] += 1
                    if keep == 1:
                        sums[i] = A[i]
                        if twice:
                            sums[i] *= 2

    compiled = tilewright.compile(kernel, target=target)
    given = np.array([1, -2, 3, 0, 5], np.int32)
    for keep, twice in ((0, True), (0, False), (1, False), (1, True)):
        a, sums = given.copy(), np.zeros(5, np.int32)
        compiled(a, sums if keep else None, keep, twice)
        after = np.where(given > 0, given + 1, given)
        np.testing.assert_array_equal(a, after)
        if keep:
            np.testing.assert_array_equal(sums, np.where(given > 0, after * (1 + twice), 0))
    with pytest.raises(ValueError, match="'sums' is None but the kernel uses it"):
        compiled(given.copy(), None, 1, False)


@pytest.mark.parametrize(
    "use",
    [
        lambda A, B, i, flag: T.if_then_else(flag, A[i], B[i]),
        lambda A, B, i, flag: A[i] + B[i],
    ],
)
def test_what_is_used_anyway_is_needed(use):
    """A choice may compute both of its sides."""

    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"),
        B: T.Tensor((8,), "float32"),
        flag: T.bool,
        C: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                C[i] = use(A, B, i, flag)
            if flag:
                T.copy(A, C)

    with pytest.raises(ValueError, match="argument 0 'A' is None but the kernel uses it"):
        tilewright.compile(kernel)(None, BIAS, False, np.zeros(8, np.float32))
