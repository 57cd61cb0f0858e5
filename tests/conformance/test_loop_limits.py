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
