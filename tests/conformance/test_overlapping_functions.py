# SPDX-License-Identifier: Apache-2.0
"""Functions of T.tile on parts of one tile: those that surely overlap in part are an error on the
CPU, too, and where only the run tells, all is read before anything is written."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

SIDE = 24
GIVEN = np.random.default_rng(7).uniform(-2, 2, (SIDE, SIDE)).astype(np.float32)
REASON = (
    "that it reads of it; the vector unit has no order for what overlaps in part, so let them be "
    "the same or apart"
)


def kernel(work):
    """`work` gets a tile of 24 x 24 floats and a number."""

    @T.prim_func
    def main(
        A: T.Tensor((SIDE, SIDE), "float32"), n: T.int32, C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, threads=32):
            t = T.alloc_shared((SIDE, SIDE), "float32")
            T.copy(A, t)
            work(t, n)
            T.copy(t, C)

    return main


def run(work, n):
    result = np.zeros_like(GIVEN)
    tilewright.compile(kernel(work))(GIVEN, n, result)
    return result


def is_race(work, n=1):
    try:
        interpret(kernel(work), GIVEN, n, np.zeros_like(GIVEN))
    except tilewright.CompileError as error:
        assert "two iterations of the parallel loop use element" in str(error)
        return True
    return False


@T.macro
def rows_on(t, n):
    T.tile.add(t[1:17, :], t[0:16, :], t[2:18, :])


@T.macro
def rows_from_a_number_on(t, n):
    T.tile.mul(t[n : n + 8, :], t[n + 3 : n + 11, :], 2.0)


@T.macro
def narrow_columns_on(t, n):
    T.tile.exp(t[0:4, 1:4], t[0:4, 0:3])


@T.macro
def by_two_names(t, n):
    flat = T.reshape(t, (SIDE * SIDE,))
    T.tile.abs(flat[24:40], flat[16:32])


@pytest.mark.parametrize(
    ("work", "wanted"),
    [
        (rows_on, "add writes 1536 bytes of 't' that begin 96 bytes behind the 1536"),
        (rows_from_a_number_on, "mul writes 768 bytes of 't' that begin 288 bytes before the 768"),
        (narrow_columns_on, "exp writes 300 bytes of 't' that begin 4 bytes behind the 300"),
        (by_two_names, "abs writes 64 bytes of 't' that begin 32 bytes behind the 64"),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_what_overlaps_in_part_is_refused(work, wanted):
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel(work))
    assert [each.message for each in caught.value.errors] == [f"T.tile.{wanted} {REASON}"]
    assert is_race(work)


@T.macro
def of_one_number(t, n):
    T.tile.exp(t[n : n + 4, :], t[3:7, :])


@T.macro
def added_to(t, n):
    T.tile.axpy(t[n : n + 6, 0:20], t[4:10, 2:22], 2.0)


@T.macro
def of_views(t, n):
    narrow = T.reshape(t, (SIDE * 3, 8))
    T.tile.sub(narrow[n : n + 9, :], narrow[4:13, :], narrow[n + 3 : n + 12, :])


def expected_of_one_number(t, n):
    t[n : n + 4] = np.exp(GIVEN[3:7].astype(np.float64))


def expected_added_to(t, n):
    t[n : n + 6, 0:20] += 2 * GIVEN[4:10, 2:22].astype(np.float64)


def expected_of_views(t, n):
    given = GIVEN.reshape(SIDE * 3, 8)
    t.reshape(SIDE * 3, 8)[n : n + 9] = given[4:13] - given[n + 3 : n + 12].astype(np.float64)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 12])
@pytest.mark.parametrize(
    ("work", "expected"),
    [(of_one_number, expected_of_one_number), (added_to, expected_added_to)],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_what_only_the_run_tells_reads_all_first(work, expected, n):
    wanted = GIVEN.astype(np.float64)
    expected(wanted, n)
    np.testing.assert_allclose(run(work, n), wanted, rtol=2e-6)
    if not is_race(work, n):
        result = np.zeros_like(GIVEN)
        interpret(kernel(work), GIVEN, n, result)
        np.testing.assert_allclose(result, wanted, rtol=2e-6)


def test_a_known_overlap_beside_an_unknown_one_is_refused():
    with pytest.raises(tilewright.CompileError, match="begin 96 bytes before the 288"):
        tilewright.compile(kernel(of_views))


@T.macro
def as_many_rows_as_the_run_says(t, n):
    T.tile.mul(t[2 : 2 + n, :], t[0:n, :], 2.0)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_extents_that_only_the_run_tells(n):
    wanted = GIVEN.copy()
    wanted[2 : 2 + n] = 2 * GIVEN[0:n]
    np.testing.assert_array_equal(run(as_many_rows_as_the_run_says, n), wanted)


@T.macro
def what_is_the_same_or_apart(t, n):
    T.tile.add(t[1:9, :], t[1:9, :], t[9:17, :])
    T.tile.add(t[n : n + 4, :], t[n + 4 : n + 8, :], t[n : n + 4, :])
    T.tile.add(t[0:8, :], t[0:8, :], t[9, :])


def test_what_is_the_same_or_apart_is_fine():
    wanted = GIVEN.astype(np.float64)
    wanted[1:9] += wanted[9:17]
    wanted[2:6] += wanted[6:10]
    wanted[0:8] += wanted[9]
    np.testing.assert_allclose(run(what_is_the_same_or_apart, 2), wanted, rtol=1e-6, atol=1e-6)
    assert not is_race(what_is_the_same_or_apart, 2)


@pytest.mark.parametrize("seed", range(4))
def test_the_cpu_refuses_what_the_interpreter_refuses(seed):
    """Rectangles of one tile, by chance."""
    chance = random.Random(seed)
    found = []
    for _ in range(12):
        height, width = chance.choice([1, 2, 5]), chance.choice([3, 16])
        parts = []
        for _ in range(3):
            row, column = chance.randrange(8), chance.randrange(25 - width)
            parts.append((slice(row, row + height), slice(column, column + width)))
        if chance.random() < 0.4:
            parts[1] = parts[0]
        to, first, second = parts

        @T.macro
        def work(t, n):
            T.tile.add(t[to], t[first], t[second])  # noqa: B023

        found.append(is_race(work))
        if found[-1]:
            with pytest.raises(tilewright.CompileError, match="overlaps in part"):
                tilewright.compile(kernel(work))
            continue
        wanted = GIVEN.astype(np.float64)
        wanted[to] = wanted[first] + wanted[second]
        np.testing.assert_allclose(run(work, 0), wanted, rtol=1e-6, atol=1e-6)
    assert any(found) and not all(found)
