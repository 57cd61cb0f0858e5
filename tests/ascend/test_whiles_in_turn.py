# SPDX-License-Identifier: Apache-2.0
"""A `while` whose tiles take turns: the flags that the compiler inserts do so, too, by a variable
that counts the turns, so that a turn waits for the one before the last alone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup(tolerance=1e-6)

ROWS = T.Tensor((12, 64), "float32")


def kernel(form: str, slots: int) -> Any:  # noqa: ANN401, C901
    @T.macro
    def move(A: Any, C: Any, x: Any, y: Any, i: Any, b: Any):  # type: ignore[no-untyped-def]  # noqa: ANN401
        T.copy(A[i, :], x[b, :])
        T.tile.exp(y[b, :], x[b, :])
        T.copy(y[b, :], C[i, :])

    @T.prim_func
    def main(A: ROWS, n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((slots, 64), "float32")
            y = T.alloc_ub((slots, 64), "float32")
            i = T.alloc_var("int32", init=0)
            b = T.alloc_var("int32", init=0)
            if form == "counter":
                while i < n:
                    move(A, C, x, y, i, i % slots)
                    i = i + 1
            if form == "switch":
                while i < n:
                    move(A, C, x, y, i, b)
                    b = 1 - b
                    i = i + 1
            if form == "left":
                while i < n:
                    move(A, C, x, y, i, i % slots)
                    i = i + 1
                    if i == 9:
                        T.loop_break()
            if form == "skipped":
                while i < n:
                    i = i + 1
                    b = (b + 1) % slots
                    if i % 4 == 2:
                        continue
                    move(A, C, x, y, i - 1, b)
            if form == "by an element":
                while i < n:
                    b = T.cast(A[i, 0] > 0.0, "int32")
                    move(A, C, x, y, i, b)
                    i = i + 1
            if form == "within a loop":
                for _ in T.serial(2):
                    i = 0
                    while i < n:
                        move(A, C, x, y, i, i % slots)
                        i = i + 1

    return main


def expected(form: str, a: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
    result = np.exp(a)
    result[min(n, 9) if form == "left" else n :] = 0
    if form == "skipped":
        result[1::4] = 0
    return result


#: The form, how many tiles there are, and whether flags take turns.
FORMS = [
    ("counter", 1, False),
    ("counter", 2, True),
    ("counter", 3, True),
    ("counter", 4, True),
    ("switch", 2, True),
    ("left", 2, True),
    ("skipped", 2, True),
    ("by an element", 2, False),
    ("within a loop", 2, True),
]
CASES = [(form, slots, n) for form, slots, _ in FORMS for n in (0, 1, 2, 12)]
for form_, slots_, n_ in CASES:
    given = np.linspace(-1, 1, 12 * 64, dtype=np.float32).reshape(12, 64)
    GROUP.add(
        f"{form_} {slots_} {n_}",
        kernel(form_, slots_),
        [given, n_, np.zeros((12, 64), np.float32)],
        {2: expected(form_, given.astype(np.float64), n_)},
    )


@pytest.mark.parametrize(("form", "slots", "n"), CASES)
def test_values(form: str, slots: int, n: int) -> None:
    GROUP.check(f"{form} {slots} {n}")


@pytest.mark.parametrize(("form", "slots", "takes_turns"), FORMS)
def test_flags_take_turns(form: str, slots: int, takes_turns: bool) -> None:
    text = GROUP.check(f"{form} {slots} 12").ascendc
    counted = re.search(r" turn = \(turn \+ 1\) % (\d+);", text)
    assert (int(counted[1]) if counted else 1) == (slots if takes_turns else 1)


@pytest.mark.parametrize(("form", "slots"), [(form, slots) for form, slots, _ in FORMS])
def test_verdicts(form: str, slots: int) -> None:
    GROUP.check_removals(f"{form} {slots} 12")


DEPTH = 64


@T.prim_func
def products(A: T.Tensor((32, DEPTH), "float16"), n: T.int32, C: T.Tensor((32, 32), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=2) as _:
        a = T.alloc_L1((2, 32, 16), "float16")
        c = T.alloc_L0C((32, 32), "float32")
        x = T.alloc_ub((32, 32), "float32")
        i = T.alloc_var("int32", init=0)
        while i < n:
            T.copy(A[:, i * 16 : i * 16 + 16], a[i % 2, :, :])
            T.gemm_v0(a[i % 2, :, :], a[i % 2, :, :], c, transpose_B=True, init=(i == 0))
            i = i + 1
        T.copy(c, x)
        T.tile.exp(x, x)
        T.copy(x, C)


FACTOR = (np.arange(32 * DEPTH).reshape(32, DEPTH) % 7 / 8 - 0.375).astype(np.float16)
for count in (1, 3, 4):
    part = FACTOR[:, : 16 * count].astype(np.float64)
    GROUP.add(
        f"products {count}",
        products,
        [FACTOR, count, np.zeros((32, 32), np.float32)],
        np.exp(part @ part.T),
        configs=GROUP.configs | {tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True},
    )


@pytest.mark.parametrize("count", [1, 3, 4])
def test_products(count: int) -> None:
    text = GROUP.check(f"products {count}").ascendc
    assert re.search(r"WaitFlag<HardEvent::MTE1_MTE2>\(int64_t\(turn\)", text)


def test_verdict_of_products() -> None:
    GROUP.check_removals("products 4", most=None)
