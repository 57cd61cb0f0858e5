# SPDX-License-Identifier: Apache-2.0
"""Functions of single numbers that the scalar unit lacks: the vector unit computes them, also where
a nest runs element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
a = np.random.default_rng(3).uniform(0.25, 3, 16).astype(np.float32)

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "exp": (lambda x: T.exp(x), np.exp),
    "log": (lambda x: T.log(x), np.log),
    "log2": (lambda x: T.log2(x), np.log2),
    "rsqrt": (lambda x: T.rsqrt(x), lambda x: 1 / np.sqrt(x)),
    "sin": (lambda x: T.sin(x), np.sin),
    "cos": (lambda x: T.cos(x), np.cos),
    "tanh": (lambda x: T.tanh(x), np.tanh),
    "pow": (lambda x: T.pow(x, 1.5), lambda x: x**1.5),
    "sigmoid": (lambda x: 1.0 / (1.0 + T.exp(-x)), lambda x: 1 / (1 + np.exp(-x))),
}


def add_branches(name: str, dtype: str, rtol: float) -> None:
    function, reference = FUNCTIONS[name]

    @T.prim_func
    def main(A: T.Tensor((16,), dtype), C: T.Tensor((16,), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub((16,), dtype)
            y = T.alloc_ub((16,), dtype)
            T.copy(A, x)
            for i in T.serial(16):
                if i % 4 == 1:
                    y[i] = function(x[i])
                else:
                    y[i] = x[i]
            T.copy(y, C)

    given = a.astype(dtype)
    expected = given.astype(np.float64)
    expected[1::4] = reference(expected)[1::4]
    GROUP.add(f"{name} {dtype}", main, [given, np.zeros_like(given)], expected, rtol=rtol)


def add_numbers(configs: dict[Any, bool]) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16,), "float32"), C: T.Tensor((16,), "float32"), s: T.float32, n: T.int32
    ):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            x = T.alloc_ub((8,), "float32")
            factor = T.alloc_var("float32", init=0.5)
            if n > 2:
                factor = T.exp(s) * factor + T.cast(n, "float32")
            for _ in T.serial(n):
                factor += T.log(s)
            T.copy(A[cid * 8], x)
            T.barrier_all()
            T.tile.mul(x, x, factor)
            T.barrier_all()
            T.copy(x, C[cid * 8])

    factor = 0.5 * np.exp(1.5) + 3 + 3 * np.log(1.5)
    name = "numbers, automatic" if configs else "numbers, by hand"
    GROUP.add(name, main, [a, np.zeros_like(a), 1.5, 3], {1: a * factor}, configs=configs)


for each in FUNCTIONS:
    add_branches(each, "float32", 1e-4)
for each in ("exp", "log", "tanh"):
    add_branches(each, "float16", 4e-3)
add_numbers(AUTOMATIC)
add_numbers({})


def test_no_barrier_beside_one_of_all_pipes() -> None:
    source = GROUP.check("numbers, by hand").ascendc
    lines = [line.strip() for line in source.splitlines() if not line.strip().startswith("//")]
    assert "PipeBarrier<PIPE_ALL>();" in lines
    pairs = set(zip(lines, lines[1:], strict=False))
    assert ("PipeBarrier<PIPE_V>();", "PipeBarrier<PIPE_ALL>();") not in pairs


@pytest.mark.parametrize("name", GROUP.cases)
def test_function(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize(
    "name", ["exp float32", "sin float32", "numbers, automatic", "numbers, by hand"]
)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_nest_with_a_branch() -> None:
    """The column before the first one isn't there, so that only the branch may read it."""

    @T.prim_func
    def main(A: T.Tensor((4, 4), "float32"), C: T.Tensor((4, 4), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub((4, 4), "float32")
            y = T.alloc_ub((4, 4), "float32")
            T.copy(A, x)
            T.copy(A, y)
            for i, j in T.Parallel(4, 4):
                if j > 0:
                    y[i, j] = T.exp(x[i, j - 1]) - T.sin(x[i, j])
            T.copy(y, C)

    with pytest.warns(match="element by element on the scalar unit: it holds 'if'"):
        kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    x = a.reshape(4, 4).astype(np.float64)
    expected = np.concatenate([x[:, :1], np.exp(x[:, :-1]) - np.sin(x[:, 1:])], axis=1)
    np.testing.assert_allclose(np.asarray(kernel(a.reshape(4, 4))), expected, rtol=1e-4)


def test_branch_of_vectors() -> None:
    @T.prim_func
    def main(A: T.Tensor((4, 4), "float32"), C: T.Tensor((4, 4), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub((4, 4), "float32")
            T.copy(A, x)
            for i, j in T.Parallel(4, 4):
                if i > j:
                    x[i, j] = T.exp(x[i, j]) - T.sin(x[i, j])
            T.copy(x, C)

    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    assert "GetValue" not in kernel.get_kernel_source()
    x = a.reshape(4, 4).astype(np.float64)
    expected = np.where(np.tri(4, k=-1) > 0, np.exp(x) - np.sin(x), x)
    np.testing.assert_allclose(np.asarray(kernel(a.reshape(4, 4))), expected, rtol=1e-4)
