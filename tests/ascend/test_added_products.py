# SPDX-License-Identifier: Apache-2.0
"""Gemms that add to what vector instructions have changed: nothing leads from UB to L0C, so the
product is of its own there and the vector unit adds it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
SIDE = 32


@T.macro
def halve(c: Any) -> None:
    for i, j in T.Parallel(SIDE, SIDE):
        c[i, j] = c[i, j] * 0.5


@T.macro
def filled(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 3.0)
    T.gemm(a, b, c)


@T.macro
def loaded(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.copy(first, c)
    T.gemm(a, b, c)


@T.macro
def rescaled(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.clear(c)
    for _ in T.serial(n):
        halve(c)
        T.gemm(a, b, c)


@T.macro
def changed_behind(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    """In the first turn in L0C, later in UB."""
    T.clear(c)
    for _ in T.serial(4):
        T.gemm(a, b, c)
        halve(c)


@T.macro
def in_steps(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.clear(c)
    for _ in T.serial(3):
        for _ in T.serial(5):
            T.gemm(a, b, c)
        halve(c)


@T.macro
def in_counted_steps(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 1.0)
    for _ in T.serial(3):
        halve(c)
        for _ in T.serial(n):
            T.gemm(a, b, c)


@T.macro
def cleared_in_first_steps(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 2.0)
    for t in T.serial(3):
        for k in T.serial(n):
            T.gemm_v0(a, b, c, init=T.And(k == 0, t == 0))
        halve(c)


@T.macro
def cleared_in_turn_n(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 1.0)
    for t in T.serial(4):
        T.gemm_v0(a, b, c, init=(t == n))
        halve(c)


@T.macro
def cleared_if_stored(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    """The turn itself stores what its gemm asks."""
    stored = T.alloc_var("int32", init=0)
    T.fill(c, 1.0)
    for k in T.serial(3):
        stored = n
        T.gemm_v0(a, b, c, init=T.And(k == 0, stored > 0))


@T.macro
def cleared_if_counted(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    """An inner loop and what lies behind the gemm count."""
    count = T.alloc_var("int32", init=0)
    T.fill(c, 1.0)
    for t in T.serial(2):
        for k in T.serial(2):
            for _ in T.serial(n):
                count = count + 1
            T.gemm_v0(a, b, c, init=T.And(T.And(count > 1, k == 0), t == 0))
            count = count + 1
        halve(c)


@T.macro
def cleared_if_loaded(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 1.0)
    for k in T.serial(3):
        T.gemm_v0(a, b, c, init=T.And(k == 0, first[n, k] > first[0, 0]))


@T.macro
def cleared_if_early(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    """What only the turns' numbers and the kernel's arguments say is known before the loops."""
    T.fill(c, 1.0)
    for t in T.serial(2):
        for k in T.serial(2):
            T.gemm_v0(a, b, c, init=T.And(T.And(k == 0, t == 0), k + t + 1 < n))


@T.macro
def views_in_loops(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 4.0)
    for _ in T.serial(2):
        line = T.view(c, (SIDE * SIDE,))
        halve(c)
        for _ in T.serial(n):
            flat = T.view(line, (SIDE, SIDE))
            T.gemm(a, b, flat)


@T.macro
def two_gemms(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 1.0)
    for _ in T.serial(3):
        halve(c)
        T.gemm(a, b, c)
        if n > 0:
            T.gemm(a, b, c)


@T.macro
def in_branches(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 1.0)
    for t in T.serial(4):
        halve(c)
        if t < n:
            T.gemm(a, b, c)


@T.macro
def some_steps(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 1.0)
    for _ in T.serial(2):
        halve(c)
        for k in T.serial(4):
            if k == n:
                T.loop_break()
            T.gemm(a, b, c)


@T.macro
def by_rows(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.fill(c, 4.0)
    for p in T.serial(2):
        halve(c)
        T.gemm(a[p * 16 : p * 16 + 16, :], b, c[p * 16 : p * 16 + 16, :])


@T.macro
def then_anew(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    """What is cleared again stays in L0C."""
    T.gemm_v0(a, b, c, init=True)
    halve(c)
    T.gemm(a, b, c)
    T.copy(c, first)
    T.gemm_v0(a, b, c, init=True)
    T.gemm(a, b, c)


def adding(body: Any, threads: Any, inputs: str = "float16", sums: str = "float32") -> Any:  # noqa: ANN401
    launch = {"threads": 128} if threads == "GPU" else {"is_npu": True, "threads": threads}

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), inputs),
        B: T.Tensor((SIDE, SIDE), inputs),
        n: T.int32,
        first: T.Tensor((SIDE, SIDE), sums),
        C: T.Tensor((SIDE, SIDE), sums),
    ):
        with T.Kernel(1, **launch):
            a = T.alloc_shared((SIDE, SIDE), inputs)
            b = T.alloc_shared((SIDE, SIDE), inputs)
            c = T.alloc_fragment((SIDE, SIDE), sums)
            T.copy(A, a)
            T.copy(B, b)
            body(a, b, c, n, first)
            T.copy(c, C)

    return main


random = np.random.default_rng(61)
left, right = (random.integers(-3, 4, (SIDE, SIDE)).astype(np.float16) for _ in range(2))
start = random.integers(-3, 4, (SIDE, SIDE)).astype(np.float32)
product = left.astype(np.float64) @ right.astype(np.float64)
upper, lower = (product * (np.arange(SIDE)[:, None] // 16 == part) for part in (0, 1))
CASES = [
    (filled, 1, 3 + product),
    (loaded, 1, start + product),
    (rescaled, 0, 0 * product),
    (rescaled, 3, 1.75 * product),
    (changed_behind, 1, 0.9375 * product),
    (in_steps, 1, 4.375 * product),
    (in_counted_steps, 0, 0.125 + 0 * product),
    (in_counted_steps, 2, 0.125 + 3.5 * product),
    (cleared_in_first_steps, 0, 0.25 + 0 * product),
    (cleared_in_first_steps, 3, 2.625 * product),
    (cleared_in_turn_n, 2, 0.75 * product),
    (cleared_in_turn_n, 9, 0.0625 + 0.9375 * product),
    (cleared_if_stored, 0, 1 + 3 * product),
    (cleared_if_stored, 1, 3 * product),
    (cleared_if_counted, 1, 0.25 + 1.5 * product),
    (cleared_if_counted, 2, 1.5 * product),
    (cleared_if_loaded, 0, 1 + 3 * product),
    (cleared_if_loaded, 1, 3 * product + (start[1, 0] <= start[0, 0])),
    (cleared_if_early, 1, 1 + 4 * product),
    (cleared_if_early, 2, 4 * product),
    (views_in_loops, 0, 1 + 0 * product),
    (views_in_loops, 2, 1 + 3 * product),
    (two_gemms, 0, 0.125 + 1.75 * product),
    (two_gemms, 1, 0.125 + 3.5 * product),
    (in_branches, 2, 0.0625 + 0.375 * product),
    (some_steps, 0, 0.25 + 0 * product),
    (some_steps, 3, 0.25 + 4.5 * product),
    (by_rows, 1, 1 + 0.5 * upper + lower),
    (then_anew, 1, 2 * product),
]
for number, (body, n, wanted) in enumerate(CASES):
    for threads in ((None, "GPU"), (2,), ("GPU",), (1, 2))[number % 4]:
        GROUP.add(
            f"{body.__name__}, {n}, {threads}",
            adding(body, threads),
            [left, right, n, start, np.zeros((SIDE, SIDE), np.float32)],
            wanted,
        )


@T.macro
def whole_numbers(a: Any, b: Any, c: Any, n: Any, first: Any) -> None:
    T.copy(first, c)
    for _ in T.serial(3):
        for i, j in T.Parallel(SIDE, SIDE):
            c[i, j] = c[i, j] * 2
        T.gemm(a, b, c)


GROUP.add(
    "int32",
    adding(whole_numbers, 2, "int8", "int32"),
    [
        left.astype(np.int8),
        right.astype(np.int8),
        0,
        start.astype(np.int32),
        np.zeros((SIDE, SIDE), np.int32),
    ],
    8 * start.astype(np.float64) + 7 * product,
)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", [name for name in GROUP.cases if ", 0, " not in name])
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_one_sum_for_all_steps() -> None:
    """Steps of k are added in L0C, and once per turn in UB."""
    text = GROUP.check("in_steps, 1, 2").ascendc
    assert text.count("Add(c, c, c_product_ub") == 1
    assert text.count("copyL0cToGm") == 1
    assert re.search(r"multiply\(c_product, .*, \w+ == 0\)", text)


def test_only_what_must_be_added() -> None:
    """The gemm that clears, and what adds to it, need no second tile."""
    text = GROUP.check("then_anew, 1, GPU").ascendc
    assert text.count("multiply(c, ") == 3
    assert text.count("multiply(c_product, ") == 1


@pytest.mark.parametrize(
    ("name", "loops"),
    [("views_in_loops, 2, 2", 1), ("cleared_if_early, 2, 2", 0), ("cleared_if_stored, 1, 2", 1)],
)
def test_additions_leave_loops(name: str, loops: int) -> None:
    """All that the variables' turns leave the same; else each turn adds its own."""
    text = GROUP.check(name).ascendc
    addition = next(line for line in text.splitlines() if "Add(c, c, c_product_ub" in line)
    assert len(addition) - len(addition.lstrip()) == 4 + 2 * loops
