# SPDX-License-Identifier: Apache-2.0
"""Nests use what a gemm has computed in a tile that the kernel has put in L0C itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

GROUP = KernelGroup()
ROWS, COLUMNS, INNER, BLOCK = 64, 64, 64, 32


def epilogue(form: str, on_chip: str) -> Any:  # noqa: ANN401
    half = BLOCK // 2

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, INNER), "float16"),
        B: T.Tensor((INNER, COLUMNS), "float16"),
        bias: T.Tensor((COLUMNS,), "float32"),
        C: T.Tensor((ROWS, COLUMNS), "float32"),
    ):
        with T.Kernel((ROWS // BLOCK) * (COLUMNS // BLOCK), is_npu=True) as (cid, vid):
            m = cid // (COLUMNS // BLOCK) * BLOCK
            n = cid % (COLUMNS // BLOCK) * BLOCK
            a = T.alloc_shared((BLOCK, BLOCK), "float16")
            b = T.alloc_shared((BLOCK, BLOCK), "float16")
            if on_chip == "L0C":
                c = T.alloc_L0C((BLOCK, BLOCK), "float32")
            else:
                c = T.alloc_fragment((BLOCK, BLOCK), "float32")
            for k in T.serial(INNER // BLOCK):
                T.copy(A[m, k * BLOCK], a)
                T.copy(B[k * BLOCK, n], b)
                T.gemm_v0(a, b, c, init=(k == 0))
            if form == "into the tensor":
                for i, j in T.Parallel(BLOCK, BLOCK):
                    C[m + i, n + j] = c[i, j] * 2.0
            elif form == "in place":
                for i, j in T.Parallel(BLOCK, BLOCK):
                    c[i, j] = c[i, j] * 2.0
                T.copy(c, C[m, n])
            elif form == "with a row":
                for i, j in T.Parallel(BLOCK, BLOCK):
                    C[m + i, n + j] = c[i, j] + bias[n + j]
            else:
                u = T.alloc_shared((half, BLOCK), "float32")
                for i, j in T.Parallel(half, BLOCK):
                    u[i, j] = T.max(c[vid * half + i, j], 0.0)
                T.copy(u, C[m + vid * half, n])

    return main


random = np.random.default_rng(47)
left, right = (
    random.integers(-3, 4, shape).astype(np.float16) for shape in ((ROWS, INNER), (INNER, COLUMNS))
)
row = random.integers(-3, 4, COLUMNS).astype(np.float32)
product = left.astype(np.float64) @ right.astype(np.float64)
for form, wanted in {
    "into the tensor": 2 * product,
    "in place": 2 * product,
    "with a row": product + row,
    "halves": np.maximum(product, 0),
}.items():
    for on_chip in ("L0C", "fragment"):
        GROUP.add(
            f"{form}, {on_chip}",
            epilogue(form, on_chip),
            [left, right, row, np.zeros((ROWS, COLUMNS), np.float32)],
            wanted,
            configs=AUTOMATIC,
        )


def stored_by_cube(dtype: str, is_automatic: bool) -> Any:  # noqa: ANN401
    """The cube core's scope stores its tile element by element: a copy, which rounds."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, INNER), "float16"),
        B: T.Tensor((INNER, COLUMNS), "float16"),
        C: T.Tensor((2, ROWS - 8, COLUMNS), dtype),
    ):
        with T.Kernel((ROWS // BLOCK) * (COLUMNS // BLOCK), is_npu=True) as (cid, vid):
            m = cid // (COLUMNS // BLOCK) * BLOCK
            n = cid % (COLUMNS // BLOCK) * BLOCK
            a = T.alloc_L1((BLOCK, INNER), "float16")
            b = T.alloc_L1((INNER, BLOCK), "float16")
            c = T.alloc_L0C((BLOCK, BLOCK), "float32")
            with T.Scope("C"):
                T.copy(A[m, 0], a)
                T.copy(B[0, n], b)
                if not is_automatic:
                    T.barrier_all()
                T.gemm_v0(a, b, c, init=True)
                if not is_automatic:
                    T.barrier_all()
                for i, j in T.Parallel(BLOCK, BLOCK):
                    C[1, m + i, j + n] = c[i, j]

    return main


for dtype, is_automatic in (("float16", True), ("float32", True), ("float32", False)):
    stored = np.zeros((2, ROWS - 8, COLUMNS), dtype)
    GROUP.add(
        f"stored by the cube core as {dtype}{'' if is_automatic else ', flags by hand'}",
        stored_by_cube(dtype, is_automatic),
        [left, right, stored],
        np.stack([stored[0].astype(np.float64), product[: ROWS - 8]]),
        configs=AUTOMATIC if is_automatic else {},
    )


def epilogue_in_scope(scope: str) -> Any:  # noqa: ANN401
    """In a loop of the cube core's own, with its other work around it, or of the vector cores."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, INNER), "float16"),
        B: T.Tensor((INNER, BLOCK), "float16"),
        scale: T.float32,
        D: T.Tensor((ROWS, BLOCK), "float32"),
        C: T.Tensor((ROWS, BLOCK), "float16"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((BLOCK, INNER), "float16")
            b = T.alloc_L1((INNER, BLOCK), "float16")
            c = T.alloc_L0C((BLOCK, BLOCK), "float32")
            d = T.alloc_L0C((BLOCK, BLOCK), "float32")
            if scope == "C":
                with T.Scope("C"):
                    T.copy(B, b)
                    for m in T.serial(ROWS // BLOCK):
                        T.copy(A[m * BLOCK, 0], a)
                        T.barrier_all()
                        T.gemm_v0(a, b, c, init=True)
                        T.barrier_all()
                        if m > 0:
                            for i, j in T.Parallel(BLOCK, BLOCK):
                                C[m * BLOCK + i, j] = T.max(c[i, j] * scale + 1.0, 0.0)
                        T.gemm_v0(a, b, d, init=True)
                        T.barrier_all()
                        T.copy(d, D[m * BLOCK, 0])
                        T.barrier_all()
            else:
                with T.Scope("C"):
                    T.copy(B, b)
                    T.copy(A[BLOCK, 0], a)
                    T.barrier_all()
                    T.gemm_v0(a, b, c, init=True)
                    T.barrier_all()
                with T.Scope("V"):
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        C[BLOCK + i, j] = T.max(c[i, j] * scale + 1.0, 0.0)

    return main


def by_vid_in_scope(form: str) -> Any:  # noqa: ANN401
    """What vector cores do in the cube core's place knows its vid, which is 0."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((BLOCK, INNER), "float16"),
        B: T.Tensor((INNER, BLOCK), "float16"),
        C: T.Tensor((BLOCK, BLOCK), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((BLOCK, INNER), "float16")
            b = T.alloc_L1((INNER, BLOCK), "float16")
            c = T.alloc_L0C((BLOCK, BLOCK), "float32")
            row = vid * (BLOCK // 2)
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B, b)
                T.barrier_all()
                T.gemm_v0(a, b, c, init=True)
                T.barrier_all()
                if form == "value":
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        C[i, j] = c[i, j] * 2.0 + vid
                elif form == "source":
                    for i, j in T.Parallel(BLOCK // 2, BLOCK):
                        C[i, j] = c[row + i, j] * 2.0 + row
                elif form == "target":
                    for i in T.serial(BLOCK // 2):
                        for j in T.Parallel(BLOCK):
                            C[row + i, j] = T.max(c[row + i, j], vid + 0.5)

    return main


SYNC_ONLY = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
for form in ("value", "source"):
    product = 2 * left[:BLOCK].astype(np.float64) @ right[:, :BLOCK].astype(np.float64)
    if form == "source":
        product[BLOCK // 2 :] = 0
    given = [left[:BLOCK], right[:, :BLOCK].copy(), np.zeros((BLOCK, BLOCK), np.float32)]
    for mode, configs in (("automatic", AUTOMATIC), ("flags", SYNC_ONLY), ("by hand", {})):
        name = f"vid of the scope, {form}, {mode}"
        GROUP.add(name, by_vid_in_scope(form), given, product, configs=configs, rtol=1e-3)
products = left.astype(np.float64) @ right[:, :BLOCK].astype(np.float64)
for scope in ("C", "V"):
    for mode, configs in (("automatic", AUTOMATIC), ("flags", SYNC_ONLY), ("by hand", {})):
        made = np.maximum(products * 0.5 + 1, 0)
        made[:BLOCK] = 0
        arguments = [left, right[:, :BLOCK].copy(), 0.5]
        arguments += [np.zeros((ROWS, BLOCK), np.float32), np.zeros((ROWS, BLOCK), np.float16)]
        wanted = {4: made, 3: products if scope == "C" else np.zeros((ROWS, BLOCK))}
        name = f"an epilogue in scope {scope}, {mode}"
        GROUP.add(name, epilogue_in_scope(scope), arguments, wanted, configs=configs, rtol=1e-3)


def rescaled(form: str, on_chip: str) -> Any:  # noqa: ANN401
    """A nest changes the result within the loop of the gemm, or behind it in a loop around both."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((BLOCK, BLOCK), "float16"),
        B: T.Tensor((BLOCK, BLOCK), "float16"),
        C: T.Tensor((BLOCK, BLOCK), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((BLOCK, BLOCK), "float16")
            b = T.alloc_shared((BLOCK, BLOCK), "float16")
            if on_chip == "L0C":
                c = T.alloc_L0C((BLOCK, BLOCK), "float32")
            else:
                c = T.alloc_fragment((BLOCK, BLOCK), "float32")
            T.copy(A, a)
            T.copy(B, b)
            if form == "first turn":
                for k in T.serial(3):
                    T.gemm_v0(a, b, c, init=(k == 0))
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        c[i, j] = c[i, j] * 2.0
            elif form == "cleared before":
                T.clear(c)
                for _k in T.serial(3):
                    T.gemm_v0(a, b, c)
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        c[i, j] = c[i, j] * 2.0
            elif form == "some turns":
                for k in T.serial(3):
                    T.gemm_v0(a, b, c, init=(k == 0))
                    if k == 1:
                        for i, j in T.Parallel(BLOCK, BLOCK):
                            c[i, j] = c[i, j] * 2.0
            elif form == "operation":
                for k in T.serial(3):
                    T.gemm_v0(a, b, c, init=(k == 0))
                    T.tile.mul(c, c, 2.0)
            elif form == "in front":
                for k in T.serial(3):
                    if k > 0:
                        for i, j in T.Parallel(BLOCK, BLOCK):
                            c[i, j] = c[i, j] * 2.0
                    T.gemm_v0(a, b, c, init=(k == 0))
            elif form == "first of all":
                for r in T.serial(2):
                    for k in T.serial(3):
                        T.gemm_v0(a, b, c, init=(r * 3 + k == 0))
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        c[i, j] = c[i, j] * 2.0
            elif form == "not the first turn":
                T.clear(c)
                for _r in T.serial(2):
                    for k in T.serial(3):
                        if k > 0:
                            T.gemm_v0(a, b, c, init=(k == 0))
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        c[i, j] = c[i, j] * 2.0
            elif form == "each round":
                for _r in T.serial(2):
                    for k in T.serial(3):
                        T.gemm_v0(a, b, c, init=(k == 0))
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        c[i, j] = c[i, j] * 2.0
            elif form == "cleared each round":
                for _r in T.serial(2):
                    T.clear(c)
                    for _k in T.serial(3):
                        T.gemm_v0(a, b, c)
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        c[i, j] = c[i, j] * 2.0
            else:
                for r in T.serial(2):
                    for k in T.serial(1, 3):
                        for n in T.serial(2):
                            if r < 1:
                                T.gemm_v0(a, b, c, init=(k * 2 + n < 3))
                            else:
                                T.gemm_v0(a, b, c, init=k == 1 and n == 0)
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        c[i, j] = c[i, j] * 2.0
            T.copy(c, C)

    return main


small = left[:BLOCK, :BLOCK].copy(), right[:BLOCK, :BLOCK].copy()
small_product = small[0].astype(np.float64) @ small[1].astype(np.float64)
for form, factor in {
    "first turn": 14,
    "cleared before": 14,
    "some turns": 5,
    "operation": 14,
    "in front": 7,
    "first of all": 18,
    "not the first turn": 12,
    "each round": 6,
    "cleared each round": 6,
    "two loops": 8,
}.items():
    for on_chip in ("L0C", "fragment"):
        GROUP.add(
            f"{form}, {on_chip}",
            rescaled(form, on_chip),
            [*small, np.zeros((BLOCK, BLOCK), np.float32)],
            factor * small_product,
            configs=AUTOMATIC,
        )


def used_across_turns(form: str) -> Any:  # noqa: ANN401
    """A nest uses what a gemm has computed in an earlier turn, or in another branch."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((BLOCK, BLOCK), "float16"),
        B: T.Tensor((BLOCK, BLOCK), "float16"),
        C: T.Tensor((3, BLOCK, BLOCK), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((BLOCK, BLOCK), "float16")
            b = T.alloc_shared((BLOCK, BLOCK), "float16")
            c = T.alloc_fragment((BLOCK, BLOCK), "float32")
            T.copy(A, a)
            T.copy(B, b)
            if form == "behind the use":
                T.gemm_v0(a, b, c, init=True)
                for r in T.serial(3):
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        C[r, i, j] = c[i, j] * 2.0
                    T.gemm_v0(a, b, c)
            elif form == "loop behind the use":
                T.gemm_v0(a, b, c, init=True)
                for r in T.serial(3):
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        C[r, i, j] = c[i, j] * 2.0
                    for _k in T.serial(2):
                        T.gemm_v0(a, b, c)
            elif form == "in a branch behind the use":
                T.gemm_v0(a, b, c, init=True)
                for r in T.serial(3):
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        C[r, i, j] = c[i, j] * 2.0
                    if r == 1:
                        T.gemm_v0(a, b, c)
            elif form == "read each turn":
                s = T.alloc_fragment((BLOCK,), "float32")
                for r in T.serial(3):
                    T.gemm_v0(a, b, c, init=(r == 0))
                    T.reduce_sum(c, s, dim=1)
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        C[r, i, j] = c[i, j] + s[i]
            elif form == "in the other branch":
                for r in T.serial(3):
                    if r == 1:
                        T.gemm_v0(a, b, c, init=True)
                    else:
                        for i, j in T.Parallel(BLOCK, BLOCK):
                            c[i, j] = 1.0
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        C[r, i, j] = c[i, j] * 2.0
            else:
                T.gemm_v0(a, b, c, init=True)
                for r in T.serial(3):
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        c[i, j] = c[i, j] * 2.0
                    if r == 1:
                        T.gemm_v0(a, b, c, init=True)
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        C[r, i, j] = c[i, j]

    return main


one = np.ones((BLOCK, BLOCK))
for form, factors in {
    "behind the use": (2, 4, 6),
    "loop behind the use": (2, 6, 10),
    "in a branch behind the use": (2, 2, 4),
    "changed, in a branch": (2, 1, 2),
    "in the other branch": (0, 2, 0),
}.items():
    GROUP.add(
        form,
        used_across_turns(form),
        [*small, np.zeros((3, BLOCK, BLOCK), np.float32)],
        np.stack([factor * small_product if factor else 2 * one for factor in factors]),
        configs=AUTOMATIC,
    )
sums = small_product + small_product.sum(axis=1, keepdims=True)
GROUP.add(
    "read each turn",
    used_across_turns("read each turn"),
    [*small, np.zeros((3, BLOCK, BLOCK), np.float32)],
    np.stack([sums, 2 * sums, 3 * sums]),
    configs=AUTOMATIC,
)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    removals = GROUP.removals(name, most=3)
    assert removals.missed() == []
    assert removals.needless() == []


def test_who_runs_an_epilogue_of_the_cube_core() -> None:
    told = GROUP.told("an epilogue in scope C, flags")
    assert told == [
        "the cube core has no vector unit: vector cores run this nest, to which the gemm's tile "
        "goes through global memory"
    ]


@pytest.mark.parametrize("configs", [AUTOMATIC, {}])
def test_parts_that_vid_names_in_the_scope_of_the_cube_core(configs: Any) -> None:
    main = by_vid_in_scope("target")
    with pytest.warns(TilewrightWarning, match="so nobody stores the part of vid 1"):
        kernel = tilewright.compile(main, target="ascend", pass_configs=configs)
    made, same = (np.zeros((BLOCK, BLOCK), np.float32) for _ in range(2))
    operands = left[:BLOCK], right[:, :BLOCK].copy()
    kernel(*operands, made)
    interpret(main, *operands, same)
    wanted = np.maximum(operands[0].astype(np.float64) @ operands[1], 0.5)
    wanted[BLOCK // 2 :] = 0
    for each in (made, same):
        np.testing.assert_allclose(each, wanted, rtol=1e-3, atol=1e-3)
