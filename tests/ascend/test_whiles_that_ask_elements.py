# SPDX-License-Identifier: Apache-2.0
"""`while` loops that ask for elements which their body writes: they ask once more than the body
runs, which the compiler's flags must match."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup, compiled

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(11)
NUMBERS = T.Tensor((8, 16), "int32")


@T.prim_func
def of_a_row(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    with T.Kernel(8, is_npu=True, threads=1) as cid:
        y = T.alloc_ub((16,), "int32")
        T.copy(A[cid, :], y)
        while y[0] < 5:
            T.tile.add(y, y, 1)
        T.copy(y, C[cid, :])


@T.prim_func
def of_a_maximum(A: T.Tensor((8, 16), "float32"), C: T.Tensor((8, 16), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(8, is_npu=True, threads=1) as cid:
        y = T.alloc_ub((16,), "float32")
        most = T.alloc_ub((8,), "float32")
        T.copy(A[cid, :], y)
        T.reduce_max(y, most[0:1])
        while most[0] > 1.0:
            T.tile.mul(y, y, 0.5)
            T.reduce_max(y, most[0:1])
        T.copy(y, C[cid, :])


@T.prim_func
def in_a_loop(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """Of two elements; an iteration may end early."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        for r in T.serial(8):
            T.copy(A[r, :], y)
            while y[0] < 5 and y[1] < 7:
                T.tile.add(y, y, 1)
                if y[2] == 4:
                    continue
                T.copy(y, C[r, :])


@T.prim_func
def of_a_tensor(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        T.copy(A[0, :], y)
        while A[0, 0] < 5:
            T.tile.add(y, y, 1)
            T.copy(y, A[0, :])
        T.copy(y, C[0, :])


@T.prim_func
def up_to_the_row(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """What ends the inner loop has been read behind all that the vector unit did."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        T.copy(A[1, :], y)
        for i in T.serial(4):
            while y[0] < 2 * i:
                T.tile.add(y, y, 1)
            T.copy(y, C[i, :])


@T.prim_func
def up_to_the_row_or_twice(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        turns = T.alloc_var("int32", init=0)
        T.copy(A[1, :], y)
        for i in T.serial(4):
            turns = 0
            while y[0] < 2 * i and turns < 2:
                T.tile.add(y, y, 1)
                turns = turns + 1
            T.copy(y, C[i, :])


@T.prim_func
def up_to_the_row_beside_numbers(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """Nobody asks for them: what ends the loop is known all the same."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        first = T.alloc_var("int32", init=0)  # noqa: F841
        last = T.alloc_var("int32", init=0)
        T.copy(A[1, :], y)
        for i in T.serial(4):
            while y[0] < 2 * i:
                T.tile.add(y, y, 1)
                last = 0  # noqa: F841
            T.copy(y, C[i, :])


@T.prim_func
def until_a_break(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """Nothing reads what the vector unit does last before it leaves the loop."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        T.copy(A[1, :], y)
        for i in T.serial(4):
            while y[0] < 1000:
                T.tile.add(y, y, 1)
                if y[0] > 2 * i:
                    T.tile.add(y, y, 1)
                    break
            T.copy(y, C[i, :])


@T.prim_func
def once_at_most(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """Its own counter gives each loop one turn: no second one asks for what the first has done."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        turns = T.alloc_var("int32", init=0)
        T.copy(A[1, :], y)
        for i in T.serial(2):
            turns = 0
            while turns < 1 and y[0] < 4:
                turns = turns + 1
                T.copy(y, C[2 * i, :])
                T.tile.add(y, y, 1)
            turns = 0
            while y[1] < 4:
                if turns == 1:
                    break
                turns = turns + 1
                T.tile.add(y, y, 1)
            T.copy(y, C[2 * i + 1, :])


@T.prim_func
def twice_at_most(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        turns = T.alloc_var("int32", init=0)
        T.copy(A[1, :], y)
        while turns <= 1 and y[0] < 4:
            turns = turns + 1
            T.copy(y, C[turns, :])
            T.tile.add(y, y, 1)
        T.copy(y, C[0, :])


@T.prim_func
def once_and_more(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """Two loops share a counter: that the second one asks for more takes nothing from the first."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        y = T.alloc_ub((16,), "int32")
        z = T.alloc_ub((16,), "int32")
        turns = T.alloc_var("int32", init=0)
        T.copy(A[1, :], y)
        T.copy(A[2, :], z)
        while turns < 1 and y[0] < 4:
            turns = turns + 1
            T.tile.add(y, y, 1)
        T.copy(y, C[0, :])
        turns = 0
        while turns < 3 and z[0] < 4:
            turns = turns + 1
            T.tile.add(z, z, 2)
        T.copy(z, C[1, :])


@T.prim_func
def with_a_break(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    with T.Kernel(8, is_npu=True, threads=1) as cid:
        y = T.alloc_ub((16,), "int32")
        T.copy(A[cid, :], y)
        while y[0] < 5:
            T.tile.add(y, y, 1)
            if y[1] == 4:
                break
            T.tile.add(y, y, 1)
        T.tile.add(y, y, 2)
        T.copy(y, C[cid, :])


@T.prim_func
def beside_a_gemm(
    A: T.Tensor((16, 16), "float16"),
    C: T.Tensor((16, 16), "float32"),
):  # type: ignore[no-untyped-def]
    """The cube core has no part in loops that elements of UB end, whatever leaves them."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        y = T.alloc_shared((16, 16), "float16")
        z = T.alloc_shared((16, 16), "float32")
        left = T.alloc_shared((16, 16), "float16")
        product = T.alloc_fragment((16, 16), "float32")
        count = T.alloc_var("int32", init=0)
        T.copy(A, y)
        while y[0, 0] < 3.0 and count < 9:
            T.tile.add(y, y, 1.0)
            count = count + 1
            if y[0, 1] > 5.0:
                break
        for _ in T.serial(5):
            if y[1, 1] > 4.0:
                break
            T.tile.add(y, y, 1.0)
        T.copy(y, left)
        T.gemm_v0(left, left, product, init=True)
        T.copy(product, z)
        if vid == 0:
            T.copy(z, C)


@T.macro
def is_low(y):  # type: ignore[no-untyped-def]
    T.wait_flag("v", "s", 0)
    return y[0] < 5


@T.prim_func
def that_waits_itself(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """By hand; the wait runs once more than what the body sets."""
    with T.Kernel(8, is_npu=True, threads=1) as cid:
        y = T.alloc_ub((16,), "int32")
        T.copy(A[cid, :], y)
        T.set_flag("mte2", "v", 0)
        T.wait_flag("mte2", "v", 0)
        T.tile.add(y, y, 1)
        T.set_flag("v", "s", 0)
        while is_low(y):
            T.tile.add(y, y, 1)
            T.set_flag("v", "s", 0)
        T.copy(y, C[cid, :])


@T.prim_func
def that_waits_and_is_left(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """The same, where each way out takes along what it leaves."""
    with T.Kernel(8, is_npu=True, threads=1) as cid:
        y = T.alloc_ub((16,), "int32")
        T.copy(A[cid, :], y)
        T.set_flag("mte2", "v", 0)
        T.wait_flag("mte2", "v", 0)
        T.tile.add(y, y, 1)
        T.set_flag("v", "s", 0)
        while is_low(y):
            if y[1] == 4:
                break
            T.tile.add(y, y, 1)
            T.set_flag("v", "s", 0)
        T.copy(y, C[cid, :])


def with_an_exit_by_hand(is_left_set: bool) -> Any:
    """Its condition waits; a turn that ends early sets the flag, too, unless it is forgotten."""

    @T.prim_func
    def main(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
        with T.Kernel(8, is_npu=True, threads=1) as cid:
            y = T.alloc_ub((16,), "int32")
            T.copy(A[cid, :], y)
            T.set_flag("mte2", "v", 0)
            T.wait_flag("mte2", "v", 0)
            T.tile.add(y, y, 1)
            T.set_flag("v", "s", 0)
            while is_low(y):
                T.tile.add(y, y, 1)
                T.set_flag("v", "s", 0)
                if cid == 3:
                    if not is_left_set:
                        T.wait_flag("v", "s", 0)
                    break
            T.copy(y, C[cid, :])

    return main


def stored(rows: Any) -> Any:  # noqa: ANN401
    """What in_a_loop stores, row by row, in Python."""
    out = np.zeros_like(rows)
    for r, row in enumerate(rows):
        y = row.copy()
        while y[0] < 5 and y[1] < 7:
            y += 1
            if y[2] != 4:
                out[r] = y
    return out


numbers = random.integers(-3, 9, (8, 16)).astype(np.int32)
real = (random.random((8, 16)) * 40).astype(np.float32)
halved = real * 0.5 ** np.maximum(np.ceil(np.log2(real.max(1, keepdims=True))), 0)
low = np.full((8, 16), 2, np.int32)
raised = low.copy()
raised[0] = 5
only_first = np.zeros((8, 16), np.int32)
only_first[0] = 5
GROUP.add(
    "of a row",
    of_a_row,
    [numbers, np.zeros_like(numbers)],
    numbers + np.maximum(5 - numbers[:, :1], 0),
)
GROUP.add("of a maximum", of_a_maximum, [real, np.zeros_like(real)], halved)
GROUP.add("in a loop", in_a_loop, [numbers, np.zeros_like(numbers)], stored(numbers))
GROUP.add("of a tensor", of_a_tensor, [low, np.zeros_like(low)], {0: raised, 1: only_first})


def left_early(rows: Any) -> Any:  # noqa: ANN401
    """What with_a_break leaves, in Python."""
    out = rows.copy()
    for y in out:
        while y[0] < 5:
            y += 1
            if y[1] == 4:
                break
            y += 1
        y += 2
    return out


def by_rows(row: Any, name: str) -> Any:  # noqa: ANN401
    """What the loops up to a row's number store, in Python."""
    out = np.zeros((8, 16), np.int32)
    y = row.copy()
    for i in range(4):
        if name == "until a break":
            y += max(2 * i + 1 - y[0], 1) + 1
        else:
            most = 2 if name == "up to the row or twice" else 99
            y += min(max(2 * i - y[0], 0), most)
        out[i] = y
    return out


def raised_by_one(rows: Any, last: int) -> Any:  # noqa: ANN401
    """What the loops that wait themselves leave; `last`: the second element that ends them."""
    out = rows + 1
    for y in out:
        while y[0] < 5 and y[1] != last:
            y += 1
    return out


halves = np.ones((16, 16), np.float16)
halves[0, 0] = -1.0
product = (halves.astype(np.float64) + 4) @ (halves.astype(np.float64) + 4)
GROUP.add("with a break", with_a_break, [numbers, np.zeros_like(numbers)], left_early(numbers))
GROUP.add("beside a gemm", beside_a_gemm, [halves, np.zeros((16, 16), np.float32)], product)
below = np.full((8, 16), -3, np.int32)
for title, by_row in (
    ("up to the row", up_to_the_row),
    ("up to the row or twice", up_to_the_row_or_twice),
    ("up to the row beside numbers", up_to_the_row_beside_numbers),
    ("until a break", until_a_break),
):
    GROUP.add(title, by_row, [below, np.zeros_like(below)], by_rows(below[1], title))
rows = np.zeros((8, 16), np.int32)
rows[:4] = np.array([-3, -1, -1, 1])[:, None]
GROUP.add("once at most", once_at_most, [below, np.zeros_like(below)], rows)
rows = np.zeros((8, 16), np.int32)
rows[:3] = np.array([-1, -3, -2])[:, None]
GROUP.add("twice at most", twice_at_most, [below, np.zeros_like(below)], rows)
rows = np.pad(np.repeat([[-2], [3]], 16, 1), ((0, 6), (0, 0)))
GROUP.add("once and more", once_and_more, [below, np.zeros_like(below)], rows)
for title, by_hand, last in (
    ("that waits itself", that_waits_itself, 99),
    ("that waits and is left", that_waits_and_is_left, 4),
):
    wanted = raised_by_one(numbers, last)
    GROUP.add(title, by_hand, [numbers, np.zeros_like(numbers)], wanted, configs={})
    GROUP.add(f"{title}, automatic", by_hand, [numbers, np.zeros_like(numbers)], wanted)


@T.prim_func
def until_an_element_says(A: NUMBERS, C: NUMBERS):  # type: ignore[no-untyped-def]
    """The number of turns is the vector cores' alone, and so is what comes behind them."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        y = T.alloc_ub((1, 16), "int32")
        turns = T.alloc_var("int32", init=0)
        found = T.alloc_var("int32", init=0)
        T.copy(A[vid, 0], y)
        while found != 4 and turns < 6:
            turns = turns + 1
            found = y[0, turns]
            if found == 4:
                turns = turns + 8
        if turns > 6:
            C[vid * 4, 0] = turns
        else:
            C[vid * 4, 0] = 0 - turns


ASKED = random.integers(0, 4, (8, 16)).astype(np.int32)
ASKED[1, 3] = 4
FOUND = np.zeros((8, 16), np.int32)
FOUND[0, 0], FOUND[4, 0] = -6, 3 + 8
GROUP.add("until an element says", until_an_element_says, [ASKED, np.zeros_like(ASKED)], FOUND)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", [name for name in GROUP.cases if name.startswith("that")])
def test_flags_by_hand_are_followed(name: str) -> None:
    assert GROUP.told(name) == []


@pytest.mark.parametrize("configs", [{}, AUTOMATIC])
def test_a_flag_that_a_break_leaves_set(configs: dict[Any, Any]) -> None:
    assert compiled(with_an_exit_by_hand(is_left_set=False), configs)[1] == []
    _, told = compiled(with_an_exit_by_hand(is_left_set=True), configs)
    assert "event 0 from V to S matches only if branches go together" in told[-1]


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    # Its numbers end the second loop beside the gemm at once: not all of its flags are missed.
    GROUP.check_removals(name, most=3 if name == "beside a gemm" else None)


def test_text() -> None:
    """It asks at its beginning, and sets on the way out what it waits for behind the loop."""
    kernel = tilewright.compile(of_a_row, target="ascend", pass_configs=GROUP.configs)
    text = kernel.get_kernel_source()
    loop = text.split("while (true) {\n")[1].split("\n  }\n")[0]
    assert "exit_state" not in text and "goes_on" not in text
    leaves = loop.split("if (y_value >= 5) {")[1].split("}")[0]
    assert leaves.count("SetFlag<HardEvent::V_S>(0);") == 1 and "break;" in leaves
    once, more = GROUP.check("once and more").ascendc.split("while (true) {")  # the one is none
    assert "if (y_value < 4) {" in once and "Flag<HardEvent::V_S>" in more
