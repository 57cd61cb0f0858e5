# SPDX-License-Identifier: Apache-2.0
"""GEMM as the founding document prints it, and with all that it names, in Developer mode (memories,
flags and addresses by the compiler) and in Expert mode (all by hand)."""

from __future__ import annotations

import runpy
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import AUTOMATIC, ROOT, KernelGroup

import tilewright.as_tilelang  # noqa: F401 - the example imports it by that name
import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(17)
GROUP = KernelGroup()
MODES = ("developer", "expert")


def gemm(
    mode: str,
    shape: tuple[int, int, int],
    block: tuple[int, int, int],
    dtype: str = "float16",
    out: str = "float32",
    transposed: tuple[bool, bool] = (False, False),
) -> Any:
    """C = op(A) op(B) with tails in all dims; A is [K, M] and B is [N, K] where transposed."""
    (M, N, K), (m_block, n_block, k_block) = shape, block
    turn_a, turn_b = transposed
    is_expert = mode == "expert"
    accum = "int32" if dtype == "int8" else "float32"
    operand, result = (T.alloc_L1, T.alloc_L0C) if is_expert else (T.alloc_shared, T.alloc_fragment)
    n_num = -(-N // n_block)
    a_shape, b_shape = (K, M) if turn_a else (M, K), (N, K) if turn_b else (K, N)
    a_tile = (k_block, m_block) if turn_a else (m_block, k_block)
    b_tile = (n_block, k_block) if turn_b else (k_block, n_block)

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), out)):
        with T.Kernel(T.ceildiv(M, m_block) * n_num, is_npu=True) as (cid, _):
            m, n = cid // n_num * m_block, cid % n_num * n_block
            a = operand(a_tile, dtype)
            b = operand(b_tile, dtype)
            c = result((m_block, n_block), accum)
            for step in T.serial(T.ceildiv(K, k_block)):
                k = step * k_block
                if turn_a:
                    T.copy(A[k, m], a)
                else:
                    T.copy(A[m, k], a)
                if turn_b:
                    T.copy(B[n, k], b)
                else:
                    T.copy(B[k, n], b)
                if is_expert:
                    T.barrier_all()
                T.gemm_v0(a, b, c, turn_a, turn_b, init=(step == 0))
                if is_expert:
                    T.barrier_all()
            T.copy(c, C[m, n])

    return main


def persistent(mode: str, M: int, N: int, K: int, block: int, cores: int) -> Any:
    """As many blocks as there are cores; each takes its share of the tiles."""
    is_expert = mode == "expert"
    operand, result = (T.alloc_L1, T.alloc_L0C) if is_expert else (T.alloc_shared, T.alloc_fragment)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float")
    ):
        with T.Kernel(cores, is_npu=True) as (cid, _):
            a = operand((block, block), "float16")
            b = operand((block, block), "float16")
            c = result((block, block), "float")
            tiles = [T.ceildiv(M, block), T.ceildiv(N, block)]
            for bx, by in T.Persistent(tiles, cores, cid):
                for k in T.serial(T.ceildiv(K, block)):
                    T.copy(A[bx * block, k * block], a)
                    T.copy(B[k * block, by * block], b)
                    if is_expert:
                        T.barrier_all()
                    T.gemm_v0(a, b, c, init=(k == 0))
                    if is_expert:
                        T.barrier_all()
                T.copy(c, C[bx * block, by * block])
                if is_expert:
                    T.barrier_all()

    return main


def operands(shape: tuple[int, int, int], dtype: str) -> tuple[Array, Array]:
    M, N, K = shape
    if dtype == "int8":
        made = (random.integers(-128, 128, s).astype(np.int8) for s in ((M, K), (K, N)))
    else:
        kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
        made = (random.standard_normal(s).astype(kind) for s in ((M, K), (K, N)))
    a, b = made
    return a, b


def exact(a: Array, b: Array) -> Array:
    return a.astype(np.float64) @ b.astype(np.float64)


def add(name: str, mode: str, shape: tuple[int, int, int], block: int = 32, **more: Any) -> None:
    """One case; its operands lie as `transposed` says."""
    dtype = more.get("dtype", "float16")
    turn_a, turn_b = more.get("transposed", (False, False))
    a, b = operands(shape, dtype)
    given = [np.ascontiguousarray(x.T) if f else x for x, f in ((a, turn_a), (b, turn_b))]
    c = np.zeros(shape[:2], np.int32 if dtype == "int8" else np.float32)
    GROUP.add(
        f"{name}, {mode}",
        gemm(mode, shape, (block, block, block), **more),
        [*given, c],
        exact(a, b),
        configs=AUTOMATIC if mode == "developer" else {},
    )


def add_printed() -> None:
    """Sections 1 and 2 of the founding document, word for word."""
    example = runpy.run_path(str(ROOT / "examples" / "ascend" / "gemm.py"))
    a, b = operands((128, 64, 96), "float16")
    sizes = (128, 64, 96, 64, 32, 32)
    half, single = np.zeros((128, 64), np.float16), np.zeros((128, 64), np.float32)
    printed = (example["matmul_developer"], half, 2e-3), (example["matmul_expert"], single, 1e-4)
    for mode, (factory, c, rtol) in zip(MODES, printed, strict=True):
        given = [a, b, c]
        GROUP.add_example(f"as printed, {mode}", factory, sizes, given, exact(a, b), rtol=rtol)


TAILS = (80, 56, 72)
add_printed()
for each in MODES:
    add("tails", each, TAILS)
    add("a transposed", each, TAILS, transposed=(True, False))
    add("b transposed", each, TAILS, transposed=(False, True))
    add("both transposed", each, TAILS, transposed=(True, True))
    add("bfloat16", each, TAILS, dtype="bfloat16")
    add("float32", each, (48, 32, 72), dtype="float32", transposed=(False, True))
    add("int8", each, (80, 64, 72), dtype="int8", out="int32")
    left, right = operands((128, 64, 96), "float16")
    GROUP.add(
        f"persistent, {each}",
        persistent(each, 128, 64, 96, 32, 3),
        [left, right, np.zeros((128, 64), np.float32)],
        exact(left, right),
        configs=AUTOMATIC if each == "developer" else {},
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_gemm(name: str) -> None:
    case = GROUP.check(name)
    assert "KERNEL_TYPE_AIC_ONLY" in case.ascendc  # no vector core is started


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)
