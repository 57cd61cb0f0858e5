# SPDX-License-Identifier: Apache-2.0
"""Loops whose numbers come near the limits of 64 bits, or of the dtype of their bounds: as many
turns as Python's `range` has, and with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T

#: What is tested are steps that only the call gives.
pytestmark = pytest.mark.filterwarnings("ignore:the step '.*' of this loop is not known")

MOST, LEAST = 2**63 - 1, -(2**63)
ALL = 2**62
BOUNDS = [
    (0, MOST, ALL),
    (LEAST, MOST, ALL),
    (LEAST, MOST, MOST),
    (MOST - 2, MOST, 1),
    (MOST - 5, MOST, 3),
    (MOST - 6, MOST - 2, 3),
    (0, LEAST, -ALL),
    (MOST, LEAST, LEAST),
    (MOST, LEAST, -ALL),
    (LEAST + 5, LEAST, -3),
    (MOST, LEAST, 3),
    (LEAST, MOST, -3),
    (5, -5, -3),
    (-5, 6, 3),
    (2**31 - 5, 2**31 - 1, 3),
    (-(2**31), 2**31 - 1, 2**30),
]
ROOM = 6


def numbers(bounds):
    """What a loop writes: its numbers, and their count behind them."""
    found = list(range(*bounds))
    return np.array([*found, *[7] * (ROOM - len(found)), len(found)])


@pytest.mark.parametrize("bounds", BOUNDS)
def test_known_bounds(agree, bounds):
    @T.prim_func
    def kernel(B: T.Tensor((ROOM + 1,), "int64")):
        with T.Kernel(1, threads=1):
            for i in T.serial(*bounds):
                B[B[ROOM]] = i
                B[ROOM] += 1

    agree(kernel, [np.array([7] * ROOM + [0])], {0: numbers(bounds)})


@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounds_of_the_call(agree, bounds):
    @T.prim_func
    def kernel(start: T.int64, stop: T.int64, step: T.int64, B: T.Tensor((ROOM + 1,), "int64")):
        with T.Kernel(1, threads=1):
            for i in range(start, stop, step):
                B[B[ROOM]] = i
                B[ROOM] += 1

    agree(kernel, [*bounds, np.array([7] * ROOM + [0])], {3: numbers(bounds)})


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_known_step(agree, bounds):
    start, stop, step = bounds

    @T.prim_func
    def kernel(A: T.Tensor((2,), "int64"), B: T.Tensor((ROOM + 1,), "int64")):
        with T.Kernel(1, threads=1):
            for i in T.serial(A[0], A[1], step):
                B[B[ROOM]] = i
                B[ROOM] += 1

    given = np.array([start, stop])
    agree(kernel, [given, np.array([7] * ROOM + [0])], {1: numbers(bounds)})


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_step_of_0_that_the_call_gives_has_no_turns(agree, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((1,), dtype), B: T.Tensor((1,), "int64")):
        with T.Kernel(1, threads=1):
            for _ in T.serial(0, 10, A[0]):
                B[0] += 1
            for _ in T.serial(10, 0, A[0]):
                B[0] += 1

    agree(kernel, [np.zeros(1, dtype), np.zeros(1, np.int64)], {1: np.zeros(1, np.int64)})


UNSIGNED = 2**64 - 1
UNSIGNED_BOUNDS = [
    (2**63 - 2, 2**63 + 2, 1),
    (2**63 - 4, 2**63 + 4, 3),
    (2**63, 2**63 + 3, 1),
    (0, UNSIGNED, ALL),
    (3, UNSIGNED, 2**63),
    (UNSIGNED - 3, UNSIGNED, 1),
    (2**63 + 2, 2**63 - 2, 1),
    (2**63 + 2, 2**63 - 2, -1),
    (UNSIGNED, 0, -ALL),
    (5, UNSIGNED, -ALL),
    (UNSIGNED, UNSIGNED, 1),
    (0, 5, 1),
]


def unsigned_numbers(bounds):
    found = list(range(*bounds))
    return np.array([*found, *[7] * (ROOM - len(found)), len(found)], np.uint64)


@pytest.mark.parametrize("bounds", UNSIGNED_BOUNDS)
def test_bounds_without_a_sign(agree, bounds):
    """On both sides of 2^63, where a number of int64 would be negative."""
    start, stop, step = bounds
    step = T.uint64(step) if step > MOST else step

    @T.prim_func
    def kernel(start: T.uint64, stop: T.uint64, B: T.Tensor((ROOM + 1,), "uint64")):
        with T.Kernel(1, threads=1):
            for i in T.serial(start, stop, step):
                B[B[ROOM]] = i
                B[ROOM] += 1

    begun = np.array([7] * ROOM + [0], np.uint64)
    agree(kernel, [start, stop, begun], {2: unsigned_numbers(bounds)})


@pytest.mark.parametrize("bounds", [b for b in UNSIGNED_BOUNDS if b[2] > 0])
def test_a_step_without_a_sign(agree, bounds):
    @T.prim_func
    def kernel(A: T.Tensor((3,), "uint64"), B: T.Tensor((ROOM + 1,), "uint64")):
        with T.Kernel(1, threads=1):
            for i in T.serial(A[0], A[1], A[2]):
                B[B[ROOM]] = i
                B[ROOM] += 1

    begun = np.array([7] * ROOM + [0], np.uint64)
    agree(kernel, [np.array(bounds, np.uint64), begun], {1: unsigned_numbers(bounds)})


def test_a_variable_without_a_sign(agree):
    """Beyond 2^63 it is no negative number, where it is compared, divided, converted or bounds."""

    @T.prim_func
    def kernel(start: T.uint64, stop: T.uint64, B: T.Tensor((5, 2), "float64")):
        with T.Kernel(1, threads=1):
            for i in T.serial(start, stop):
                if i > 5:
                    B[0, i - start] = i // 3
                B[1, i - start] = T.max(i, 9)
                B[2, i - start] = i
                B[3, i - start] = (i + 1) % 1000
                for _ in T.serial(i, stop):
                    B[4, i - start] += 1

    first = 2**63 + 4096
    i = [first, first + 1]
    rows = [[n // 3 for n in i], i, i, [(n + 1) % 1000 for n in i], [2, 1]]
    agree(kernel, [first, first + 2, np.zeros((5, 2))], {2: np.array(rows, np.float64)})


def test_indices_made_of_a_variable_without_a_sign(agree):
    """As of others: extents of slices are known."""

    @T.prim_func
    def kernel(n: T.uint64, A: T.Tensor((16,), "int32"), B: T.Tensor((3, 16), "int32")):
        with T.Kernel(1, threads=1):
            tile = T.alloc_shared((4,), "int32")
            for i in T.serial(n):
                T.copy(A[i * 4 : i * 4 + 4], tile)
                B[0, i] = tile[3]
                B[1, i] = A[15 - i * 2]
                B[2, i] = A[i]

    a = np.arange(100, 116, dtype=np.int32)
    rows = np.zeros((3, 16), np.int32)
    rows[:, :4] = [a[3::4], a[15:8:-2], a[:4]]
    agree(kernel, [4, a, np.zeros((3, 16), np.int32)], {2: rows})


def test_an_end_without_a_sign_beyond_int64(agree):
    """The loop ends by a break: it has more turns than an index counts."""

    @T.prim_func
    def kernel(stop: T.uint64, B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=1):
            for i in range(stop):
                if i == 3:
                    break
                B[i] = i + 1

    agree(kernel, [UNSIGNED, np.zeros(4, np.int32)], {1: np.array([1, 2, 3, 0], np.int32)})


@pytest.mark.parametrize(("start", "stop", "step"), [(-3, 2**63 + 1, ALL), (2**63 + 1, -3, -ALL)])
def test_a_bound_with_a_sign_and_one_without(agree, start, stop, step):
    kinds = [T.uint64 if bound > MOST else T.int64 for bound in (start, stop)]

    @T.prim_func
    def kernel(first: kinds[0], last: kinds[1], B: T.Tensor((ROOM + 1,), "int64")):
        with T.Kernel(1, threads=1):
            for _ in T.serial(first, last, step):
                B[ROOM] += 1

    expected = np.array([0] * ROOM + [len(range(start, stop, step))])
    agree(kernel, [start, stop, np.zeros(ROOM + 1, np.int64)], {2: expected})
