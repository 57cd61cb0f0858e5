# SPDX-License-Identifier: Apache-2.0
"""Parts of a tile in UB are written, and nothing beside them: neither the rest of a block of 32
bytes nor what lies between two rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
GROUP = KernelGroup(AUTOMATIC, tolerance=0)
M, N = 6, 14
ROWS = 4


ZEROS = np.zeros((M, N), np.float32)


def expected(part: Array | float, columns: int) -> Array:
    """C, of which each element was 7 in UB before the kernel wrote a part."""
    result = np.full((M, N), 7, np.float32)
    result[:ROWS, :columns] = part
    return result


@GROUP.each(columns=[1, 8, 10, 13, 14], dtype=["int32", "float32"])
def copies_within_ub(columns: int, dtype: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), C: T.Tensor((M, N), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((M, N), dtype)
            c = T.alloc_ub((M, N), "float32")
            T.copy(A, a)
            T.fill(c, 7.0)
            T.copy(a[0:ROWS, 0:columns], c[0:ROWS, 0:columns])
            T.copy(c, C)

    source = np.arange(M * N).reshape(M, N).astype(dtype)
    return main, [source, ZEROS], expected(source[:ROWS, :columns], columns)


@GROUP.each(columns=[1, 8, 10, 13, 14])
def fills(columns: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((M, N), "float32")
            T.fill(c, 7.0)
            T.fill(c[0:ROWS, 0:columns], 3.0)
            T.copy(c, C)

    source = np.zeros((M, N), np.float32)
    return main, [source, ZEROS], expected(3.0, columns)


@GROUP.each(columns=[1, 8, 10, 13, 14])
def loads(columns: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((M, N), "float32")
            T.fill(c, 7.0)
            T.copy(A[0:ROWS, 0:columns], c[0:ROWS, 0:columns])
            T.copy(c, C)

    source = np.arange(M * N).reshape(M, N).astype(np.float32)
    return main, [source, ZEROS], expected(source[:ROWS, :columns], columns)


@GROUP.each(dtype=["float32", "float16"])
def loads_of_a_column(dtype: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((M, 1), dtype), C: T.Tensor((M, N), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((M, N), "float32")
            T.fill(c, 7.0)
            T.copy(A[0:ROWS, 0:1], c[0:ROWS, 0:1])
            T.copy(c, C)

    source = np.arange(M).reshape(M, 1).astype(dtype)
    return main, [source, ZEROS], expected(source[:ROWS], 1)


@GROUP.each(dtype=["float32", "float16"])
def loads_of_counted_columns(dtype: str) -> Any:  # noqa: ANN401
    """Also where the tile converts what it loads."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, N), dtype), C: T.Tensor((M, N), "float32"), n: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((M, N), "float32")
            T.fill(c, 7.0)
            T.copy(A[0:ROWS, 0:n], c[0:ROWS, 0:n])
            T.copy(c, C)

    source = np.arange(M * N).reshape(M, N).astype(dtype)
    return main, [source, ZEROS, 10], {1: expected(source[:ROWS, :10], 10)}


@pytest.mark.parametrize("columns", [0, 1, 8, 13, 14])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_load_of_columns_that_are_counted_at_run_time(columns: int, dtype: str) -> None:
    source = np.arange(M * N).reshape(M, N).astype(dtype)
    _, result, _ = GROUP.run(f"loads_of_counted_columns {dtype}", source, ZEROS, columns)
    np.testing.assert_array_equal(result, expected(source[:ROWS, :columns], columns))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rows_of_counted_columns_lie_apart(dtype: str) -> None:
    """No more columns are copied than a row of the tile has, so no row waits for the one before."""
    source = np.arange(M * N).reshape(M, N).astype(dtype)
    with pytest.raises(ValueError, match=f"'n' is {N + 1}, but at most {N} fits into tile 'c'"):
        GROUP.run(f"loads_of_counted_columns {dtype}", source, ZEROS, N + 1)
    kernel = tilewright.compile(
        loads_of_counted_columns(dtype)[0], target="ascend", pass_configs=AUTOMATIC
    )
    assert not re.search(r"for \(.*\{\s*PipeBarrier", kernel.get_kernel_source())


@GROUP.each(rows=[0, 1, 4])
def counted_stores_and_fills(rows: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32"), n: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((M, N), "float32")
            c = T.alloc_ub((M, N), "float32")
            T.copy(A, a)
            T.fill(c, 7.0)
            T.fill(c[0:n, 0:9], 3.0)
            T.copy(a[0:n, 0:5], c[0:n, 0:5])
            T.copy(c[0:5, 0 : n + 3], C[0:5, 0 : n + 3])

    source = np.arange(M * N).reshape(M, N).astype(np.float32)
    tile = np.full((M, N), 7, np.float32)
    tile[:rows, :9] = 3
    tile[:rows, :5] = source[:rows, :5]
    stored = np.zeros((M, N), np.float32)
    stored[:5, : rows + 3] = tile[:5, : rows + 3]
    return main, [source, ZEROS, rows], {1: stored}


@GROUP.each(
    shape=[(4, 64), (5, 7)],
    dtypes=[
        ("int32", "int16"),
        ("uint32", "int16"),
        ("int32", "uint16"),
        ("int64", "int32"),
        ("uint64", "int16"),
        ("int16", "int8"),
        ("int8", "uint8"),
        ("uint16", "int16"),
    ],
)
def copies_that_keep_low_bits(shape: tuple[int, int], dtypes: tuple[str, str]) -> Any:  # noqa: ANN401
    """Whole, and a part of the rows: like the interpreter, and like the same nest."""
    rows, columns = shape
    given, kept = dtypes

    @T.prim_func
    def main(A: T.Tensor(shape, given), C: T.Tensor((3, *shape), kept)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub(shape, given)
            y = T.alloc_ub(shape, kept)
            z = T.alloc_ub(shape, kept)
            T.copy(A, x)
            T.copy(x, y)
            T.copy(y, C[0, 0, 0])
            for i, j in T.Parallel(rows, columns):
                z[i, j] = x[i, j]
            T.copy(z, C[1, 0, 0])
            T.copy(x[1:3, 0:columns], y[2:4, 0:columns])
            T.copy(y, C[2, 0, 0])

    limits = np.iinfo(given)
    a = np.random.default_rng(0).integers(
        limits.min, limits.max, shape, np.dtype(given), endpoint=True
    )
    narrow = np.iinfo(kept)
    a[0, :6] = np.array([0, 1, narrow.max, narrow.max + 1, 2 * narrow.max + 1, 77], object) % (
        limits.max + 1
    )
    whole = a.astype(kept)
    part = whole.copy()
    part[2:4] = whole[1:3]
    return main, [a, np.zeros((3, *shape), kept)], np.stack([whole, whole, part])


@pytest.mark.filterwarnings("error")  # a remark where a nest runs on the scalar unit
def test_functions_of_slices_of_one_buffer() -> None:
    """At places that loops and memory tell apart, and with extents that read memory twice."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        P: T.Tensor((8,), "int32"), A: T.Tensor((256,), "float32"), C: T.Tensor((256,), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            i = T.alloc_ub((8,), "int32")
            x = T.alloc_ub((256,), "float32")
            T.copy(P, i)
            T.copy(A, x)
            for k in T.serial(4):
                T.tile.add(x[i[k] * 8 : i[k] * 8 + 8], x[k * 8 + 64 : k * 8 + 72], 1.0)
                T.tile.mul(x[i[k] * 8 : (i[k] + 1) * 8], x[i[k] * 8 : i[k] * 8 + 8], 2.0)
                T.tile.add(x[k * 16 + 128 : k * 16 + 144], x[k * 16 : k * 16 + 16], 3.0)
            T.copy(x, C)

    places = np.array([3, 1, 5, 20, 0, 0, 0, 0], np.int32)
    a = np.arange(256, dtype=np.float32)
    wanted, same, made = a.copy(), np.zeros_like(a), np.zeros_like(a)
    for k, place in enumerate(places[:4]):
        wanted[place * 8 : place * 8 + 8] = (wanted[k * 8 + 64 : k * 8 + 72] + 1) * 2
        wanted[k * 16 + 128 : k * 16 + 144] = wanted[k * 16 : k * 16 + 16] + 3
    interpret(main, places, a, same)
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    kernel(places, a, made)
    np.testing.assert_array_equal(same, wanted)
    np.testing.assert_array_equal(made, wanted)
    assert "SetValue" not in kernel.get_kernel_source()


def test_functions_of_slices_that_meet() -> None:
    """An iteration that reads what another one writes is no nest of the language: both say so."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        P: T.Tensor((8,), "int32"), A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            i = T.alloc_ub((8,), "int32")
            x = T.alloc_ub((64,), "float32")
            T.copy(P, i)
            T.copy(A, x)
            T.tile.add(x[i[0] * 8 : i[0] * 8 + 16], x[i[1] * 8 : i[1] * 8 + 16], 1.0)
            T.copy(x, C)

    given = [np.array([0, 1] * 4, np.int32), np.zeros(64, np.float32), np.zeros(64, np.float32)]
    with pytest.raises(tilewright.CompileError, match="two iterations of the parallel loop use"):
        interpret(main, *given)
    with pytest.raises(RuntimeError, match="overlap in part"):
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(*given)


#: The dim, as it is counted in the last two; the shape that it reduces each of the planes to; the
#: same dim as NumPy counts it.
PLANES = [
    (-1, (6,), 1),
    (1, (6, 1), 1),
    (-1, (1, 6, 1), 1),
    (0, (40,), 0),
    (-2, (1, 40), 0),
]


@GROUP.each(plane=PLANES)
def reductions_of_planes(plane: tuple[int, tuple[int, ...], int]) -> Any:  # noqa: ANN401
    """A slice of one plane of three dims is a tile of two."""
    dim, shape, axis = plane
    length = max(shape)

    @T.prim_func
    def main(A: T.Tensor((3, 6, 40), "float32"), C: T.Tensor((3, length), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((3, 6, 40), "float32")
            c = T.alloc_ub(shape, "float32")
            row = T.alloc_ub((length,), "float32")
            T.copy(A, a)
            for k in T.serial(3):
                T.reduce_max(a[k, :, :], c, dim=dim)
                flat = T.reshape(c, (length,))
                for i in T.Parallel(length):
                    row[i] = flat[i]
                T.copy(row, C[k, 0])

    source = np.random.default_rng(5).standard_normal((3, 6, 40)).astype(np.float32)
    return main, [source, np.zeros((3, length), np.float32)], source.max(axis + 1)


@GROUP.each()
def reduction_of_one_row() -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((3, 6, 40), "float32"), C: T.Tensor((3, 8), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((3, 6, 40), "float32")
            c = T.alloc_ub((8,), "float32")
            T.copy(A, a)
            for k in T.serial(3):
                T.fill(c, 0.0)
                T.reduce_min(a[k, 4, :], c[0:1], dim=-1, clear=False)
                T.copy(c, C[k, 0])

    source = np.random.default_rng(6).standard_normal((3, 6, 40)).astype(np.float32)
    wanted = np.zeros((3, 8), np.float32)
    wanted[:, 0] = np.minimum(source[:, 4].min(-1), 0)
    return main, [source, np.zeros_like(wanted)], wanted


@GROUP.each(dtype=["float16", "float32"])
def planes_of_columns(dtype: str) -> Any:  # noqa: ANN401
    """Rows of one element lie side by side: a whole tile of them is one row."""
    shape = (2, 8, 1)

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype), D: T.Tensor(shape, "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, dtype)
            c = T.alloc_ub(shape, dtype)
            d = T.alloc_ub(shape, "float32")
            T.copy(A, a)
            T.copy(a, c)
            T.copy(c, d)
            T.copy(c, C)
            T.copy(d, D)

    source = np.arange(16).reshape(shape).astype(dtype)
    results = [np.zeros(shape, dtype), np.zeros(shape, np.float32)]
    return main, [source, *results], {1: source, 2: source}


@pytest.mark.parametrize("name", GROUP.cases)
def test_parts(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("to", ["float16", "float32"])
def test_planes_that_begin_within_a_block(to: str) -> None:
    """Are copied element by element."""
    shape = (2, 8, 1)

    @T.prim_func
    def main(A: T.Tensor(shape, "float16"), C: T.Tensor(shape, to)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "float16")
            c = T.alloc_ub(shape, to)
            T.copy(A, a)
            T.fill(c, 9.0)
            T.copy(a[:, 0:5, :], c[:, 0:5, :])
            T.copy(c, C)

    with pytest.warns(TilewrightWarning, match="element by element on the scalar unit"):
        kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = np.arange(16).reshape(shape).astype(np.float16)
    made, expected = np.zeros(shape, to), np.full(shape, 9, to)
    expected[:, :5] = a[:, :5]
    kernel(a, made)
    np.testing.assert_array_equal(made, expected)


def test_fills_of_planes_that_begin_within_a_block() -> None:
    shape = (2, 8, 1)

    @T.prim_func
    def main(C: T.Tensor(shape, "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            b = T.alloc_ub(shape, "float16")
            T.fill(b[:, 0:5, :], 3.0)
            T.copy(b, C)

    told = "the fill's rows begin within a block of 32 bytes of UB, which is accessed in blocks"
    with pytest.raises(tilewright.CompileError, match=told):
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
