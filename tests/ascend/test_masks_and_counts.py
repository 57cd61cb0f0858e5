# SPDX-License-Identifier: Apache-2.0
"""Masks of any shape and dtype that have room for a bit per element, and counts of all elements."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def positive(shape: tuple[int, ...], dtype: str = "uint8") -> Any:
    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((8, 64), "float32")
            mask = T.alloc_ub(shape, dtype)
            T.copy(A, tile)
            T.tile.compare(mask, tile, 0.0, "GT")
            T.tile.select(tile, mask, tile, 0.0, "VSEL_TENSOR_SCALAR_MODE")
            T.copy(tile, B)

    return main


@pytest.mark.parametrize("shape", [(64,), (8, 8), (2, 32), (1, 64), (128,), (8, 64), (1, 512)])
def test_shapes_of_masks(shape: tuple[int, ...]) -> None:
    """Rows of 8 bytes, too, which copies would keep 32 apart; and more than are needed."""
    a = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    made, same = np.zeros_like(a), np.zeros_like(a)
    tilewright.compile(positive(shape), target="ascend", pass_configs=AUTOMATIC)(a, made)
    interpret(positive(shape), a, same)
    for found in (made, same):
        np.testing.assert_array_equal(found, np.maximum(a, 0))


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((512,), "float32"), ((8, 64), "float16"), ((32,), "float16"), ((1, 64), "int8")],
)
def test_masks_in_tiles_of_numbers(shape: tuple[int, ...], dtype: str) -> None:
    """Their first bytes hold the bits: a tile that is as large as what it masks is common."""
    a = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    made, same = np.zeros_like(a), np.zeros_like(a)
    kernel = tilewright.compile(positive(shape, dtype), target="ascend", pass_configs=AUTOMATIC)
    kernel(a, made)
    interpret(positive(shape, dtype), a, same)
    for found in (made, same):
        np.testing.assert_array_equal(found, np.maximum(a, 0))


def test_masks_in_rows_of_numbers() -> None:
    """Two rows in turn, of a number that only the kernel knows."""

    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), first: T.int32, B: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((8, 64), "float32")
            masks = T.alloc_ub((2, 8), "float32")
            T.copy(A, tile)
            for i in T.serial(8):
                turn = (i + first) % 2
                T.tile.compare(masks[turn, :], tile[i, :], 0.0, "GT")
                T.tile.compare(masks[1 - turn, :], tile[i, :], 9.0, "GT")
                T.tile.select(
                    tile[i, :], masks[turn, :], tile[i, :], 0.0, "VSEL_TENSOR_SCALAR_MODE"
                )
            T.copy(tile, B)

    a = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    # None between the two rows, which no turn has in common.
    rest = kernel.get_kernel_source().partition("CompareScalar(")[2]
    assert "PipeBarrier" not in rest.partition("CompareScalar(")[0]
    for number in (1, -3):
        made, same = np.zeros_like(a), np.zeros_like(a)
        kernel(a, number, made)
        interpret(main, a, number, same)
        for found in (made, same):
            np.testing.assert_array_equal(found, np.maximum(a, 0))


def test_a_mask_without_room() -> None:
    with pytest.raises(tilewright.CompileError, match="has 512 elements, but 'mask' has 63 bytes"):
        tilewright.compile(positive((63,)), target="ascend", pass_configs=AUTOMATIC)
    with pytest.raises(tilewright.CompileError, match="has 512 elements, but 'mask' has 60 bytes"):
        tilewright.compile(positive((15,), "float32"), target="ascend", pass_configs=AUTOMATIC)


def test_counts_of_all_elements() -> None:
    """Rows of 33 elements are apart in UB, but a count of all of them is the whole tile."""

    @T.prim_func
    def main(A: T.Tensor((3, 33), "float32"), B: T.Tensor((3, 33), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((3, 33), "float32")
            clamped = T.alloc_ub((3, 33), "float32")
            result = T.alloc_ub((3, 33), "float16")
            T.copy(A, tile)
            T.tile.clamp(clamped, tile, -0.5, 0.5, 99)
            T.tile.cast(result, clamped, "CAST_RINT", 99)
            T.copy(result, B)

    a = np.random.default_rng(1).standard_normal((3, 33)).astype(np.float32)
    b = np.zeros((3, 33), np.float16)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, b)
    np.testing.assert_array_equal(b, np.clip(a, -0.5, 0.5).astype(np.float16))


def test_uint8_is_nothing_that_the_cube_core_multiplies() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "uint8"), C: T.Tensor((32, 32), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 32), "uint8")
            c = T.alloc_L0C((32, 32), "int32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c, C)

    with pytest.raises(tilewright.CompileError, match="a gemm of uint8 with sums of int32"):
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)


def chosen(rows: int, columns: int, tensor_columns: int) -> Any:
    """Part of a mask in global memory chooses, and that of a comparison goes there."""
    shape, bytes_of = (rows, columns), tensor_columns // 8

    @T.prim_func
    def main(
        A: T.Tensor(shape, "float32"),
        M: T.Tensor((rows, bytes_of), "uint8"),
        B: T.Tensor(shape, "float32"),
        N: T.Tensor((rows, bytes_of), "uint8"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub(shape, "float32")
            given = T.alloc_ub((rows, columns // 8), "uint8")
            made = T.alloc_ub((rows, columns // 8), "uint8")
            T.copy(A, tile)
            T.copy(M[0, bytes_of - columns // 8], given)
            T.barrier_all()
            T.tile.compare(made, tile, 0.5, "GT")
            T.barrier_all()
            T.tile.select(tile, given, tile, 0.0, "VSEL_TENSOR_SCALAR_MODE")
            T.barrier_all()
            T.copy(tile, B)
            T.copy(made, N[0, bytes_of - columns // 8])

    return main


@pytest.mark.filterwarnings("ignore:this nest runs element by element")
@pytest.mark.parametrize("configs", [AUTOMATIC, {}], ids=["automatic", "by hand"])
@pytest.mark.parametrize(
    ("rows", "columns", "tensor_columns"), [(8, 64, 64), (8, 64, 192), (5, 128, 128), (8, 32, 96)]
)
def test_masks_in_global_memory(
    configs: dict[Any, bool], rows: int, columns: int, tensor_columns: int
) -> None:
    """Rows of 4 to 16 bytes lie 32 apart as the DMA moves them, and side by side in a mask."""
    random = np.random.default_rng(3)
    main = chosen(rows, columns, tensor_columns)
    kernel = tilewright.compile(main, target="ascend", pass_configs=configs)
    a = random.standard_normal((rows, columns)).astype(np.float32)
    given = random.integers(0, 256, (rows, tensor_columns // 8)).astype(np.uint8)
    b, n = np.zeros_like(a), np.zeros_like(given)
    same = [b.copy(), n.copy()]
    kernel(a, given, b, n)
    interpret(main, a, given, *same)
    part = slice(tensor_columns // 8 - columns // 8, None)
    bits = np.unpackbits(given[:, part], axis=1, bitorder="little").astype(bool)
    expected = np.zeros_like(given)
    expected[:, part] = np.packbits(a > 0.5, axis=1, bitorder="little")
    for found, mask in ((b, n), same):
        np.testing.assert_array_equal(found, np.where(bits, a, 0))
        np.testing.assert_array_equal(mask, expected)


def narrow(dtype: str) -> Any:
    """Comparisons and choices of numbers for which the vector unit has neither."""
    shape = (8, 64)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(shape, dtype), X: T.Tensor(shape, dtype), B: T.Tensor((4, *shape), dtype)
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, dtype)
            x = T.alloc_ub(shape, dtype)
            made = T.alloc_ub(shape, dtype)
            mask = T.alloc_ub((64,), "uint8")
            T.copy(A, a)
            T.copy(X, x)
            T.tile.compare(mask, a, x, "GT")
            T.tile.select(made, mask, a, x, "VSEL_TENSOR_TENSOR_MODE")
            T.copy(made, B[0, 0, 0])
            T.tile.compare(mask, a, 5, "LE")
            T.tile.select(made, mask, x, 7, "VSEL_TENSOR_SCALAR_MODE")
            T.copy(made, B[1, 0, 0])
            T.tile.compare(mask, a, x[0, 3], "NE")
            T.tile.select(made, mask, a, x[0, 4], "VSEL_TENSOR_SCALAR_MODE")
            T.copy(made, B[2, 0, 0])
            T.tile.compare(mask, a, x, "EQ")
            T.tile.select(made, mask, a, x, "VSEL_CMPMASK_SPR")
            T.copy(made, B[3, 0, 0])

    return main


DTYPES = ["bfloat16", "int16", "uint16", "int8", "uint8", "int32", "uint32"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_vector_instructions_for_numbers_of_all_sizes(dtype: str) -> None:
    """From the least to the greatest, without a loop over elements on the scalar unit."""
    random = np.random.default_rng(0)
    if dtype == "bfloat16":
        a, x = (random.standard_normal((8, 64)).astype(ml_dtypes.bfloat16) for _ in range(2))
        a[0, :3] = np.inf, -np.inf, np.nan
    else:
        limits = np.iinfo(dtype)
        a, x = (
            random.integers(limits.min, limits.max, (8, 64), np.dtype(dtype), endpoint=True)
            for _ in range(2)
        )
        a[0, :4], x[0, :3] = (limits.max, limits.min, 5, 5), (limits.min, limits.max, 5)
    x[1], x[0, 3] = a[1], a[5, 5]
    made, same = (np.zeros((4, 8, 64), a.dtype) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="this kernel computes bfloat16 in float32")
        kernel = tilewright.compile(narrow(dtype), target="ascend", pass_configs=AUTOMATIC)
    repeat = 256 // a.dtype.itemsize
    kernel(a, x, made)
    interpret(narrow(dtype), a, x, same)
    a, x, made, same = (part.astype(np.float64) for part in (a, x, made, same))
    np.testing.assert_array_equal(made, same)
    expected = np.where(a > x, a, x), np.where(a <= 5, x, 7), np.where(a != x[0, 3], a, x[0, 4])
    for found, wanted in zip(made, expected, strict=False):
        np.testing.assert_array_equal(found, wanted)
    # The same bits for each repeat of 256 bytes.
    bits = np.resize((a == x).reshape(-1)[:repeat], 512).reshape(8, 64)
    np.testing.assert_array_equal(made[3], np.where(bits, a, x))
