# SPDX-License-Identifier: Apache-2.0
"""Copies of a column of a wider tensor, and nests that read or write one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(59)
GROUP = KernelGroup()


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    if dtype.startswith("int"):
        return random.integers(-100, 100, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def add_copies(size: int, rows: int, given: str, kept: str) -> None:
    """A column of `rows` of a tensor to `size` elements, whose last ones it may lack, and back."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((rows, 24), given),
        V: T.Tensor((size,), kept),
        C: T.Tensor((rows, 24), given),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            v = T.alloc_ub((size,), kept)
            T.copy(A[0:size, 5:6], v)
            T.copy(v, V)
            T.copy(v, C[0:size, 7])

    a = numbers((rows, 24), given)
    v, c = np.zeros(size, kept), np.full((rows, 24), 77, given)
    column, written = np.zeros(size), c.astype(np.float64)
    column[:rows] = a[:, 5]
    written[:, 7] = a[:, 5]
    rtol = 2e-3 if "16" in given + kept else 1e-6
    name = f"copies {size} {rows} {given} {kept}"
    GROUP.add(name, main, [a, v, c], {1: column, 2: written}, rtol=rtol)


# Nests over columns of A and C, of blocks of 16 by 24.


@T.macro
def copied(A: Any, C: Any, b: Any, c: Any, v: Any) -> None:
    for i in T.Parallel(16):
        v[i] = A[b, i, 5]
    for i, j in T.Parallel(16, 24):
        c[i, j] = v[i]
    T.copy(c, C[b, 0, 0])


@T.macro
def computed(A: Any, C: Any, b: Any, c: Any, v: Any) -> None:
    for i in T.Parallel(16):
        v[i] = A[b, i, 5] * 2.0
    for i, j in T.Parallel(16, 24):
        c[i, j] = v[i]
    T.copy(c, C[b, 0, 0])


@T.macro
def scaled(A: Any, C: Any, b: Any, c: Any, v: Any) -> None:
    for i, j in T.Parallel(16, 24):
        c[i, j] = c[i, j] * A[b, i, 5]
    T.copy(c, C[b, 0, 0])


@T.macro
def of_two_dims(A: Any, C: Any, b: Any, c: Any, v: Any) -> None:
    w = T.alloc_ub((2, 16), "float32")
    for i, j in T.Parallel(2, 16):
        w[i, j] = A[i, j, 3] + 1.0
    for i, j in T.Parallel(16, 24):
        c[i, j] = w[1, i]
    T.copy(c, C[b, 0, 0])


@T.macro
def stored(A: Any, C: Any, b: Any, c: Any, v: Any) -> None:
    T.copy(c, C[b, 0, 0])
    for i in T.Parallel(16):
        v[i] = c[i, 0]
    for i in T.Parallel(16):
        C[b, i, 7] = v[i] * 2.0
    for i in T.Parallel(16):
        C[b, i, 9] = C[b, i, 7] + v[i]


@T.macro
def added(A: Any, C: Any, b: Any, c: Any, v: Any) -> None:
    T.copy(c, C[b, 0, 0])
    for i in T.Parallel(16):
        T.atomic_add(C[b, i, 7], c[i, 0])


@T.macro
def added_as_tiles(A: Any, C: Any, b: Any, c: Any, v: Any) -> None:
    T.copy(c, C[b, 0, 0])
    for i in T.Parallel(16):
        v[i] = c[i, 0]
    T.tile.atomic_add(C[b, :, 7:8], v)
    T.tile.atomic_add(C[b, :, 9], v)
    T.tile.atomic_add(C[b, 3:11, 11], v[0:8])
    T.tile.atomic_add(C[b, 3:16, 20], v[0:13])


NESTS: dict[str, Any] = {
    "copied": copied,
    "computed": computed,
    "scaled": scaled,
    "of_two_dims": of_two_dims,
    "stored": stored,
    "added": added,
    "added as tiles": added_as_tiles,
}


def result_of(name: str, a: Array) -> Array:
    made = a.copy()
    if name in ("copied", "computed"):
        made[:] = a[:, :, 5:6] * (2 if name == "computed" else 1)
    elif name == "scaled":
        made *= a[:, :, 5:6]
    elif name == "of_two_dims":
        made[:] = a[1, :, 3][None, :, None] + 1
    elif name == "stored":
        made[:, :, 7] = 2 * a[:, :, 0]
        made[:, :, 9] = 3 * a[:, :, 0]
    else:
        made[:, :, 7] += a[:, :, 0]
        if name == "added as tiles":
            made[:, :, 9] += a[:, :, 0]
            made[:, 3:11, 11] += a[:, 0:8, 0]
            made[:, 3:16, 20] += a[:, 0:13, 0]
    return made


def add_nest(name: str) -> None:
    function = NESTS[name]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2, 16, 24), "float32"), C: T.Tensor((2, 16, 24), "float32")
    ):
        with T.Kernel(2, is_npu=True, threads=1) as block:
            c = T.alloc_ub((16, 24), "float32")
            v = T.alloc_ub((16,), "float32")
            T.copy(A[block, 0, 0], c)
            function(A, C, block, c, v)

    a = numbers((2, 16, 24), "float32")
    GROUP.add(name, main, [a, np.zeros_like(a)], result_of(name, a.astype(np.float64)))


for size, rows in ((16, 16), (13, 13), (600, 600), (16, 11), (600, 590)):
    add_copies(size, rows, "float32", "float32")
for given, kept in (("float16", "float32"), ("int32", "int32"), ("int8", "int8")):
    add_copies(48, 48, given, kept)
for name in NESTS:
    add_nest(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_columns(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_removals(name: str) -> None:
    GROUP.check_removals(name)


def test_no_remark() -> None:
    """Columns of floats in eights are instructions."""
    case = GROUP.cases["copies 600 600 float32 float32"]
    compiled = tilewright.compile(case.kernel, target="ascend", pass_configs=AUTOMATIC)
    assert "SetValue" not in compiled.get_kernel_source()


def test_a_column_of_a_strided_tensor() -> None:
    @T.prim_func
    def main(A: T.StridedTensor((16, 1), (24, 1), "float32"), C: T.Tensor((16,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            v = T.alloc_ub((16,), "float32")
            T.copy(A[:, 0], v)
            T.copy(v, C)

    refusal = "elements that are not side by side in global memory and a row in UB"
    with pytest.raises(tilewright.CompileError, match=refusal):
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
