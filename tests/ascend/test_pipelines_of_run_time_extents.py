# SPDX-License-Identifier: Apache-2.0
"""Loads of parts whose extents the kernel knows as it runs, in pipelined loops: their tiles have a
version for each stage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cut_products import LAYOUTS, Layout, Sizes, load_parts, operands, shapes
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

GROUP = KernelGroup()
random = np.random.default_rng(97)


def tails(block: Sizes, layout: Layout, dtype: str, stages: int, *, cores: int = 0) -> PrimFunc:
    """Each step loads and multiplies what there is of its tiles. `cores`: so many go through all
    tiles."""
    M, N, K = T.symbolic("M"), T.symbolic("N"), T.symbolic("K")
    bm, bn, bk = block
    turn_a, turn_b = layout
    a_shape, b_shape = shapes((M, N, K), layout)
    a_tile, b_tile = shapes(block, layout)
    sums = "int32" if dtype == "int8" else "float32"

    @T.macro
    def one(A: Any, B: Any, C: Any, a: Any, b: Any, c: Any, x: Any, y: Any) -> None:
        m, n = T.min(bm, M - x), T.min(bn, N - y)
        for step in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
            z = step * bk
            k = T.min(bk, K - z)
            load_parts(A, B, a, b, (x, y, z), (m, n, k), layout)
            T.gemm_v0(
                a[0:k, 0:m] if turn_a else a[0:m, 0:k],
                b[0:n, 0:k] if turn_b else b[0:k, 0:n],
                c[0:m, 0:n],
                transpose_A=turn_a,
                transpose_B=turn_b,
                init=(step == 0),
            )
        T.copy(c[0:m, 0:n], C[x : x + m, y : y + n])

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), sums)):  # type: ignore[no-untyped-def]
        columns = T.ceildiv(N, bn)
        tiles = T.ceildiv(M, bm) * columns
        with T.Kernel(cores if cores else tiles, is_npu=True, threads=1) as cid:
            a = T.alloc_shared(a_tile, dtype)
            b = T.alloc_shared(b_tile, dtype)
            c = T.alloc_fragment((bm, bn), sums)
            if cores:
                for t in T.serial(T.ceildiv(tiles - cid, cores)):
                    tile = t * cores + cid
                    one(A, B, C, a, b, c, tile // columns * bm, tile % columns * bn)
            else:
                one(A, B, C, a, b, c, cid // columns * bm, cid % columns * bn)

    return main


for number, each in enumerate(LAYOUTS):
    letters = "".join("T" if turned else "N" for turned in each)
    for stages, sizes in ((2, (75, 83, 79)), (3, (40, 70, 200)), (2, (33, 64, 132))):
        dtype = ("float16", "bfloat16", "float32", "int8")[(number + stages) % 4]
        given, expected = operands(random, sizes, each, dtype)
        kernel = tails((32, 64, 32), each, dtype, stages)
        GROUP.add(f"{dtype} {letters} {sizes} in {stages}", kernel, given, expected)
    given, expected = operands(random, (75, 83, 79), each, "float16")
    kernel = tails((32, 32, 32), each, "float16", 2, cores=2)
    GROUP.add(f"float16 {letters} of two cores", kernel, given, expected)


def rows_to_rows(stages: int, *, whole: bool) -> PrimFunc:
    """By vector cores alone: so many rows of each part. `whole`: what is stored has more of them,
    which an earlier turn has loaded."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        X: T.Tensor((6, 32, 48), "float32"),
        counts: T.Tensor((6,), "int32"),
        Y: T.Tensor((6, 32, 48), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((32, 48), "float32")
            for p in T.Pipelined(6, num_stages=stages):
                m = counts[p]
                T.copy(X[p, 0:m, :], x[0:m, :])
                if whole:
                    T.copy(x, Y[p, :, :])
                else:
                    T.copy(x[0:m, :], Y[p, 0:m, :])

    return main


counts = np.array([32, 5, 0, 17, 32, 1], np.int32)
x = random.integers(-9, 9, (6, 32, 48)).astype(np.float32)
for stages in (2, 3):
    wanted = np.zeros((6, 32, 48))
    kept = np.zeros((6, 32, 48))
    for p, count in enumerate(counts):
        wanted[p, :count] = x[p, :count]
        kept[p] = kept[p - 1]
        kept[p, :count] = x[p, :count]
    for whole in (False, True):
        GROUP.add(
            f"rows in {stages}{' kept' if whole else ''}",
            rows_to_rows(stages, whole=whole),
            [x, counts, np.zeros((6, 32, 48), np.float32)],
            kept if whole else wanted,
        )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


@pytest.mark.parametrize("name", [name for name in GROUP.cases if "kept" not in name])
def test_each_stage_has_its_tiles(name: str) -> None:
    """Where there is one tile for all stages, each load waits for the work of the turn before."""
    stages = 3 if "in 3" in name else 2
    text = GROUP.check(name).stages["rotate-buffers"]
    tiles = 1 if "rows" in name else 2
    assert text.count(f"{{ascend.fresh, ascend.versions = {stages} : i64}}") == tiles
    assert text.count("ascend.versions") == tiles


def test_what_is_kept_has_one_tile() -> None:
    assert "ascend.versions" not in GROUP.check("rows in 2 kept").stages["rotate-buffers"]


def test_time() -> None:
    """The model's, of a product of dynamic dims with tails in each of them."""
    times = []
    for stages in (0, 2):
        kernel = tilewright.compile(
            tails((128, 256, 128), (False, False), "float16", stages),
            target="ascend",
            pass_configs=GROUP.configs,
        )
        given, _ = operands(random, (1000, 1000, 1000), (False, False), "float16")
        report = kernel.report(*given, time_only=True)
        times.append(float(report.split("on 910B2: ")[1].split(" us")[0]))
    assert times[1] < 0.93 * times[0]
