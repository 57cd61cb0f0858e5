# SPDX-License-Identifier: Apache-2.0
"""The kernels of rows that the founding documents name, in each of their modes: softmax (mixed
mode as printed, made complete), online softmax, RMSNorm, LayerNorm, SiLU, GELU(x) * y, reductions
of rows and columns, broadcasts."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest
from kernel_group import ROOT, KernelGroup

import tilewright.as_tilelang  # noqa: F401 - the examples import it by that name

Array = np.ndarray[Any, Any]
GROUP = KernelGroup()

M, N = 64, 128
random = np.random.default_rng(23)
x, y = (random.standard_normal((M, N)).astype(np.float32) for _ in range(2))
w = random.random(N).astype(np.float32)
exact = x.astype(np.float64)


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "ascend" / f"{name}.py"))


def softmax(scores: Array) -> Array:
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def add_softmax() -> None:
    made = example("softmax")
    kernels = {
        "mixed": ("softmax_mixed", (M, N, 32)),
        "developer": ("softmax_developer", (M, N, 32)),
        "expert": ("softmax_expert", (M, N, 32)),
        "online, T.tile": ("softmax_online", (M, N, 32, 32)),
        "online, T.Parallel alone": ("softmax_online_developer", (M, N, 32, 32)),
        "online, expert": ("softmax_online_expert", (M, N, 32, 32)),
    }
    for name, (factory, sizes) in kernels.items():
        given = [4 * x, np.zeros_like(x)]
        GROUP.add_example(
            f"softmax {name}", made[factory], sizes, given, softmax(4 * exact), atol=1e-7
        )
    half = (4 * x).astype(np.float16)
    for name in ("softmax_mixed", "softmax_developer"):
        GROUP.add_example(
            f"{name} of float16",
            made[name],
            (M, N, 32, "float16"),
            [half, np.zeros_like(half)],
            softmax(half.astype(np.float64)),
            rtol=1e-2,
            atol=1e-3,
        )


def add_norms() -> None:
    made = example("norms")
    rms = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-5) * w
    layer = (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-5)
    for mode in ("developer", "expert"):
        result = np.zeros_like(x)
        GROUP.add_example(
            f"RMSNorm, {mode}", made[f"rms_norm_{mode}"], (M, N, 32), [x, w, result], rms
        )
        GROUP.add_example(
            f"LayerNorm, {mode}", made[f"layer_norm_{mode}"], (M, N, 32), [x, result], layer
        )


def add_elementwise() -> None:
    made = example("elementwise")
    silu = exact / (1 + np.exp(-exact))
    inner = np.sqrt(2 / np.pi) * (exact + 0.044715 * exact**3)
    gelu = exact * 0.5 * (1 + np.tanh(inner)) * y
    for mode in ("developer", "expert"):
        result = np.zeros_like(x)
        GROUP.add_example(
            f"SiLU, {mode}", made[f"silu_{mode}"], (M, N, 32, 64), [x, result], silu, atol=1e-5
        )
        GROUP.add_example(
            f"GELU(x) * y, {mode}", made[f"gelu_mul_{mode}"], (M, N, 32), [x, y, result], gelu
        )


def add_reductions() -> None:
    made = example("reductions")
    rows, columns = np.zeros(M, np.float32), np.zeros((1, N), np.float32)
    first_row, first_column = x[0].copy(), x[:, 0].copy()
    outer = exact[:, :1] + exact[0]
    sizes = {"developer": (M, N, 16, 64), "expert": (M, N, 64)}
    for mode in ("developer", "expert"):
        GROUP.add_example(
            f"sum of rows, {mode}", made[f"row_sum_{mode}"], (M, N, 32), [x, rows], exact.sum(1)
        )
        GROUP.add_example(
            f"largest of columns, {mode}",
            made[f"column_max_{mode}"],
            sizes[mode],
            [x, columns],
            exact.max(0)[None],
        )
        GROUP.add_example(
            f"broadcast of a row and a column, {mode}",
            made[f"outer_sum_{mode}"],
            (M, N, 32),
            [first_column, first_row, np.zeros_like(x)],
            outer,
        )


add_softmax()
add_norms()
add_elementwise()
add_reductions()


@pytest.mark.parametrize("name", GROUP.cases)
def test_rows(name: str) -> None:
    case = GROUP.check(name)
    assert "KERNEL_TYPE_AIV_ONLY" in case.ascendc  # no cube core is started


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)
