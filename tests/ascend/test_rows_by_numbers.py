# SPDX-License-Identifier: Apache-2.0
"""Nests that take rows from places, or give rows to places, that numbers in memory name: by copies
of rows, not element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

random = np.random.default_rng(53)
GROUP = KernelGroup(tolerance=1e-6)

ROWS, WIDE, MANY = 24, 64, 100

#   name: what a row is, in a kernel with these tensors. `i` is a row, `j` a column.
LOADS = {
    "tile": lambda kv, at, i, j: kv[at[i], j],
    "clamped": lambda kv, at, i, j: kv[T.max(at[i], 3), j],
    "strided": lambda kv, at, i, j: kv[i * 3 + 1, j],
    "beside": lambda kv, at, i, j: kv[at[i], j + 40],
    "computed": lambda kv, at, i, j: kv[at[i], j] * 2 + kv[i, j],
    "twice": lambda kv, at, i, j: kv[at[i], j] - kv[at[i] + 1, j],
    "chosen": lambda kv, at, i, j: T.if_then_else(at[i] >= 0, kv[at[i], j], 7),
    "with number": lambda kv, at, i, j: kv[at[i], j] + kv[at[i], 2],
}


def gather(
    load: str, width: int, dtype: str, made: str, threads: int | None = 1, begin: int = 0
) -> Any:
    element = LOADS[load]

    @T.prim_func
    def main(
        KV: T.Tensor((MANY, 96), dtype),
        I: T.Tensor((2, ROWS), "int32"),  # noqa: E741
        O: T.Tensor((2, ROWS, WIDE), made),  # noqa: E741
    ):
        with T.Kernel(2, is_npu=True, threads=threads) as cid:
            x = T.alloc_ub((ROWS, WIDE), made)
            at = T.alloc_ub((ROWS,), "int32")
            T.copy(I[cid, :], at)
            T.clear(x)
            for i, j in T.Parallel(ROWS, width):
                x[i, j + begin] = element(KV, at, i, j)
            T.copy(x, O[cid, :, :])

    return main


def gathered(load: str, width: int, begin: int, kv: Any, at: Any) -> Any:
    made = np.zeros((2, ROWS, WIDE))

    def element(row: int, column: int) -> float:
        inside = 0 <= row < kv.shape[0] and 0 <= column < kv.shape[1]
        return float(kv[row, column]) if inside else 0.0

    for block in range(2):
        for i in range(ROWS):
            n = int(at[block, i])
            for j in range(width):
                made[block, i, j + begin] = {
                    "tile": lambda n=n, i=i, j=j: element(n, j),
                    "clamped": lambda n=n, i=i, j=j: element(max(n, 3), j),
                    "strided": lambda n=n, i=i, j=j: element(i * 3 + 1, j),
                    "beside": lambda n=n, i=i, j=j: element(n, j + 40),
                    "computed": lambda n=n, i=i, j=j: element(n, j) * 2 + element(i, j),
                    "twice": lambda n=n, i=i, j=j: element(n, j) - element(n + 1, j),
                    "chosen": lambda n=n, i=i, j=j: element(n, j) if n >= 0 else 7,
                    "with number": lambda n=n, i=i, j=j: element(n, j) + element(n, 2),
                }[load]()
    return made


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    return random.integers(-60, 60, shape).astype(dtype)  # exact in all types, also doubled


def places(many: int) -> Any:
    return random.permutation(many + 10)[:ROWS].astype(np.int32)


def outside(shape: tuple[int, ...]) -> Any:
    """Some of these name no row."""
    return random.integers(-20, MANY + 20, shape).astype(np.int32)


for load, width, dtype, made, threads, begin in (
    ("tile", 64, "float16", "float16", 1, 0),
    ("tile", 64, "float16", "float16", 2, 0),
    ("tile", 40, "float32", "float32", 1, 0),
    ("tile", 40, "float16", "float16", 1, 16),
    ("tile", 33, "float16", "float16", 1, 3),
    ("tile", 64, "float16", "float32", 1, 0),
    ("tile", 64, "int8", "int8", 1, 0),
    ("tile", 50, "int32", "int32", 2, 8),
    ("clamped", 64, "float32", "float32", 1, 0),
    ("strided", 64, "float32", "float32", 1, 0),
    ("beside", 64, "float16", "float16", 1, 0),
    ("beside", 20, "float32", "float32", 1, 0),
    ("computed", 64, "float32", "float32", 2, 0),
    ("computed", 36, "float32", "float32", 1, 0),
    ("twice", 64, "float32", "float32", 1, 0),
    ("chosen", 64, "float16", "float16", 1, 0),
    ("with number", 64, "float32", "float32", 1, 0),
):
    kv, at = numbers((MANY, 96), dtype), outside((2, ROWS))
    GROUP.add(
        f"gather {load} {width} {dtype} {made} {threads} {begin}",
        gather(load, width, dtype, made, threads, begin),
        [kv, at, np.zeros((2, ROWS, WIDE), made)],
        gathered(load, width, begin, kv, at),
    )


def scatter(form: str, width: int, dtype: str, threads: int | None = 1) -> Any:
    """Each block's rows to a tensor of its own."""

    @T.prim_func
    def main(
        X: T.Tensor((2, ROWS, WIDE), dtype),
        I: T.Tensor((2, ROWS), "int32"),  # noqa: E741
        O: T.Tensor((2, MANY, WIDE), dtype),  # noqa: E741
    ):
        with T.Kernel(2, is_npu=True, threads=threads) as cid:
            x = T.alloc_ub((ROWS, WIDE), dtype)
            at = T.alloc_ub((ROWS,), "int32")
            T.copy(I[cid, :], at)
            T.copy(X[cid, :, :], x)
            for i, j in T.Parallel(ROWS, width):
                if form == "tile" or form == "again":
                    O[cid, at[i], j] = x[i, j]
                elif form == "computed":
                    O[cid, at[i], j] = x[i, j] * 2 + 1
                elif form == "both":
                    O[cid, at[i], j] = X[1 - cid, at[ROWS - 1 - i], j]
                elif form == "some":
                    if at[i] > 5:
                        O[cid, at[i], j] = x[i, j]
                elif form == "added":
                    T.atomic_add(O[cid, at[i], j], x[i, j])
                else:
                    O[cid, at[i], j] = O[cid, at[i], j] + x[i, j]

    return main


def scattered(form: str, width: int, x: Any, at: Any, start: Any) -> Any:
    made = start.astype(np.float64)
    for block in range(2):
        for i in range(ROWS):
            n, other = int(at[block, i]), int(at[block, ROWS - 1 - i])
            if not 0 <= n < MANY:
                continue
            row = x[block, i, :width].astype(np.float64)
            if form == "both":
                row = x[1 - block, other, :width] if 0 <= other < ROWS else np.zeros(width)
            if form == "computed":
                row = row * 2 + 1
            if form in ("added", "sum"):
                row = row + made[block, n, :width]
            if form != "some" or n > 5:
                made[block, n, :width] = row
    return made


for form, width, dtype, threads in (
    ("tile", 64, "float16", 1),
    ("tile", 37, "float32", 1),
    ("tile", 64, "int8", 1),
    ("computed", 64, "float32", 1),
    ("computed", 27, "float16", 1),
    ("both", 64, "float32", 1),
    ("some", 64, "float16", 1),
    ("added", 64, "float32", 1),
    ("sum", 64, "float32", 1),
    ("again", 64, "float32", 1),
):
    x, at = numbers((2, ROWS, WIDE), dtype), np.stack([places(MANY), places(MANY)])
    at[:, 3] = -2
    if form in ("added", "again"):
        at[:, 5:12] = at[:, 12:19]
    start = numbers((2, MANY, WIDE), dtype)
    GROUP.add(
        f"scatter {form} {width} {dtype} {threads}",
        scatter(form, width, dtype, threads),
        [x, at, start],
        scattered(form, width, x, at, start),
    )


def in_ub(form: str, width: int, dtype: str) -> Any:
    @T.prim_func
    def main(
        X: T.Tensor((ROWS, WIDE), dtype),
        I: T.Tensor((ROWS,), "int32"),  # noqa: E741
        O: T.Tensor((ROWS, WIDE), dtype),  # noqa: E741
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, WIDE), dtype)
            y = T.alloc_ub((ROWS, WIDE), dtype)
            at = T.alloc_ub((ROWS,), "int32")
            T.copy(I, at)
            T.copy(X, x)
            T.clear(y)
            for i, j in T.Parallel(ROWS, width):
                if form == "gather":
                    y[i, j] = x[at[i], j]
                elif form == "computed":
                    y[i, j] = x[at[i], j] * 2 - x[i, j]
                elif form == "within":
                    y[i, j] = x[at[i], j + 3]
                else:
                    y[at[i], j] = x[i, j]
            T.copy(y, O)

    return main


for form, width, dtype in (
    ("gather", 64, "float16"),
    ("gather", 45, "float32"),
    ("computed", 64, "float32"),
    ("within", 40, "float16"),
    ("scatter", 64, "float32"),
    ("scatter", 40, "float16"),
):
    x, at = numbers((ROWS, WIDE), dtype), random.permutation(ROWS).astype(np.int32)
    wanted = np.zeros((ROWS, WIDE))
    for i in range(ROWS):
        if form == "scatter":
            wanted[at[i], :width] = x[i, :width]
        elif form == "within":
            wanted[i, :width] = x[at[i], 3 : width + 3]
        elif form == "computed":
            wanted[i, :width] = 2.0 * x[at[i], :width] - x[i, :width]
        else:
            wanted[i, :width] = x[at[i], :width]
    GROUP.add(
        f"in UB {form} {width} {dtype}",
        in_ub(form, width, dtype),
        [x, at, np.zeros((ROWS, WIDE), dtype)],
        wanted,
    )


def paged(heads: int, dim: int) -> Any:
    """Rows of pages, of which a table has the numbers; all heads of a token at once."""

    @T.prim_func
    def main(
        KV: T.Tensor((6, 8, heads, dim), "float16"),
        pages: T.Tensor((2, 4), "int32"),
        O: T.Tensor((2, 32, heads, dim), "float16"),  # noqa: E741
    ):
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((32, heads, dim), "float16")
            table = T.alloc_ub((8,), "int32")
            T.copy(pages[cid, :], table[0:4])
            for i, h, j in T.Parallel(32, heads, dim):
                x[i, h, j] = KV[table[i // 8], i % 8, h, j]
            T.copy(x, O[cid, :, :, :])

    return main


kv = numbers((6, 8, 3, 32), "float16")
table = random.integers(0, 6, (2, 4)).astype(np.int32)
GROUP.add(
    "paged",
    paged(3, 32),
    [kv, table, np.zeros((2, 32, 3, 32), np.float16)],
    kv[table].reshape(2, 32, 3, 32).astype(np.float64),
)


def attended(stages: int) -> Any:
    """Rows of an operand, in a pipelined loop."""

    @T.prim_func
    def main(
        Q: T.Tensor((2, 16, 64), "float16"),
        K: T.Tensor((MANY, 64), "float16"),
        I: T.Tensor((2, 48), "int32"),  # noqa: E741
        S: T.Tensor((2, 16, 48), "float32"),
    ):
        with T.Kernel(2, is_npu=True) as (cid, _vid):
            q = T.alloc_shared((16, 64), "float16")
            k = T.alloc_shared((16, 64), "float16")
            s = T.alloc_fragment((16, 16), "float32")
            at = T.alloc_shared((16,), "int32")
            T.copy(Q[cid, :, :], q)
            for part in T.Pipelined(3, num_stages=stages):
                T.copy(I[cid, part * 16], at)
                for i, j in T.Parallel(16, 64):
                    k[i, j] = K[at[i], j]
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                T.copy(s, S[cid, :, part * 16 : (part + 1) * 16])

    return main


for stages in (1, 2):
    q, k = numbers((2, 16, 64), "float16"), numbers((MANY, 64), "float16")
    at = outside((2, 48))
    rows = np.where(((at >= 0) & (at < MANY))[..., None], k[np.clip(at, 0, MANY - 1)], 0)
    GROUP.add(
        f"operand {stages}",
        attended(stages),
        [q, k, at, np.zeros((2, 16, 48), np.float32)],
        np.einsum("bhd,bkd->bhk", q.astype(np.float64), rows.astype(np.float64)),
    )

# Only the scalar unit takes what begins within a block, or what the nest stores itself.
STAY = (
    "gather tile 33 float16 float16 1 3",
    "scatter sum 64 float32 1",
    "in UB within 40 float16",
)


TWICE = "scatter again 64 float32 1"


@pytest.mark.parametrize("name", [name for name in GROUP.cases if name != TWICE])
def test_numbers(name: str) -> None:
    case = GROUP.check(name)
    by_element = [each for each in case.told if "element by element" in each]
    assert bool(by_element) == (name in STAY)
    assert (".SetValue(" in case.ascendc) == (name in STAY or "with number" in name)


def test_of_two_rows_for_one_place_the_later_one_stays() -> None:
    """The language leaves open which one; loops of elements, and so copies, keep their order."""
    made = GROUP.run(TWICE)
    GROUP.cases[TWICE].check(made, "host")


@pytest.mark.parametrize(
    "name", ["gather tile 64 float16 float16 1 0", "scatter tile 64 float16 1", "operand 2"]
)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_verdicts_where_words_of_a_tensor_are_compared() -> None:
    """Two rows for one place, of numbers above 5."""
    GROUP.check_removals("scatter some 64 float16 1", most=None)
