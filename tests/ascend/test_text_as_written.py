# SPDX-License-Identifier: Apache-2.0
"""The text reads as one would write it: variables stand for themselves where they are read,
conditions are C++'s, and loops and tiles have names that say what they are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC

import tilewright
import tilewright.language as T
from tilewright.testing import interpret


def text_of(kernel: Any, *arguments: Any) -> str:  # noqa: ANN401
    """Of the kernel; the last argument is what it writes, as in the interpreter."""
    compiled = tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)
    *inputs, result = arguments
    expected = result.copy()
    compiled(*inputs, result)
    interpret(kernel, *inputs, expected)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    text = compiled.get_kernel_source()
    return str(text[text.index("__global__") : text.index('extern "C" void ')])


@T.prim_func
def counting(  # type: ignore[no-untyped-def]
    n: T.int32,
    P: T.Tensor((16,), "int32"),
    A: T.Tensor((5, 64), "float32"),
    C: T.Tensor((5, 64), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((64,), "float32")
        b = T.alloc_ub((1, 64), "float32")
        p = T.alloc_ub((16,), "int32")
        step = T.alloc_var("int32", init=0)
        left = T.alloc_var("int32", init=0)
        T.copy(P, p)
        T.copy(A[n, 0], a)
        for turn in T.serial(4):
            step = p[turn]
            left = step
            step = step + 1
            if step > n:
                step = left * 2
            T.copy(A[step, 0], b)
            T.tile.add(a, a, b)
            if step == 3 and n > 2 or left == 4:
                T.tile.add(a, a, 1.0)
            if not (step == 4 and n > 2 or left == 1):
                T.tile.add(a, a, 2.0)
        T.copy(a, C[n, 0])


def counting_text(n: int) -> str:
    random = np.random.default_rng(n)
    a = random.standard_normal((5, 64)).astype(np.float32)
    p = random.integers(0, 5, 16, np.int32)
    return text_of(counting, n, p, a, np.zeros_like(a))


@pytest.mark.parametrize("n", [0, 3, 4])
def test_variables_are_read_where_they_are_used(n: int) -> None:
    text = counting_text(n)
    for line in ("left = step;", "step = step + 1;", "if (step > n) {", "step = left * 2;"):
        assert line in text
    assert "= int64_t(step);" in text
    assert "step_value" not in text
    assert "left_value" not in text


def test_conditions() -> None:
    text = counting_text(3)
    assert re.search(r"const bool condition = row < 5 && row >= 0;", text)
    assert re.search(r"if \(\(step == 3 && \w+\) \|\| left == 4\) {", text)
    assert re.search(r"if \(!\(\(step == 4 && \w+\) \|\| left == 1\)\) {", text)
    assert " & " not in text
    assert "true" not in text


@T.prim_func
def kept(n: T.int32, A: T.Tensor((4,), "int32"), C: T.Tensor((4, 8), "int32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8,), "int32")
        c = T.alloc_ub((4, 8), "int32")
        x = T.alloc_var("int32", init=1)
        y = T.alloc_var("int32", init=1)
        T.copy(A, a[0:4])
        T.tile.fill(c, 0)
        for i in T.serial(4):
            y = x * 3
            before = x + y
            x = before % 5
            y, x = x, y
            if a[i] > x:
                x = x + 1
                if y > 2:
                    y = x - y
            c[i, 0] = before
            c[i, 1] = x
            c[i, 2] = y
            for j in T.serial(x):
                x = x - 1
                c[i, 3] = c[i, 3] + j + x
            while x < n:
                x = x + y + 1
                c[i, 4] = x
        T.copy(c, C)


def test_variables_that_change_between() -> None:
    """A read before an assignment is not that behind it."""
    text_of(kept, 30, np.array([3, 1, 7, 2], np.int32), np.zeros((4, 8), np.int32))


@T.prim_func
def divided(  # type: ignore[no-untyped-def]
    n: T.int32, m: T.int32, A: T.Tensor((16,), "float32"), C: T.Tensor((16,), "float32")
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((16,), "float32")
        T.copy(A, a)
        if (n > 2) & (m // n > 3):
            T.tile.add(a, a, 1.0)
        T.copy(a, C)


def test_a_division_is_computed_as_the_kernel_says() -> None:
    """`&&` would leave it out, and with it what is told of a division by 0."""
    a = np.ones(16, np.float32)
    assert re.search(r"n > 2 & floorDiv\(m, n\) > 3", text_of(divided, 3, 14, a, np.zeros_like(a)))


@T.prim_func
def gelu(A: T.Tensor((37, 200), "float16"), C: T.Tensor((37, 200), "float16")):  # type: ignore[no-untyped-def]
    with T.Kernel(T.ceildiv(37, 8), is_npu=True) as (cid, vid):
        narrow = T.alloc_ub((4, 200), "float16")
        t = T.alloc_ub((4, 200), "float32")
        first = cid * 8 + vid * 4
        for j in T.serial(1):
            T.copy(A[first, j * 200], narrow)
            T.copy(narrow, t)
            for row_of, column_of in T.Parallel(4, 200):
                value = t[row_of, column_of]
                cube = value * value * value
                inner = value + 0.0625 * cube
                is_small = inner < 1.0
                t[row_of, column_of] = T.if_then_else(is_small, inner * 0.5, cube)
            T.copy(t, narrow)
            T.copy(narrow, C[first, j * 200])


def gelu_text() -> str:
    a = np.random.default_rng(0).standard_normal((37, 200)).astype(np.float16)
    return text_of(gelu, a, np.zeros_like(a))


def test_tiles_have_the_names_of_values() -> None:
    """Also the mask of a condition; the kernel's own tile keeps its name."""
    text = gelu_text()
    tiles = re.findall(r"auto (\w+) = localTensor<", text)
    assert {"narrow", "t", "cube", "inner", "is_small"} <= set(tiles)
    assert "Mul(cube, t_1, t, 800);" in text
    assert re.search(r"Add\(inner, t, t_\d+, 800\);", text)
    assert re.search(r"CompareScalar\(is_small, \w+, 1.0f, ", text)


def test_loops_over_rows_are_not_called_as_those_of_the_kernel() -> None:
    text = gelu_text()
    assert "for (int64_t j = 0; j < 1; ++j) {" in text
    assert text.count("for (int64_t row = 0; row < 4; ++row) {") == 2
    assert "j_1" not in text


@T.prim_func
def by_elements(n: T.int32, A: T.Tensor((8, 16), "int32"), C: T.Tensor((8, 16), "int32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 16), "int32")
        T.copy(A, a)
        for line, place in T.Parallel(8, 16):
            a[line, place] = a[line, place] // n
        T.copy(a, C)


@pytest.mark.filterwarnings("ignore:this nest runs element by element")
def test_loops_of_nests_have_the_names_of_their_indices() -> None:
    a = np.arange(128, dtype=np.int32).reshape(8, 16)
    text = text_of(by_elements, 3, a, np.zeros_like(a))
    assert "for (int64_t line = 0; line < 8; ++line) {" in text
    assert "for (int64_t place = 0; place < 16; ++place) {" in text


@T.prim_func
def chosen_by_a_variable(n: T.int32, C: T.Tensor((8,), "int32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        places = T.alloc_local((4,), "int32")
        t = T.alloc_var("int32", init=0)
        s = T.alloc_var("int32", init=3)
        for i in T.serial(4):
            places[i] = 10 + i
        for i in T.serial(3):
            if i < n:
                t = t + 1
            t, C[i] = 0, places[t]
        while t < n:
            t, s = t + 2, places[t]
            C[4] = s
        C[5] = s


@pytest.mark.parametrize("n", range(4))
def test_an_element_is_read_before_its_index_changes(n: int) -> None:
    text_of(chosen_by_a_variable, n, np.zeros(8, np.int32))
