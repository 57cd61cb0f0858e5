# SPDX-License-Identifier: Apache-2.0
"""Gemms of few rows with a transposed right side, which the CPU multiplies where it lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

torch = pytest.importorskip("torch")
RTOL = 1e-5


def some(*shape: int, dtype: str) -> Any:  # noqa: ANN401 - a torch tensor
    """Normal numbers."""
    return torch.randn(shape).to(getattr(torch, dtype))


def same(actual: Any, exact: Any) -> None:  # noqa: ANN401
    """Equal, but for the order of float32 sums."""
    np.testing.assert_allclose(actual.numpy(), exact.numpy(), rtol=RTOL, atol=2e-4)


def product(m: int, n: int, k: int, block_k: int, dtype: str) -> Any:  # noqa: ANN401 - a kernel
    """C += A W^T, where C holds something."""

    @tilewright.jit
    def build() -> Any:  # noqa: ANN401
        @T.prim_func
        def kernel(
            A: T.Tensor((m, k), dtype), W: T.Tensor((n, k), dtype), C: T.Tensor((m, n), "float32")
        ):
            with T.Kernel(T.ceildiv(n, 16), threads=128) as bx:
                a = T.alloc_shared((m, block_k), dtype)
                w = T.alloc_shared((16, block_k), dtype)
                c = T.alloc_fragment((m, 16), "float32")
                T.copy(C[0, bx * 16], c)
                for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=2):
                    T.copy(A[0, step * block_k], a)
                    T.copy(W[bx * 16, step * block_k], w)
                    T.gemm(a, w, c, transpose_B=True)
                T.copy(c, C[0, bx * 16])

        return kernel

    return build()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("n", [64, 50])
@pytest.mark.parametrize("m", [1, 2, 4, 5, 11, 16, 17])
def test_rows(m: int, n: int, dtype: str) -> None:
    """Blocks that are full and that are not, along each side."""
    torch.manual_seed(m)
    for k, block_k in ((512, 256), (600, 288), (320, 320)):
        a, w, c = some(m, k, dtype=dtype), some(n, k, dtype=dtype), some(m, n, dtype="float32")
        exact = c.double() + a.double() @ w.double().T
        product(m, n, k, block_k, dtype)(a, w, c)
        same(c, exact)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_was_copied_counts(dtype: str) -> None:
    """W changes between the copy and the gemm; it is read by two gemms; and a part of a buffer."""

    @tilewright.jit
    def build() -> Any:  # noqa: ANN401
        @T.prim_func
        def kernel(
            A: T.Tensor((4, 512), dtype),
            W: T.Tensor((16, 256), dtype),
            C: T.Tensor((3, 4, 16), "float32"),
        ):
            with T.Kernel(1, threads=128):
                a = T.alloc_shared((4, 512), dtype)
                w = T.alloc_shared((16, 256), dtype)
                v = T.alloc_shared((16, 256), dtype)
                c = T.alloc_fragment((4, 16), "float32")
                T.copy(A, a)
                T.copy(W, w)
                T.copy(W, v)
                for i, j in T.Parallel(16, 256):
                    W[i, j] = 0
                T.gemm(a[:, 0:256], w, c, transpose_B=True, clear_accum=True)
                T.copy(c, C[0, :, :])
                T.gemm(a[:, 256:512], w, c, transpose_B=True)
                T.copy(c, C[1, :, :])
                T.gemm(a[:, 0:256], v, c, transpose_B=True, clear_accum=True)
                T.copy(c, C[2, :, :])

        return kernel

    torch.manual_seed(0)
    a, w, c = some(4, 512, dtype=dtype), some(16, 256, dtype=dtype), torch.empty(3, 4, 16)
    left, right = (a.double()[:, half] @ w.double().T for half in (slice(0, 256), slice(256, 512)))
    build()(a, w, c)
    same(c, torch.stack((left, left + right, left)))
    assert not w.any()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_row_with_each_other(dtype: str) -> None:
    """Both operands are one buffer."""

    @tilewright.jit
    def build() -> Any:  # noqa: ANN401
        @T.prim_func
        def kernel(A: T.Tensor((8, 256), dtype), C: T.Tensor((8, 8), "float32")):
            with T.Kernel(1, threads=128):
                a = T.alloc_shared((8, 256), dtype)
                c = T.alloc_fragment((8, 8), "float32")
                T.copy(A, a)
                T.gemm(a, a, c, transpose_B=True, clear_accum=True)
                T.copy(c, C)

        return kernel

    torch.manual_seed(0)
    a, c = some(8, 256, dtype=dtype), torch.empty(8, 8)
    build()(a, c)
    same(c, a.double() @ a.double().T)
