# SPDX-License-Identifier: Apache-2.0
"""Nests of types that the vector unit computes by a detour: unsigned integers, bytes, bools and 64
bits. None of it runs on the scalar unit, which a remark would tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

Array = np.ndarray[Any, Any]
GROUP = KernelGroup()
EXPECTED: dict[str, list[Array]] = {}


def numbers_of(dtype: str) -> list[int]:
    """Those at which signs change, and few others."""
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    middle = (most + least + 1) // 2
    return [least, least + 1, middle - 1, middle, middle + 5, most - 1, most, 3]


def pairs_of(dtype: str, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Each of some numbers beside each."""
    numbers = np.array(numbers_of(dtype), dtype)
    a, b = np.meshgrid(numbers, numbers)
    size = shape[0] * shape[1]
    return (np.resize(each.ravel(), size).reshape(shape) for each in (a, b))  # type: ignore[return-value]


def add(name: str, kernel: Any, arrays: list[Array], results: list[Array], out: str) -> None:
    stacked = np.stack([np.broadcast_to(each, arrays[0].shape) for each in results]).astype(out)
    EXPECTED[name] = [stacked]
    GROUP.add(name, kernel, [*arrays, np.zeros_like(stacked)], {len(arrays): stacked})


def wrapped(compute: Callable[[], list[Array]]) -> list[Array]:
    with np.errstate(all="ignore"):
        return compute()


def compared(shape: tuple[int, int], dtype: str) -> Any:
    edge = numbers_of(dtype)[4]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(shape, dtype),  # type: ignore[valid-type]
        B: T.Tensor(shape, dtype),  # type: ignore[valid-type]
        C: T.Tensor((8, *shape), dtype),  # type: ignore[valid-type]
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a, b, c = (T.alloc_ub(shape, dtype) for _ in range(3))
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(*shape):
                c[i, j] = T.if_then_else(a[i, j] < b[i, j], a[i, j], b[i, j])
            T.copy(c, C[0, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = T.if_then_else(T.cast(edge, dtype) >= a[i, j], a[i, j], b[i, j])
            T.copy(c, C[1, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = T.max(a[i, j], b[i, j])
            T.copy(c, C[2, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = T.min(a[i, j], T.cast(edge, dtype))
            T.copy(c, C[3, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = T.if_then_else(a[i, j] != b[i, j], a[i, j], T.cast(i + j, dtype))
            T.copy(c, C[4, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = a[i, j]
                if b[i, j] > a[i, j]:
                    c[i, j] = b[i, j] - a[i, j]
            T.copy(c, C[5, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = (a[i, j] + b[i, j]) * a[i, j] - T.cast(3, dtype)
            T.copy(c, C[6, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = ((a[i, j] >> T.cast(2, dtype)) | b[i, j]) ^ (b[i, j] << T.cast(1, dtype))
            T.copy(c, C[7, 0, 0])

    return main


PADDED = ("uint8", "uint32")
for small in ("int8", "uint8", "uint16", "uint32"):
    for shape in ((8, 32), (5, 9)) if small in PADDED else ((8, 32),):
        x, y = pairs_of(small, shape)
        limit, i_j = np.array(numbers_of(small)[4], small), np.add.outer(*map(np.arange, shape))
        made = wrapped(
            lambda x=x, y=y, limit=limit, i_j=i_j: [  # type: ignore[misc]
                np.minimum(x, y),
                np.where(limit >= x, x, y),
                np.maximum(x, y),
                np.minimum(x, limit),
                np.where(x != y, x, i_j.astype(x.dtype)),
                np.where(y > x, y - x, x),
                (x + y) * x - x.dtype.type(3),
                ((x >> x.dtype.type(2)) | y) ^ (y << x.dtype.type(1)),
            ]
        )
        add(f"{small} {shape}", compared(shape, small), [x, y], made, small)


@T.prim_func
def conditions(  # type: ignore[no-untyped-def]
    A: T.Tensor((5, 40), "float32"),  # type: ignore[valid-type]
    M: T.Tensor((5, 40), "bool"),  # type: ignore[valid-type]
    C: T.Tensor((6, 5, 40), "bool"),  # type: ignore[valid-type]
):
    """Bools that are computed, spread over rows and columns, and the same for all elements."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((5, 40), "float32")
        m, c = (T.alloc_ub((5, 40), "bool") for _ in range(2))
        T.copy(A, a)
        T.copy(M, m)
        for i, j in T.Parallel(5, 40):
            c[i, j] = a[i, j] > 0.25
        T.copy(c, C[0, 0, 0])
        for i, j in T.Parallel(5, 40):
            c[i, j] = T.Or(m[i, j], T.And(a[i, j] < 0.0, i + j < 20))
        T.copy(c, C[1, 0, 0])
        for i, j in T.Parallel(5, 40):
            c[i, j] = T.if_then_else(m[0, j], a[i, j] > 0.0, m[i, j])
        T.copy(c, C[2, 0, 0])
        for i, j in T.Parallel(5, 40):
            c[i, j] = T.if_then_else(m[i, 3], m[i, j], a[i, j] < 0.0)
        T.copy(c, C[3, 0, 0])
        for i, j in T.Parallel(5, 40):
            c[i, j] = m[2, 7]
        T.copy(c, C[4, 0, 0])
        for i, j in T.Parallel(5, 40):
            c[i, j] = T.And(m[2, 8], m[i, j])
        T.copy(c, C[5, 0, 0])


random = np.random.default_rng(7)
floats = random.standard_normal((5, 40)).astype(np.float32)
bools = random.integers(0, 2, (5, 40)).astype(bool)
row, column = np.indices((5, 40))
add(
    "conditions",
    conditions,
    [floats, bools],
    [
        floats > 0.25,
        bools | ((floats < 0) & (row + column < 20)),
        np.where(bools[:1], floats > 0, bools),
        np.where(bools[:, 3:4], bools, floats < 0),
        bools[2, 7],
        bools & bools[2, 8],
    ],
    "bool",
)

PATTERN = 0x0123456789ABCDEF


def wide(shape: tuple[int, int]) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(shape, "int64"),  # type: ignore[valid-type]
        B: T.Tensor(shape, "int64"),  # type: ignore[valid-type]
        C: T.Tensor((6, *shape), "int64"),  # type: ignore[valid-type]
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a, b, c = (T.alloc_ub(shape, "int64") for _ in range(3))
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(*shape):
                c[i, j] = (a[i, j] & T.cast(PATTERN, "int64")) ^ T.cast(5, "int64")
            T.copy(c, C[0, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = T.if_then_else(i < j, a[i, j], ~b[i, j] | T.cast(1, "int64"))
            T.copy(c, C[1, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = T.if_then_else(a[i, j] == b[i, j], a[i, j], T.cast(-PATTERN, "int64"))
            T.copy(c, C[2, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = T.cast(PATTERN, "int64")
            T.copy(c, C[3, 0, 0])
            for i, j in T.Parallel(*shape):
                c[i, j] = a[i, j] | T.cast(i * 3 - j, "int64")
            T.copy(c, C[4, 0, 0])
            T.fill(c, PATTERN)
            T.copy(c, C[5, 0, 0])

    return main


for shape in ((4, 24), (3, 5)):
    x, y = pairs_of("int64", shape)
    y = np.where(np.indices(shape).sum(0) % 3 == 0, x, y)
    i, j = np.indices(shape)
    results = [
        (x & PATTERN) ^ 5,
        np.where(i < j, x, ~y | 1),
        np.where(x == y, x, -PATTERN),
        np.full(shape, PATTERN),
        x | (i * 3 - j),
        np.full(shape, PATTERN),
    ]
    add(f"64 bits {shape}", wide(shape), [x, y], results, "int64")


@T.prim_func
def bytes_of_others(  # type: ignore[no-untyped-def]
    A: T.Tensor((3, 33), "float32"),  # type: ignore[valid-type]
    H: T.Tensor((3, 33), "float16"),  # type: ignore[valid-type]
    I: T.Tensor((3, 33), "int32"),  # type: ignore[valid-type] # noqa: E741
    C: T.Tensor((5, 3, 33), "uint8"),  # type: ignore[valid-type]
):
    """An odd number of bytes in each row; what has no place is limited, or cut to its low bits."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((3, 33), "float32")
        h = T.alloc_ub((3, 33), "float16")
        n = T.alloc_ub((3, 33), "int32")
        c, d = (T.alloc_ub((3, 33), "uint8") for _ in range(2))
        T.copy(A, a)
        T.copy(H, h)
        T.copy(I, n)
        for i, j in T.Parallel(3, 33):
            c[i, j] = T.cast(a[i, j], "uint8")
        T.copy(c, C[0, 0, 0])
        for i, j in T.Parallel(3, 33):
            d[i, j] = c[i, j]
        T.copy(d, C[1, 0, 0])
        for i, j in T.Parallel(3, 33):
            c[i, j] = T.cast(h[i, j], "uint8")
        T.copy(c, C[2, 0, 0])
        for i, j in T.Parallel(3, 33):
            c[i, j] = T.cast(n[i, j], "uint8") + T.cast(a[i, j] > 2.0, "uint8")
        T.copy(c, C[3, 0, 0])
        for i, j in T.Parallel(3, 33):
            c[i, j] = T.cast(201, "uint8")
        T.copy(c, C[4, 0, 0])


x = np.resize(np.array([0, 2.9999998, 254.99998, 300, 1e9, -1, -0.5, 17.5, 1.0]), (3, 33))
whole = np.resize(np.array([0, 255, 256, -1, 2**31 - 1, -(2**31), 77]), (3, 33)).astype(np.int32)
limited = np.clip(np.trunc(x), 0, 255)
halves = np.clip(np.trunc(np.clip(x, -1e4, 1e4).astype(np.float16).astype(float)), 0, 255)
add(
    "bytes of others",
    bytes_of_others,
    [x.astype(np.float32), np.clip(x, -1e4, 1e4).astype(np.float16), whole],
    [limited, limited, halves, ((whole & 255) + (x > 2)) & 255, np.array(201)],
    "uint8",
)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    assert [each for each in GROUP.check(name).told if "scalar unit" in each] == []
    np.testing.assert_array_equal(GROUP.run(name)[-1], EXPECTED[name][0])
