# SPDX-License-Identifier: Apache-2.0
"""Blocks of two vector cores: what touches only a gemm's tile, of which a block has one, happens
once; a tile in UB each core has, and adds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

GROUP = KernelGroup()
SIDE = 32
A = (np.arange(SIDE * SIDE) % 7 - 3).reshape(SIDE, SIDE).astype(np.float16)
PRODUCT = A.astype(np.float64) @ A.astype(np.float64)
DOUBLED = 4 * PRODUCT  # of twice A
ZERO = np.zeros_like(PRODUCT)
# What comes of them in Z, Y and O; what `both` of a name says: of tiles that each core adds.
EXPECTED = {
    "used behind": (PRODUCT, ZERO, PRODUCT),
    "changed behind": (PRODUCT, ZERO, 2 * PRODUCT),
    "changed before": (2 * PRODUCT, ZERO, 2 * PRODUCT),
    "by a nest": (2 * PRODUCT, ZERO, PRODUCT),
    "by elements": (ZERO, ZERO, PRODUCT),
    "in a loop": (6 * PRODUCT, ZERO, 3 * PRODUCT + 1),
    "in a branch": (2 * PRODUCT, ZERO, PRODUCT + 1),
    "both": (PRODUCT, 4 * PRODUCT, ZERO),
    "both, by a nest": (PRODUCT, 4 * PRODUCT, 3 * PRODUCT),
    "both, an operand": (ZERO, 2 * np.ones_like(ZERO), DOUBLED),
    "asks": (PRODUCT, 2 * PRODUCT, 2 * PRODUCT),
    "asks, an operand": (ZERO, np.ones_like(ZERO), DOUBLED),
    "asks, in a loop": (2 * PRODUCT + 1, ZERO, PRODUCT + 2),
}
EXPECTED["by elements"] = (
    np.concatenate([PRODUCT.reshape(16, 2, SIDE).sum(1), np.zeros((16, SIDE))]),
    ZERO,
    PRODUCT,
)


def adding(form: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),
        Z: T.Tensor((SIDE, SIDE), "float32"),
        Y: T.Tensor((SIDE, SIDE), "float32"),
        O: T.Tensor((SIDE, SIDE), "float32"),  # noqa: E741
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_shared((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            x = T.alloc_shared((SIDE, SIDE), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            if form in ("used behind", "changed behind"):
                T.atomic_add(Z, c)
                if form == "changed behind":
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[i, j] = c[i, j] * 2.0
                T.copy(c, O)
            elif form == "changed before":
                for i, j in T.Parallel(SIDE, SIDE):
                    c[i, j] = c[i, j] * 2.0
                T.atomic_add(Z, c)
                T.copy(c, O)
            elif form == "by a nest":
                for i, j in T.Parallel(SIDE, SIDE):
                    T.atomic_add(Z[i, j], c[i, j] * 2.0)
                T.copy(c, O)
            elif form == "by elements":
                for i, j in T.Parallel(SIDE, SIDE):
                    T.atomic_add(Z[i // 2, j], c[i, j])
                T.copy(c, O)
            elif form == "in a loop":
                for k in T.serial(3):
                    T.gemm_v0(a, a, c, init=k == 0)
                    T.atomic_add(Z, c)
                    for i, j in T.Parallel(SIDE, SIDE):
                        x[i, j] = c[i, j] + 1.0
                T.copy(x, O)
            elif form == "in a branch":
                for k in T.serial(4):
                    T.gemm_v0(a, a, c, init=True)
                    if k % 2 == 0:
                        T.atomic_add(Z, c)
                        for i, j in T.Parallel(SIDE, SIDE):
                            c[i, j] = c[i, j] + 1.0
                        T.copy(c, O)
            elif form.startswith("both"):
                if form == "both, an operand":
                    T.tile.fill(x, 1.0)
                    for i, j in T.Parallel(SIDE, SIDE):
                        a[i, j] = a[i, j] * T.cast(2.0, "float16")
                    T.gemm_v0(a, a, c, init=True)
                    T.copy(c, O)
                else:
                    T.atomic_add(Z, c)
                    for i, j in T.Parallel(SIDE, SIDE):
                        x[i, j] = c[i, j] * 2.0
                    if form == "both, by a nest":
                        for i, j in T.Parallel(SIDE, SIDE):
                            O[i, j] = c[i, j] * 3.0
                T.atomic_add(Y, x)
            elif form == "asks, in a loop":
                turn = T.alloc_var("int32", init=0)
                while turn < 2:
                    T.atomic_add(Z, c)
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[i, j] = c[i, j] + 1.0
                    turn = turn + 1
                if vid == 0:
                    T.copy(c, O)
            else:
                if form == "asks":
                    T.atomic_add(Z, c)
                    for i, j in T.Parallel(SIDE, SIDE):
                        c[i, j] = c[i, j] * 2.0
                    T.copy(c, x)
                else:
                    T.tile.fill(x, 1.0)
                    for i, j in T.Parallel(SIDE, SIDE):
                        a[i, j] = a[i, j] * T.cast(2.0, "float16")
                    T.gemm_v0(a, a, c, init=True)
                T.copy(c, O)
                T.copy(x[vid * 16 : vid * 16 + 16, :], Y[vid * 16, 0])

    return main


for form, results in EXPECTED.items():
    arguments = [A, *(np.zeros((SIDE, SIDE), np.float32) for _ in range(3))]
    GROUP.add(form, adding(form), arguments, dict(enumerate(results, 1)))


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
@pytest.mark.parametrize("form", EXPECTED)
def test_sums(form: str) -> None:
    GROUP.check(form)


@pytest.mark.parametrize(("form", "cores"), [("changed behind", "1_1"), ("both", "1_2")])
def test_vector_cores_of_a_block(form: str, cores: str) -> None:
    """What needs no second vector core gets none, nor a branch."""
    kernel = tilewright.compile(adding(form), target="ascend", pass_configs=AUTOMATIC)
    source = kernel.get_kernel_source()
    assert f"KERNEL_TYPE_MIX_AIC_{cores}" in source
    assert ("GetSubBlockIdx" in source) == (cores == "1_2")


@T.prim_func
def stored_by_halves(  # type: ignore[no-untyped-def]
    A: T.Tensor((SIDE, SIDE), "float16"),
    O: T.Tensor((SIDE, SIDE), "float32"),  # noqa: E741
):
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_L1((SIDE, SIDE), "float16")
        c = T.alloc_L0C((SIDE, SIDE), "float32")
        with T.Scope("C"):
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c[vid * 16 : vid * 16 + 16, :], O[vid * 16, 0])


def test_halves_that_the_cube_core_stores() -> None:
    """In its scope it is alone, and its vid is 0."""
    with pytest.warns(TilewrightWarning, match="so nobody stores the part of vid 1") as caught:
        tilewright.compile(stored_by_halves, target="ascend", pass_configs=AUTOMATIC)
    (warning,) = caught
    assert warning.lineno == stored_by_halves.function.__code__.co_firstlineno + 11
