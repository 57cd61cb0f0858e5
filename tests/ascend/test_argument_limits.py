# SPDX-License-Identifier: Apache-2.0
"""A length that would leave the tile that its copy fills is an error of the call, where each run
comes to that copy; where a run may not, the call is as good as the run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

GROUP = KernelGroup()
LINES = Path(__file__).read_text().splitlines()
random = np.random.default_rng(68)


def place(mark: str) -> str:
    """Of the line that ends with this comment."""
    (line,) = (number for number, text in enumerate(LINES, 1) if text.endswith(f"# {mark}"))
    return f"{__file__}:{line}"


def numbers(*shape: int) -> Any:
    return random.uniform(-1, 1, shape).astype(np.float32)


@T.prim_func
def rows(A: T.Tensor((64, 24), "float32"), m: T.int32, C: T.Tensor((64, 24), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 24), "float32")  # tile of rows
        T.copy(A[0:m, :], a[0:m, :])  # copy of rows
        T.copy(a[0:m, :], C[0:m, :])


@T.prim_func
def rows_of_a_dim(
    A: T.Tensor((T.dyn["m"], 24), "float32"), C: T.Tensor((T.dyn["m"], 24), "float32")
):  # type: ignore[no-untyped-def]  # noqa: E501
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 24), "float32")  # tile of a dim
        T.copy(A, a[0 : A.shape[0], :])  # copy of a dim
        T.copy(a[0 : A.shape[0], :], C)


@T.prim_func
def pairs(A: T.Tensor((T.dyn["m"], 24), "float32"), C: T.Tensor((64, 24), "float32")):  # type: ignore[no-untyped-def]
    """The copy in the last turn has room for 7 rows: two for each of m, and one."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((17, 24), "float32")  # tile of pairs
        rows = 2 * A.shape[0] + 1
        for k in T.serial(2):
            T.copy(C[0:rows, :], a[k * 10 : k * 10 + rows, :])  # copy of pairs
        T.copy(a[10 : 10 + rows, :], C[8 : 8 + rows, :])


@T.prim_func
def in_scope(A: T.Tensor((64, 24), "float32"), m: T.int32, C: T.Tensor((64, 24), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_ub((8, 24), "float32")  # tile of a scope
        with T.Scope("V"):
            T.copy(A[vid * 32 : vid * 32 + m, :], a[0:m, :])  # copy of a scope
            T.copy(a[0:m, :], C[vid * 32 : vid * 32 + m, :])


@T.prim_func
def place_of_rows(A: T.Tensor((64, 24), "float32"), m: T.int32, C: T.Tensor((64, 24), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((12, 24), "float32")  # tile of a place
        T.tile.fill(a, 1.0)
        T.copy(A[0:4, :], a[m : m + 4, :])  # copy of a place
        T.copy(a, C[0, 0])


def add_rows(
    name: str, kernel: Any, given: int, count: int, begins: tuple[int, ...] = (0,)
) -> None:
    a, before = numbers(64, 24), numbers(64, 24)
    expected = before.astype(np.float64)
    for begin in begins:
        expected[begin : begin + count] = a[begin : begin + count]
    GROUP.add(name, kernel, [a, given, before], expected)


add_rows("rows", rows, 8, 8)
add_rows("in scope", in_scope, 8, 8, (0, 32))
x, c = numbers(64, 24), numbers(64, 24)
moved = np.concatenate([np.ones((8, 24)), x[:4], c[12:]])
GROUP.add("place of rows", place_of_rows, [x, 8, c], moved)
GROUP.add(
    "pairs", pairs, [numbers(3, 24), c], np.concatenate([c[:8], c[:7], c[15:]]).astype(np.float64)
)
GROUP.add("rows of a dim", rows_of_a_dim, [whole := numbers(8, 24), numbers(8, 24)], whole)

FITS = "but at most {most} fits into tile 'a' ({tile}), to which {copy} copies"


@pytest.mark.parametrize(
    ("name", "given", "head", "most", "mark"),
    [
        ("rows", 9, "argument 1 'm' is 9", 8, "rows"),
        ("rows", 2**31 - 1, "argument 1 'm' is 2147483647", 8, "rows"),
        ("place of rows", 9, "argument 1 'm' is 9", 8, "a place"),
        ("in scope", 9, "argument 1 'm' is 9", 8, "a scope"),
    ],
)
def test_more_than_a_tile_holds(name: str, given: int, head: str, most: int, mark: str) -> None:
    a, before = numbers(64, 24), numbers(64, 24)
    fits = FITS.format(most=most, tile=place(f"tile of {mark}"), copy=place(f"copy of {mark}"))
    with pytest.raises(ValueError, match=rf"\w+: {re.escape(f'{head}, {fits}')}$"):
        GROUP.run(name, a, given, before)
    GROUP.check(name)  # of as much as fits


def test_dims_of_tensors() -> None:
    pairs = FITS.format(most=3, tile=place("tile of pairs"), copy=place("copy of pairs"))
    with pytest.raises(ValueError, match=re.escape(f": argument 0 'A' makes 'm' 4, {pairs}") + "$"):
        GROUP.run("pairs", numbers(4, 24), numbers(64, 24))
    GROUP.check("pairs")
    fits = FITS.format(most=8, tile=place("tile of a dim"), copy=place("copy of a dim"))
    with pytest.raises(ValueError, match=re.escape(f": argument 0 'A' makes 'm' 9, {fits}") + "$"):
        GROUP.run("rows of a dim", numbers(9, 24), numbers(9, 24))
    GROUP.check("rows of a dim")


@T.macro
def branch(A, m, n, a):  # type: ignore[no-untyped-def]
    if m <= 8:
        T.copy(A[0:m, :], a[0:m, :])


@T.macro
def other_way(A, m, n, a):  # type: ignore[no-untyped-def]
    if n == 1:
        T.tile.fill(a, 1.0)
    else:
        T.copy(A[0:m, :], a[0:m, :])


@T.macro
def no_turn(A, m, n, a):  # type: ignore[no-untyped-def]
    for _ in T.serial(n - 1):
        T.copy(A[0:m, :], a[0:m, :])


@T.macro
def no_turn_while(A, m, n, a):  # type: ignore[no-untyped-def]
    v = T.alloc_var("int32", init=1)
    while v < n:
        T.copy(A[0:m, :], a[0:m, :])
        v = v + 1


@T.macro
def left_loop(A, m, n, a):  # type: ignore[no-untyped-def]
    for _ in T.serial(2):
        if n == 1:
            break
        T.copy(A[0:m, :], a[0:m, :])


@T.macro
def rest_of_a_turn(A, m, n, a):  # type: ignore[no-untyped-def]
    for _ in T.serial(2):
        if n == 1:
            continue
        T.copy(A[0:m, :], a[0:m, :])


@T.macro
def last_turn_alone(A, m, n, a):  # type: ignore[no-untyped-def]
    for k in T.serial(n):
        if k > 0:
            T.copy(A[0:m, :], a[0:m, :])


@T.macro
def smaller_of_two(A, m, n, a):  # type: ignore[no-untyped-def]
    count = T.min(m, (n - 1) * 8)
    T.copy(A[0:count, :], a[0:count, :])


@T.macro
def sides_of_a_copy(A, m, n, a):  # type: ignore[no-untyped-def]
    T.copy(A[0:m, :], a[0 : (n - 1) * 8, :])


@T.macro
def no_columns(A, m, n, a):  # type: ignore[no-untyped-def]
    T.copy(A[0:m, 0:n], a[0:m, 0:n])


@T.macro
def no_columns_in_ub(A, m, n, a):  # type: ignore[no-untyped-def]
    b = T.alloc_ub((8, 24), "float32")
    T.copy(A[0:8, :], b)
    T.copy(b[0:m, 0:n], a[0:m, 0:n])


#: Of each, an n with which it copies m rows to a tile of 8 and one with which it doesn't.
FORMS = {
    branch: (1, 0),
    other_way: (2, 1),
    no_turn: (2, 1),
    no_turn_while: (2, 1),
    left_loop: (2, 1),
    rest_of_a_turn: (2, 1),
    last_turn_alone: (2, 1),
    smaller_of_two: (2, 1),
    sides_of_a_copy: (2, 1),
    no_columns: (24, 0),
    no_columns_in_ub: (24, 0),
}


def kernel_of(body: Any) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((64, 24), "float32"), m: T.int32, n: T.int32, C: T.Tensor((64, 24), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((8, 24), "float32")
            T.tile.fill(a, 1.0)
            body(A, m, n, a)
            T.copy(a, C[0, 0])

    return main


def add_form(body: Any, taken: int, spared: int) -> None:
    for m, n in ((60, spared), (8, taken)):
        a, before = numbers(64, 24), numbers(64, 24)
        expected = before.astype(np.float64)
        expected[:8] = 1 if n == spared else a[:8]
        name = f"{body.function.__name__} {n}"
        GROUP.add(name, kernel_of(body), [a, m, n, before], expected)


for each, (taken, spared) in FORMS.items():
    add_form(each, taken, spared)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.function.__name__)
def test_a_copy_that_some_runs_spare(form: Any) -> None:
    for n in FORMS[form]:
        GROUP.check(f"{form.function.__name__} {n}")


@pytest.mark.parametrize("form", ["no_columns", "no_columns_in_ub"])
def test_a_length_that_spares_a_copy(form: str) -> None:
    a, c = numbers(64, 24), numbers(64, 24)
    for m, n in ((60, 0), (0, 60), (-1, 60)):
        GROUP.run(f"{form} 24", a, m, n, c)
    with pytest.raises(ValueError, match="'m' is 9, but at most 8 fits into tile"):
        GROUP.run(f"{form} 24", a, 9, 1, c)
    with pytest.raises(ValueError, match="'n' is 25, but at most 24 fits into tile"):
        GROUP.run(f"{form} 24", a, 1, 25, c)


@T.prim_func
def launches(
    A: T.Tensor((64, 24), "float32"), m: T.int32, blocks: T.int32, C: T.Tensor((64, 24), "float32")
):  # type: ignore[no-untyped-def]
    """Of which the second one needs m, where it has blocks."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        b = T.alloc_ub((8, 24), "float32")
        T.tile.fill(b, 1.0)
        T.copy(b, C[8, 0])
    with T.Kernel(blocks, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 24), "float32")
        T.copy(A[0:m, :], a[0:m, :])
        T.copy(a[0:m, :], C[0:m, :])


def test_grid_without_blocks() -> None:
    kernel = tilewright.compile(launches, target="ascend", pass_configs=AUTOMATIC)
    a = numbers(64, 24)
    for m, blocks in ((9, 0), (8, 1)):
        expected, result = np.zeros((2, 64, 24), np.float32)
        expected[8:16] = 1
        expected[: m * blocks] = a[: m * blocks]
        kernel(a, m, blocks, result)
        np.testing.assert_array_equal(result, expected)
    with pytest.raises(ValueError, match="launches: argument 1 'm' is 9, but at most 8 fits"):
        kernel(a, 9, 1, np.zeros((64, 24), np.float32))


def test_tensors_that_a_call_makes() -> None:
    """Nothing has run, or been made, before."""
    kernel = tilewright.compile(rows_of_a_dim, out_idx=[1], target="ascend", pass_configs=AUTOMATIC)
    a = numbers(8, 24)
    np.testing.assert_array_equal(kernel(a), a)
    with pytest.raises(ValueError, match="argument 0 'A' makes 'm' 9, but at most 8 fits"):
        kernel(numbers(9, 24))


@T.prim_func
def stored(A: T.Tensor((8, 24), "float32"), m: T.int32, C: T.Tensor((8, 24), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 24), "float32")
        b = T.alloc_ub((32, 24), "float32")
        T.copy(A, a)
        T.copy(A, b[0:8, :])
        T.copy(a[0:m, :], b[8 : 8 + m, :])
        T.copy(b[8 : 8 + m, :], C[0:m, :])


def test_no_more_than_the_interpreter_refuses() -> None:
    """What is taken from a tile counts, too, also where the edge of the tensor cuts the rest."""
    kernel = tilewright.compile(stored, target="ascend", pass_configs=AUTOMATIC)
    a = numbers(8, 24)
    for m in (0, 1, 8, 9):
        expected, result = np.zeros((2, 8, 24), np.float32)
        expected[:m] = a[:m]
        if m > 8:
            with pytest.raises(ValueError, match="fits into tile 'a' .*, from which .* copies"):
                kernel(a, m, result)
            with pytest.raises(tilewright.CompileError, match="index 8 is out of range"):
                interpret(stored, a, m, result)
            continue
        kernel(a, m, result)
        np.testing.assert_array_equal(result, expected)
        interpret(stored, a, m, result)
        np.testing.assert_array_equal(result, expected)


@T.prim_func
def place_in_a_turn(  # type: ignore[no-untyped-def]
    A: T.Tensor((64, 24), "float32"),
    counts: T.Tensor((4,), "int32"),
    m: T.int32,
    C: T.Tensor((64, 24), "float32"),
):
    """No call can tell: elements say how many rows there are."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 24), "float32")
        for k in T.Pipelined(4, num_stages=3):
            n = counts[k]
            T.tile.fill(a, 0.0)
            T.copy(A[k * 8 : k * 8 + n, :], a[m : m + n, :])  # copy in a turn
            T.copy(a, C[k * 8, 0])


def test_no_turn_fills_the_tile_of_the_next() -> None:
    kernel = tilewright.compile(place_in_a_turn, target="ascend", pass_configs=AUTOMATIC)
    assert "% 3 * 192" in kernel.get_kernel_source()  # one tile behind the other
    a, counts = numbers(64, 24), np.array([2, 5, 0, 3], np.int32)
    expected, result = np.zeros((2, 64, 24), np.float32)
    for k, n in enumerate(counts):
        expected[k * 8 + 3 : k * 8 + 3 + n] = a[k * 8 : k * 8 + n]
    kernel(a, counts, 3, result)
    np.testing.assert_array_equal(result, expected)
    told = re.escape("'a' is written at [4, 0] to [8, 23], but its shape is (8, 24)")
    with pytest.raises(RuntimeError, match=f"{re.escape(place('copy in a turn'))}: error: {told}"):
        kernel(a, counts, 4, result)
    with pytest.raises(tilewright.CompileError, match="index 8 is out of range for dim 0 of 'a'"):
        interpret(place_in_a_turn, a, counts, 4, result)
