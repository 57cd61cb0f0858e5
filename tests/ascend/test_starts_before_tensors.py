# SPDX-License-Identifier: Apache-2.0
"""Tiles that begin before a tensor's first row or column: what lies outside is padded on the way in
and left out on the way back. Where the machine can't, an error says so at the copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
M, N = 9, 21


def window(source: Array, row: int, column: int, shape: tuple[int, int], pad: float = 0) -> Array:
    result = np.full(shape, pad, source.dtype)
    for i in range(shape[0]):
        for j in range(shape[1]):
            if 0 <= row + i < source.shape[0] and 0 <= column + j < source.shape[1]:
                result[i, j] = source[row + i, column + j]
    return result


def both(kernel: Any, *arguments: Any) -> Array:
    """The last array, from the host; the interpreter's must be the same."""
    *inputs, result = arguments
    same = result.copy()
    tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)(*inputs, result)
    interpret(kernel, *inputs, same)
    np.testing.assert_array_equal(result, same)
    return np.asarray(result)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_load(dtype: str) -> None:
    height, width = 6, 32

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, N), dtype),
        C: T.Tensor((height, width), dtype),
        row: T.int32,
        column: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((height, width), dtype)
            T.copy(A[row, column], c)
            T.copy(c, C)

    source = (np.arange(M * N) % 100 + 1).reshape(M, N).astype(dtype)
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    for row, column in [(-1, -1), (-3, -9), (-2, -17), (0, -40), (-9, 0), (4, 3), (-4, 20)]:
        made, same = np.zeros((height, width), dtype), np.zeros((height, width), dtype)
        kernel(source, made, row, column)
        interpret(main, source, same, row, column)
        expected = window(source, row, column, (height, width))
        np.testing.assert_array_equal(made, expected, err_msg=f"{row} {column}")
        np.testing.assert_array_equal(same, expected)


def test_load_by_blocks_with_padding() -> None:
    """A window around each block, as a stencil takes it; rows begin anywhere in a block."""
    side = 8

    @T.prim_func
    def main(A: T.Tensor((16, 16), "float32"), C: T.Tensor((16, 16), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True, threads=1) as cid:
            y = cid // 2
            x = cid % 2
            wide = T.alloc_ub((side + 2, 16), "float32")
            total = T.alloc_ub((side, side), "float32")
            T.copy(
                A[y * side - 1 : y * side + side + 1, x * side - 1 : x * side + side + 1],
                wide[0 : side + 2, 0 : side + 2],
                pad_value=5.0,
            )
            for i, j in T.Parallel(side, side):
                total[i, j] = wide[i, j] + wide[i + 2, j + 2]
            T.copy(total, C[y * side, x * side])

    source = np.arange(256).reshape(16, 16).astype(np.float32)
    made = both(main, source, np.zeros((16, 16), np.float32))
    padded = np.pad(source, 1, constant_values=5.0)
    np.testing.assert_array_equal(made, padded[:16, :16] + padded[2:, 2:])


@pytest.mark.parametrize("row", [-3, -8, 6])
def test_rows_of_the_cube_core(row: int) -> None:
    """To L1 and from L0C, at an offset that is known when the kernel runs."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, 16), "float16"), C: T.Tensor((M, 16), "float32"), row: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((16, 16), "float16")
            product = T.alloc_L0C((16, 16), "float32")
            T.copy(A[row, 0], a)
            T.gemm_v0(a, a, product, init=True)
            T.copy(product, C[row, 0])

    source = (np.arange(M * 16) % 5).reshape(M, 16).astype(np.float16)
    part = window(source, row, 0, (16, 16)).astype(np.float64)
    expected = np.zeros((M, 16), np.float32)
    for i in range(16):
        if 0 <= row + i < M:
            expected[row + i] = (part @ part)[i]
    result = np.zeros((M, 16), np.float32)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(source, result, row)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("row", [-2, 0, 5])
def test_store(row: int) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, 16), "float32"), C: T.Tensor((M, 16), "float32"), row: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((4, 16), "float32")
            T.copy(A, a)
            T.copy(a, C[row, 0])

    source = np.arange(64).reshape(4, 16).astype(np.float32)
    result = np.full((M, 16), -1, np.float32)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(source, result, row)
    expected = np.full((M, 16), -1, np.float32)
    expected[max(row, 0) : row + 4] = source[max(-row, 0) :]
    np.testing.assert_array_equal(result, expected[:M])


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        ("store", "the DMA reads UB from the start of a block of 32 bytes"),
        ("L1", "columns of L1 come in groups of 32 bytes"),
        ("L0C", "columns of L0C come in groups of 16"),
    ],
)
def test_columns_that_the_machine_cannot_cut(route: str, reason: str) -> None:
    @T.prim_func
    def store(A: T.Tensor((16, 16), "float32"), C: T.Tensor((16, 16), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            a = T.alloc_ub((16, 16), "float32")
            T.copy(A, a)
            T.copy(a, C[0, cid - 2])

    @T.prim_func
    def cube(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            a = T.alloc_L1((16, 16), "float16")
            product = T.alloc_L0C((16, 16), "float32")
            T.copy(A[0, cid - 2 if route == "L1" else 0], a)
            T.gemm_v0(a, a, product, init=True)
            T.copy(product, C[0, cid - 2 if route == "L0C" else 0])

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(
            store if route == "store" else cube, target="ascend", pass_configs=AUTOMATIC
        )
    message = caught.value.errors[0].message
    start = "unsupported on ascend: this copy may begin at element -2 of dim 1 of its tensor, but "
    assert message == start + reason


@pytest.mark.parametrize("route", ["cube", "vector"])
def test_what_is_left_of_a_division_is_not_below_zero(route: str) -> None:
    """`%` is Python's."""

    @T.prim_func
    def cube(A: T.Tensor((16, 48), "float16"), C: T.Tensor((16, 48), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True, threads=1) as cid:
            a = T.alloc_L1((16, 16), "float16")
            product = T.alloc_L0C((16, 16), "float32")
            T.copy(A[0, (cid - 7) % 3 * 16], a)
            T.gemm_v0(a, a, product, init=True)
            T.copy(product, C[0, (cid - 7) % 3 * 16])

    @T.prim_func
    def vector(A: T.Tensor((16, 48), "float16"), C: T.Tensor((16, 48), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True, threads=1) as cid:
            a = T.alloc_ub((16, 16), "float16")
            T.copy(A[0, (cid - 7) % 3 * 16], a)
            T.copy(a, C[0, (cid - 7) % 3 * 16])

    kernel = tilewright.compile(
        cube if route == "cube" else vector, out_idx=-1, target="ascend", pass_configs=AUTOMATIC
    )
    a = np.random.default_rng(0).integers(-3, 4, (16, 48)).astype(np.float16)
    tiles = [a[:, start : start + 16] for start in (0, 16, 32)]
    expected = np.concatenate([t @ t for t in tiles], 1) if route == "cube" else a
    np.testing.assert_array_equal(np.asarray(kernel(a), np.float32), expected.astype(np.float32))


def columns_at_run_time(route: str) -> Any:
    """A copy at a column that an argument or memory gives."""

    @T.prim_func
    def of_vectors(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 48), "float32"), C: T.Tensor((16, 48), "float32"), column: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 16), "float32")
            for i in T.serial(1):
                T.copy(A[0, 16], a)
                T.copy(a, C[0, column + i])

    @T.prim_func
    def of_the_cube(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 48), "float32"), C: T.Tensor((16, 48), "float32"), column: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((16, 16), "float32")
            b = T.alloc_L1((16, 16), "float32")
            unit = T.alloc_ub((16, 16), "float32")
            columns = T.alloc_ub((16,), "int32")
            product = T.alloc_L0C((16, 16), "float32")
            T.tile.fill(unit, 0.0)
            T.tile.fill(columns, column)
            for i in T.serial(16):
                unit[i, i] = 1.0
            T.copy(unit, b)
            T.copy(A[0, 16], a)
            T.gemm_v0(a, b, product, transpose_B=True, init=True)
            T.copy(product, C[0, column])
            T.copy(unit, C[0, columns[0] + 24])

    return of_vectors if route == "vectors" else of_the_cube


@pytest.mark.parametrize("route", ["vectors", "cube"])
def test_columns_that_are_known_at_run_time(route: str) -> None:
    source = np.arange(16 * 48).reshape(16, 48).astype(np.float32)
    main = columns_at_run_time(route)
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    if route == "cube":
        # The element is the argument, so the two stores are known to be apart: one flag is left.
        text = kernel.get_kernel_source()
        assert "GetValue" not in text and text.count("CrossCoreSetFlag<") == 1
    for column in (0, 5, 40):
        made, same = np.zeros((16, 48), np.float32), np.zeros((16, 48), np.float32)
        kernel(source, made, column)
        interpret(main, source, same, column)
        expected = np.zeros((16, 48), np.float32)
        expected[:, column : column + 16] = source[:, 16:32][:, : 48 - column]
        if route == "cube":
            unit = np.eye(16, dtype=np.float32)[:, : max(24 - column, 0)]
            expected[:, column + 24 : column + 40] = unit
        np.testing.assert_array_equal(made, expected)
        np.testing.assert_array_equal(same, expected)
    with pytest.raises(RuntimeError, match="this copy begins before element 0 of dim 1"):
        kernel(source, np.zeros((16, 48), np.float32), -3)
