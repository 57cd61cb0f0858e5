# SPDX-License-Identifier: Apache-2.0
"""Parts of tensors and larger whole tiles: the part is copied; a load pads the rest of the tile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
GROUP = KernelGroup(tolerance=0)


def test_vector_tiles() -> None:
    """The rest of the tile is padded, and not stored."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((3, 50, 70), "float32"),
        P: T.Tensor((64, 96), "float32"),
        C: T.Tensor((50, 70), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            a = T.alloc_ub((64, 96), "float32")
            T.copy(A[2, 0:50, 0:70], a, pad_value=7.0)
            T.copy(a, P)
            T.copy(a, C[0:50, 0:70])

    a = np.arange(3 * 50 * 70).reshape(3, 50, 70).astype(np.float32)
    padded = np.full((64, 96), 7, np.float32)
    padded[:50, :70] = a[2]
    for run in (tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC), None):
        p, c = np.zeros((64, 96), np.float32), np.zeros((50, 70), np.float32)
        run(a, p, c) if run else interpret(main, a, p, c)
        np.testing.assert_array_equal(p, padded)
        np.testing.assert_array_equal(c, a[2])


def test_cube_tiles() -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((50, 70), "float16"),
        B: T.Tensor((70, 40), "float16"),
        C: T.Tensor((50, 40), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            a = T.alloc_shared((64, 96), "float16")
            b = T.alloc_shared((96, 48), "float16")
            c = T.alloc_fragment((64, 48), "float32")
            T.copy(A[0:50, 0:70], a)
            T.copy(B[0:70, 0:40], b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[0:50, 0:40])

    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((50, 70), (70, 40)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    made, same = (np.zeros((50, 40), np.float32) for _ in range(2))
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, b, made)
    interpret(main, a, b, same)
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(same, expected)


def copying(loads: bool, is_npu: bool = True) -> Any:
    """One of the copies between 3 of 8 elements and a tile of 5."""

    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), C: T.Tensor((5,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=is_npu) as _:
            a = T.alloc_shared((5,), "float32")
            if loads:
                T.copy(A[2:5], a)
                T.copy(a, C)
            else:
                T.copy(C, a)
                T.copy(a, A[2:5])

    return main


@pytest.mark.filterwarnings("error")
def test_what_the_part_does_not_name() -> None:
    """It is neither read nor written over."""
    kernel = tilewright.compile(copying(True), target="ascend", pass_configs=AUTOMATIC)
    a, c = np.arange(8, dtype=np.float32), np.full(5, 9, np.float32)
    kernel(a, c)
    np.testing.assert_array_equal(c, [2, 3, 4, 0, 0])
    c = 10 * np.arange(5, dtype=np.float32)
    tilewright.compile(copying(False), target="ascend", pass_configs=AUTOMATIC)(a, c)
    np.testing.assert_array_equal(a, [0, 1, 0, 10, 20, 5, 6, 7])
    for loads, told in ((True, "source has 3 elements but destination has 5"), (False, "has 5")):
        with pytest.raises(tilewright.CompileError, match=told):
            tilewright.compile(copying(loads, is_npu=False), target="cpu")


def test_stores_of_parts() -> None:
    """As many rows and columns as the part has, whether the kernel or a call says how many."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 32), "float32"),
        n: T.int32,
        C: T.Tensor((2, 40, 48), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 32), "float32")
            T.copy(A, a)
            T.copy(a, C[0, 3:13, 0:32])
            T.copy(a, C[0, 16 : 16 + n, 0:32])
            T.copy(a, C[1, 0:16, 8:28])
            T.copy(a, C[1, 37:40, 20:40])

    a = np.random.default_rng(0).standard_normal((16, 32)).astype(np.float32)
    wanted = np.zeros((2, 40, 48), np.float32)
    wanted[0, 3:13, :32] = wanted[0, 16:26, :32] = a[:10]
    wanted[1, :16, 8:28] = a[:, :20]
    wanted[1, 37:, 20:40] = a[:3, :20]
    for run in (tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC), None):
        c = np.zeros_like(wanted)
        run(a, 10, c) if run else interpret(main, a, 10, c)
        np.testing.assert_array_equal(c, wanted)


def test_stores_of_parts_of_products() -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        B: T.Tensor((32, 48), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 48), "float16")
            c = T.alloc_fragment((32, 48), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[1:21, 5:45])

    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((32, 32), (32, 48)))
    wanted = np.zeros((64, 64), np.float32)
    wanted[1:21, 5:45] = (a.astype(np.float64) @ b.astype(np.float64))[:20, :40]
    made, same = np.zeros_like(wanted), np.zeros_like(wanted)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, b, made)
    interpret(main, a, b, same)
    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(same, wanted)


ROWS, COLUMNS = 40, 48


def loading(part: Any, threads: int) -> Any:
    """A part of a tensor to a tile that is larger and holds other numbers."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, COLUMNS), "float32"),
        first: T.int32,
        rows: T.int32,
        columns: T.int32,
        C: T.Tensor((16, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            tile = T.alloc_ub((16, 32), "float32")
            T.tile.fill(tile, 5.0)
            T.barrier_all()
            if part is None:
                T.copy(A[first : first + rows, 8 : 8 + columns], tile, pad_value=7.0)
            else:
                T.copy(A[part], tile, pad_value=7.0)
            T.barrier_all()
            T.copy(tile, C)

    return main


EXTENTS = [(0, 10, 32), (3, 16, 20), (35, 10, 32), (5, 9, 13), (2, 16, 32)]
LOADED = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS).astype(np.float32)


def part_of(first: int, rows: int, columns: int) -> tuple[slice, slice]:
    return slice(first, first + rows), slice(8, 8 + columns)


def padded(*extents: int) -> Any:  # noqa: ANN401
    """Behind the last row of the tensor, too."""
    wanted = np.full((16, 32), 7, np.float32)
    there = LOADED[part_of(*extents)]
    wanted[: there.shape[0], : there.shape[1]] = there
    return wanted


def loads(*extents: int) -> list[Any]:
    return [LOADED, *extents, np.zeros((16, 32), np.float32)]


@GROUP.each(extents=EXTENTS, threads=[1, 2], automatic=[True, False])
def known_extents(extents: tuple[int, int, int], threads: int, automatic: bool) -> Any:  # noqa: ANN401
    kernel = loading(part_of(*extents), threads)
    return kernel, loads(*extents), padded(*extents), AUTOMATIC if automatic else {}


@GROUP.each(threads=[1, 2], automatic=[True, False])
def other_extents(threads: int, automatic: bool) -> Any:  # noqa: ANN401
    first = EXTENTS[0]
    return loading(None, threads), loads(*first), padded(*first), AUTOMATIC if automatic else {}


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_other_extents_mean_the_same(threads: int, automatic: bool) -> None:
    name = f"other_extents {threads} {automatic}"
    for extents in EXTENTS[1:]:
        same = loads(*extents)
        interpret(GROUP.cases[name].kernel, *same)
        for made in (GROUP.run(name, *loads(*extents)), same):
            np.testing.assert_array_equal(made[-1], padded(*extents))


def test_loads_of_fewer_rows_than_a_product_has() -> None:
    """What the part doesn't name is 0 in the product, though the tile held other numbers."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((64, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
        n: T.int32,
        C: T.Tensor((2, 32, 48), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, _):
            a = T.alloc_L1((32, 32), "float16")
            b = T.alloc_L1((32, 48), "float16")
            c = T.alloc_L0C((32, 48), "float32")
            T.copy(B[0:32, 0:48], b)
            T.copy(B[0:32, 0:32], a)
            T.copy(A[1:21, 0:32], a)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[0, 0, 0])
            T.copy(B[0:32, 0:32], a)
            T.copy(A[1 : 1 + n, 0:32], a)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[1, 0, 0])

    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (64, 64)).astype(np.float16) for _ in range(2))
    wanted = np.zeros((2, 32, 48), np.float32)
    wanted[:, :20] = a[1:21, :32].astype(np.float64) @ b[:32, :48].astype(np.float64)
    made, same = np.zeros_like(wanted), np.zeros_like(wanted)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, b, 20, made)
    interpret(main, a, b, 20, same)
    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(same, wanted)


def rows_of(first: int, rows: int, is_known: bool, form: str) -> Any:
    """Rows to a larger tile and back, whose number is known when the kernel is compiled, or not."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((3, 50, 32), "float32"),
        n: T.int32,
        P: T.Tensor((16, 32), "float32"),
        C: T.Tensor((3, 50, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 32), "float32")
            count = rows if is_known else n
            if form == "part of the tile":
                T.tile.fill(a, 7.0)
                T.copy(A[2, first : first + count, 0:32], a[0:16, 0:32])
            else:
                T.copy(A[2, first : first + count, 0:32], a, pad_value=7.0)
            T.copy(a, P)
            if form == "sums":
                T.atomic_add(C[2, first : first + count, 0:32], a)
            elif form == "part of the tile":
                T.copy(a[0:16, 0:32], C[2, first : first + count, 0:32])
            else:
                T.copy(a, C[2, first : first + count, 0:32])

    return main


#: Of rows: the first, and how many; whether that is known; where they go. A known number that isn't
#: the tile's is refused where a part of the tile is named.
ROWS_OF = [
    (first, rows, is_known, form)
    for first, rows in ((5, 1), (49, 1), (5, 3))
    for is_known in (True, False)
    for form in ("whole tile", "part of the tile", "sums")
    if form != "part of the tile" or not is_known or rows == 1
]


@GROUP.each(case=ROWS_OF)
def single_rows_are_parts_like_any(case: tuple[int, int, bool, str]) -> Any:  # noqa: ANN401
    first, rows, _, form = case
    a = np.arange(3 * 50 * 32).reshape(3, 50, 32).astype(np.float32)
    tile = np.full((16, 32), 7, np.float32)
    tile[:rows] = a[2, first : first + rows]
    stored = np.ones_like(a)
    stored[2, first : first + rows] = tile[:rows] + (form == "sums")
    arguments = [a, rows, np.zeros((16, 32), np.float32), np.ones_like(a)]
    return rows_of(*case), arguments, {2: tile, 3: stored}


@pytest.mark.parametrize("name", GROUP.cases)
def test_parts_and_larger_tiles(name: str) -> None:
    """The host and the interpreter."""
    GROUP.check(name)


@pytest.mark.parametrize("target", ["whole", "rows"])
def test_other_forms_of_a_single_row(target: str) -> None:
    """An index beside slices names a row, slices of one an element; an element starts a tile."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((50, 32), "float32"),
        P: T.Tensor((3, 16, 32), "float32"),
        C: T.Tensor((50, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 32), "float32")
            T.copy(A[7, 0:32], a)
            T.copy(a, P[0, 0, 0])
            T.copy(A[7:8, 8:9], a)
            T.copy(a, P[1, 0, 0])
            T.copy(A[7, 0], a)
            T.copy(a, P[2, 0, 0])
            if target == "whole":
                T.copy(a, C[30, 0:32])
            else:
                T.copy(a, C[30, 0])

    a = np.arange(50 * 32).reshape(50, 32).astype(np.float32)
    expected = np.zeros((3, 16, 32), np.float32)
    expected[0, 0], expected[1, 0, 0], expected[2] = a[7], a[7, 8], a[7:23]
    stored = np.zeros_like(a)
    stored[30 : 31 if target == "whole" else 46] = a[7 : 8 if target == "whole" else 23]
    for run in (tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC), None):
        p, c = np.zeros((3, 16, 32), np.float32), np.zeros_like(a)
        run(a, p, c) if run else interpret(main, a, p, c)
        np.testing.assert_array_equal(p, expected)
        np.testing.assert_array_equal(c, stored)


@pytest.mark.parametrize("target", ["ascend", "reference"])
def test_parts_of_which_one_is_a_column(target: str) -> None:
    """Both say how much is copied, so the user hears that it is less than one of them says."""

    @T.prim_func
    def main(A: T.Tensor((16, 32), "float32"), C: T.Tensor((16, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 32), "float32")
            T.copy(A, a)
            T.copy(a[0:16, 0:32], C[0:16, 3])

    told = r"copy takes \(16, 1\) elements: of 'a' it names \(16, 32\), and of 'C' \(16, 1\); "
    with pytest.warns(TilewrightWarning, match=told + "name as many of both"):
        kernel = tilewright.compile(main, target=target, pass_configs=AUTOMATIC)
    a, c = np.arange(512, dtype=np.float32).reshape(16, 32), np.zeros((16, 32), np.float32)
    kernel(a, c)
    expected = np.zeros_like(c)
    expected[:, 3] = a[:, 0]
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("target", ["ascend", "reference"])
def test_a_part_is_not_added_to_a_larger_tile(target: str) -> None:
    """It has fewer rows: what a load would pad, an atomic add into UB would add."""

    @T.prim_func
    def main(A: T.Tensor((50, 32), "float32"), D: T.Tensor((16, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            u = T.alloc_ub((16, 32), "float32")
            T.tile.fill(u, 1.0)
            T.atomic_add(u, A[0:5, 0:32])
            T.copy(u, D)

    told = "atomic_add source has 5 rows but destination has 16"
    with pytest.raises(tilewright.CompileError, match=told):
        tilewright.compile(main, target=target)
