# SPDX-License-Identifier: Apache-2.0
"""A gemm's tile, of which a block has one, where vid says which vector core does what with it: the
interpreter and the host do the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

GROUP = KernelGroup()
SIDE = 32
HALF = SIDE // 2
A = (np.arange(SIDE * SIDE) % 7 - 3).reshape(SIDE, SIDE).astype(np.float16)
PRODUCT = A.astype(np.float64) @ A.astype(np.float64)
ZERO = np.zeros_like(PRODUCT)
ONE = np.ones_like(PRODUCT)
NUMBERS = np.array([2, 0], np.int32)


def stacked(*tiles: Any) -> Any:  # noqa: ANN401
    return np.stack(tiles)


#: What comes of C, two tiles.
EXPECTED = {
    "parts": stacked(PRODUCT, ZERO),
    "parts of a changed tile": stacked(PRODUCT + 1, ZERO),
    "parts by division": stacked(PRODUCT, ZERO),
    "parts of a tile in L0C": stacked(PRODUCT, ZERO),
    "parts, added": stacked(2 * PRODUCT, ZERO),
    "by the second": stacked(PRODUCT, ZERO),
    "by the second, of a changed tile": stacked(PRODUCT + 1, ZERO),
    "by the second, of a tile in L0C": stacked(PRODUCT, ZERO),
    "to places of their own": stacked(PRODUCT, PRODUCT),
    "in a turn of each": stacked(2 * PRODUCT, ZERO),
    "as often as vid says": stacked(3 * PRODUCT, ZERO),
    "until vid says": stacked(PRODUCT, ZERO),
    "by a variable": stacked(PRODUCT, PRODUCT),
    "a changed part": stacked(2 * PRODUCT, ZERO),
    "changed by the second": stacked(2 * PRODUCT, ZERO),
    "a view": stacked(PRODUCT, ZERO),
    "by an element": stacked(PRODUCT, PRODUCT),
    "in a loop": stacked(6 * PRODUCT, ZERO),
    "no turn": stacked(PRODUCT, ZERO),
    "where one goes on inside": stacked(
        np.where(np.arange(SIDE)[:, None] < HALF, PRODUCT, 0),
        np.where(np.arange(SIDE)[:, None] < HALF, 0, PRODUCT),
    ),
    "by the ways of a branch": stacked(PRODUCT, 2 * PRODUCT),
}


def used(form: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        N: T.Tensor((2,), "int32"),
        n: T.int32,
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((SIDE, SIDE), "float16")
            if "L0C" in form:
                c = T.alloc_L0C((SIDE, SIDE), "float32")
            else:
                c = T.alloc_fragment((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            if "of a changed" in form:
                for i, j in T.Parallel(SIDE, SIDE):
                    c[i, j] = c[i, j] + 1.0
            if form == "parts by division":
                T.copy(c[vid * SIDE // 2 : vid * SIDE // 2 + HALF, :], C[0, vid * SIDE // 2, 0])
            elif form == "parts, added":
                T.atomic_add(C[0, vid * HALF, 0], c[vid * HALF : vid * HALF + HALF, :])
                T.atomic_add(C[0, 0, 0], c)
            elif form.startswith("parts"):
                T.copy(c[vid * HALF : vid * HALF + HALF, :], C[0, vid * HALF, 0])
            elif form.startswith("by the second"):
                if vid == 1:
                    T.atomic_add(C[0, 0, 0], c)
            elif form == "to places of their own":
                T.copy(c, C[vid, 0, 0])
            elif form == "in a turn of each":
                for k in T.serial(n + 1):
                    if vid == k:
                        T.atomic_add(C[0, 0, 0], c)
            elif form == "as often as vid says":
                for _k in T.serial(vid + 1):
                    T.atomic_add(C[0, 0, 0], c)
            elif form == "until vid says":
                for k in T.serial(n):
                    if vid == k:
                        T.loop_break()
                    T.atomic_add(C[0, 0, 0], c)
            elif form == "by a variable":
                v = T.alloc_var("int32", init=0)
                v = vid
                T.atomic_add(C[v, 0, 0], c)
            elif form == "a changed part":
                for i, j in T.Parallel(HALF, SIDE):
                    c[vid * HALF + i, j] = c[vid * HALF + i, j] * 2.0
                T.copy(c[vid * HALF : vid * HALF + HALF, :], C[0, vid * HALF, 0])
            elif form == "changed by the second":
                if vid == 1:
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[i, j] = c[i, j] * 2.0
                    T.copy(c, C[0, 0, 0])
            elif form == "a view":
                flat = T.reshape(c, (SIDE * SIDE,))
                flat_out = T.reshape(C, (2 * SIDE * SIDE,))
                T.copy(
                    flat[vid * HALF * SIDE : (vid + 1) * HALF * SIDE], flat_out[vid * HALF * SIDE]
                )
            elif form == "by an element":
                T.copy(c, C[N[vid] // 2, 0, 0])
            elif form == "in a loop":
                for k in T.serial(3):
                    T.gemm_v0(a, a, c, init=k == 0)
                    T.atomic_add(C[0, vid * HALF, 0], c[vid * HALF : vid * HALF + HALF, :])
            elif form == "where one goes on inside":
                for _k in T.serial(n):
                    for _j in T.serial(2):
                        if vid == 0:
                            continue
                    T.copy(c[vid * HALF : vid * HALF + HALF, :], C[vid, vid * HALF, 0])
            elif form == "by the ways of a branch":
                if vid == 1:
                    T.copy(c, C[0, 0, 0])
                else:
                    T.gemm_v0(a, a, c)
                T.copy(c, C[1, 0, 0])
            else:
                for _k in T.serial(n - 2):
                    T.gemm_v0(a, a, c)
                T.copy(c[vid * HALF : vid * HALF + HALF, :], C[0, vid * HALF, 0])

    return main


#: What a turn does before it ends by vid, or in a branch on vid.
IN_TURNS = {
    "handed over before one goes on": stacked(PRODUCT, ZERO),
    "counted before one goes on": stacked(3 * PRODUCT, ZERO),
    "taken by one": stacked(PRODUCT, ONE),
    "taken by the other": stacked(2 * ONE, PRODUCT),
    "a part taken by each": stacked(
        np.concatenate([PRODUCT[HALF:], ONE[HALF:]]), np.concatenate([ONE[HALF:], PRODUCT[:HALF]])
    ),
    "taken in a turn of each": stacked(PRODUCT + 1, 2 * PRODUCT + 2),
    "taken until vid says": stacked(ONE, PRODUCT),
    "taken where an element says": stacked(ONE, PRODUCT),
    "taken before anything is there": stacked(ONE, PRODUCT),
    "given by the second": stacked(4 * PRODUCT, ZERO),
    "given by the first, in turns": stacked(2 * PRODUCT, ZERO),
}


def in_turns(form: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        N: T.Tensor((2,), "int32"),
        n: T.int32,
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            h = T.alloc_ub((SIDE, SIDE), "float16")
            w = T.alloc_var("int32", init=1)
            T.copy(A, a)
            T.copy(A, h)
            for i, j in T.Parallel(SIDE, SIDE):
                h[i, j] = h[i, j] * T.cast(vid + 1, "float16")
            if form == "handed over before one goes on":
                for _k in T.serial(n):
                    T.copy(h, a)
                    if vid == 0:
                        continue
            elif form == "given by the second":
                if vid == 1:
                    T.copy(h, a)
            elif form == "given by the first, in turns":
                for k in T.serial(n):
                    if vid == 0:
                        T.copy(h, a)
                    T.gemm_v0(a, a, c, init=k == 0)
                    for i, j in T.Parallel(SIDE, SIDE):
                        h[i, j] = h[i, j] * T.cast(-1.0, "float16")
            if form != "given by the first, in turns":
                T.gemm_v0(a, a, c, init=True)
            if form == "counted before one goes on":
                for _k in T.serial(n):
                    w = w + 1
                    if vid == 0:
                        continue
                for i, j in T.Parallel(SIDE, SIDE):
                    c[i, j] = c[i, j] * T.cast(w, "float32")
            T.copy(c, C[0, 0, 0])

    return main


def taken(form: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        N: T.Tensor((2,), "int32"),
        n: T.int32,
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.tile.fill(u, 1.0)
            if form == "taken before anything is there":
                for k in T.serial(n):
                    if k > 0:  # noqa: SIM102
                        if vid == 1:
                            T.copy(c, u)
                    T.gemm_v0(a, a, c, init=True)
            elif form == "taken in a turn of each":
                for k in T.serial(n):
                    T.gemm_v0(a, a, c, init=k == 0)
                    if vid == k:
                        T.copy(c, u)
                        for i, j in T.Parallel(SIDE, SIDE):
                            u[i, j] = u[i, j] + T.cast(k + 1, "float32")
            else:
                T.gemm_v0(a, a, c, init=True)
                if form == "taken by one":
                    if vid == 0:
                        T.copy(c, u)
                elif form == "taken by the other":
                    if vid == 1:
                        T.copy(c, u)
                    else:
                        T.tile.fill(u, 2.0)
                elif form == "a part taken by each":
                    if vid == 1:
                        T.copy(c[:HALF, :], u[HALF:, :])
                    else:
                        T.copy(c[HALF:, :], u[:HALF, :])
                elif form == "taken until vid says":
                    for k in T.serial(n):
                        if vid == k:
                            T.loop_break()
                        T.copy(c, u)
                else:
                    numbers = T.alloc_ub((16,), "int32")
                    T.tile.fill(numbers, vid)
                    T.tile.add(numbers, numbers, 0)  # else the element is known to be vid
                    if numbers[3] > 0:
                        T.copy(c, u)
            T.copy(u, C[vid, 0, 0])

    return main


@T.prim_func
def shifted(  # type: ignore[no-untyped-def]
    A: T.Tensor((SIDE, SIDE), "float16"),
    N: T.Tensor((2,), "int32"),
    n: T.int32,
    C: T.Tensor((2, SIDE, SIDE), "float32"),
):
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_L1((SIDE, SIDE), "float16")
        c = T.alloc_fragment((SIDE, SIDE), "float32")
        u = T.alloc_ub((HALF, SIDE), "float32")
        T.copy(A, a)
        T.gemm_v0(a, a, c, init=True)
        for i, j in T.Parallel(HALF, SIDE):
            c[(vid << 4) + i, j] = c[(vid << 4) + i, j] + 1.0
        T.copy(c[vid * HALF : vid * HALF + HALF, :], C[0, vid << 4, 0])
        T.gemm_v0(a, a, c, init=True)
        T.copy(c[vid << 4 : (vid << 4) + HALF, :], u)
        T.copy(u, C[1, vid << 4, 0])


SHIFTED = "parts by a shift"
GROUP.add(
    SHIFTED,
    shifted,
    [A, NUMBERS, 2, np.zeros((2, SIDE, SIDE), np.float32)],
    stacked(PRODUCT + 1, PRODUCT),
)
for forms, make in ((EXPECTED, used), (IN_TURNS, in_turns)):
    for form, wanted in forms.items():
        build = taken if "taken" in form else make
        GROUP.add(form, build(form), [A, NUMBERS, 2, np.zeros((2, SIDE, SIDE), np.float32)], wanted)


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
@pytest.mark.parametrize("form", [*EXPECTED, *IN_TURNS, SHIFTED])
def test_work_by_vid(form: str) -> None:
    GROUP.check(form)


def test_parts_stay_in_the_cube_core() -> None:
    """It stores both, from L0C; no vector core is asked."""
    kernel = tilewright.compile(used("parts"), target="ascend", pass_configs=AUTOMATIC)
    source = kernel.get_kernel_source()
    assert "KERNEL_TYPE_AIC_ONLY" in source
    assert "GetSubBlockIdx" not in source


def refused(form: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            T.copy(A, a)
            if form == "an operand":
                for i, j in T.Parallel(HALF, SIDE):
                    a[vid * HALF + i, j] = a[vid * HALF + i, j] * T.cast(2.0, "float16")
            if form == "filled":
                if vid == 0:
                    T.fill(c, 3.0)
            elif form == "cleared":  # noqa: SIM102
                if vid == 1:
                    T.clear(c)
            T.gemm_v0(a, a, c, init=form not in ("filled", "cleared"))
            if form == "one core's change":
                if vid == 1:
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[i, j] = c[i, j] * 2.0
            elif form == "a part":
                for i, j in T.Parallel(HALF, SIDE):
                    c[vid * HALF + i, j] = c[vid * HALF + i, j] * 2.0
            elif form == "the other one's part":
                for i, j in T.Parallel(HALF, SIDE):
                    c[vid * HALF + i, j] = 0.0
            if form == "the other one's part":
                T.copy(c[(1 - vid) * HALF : (2 - vid) * HALF, :], C[vid * HALF, 0])
            else:
                T.copy(c, C)

    return main


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("an operand", "a[vid * HALF + i, j]"),
        ("filled", "T.fill(c, 3.0)"),
        ("cleared", "T.clear(c)"),
        ("one core's change", "c[i, j] = c[i, j] * 2.0"),
        ("a part", "c[vid * HALF + i, j] = c[vid * HALF + i, j] * 2.0"),
        ("the other one's part", "c[vid * HALF + i, j] = 0.0"),
    ],
)
def test_what_only_one_core_has_and_the_other_reads(form: str, words: str) -> None:
    with pytest.raises(CompileError, match="what vid says here reaches only one of them") as caught:
        tilewright.compile(refused(form), target="ascend", pass_configs=AUTOMATIC)
    text = str(caught.value)
    assert words in text and "the other one is read here, maybe" in text


@pytest.mark.parametrize("form", ["vid == k", "vid < 2", "vid + 1"])
def test_what_both_cores_would_store_to_the_one_tile(form: str) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            h = T.alloc_ub((SIDE, SIDE), "float16")
            T.copy(A, h)
            if form == "vid < 2":
                if vid < 2:
                    T.copy(h, a)
            elif form == "vid == k":
                for k in T.serial(2):
                    if vid == k:
                        T.copy(h, a)
            else:
                for _k in T.serial(vid + 1):
                    T.copy(h, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c, C)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    assert "T.copy(h, a)" in str(caught.value)
    assert (
        "unsupported on ascend: where vid says whether, each vector core would store this to the "
        "one tile that the block has; let one do it (`if vid == 0`), or each a part of its own "
        "(`[vid * rows : (vid + 1) * rows]`)" in str(caught.value)
    )


def test_a_part_that_a_counter_names_is_named_by_vid() -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"), C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            h = T.alloc_ub((SIDE, SIDE), "float16")
            T.copy(A, h)
            for k in T.serial(2):
                if k == vid:
                    at = k * HALF
                    T.copy(h[at : at + HALF, :], a[at : at + HALF, :])
            T.gemm_v0(a, a, c, init=True)
            T.copy(c, C)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    assert (
        "one tile that the block has; let vid itself say which part each has "
        "(`[vid * rows : (vid + 1) * rows]`)" in str(caught.value)
    )


def test_halves_that_the_ways_of_a_branch_bring() -> None:
    """The cube core fetches both behind the branch: they don't meet."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        n: T.int32,
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            h = T.alloc_ub((SIDE, SIDE), "float16")
            q = T.alloc_ub((HALF, SIDE), "float16")
            T.copy(A, h)
            for k in T.serial(n):
                for i, j in T.Parallel(HALF, SIDE):
                    q[i, j] = h[vid * HALF + i, j] * (k + 1)
                if vid == 0:
                    T.copy(q, a[0:HALF, :])
                else:
                    T.copy(q, a[HALF:SIDE, :])
                T.gemm_v0(a, a, c, init=k == 0)
            T.copy(c, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    reference = tilewright.compile(main, target="reference")
    for turns in (1, 2, 3):
        expected = sum((k + 1) ** 2 for k in range(turns)) * PRODUCT
        for each in (kernel, reference):
            made = np.zeros_like(PRODUCT, dtype=np.float32)
            each(A, turns, made)
            np.testing.assert_array_equal(made, expected)
