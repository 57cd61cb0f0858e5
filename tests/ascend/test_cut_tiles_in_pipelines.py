# SPDX-License-Identifier: Apache-2.0
"""Tiles of pipelined loops that a tensor's edge cuts: a version per stage, as of whole ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(0)


def gemm(M: int, N: int, K: int, stages: int) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 32)) as (bx, by):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=stages):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[k * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 64])

    return main


def rows(columns: int, first: int, stages: int) -> Any:
    """Of each row its elements from `first` on, beyond the tensor 0."""
    steps = -(-columns // 64)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, columns), "float32"), B: T.Tensor((16, columns), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16, 64), "float32")
            y = T.alloc_ub((16, 64), "float32")
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(A[0, k * 64 + first], x)
                T.tile.add(y, x, 1.0)
                T.copy(y, B[0, k * 64])

    return main


for M, N, K in (
    (64, 128, 96),
    (64, 128, 75),
    (40, 128, 96),
    (64, 100, 96),
    (45, 70, 101),
    (5, 9, 33),
):
    a = random.integers(-3, 4, (M, K)).astype(np.float16)
    b = random.integers(-3, 4, (K, N)).astype(np.float16)
    products = a.astype(np.float64) @ b.astype(np.float64)
    for stages in (2, 3):
        arguments = [a, b, np.zeros((M, N), np.float32)]
        GROUP.add(f"gemm {M} {N} {K}, {stages}", gemm(M, N, K, stages), arguments, products)
for columns in (128, 200, 130, 61):
    for first in (0, -3, 5):
        a = random.integers(-9, 9, (16, columns)).astype(np.float32)
        expected = np.ones(a.shape)
        into, of = slice(max(0, -first), columns - max(0, first)), slice(max(0, first), None)
        expected[:, into] += a[:, of][:, : columns - abs(first)]
        arguments = [a, np.zeros_like(a)]
        GROUP.add(f"rows {columns} {first}", rows(columns, first, 2), arguments, expected)


@pytest.mark.parametrize("name", GROUP.cases)
def test_kernels(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_versions(name: str) -> None:
    """Of each tile that is loaded there are as many as stages."""
    GROUP.check(name)
    text = GROUP.cases[name].stages["rotate-buffers"]
    stages = 3 if name.endswith(", 3") else 2
    for tile in ("a", "b") if name.startswith("gemm") else ("x",):
        assert f'tile.alloc "{tile}" {{ascend.versions = {stages} : i64}}' in text


def time_of(K: int, stages: int) -> float:
    """Estimated, in us."""
    kernel = tilewright.compile(gemm(64, 128, K, stages), out_idx=[2], target="ascend")
    first = kernel.report(time_only=True).splitlines()[0]
    return float(first.split(": ")[1].split(" us")[0])


def test_loads_run_beside_products_though_an_edge_cuts_them() -> None:
    """As with whole tiles, of which there are as many: a part of the last one costs its filling."""
    whole, cut = (time_of(K, 1) - time_of(K, 3) for K in (1024, 1000))
    assert whole > 1
    assert cut > 0.7 * whole
