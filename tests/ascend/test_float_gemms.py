# SPDX-License-Identifier: Apache-2.0
"""Products of float32 in all four layouts of their operands. Two fractals of floats that lie below
each other in L1 are no square, so the transposed ones are loaded as windows of an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

Array = np.ndarray[Any, Any]
random = np.random.default_rng(29)
GROUP = KernelGroup()
LAYOUTS = [(False, False), (True, False), (False, True), (True, True)]


def shapes(sizes: tuple[Any, Any, Any], layout: tuple[bool, bool]) -> tuple[Any, Any]:
    m, n, k = sizes
    return (k, m) if layout[0] else (m, k), (n, k) if layout[1] else (k, n)


def tiled(
    sizes: tuple[Any, Any, Any], block: tuple[int, int, int], layout: tuple[bool, bool]
) -> Any:
    """Tiles of any extents, with tails; the sizes may be symbols."""
    M, N, K = sizes
    m_block, n_block, k_block = block
    turn_a, turn_b = layout
    a_shape, b_shape = shapes(sizes, layout)
    a_tile, b_tile = shapes(block, layout)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, "float32"),
        B: T.Tensor(b_shape, "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, m_block) * T.ceildiv(N, n_block), is_npu=True) as (cid, _):
            a = T.alloc_shared(a_tile, "float32")
            b = T.alloc_shared(b_tile, "float32")
            c = T.alloc_fragment((m_block, n_block), "float32")
            across = T.ceildiv(N, n_block)
            m, n = cid // across * m_block, cid % across * n_block
            for k in T.serial(T.ceildiv(K, k_block)):
                if turn_a:
                    T.copy(A[k * k_block, m], a)
                else:
                    T.copy(A[m, k * k_block], a)
                if turn_b:
                    T.copy(B[n, k * k_block], b)
                else:
                    T.copy(B[k * k_block, n], b)
                T.gemm(a, b, c, transpose_A=turn_a, transpose_B=turn_b, clear_accum=(k == 0))
            T.copy(c, C[m, n])

    return main


def persistent(layout: tuple[bool, bool]) -> Any:
    """Two blocks share six tiles; the vector cores add to each."""
    M, N, K = sizes = 80, 48, 40
    turn_a, turn_b = layout
    a_shape, b_shape = shapes(sizes, layout)
    a_tile, b_tile = shapes((32, 32, 16), layout)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, "float32"),
        B: T.Tensor(b_shape, "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(2, is_npu=True, threads=2) as cid:
            a = T.alloc_shared(a_tile, "float32")
            b = T.alloc_shared(b_tile, "float32")
            c = T.alloc_fragment((32, 32), "float32")
            d = T.alloc_shared((32, 32), "float32")
            for i, j in T.Persistent([T.ceildiv(M, 32), T.ceildiv(N, 32)], 2, cid):
                for k in T.serial(T.ceildiv(K, 16)):
                    if turn_a:
                        T.copy(A[k * 16, i * 32], a)
                    else:
                        T.copy(A[i * 32, k * 16], a)
                    if turn_b:
                        T.copy(B[j * 32, k * 16], b)
                    else:
                        T.copy(B[k * 16, j * 32], b)
                    T.gemm_v0(a, b, c, turn_a, turn_b, init=(k == 0))
                T.copy(c, d)
                for x, y in T.Parallel(32, 32):
                    d[x, y] = d[x, y] + 1.0
                T.copy(d, C[i * 32, j * 32])

    return main


def loaded_by_hand(sizes: tuple[int, int, int], layout: tuple[bool, bool]) -> Any:
    """T.mma of what the kernel's own copies bring to L0: a half of k after the other."""
    M, N, K = sizes
    turn_a, turn_b = layout
    a_shape, b_shape = shapes((M, N, 2 * K), layout)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, "float32"),
        B: T.Tensor(b_shape, "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _), T.Scope("C"):
            a = T.alloc_L1(a_shape, "float32")
            b = T.alloc_L1(b_shape, "float32")
            left = T.alloc_L0A((M, K), "float32")
            right = T.alloc_L0B((K, N), "float32")
            c = T.alloc_L0C((M, N), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.barrier_all()
            for k in T.serial(2):
                if turn_a:
                    T.copy(a[k * K : (k + 1) * K, 0:M], left, transpose=True)
                else:
                    T.copy(a[0:M, k * K : (k + 1) * K], left)
                if turn_b:
                    T.copy(b[0:N, k * K : (k + 1) * K], right, transpose=True)
                else:
                    T.copy(b[k * K : (k + 1) * K, 0:N], right)
                T.barrier_all()
                T.mma(left, right, c, init=(k == 0))
                T.barrier_all()
            T.copy(c, C)

    return main


def parts_of_k(sizes: tuple[int, int, int], layout: tuple[bool, bool]) -> Any:
    """A gemm for each third of k, all of which are in L1."""
    M, N, K = sizes
    _, turn_b = layout
    a_shape, b_shape = shapes((M, N, 3 * K), layout)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, "float32"),
        B: T.Tensor(b_shape, "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as _:
            a = T.alloc_L1(a_shape, "float32")
            b = T.alloc_L1(b_shape, "float32")
            c = T.alloc_L0C((M, N), "float32")
            T.copy(A, a)
            T.copy(B, b)
            for k in T.serial(3):
                left = a[0:M, k * K : (k + 1) * K]
                if turn_b:
                    T.gemm_v0(left, b[0:N, k * K : (k + 1) * K], c, False, True, init=(k == 0))
                else:
                    T.gemm_v0(left, b[k * K : (k + 1) * K, 0:N], c, init=(k == 0))
            T.copy(c, C)

    return main


def add(
    name: str, kernel: Any, sizes: tuple[int, int, int], layout: tuple[bool, bool], **more: Any
) -> None:
    M, N, K = sizes
    a = random.standard_normal((M, K)).astype(np.float32)
    b = random.standard_normal((K, N)).astype(np.float32)
    given = [
        np.ascontiguousarray(x.T) if turned else x for x, turned in zip((a, b), layout, strict=True)
    ]
    expected = a.astype(np.float64) @ b.astype(np.float64) + more.pop("plus", 0.0)
    letters = "".join("T" if turned else "N" for turned in layout)
    GROUP.add(
        f"{name}, {letters}", kernel, [*given, np.zeros((M, N), np.float32)], expected, **more
    )


for each in LAYOUTS:
    add("tails", tiled((80, 56, 72), (32, 32, 32), each), (80, 56, 72), each)
    # Extents that fill no fractal, of which k needs an odd number; several steps of k in L0.
    for block in [(24, 40, 20), (8, 8, 8), (40, 24, 28), (128, 128, 200)]:
        sizes = (block[0] + 13, 2 * block[1] - 3, 2 * block[2] + 5)
        add(f"blocks of {block}", tiled(sizes, block, each), sizes, each)
    symbols = (T.symbolic("m"), T.symbolic("n"), T.symbolic("k"))
    add("dynamic", tiled(symbols, (32, 16, 48), each), (45, 50, 70), each)
    add("persistent", persistent(each), (80, 48, 40), each, plus=1.0)
    add("by hand", loaded_by_hand((32, 24, 16), each), (32, 24, 32), each, configs={})
    add("by hand, flags added", loaded_by_hand((16, 40, 32), each), (16, 40, 64), each)
    # Rows of a plain b begin within 16, as its fractals in L0B do: they are 8 x 16.
    if not each[0]:
        add("by hand, from row 40", loaded_by_hand((32, 24, 40), each), (32, 24, 80), each)
        add("parts from row 40", parts_of_k((48, 32, 40), each), (48, 32, 120), each)


@pytest.mark.parametrize("name", GROUP.cases)
def test_product(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", [name for name in GROUP.cases if "blocks" not in name])
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)
