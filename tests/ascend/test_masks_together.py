# SPDX-License-Identifier: Apache-2.0
"""Masks that bitwise functions combine, whatever tiles hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def run(main: Any, *tensors: np.ndarray[Any, Any]) -> Any:
    """What the machine and the interpreter write to the last tensor, and the source."""
    same = [tensor.copy() for tensor in tensors]
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    kernel(*tensors)
    interpret(main, *same)
    np.testing.assert_array_equal(tensors[-1], same[-1])
    return tensors[-1], kernel.get_kernel_source()


def between(shape: tuple[int, int], mask: tuple[int, ...], dtype: str) -> Any:
    """Numbers from 0 to 1 stay, others but -2 to -1, which count 9, become 0."""

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub(shape, "float32")
            above = T.alloc_ub(mask, dtype)
            below = T.alloc_ub(mask, dtype)
            both = T.alloc_ub(mask, dtype)
            T.copy(A, tile)
            T.tile.clear(above)
            T.tile.clear(below)
            T.tile.compare(above, tile, -2.0, "GE")
            T.tile.compare(below, tile, -1.0, "GT")
            T.tile.bitwise_not(both, below)
            T.tile.bitwise_and(both, both, above)
            T.tile.bitwise_not(both, both)
            T.tile.select(tile, both, tile, 9.0, "VSEL_TENSOR_SCALAR_MODE")
            T.tile.compare(above, tile, 0.0, "GE")
            T.tile.compare(below, tile, 1.0, "LE")
            T.tile.bitwise_and(above, above, below)
            T.tile.compare(below, tile, 9.0, "EQ")
            T.tile.bitwise_or(above, above, below)
            T.tile.select(tile, above, tile, 0.0, "VSEL_TENSOR_SCALAR_MODE")
            T.copy(tile, B)

    return main


@pytest.mark.filterwarnings("ignore:.*nothing uses what comes of it")
@pytest.mark.parametrize(
    ("mask", "dtype"),
    [
        ((16, 4), "uint8"),
        ((64,), "uint8"),
        ((2, 32), "uint8"),
        ((16, 32), "float32"),
        ((16, 32), "float16"),
        ((32,), "float16"),
        ((32,), "int16"),
    ],
)
def test_masks_that_go_together(mask: tuple[int, ...], dtype: str) -> None:
    """Rows of 4 bytes, which other tiles keep 32 apart, and masks at the start of numbers."""
    a = np.random.default_rng(0).uniform(-3, 3, (16, 32)).astype(np.float32)
    found, source = run(between((16, 32), mask, dtype), a, np.zeros_like(a))
    kept = np.where((a >= 0) & (a <= 1), a, 0)
    np.testing.assert_array_equal(found, np.where((a >= -2) & (a <= -1), 9, kept))
    assert "And(" in source
    assert "GetValue" not in source  # no element by itself


@pytest.mark.filterwarnings("ignore:this nest runs element by element")
def test_bits_of_rows_by_the_kernel_itself() -> None:
    """A nest over rows and columns of a mask, a fill and single bytes of it."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((8, 64), "float32"),
        M: T.Tensor((8, 8), "uint8"),
        B: T.Tensor((8, 64), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((8, 64), "float32")
            given = T.alloc_ub((8, 8), "uint8")
            made = T.alloc_ub((8, 8), "uint8")
            T.copy(A, tile)
            T.copy(M, given)
            T.tile.fill(made, 255)
            made[3, 5] = 0
            for i, j in T.Parallel(8, 8):
                made[i, j] = made[i, j] & given[i, j]
            T.tile.select(tile, made, tile, 0.0, "VSEL_TENSOR_SCALAR_MODE")
            T.copy(tile, B)

    random = np.random.default_rng(1)
    a = random.standard_normal((8, 64)).astype(np.float32)
    m = random.integers(0, 256, (8, 8)).astype(np.uint8)
    found, _ = run(main, a, m, np.zeros_like(a))
    bits = np.unpackbits(m, axis=1, bitorder="little").astype(bool)
    bits[3, 40:48] = False
    np.testing.assert_array_equal(found, np.where(bits, a, 0))


def test_floats_that_are_no_masks() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((8, 64), "float32")
            T.copy(A, tile)
            T.tile.bitwise_and(tile, tile, tile)
            T.copy(tile, A)

    with pytest.raises(tilewright.CompileError, match="works on integers, but 'tile' is float32"):
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
