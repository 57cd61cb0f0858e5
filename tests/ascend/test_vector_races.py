# SPDX-License-Identifier: Apache-2.0
"""What the two vector cores of a block do to the same bytes in kernels whose flags the compiler
finds, in turns of loops, and beside the cube core: the compiler tells what the host comes
to, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright.language as T

HALVES = T.Tensor((16, 16), "float16")
ROWS = T.Tensor((64, 16), "float32")
ELEMENTS = T.Tensor((64,), "int32")
READS = (
    "one vector core of a block reads here what the other one stores of '{}', and nothing orders "
    "them: put T.sync_all() between them, or let each keep to a part of its own, by vid"
)
STORES = READS.replace("reads", "stores", 1)
IN_TURNS = (
    "what the two vector cores of a block store here of 'C' overlaps, in one turn of a loop or "
    "another, and nothing orders them: let each keep to a part of its own, by vid"
)
#: What the compiler says of each, or nothing.
TOLD = {
    "tile": READS.format("C"),
    "tile behind a meeting": None,
    "tile of one core": None,
    "tile that both store": STORES.format("C"),
    "rows that overlap": READS.format("C"),
    "rows of its own": None,
    "rows that meet in another turn": IN_TURNS,
    "rows of the turn before": READS.format("C"),
    "rows of turns apart": None,
    "rows of one turn of n % 2": None,
    "rows of one turn below 2": None,
    "rows of one counted turn": None,
    "rows up to n": READS.format("C"),
    "rows up to n of its own": None,
    "tile beside a product": READS.format("C"),
    "tile behind a product": None,
    "tile behind a product of one turn": READS.format("C"),
    "tile beside a meeting of n turns": None,
    "element": READS.format("D"),
    "element behind a meeting": None,
    "elements of their own": None,
    "element of both": STORES.format("D"),
    "element beside a product": READS.format("D"),
    "element of the cube core": None,
    "element that ends a loop": READS.format("D"),
    "element that ends a loop behind a meeting": None,
    "either of two branches": None,
    "other branches": None,
    "n: a branch of no turns": None,
    "n: a branch of four turns": STORES.format("C"),
    "n: rows below 1": None,
    "n: rows below 5": STORES.format("C"),
    "n: rows where n is negative": None,
}


def tiles(form: str) -> Any:
    @T.prim_func
    def main(A: HALVES, C: ROWS, D: ELEMENTS, n: T.int32, E: ROWS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_shared((16, 16), "float32")
            y = T.alloc_shared((16, 16), "float32")
            T.tile.fill(x, 1.0)
            T.tile.fill(y, 2.0)
            if form in ("tile", "tile behind a meeting"):
                if vid == 0:
                    T.copy(x, C[0, 0])
                if form == "tile behind a meeting":
                    T.sync_all()
                if vid == 1:
                    T.copy(C[0, 0], y)
                    T.copy(y, E[16, 0])
            elif form == "tile of one core":
                if vid == 1:
                    T.copy(x, C[0, 0])
                    T.copy(C[0, 0], y)
                    T.copy(y, E[16, 0])
            elif form == "tile that both store":
                if vid == 0:
                    T.copy(x, C[0, 0])
                else:
                    T.copy(x, C[8, 0])
            elif form == "tile beside a meeting of n turns":
                for _ in T.serial(n):
                    if vid == 0:
                        T.copy(x, C[0, 0])
                    T.sync_all()
                    T.copy(C[0, 0], y)
                    T.sync_all()
            elif form == "either of two branches":
                if n > 5:
                    T.copy(x, C[vid * 16, 0])
                else:
                    T.copy(C[16 - vid * 16, 0], y)
            elif form == "other branches":
                if n > 5:
                    T.copy(x, C[vid * 16, 0])
                if n < 3:
                    T.copy(C[16 - vid * 16, 0], y)
            if vid == 0:
                T.copy(y, E[48, 0])

    return main


def numbers(form: str) -> Any:
    """What `n` says, of which 4 is given."""

    @T.prim_func
    def main(A: HALVES, C: ROWS, D: ELEMENTS, n: T.int32, E: ROWS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_shared((16, 16), "float32")
            T.tile.fill(x, 1.0)
            if "branch" in form:
                asked = 0 if "no turns" in form else 4
                for i in T.serial(n):
                    if vid == 0:
                        T.copy(x, C[i * 16, 0])
                if n == asked:
                    T.tile.fill(x, 2.0)
                    if vid == 1:
                        T.copy(x, C[0, 0])
            elif "negative" in form:
                if vid == 0:
                    T.copy(x, C[0, 0])
                if n // 2 < 0:
                    T.tile.fill(x, 2.0)
                    if vid == 1:
                        T.copy(x[0 : T.min(n, 16), :], C[0, 0])
            else:
                end = 1 if "1" in form else 5
                if vid == 0:
                    T.copy(x[0:n, :], C[0:n, :])
                else:
                    T.copy(x[0 : end - n, :], C[0 : end - n, :])

    return main


def rows(form: str) -> Any:
    @T.prim_func
    def main(A: HALVES, C: ROWS, D: ELEMENTS, n: T.int32, E: ROWS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_shared((16, 16), "float32")
            y = T.alloc_shared((16, 16), "float32")
            T.tile.fill(x, 1.0)
            T.tile.fill(y, 2.0)
            if form in ("rows that overlap", "rows of its own"):
                apart = 16 if "own" in form else 8
                T.copy(x, C[vid * 32, 0])
                T.copy(C[vid * 32 + 24 - apart, 0], y)
                T.copy(y, E[vid * 32, 0])
                if form == "rows that overlap":
                    T.copy(C[24, 0], y)
            elif form == "rows that meet in another turn":
                for i in T.serial(3):
                    T.copy(x, C[(i + vid) * 16, 0])
            elif form in ("rows of the turn before", "rows of turns apart"):
                step = 1 if "before" in form else 0
                for i in T.serial(2):
                    T.copy(x, C[(i * 2 + vid) * 16, 0])
                    T.copy(C[(i * 2 + vid) * 16 - vid * step * 16, 0], y)
            elif form == "rows of one turn of n % 2":
                for i in T.serial(n % 2):
                    T.copy(x, C[(i + vid) * 16, 0])
            elif form == "rows of one turn below 2":
                if n < 2:
                    for i in T.serial(n):
                        T.copy(x, C[(i + vid) * 16, 0])
            elif form == "rows of one counted turn":
                turns = T.alloc_var("int32", init=0)
                while turns < 1 and turns < n:
                    T.copy(x, C[(turns + vid) * 16, 0])
                    turns = turns + 1
            elif form in ("rows up to n", "rows up to n of its own"):
                first = 16 * vid if "own" in form else 0
                if vid == 0:
                    T.copy(x[0:n, :], C[0:n, :])
                else:
                    T.copy(C[first : first + n, :], y[0:n, :])
            if vid == 0:
                T.copy(y, E[48, 0])

    return main


def elements(form: str) -> Any:
    @T.prim_func
    def main(A: HALVES, C: ROWS, D: ELEMENTS, n: T.int32, E: ROWS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_shared((16, 16), "float32")
            y = T.alloc_shared((16, 16), "float32")
            T.tile.fill(x, 1.0)
            T.tile.fill(y, 2.0)
            if form in ("element", "element behind a meeting", "elements of their own"):
                if vid == 0:
                    D[16] = n
                if form == "element behind a meeting":
                    T.sync_all()
                if form == "elements of their own":
                    D[32 + vid * 16] = n
                    T.tile.add(y, x, T.cast(D[32 + vid * 16], "float32"))
                else:
                    T.tile.add(y, x, T.cast(D[16], "float32"))
            elif form == "element of both":
                if vid == 0:
                    D[16] = n
                else:
                    D[16] = 3
            if vid == 0:
                T.copy(y, E[48, 0])

    return main


def products(form: str) -> Any:
    behind = "behind a meeting" in form

    @T.prim_func
    def main(A: HALVES, C: ROWS, D: ELEMENTS, n: T.int32, E: ROWS):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_shared((16, 16), "float32")
            y = T.alloc_shared((16, 16), "float32")
            T.tile.fill(x, 1.0)
            T.tile.fill(y, 2.0)
            left = T.alloc_shared((16, 16), "float16")
            product = T.alloc_fragment((16, 16), "float32")
            z = T.alloc_shared((16, 16), "float32")
            T.copy(A, left)
            if form in ("tile beside a product", "tile behind a product"):
                T.gemm_v0(left, left, product, init=True)
                if vid == 0:
                    T.copy(x, C[0, 0])
                if form == "tile behind a product":
                    T.copy(x, left)
                    T.gemm_v0(left, left, product)
                T.copy(product, z)
                T.tile.add(z, z, z)
                if vid == 1:
                    T.copy(C[0, 0], y)
                T.tile.add(y, y, z)
            elif form == "tile behind a product of one turn":
                for i in T.serial(2):
                    T.copy(x, left)
                    T.gemm_v0(left, left, product, init=True)
                    T.copy(product, z)
                    if vid == 0:
                        T.copy(z, C[0, 0])
                    T.copy(C[i * 16, 0], y)
            elif form in ("element beside a product", "element of the cube core"):
                T.gemm_v0(left, left, product, init=True)
                T.copy(product, z)
                if vid == 0:
                    D[0] = T.cast(z[0, 0], "int32")
                if D[0] > 3:
                    T.gemm_v0(left, left, product)
                T.copy(product, E[0, 0])
                if form == "element beside a product":
                    T.tile.add(y, x, T.cast(D[0], "float32"))
            elif "element that ends a loop" in form:
                for i in T.serial(4):
                    T.gemm_v0(left, left, product, init=(i == 0))
                    T.copy(product, z)
                    if vid == 0:
                        D[0] = T.cast(z[0, 0], "int32")
                    if behind:
                        T.sync_all()
                    if D[0] > 20:
                        break
                    if behind:
                        T.sync_all()
                T.copy(product, z)
            if vid == 0:
                T.copy(y, E[48, 0])

    return main


GROUP = KernelGroup()
GIVEN = [
    np.ones((16, 16), np.float16),
    np.zeros((64, 16), np.float32),
    np.zeros(64, np.int32),
    4,
    np.zeros((64, 16), np.float32),
]
for name, wanted in TOLD.items():
    of_cube = "product" in name or "cube" in name or "ends a loop" in name
    of_vectors = {"r": rows, "e": elements, "n": numbers}.get(name[0], tiles)
    kernel = products if of_cube else tiles if "branches" in name else of_vectors
    if wanted is None:
        GROUP.add(name, kernel(name), GIVEN, {})
    else:
        GROUP.add_faulty(name, kernel(name), GIVEN, AUTOMATIC)


@pytest.mark.parametrize("form", TOLD)
def test_compiler_and_host_agree(form: str) -> None:
    wanted = TOLD[form]
    told = [each for each in GROUP.told(form) if "nothing orders them" in each]
    if wanted is None:
        assert told == []
        GROUP.run(form)
        return
    assert {each.partition("; line")[0] for each in told} == {wanted}
    with pytest.raises(RuntimeError, match="nothing orders this .* by .*vector core"):
        GROUP.run(form)
