# SPDX-License-Identifier: Apache-2.0
"""Operations on parts of one tile or tensor: all is read before anything is written."""

import numpy as np
import pytest

import tilewright
import tilewright.language as T

ROWS = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)


def moves(source, target):
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((8, 16), "float32")
            T.copy(A, s)
            first, second = source(n), target(n)
            T.copy(s[first : first + 5, 0:16], s[second : second + 5, 0:16])
            T.copy(s, B)

    return kernel


@pytest.mark.parametrize(
    ("source", "target", "rows"),
    [
        (lambda n: 0, lambda n: 2, (0, 2)),
        (lambda n: 2, lambda n: 0, (2, 0)),
        (lambda n: n, lambda n: n + 1, (1, 2)),
        (lambda n: n + 2, lambda n: n, (3, 1)),
        (lambda n: n, lambda n: 3, (1, 3)),
    ],
)
def test_rows_that_move_over_themselves(agree, source, target, rows):
    expected = ROWS.copy()
    expected[rows[1] : rows[1] + 5] = ROWS[rows[0] : rows[0] + 5]
    agree(moves(source, target), [ROWS, np.zeros_like(ROWS), 1], {1: expected}, 0)


def test_parts_of_a_tensor_that_overlap(agree):
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            T.copy(A[0:48], A[16:64])

    numbers = np.arange(64, dtype=np.int32)
    expected = numbers.copy()
    expected[16:] = numbers[:48]
    agree(kernel, [numbers], {0: expected}, 0)


def test_views_of_one_tile_that_overlap(agree):
    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((8, 16), "float32")
            v = T.reshape(s, (16, 8))
            T.copy(A, s)
            T.copy(v[0:8, 0:8], s[0:8, 0:8])
            T.copy(s, B)

    expected = ROWS.copy()
    expected[:, :8] = ROWS.reshape(16, 8)[:8]
    agree(kernel, [ROWS, np.zeros_like(ROWS)], {1: expected}, 0)


def test_parts_of_a_tensor_whose_extents_the_kernel_knows(agree):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n, 4), "int32"), source: T.int32, target: T.int32, rows: T.int32):
        with T.Kernel(1, threads=32):
            T.copy(A[source : source + rows, 0:4], A[target : target + rows, 0:4])

    numbers = np.arange(40, dtype=np.int32).reshape(10, 4)
    for source, target, rows in [(0, 2, 7), (2, 0, 7), (4, 4, 3), (1, 5, 4), (3, 1, 0)]:
        expected = numbers.copy()
        expected[target : target + rows] = numbers[source : source + rows]
        agree(kernel, [numbers, source, target, rows], {0: expected}, 0)
    # What lies outside reads as 0, and isn't written.
    expected = np.zeros_like(numbers)
    expected[:4] = numbers[6:]
    agree(kernel, [numbers, 6, 0, 10], {0: expected}, 0)


def shifted(a, by):
    """`a` where its elements have moved by so many indices, as far as they stay inside."""
    into = tuple(
        slice(max(step, 0), size + min(step, 0)) for step, size in zip(by, a.shape, strict=True)
    )
    out_of = tuple(
        slice(max(-step, 0), size - max(step, 0)) for step, size in zip(by, a.shape, strict=True)
    )
    result = a.copy()
    result[into] = a[out_of]
    return result


@pytest.mark.parametrize("shape", [(200_000,), (3, 70_000), (70_000, 3), (5, 9, 3000)])
@pytest.mark.parametrize("signs", [(1, 1, 1), (1, -1, 1), (-1, 1, -1), (0, 1, 0), (0, 0, -1)])
def test_more_than_one_piece(shape, signs):
    by = signs[-len(shape) :]
    names = T.dynamic(", ".join("nmk"[: len(shape)]))
    extents = names if isinstance(names, (tuple, list)) else (names,)
    lengths = [size - abs(step) for size, step in zip(extents, by, strict=True)]
    first = [max(-step, 0) for step in by]
    second = [max(step, 0) for step in by]

    @T.prim_func
    def kernel(A: T.Tensor(tuple(extents), "float32")):
        with T.Kernel(1, threads=32):
            T.copy(
                A[tuple(slice(at, at + count) for at, count in zip(first, lengths, strict=True))],
                A[tuple(slice(at, at + count) for at, count in zip(second, lengths, strict=True))],
            )

    numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    moved = numbers.copy()
    tilewright.compile(kernel)(moved)
    np.testing.assert_array_equal(moved, shifted(numbers, by))


@pytest.mark.parametrize("by", [1, -1, 70_001])
def test_a_part_that_no_tile_should_hold(by):
    size = (1 << 22) + 100_000
    count = size - abs(by)
    first, second = max(-by, 0), max(by, 0)

    @T.prim_func
    def kernel(A: T.Tensor((size,), "int32")):
        with T.Kernel(1, threads=32):
            T.copy(A[first : first + count], A[second : second + count])

    numbers = np.arange(size, dtype=np.int32)
    moved = numbers.copy()
    tilewright.compile(kernel)(moved)
    np.testing.assert_array_equal(moved, shifted(numbers, (by,)))


def test_where_no_order_is_known_the_parts_must_be_apart():
    n = T.dynamic("n")

    @T.prim_func
    def rows_to_columns(A: T.Tensor((n, n), "int32"), row: T.int32, first: T.int32):
        with T.Kernel(1, threads=32):
            T.copy(A[row, first:n], A[first:n, row])

    @T.prim_func
    def views(A: T.Tensor((n,), "int32"), first: T.int32, rows: T.int32):
        with T.Kernel(1, threads=32):
            wide, narrow = T.reshape(A, (n // 4, 4)), T.reshape(A, (n // 2, 2))
            T.copy(wide[first : first + rows, 0:2], narrow[0:rows, 0:2])

    numbers = np.arange(64, dtype=np.int32)
    pairs = numbers.copy()
    pairs[:8] = numbers.reshape(16, 4)[2:6, :2].ravel()
    column = numbers.reshape(8, 8).copy()
    column[3:, 2] = column[2, 3:]
    for kernel, before, apart, after, together in (
        (rows_to_columns, numbers.reshape(8, 8), (2, 3), column, (2, 2)),
        (views, numbers, (2, 4), pairs, (1, 4)),
    ):
        compiled, tensor = tilewright.compile(kernel), before.copy()
        compiled(tensor, *apart)
        np.testing.assert_array_equal(tensor, after)
        with pytest.raises(RuntimeError, match="source and target overlap, and no tile can hold"):
            compiled(tensor, *together)


def test_updates_of_parts(agree):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=32):
            T.atomic_add(A[2:14], A[0:12])

    numbers = np.arange(16, dtype=np.int32)
    expected = numbers.copy()
    expected[2:14] += numbers[0:12]
    agree(kernel, [numbers], {0: expected}, 0)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("source", "target"), [((0, 0), (1, 0)), ((1, 0), (0, 1)), ((0, 1), (0, 0))]
)
@pytest.mark.parametrize("dim", [0, 1])
def test_scans_of_parts(agree, reverse, source, target, dim):
    (row, column), (into, beside) = source, target

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((8, 16), "float32")
            T.copy(A, s)
            T.cumsum(
                s[row : row + 7, column : column + 15],
                s[into : into + 7, beside : beside + 15],
                dim=dim,
                reverse=reverse,
            )
            T.copy(s, B)

    part = ROWS[row : row + 7, column : column + 15]
    sums = np.flip(np.flip(part, dim).cumsum(dim), dim) if reverse else part.cumsum(dim)
    expected = ROWS.copy()
    expected[into : into + 7, beside : beside + 15] = sums
    agree(kernel, [ROWS, np.zeros_like(ROWS)], {1: expected}, 0)


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("dim", [0, 1])
def test_reductions_into_what_they_read(agree, dim, clear):
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float32"), B: T.Tensor((16, 16), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((16, 16), "float32")
            T.copy(A, s)
            if dim == 0:
                T.reduce_sum(s, s[n : n + 1, :], dim=0, clear=clear)
            else:
                v = T.reshape(s, (1, 16, 16))
                T.reduce_sum(v, s[n : n + 1, :], dim=2, clear=clear)
            T.copy(s, B)

    numbers = np.arange(256, dtype=np.float32).reshape(16, 16)
    expected = numbers.copy()
    expected[3] = numbers.sum(dim) + (0 if clear else numbers[3])
    agree(kernel, [numbers, np.zeros_like(numbers), 3], {1: expected}, 0)


@pytest.mark.parametrize("first", [0, 3, 8, 20])
@pytest.mark.parametrize("transpose", [False, True])
def test_products_into_a_part_of_an_operand(agree, first, transpose):
    """Where the compiler doesn't know whether they meet."""

    @T.prim_func
    def kernel(
        A: T.Tensor((48, 16), "float32"),
        B: T.Tensor((16, 16), "float32"),
        C: T.Tensor((48, 16), "float32"),
        n: T.int32,
    ):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((48, 16), "float32")
            t = T.alloc_shared((16, 16), "float32")
            T.copy(A, s)
            T.copy(B, t)
            if transpose:
                T.gemm(t, s[n : n + 16, :], s[8:24, :], transpose_B=True)
            else:
                T.gemm(s[n : n + 16, :], t, s[8:24, :])
            T.copy(s, C)

    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float32) for rows in (48, 16))
    part = a[first : first + 16]
    expected = a.copy()
    expected[8:24] += b @ part.T if transpose else part @ b
    agree(kernel, [a, b, np.zeros_like(a), first], {2: expected}, 0)
