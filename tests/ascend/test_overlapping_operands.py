# SPDX-License-Identifier: Apache-2.0
"""A function of T.tile whose destination overlaps an operand in part is an error where the compiler
knows it, as it is to the interpreter; in a T.Parallel loop it is a warning."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC

import tilewright
import tilewright.language as T
from tilewright import _compiler
from tilewright.testing import interpret

SIDE = 24
REASON = (
    "; the vector unit has no order for what overlaps in part, so let them be the same or apart"
)


def kernel(work: Any) -> Any:  # noqa: ANN401
    """`work` gets a tile of 24 x 24 floats, of 96 bytes a row, and two numbers."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float32"), n: T.int32, C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            t = T.alloc_ub((SIDE, SIDE), "float32")
            T.copy(A, t)
            for i in T.serial(2):
                work(t, n, i)
            T.copy(t, C)

    return main


def told(work: Any) -> list[tuple[str, str, int]]:  # noqa: ANN401
    """What the compiler says: how grave it is, what, and in which line of `work`."""
    configs = {key.value: value for key, value in AUTOMATIC.items()}
    options = _compiler.CompileOptions("ascend", "native", configs, build_library=False)
    artifact, found = _compiler.compile(kernel(work).capture().module, options)
    found = [each for each in found if each.severity != "remark"]
    assert (artifact is None) == any(each.severity == "error" for each in found)
    first = work.function.__code__.co_firstlineno
    return [(each.severity, each.message, each.place.line - first) for each in found]


def is_race(work: Any) -> bool:  # noqa: ANN401
    """Whether the interpreter refuses it, with 1 and 0 as the numbers."""
    given = [np.ones((SIDE, SIDE), np.float32), 1, np.zeros((SIDE, SIDE), np.float32)]
    try:
        interpret(kernel(work), *given)
    except tilewright.CompileError as error:
        assert "two iterations of the parallel loop use element" in str(error)
        return True
    return False


@T.macro
def rows_on(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    T.tile.add(t[1:17, :], t[0:16, :], t[2:18, :])


@T.macro
def rows_from_a_number_on(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    T.tile.mul(t[n : n + 8, :], t[n + 3 : n + 11, :], 2.0)


@T.macro
def rows_from_a_turn_on(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    T.tile.max(t[i * 4 + 2 : i * 4 + 6, :], t[i * 4 : i * 4 + 4, :], t[0:4, :])


@T.macro
def columns_on(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    T.tile.exp(t[0:4, 8:24], t[0:4, 0:16])


@T.macro
def one_row_on(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    T.tile.sub(t[3, 0:16], t[3, 8:24], t[4, 0:16])


@T.macro
def numbers_on(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    flat = T.reshape(t, (SIDE * SIDE,))
    T.tile.relu(flat[8:72], flat[0:64])


@T.macro
def by_two_names(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    flat = T.reshape(t, (SIDE * SIDE,))
    other = T.reshape(t, (SIDE * 3, 8))
    T.tile.abs(flat[24:32], other[3, :])
    T.tile.abs(flat[24:40], flat[16:32])


@T.macro
def added_to(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    T.tile.axpy(t[0:4, :], t[2:6, :], 2.0)


@pytest.mark.parametrize(
    ("work", "line", "wanted"),
    [
        (rows_on, 2, "add writes 1536 bytes of 't' that begin 96 bytes behind the 1536"),
        (
            rows_from_a_number_on,
            2,
            "mul writes 768 bytes of 't' that begin 288 bytes before the 768",
        ),
        (rows_from_a_turn_on, 2, "max writes 384 bytes of 't' that begin 192 bytes behind the 384"),
        (columns_on, 2, "exp writes 352 bytes of 't' that begin 32 bytes behind the 352"),
        (one_row_on, 2, "sub writes 64 bytes of 't' that begin 32 bytes before the 64"),
        (numbers_on, 3, "relu writes 256 bytes of 't' that begin 32 bytes behind the 256"),
        (by_two_names, 5, "abs writes 64 bytes of 't' that begin 32 bytes behind the 64"),
        (added_to, 2, "axpy writes 384 bytes of 't' that begin 192 bytes before the 384"),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_what_overlaps_in_part_is_refused(work: Any, line: int, wanted: str) -> None:  # noqa: ANN401
    assert told(work) == [("error", f"T.tile.{wanted} that it reads of it{REASON}", line)]
    assert is_race(work)


@T.macro
def a_row_for_all_rows(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    for row, column in T.Parallel(4, SIDE):
        t[row, column] = t[row, column] + t[2, column]


@T.macro
def a_loop_of_rows(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
    for row, column in T.Parallel(8, SIDE):
        t[row + n, column] = t[row + n + 1, column] * 2.0


def test_of_a_loop_it_is_a_warning() -> None:
    wanted = "384 bytes of 't' that begin 192 bytes before the 96"
    text = f"this T.Parallel loop writes {wanted} that it reads of it{REASON}"
    assert told(a_row_for_all_rows) == [("warning", text, 2)]
    assert is_race(a_row_for_all_rows)


def test_of_a_loop_whose_iterations_depend_on_each_other_that_is_told() -> None:
    """By the warning that all targets give, alone."""
    ((kind, text, line),) = told(a_loop_of_rows)
    assert (kind, line) == ("warning", 2)
    assert text.startswith("the iterations of this T.Parallel loop depend on each other")
    assert is_race(a_loop_of_rows)


@T.macro
def what_is_the_same_or_apart(t, n, i):  # type: ignore[no-untyped-def]
    T.tile.add(t[1:9, :], t[1:9, :], t[9:17, :])
    T.tile.add(t[n : n + 4, :], t[n + 4 : n + 8, :], t[n : n + 4, :])
    T.tile.add(t[i : i + 2, 0:8], t[i : i + 2, 8:16], t[i + 2 : i + 4, 0:8])
    T.tile.add(t[0:8, :], t[0:8, :], t[8 + i, :])
    T.tile.exp(t[0, :], t[1, :])
    for row, column in T.Parallel(8, SIDE):
        t[row, column] = t[row + 8, column] - t[row, column]


def test_what_is_the_same_or_apart_is_fine() -> None:
    assert told(what_is_the_same_or_apart) == []
    assert not is_race(what_is_the_same_or_apart)


@T.macro
def of_unknown_numbers(t, n, i):  # type: ignore[no-untyped-def]
    T.tile.exp(t[n : n + 4, :], t[i * 5 : i * 5 + 4, :])


def test_what_only_the_run_tells_is_left_to_the_host() -> None:
    """Of the second turn, rows 1 to 4 are apart from rows 5 to 8; of the first one they aren't."""
    assert told(of_unknown_numbers) == []
    made = tilewright.compile(kernel(of_unknown_numbers), target="ascend", pass_configs=AUTOMATIC)
    given, result = np.ones((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float32)
    with pytest.raises(RuntimeError, match="overlap in part"):
        made(given, 1, result)
    made(given, 10, result)


@pytest.mark.parametrize("seed", range(4))
def test_the_compiler_refuses_what_the_interpreter_refuses(seed: int) -> None:
    """Rectangles of one tile, by chance."""
    chance = random.Random(seed)
    found = []
    for _ in range(12):
        height, width = chance.choice([1, 2, 5]), chance.choice([8, 16])
        first, second, third = (
            (chance.randrange(0, 8), chance.randrange(0, 25 - width, 8)) for _ in range(3)
        )
        if chance.random() < 0.4:
            second = first

        @T.macro
        def work(t, n, i):  # type: ignore[no-untyped-def] # noqa: ARG001
            T.tile.add(
                t[first[0] : first[0] + height, first[1] : first[1] + width],  # noqa: B023
                t[second[0] : second[0] + height, second[1] : second[1] + width],  # noqa: B023
                t[third[0] : third[0] + height, third[1] : third[1] + width],  # noqa: B023
            )

        found.append(is_race(work))
        assert bool(told(work)) == found[-1], (height, width, first, second, third)
    assert any(found) and not all(found)
