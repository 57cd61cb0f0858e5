# SPDX-License-Identifier: Apache-2.0
"""What is done to a tile under another shape or dtype (T.reshape, T.view) is done to the tile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
ROWS, COLUMNS = 32, 64
SIZE = ROWS * COLUMNS


def factors() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return (
        rng.integers(-3, 4, (ROWS, ROWS)).astype(np.float16),
        rng.integers(-3, 4, (ROWS, COLUMNS)).astype(np.float16),
    )


def run(main: Any, *arguments: Any) -> Any:
    """The last argument, once the kernel has run."""
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(*arguments)
    return arguments[-1]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_view_made_before_a_product_comes_to_the_tile(threads: int) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, ROWS), "float16"),
        B: T.Tensor((ROWS, COLUMNS), "float16"),
        C: T.Tensor((2, ROWS, COLUMNS), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = T.alloc_shared((ROWS, ROWS), "float16")
            b = T.alloc_shared((ROWS, COLUMNS), "float16")
            product = T.alloc_fragment((ROWS, COLUMNS), "float32")
            x = T.alloc_shared((ROWS, COLUMNS), "float32")
            flat = T.reshape(x, (SIZE,))
            bits = T.view(x, (ROWS, COLUMNS), "int32")
            T.tile.fill(x, 3.0)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, product, init=True)
            T.copy(product, x)
            for i in T.Parallel(SIZE):
                flat[i] = flat[i] * 2.0
            T.copy(x, C[0, 0, 0])
            T.copy(product, x)
            for i, j in T.Parallel(ROWS, COLUMNS):
                bits[i, j] = bits[i, j] & 0x7FFFFFFF
            T.copy(x, C[1, 0, 0])

    a, b = factors()
    product = a.astype(np.float32) @ b.astype(np.float32)
    result = run(main, a, b, np.zeros((2, ROWS, COLUMNS), np.float32))
    np.testing.assert_array_equal(result, [2 * product, np.abs(product)])


def test_a_product_of_a_view_waits_for_the_tile() -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, ROWS), "float16"),
        B: T.Tensor((ROWS, COLUMNS), "float16"),
        C: T.Tensor((ROWS, COLUMNS), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_cid, _vid):
            parts = T.alloc_L1((1, ROWS, ROWS), "float16")
            first = T.reshape(parts, (ROWS, ROWS))
            b = T.alloc_L1((ROWS, COLUMNS), "float16")
            product = T.alloc_L0C((ROWS, COLUMNS), "float32")
            x = T.alloc_ub((ROWS, ROWS), "float16")
            T.copy(A, x)
            T.tile.mul(x, x, 2.0)
            T.copy(B, b)
            T.copy(x, parts[0, :, :])
            T.gemm_v0(first, b, product, init=True)
            T.copy(product, C)

    a, b = factors()
    result = run(main, a, b, np.zeros((ROWS, COLUMNS), np.float32))
    np.testing.assert_array_equal(result, 2 * (a.astype(np.float32) @ b.astype(np.float32)))


def test_a_nest_reads_what_it_writes_through_a_view_of_a_tensor() -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, COLUMNS), "float32"),
        W: T.Tensor((ROWS, COLUMNS), "float32"),
        C: T.Tensor((ROWS, COLUMNS), "int32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            bits = T.view(W, (ROWS, COLUMNS), "int32")
            for i, j in T.Parallel(ROWS, COLUMNS):
                W[i, j] = A[i, j] * 2.0
                C[i, j] = bits[i, j] + 1

    a = np.random.default_rng(2).normal(size=(ROWS, COLUMNS)).astype(np.float32)
    result = run(main, a, np.zeros_like(a), np.zeros((ROWS, COLUMNS), np.int32))
    np.testing.assert_array_equal(result, (a * 2).view(np.int32) + 1)


def test_an_update_sees_what_a_view_of_its_target_reads() -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, COLUMNS), "float32"), C: T.Tensor((ROWS, COLUMNS), "int32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_shared((ROWS, COLUMNS), "float32")
            y = T.alloc_shared((ROWS, COLUMNS), "int32")
            sums = T.alloc_shared((ROWS,), "float32")
            bits = T.view(sums, (ROWS,), "int32")
            T.copy(A, x)
            T.tile.fill(sums, 0.0)
            for i, j in T.Parallel(ROWS, COLUMNS):
                T.atomic_add(sums[i], x[i, j])
                y[i, j] = bits[i]
            T.copy(y, C)

    a = np.random.default_rng(3).integers(-9, 10, (ROWS, COLUMNS)).astype(np.float32)
    result = run(main, a, np.zeros((ROWS, COLUMNS), np.int32))
    np.testing.assert_array_equal(result, np.cumsum(a, 1, dtype=np.float32).view(np.int32))


@pytest.mark.parametrize("form", ["reshape", "unit dim", "bits", "twice", "result"])
def test_gemms_of_views(form: str) -> None:
    """One as other rows lies beside the tile, which is a matrix of its own in fractals."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((64, 64), "float16"),
        C: T.Tensor((32, 64), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_cid, _vid):
            b = T.alloc_shared((64, 64), "float16")
            product = T.alloc_fragment((1, 32, 64), "float32")
            c = T.reshape(product, (32, 64)) if form == "result" else product[0, :, :]
            T.copy(B, b)
            if form == "unit dim":
                tile = T.alloc_shared((1, 32, 64), "float16")
                T.copy(T.reshape(A, (32, 64)), tile[0, :, :])
                T.gemm_v0(T.reshape(tile, (32, 64)), b, c, init=True)
            elif form == "bits":
                tile = T.alloc_shared((32, 64), "int16")
                T.copy(T.view(A, (32, 64), "int16"), tile)
                T.gemm_v0(T.view(tile, (32, 64), "float16"), b, c, init=True)
            else:
                tile = T.alloc_shared((64, 32), "float16")
                wide = T.reshape(tile, (32, 64))
                T.copy(A, tile)
                T.gemm_v0(wide, b, c, init=True)
                if form == "twice":  # and the tile itself, by vector instructions too
                    for i, j in T.Parallel(64, 32):
                        tile[i, j] = tile[i, j] * 2.0
                    T.gemm_v0(wide, b, c)
                    T.gemm_v0(tile, b[0:32, :], T.alloc_fragment((64, 64), "float32"), init=True)
            T.copy(c, C)

    rng = np.random.default_rng(6)
    a = rng.integers(-3, 4, (64, 32)).astype(np.float16)
    b = rng.integers(-3, 4, (64, 64)).astype(np.float16)
    result = run(main, a, b, np.zeros((32, 64), np.float32))
    product = a.reshape(32, 64).astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(result, product * (3 if form == "twice" else 1))


def test_an_operand_of_gemms_that_is_copied_to_another() -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, ROWS), "float16"),
        B: T.Tensor((ROWS, COLUMNS), "float16"),
        C: T.Tensor((2, ROWS, COLUMNS), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=2) as _:
            a = T.alloc_shared((ROWS, ROWS), "float16")
            same = T.alloc_shared((ROWS, ROWS), "float16")
            b = T.alloc_shared((ROWS, COLUMNS), "float16")
            product = T.alloc_fragment((ROWS, COLUMNS), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, product, init=True)
            T.copy(product, C[0, 0, 0])
            T.copy(a, same)
            T.gemm_v0(same, b, product)
            T.copy(product, C[1, 0, 0])

    a, b = factors()
    product = a.astype(np.float32) @ b.astype(np.float32)
    result = run(main, a, b, np.zeros((2, ROWS, COLUMNS), np.float32))
    np.testing.assert_array_equal(result, [product, 2 * product])
