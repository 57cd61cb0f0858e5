# SPDX-License-Identifier: Apache-2.0
"""Variables that the cube core knows until a loop or branch on elements of UB changes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup, compiled

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
HALVES, NUMBERS = T.Tensor((16, 16), "float16"), T.Tensor((16,), "int32")
SUMS = T.Tensor((16, 16), "float32")


@T.prim_func
def counted_on(A: HALVES, P: NUMBERS, C: SUMS, D: NUMBERS):  # type: ignore[no-untyped-def]
    """Products are counted, and then how often their sum is halved."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        y = T.alloc_shared((16, 16), "float16")
        z = T.alloc_shared((16, 16), "float32")
        product = T.alloc_fragment((16, 16), "float32")
        i = T.alloc_var("int32", init=0)
        T.copy(A, y)
        while i < 3 and P[i] > 0:
            T.gemm_v0(y, y, product, init=(i == 0))
            i = i + 1
        if i == 0:
            T.gemm_v0(y, y, product, init=True)
        T.copy(product, z)
        while z[0, 0] > 4.0:
            T.tile.mul(z, z, 0.5)
            i = i + 1
        if vid == 0:
            T.copy(z, C)
            D[0] = i


@T.prim_func
def counted_down(A: HALVES, P: NUMBERS, C: SUMS, D: NUMBERS):  # type: ignore[no-untyped-def]
    """The cube core takes a sum of what it is before, not what is left of it."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        y = T.alloc_shared((16, 16), "float16")
        z = T.alloc_shared((16, 16), "float32")
        left = T.alloc_shared((16, 16), "float16")
        product = T.alloc_fragment((16, 16), "float32")
        n = T.alloc_var("int32", init=0)
        m = T.alloc_var("int32", init=0)
        T.copy(A, y)
        for i in T.serial(3):
            m = P[i]
            n = n + m
        while y[0, 0] < 4.0 and m > 0:
            T.tile.add(y, y, 1.0)
            m = m - 1
        T.copy(y, left)
        for i in T.serial(n):
            T.gemm_v0(left, left, product, init=(i == 0))
        if n == 0:
            T.gemm_v0(left, left, product, init=True)
        T.copy(product, z)
        if vid == 0:
            T.copy(z, C)
            D[0] = n
            D[1] = m


@T.prim_func
def stored_if_counted(A: HALVES, P: NUMBERS, C: SUMS, D: NUMBERS):  # type: ignore[no-untyped-def]
    """What the cube core stores goes by what the number is before the vector cores change it."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        y = T.alloc_shared((16, 16), "float16")
        z = T.alloc_ub((16,), "int32")
        product = T.alloc_fragment((16, 16), "float32")
        i = T.alloc_var("int32", init=0)
        T.copy(A, y)
        T.copy(P, z)
        while i < P[0]:
            T.gemm_v0(y, y, product, init=(i == 0))
            i = i + 1
        if i > 0:
            T.copy(product, C)
        while z[1] < 4:
            T.tile.add(z, z, 1)
            i = i + 1
        if vid == 0:
            T.tile.add(z, z, i)
            T.copy(z, D)


def halved(value: float, products: int) -> tuple[float, int]:
    total, count = 16.0 * value * value * max(products, 1), products
    while total > 4.0:
        total, count = total / 2, count + 1
    return total, count


def add_counts(value: float, *given: int) -> None:
    counts = np.array([*given, *[0] * (16 - len(given))], np.int32)
    arguments = [np.full((16, 16), value, np.float16), counts]
    empty = [np.zeros((16, 16), np.float32), np.zeros(16, np.int32)]
    products = next((i for i in range(3) if given[i] <= 0), 3)
    total, steps = halved(value, products)
    expected: dict[int, Any] = {2: np.full((16, 16), total), 3: np.eye(1, 16)[0] * steps}
    GROUP.add(f"counted on, {given}", counted_on, [*arguments, *empty], expected)
    n, m, y = sum(given[:3]), given[2], value
    while y < 4.0 and m > 0:
        y, m = y + 1, m - 1
    last = np.zeros(16)
    last[:2] = n, m
    expected = {2: np.full((16, 16), 16.0 * y * y * max(n, 1)), 3: last}
    GROUP.add(f"counted down, {given}", counted_down, [*arguments, *empty], expected)


def add_stored(products: int, second: int) -> None:
    given = np.array([products, second, *[7] * 14], np.int32)
    empty = [np.zeros((16, 16), np.float32), np.zeros(16, np.int32)]
    turns = max(4 - second, 0)
    expected: dict[int, Any] = {2: np.full((16, 16), 64.0 * products)}
    expected[3] = given + turns + products + turns
    arguments = [np.full((16, 16), 2.0, np.float16), given, *empty]
    GROUP.add(f"stored if counted, {products, second}", stored_if_counted, arguments, expected)


add_counts(1.0, 1, 0, 2)
add_counts(3.0, 2, 1, 1)
add_counts(0.5, 0, 0, 0)
for counts in ((0, 1), (1, 3), (3, 4)):
    add_stored(*counts)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@T.prim_func
def asked_later(A: HALVES, C: SUMS):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (_, vid):
        y = T.alloc_shared((16, 16), "float16")
        z = T.alloc_shared((16, 16), "float32")
        left = T.alloc_shared((16, 16), "float16")
        product = T.alloc_fragment((16, 16), "float32")
        i = T.alloc_var("int32", init=0)
        T.copy(A, y)
        while y[0, 0] < 4.0:
            T.tile.add(y, y, 1.0)
            i = i + 1
        T.copy(y, left)
        for k in T.serial(i):
            T.gemm_v0(left, left, product, init=(k == 0))
        T.copy(product, z)
        if vid == 0:
            T.copy(z, C)


def test_what_the_cube_core_cannot_know() -> None:
    with pytest.raises(tilewright.CompileError, match="the cube core needs 'i' here"):
        tilewright.compile(asked_later, target="ascend", pass_configs=AUTOMATIC)


def test_the_tile_goes_as_it_would_without_the_later_loop() -> None:
    text = dict(compiled(stored_if_counted, AUTOMATIC)[0].stages)["ascendc"]
    assert "copyL0cToGm(C, product" in text, text


def test_text() -> None:
    """The second variable begins with what the first one is."""
    text = dict(compiled(counted_on, AUTOMATIC)[0].stages)["ascendc"]
    assert "int32_t i_1{};" in text or "int32_t i_2{};" in text, text
