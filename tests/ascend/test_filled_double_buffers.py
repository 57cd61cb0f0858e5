# SPDX-License-Identifier: Apache-2.0
"""Two buffers in turn, of which a load fills a part whose extent the kernel knows as it runs before
it: the loop that fills stays within one of them, so the other one's turn waits for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

GROUP = KernelGroup()
random = np.random.default_rng(47)
STEPS = 6
Array = np.ndarray[Any, Any]


def products(block: tuple[int, int, int], stages: int) -> PrimFunc:
    """`depth` says how much of k counts, whatever the tensors have: what they lack is 0."""
    M, N, K = T.symbolic("M"), T.symbolic("N"), T.symbolic("K")
    bm, bn, bk = block

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        depth: T.int32,
        C: T.Tensor((M, N), "float32"),
    ):
        columns = T.ceildiv(N, bn)
        with T.Kernel(columns * T.ceildiv(M, bm), is_npu=True, threads=1) as cid:
            x, y = cid // columns * bm, cid % columns * bn
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            for step in T.Pipelined(T.ceildiv(depth, bk), num_stages=stages):
                z = step * bk
                k = T.min(bk, depth - z)
                T.copy(A[x : x + bm, z : z + k], a[:, 0:k])
                T.copy(B[z : z + k, y : y + bn], b[0:k, :])
                T.gemm_v0(a[:, 0:k], b[0:k, :], c, init=(step == 0))
            T.copy(c, C[x, y])

    return main


def counted_products(stages: int) -> PrimFunc:
    """A tensor says how much of each step counts."""
    M, K = T.symbolic("M"), T.symbolic("K")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, 64), "float16"),
        counts: T.Tensor((STEPS,), "int32"),
        C: T.Tensor((M, 64), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, 32), is_npu=True, threads=1) as cid:
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            for step in T.Pipelined(STEPS, num_stages=stages):
                z = step * 32
                k = counts[step]
                T.copy(A[cid * 32 : cid * 32 + 32, z : z + k], a[:, 0:k])
                T.copy(B[z : z + k, :], b[0:k, :])
                T.gemm_v0(a[:, 0:k], b[0:k, :], c, init=(step == 0))
            T.copy(c, C[cid * 32, 0])

    return main


def counted_rows(stages: int, columns: int) -> PrimFunc:
    """By vector cores: so many rows of each step, of which the tensor lacks some."""
    R = T.symbolic("R")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        X: T.Tensor((R, columns), "float32"),
        counts: T.Tensor((STEPS,), "int32"),
        Y: T.Tensor((STEPS * 32, columns), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((32, columns), "float32")
            for p in T.Pipelined(STEPS, num_stages=stages):
                m = counts[p]
                T.copy(X[p * 32 : p * 32 + m, :], x[0:m, :])
                T.copy(x[0:m, :], Y[p * 32 : p * 32 + m, :])

    return main


def planes(stages: int) -> PrimFunc:
    """Two loops fill: over planes, and over their rows."""
    R = T.symbolic("R")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        X: T.Tensor((R, 8, 24), "float32"),
        counts: T.Tensor((STEPS,), "int32"),
        Y: T.Tensor((STEPS * 4, 8, 24), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((4, 8, 24), "float32")
            for p in T.Pipelined(STEPS, num_stages=stages):
                m = counts[p]
                T.copy(X[p * 4 : p * 4 + m, 0:5, 0:16], x[0:m, 0:5, 0:16])
                T.copy(x[0:m, 0:5, 0:16], Y[p * 4 : p * 4 + m, 0:5, 0:16])

    return main


def halves(shape: tuple[int, int]) -> Array:
    return random.integers(-3, 4, shape).astype(np.float16)


for depth, inner in ((100, 100), (100, 83), (140, 83), (160, 160)):
    left, right = halves((40, inner)), halves((inner, 70))
    known = min(depth, inner)
    expected = left[:, :known].astype(np.float64) @ right[:known].astype(np.float64)
    for stages in (2, 3):
        GROUP.add(
            f"products {depth} of {inner} in {stages}",
            products((32, 64, 32), stages),
            [left, right, depth, np.zeros((40, 70), np.float32)],
            {3: expected},
        )
counts = np.array([32, 7, 20, 16, 32, 30], np.int32)
for stages in (2, 3):
    left, right = halves((40, 170)), halves((170, 64))
    expected = np.zeros((40, 64))
    for step, count in enumerate(counts):
        part = slice(step * 32, step * 32 + count)
        expected += left[:, part].astype(np.float64) @ right[part].astype(np.float64)
    GROUP.add(
        f"counted products in {stages}",
        counted_products(stages),
        [left, right, counts, np.zeros((40, 64), np.float32)],
        expected,
    )
    for columns in (48, 20):
        x = random.integers(-9, 9, (170, columns)).astype(np.float32)
        wanted = np.zeros((STEPS * 32, columns))
        for step, count in enumerate(counts):
            part = slice(step * 32, min(step * 32 + count, 170))
            wanted[part] = x[part]
        GROUP.add(
            f"counted rows of {columns} in {stages}",
            counted_rows(stages, columns),
            [x, counts, np.zeros(wanted.shape, np.float32)],
            wanted,
        )
    x = random.integers(-9, 9, (22, 8, 24)).astype(np.float32)
    wanted = np.zeros((STEPS * 4, 8, 24))
    for step, count in enumerate(few := np.array([4, 1, 3, 2, 4, 4], np.int32)):
        part = slice(step * 4, min(step * 4 + count, 22))
        wanted[part, 0:5, 0:16] = x[part, 0:5, 0:16]
    GROUP.add(
        f"planes in {stages}",
        planes(stages),
        [x, few, np.zeros(wanted.shape, np.float32)],
        wanted,
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_what_is_there_is_needed(name: str) -> None:
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize("name", GROUP.cases)
def test_flags_take_turns(name: str) -> None:
    """As many as there are buffers: each turn waits for the last one that had its own."""
    stages = int(name[-1])
    case = GROUP.check(name)
    assert f"ascend.versions = {stages} : i64" in case.stages["rotate-buffers"]
    waits = [line for line in case.ascendc.splitlines() if "WaitFlag" in line]
    kind = "MTE1_MTE2" if "products" in name else "MTE3_"
    assert any(kind in line and f"% {stages}" in line for line in waits)


def time_of(stages: int) -> float:
    """The model's, in us."""
    configs = GROUP.configs
    kernel = tilewright.compile(
        products((128, 256, 128), stages), target="ascend", pass_configs=configs
    )
    report = kernel.report(
        halves((1000, 1000)),
        halves((1000, 1000)),
        1000,
        np.zeros((1000, 1000), np.float32),
        time_only=True,
    )
    return float(report.split("on 910B2: ")[1].split(" us")[0])


def test_loads_run_beside_products() -> None:
    assert time_of(2) < 0.85 * time_of(1)
