# SPDX-License-Identifier: Apache-2.0
"""Indices that are negative for all values of their variables count from the end."""

from __future__ import annotations

import types

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.mark.parametrize("loop", [T.serial, T.Parallel, T.unroll])
@pytest.mark.parametrize("space", ["tensor", "tile", "tensor of n"])
def test_what_is_always_negative(agree, loop, space):
    extent = T.dynamic("n") if space == "tensor of n" else 16

    @T.prim_func
    def kernel(A: T.Tensor((extent,), "int32"), B: T.Tensor((3, 4), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16,), "int32")
            T.copy(A[0:16], tile)
            source = tile if space == "tile" else A
            for i in loop(4):
                B[0, i] = source[-i - 1]
                B[1, i] = source[i - 4]
                B[i - i - 1, i] = source[2 * i - 16]

    a = np.arange(100, 116, dtype=np.int32)
    expected = np.stack([a[::-1][:4], a[-4:], a[0:8:2]])
    agree(kernel, [a, np.zeros((3, 4), np.int32)], {1: expected})


@pytest.mark.parametrize("loop", [T.serial, T.Pipelined, T.Parallel])
@pytest.mark.parametrize("space", ["tensor", "tile", "tensor of n"])
def test_what_is_always_negative_in_loops_of_unknown_turns(agree, loop, space):
    m = T.dynamic("m")
    extent = T.dynamic("n") if space == "tensor of n" else 16

    @T.prim_func
    def kernel(A: T.Tensor((extent,), "int32"), B: T.Tensor((5, m), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((16,), "int32")
            T.copy(A[0:16], tile)
            source = tile if space == "tile" else A
            for i in loop(m):
                B[0, i] = source[-i - 1]
                B[1, i] = source[i - m]
                B[2, i] = source[-2 * (i // 2) - 1]
                B[-1, i] = source[-T.min(m, 2) - 1]
                B[3, i] = source[-T.min(i, 3) - 1]

    a = np.arange(100, 116, dtype=np.int32)
    for count in (0, 1, 5, 16):
        i = np.arange(count)
        rows = [-i - 1, i - count, -2 * (i // 2) - 1, -np.minimum(i, 3) - 1]
        rows.append(0 * i - min(count, 2) - 1)
        agree(kernel, [a, np.zeros((5, count), np.int32)], {1: np.stack([a[r] for r in rows])})


def test_blocks_and_numbers_that_are_given(agree):
    m = T.dynamic("m")

    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((2, m), "int32"), n: T.int32):
        with T.Kernel(m, threads=32) as bx:
            B[0, bx] = A[-bx - 1]
            for i in T.serial(n):
                B[-1, bx] += A[-i - bx - 1]

    a = np.arange(100, 116, dtype=np.int32)
    sums = [a[::-1][b : b + 3].sum() for b in range(5)]
    expected = np.stack([a[::-1][:5], sums]).astype(np.int32)
    agree(kernel, [a, np.zeros((2, 5), np.int32), 3], {1: expected})


# Indices that are negative for all i below 8.
EXPRESSIONS = {
    "quotient": lambda i: i // 2 - 4,
    "remainder": lambda i: i % 3 - 3,
    "remainder of a negative number": lambda i: (i - 5) % 4 - 4,
    "least": lambda i: T.min(i, 3) - 4,
    "most": lambda i: T.max(i, 3) - 8,
    "choice": lambda i: T.if_then_else(i < 4, -1, i - 9),
    "product": lambda i: i * (i - 8) - 1,
    "cast": lambda i: T.cast(i // 3, "int32") - 3,
    "shift": lambda i: (i >> 1) - 4,
}


def _of_python(expression, i):
    plain = {"min": min, "max": max, "if_then_else": lambda c, a, b: a if c else b}
    plain["cast"] = lambda value, dtype: value
    return types.FunctionType(expression.__code__, {"T": types.SimpleNamespace(**plain)})(i)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_that_are_always_negative(agree, name):
    expression = EXPRESSIONS[name]

    @T.prim_func
    def kernel(
        A: T.Tensor((32,), "int32"), B: T.Tensor((2, 8), "int32"), C: T.Tensor((32,), "int32")
    ):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((32,), "int32")
            T.copy(A, tile)
            for i in T.Parallel(8):
                B[0, i] = A[expression(i)]
                B[1, i] = tile[expression(i)]
            for i in T.serial(8):
                C[expression(i)] += i + 1

    a = np.arange(100, 132, dtype=np.int32)
    taken = [_of_python(expression, i) for i in range(8)]
    assert max(taken) < 0
    added = np.zeros(32, np.int32)
    for i, place in enumerate(taken):
        added[place] += i + 1
    given = [a, np.zeros((2, 8), np.int32), np.zeros(32, np.int32)]
    agree(kernel, given, {1: np.stack([a[taken]] * 2), 2: added})


def test_bounds_that_other_variables_give(agree):
    m = T.dynamic("m")

    @T.prim_func
    def kernel(
        A: T.Tensor((16,), "int32"), B: T.Tensor((3, 8), "int32"), C: T.Tensor((m,), "int32")
    ):
        with T.Kernel(1, threads=32):
            for i in T.serial(2):
                for j in T.serial(i * 2, i * 2 + 4):
                    B[0, i * 4 + j - i * 2] = A[-j - 1]
            for i in T.serial(m):
                for j in T.serial(i, m):
                    B[1, j] += A[i - j - 1]
            for i in T.serial(8):
                if i < 4:
                    B[2, i] = A[i - 4]
                else:
                    B[2, i] = A[3 - i]

    a = np.arange(100, 116, dtype=np.int32)
    sums = [sum(a[i - j - 1] for i in range(j + 1)) for j in range(8)]
    rows = [a[[-1, -2, -3, -4, -3, -4, -5, -6]], sums, a[[-4, -3, -2, -1, -1, -2, -3, -4]]]
    given = [a, np.zeros((3, 8), np.int32), np.zeros(8, np.int32)]
    agree(kernel, given, {1: np.stack(rows).astype(np.int32)})


@pytest.mark.parametrize("space", ["tensor", "tile"])
def test_stores_in_loops_of_unknown_turns(agree, space):
    @T.prim_func
    def kernel(B: T.Tensor((16,), "int32"), C: T.Tensor((16,), "int32"), n: T.int32):
        with T.Kernel(1, threads=1):
            tile = T.alloc_shared((16,), "int32")
            T.clear(tile)
            target = tile if space == "tile" else B
            for i in T.serial(n):
                target[-i - 1] = 100 + i
                T.atomic_add(C[-i - 2], i + 1)
            if space == "tile":
                T.copy(tile, B)

    expected, added = np.zeros(16, np.int32), np.zeros(16, np.int32)
    expected[11:] = [104, 103, 102, 101, 100]
    added[10:15] = [5, 4, 3, 2, 1]
    given = [np.zeros(16, np.int32), np.zeros(16, np.int32), 5]
    agree(kernel, given, {0: expected, 1: added})


def test_what_may_be_0_does_not_count(agree):
    """Neither do the bounds of a loop whose number of turns may be 0 make it negative."""
    m = T.dynamic("m")

    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((3, m), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.serial(m):
                B[0, i] = A[-i]
                B[1, i] = A[i - m + 1]
                B[2, i] = A[T.max(i, 1) - 2]

    a = np.arange(100, 116, dtype=np.int32)
    rows = [[100, 0, 0, 0], [0, 0, 0, 100], [0, 0, 100, 101]]
    agree(kernel, [a, np.ones((3, 4), np.int32)], {1: np.array(rows, np.int32)})


def test_what_is_negative_only_at_times_reads_nothing(agree):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.serial(4):
                B[i] = A[i - 2]

    a = np.arange(100, 116, dtype=np.int32)
    agree(kernel, [a, np.ones(4, np.int32)], {1: np.array([0, 0, 100, 101], np.int32)})


def test_a_halo_starts_before_its_tensor(agree):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32) as bx:
            tile = T.alloc_shared((8,), "int32")
            T.copy(A[bx * 8 - 3 : bx * 8 + 5], tile)
            T.copy(tile, B)

    a = np.arange(100, 116, dtype=np.int32)
    agree(kernel, [a, np.ones(8, np.int32)], {1: np.r_[[0, 0, 0], a[:5]].astype(np.int32)})


@pytest.mark.parametrize("n", [4, 12, 20, -4, -12, -20, 1 << 30])
def test_what_leaves_a_tile_touches_no_other_on_the_cpu(n):
    """The interpreter reports it."""

    @T.prim_func
    def kernel(
        A: T.Tensor((16,), "int32"),
        B: T.Tensor((3, 16), "int32"),
        C: T.Tensor((2, 8), "int32"),
        n: T.int32,
    ):
        with T.Kernel(1, threads=1):
            tiles = [T.alloc_shared((16,), "int32") for _ in range(3)]
            for tile in tiles:
                T.copy(A, tile)
            T.copy(A[0:8], tiles[1][n : n + 8])
            T.fill(tiles[1][n - 8 : n - 4], 77)
            T.atomic_add(tiles[1][n - 9], 5)
            for i in T.serial(4):
                tiles[1][n - i - 10] = 200 + i
            T.copy(tiles[1][n : n + 8], C[0, :])
            for i in T.Parallel(8):
                C[1, i] = tiles[1][n + i]
            for row, tile in enumerate(tiles):
                T.copy(tile, B[row, :])

    a = np.arange(100, 116, dtype=np.int32)
    written = [(n + i, a[i]) for i in range(8)] + [(n - 8 + i, 77) for i in range(4)]
    written += [(n - 9, 105 + n - 9), *((n - i - 10, 200 + i) for i in range(4))]
    middle = a.copy()
    for place, value in written:
        if 0 <= place < 16:
            middle[place] = value
    read = [middle[place] if 0 <= place < 16 else 0 for place in range(n, n + 8)]
    b, c = np.zeros((3, 16), np.int32), np.zeros((2, 8), np.int32)
    tilewright.compile(kernel, target="cpu")(a, b, c, n)
    np.testing.assert_array_equal(b, [a, middle, a])
    np.testing.assert_array_equal(c, [read, read])


@pytest.mark.parametrize("space", ["tensor", "tile", "tensor of n"])
def test_a_side_of_a_choice_is_as_a_branch(agree, space):
    """What is always negative where the side counts: one that isn't chosen is computed, too."""
    extent = T.dynamic("n") if space == "tensor of n" else 16

    @T.prim_func
    def kernel(
        A: T.Tensor((extent,), "int32"),
        At: T.Tensor((24,), "int32"),
        B: T.Tensor((6, 24), "int32"),
    ):
        with T.Kernel(1, threads=1):
            tile = T.alloc_shared((16,), "int32")
            T.copy(A[0:16], tile)
            source = tile if space == "tile" else A
            for i in T.serial(24):
                j = At[i]
                if 0 < j <= 16:
                    B[0, i] = source[-j]
                else:
                    B[0, i] = -1
                B[1, i] = source[-j] if 0 < j <= 16 else -1
                B[2, i] = T.if_then_else(j > 0 and j <= 16, source[-j], -1)
                B[3, i] = -1 if j <= 0 or j > 16 else source[-j]
                B[4, i] = j > 0 and j <= 16 and source[-j] > 107
                B[5, i] = j <= 0 or j > 16 or source[-j] > 107

    a = np.arange(100, 116, dtype=np.int32)
    index = np.arange(-4, 20, dtype=np.int32)
    counts = (index > 0) & (index <= 16)
    found = np.where(counts, a[-np.where(counts, index, 1)], -1)
    rows = [found] * 4 + [counts & (found > 107), ~counts | (found > 107)]
    agree(kernel, [a, index, np.zeros((6, 24), np.int32)], {2: np.stack(rows).astype(np.int32)})


#: Conditions of a row `i` of 8 that hold for the first `some` rows.
FIRST_ROWS = {
    "below": lambda i, j, some: i < some,
    "not from": lambda i, j, some: T.Not(i - some >= 0),
    "and": lambda i, j, some: T.And(i < some, j >= 0),
    "sum": lambda i, j, some: i * 4 + j < some * 4,
}


@pytest.mark.parametrize("some", [0, 2])
@pytest.mark.parametrize("name", FIRST_ROWS)
@pytest.mark.parametrize("space", ["tensor", "tile"])
def test_where_a_condition_never_holds_no_index_counts_from_the_end(agree, name, some, space):
    holds = FIRST_ROWS[name]

    @T.prim_func
    def kernel(
        A: T.Tensor((8, 4), "int32"), B: T.Tensor((8, 4), "int32"), C: T.Tensor((6, 8, 4), "int32")
    ):
        with T.Kernel(1, threads=32):
            tiles = T.alloc_shared((8, 4), "int32"), T.alloc_shared((8, 4), "int32")
            T.copy(A, tiles[0])
            T.copy(B, tiles[1])
            a, b = tiles if space == "tile" else (A, B)
            for i, j in T.Parallel(8, 4):
                C[0, i, j] = T.if_then_else(holds(i, j, some), a[i, j], b[i, j])
                C[1, i, j] = b[i, j]
                if i * 2 < 17:
                    C[1, i, j] = a[i, j] if holds(i, j, some) else b[i, j]
                if holds(i, j, some):
                    C[2, i, j] = a[i, j]
                else:
                    C[2, i, j] = b[i, j]
            for i in T.serial(8):
                for j in T.serial(4):
                    C[3, i, j] = T.if_then_else(holds(i, j, some), a[i, j], b[i, j])
                    C[4, i, j] = holds(i, j, some) and a[i, j] > 110
                    C[5, i, j] = T.if_then_else(holds(i, j, some), a[i - 8, j], b[i, j])

    a = np.arange(100, 132, dtype=np.int32).reshape(8, 4)
    chosen = -a
    chosen[:some] = a[:some]
    rows = [chosen] * 4 + [(chosen > 110).astype(np.int32), chosen]
    agree(kernel, [a, -a, np.zeros((6, 8, 4), np.int32)], {2: np.stack(rows)})


@pytest.mark.parametrize("stages", [1, 3])
def test_where_a_condition_never_holds_there_need_be_no_element(agree, stages):
    @T.prim_func
    def kernel(A: T.Tensor((3, 16), "int32"), B: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=32):
            ring = T.alloc_shared((stages, 16), "int32")
            T.copy(A[0:stages, :], ring)
            for k in T.serial(stages):
                for i in T.serial(16):
                    if k < 1:
                        B[i] = ring[0, i]
                    if k >= 1:
                        B[i] += ring[1, i]

    a = np.arange(48, dtype=np.int32).reshape(3, 16)
    expected = a[0] + (stages - 1) * a[1]
    agree(kernel, [a, np.zeros(16, np.int32)], {1: expected})
