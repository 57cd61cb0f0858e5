# SPDX-License-Identifier: Apache-2.0
"""An operation on parts of one tile reads all before it writes anything, as in NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
Keys = tilewright.PassConfigKey

AUTOMATIC = {
    Keys.TL_ASCEND_AUTO_SYNC: True,
    Keys.TL_ASCEND_MEMORY_PLANNING: True,
    Keys.TL_ASCEND_AUTO_CV_COMBINE: True,
    Keys.TL_ASCEND_AUTO_CV_SYNC: True,
}
GROUP = KernelGroup(AUTOMATIC, tolerance=0)
ROWS = 32
ARRAY_TYPES = {"bfloat16": ml_dtypes.bfloat16}


def numbers(columns: int, dtype: str) -> Array:
    return (
        (np.arange(ROWS * columns) % 113)
        .reshape(ROWS, columns)
        .astype(ARRAY_TYPES.get(dtype, dtype))
    )


@GROUP.each(dtype=["float32", "float16", "bfloat16", "int32", "int8"], columns=[32, 20, 13])
def rows_of_a_tile(dtype: str, columns: int) -> Any:  # noqa: ANN401
    """Forth, back, to themselves, and to where they touch."""

    @T.prim_func
    def main(A: T.Tensor((ROWS, columns), dtype), C: T.Tensor((4, ROWS, columns), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, columns), dtype)
            T.copy(A, x)
            T.copy(x[0:8, :], x[4:12, :])
            T.copy(x, C[0, 0, 0])
            T.copy(x[4:12, :], x[0:8, :])
            T.copy(x, C[1, 0, 0])
            T.copy(x[3:11, :], x[3:11, :])
            T.copy(x, C[2, 0, 0])
            T.copy(x[8:16, :], x[16:24, :])
            T.copy(x, C[3, 0, 0])

    source = numbers(columns, dtype)
    wanted = np.stack([source] * 4)
    for turn, (first, second) in enumerate([(0, 4), (4, 0), (3, 3), (8, 16)]):
        moved = wanted[turn, first : first + 8].copy()
        wanted[turn:, second : second + 8] = moved
    return main, [source, np.zeros_like(wanted)], wanted.astype(np.float64)


@GROUP.each(dtype=["float32", "int32"], places=[(0, 8), (8, 0), (0, 16)])
def columns_of_a_tile(dtype: str, places: tuple[int, int]) -> Any:  # noqa: ANN401
    first, second = places

    @T.prim_func
    def main(A: T.Tensor((ROWS, 40), dtype), C: T.Tensor((ROWS, 40), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, 40), dtype)
            T.copy(A, x)
            T.copy(x[:, first : first + 19], x[:, second : second + 19])
            T.copy(x, C)

    source = numbers(40, dtype)
    wanted = source.copy()
    wanted[:, second : second + 19] = source[:, first : first + 19]
    return main, [source, np.zeros_like(wanted)], wanted.astype(np.float64)


def moved_in_turns(dtype: str, columns: int, first: int, second: int) -> Array:
    wanted = numbers(columns, dtype)
    for turn in range(3):
        part = wanted[first + turn : first + turn + 8].copy()
        wanted[second + turn : second + turn + 8] = part
    return wanted


@GROUP.each(dtype=["float32", "int8"], by_hand=[False, True], columns=[32, 20])
def places_that_are_known_at_run_time(dtype: str, by_hand: bool, columns: int) -> Any:  # noqa: ANN401
    """In a loop, whose turns need what those before have moved."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, columns), dtype),
        first: T.int32,
        second: T.int32,
        C: T.Tensor((ROWS, columns), dtype),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, columns), dtype)
            with T.Scope("V"):
                T.copy(A, x)
                T.barrier_all()
                for turn in T.serial(3):
                    T.copy(x[first + turn, 0], x[second + turn : second + turn + 8, :])
                    T.barrier_all()
                T.copy(x, C)

    arguments = [numbers(columns, dtype), 0, 5, np.zeros((ROWS, columns), dtype)]
    return main, arguments, moved_in_turns(dtype, columns, 0, 5), {} if by_hand else AUTOMATIC


@pytest.mark.parametrize("columns", [32, 20])
@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_other_places(dtype: str, by_hand: bool, columns: int) -> None:
    name = f"places_that_are_known_at_run_time {dtype} {by_hand} {columns}"
    for places in ((7, 2), (4, 4), (1, 20)):
        given = [numbers(columns, dtype), *places, np.zeros((ROWS, columns), dtype)]
        wanted = moved_in_turns(dtype, columns, *places)
        np.testing.assert_array_equal(GROUP.run(name, *given)[-1], wanted)
        interpret(GROUP.cases[name].kernel, *given)
        np.testing.assert_array_equal(given[-1], wanted)


@GROUP.each(by_hand=[False, True])
def views_of_a_tile(by_hand: bool) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((ROWS, 32), "float32"), C: T.Tensor((2, ROWS, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, 32), "float32")
            with T.Scope("V"):
                flat = T.reshape(x, (ROWS * 32,))
                same = T.view(x, (ROWS, 32), "float32")
                T.copy(A, x)
                T.barrier_all()
                T.copy(flat[0:512], flat[64:576])
                T.barrier_all()
                T.copy(x, C[0, 0, 0])
                T.barrier_all()
                T.copy(same[8:24, :], x[4:20, :])
                T.barrier_all()
                T.copy(x, C[1, 0, 0])

    source = numbers(32, "float32")
    first = source.copy()
    first.reshape(-1)[64:576] = source.reshape(-1)[:512]
    second = first.copy()
    second[4:20] = first[8:24]
    wanted = np.stack([first, second])
    return (
        main,
        [source, np.zeros_like(wanted)],
        wanted.astype(np.float64),
        {} if by_hand else AUTOMATIC,
    )


@GROUP.each(dtype=["float32", "int32"])
def a_view_of_another_dtype(dtype: str) -> Any:  # noqa: ANN401
    """Of as many bits, all of it stays where it is."""

    @T.prim_func
    def main(A: T.Tensor((ROWS, 32), dtype), C: T.Tensor((ROWS, 32), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, 32), dtype)
            halves = T.view(x, (ROWS, 64), "int16")
            whole = T.view(x, (ROWS, 32), "int32")
            T.copy(A, x)
            T.copy(x, whole)
            T.copy(halves[0:8, 0:32], whole[0:8, :])
            T.copy(whole, C)

    source = numbers(32, dtype)
    wanted = source.astype(np.int32)
    wanted[:8] = np.ascontiguousarray(wanted[:8]).view(np.int16)[:, :32]
    return main, [source, np.zeros_like(wanted)], wanted.astype(np.float64)


@GROUP.each(side=[16, 12])
def a_transposed_copy(side: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((side, side), "float32"), C: T.Tensor((side, side), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((side, side), "float32")
            T.copy(A, x)
            T.transpose(x, x)
            T.copy(x, C)

    source = numbers(side, "float32")[:side]
    wanted = source.T.copy()
    return main, [source, np.zeros_like(wanted)], wanted.astype(np.float64)


@GROUP.each(dtype=["float32", "int8"])
def columns_of_one_number_and_several_dims(dtype: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((4, 8, 20), dtype), C: T.Tensor((4, 8, 20), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((4, 8, 20), dtype)
            T.copy(A, x)
            T.copy(x[0:3, 1:5, :], x[1:4, 2:6, :])
            T.copy(x[0, 0:6, 0:1], x[0, 2:8, 0:1])
            T.copy(x, C)

    source = numbers(20, dtype).reshape(4, 8, 20)
    wanted = source.copy()
    wanted[1:4, 2:6] = source[0:3, 1:5]
    wanted[0, 2:8, 0] = wanted[0, 0:6, 0].copy()
    return main, [source, np.zeros_like(wanted)], wanted.astype(np.float64)


@GROUP.each()
def parts_that_are_apart_need_no_tile_between() -> Any:  # noqa: ANN401
    """All of UB but what a tile between would take is the kernel's own."""

    @T.prim_func
    def main(A: T.Tensor((376, 128), "float32"), k: T.int32, C: T.Tensor((376, 128), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((376, 128), "float32")
            T.copy(A, x)
            T.copy(x[0:188, :], x[188:376, :])
            T.copy(x[0:188, 64:128], x[0:188, 0:64])
            T.copy(x[k : k + 90, :], x[k + 90 : k + 180, :])
            T.copy(x, C)

    source = np.arange(376 * 128, dtype=np.float32).reshape(376, 128)
    wanted = source.copy()
    wanted[188:] = source[:188]
    wanted[:188, :64] = wanted[:188, 64:]
    wanted[95:185] = wanted[5:95].copy()
    return main, [source, 5, np.zeros_like(wanted)], wanted.astype(np.float64)


@GROUP.each()
def parts_of_a_product_and_of_its_operand() -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, 32), "float16"),
        B: T.Tensor((32, 32), "float16"),
        C: T.Tensor((ROWS, 32), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((ROWS, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((ROWS, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(a[0:8, :], a[4:12, :])
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c[0:16, :], c[8:24, :])
            T.copy(c, C)

    left, right = (numbers(32, "float16") % 7 for _ in range(2))
    moved = left.copy()
    moved[4:12] = left[0:8]
    wanted = moved.astype(np.float32) @ right.astype(np.float32)
    wanted[8:24] = wanted[0:16].copy()
    return main, [left, right, np.zeros_like(wanted)], wanted.astype(np.float64)


@GROUP.each(clear=[True, False])
def a_reduction_into_a_part_of_what_it_reads(clear: bool) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((ROWS, 32), "float32"), C: T.Tensor((ROWS, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, 32), "float32")
            T.copy(A, x)
            T.reduce_sum(x[0:8, :], x[4, :], dim=0, clear=clear)
            T.reduce_max(x[8:16, :], x[16, :], dim=0, clear=clear)
            T.copy(x, C)

    source = numbers(32, "float32")
    wanted = source.copy()
    wanted[4] = source[:8].sum(0) + (0 if clear else source[4])
    wanted[16] = np.maximum(source[8:16].max(0), 0 if clear else source[16])
    return main, [source, np.zeros_like(wanted)], wanted.astype(np.float64)


@GROUP.each(dim=[0, 1], reverse=[False, True])
def a_scan_into_a_part_of_what_it_reads(dim: int, reverse: bool) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((ROWS, 32), "float32"), C: T.Tensor((ROWS, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, 32), "float32")
            T.copy(A, x)
            T.cumsum(x[0:8, :], x[3:11, :], dim=dim, reverse=reverse)
            T.cumsum(x[20:28, :], x[16:24, :], dim=dim, reverse=reverse)
            T.copy(x, C)

    source = numbers(32, "float32")
    wanted = source.copy()
    for first, into in ((0, 3), (20, 16)):
        part = source[first : first + 8]
        if reverse:
            wanted[into : into + 8] = np.flip(np.flip(part, dim).cumsum(dim), dim)
        else:
            wanted[into : into + 8] = part.cumsum(dim)
    return main, [source, np.zeros_like(wanted)], wanted.astype(np.float64)


@pytest.mark.parametrize("name", GROUP.cases)
def test_overlapping_copies(name: str) -> None:
    """The host and the interpreter."""
    GROUP.check(name)
