# SPDX-License-Identifier: Apache-2.0
"""One array, or parts of one, for two tensors of a kernel: what works in place does, and what would
hang on the order of single steps is refused when it is called."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

TARGETS = ["cpu", "reference"]


@T.prim_func
def twice(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(2, threads=32) as bx:
        tile = T.alloc_shared((32,), "float32")
        T.copy(A[bx * 32], tile)
        for i in T.Parallel(32):
            B[bx * 32 + i] = tile[i] + A[bx * 32 + i]


@T.prim_func
def rows(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
    with T.Kernel(1, threads=32):
        T.copy(A[1:8, :], B[0:7, :])


@T.prim_func
def elements(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(63):
            B[i] = A[i + 1] * 2


@T.prim_func
def sums(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=32):
        T.atomic_add(B[8:64], A[0:56])


@pytest.mark.parametrize("target", TARGETS)
def test_in_place(target):
    """Each element is read and written at one place: also where the array has another shape."""
    given = np.arange(64, dtype=np.float32)
    memory = given.copy()
    tilewright.compile(twice, target=target)(memory, memory)
    np.testing.assert_array_equal(memory, 2 * given)

    @T.prim_func
    def flat(A: T.Tensor((8, 8), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = A[i // 8, i % 8] + 1

    memory = given.copy()
    tilewright.compile(flat, target=target)(memory.reshape(8, 8), memory)
    np.testing.assert_array_equal(memory, given + 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kernel", "shape", "expected"),
    [
        (rows, (8, 16), lambda a: np.concatenate([a[1:], np.zeros((1, 16))])),
        (elements, (64,), lambda a: np.concatenate([2 * a[1:], [0]])),
        (sums, (64,), lambda a: np.concatenate([np.zeros(8), a[:56]])),
    ],
    ids=["rows", "elements", "sums"],
)
def test_what_reads_elsewhere_is_refused(target, kernel, shape, expected):
    given = np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32)
    compiled = tilewright.compile(kernel, target=target)
    message = (
        "argument 1 'B' is the same memory as argument 0 'A', but the kernel reads other "
        "elements of it while it writes these"
    )
    with pytest.raises(ValueError, match=message):
        compiled(given, given)
    result = np.zeros_like(given)
    compiled(given, result)
    np.testing.assert_array_equal(result, expected(given.astype(np.float64)))


@pytest.mark.parametrize("target", TARGETS)
def test_parts_of_one_array(target):
    """They may lie apart."""
    memory = np.arange(256, dtype=np.float32)
    compiled = tilewright.compile(twice, target=target)
    expected = memory.copy()
    expected[128:192] = 2 * memory[64:128]
    compiled(memory[64:128], memory[128:192])
    np.testing.assert_array_equal(memory, expected)
    message = "twice: argument 1 'B' is written, and overlaps in part argument 0 'A'; let them be"
    for first, second in ((0, 1), (1, 0), (0, 63), (100, 37)):
        with pytest.raises(ValueError, match=message):
            compiled(memory[first : first + 64], memory[second : second + 64])
    np.testing.assert_array_equal(memory, expected)


def test_only_what_is_written_is_looked_at():
    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"), B: T.Tensor((16,), "float32"), C: T.Tensor((8,), "float32")
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                C[i] = A[i] + B[i + 8]

    memory, result = np.arange(16, dtype=np.float32), np.zeros(8, np.float32)
    compiled = tilewright.compile(kernel)
    compiled(memory[4:12], memory, result)
    np.testing.assert_array_equal(result, memory[4:12] + memory[8:])
    with pytest.raises(ValueError, match="argument 2 'C' is written, and overlaps in part arg"):
        compiled(memory[:8], memory, memory[8:])


@T.prim_func
def strided(
    A: T.StridedTensor((8, 8), (T.dynamic("s"), T.dynamic("t")), "float32"),
    B: T.StridedTensor((8, 8), (T.dynamic("u"), T.dynamic("v")), "float32"),
):
    with T.Kernel(1, threads=32):
        for i, j in T.Parallel(8, 8):
            B[i, j] = A[i, j] + 1


def test_strides_are_told_apart_by_elements():
    """Columns side by side lie between each other, and are apart: also in steps."""
    compiled = tilewright.compile(strided)
    numbers = np.arange(40 * 24).reshape(40, 24)
    random = np.random.default_rng(5)
    counts = {True: 0, False: 0}
    for _ in range(200):
        views = []
        for _ in range(2):
            row, column = random.integers(0, 16), random.integers(0, 8)
            down, across = random.integers(1, 4), random.integers(1, 3)
            place = (slice(row, row + 8 * down, down), slice(column, column + 8 * across, across))
            views.append(place if row + 7 * down < 40 and column + 7 * across < 24 else None)
        if None in views:
            continue
        first, second = views
        same = first == second
        meets = np.isin(numbers[first], numbers[second]).any() and not same
        memory = numbers.astype(np.float32)
        counts[meets] += 1
        if meets:
            with pytest.raises(ValueError, match="overlaps in part"):
                compiled(memory[first], memory[second])
            continue
        compiled(memory[first], memory[second])
        np.testing.assert_array_equal(memory[second], numbers[first] + 1)
    assert min(counts.values()) > 20


def test_queries_and_keys_of_one_array():
    """Parts of a packed array, with gaps of each other's size."""

    @T.prim_func
    def kernel(
        Q: T.StridedTensor((16, 8), (24, 1), "float32"),
        K: T.StridedTensor((16, 8), (24, 1), "float32"),
    ):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(16, 8):
                K[i, j] = Q[i, j] * 2

    packed = np.arange(16 * 24, dtype=np.float32).reshape(16, 24)
    expected = packed.copy()
    expected[:, 8:16] = 2 * packed[:, :8]
    compiled = tilewright.compile(kernel)
    compiled(packed[:, :8], packed[:, 8:16])
    np.testing.assert_array_equal(packed, expected)
    with pytest.raises(ValueError, match="overlaps in part"):
        compiled(packed[:, :8], packed[:, 7:15])


@pytest.mark.parametrize("target", TARGETS)
def test_a_kernel_that_allows_it(target):
    """Blocks that run one after the other on purpose, in one serial loop."""

    @T.prim_func
    def kernel(x: T.Tensor((15,), "float32"), y: T.Tensor((15,), "float32")):
        T.annotate_restrict_buffers(x, y)
        with T.Kernel(1, threads=1):
            for i in T.serial(15):
                y[i] = x[i] + 1

    memory = np.zeros(16, np.float32)
    tilewright.compile(kernel, target=target)(memory[:-1], memory[1:])
    np.testing.assert_array_equal(memory, np.arange(16))
