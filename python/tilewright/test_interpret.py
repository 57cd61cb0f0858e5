# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter as Python reaches it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tilewright.language as T
from tilewright import _compiler


def bound(array: np.ndarray[Any, Any]) -> tuple[int, list[int], list[int]]:
    return array.ctypes.data, list(array.shape), [s // array.itemsize for s in array.strides]


@T.prim_func
def scale_rows(X: T.Tensor((5, 7), "float32"), factor: T.float32):  # type: ignore[no-untyped-def]
    with T.Kernel(1, threads=32) as _:
        for i, j in T.Parallel(5, 7):
            X[i, j] = X[i, j] * factor


@T.prim_func
def leave_buffer(X: T.Tensor((4,), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, threads=32) as _:
        tile = T.alloc_shared((4,), "float32")
        for i in T.serial(5):
            if X[0] == 0:  # else the builder finds it
                tile[i] = X[0]


def test_runs_a_kernel_on_strided_memory() -> None:
    x = np.arange(70, dtype=np.float32).reshape(7, 10)[:, :5].T
    expected = x * np.float32(3)
    printed, found = _compiler.interpret(scale_rows.capture().module, [bound(x), 3.0])
    assert (printed, found) == ("", [])
    np.testing.assert_array_equal(x, expected)


def test_errors_have_the_place_of_the_kernel() -> None:
    x = np.zeros(4, np.float32)
    _, found = _compiler.interpret(leave_buffer.capture().module, [bound(x)])
    assert [d.message for d in found] == [
        "index 4 is out of range for dim 0 of 'tile' with extent 4"
    ]
    assert found[0].place.file == __file__
    source = Path(__file__).read_text().splitlines()[found[0].place.line - 1]
    assert "tile[i] = X[0]" in source


def test_arguments_that_do_not_fit() -> None:
    """Errors, not the end of the process."""
    module = scale_rows.capture().module
    x = bound(np.zeros((5, 7), np.float32))
    wrong: list[list[Any]] = [[3.0, 3.0], [x, x], [x], [(x[0], [5, 7], [1]), 3.0]]
    for arguments in wrong:
        _, found = _compiler.interpret(module, arguments)
        assert len(found) == 1


def test_tiles_that_are_too_large() -> None:
    """Refused with their size, before minutes go by."""

    @T.prim_func
    def large(X: T.Tensor((4,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1):
            tile = T.alloc_shared((32768, 32768), "float32")
            T.clear(tile)
            X[0] = tile[0, 0]

    x = np.zeros(4, np.float32)
    _, found = _compiler.interpret(large.capture().module, [bound(x)])
    assert [d.message for d in found] == [
        "this tile takes 4294967296 bytes, but the reference interpreter has 268435456 for a tile"
    ]
    lines = Path(__file__).read_text().splitlines()
    assert "tile = T.alloc_shared((32768, 32768)" in lines[found[0].place.line - 1]


@T.prim_func
def sums_by_variable(X: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, threads=32) as _:
        own = T.alloc_var("float32", 0.0)
        for i in T.Parallel(8):  # each iteration for itself
            own = X[i] * 2
            Y[i] = own + 1
        for i in T.serial(8):
            own += X[i]
        for i in T.Parallel(8):
            own += X[i]


def test_variables_of_threads_carry_nothing_to_other_iterations() -> None:
    """A thread has its own, so a sum in one of them is a part of it, and of which nobody knows."""
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    module = sums_by_variable.capture().module
    _, found = _compiler.interpret(module, [bound(x), bound(y)])
    assert [d.message for d in found] == [
        "an iteration of the parallel loop reads 'own' as another one left it, but each thread has "
        "its own; use T.serial, or a reduction of a tile"
    ]
    assert [d.place.line for d in found] == [93]
    np.testing.assert_array_equal(y, x * 2 + 1)
    assert _compiler.interpret(module, [bound(x), bound(y)], iterations_take_turns=True)[1] == []
