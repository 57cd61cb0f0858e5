# SPDX-License-Identifier: Apache-2.0
"""Tiles of which a copy has filled the first rows only: a choice takes what is there, and something
else elsewhere. The vector unit computes both and takes one, the scalar unit reads what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T
from tilewright.errors import TilewrightWarning

Array = np.ndarray[Any, Any]
GROUP = KernelGroup()
#: Kernels that the host must stop.
MISTAKES = KernelGroup()
SHAPE = (16, 64)
THERE = (1, 5, 16)  # rows
random = np.random.default_rng(71)

#: What is chosen of a tile `a` in row i before row n.
CHOICES: dict[str, Callable[..., Any]] = {
    "product": lambda a, i, j, n: T.if_then_else(i < n, a[i, j] * 2, -1),
    "otherwise": lambda a, i, j, n: T.if_then_else(i >= n, -1, a[i, j] + 3),
    "twice": lambda a, i, j, n: T.if_then_else(i < n, a[i, j] + a[i, 63 - 63 + j], -1),
    "two conditions": lambda a, i, j, n: T.if_then_else(T.And(i < n, a[i, j] > 1), a[i, j], -1),
    "either": lambda a, i, j, n: T.if_then_else(T.Or(i >= n, a[i, j] > 1), -1, a[i, j]),
    "nested": lambda a, i, j, n: T.if_then_else(i < n, T.if_then_else(a[i, j] > 1, 9, 8), -1),
    "by numbers": lambda a, i, j, n: T.if_then_else(i * 64 + j < n * 64, T.max(a[i, j], 1), -1),
}
CHOSEN: dict[str, Callable[[Array, Array], Array]] = {
    "product": lambda a, there: np.where(there, a * 2, -1),
    "otherwise": lambda a, there: np.where(there, a + 3, -1),
    "twice": lambda a, there: np.where(there, a + a, -1),
    "two conditions": lambda a, there: np.where(there & (a > 1), a, -1),
    "either": lambda a, there: np.where(~there | (a > 1), -1, a),
    "nested": lambda a, there: np.where(there, np.where(a > 1, 9, 8), -1),
    "by numbers": lambda a, there: np.where(there, np.maximum(a, 1), -1),
}
#: int64 runs on the scalar unit.
DTYPES = ("float32", "float16", "bfloat16", "int32", "int16", "int8", "int64")


def kernel(form: str, dtype: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(SHAPE, dtype), N: T.Tensor((1,), "int32"), C: T.Tensor(SHAPE, dtype)
    ):
        with T.Kernel(1, is_npu=True) as (_, _v):
            a = T.alloc_ub(SHAPE, dtype)
            c = T.alloc_ub(SHAPE, dtype)
            n = N[0]
            T.copy(A[0:n, :], a[0:n, :])
            for i, j in T.Parallel(*SHAPE):
                c[i, j] = CHOICES[form](a, i, j, n)
            T.copy(c, C)

    return main


def tile(dtype: str) -> Array:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return random.integers(0, 5, SHAPE).astype(kind)


@GROUP.each(form=list(CHOICES), dtype=DTYPES, rows=THERE[1:2])
def chosen(form: str, dtype: str, rows: int) -> Any:
    a = tile(dtype)
    there = np.broadcast_to(np.arange(SHAPE[0])[:, None] < rows, SHAPE)
    wanted = CHOSEN[form](a.astype(np.float64), there)
    return kernel(form, dtype), [a, np.array([rows], np.int32), np.zeros_like(a)], wanted


@pytest.mark.parametrize("name", list(GROUP.cases))
def test_what_a_choice_leaves_out_need_not_be_there(name: str) -> None:
    case = GROUP.check(name)
    for rows in THERE:
        a, _, c = case.arguments
        made = GROUP.run(name, a, np.array([rows], np.int32), c)
        there = np.broadcast_to(np.arange(SHAPE[0])[:, None] < rows, SHAPE)
        wanted = CHOSEN[name.removeprefix("chosen ").rsplit(" ", 2)[0]]
        np.testing.assert_array_equal(
            made[2].astype(np.float64), wanted(np.asarray(a).astype(np.float64), there)
        )


@T.prim_func
def one_row_more(  # type: ignore[no-untyped-def]
    A: T.Tensor(SHAPE, "float32"), N: T.Tensor((1,), "int32"), C: T.Tensor(SHAPE, "float32")
):
    with T.Kernel(1, is_npu=True) as (_, _v):
        a = T.alloc_ub(SHAPE, "float32")
        c = T.alloc_ub(SHAPE, "float32")
        n = N[0]
        T.copy(A[0:n, :], a[0:n, :])
        for i, j in T.Parallel(*SHAPE):
            c[i, j] = T.if_then_else(i <= n, a[i, j] * 2, -1.0)
        T.copy(c, C)


@T.prim_func
def no_choice(  # type: ignore[no-untyped-def]
    A: T.Tensor(SHAPE, "float32"), N: T.Tensor((1,), "int32"), C: T.Tensor(SHAPE, "float32")
):
    with T.Kernel(1, is_npu=True) as (_, _v):
        a = T.alloc_ub(SHAPE, "float32")
        c = T.alloc_ub(SHAPE, "float32")
        n = N[0]
        T.copy(A[0:n, :], a[0:n, :])
        for i, j in T.Parallel(*SHAPE):
            c[i, j] = a[i, j] * 2
        T.copy(c[0:n, :], C[0:n, :])


for _kernel in (one_row_more, no_choice):
    _sizes = [np.ones(SHAPE, np.float32), np.array([5], np.int32), np.zeros(SHAPE, np.float32)]
    MISTAKES.add_faulty(_kernel.__name__, _kernel, _sizes, MISTAKES.configs)


def test_what_is_chosen_must_be_there() -> None:
    with pytest.raises(RuntimeError, match="Muls on PIPE_V reads UB bytes 1280 to 4095 of 'a'"):
        MISTAKES.run("one_row_more")
    with pytest.raises(RuntimeError, match="uses what comes of it here"):
        MISTAKES.run("one_row_more")
    with pytest.warns(TilewrightWarning, match="bytes 1280 to 4095 of 'a', which nothing has wr"):
        MISTAKES.run("no_choice")  # nothing uses what comes of it
