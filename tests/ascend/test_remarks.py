# SPDX-License-Identifier: Apache-2.0
"""Why something runs on the scalar unit: said once, with the dtype of the kernel's own tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup, compiled

import tilewright.language as T

AUTO = {"tl.ascend_auto_sync": True, "tl.ascend_memory_planning": True}
GROUP = KernelGroup()


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_a_remark_names_the_dtype_of_the_tiles(dtype: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 32), dtype), B: T.Tensor((16, 32), dtype)):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 32), dtype)
            b = T.alloc_ub((16, 32), dtype)
            T.copy(A, a)
            T.tile.add(b, a, a)
            T.copy(b, B)
            for i, j in T.Parallel(16, 32):
                b[i, j] = (a[i, j] + 1) * 2
            T.copy(b, B)

    _, told = compiled(main, AUTO)
    why = "this nest runs element by element on the scalar unit: the vector unit has no add of"
    assert told == [f"{why} {dtype}, but has it of 32 bits"] * 2


def row_maxima(dtype: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((16, 32), dtype), B: T.Tensor((16,), dtype)):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 32), dtype)
            b = T.alloc_ub((16,), dtype)
            T.copy(A, a)
            T.reduce_max(a, b, dim=1)
            T.copy(b, B)

    return main


for dtype in ("int16", "int32"):
    numbers = np.arange(512).reshape(16, 32).astype(dtype) * 37 % 101
    arguments = [numbers, np.zeros(16, dtype)]
    GROUP.add(dtype, row_maxima(dtype), arguments, numbers.max(axis=1), configs=AUTO)


@pytest.mark.parametrize("dtype", ["int16", "int32"])
def test_a_reduction_of_integers_names_its_reason_once(dtype: str) -> None:
    GROUP.check(dtype)
    assert GROUP.told(dtype) == [
        "this reduction runs element by element on the scalar unit: the vector unit has none of "
        f"{dtype} along rows"
    ]


INTEGERS = ("uint8", "uint16", "uint32", "int8", "int16", "int32")
SHAPE = (8, 32)


@T.prim_func
def silu_of_integers(  # type: ignore[no-untyped-def]
    a_u8: T.Tensor(SHAPE, "uint8"),  # type: ignore[valid-type]
    a_u16: T.Tensor(SHAPE, "uint16"),  # type: ignore[valid-type]
    a_u32: T.Tensor(SHAPE, "uint32"),  # type: ignore[valid-type]
    a_i8: T.Tensor(SHAPE, "int8"),  # type: ignore[valid-type]
    a_i16: T.Tensor(SHAPE, "int16"),  # type: ignore[valid-type]
    a_i32: T.Tensor(SHAPE, "int32"),  # type: ignore[valid-type]
    b_u8: T.Tensor(SHAPE, "uint8"),  # type: ignore[valid-type]
    b_u16: T.Tensor(SHAPE, "uint16"),  # type: ignore[valid-type]
    b_u32: T.Tensor(SHAPE, "uint32"),  # type: ignore[valid-type]
    b_i8: T.Tensor(SHAPE, "int8"),  # type: ignore[valid-type]
    b_i16: T.Tensor(SHAPE, "int16"),  # type: ignore[valid-type]
    b_i32: T.Tensor(SHAPE, "int32"),  # type: ignore[valid-type]
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        pairs = (
            (a_u8, b_u8, "uint8"),
            (a_u16, b_u16, "uint16"),
            (a_u32, b_u32, "uint32"),
            (a_i8, b_i8, "int8"),
            (a_i16, b_i16, "int16"),
            (a_i32, b_i32, "int32"),
        )
        for source, made, dtype in pairs:
            tile = T.alloc_ub(SHAPE, dtype)
            T.copy(source, tile)
            T.tile.silu(tile, tile)
            T.copy(tile, made)


def silu_in_float32() -> tuple[list[Any], dict[int, Any]]:
    given, expected = [], {}
    for dtype in INTEGERS:
        numbers = np.arange(256).reshape(SHAPE) % 120
        if not dtype.startswith("u"):
            numbers[0, :3] = [np.iinfo(dtype).min, -2, -100]
        given.append(numbers.astype(dtype))
        wide = given[-1].astype(np.float32)
        with np.errstate(over="ignore"):
            truncated = np.trunc(wide / (1 + np.exp(-wide))).astype(dtype)
        expected[len(INTEGERS) + len(expected)] = truncated
    return [*given, *(np.zeros_like(each) for each in given)], expected


GROUP.add("silu", silu_of_integers, *silu_in_float32(), configs=AUTO, rtol=0, atol=0)


def test_silu_of_integers() -> None:
    """-x has no place among unsigned numbers: it is computed in float32."""
    GROUP.check("silu")
