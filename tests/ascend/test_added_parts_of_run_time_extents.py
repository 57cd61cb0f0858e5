# SPDX-License-Identifier: Apache-2.0
"""Gemms of extents that the kernel knows as it runs, which add to what vector instructions have
changed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from cut_products import LAYOUTS, Layout, Sizes, load_parts, operands, shapes
from kernel_group import KernelGroup

import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

GROUP = KernelGroup()
random = np.random.default_rng(83)


def launch_of(threads: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"threads": 128} if threads == "GPU" else {"is_npu": True, "threads": threads}


def doubled_each_step(
    sizes: Sizes, block: Sizes, layout: Layout, dtype: str, threads: Any, *, whole: bool
) -> PrimFunc:
    """Each step doubles what is there and adds what there is of its tiles. `whole`: the vector
    unit takes all of the tile, else the rows and columns that there are."""
    M, N, K = sizes
    bm, bn, bk = block
    turn_a, turn_b = layout
    a_shape, b_shape = shapes(sizes, layout)
    a_tile, b_tile = shapes(block, layout)
    sums = "int32" if dtype == "int8" else "float32"
    columns = T.ceildiv(N, bn)

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), sums)):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(M, bm) * columns, **launch_of(threads)) as ids:
            cid = ids if threads is not None else ids[0]
            a = T.alloc_shared(a_tile, dtype)
            b = T.alloc_shared(b_tile, dtype)
            c = T.alloc_fragment((bm, bn), sums)
            x, y = cid // columns * bm, cid % columns * bn
            m, n = T.min(bm, M - x), T.min(bn, N - y)
            T.fill(c, 3)
            for step in T.serial(T.ceildiv(K, bk)):
                z = step * bk
                k = T.min(bk, K - z)
                load_parts(A, B, a, b, (x, y, z), (m, n, k), layout)
                for i, j in T.Parallel(bm if whole else m, bn if whole else n):
                    c[i, j] = c[i, j] * 2
                T.gemm_v0(
                    a[0:k, 0:m] if turn_a else a[0:m, 0:k],
                    b[0:n, 0:k] if turn_b else b[0:k, 0:n],
                    c[0:m, 0:n],
                    transpose_A=turn_a,
                    transpose_B=turn_b,
                )
            T.copy(c[0:m, 0:n], C[x : x + m, y : y + n])

    return main


def doubled_sum(given: list[Any], layout: Layout, step: int) -> Any:  # noqa: ANN401
    a, b = (
        (x.T if turned else x).astype(np.float64)
        for x, turned in zip(given[:2], layout, strict=True)
    )
    total = np.full((a.shape[0], b.shape[1]), 3.0)
    for first in range(0, a.shape[1], step):
        total = total * 2 + a[:, first : first + step] @ b[first : first + step]
    return total


SIZES: list[tuple[tuple[int, int, int], Sizes]] = [
    ((70, 50, 45), (32, 32, 32)),
    ((33, 97, 100), (64, 64, 32)),
    ((7, 5, 3), (32, 32, 32)),
    ((64, 64, 64), (32, 32, 32)),
]
for number, each in enumerate(LAYOUTS):
    letters = "".join("T" if turned else "N" for turned in each)
    for at, (sizes, block) in enumerate(SIZES):
        dtype = ("float16", "bfloat16", "float32", "int8")[(number + at) % 4]
        threads = (None, 1, 2, "GPU")[at]
        given, _ = operands(random, sizes, each, dtype)
        for whole in (True, False) if at % 2 == 0 else (True,):
            GROUP.add(
                f"{dtype} {letters} {sizes} in {block} {threads}{'' if whole else ' parts'}",
                doubled_each_step(sizes, block, each, dtype, threads, whole=whole),
                given,
                doubled_sum(given, each, block[2]),
            )
    given, _ = operands(random, (75, 83, 79), each, "float16")
    names = (T.symbolic("m"), T.symbolic("n"), T.symbolic("k"))
    dynamic = doubled_each_step(names, (32, 64, 32), each, "float16", 2, whole=True)
    GROUP.add(f"float16 {letters} dynamic", dynamic, given, doubled_sum(given, each, 32))


def counted(body: Any, dtype: str = "float16") -> PrimFunc:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), dtype),
        B: T.Tensor((32, 32), dtype),
        C: T.Tensor((32, 32), "float32"),
        m: T.int32,
        n: T.int32,
        k: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=2):
            a = T.alloc_shared((32, 32), dtype)
            b = T.alloc_shared((32, 32), dtype)
            T.copy(A, a)
            T.copy(B, b)
            body(a, b, C, m, n, k)

    return main


@T.macro
def all_written(a: Any, b: Any, C: Any, m: Any, n: Any, k: Any) -> None:
    """What is behind the part stays."""
    c = T.alloc_fragment((32, 32), "float32")
    T.fill(c, 1)
    T.gemm(a[0:m, 0:k], b[0:k, 0:n], c[0:m, 0:n])
    T.copy(c, C)


@T.macro
def part_written(a: Any, b: Any, C: Any, m: Any, n: Any, k: Any) -> None:
    """Nobody has written what is behind the part."""
    c = T.alloc_fragment((32, 32), "float32")
    T.fill(c[0:m, 0:n], 1)
    T.gemm(a[0:m, 0:k], b[0:k, 0:n], c[0:m, 0:n])
    T.copy(c[0:m, 0:n], C[0:m, 0:n])


@T.macro
def part_cleared(a: Any, b: Any, C: Any, m: Any, n: Any, k: Any) -> None:
    c = T.alloc_fragment((32, 32), "float32")
    T.clear(c[0:m, 0:n])
    T.gemm(a[0:m, 0:k], b[0:k, 0:n], c[0:m, 0:n])
    T.gemm(a[0:m, 0:k], b[0:k, 0:n], c[0:m, 0:n])
    T.copy(c[0:m, 0:n], C[0:m, 0:n])


@T.macro
def some_rows(a: Any, b: Any, C: Any, m: Any, n: Any, k: Any) -> None:
    """From row n on, all columns."""
    c = T.alloc_fragment((32, 32), "float32")
    T.fill(c, 1)
    T.gemm(a[0:m, 0:k], b[0:k, :], c[n : n + m, :])
    T.copy(c, C)


@T.macro
def of_two_tiles(a: Any, b: Any, C: Any, m: Any, n: Any, k: Any) -> None:
    c = T.alloc_fragment((2, 32, 32), "float32")
    T.fill(c, 1)
    T.gemm(a[0:m, 0:k], b[0:k, 0:n], c[1, 0:m, 0:n])
    T.copy(c[1, :, :], C)


@T.macro
def two_products(a: Any, b: Any, C: Any, m: Any, n: Any, k: Any) -> None:
    """In a loop, of the same part: one addition in UB for each turn."""
    c = T.alloc_fragment((32, 32), "float32")
    T.fill(c, 1)
    for _ in T.serial(2):
        T.gemm(a[0:m, 0:k], b[0:k, 0:n], c[0:m, 0:n])
        T.gemm(a[0:m, 0:k], b[0:k, 0:n], c[0:m, 0:n])
        for i, j in T.Parallel(32, 32):
            c[i, j] = c[i, j] * 0.5
    T.copy(c, C)


@T.macro
def cleared_or_not(a: Any, b: Any, C: Any, m: Any, n: Any, k: Any) -> None:
    """A gemm that clears leaves behind the part what nobody knows."""
    c = T.alloc_fragment((32, 32), "float32")
    T.fill(c, 1)
    for step in T.serial(2):
        for i, j in T.Parallel(m, n):
            c[i, j] = c[i, j] * 2
        T.gemm_v0(a[0:m, :], b[:, 0:n], c[0:m, 0:n], init=T.And(step == 0, k > 16))
    T.copy(c[0:m, 0:n], C[0:m, 0:n])


left, right = (random.integers(-3, 4, (32, 32)).astype(np.float16) for _ in range(2))


def product(m: int, n: int, k: int) -> Any:  # noqa: ANN401
    return left[:m, :k].astype(np.float64) @ right[:k, :n].astype(np.float64)


def expected(body: Any, m: int, n: int, k: int) -> Any:  # noqa: ANN401
    full = np.ones((32, 32))
    part = np.zeros((32, 32))
    if body is some_rows:
        full[n : n + m] += product(m, 32, k)
        return full
    if body is cleared_or_not:
        part[:m, :n] = 3 * product(m, n, 32) if k > 16 else 4 + 3 * product(m, n, 32)
        return part
    if body is two_products:
        full *= 0.25
        full[:m, :n] += 1.5 * product(m, n, k)
        return full
    part[:m, :n] = product(m, n, k)
    if body is part_cleared:
        return 2 * part
    if body is part_written:
        part[:m, :n] += 1
        return part
    return full + part


BODIES = [all_written, part_written, part_cleared, some_rows, of_two_tiles, two_products]
BODIES.append(cleared_or_not)
for body in BODIES:
    made = counted(body)
    for m, n, k in ((32, 32, 32), (13, 9, 21), (16, 16, 16), (1, 17, 5), (20, 12, 0), (0, 7, 8)):
        if body is some_rows and n + m > 32:
            m = 32 - n  # noqa: PLW2901
        given = [left, right, np.zeros((32, 32), np.float32), m, n, k]
        wanted = {2: expected(body, m, n, k)}
        GROUP.add(f"{body.__name__} {m} {n} {k}", made, given, wanted)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", [name for name in GROUP.cases if not re.search(r"\b0\b", name)])
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name, None if name.startswith("part_") else 3)
