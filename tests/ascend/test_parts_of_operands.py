# SPDX-License-Identifier: Apache-2.0
"""Gemms of parts of a tile that vector instructions write: only those parts come to L1."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup(tolerance=0)
SIDE = 64
FORMS = {
    # name: what the vector cores write, how often something comes from UB to L1
    "rows": ((slice(0, 32), slice(0, 64)), 1),
    "columns": ((slice(0, 64), slice(32, 64)), 1),
    "block": ((slice(32, 48), slice(16, 64)), 1),
    "changed": ((slice(0, 16), slice(0, 64)), 1),
    "both operands": ((slice(0, 64), slice(0, 64)), 2),
    "same part": ((slice(0, 32), slice(0, 64)), 1),
    "transposed": ((slice(0, 64), slice(16, 48)), 1),
    "view": ((slice(0, 32), slice(0, 64)), 1),
    "one of two tiles": ((slice(0, 64), slice(0, 64)), 1),
    # Other parts than of whole fractals come with the whole tile.
    "turns": ((slice(0, 64), slice(0, 64)), 1),
}


def kernel(form: str, dtype: str, launch: dict[str, Any]) -> Any:  # noqa: ANN401, C901
    rows, columns = FORMS[form][0]
    top, left = rows.start, columns.start
    height, width = rows.stop - top, columns.stop - left
    number = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def main(  # type: ignore[no-untyped-def] # noqa: C901
        A: T.Tensor((SIDE, SIDE), dtype),
        B: T.Tensor((SIDE, SIDE), dtype),
        which: T.int32,
        C: T.Tensor((SIDE, SIDE), number),
    ):
        with T.Kernel(1, **launch) as _:
            flat = T.alloc_shared((SIDE * SIDE,), dtype)
            two = T.alloc_shared((2, SIDE, SIDE), dtype)
            a = T.alloc_shared((SIDE, SIDE), dtype)
            b = T.alloc_shared((SIDE, SIDE), dtype)
            c = T.alloc_fragment((SIDE, SIDE), number)
            T.copy(B, b)
            if form == "changed":
                T.copy(A[0:16, :], a[0:16, :])
                for i, j in T.Parallel(16, SIDE):
                    a[i, j] = a[i, j] + A[i, j]
            elif form == "view":
                for i in T.Parallel(height * SIDE):
                    flat[i] = A[i // SIDE, i % SIDE] + A[i // SIDE, i % SIDE]
            elif form == "one of two tiles":
                for i, j in T.Parallel(SIDE, SIDE):
                    two[which, i, j] = A[i, j] + A[i, j]
            else:
                for i, j in T.Parallel(height, width):
                    a[top + i, left + j] = A[top + i, left + j] + A[top + i, left + j]
            if form == "both operands":
                T.gemm_v0(a[0:16, :], a[:, 16:48], c[0:16, 0:32], init=True)
            elif form == "same part":
                T.gemm_v0(a[0:32, :], a[0:32, :], c[0:32, 0:32], transpose_B=True, init=True)
            elif form == "transposed":
                T.gemm_v0(a[:, 16:48], b, c[0:32, :], transpose_A=True, init=True)
            elif form == "view":
                T.gemm_v0(T.reshape(flat, (SIDE, SIDE))[0:32, :], b, c[0:32, :], init=True)
            elif form == "one of two tiles":
                T.gemm_v0(two[which, :, :], b, c, init=True)
            elif form == "turns":
                for k in T.serial(2):
                    T.gemm_v0(
                        a[:, k * 32 : k * 32 + 32], b[k * 32 : k * 32 + 32, :], c, init=(k == 0)
                    )
            else:
                T.gemm_v0(
                    a[top : top + height, left : left + width],
                    b[0:width, :],
                    c[0:height, :],
                    init=True,
                )
            made = product(form, np.zeros((SIDE, SIDE)), np.zeros((SIDE, SIDE))).shape
            T.copy(c[0 : made[0], 0 : made[1]], C[0 : made[0], 0 : made[1]])

    return main


def product(form: str, a: Any, b: Any) -> Any:  # noqa: ANN401
    rows, columns = FORMS[form][0]
    a = 2 * a
    if form == "both operands":
        return a[:16] @ a[:, 16:48]
    if form == "same part":
        return a[:32] @ a[:32].T
    if form == "transposed":
        return a[:, 16:48].T @ b
    return a[rows, columns] @ b[: columns.stop - columns.start]


LAUNCHES: dict[str, dict[str, Any]] = {
    "gpu": {"threads": 128},
    "npu": {"is_npu": True},
    "npu2": {"is_npu": True, "threads": 2},
}


@GROUP.each(form=[*FORMS], launch=[*LAUNCHES])
def parts(form: str, launch: str) -> Any:  # noqa: ANN401
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-3, 4, (SIDE, SIDE)).astype(np.float16) for _ in range(2))
    expected = product(form, a.astype(np.float64), b.astype(np.float64))
    wanted = np.zeros((SIDE, SIDE))
    wanted[: expected.shape[0], : expected.shape[1]] = expected
    result = np.zeros((SIDE, SIDE), np.float32)
    return kernel(form, "float16", LAUNCHES[launch]), [a, b, 1, result], wanted


@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("form", FORMS)
def test_parts(form: str, launch: str) -> None:
    made = GROUP.check(f"parts {form} {launch}")
    assert len(re.findall(r"copyUbToGm", made.ascendc)) == FORMS[form][1]


@GROUP.each(dtype=["int8", "bfloat16"])
def other_types(dtype: str) -> Any:  # noqa: ANN401
    number = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-3, 4, (SIDE, SIDE)).astype(number) for _ in range(2))
    expected = product("columns", a.astype(np.float64), b.astype(np.float64))
    result = np.zeros((SIDE, SIDE), np.int32 if dtype == "int8" else np.float32)
    return kernel("columns", dtype, {"threads": 128}), [a, b, 1, result], expected


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_other_types(dtype: str) -> None:
    GROUP.check(f"other_types {dtype}")


@T.prim_func
def column(  # type: ignore[no-untyped-def]
    A: T.Tensor((18, 1), "float16"),
    B: T.Tensor((1, 16), "float16"),
    C: T.Tensor((18, 16), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        x = T.alloc_ub((18, 1), "float16")
        y = T.alloc_ub((1, 16), "float16")
        a = T.alloc_shared((34, 1), "float16")
        b = T.alloc_shared((1, 16), "float16")
        c = T.alloc_fragment((18, 16), "float32")
        T.copy(A, x)
        T.copy(B, y)
        T.copy(x, a[16:34, :])
        T.copy(y, b)
        T.gemm_v0(a[16:34, :], b, c, init=True)
        T.copy(c, C)


@GROUP.each()
def a_column() -> Any:  # noqa: ANN401
    a = (np.arange(18) - 5).reshape(18, 1).astype(np.float16)
    b = (np.arange(16) % 5 - 2).reshape(1, 16).astype(np.float16)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return column, [a, b, np.zeros((18, 16), np.float32)], wanted


def test_a_column_comes_as_one() -> None:
    GROUP.check("a_column")
