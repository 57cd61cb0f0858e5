# SPDX-License-Identifier: Apache-2.0
"""T.Parallel of three and four extents: dims that lie as one in all tiles are rows of one
instruction, others a loop around it, or of single elements with a remark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

GROUP = KernelGroup()
SHAPE = (4, 6, 40)
random = np.random.default_rng(3)
A = random.integers(-9, 10, SHAPE).astype(np.float32)
M = random.integers(-9, 10, SHAPE[:2]).astype(np.float32)
V = random.integers(-9, 10, SHAPE[2:]).astype(np.float32)
NUMBERS = np.tensordot([100, 10, 1], np.indices(SHAPE), 1)


def add(name: str, body: Any, expected: Any, threads: int = 1, configs: Any = AUTOMATIC) -> None:
    @T.prim_func
    def main(
        A: T.Tensor(SHAPE, "float32"),
        M: T.Tensor(SHAPE[:2], "float32"),
        V: T.Tensor(SHAPE[2:], "float32"),
        C: T.Tensor(SHAPE, "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = T.alloc_ub(SHAPE, "float32")
            c = T.alloc_ub(SHAPE, "float32")
            m = T.alloc_ub(SHAPE[:2], "float32")
            v = T.alloc_ub(SHAPE[2:], "float32")
            T.copy(A, a)
            T.copy(M, m)
            T.copy(V, v)
            T.barrier_all()
            body(A, a, m, v, c, C)
            T.barrier_all()
            T.copy(c, C)

    made = np.zeros(SHAPE, np.float32)
    GROUP.add(name, main, [A, M, V, made], expected.astype(np.float64), configs=configs)


@T.macro
def plain(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    for i, j, k in T.Parallel(*SHAPE):
        c[i, j, k] = a[i, j, k] * 2.0 + v[k]


@T.macro
def of_tensor(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    for i, j, k in T.Parallel(*SHAPE):
        c[i, j, k] = A[i, j, k] - 1.0


@T.macro
def numbers_of_rows(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    for i, j, k in T.Parallel(*SHAPE):
        c[i, j, k] = a[i, j, k] - m[i, j] + T.cast(i * 100 + j * 10 + k, "float32")


@T.macro
def other_order(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    for i, j, k in T.Parallel(*SHAPE):
        c[i, j, k] = a[3 - i, j, k] + a[i, 5 - j, k]


@T.macro
def part(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    T.tile.fill(c, 0.0)
    T.barrier_all()
    for i, j, k in T.Parallel(3, 5, 33):
        c[i + 1, j + 1, k] = a[i, j, k + 7]


@T.macro
def chosen(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    T.tile.fill(c, 0.0)
    T.barrier_all()
    for i, j, k in T.Parallel(*SHAPE):
        if a[i, j, k] > 0.0:
            c[i, j, k] = a[i, j, k]


@T.macro
def viewed(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    for i, j, k in T.Parallel(*SHAPE):
        rows = T.reshape(a, (24, 40))
        c[i, j, k] = rows[i * 6 + j, k] * 2.0


@T.macro
def viewed_alike(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    for i, j, k in T.Parallel(*SHAPE):
        same = T.view(T.reshape(a, (960,)), SHAPE)
        c[i, j, k] = same[i, j, k] + 1.0


@T.macro
def viewed_in_two_dims(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    for i, k in T.Parallel(24, 40):
        target = T.reshape(c, (24, 40))
        target[i, k] = T.reshape(a, (24, 40))[i, k] - 1.0


@T.macro
def viewed_where_chosen(A, a, m, v, c, C):  # type: ignore[no-untyped-def]
    T.tile.fill(c, 0.0)
    T.barrier_all()
    for i, j, k in T.Parallel(*SHAPE):
        if a[i, j, k] > 0.0:
            same = T.view(a, SHAPE)
            c[i, j, k] = same[i, j, k]


shifted = np.zeros(SHAPE, np.float32)
shifted[1:, 1:, :33] = A[:3, :5, 7:40]
CASES = {
    "plain": (plain, A * 2 + V),
    "of_tensor": (of_tensor, A - 1),
    "numbers_of_rows": (numbers_of_rows, A - M[..., None] + NUMBERS),
    "other_order": (other_order, A[::-1] + A[:, ::-1]),
    "part": (part, shifted),
    "chosen": (chosen, np.maximum(A, 0)),
    "viewed": (viewed, A * 2),
    "viewed_alike": (viewed_alike, A + 1),
    "viewed_in_two_dims": (viewed_in_two_dims, A - 1),
    "viewed_where_chosen": (viewed_where_chosen, np.maximum(A, 0)),
}
for NAME, (BODY, EXPECTED) in CASES.items():
    add(NAME, BODY, EXPECTED)
    add(f"{NAME}_by_two", BODY, EXPECTED, threads=2)
    if NAME != "of_tensor":
        add(f"{NAME}_by_hand", BODY, EXPECTED, configs={})


@pytest.mark.parametrize("name", GROUP.cases)
def test_nest(name: str) -> None:
    text = GROUP.check(name).ascendc
    if name in ("plain", "plain_by_hand"):
        assert "Muls(t, a, 2.0f, 960);" in text
    if name == "of_tensor":
        assert "Adds(c, staged, -1.0f, 960);" in text
    assert ("GetValue" in text) == name.startswith(("part", "viewed_where"))


def test_four_dims() -> None:
    """Of which the third and the last are one row for each step of the loops around."""
    shape = (2, 3, 2, 16)

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), C: T.Tensor(shape, "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "float32")
            c = T.alloc_ub(shape, "float32")
            T.copy(A, a)
            for i, j, k, n in T.Parallel(*shape):
                c[i, j, k, n] = a[i, 2 - j, k, n] + 1.0
            T.copy(c, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = random.integers(-9, 10, shape).astype(np.float32)
    made = np.zeros(shape, np.float32)
    kernel(a, made)
    np.testing.assert_array_equal(made, a[:, ::-1] + 1)
    assert kernel.get_kernel_source().count("Adds(") == 1


def test_elements_are_told() -> None:
    @T.prim_func
    def main(C: T.Tensor((2, 3, 4), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((2, 3, 4), "int32")
            for i, j, k in T.Parallel(2, 3, 4):
                c[i, j, k] = i * 12 // (j * 4 + k + 1)
            T.copy(c, C)

    with pytest.warns(TilewrightWarning, match="element by element on the scalar unit"):
        kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    made = np.zeros((2, 3, 4), np.int32)
    kernel(made)
    i, j, k = np.indices(made.shape)
    np.testing.assert_array_equal(made, i * 12 // (j * 4 + k + 1))


@pytest.mark.parametrize("base", [0, 2])
def test_numbers_of_columns_of_one(base: int) -> None:
    """Such rows are no instruction's: the compiler ended there."""

    @T.prim_func
    def main(A: T.Tensor((4, 1), "float32"), C: T.Tensor((4, 1), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((4, 1), "float32")
            c = T.alloc_ub((4, 1), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(4, 1):
                c[i, j] = T.cast(base + j, "float32") - a[i, j]
            for i, j in T.Parallel(4, 1):
                c[i, j] = c[i, j] + T.cast(base + i + j, "float32")
            T.copy(c, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = random.integers(-9, 10, (4, 1)).astype(np.float32)
    made = np.zeros_like(a)
    kernel(a, made)
    np.testing.assert_array_equal(made, 2 * base - a + np.arange(4)[:, None])
