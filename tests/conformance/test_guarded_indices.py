# SPDX-License-Identifier: Apache-2.0
"""An index counts from the end where the conditions around say that it is negative."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T

ROW = T.Tensor((16,), "int32")
A = np.arange(100, 116, dtype=np.int32)

# Conditions of n and m, and an index: where the condition holds, the index is below 0.
GUARDS = {
    "difference": (lambda n, m: n - m < 0, lambda n, m: n - m),
    "less": (lambda n, m: n < m, lambda n, m: n - m),
    "less, by more": (lambda n, m: n + 3 < m, lambda n, m: n - m + 3),
    "at most": (lambda n, m: n <= m, lambda n, m: n - m - 1),
    "greater": (lambda n, m: m > n, lambda n, m: n - m),
    "at least": (lambda n, m: m >= n + 1, lambda n, m: n - m),
    "mirrored": (lambda n, m: m * 0 > n - m, lambda n, m: n - m),
    "both": (lambda n, m: (m - n > 0) & (m - n <= 16), lambda n, m: -(m - n)),
    "equal": (lambda n, m: n == m - 5, lambda n, m: n - m),
    "a multiple": (lambda n, m: n < m, lambda n, m: 2 * n - 2 * m),
    "two sums": (lambda n, m: (n < 3) & (m > 7), lambda n, m: n - m + 3),
    "quotients": (lambda n, m: n // 2 < m % 9, lambda n, m: n // 2 - m % 9),
}


def _taken(index):
    return A[index] if -16 <= index < 0 else 0


@pytest.mark.parametrize("name", GUARDS)
def test_what_a_condition_says(agree, name):
    """In a branch and its else, under `not`, and in choices."""
    guard, index = GUARDS[name]

    @T.prim_func
    def kernel(A: ROW, N: ROW, M: ROW, B: T.Tensor((7, 16), "int32")):
        with T.Kernel(1, threads=1):
            for i in T.serial(16):
                n = N[i]
                m = M[i]
                if guard(n, m):
                    B[0, i] = A[index(n, m)]
                if not guard(n, m):
                    B[1, i] = -1
                else:
                    B[1, i] = A[index(n, m)]
                B[2, i] = A[index(n, m)] if guard(n, m) else 0
                B[3, i] = -1 if not guard(n, m) else A[index(n, m)]
                B[4, i] = T.if_then_else(guard(n, m), A[index(n, m)], 0)
                B[5, i] = guard(n, m) and A[index(n, m)] > 107
                B[6, i] = not guard(n, m) or A[index(n, m)] > 107

    rng = np.random.default_rng(1)
    n, m = rng.integers(-3, 12, (2, 16), dtype=np.int32)
    n[0], m[0] = 3, 8
    holds = np.array([guard(int(x), int(y)) for x, y in zip(n, m, strict=True)])
    found = np.array([_taken(index(int(x), int(y))) for x, y in zip(n, m, strict=True)])
    assert holds.any()
    assert not holds.all()
    rows = [np.where(holds, found, 0), np.where(holds, found, -1)]
    rows += [rows[0], rows[1], rows[0], holds & (found > 107), ~holds | (found > 107)]
    zeros = np.zeros((7, 16), np.int32)
    agree(kernel, [A, n, m, zeros], {3: np.stack(rows).astype(np.int32)})


def test_arguments_and_loops(agree):
    m = T.dynamic("m")

    @T.prim_func
    def kernel(A: ROW, B: T.Tensor((5, m), "int32"), n: T.int32, k: T.int32):
        with T.Kernel(1, threads=1):
            if 0 < k - n <= 16:
                B[4, -(k - n)] = 8
            if n - k < 0:
                B[0, n - k] = 7
            if n < k:
                for i in T.serial(m):
                    B[1, i] = A[n - k - i]
            for i in T.serial(m):
                if i < n and n <= k:
                    B[2, i] = A[i - k]
                if i + n < m:
                    B[3, i] = A[i - m + n]

    n, k, count = 3, 5, 8
    expected = np.zeros((5, count), np.int32)
    expected[0, n - k] = 7
    expected[4, n - k] = 8
    expected[1] = [A[n - k - i] for i in range(count)]
    expected[2, :n] = [A[i - k] for i in range(n)]
    expected[3, : count - n] = [A[i - count + n] for i in range(count - n)]
    agree(kernel, [A, np.zeros((5, count), np.int32), n, k], {1: expected})


def test_both_sides_of_or(agree):
    @T.prim_func
    def kernel(A: ROW, N: ROW, B: T.Tensor((4, 16), "int32")):
        with T.Kernel(1, threads=1):
            for i in T.serial(16):
                n = N[i]
                if n < -3 or n == -1:
                    B[0, i] = A[n]
                if n > 3 or n == 1:
                    B[1, i] = -1
                else:
                    B[1, i] = A[n - 4]
                if n < -3 or n == 1:  # not always negative
                    B[2, i] = A[n]
                B[3, i] = A[n] if not (n > 3 or n >= 0) else -1

    n = np.r_[-8:8].astype(np.int32)
    at = n.astype(int)
    rows = [
        np.where((n < -3) | (n == -1), A[at], 0),
        np.where((n > 3) | (n == 1), -1, A[at - 4]),
        np.where(n == 1, A[1], 0),
        np.where(n < 0, A[at], -1),
    ]
    agree(kernel, [A, n, np.zeros((4, 16), np.int32)], {2: np.stack(rows).astype(np.int32)})


def test_elements_that_are_read_again(agree):
    """With nothing written between the condition and the index."""

    @T.prim_func
    def kernel(A: ROW, N: ROW, B: T.Tensor((2, 16), "int32")):
        with T.Kernel(1, threads=1):
            for i in T.serial(16):
                if N[i] < 0:
                    if i < 12:
                        B[0, i] = A[N[i]]
                    N[i] = 5
                    B[1, i] = A[N[i]]

    n = np.r_[-8:8].astype(np.int32)
    rows = [np.where(np.r_[:16] < 8, A[n.astype(int)], 0), np.where(n < 0, A[5], 0)]
    after = np.where(n < 0, 5, n).astype(np.int32)
    given = [A, n, np.zeros((2, 16), np.int32)]
    agree(kernel, given, {1: after, 2: np.stack(rows).astype(np.int32)})


def test_what_was_promised(agree):
    @T.prim_func
    def kernel(A: ROW, B: T.Tensor((4,), "int32"), n: T.int32, k: T.int32):
        T.assume(n < 0)
        with T.Kernel(1, threads=1):
            B[0] = A[n]
            T.assume(n + k < 0)
            B[1] = A[n + k]
            if k > 2:
                T.device_assert(k < 7)
                B[2] = A[k - 7]
            B[3] = A[k - 7]  # what was asserted in the branch says nothing here

    expected = np.array([A[-9], A[-6], A[-4], 0], np.int32)
    agree(kernel, [A, np.zeros(4, np.int32), -9, 3], {1: expected})


def test_choices_that_are_indices(agree):
    @T.prim_func
    def kernel(A: ROW, B: T.Tensor((3,), "int32"), n: T.int32):
        with T.Kernel(1, threads=1):
            B[0] = A[T.if_then_else(n > 0, -n, n - 1)]
            B[1] = A[-1 if n < 1 else -n]
            B[2] = A[T.if_then_else(n > 0, n, n - 1)]  # not always negative

    for n in (3, -4, 0):
        expected = [A[-n if n > 0 else n - 1], A[-1 if n < 1 else -n], A[n] if n > 0 else 0]
        agree(kernel, [A, np.zeros(3, np.int32), n], {1: np.array(expected, np.int32)})


def test_what_a_condition_does_not_say(agree):
    @T.prim_func
    def kernel(A: ROW, B: T.Tensor((5,), "int32"), n: T.int32, m: T.int32, u: T.uint32):
        with T.Kernel(1, threads=1):
            if n <= m:
                B[0] = A[n - m]
            if n != m:
                B[1] = A[n - m]
            if m < n:
                B[2] = A[n - m]
            if n < m or n > 50:
                B[3] = A[n - m]
            if u - 4 < 3:  # no number without a sign is negative
                B[4] = A[u]

    expected = np.array([0, 0, 0, 0, A[5]], np.int32)
    agree(kernel, [A, np.zeros(5, np.int32), 4, 7, 5], {1: expected})


def test_one_of_many_conditions(agree):
    """A proof takes no more steps the more conditions there are."""

    @T.prim_func
    def kernel(A: ROW, M: T.Tensor((6,), "int32"), B: T.Tensor((40,), "int32"), n: T.int32):
        with T.Kernel(1, threads=1):
            m0, m1, m2, m3, m4, m5 = M[0], M[1], M[2], M[3], M[4], M[5]
            for i in T.serial(n):
                for j in T.serial(i, m0):
                    for k in T.serial(j, m1):
                        near = i <= m0 + j and j <= m1 + k and k <= m2 + i and i + j <= m3 + k
                        far = j + k <= m4 + i and i + k <= m5 + j and i - j < m5
                        if near and far and j - k < m4 and k - i < m3 and i - k < m2 and j - i < 1:
                            for u in [*map(int, np.arange(40))]:
                                B[u] += A[j - i - 1 - u % 16]

    counts = np.zeros(40, np.int32)
    m = [3, 4, 5, 6, 7, 8]
    for i in range(4):
        for j in range(i, m[0]):
            for k in range(j, m[1]):
                first = i <= m[0] + j and j <= m[1] + k and k <= m[2] + i and i + j <= m[3] + k
                second = j + k <= m[4] + i and i + k <= m[5] + j and i - j < m[5]
                third = j - k < m[4] and k - i < m[3] and i - k < m[2] and j - i < 1
                if first and second and third:
                    counts += [A[j - i - 1 - u % 16] for u in range(40)]
    assert counts.any()
    agree(kernel, [A, np.array(m, np.int32), np.zeros(40, np.int32), 4], {2: counts})


def test_a_number_on_both_sides_of_a_condition(agree):
    """It says nothing of that number (and ended the compiler)."""

    @T.prim_func
    def kernel(A: ROW, B: T.Tensor((4,), "int32"), n: T.int32, m: T.int32):
        with T.Kernel(1, threads=1):
            x = T.alloc_var("int32", init=m)
            if x + m <= x + n:
                B[0] = A[x]
            if x <= x:
                B[1] = A[x - 1]
            if x - n < x:
                B[2] = A[x - 2]
            if T.min(x, 3) + x <= x + 3:
                B[3] = A[x - 3]

    expected = np.array([A[3], A[2], A[1], A[0]], np.int32)
    agree(kernel, [A, np.zeros(4, np.int32), 4, 3], {1: expected})


def test_what_a_while_asks(agree):
    """It holds in the body up to where its variable changes."""

    @T.prim_func
    def kernel(A: ROW, B: T.Tensor((4, 8), "int32"), n: T.int32):
        with T.Kernel(1, threads=1):
            x = T.alloc_var("int32", init=-n)
            y = T.alloc_var("int32", init=0)
            while x < 0 and y < 9:
                B[0, x + 8] = A[x]
                if y == 2:
                    B[1, x + 8] = A[x]
                x += 1
                if x >= 0:
                    B[2, x] = A[x]
                y += 1
            while x - 2 < 0:
                B[3, x] = A[x - 2]
                x += 1

    expected = np.zeros((4, 8), np.int32)
    expected[0, 3:8] = A[-5:]
    expected[1, 5] = A[-3]
    expected[2, 0] = A[0]
    expected[3, :2] = A[-2:]
    agree(kernel, [A, np.zeros((4, 8), np.int32), 5], {1: expected})


def test_what_a_while_does_not_say(agree):
    """Behind a change, in a loop within, of another number: such indices count from the start."""

    @T.prim_func
    def kernel(A: ROW, B: T.Tensor((3, 8), "int32"), n: T.int32):
        with T.Kernel(1, threads=1):
            x = T.alloc_var("int32", init=-n)
            z = T.alloc_var("int32", init=-n)
            while x < 0:
                x += 1
                B[0, x + 5] = A[x]
                z = x + 2
                if x > -3:
                    B[1, x + 5] = A[z]
            x = -2
            while x < 0:
                for i in T.serial(3):
                    B[2, i] = A[x + i]
                    x += 1

    expected = np.zeros((3, 8), np.int32)
    expected[0, 5] = A[0]
    expected[1, 3:6] = A[:3]
    expected[2, :3] = [0, A[0], A[2]]
    agree(kernel, [A, np.zeros((3, 8), np.int32), 5], {1: expected})
