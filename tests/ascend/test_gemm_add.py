# SPDX-License-Identifier: Apache-2.0
"""A product by the cube core whose result the vector cores take: GEMM and add in four ways with the
same numbers, and the founding kernel for GPUs, whose fp32 scale is a vector pass."""

from __future__ import annotations

import runpy
import warnings
from typing import Any

import numpy as np
import pytest
from kernel_group import ROOT, KernelGroup

import tilewright
import tilewright.as_tilelang  # noqa: F401 - the example imports it by that name
import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(7)
GROUP = KernelGroup()

M, N, K = 128, 128, 128
SIZES = (M, N, K, 64, 64, 64)
EXAMPLE = runpy.run_path(str(ROOT / "examples" / "ascend" / "gemm_add.py"))
WAYS = ("by_hand", "inferred", "without_workspace", "automatic")

a, b = (random.standard_normal(s).astype(np.float16) for s in ((M, K), (K, N)))
d = random.standard_normal((M, N)).astype(np.float32)
product = a.astype(np.float64) @ b.astype(np.float64)
for way in WAYS:
    has_workspace = way in ("by_hand", "inferred")
    given = [a, b, d, *([np.zeros_like(d)] if has_workspace else []), np.zeros_like(d)]
    GROUP.add_example(way, EXAMPLE[way], SIZES, given, product + d)


def fused_gemm() -> Any:
    """Seed 001's kernel, word for word."""
    block_M, block_N, block_K, dtype, accum_dtype = 64, 64, 32, "float16", "float"

    @T.prim_func
    def gemm_fused(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
        scale: T.float32,
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)

            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.clear(C_local)

            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)

                T.gemm(A_shared, B_shared, C_local)

            for i, j in T.Parallel(block_M, block_N):
                v_acc = C_local[i, j]
                v_scaled = v_acc * scale
                v_relu = T.max(v_scaled, T.float32(0.0))
                C_local[i, j] = v_relu

            T.copy(C_local, C[by * block_M, bx * block_N])

    return gemm_fused


SCALE = -0.37
half = np.zeros((M, N), np.float16)
GROUP.add(
    "of a GPU",
    fused_gemm(),
    [a, b, half, SCALE],
    {2: np.maximum(SCALE * product, 0)},
    configs={},
    rtol=2**-10,  # one rounding to float16, of a sum that was rounded to float32
)


@pytest.mark.parametrize("name", GROUP.cases)
def test_kernel(name: str) -> None:
    case = GROUP.check(name)
    assert "KERNEL_TYPE_MIX_AIC_1_" in case.ascendc


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_same_numbers() -> None:
    results = [np.asarray(GROUP.run(way)[-1]) for way in WAYS]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_same_numbers_as_the_cpu() -> None:
    on_cpu = np.zeros_like(half)
    tilewright.compile(fused_gemm(), target="cpu")(a, b, on_cpu, SCALE)
    # Both add up along k in order, with one rounding a step, and scale and round the sum alike.
    np.testing.assert_array_equal(np.asarray(GROUP.run("of a GPU")[2]), on_cpu)


def test_automatic_kernel_reads_well() -> None:
    source = GROUP.check("automatic").ascendc
    assert source.count("CrossCoreSetFlag") == 1
    assert source.count("CrossCoreWaitFlag") == 1
    assert "PIPE_ALL" not in source


def test_kernel_of_a_gpu_uses_both_vector_cores() -> None:
    source = GROUP.check("of a GPU").ascendc
    assert "KERNEL_TYPE_MIX_AIC_1_2" in source
    assert "Muls(v_scaled, C_local_ub, scale, 2048);" in source  # half of the tile's 64 x 64


def added_to(in_rows: bool) -> Any:
    """C += A A, and D += 1: as many rows, or one that each core would have whole."""
    rows = 32 if in_rows else 1

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
        D: T.Tensor((rows, 32), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((32, 32), "float16")
            product = T.alloc_fragment((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            d = T.alloc_shared((rows, 32), "float32")
            T.copy(A, tile)
            T.gemm(tile, tile, product, clear_accum=True)
            T.copy(C, c)
            for i, j in T.Parallel(32, 32):
                c[i, j] += product[i, j]
            T.copy(c, C)
            T.copy(D, d)
            for i, j in T.Parallel(rows, 32):
                d[i, j] += 1.0
            T.copy(d, D)

    return main


def added(kernel: Any, rows: int) -> None:
    whole = np.arange(32 * 32).reshape(32, 32) % 5 - 2
    c, d = np.full((32, 32), 3, np.float32), np.full((rows, 32), 4, np.float32)
    kernel(whole.astype(np.float16), c, d)
    np.testing.assert_array_equal(c, whole @ whole + 3)
    np.testing.assert_array_equal(d, np.full((rows, 32), 5))


def test_rows_that_are_read_and_written_by_one_core_each() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilewright.compile(added_to(in_rows=True), target="ascend")
    assert "KERNEL_TYPE_MIX_AIC_1_2" in kernel.get_kernel_source()
    added(kernel, 32)


def test_row_that_both_cores_would_read_and_one_write() -> None:
    with pytest.warns(match="one vector core does the work of both"):
        kernel = tilewright.compile(added_to(in_rows=False), target="ascend")
    assert "KERNEL_TYPE_MIX_AIC_1_1" in kernel.get_kernel_source()
    added(kernel, 1)
