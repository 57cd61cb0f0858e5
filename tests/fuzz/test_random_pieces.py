# SPDX-License-Identifier: Apache-2.0
"""Random loops around gemms that AMX multiplies by pieces, or AMD's AVX-512 by sums: operands that
loops keep, change before or after, or take by parts; in small whole numbers, so that all sums are
exact."""

from __future__ import annotations

import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

SEED = int(os.environ.get("TILEWRIGHT_FUZZ_SEED", "20261129"))
CONFIGS = {
    "fast": {tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True},
    "normwise": {"tilewright.normwise_gemm": True},
}
WHEN = ("never", "before", "behind", "inner")


def loops(case: dict[str, Any]) -> Any:  # noqa: ANN401 - a kernel
    """Two loops around C += A[p] B[q]; a tile x becomes 1 - x when `case` says."""
    m, n, k, parts, turns, inner = (case[x] for x in ("m", "n", "k", "parts", "turns", "inner"))
    dtype, b_shape = case["dtype"], (n, k) if case["transposed"] else (k, n)

    @T.macro
    def change(tile: Any, part: Any) -> None:  # type: ignore[no-untyped-def]
        for i, j in T.Parallel(*tile.shape[1:]):
            tile[part, i, j] = tile[part, i, j] * -1 + 1

    @T.prim_func
    def kernel(
        A: T.Tensor((parts, m, k), dtype),
        B: T.Tensor((parts, *b_shape), dtype),
        n_turns: T.int32,
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((parts, m, k), dtype)
            b = T.alloc_shared((parts, *b_shape), dtype)
            c = T.alloc_fragment((m, n), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            for turn in T.serial(n_turns):
                p = turn % parts if case["by_part"] else 0
                if case["a"] == "before":
                    change(a, p)
                if case["b"] == "before":
                    change(b, p)
                for step in T.serial(inner):
                    if case["guarded"]:
                        if (turn + step) % 2 == 0:
                            T.gemm(a[p, :, :], b[p, :, :], c, transpose_B=case["transposed"])
                    else:
                        T.gemm(a[p, :, :], b[p, :, :], c, transpose_B=case["transposed"])
                    if case["a"] == "inner":
                        change(a, p)
                    if case["b"] == "inner":
                        change(b, p)
                if case["a"] == "behind":
                    change(a, p)
                if case["b"] == "behind":
                    change(b, p)
            T.copy(c, C)

    return kernel


def expected(case: dict[str, Any], a: Any, b: Any) -> Any:  # noqa: ANN401
    """The same in NumPy."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    c = np.zeros((case["m"], case["n"]))

    def change(when: str, p: int) -> None:
        for tile, name in ((a, "a"), (b, "b")):
            if case[name] == when:
                tile[p] = 1 - tile[p]

    for turn in range(case["turns"]):
        p = turn % case["parts"] if case["by_part"] else 0
        change("before", p)
        for step in range(case["inner"]):
            if not case["guarded"] or (turn + step) % 2 == 0:
                c += a[p] @ (b[p].T if case["transposed"] else b[p])
            change("inner", p)
        change("behind", p)
    return c


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("number", range(40))
def test_loops_around_gemms(number: int, config: str) -> None:
    random = np.random.default_rng([SEED, number])
    case: dict[str, Any] = {
        "m": 16 * int(random.integers(1, 10)),
        "n": 32 * int(random.integers(1, 6)),
        "k": 32 * int(random.integers(1, 5)),
        "parts": int(random.integers(1, 4)),
        "turns": int(random.integers(1, 5)),
        "inner": int(random.integers(1, 4)),
        "dtype": str(random.choice(["float32", "float16", "float8_e4m3fn"])),
        "transposed": bool(random.integers(2)),
        "by_part": bool(random.integers(2)),
        "guarded": bool(random.integers(2)),
        "a": str(random.choice(WHEN)),
        "b": str(random.choice(WHEN)),
    }
    if case["dtype"].startswith("float8"):  # they have no arithmetic of their own
        case.update(a="never", b="never")
    dtype = np.dtype(getattr(ml_dtypes, case["dtype"], case["dtype"]))
    b_shape = (case["n"], case["k"]) if case["transposed"] else (case["k"], case["n"])
    a = random.integers(-4, 5, (case["parts"], case["m"], case["k"]))
    b = random.integers(-4, 5, (case["parts"], *b_shape))
    a, b = a.astype(dtype), b.astype(dtype)
    kernel = tilewright.jit(out_idx=[3], pass_configs=CONFIGS[config])(loops)(case)
    result = kernel(a, b, case["turns"])
    np.testing.assert_array_equal(result, expected(case, a, b), err_msg=str(case))
