# SPDX-License-Identifier: Apache-2.0
"""Loop objects without `for`: what they hold, and what is said of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError, TilewrightWarning

TARGETS = ("cpu", "reference")


def bare(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=1):
        T.serial(3)
        A[0] = A[0] + 1
        A[1] = A[1] + 2


def bare_in_a_branch(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=1):
        if A[7] == 0:
            T.unroll(2)
            A[0] = A[0] + 1
        A[1] = A[1] + 2


def several_bare(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=1):
        T.serial(3)
        A[0] = A[0] + 1
        T.grid(2, 2)
        A[1] = A[1] + 1


def at_the_end(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=1):
        A[0] = 5
        T.serial(3)


def of_launches(A: T.Tensor((8,), "int32")):
    T.serial(3)
    with T.Kernel(1, threads=1):
        A[0] = A[0] + 1


def pipelined(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        tile = T.alloc_fragment((8,), "int32")
        T.copy(A, tile)
        T.Pipelined(3, num_stages=2)
        for i in T.Parallel(8):
            tile[i] += i
        T.copy(tile, A)


def parallel(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        i = T.Parallel(8)
        A[i] = i * i


def two_names(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        i, j = T.Parallel(2, 4)
        A[i * 4 + j] = i - j


def tiles(A: T.Tensor((8,), "int32")):
    with T.Kernel(2, threads=1) as bx:
        T.Persistent([2, 3], 2, bx)
        A[bx] = A[bx] + 1


WARNED = {
    bare: ([3, 6, 0, 0, 0, 0, 0, 0], ["serial loop .* write 'for i in T.serial\\(3\\):'"]),
    bare_in_a_branch: ([2, 2, 0, 0, 0, 0, 0, 0], ["unroll loop .* 'for i in T.unroll\\(2\\):'"]),
    several_bare: (
        [3, 12, 0, 0, 0, 0, 0, 0],
        ["'for i in T.serial\\(3\\):'", "'for i, j in T.grid\\(2, 2\\):'"],
    ),
    at_the_end: ([5, 0, 0, 0, 0, 0, 0, 0], ["a serial loop without 'for' holds all that follows"]),
    of_launches: ([3, 0, 0, 0, 0, 0, 0, 0], ["'for i in T.serial\\(3\\):'"]),
    pipelined: ([0, 3, 6, 9, 12, 15, 18, 21], ["a pipelined loop without 'for'"]),
    parallel: ([0, 1, 4, 9, 16, 25, 36, 49], ["'for i in T.Parallel\\(8\\):'"]),
    two_names: ([0, -1, -2, -3, 1, 0, -1, -2], ["'for i, j in T.Parallel\\(2, 4\\):'"]),
    tiles: ([3, 3, 0, 0, 0, 0, 0, 0], ["'for i, j in T.Persistent\\(\\[2, 3\\], 2, bx\\):'"]),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", WARNED, ids=lambda f: f.__name__)
def test_a_loop_without_for_holds_what_follows_and_is_warned_of(function, target):
    expected, messages = WARNED[function]
    with pytest.warns(TilewrightWarning) as caught:
        kernel = tilewright.compile(T.prim_func(function), target=target)
    said = [w for w in caught if "without 'for'" in str(w.message)]
    assert len(said) == len(messages)
    lines = Path(__file__).read_text().splitlines()
    for warning, message in zip(said, messages, strict=True):
        assert re.search(message, str(warning.message))
        assert warning.filename == __file__
        assert re.search(r"T\.\w+\(", lines[warning.lineno - 1])
    a = np.zeros(8, np.int32)
    kernel(a)
    np.testing.assert_array_equal(a, expected)


def test_with_is_the_loop_itself(agree):
    """As in TileLang, where `with` opens any loop: its variables stand after `as`."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((4, 8), "int32")
            with T.Parallel(4, 8) as (i, j):
                tile[i, j] = A[i, j] * 2
            with T.serial(4) as i, T.Parallel(8) as j:
                B[j] = B[j] + tile[i, j]
            with T.Pipelined(2, num_stages=1):
                B[0] = B[0] + 1
            with T.grid(2, 3) as at:
                B[at[0] * 4] = B[at[0] * 4] + at[1]

    a = np.arange(32, dtype=np.int32).reshape(4, 8)
    expected = 2 * a.sum(0, dtype=np.int32)
    expected[0] += 2 + 3
    expected[4] += 3
    agree(kernel, [a, np.zeros(8, np.int32)], {1: expected})


def test_a_name_that_a_for_goes_over_is_the_loop_object(agree):
    def doubled(loop):
        return loop

    @T.macro
    def add(A, loop):
        for i in loop:
            A[i] = A[i] + 1

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=1):
            four = T.serial(4)
            for i in four:
                A[i] = A[i] + 1
            eight = T.unroll(8)
            add(A, eight)
            other = T.serial(2)
            last = other
            for i in last:
                A[i] = A[i] + 1
            six = doubled(T.serial(6))
            for i in six:
                A[i] = A[i] + 1

    agree(kernel, [np.zeros(8, np.int32)], {0: np.array([4, 4, 3, 3, 2, 2, 1, 1], np.int32)})


def test_a_loop_that_is_used_as_a_number_says_so():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            loops = [T.serial(4)]
            A[0] = loops[0]

    with pytest.raises(
        CompileError, match="expected a scalar but got a serial loop, which only"
    ) as caught:
        tilewright.compile(kernel)
    (error,) = caught.value.errors
    assert error.place.line == kernel.function.__code__.co_firstlineno + 4


def test_break_is_for_a_loop_with_for():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.serial(4):
                with T.serial(2) as j:
                    if A[i] > j:
                        break
                T.unroll(3)
                if A[i] > 3:
                    continue

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    first = kernel.function.__code__.co_firstlineno
    assert [(e.place.line - first, e.message) for e in caught.value.errors] == [
        (
            6,
            f"'break' is for the innermost loop, but that one, at line {first + 4}, stands without "
            "'for'; write it with 'for'",
        ),
        (
            9,
            f"'continue' is for the innermost loop, but that one, at line {first + 7}, stands "
            "without 'for'; write it with 'for'",
        ),
    ]


def test_variables_end_with_their_loop():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            with T.serial(4) as i:
                A[i] = 1
            A[i] = 2

    with pytest.raises(CompileError, match="'i' is used outside the serial loop at line"):
        tilewright.compile(kernel)


def test_tile_operations_are_refused_in_an_open_parallel_loop():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            tile = T.alloc_shared((8,), "int32")
            T.Parallel(8)
            T.copy(A, tile)

    with pytest.raises(CompileError, match=r"T.copy .*T.Parallel"):
        tilewright.compile(kernel)


def test_a_number_by_the_name_of_a_tensor(agree, random):
    """What a loop reads of the tensor before is the tensor's in each turn, as in TileLang."""

    @T.prim_func
    def kernel(scale: T.Tensor((4, 8), "float32"), B: T.Tensor((4, 8), "float32")):
        with T.Kernel(1, threads=8):
            row = T.alloc_fragment((8,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            for k in T.serial(4):
                for i in T.Parallel(8):
                    row[i] = scale[k, i]
                T.reduce_max(row, largest, dim=0)
                for i in T.Parallel(8):
                    scale = largest[0] * 2.0
                    B[k, i] = row[i] * scale

    a = random.standard_normal((4, 8)).astype(np.float32)
    agree(kernel, [a, np.zeros_like(a)], {1: a * a.max(1, keepdims=True) * 2})
