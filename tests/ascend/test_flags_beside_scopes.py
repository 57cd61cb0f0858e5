# SPDX-License-Identifier: Apache-2.0
"""A flag of one kind of core that belongs where the other kind's T.Scope stands is put beside it:
copies between their tiles in branches of a scope, whose tiles are used again in each turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

SIDE = 32
KEYS = tilewright.PassConfigKey
WITHOUT_COMBINE = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True}


def to_vectors(copies: int, turns: int | None) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"),
        n: T.int32,
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            p = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            v = T.alloc_ub((SIDE, SIDE), "float32")
            with T.Scope("V"):
                T.tile.fill(u, 0.0)
                T.tile.fill(v, 0.0)
            with T.Scope("C"):
                T.copy(A[0, :, :], p)
                T.gemm_v0(p, p, c, init=True)
                for i in T.serial(turns or n):
                    if i > 0:
                        T.copy(c, u)
                        if copies == 2:
                            T.copy(c, v)
            with T.Scope("V"):
                T.copy(u, C[0, :, :])
                T.copy(v, C[1, :, :])

    return main


def to_cube(copies: int, turns: int | None) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"),
        n: T.int32,
        C: T.Tensor((2, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            h = T.alloc_ub((SIDE, SIDE), "float16")
            p = T.alloc_L1((SIDE, SIDE), "float16")
            q = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            with T.Scope("C"):
                T.copy(A[0, :, :], p)
                T.copy(A[1, :, :], q)
            with T.Scope("V"):
                for i in T.serial(turns or n):
                    if i > 0:
                        T.copy(A[i, :, :], h)
                        T.copy(h, p)
                        if copies == 2:
                            T.copy(h, q)
            with T.Scope("C"):
                T.gemm_v0(p, q, c, init=True)
                T.copy(c, C[0, :, :])

    return main


def by_tensor(cores: str) -> Any:  # noqa: ANN401
    """A branch of a scope, and what the other kind does outside of scopes, or behind it."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"),
        n: T.int32,
        D: T.Tensor((SIDE, SIDE), "float16"),
        C: T.Tensor((SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            h = T.alloc_ub((SIDE, SIDE), "float16")
            p = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            T.copy(A[1, :, :], h)
            T.copy(A[0, :, :], p)
            if cores == "V":
                with T.Scope("V"):
                    if n > 1:
                        T.copy(h, D)
                T.copy(D, p)
            else:
                with T.Scope("C"):
                    if n > 1:
                        for _k in T.serial(n):
                            T.copy(D, p)
                T.copy(h, D)
            with T.Scope("C"):
                T.gemm_v0(p, p, c, init=True)
                T.copy(c, C)

    return main


GROUP = KernelGroup()
random = np.random.default_rng(41)
a = random.integers(-2, 3, (4, SIDE, SIDE)).astype(np.float16)
nothing = np.zeros((2, SIDE, SIDE), np.float32)
for copies in (1, 2):
    for n, turns in ((0, None), (1, None), (2, None), (4, None), (3, 3), (4, 4)):
        for kind, configs in (("combined", AUTOMATIC), ("in scopes alone", WITHOUT_COMBINE)):
            product = a[0].astype(np.float64) @ a[0] if n > 1 else 0 * nothing[0]
            made = np.stack([product, product if copies == 2 else 0 * product])
            label = f"{copies} {n} {kind}{' of constant length' if turns else ''}"
            GROUP.add(
                f"to vectors {label}",
                to_vectors(copies, turns),
                [a, n, nothing],
                made,
                configs=configs,
            )
            last = [n - 1 if n > 1 else 0, n - 1 if n > 1 and copies == 2 else 1]
            product = a[last[0]].astype(np.float64) @ a[last[1]]
            GROUP.add(
                f"to cube {label}",
                to_cube(copies, turns),
                [a, n, nothing],
                np.stack([product, 0 * product]),
                configs=configs,
            )
for n in (1, 2):
    for cores, tile in (("V", a[1] if n > 1 else a[2]), ("C", a[2] if n > 1 else a[0])):
        GROUP.add(
            f"by a tensor, in scope {cores}, {n}",
            by_tensor(cores),
            [a, n, a[2].copy(), nothing[0]],
            tile.astype(np.float64) @ tile,
            configs=AUTOMATIC,
        )


@pytest.mark.parametrize("name", GROUP.cases)
def test_flags_beside_scopes(name: str) -> None:
    assert not [line for line in GROUP.check(name).told if "nothing orders" in line]


@pytest.mark.parametrize("name", [name for name in GROUP.cases if " 4 " in name or " 3 " in name])
def test_checker_and_host_agree_without_a_flag(name: str) -> None:
    GROUP.check_removals(name)
