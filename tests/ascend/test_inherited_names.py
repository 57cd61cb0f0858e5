# SPDX-License-Identifier: Apache-2.0
"""Names that the language has from its GPU side, and reductions of more than floats."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

GROUP = KernelGroup()
random = np.random.default_rng(43)


def magnitudes(function: Any, dtype: str, dim: int) -> Any:
    size = (48, 16)[dim]

    @T.prim_func
    def main(A: T.Tensor((16, 48), dtype), C: T.Tensor((size,), dtype)):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16, 48), dtype)
            m = T.alloc_ub((size,), dtype)
            T.copy(A, x)
            function(x, m, dim=dim)
            T.copy(m, C)

    return main


def add_magnitudes() -> None:
    reductions = {
        "absmax": (T.reduce_absmax, lambda x, dim: np.abs(x).max(dim)),
        "abssum": (T.reduce_abssum, lambda x, dim: np.abs(x).sum(dim)),
    }
    for name, (function, reference) in reductions.items():
        for dtype, atol in (("float32", 1e-5), ("float16", 2e-2)):
            for dim in (0, 1):
                a = random.standard_normal((16, 48)).astype(dtype)
                wide = reference(a.astype(np.float64), dim)
                given = [a, np.zeros(wide.shape, dtype)]
                kernel = magnitudes(function, dtype, dim)
                GROUP.add(f"reduce_{name} {dtype} {dim}", kernel, given, wide, rtol=1e-3, atol=atol)


def magnitudes_of_part(function: Any, dim: int, columns: int) -> Any:
    """Nothing but these columns of the tile is ever written."""
    size = (columns, 4)[dim]

    @T.prim_func
    def main(A: T.Tensor((4, columns), "float32"), C: T.Tensor((size,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((6, 64), "float32")
            m = T.alloc_ub((size,), "float32")
            T.copy(A, x[2:6, 8 : 8 + columns])
            function(x[2:6, 8 : 8 + columns], m, dim=dim)
            T.copy(m, C)

    return main


def add_magnitudes_of_parts() -> None:
    for columns in (32, 40):
        a = random.standard_normal((4, columns)).astype(np.float32)
        for dim in (0, 1):
            wide = np.abs(a.astype(np.float64)).max(dim)
            kernel = magnitudes_of_part(T.reduce_absmax, dim, columns)
            GROUP.add(f"part {columns} {dim}", kernel, [a, np.zeros(wide.shape, np.float32)], wide)


def integers(function: Any, dim: int, clear: bool) -> Any:
    size = (40, 16)[dim]

    @T.prim_func
    def main(A: T.Tensor((16, 40), "int32"), C: T.Tensor((size,), "int32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16, 40), "int32")
            m = T.alloc_ub((size,), "int32")
            T.copy(A, x)
            T.copy(C, m)
            function(x, m, dim=dim, clear=clear)
            T.copy(m, C)

    return main


def add_integers() -> None:
    """The vector unit reduces floats only: lines are combined one by one."""
    a = random.integers(-(2**30), 2**30, (16, 40)).astype(np.int32)
    reductions = {
        "sum": (T.reduce_sum, np.add),
        "max": (T.reduce_max, np.maximum),
        "min": (T.reduce_min, np.minimum),
    }
    for name, (function, combine) in reductions.items():
        for dim in (0, 1):
            for clear in (True, False):
                before = random.integers(-5, 5, (40, 16)[dim]).astype(np.int32)
                wanted = combine.reduce(a, axis=dim, dtype=np.int32)
                if not clear:
                    wanted = combine(wanted, before)
                kernel = integers(function, dim, clear)
                case = f"reduce_{name} int32 {dim} {clear}"
                GROUP.add(case, kernel, [a, before], wanted, rtol=0, atol=0)


def add_dynamic_names() -> None:
    n = T.dyn["n"]

    @T.prim_func
    def main(A: T.Tensor((n, 64), "float32"), C: T.Tensor((n, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(n, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            with T.attr("default", "some_key", 1):
                T.copy(A[cid, 0], x)
                T.tile.add(x, x, 1.0)
            T.copy(x, C[cid, 0])

    a = random.standard_normal((5, 64)).astype(np.float32)
    GROUP.add("dyn, attr", main, [a, np.zeros_like(a)], a.astype(np.float64) + 1)


def add_conditions() -> None:
    """Which of two tiles is copied, by what is in a third."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2, 8), "int32"), C: T.Tensor((2, 2, 8), "int32")
    ):
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            a = T.alloc_ub((8,), "int32")
            zeros = T.alloc_ub((8,), "int32")
            T.tile.fill(zeros, 0)
            T.copy(A[cid, 0], a)
            if T.any_of(a):
                T.copy(a, C[cid, 0, 0])
            else:
                T.copy(zeros, C[cid, 0, 0])
            if T.all_of(a):
                T.copy(a, C[cid, 1, 0])
            else:
                T.copy(zeros, C[cid, 1, 0])

    a = np.array([[0, 3, 0, 0, 1, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8]], np.int32)
    expected = np.array([[a[0], 0 * a[0]], [a[1], a[1]]])
    GROUP.add("any_of, all_of", main, [a, np.ones((2, 2, 8), np.int32)], expected)


def add_atomic() -> None:
    """Each block adds its tile."""

    @T.prim_func
    def main(A: T.Tensor((3, 64), "float32"), C: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(A[cid, 0], x)
            T.atomic_add(C, x)

    a = random.standard_normal((3, 64)).astype(np.float32)
    GROUP.add("atomic_add", main, [a, np.zeros(64, np.float32)], a.astype(np.float64).sum(0))


def add_dot_products() -> None:
    """T.dp4a: four bytes by four, one sum after the other."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((2, 32), "int8"), B: T.Tensor((2, 32), "int8"), C: T.Tensor((2, 8), "int32")
    ):
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((32,), "int8")
            y = T.alloc_ub((32,), "int8")
            sums = T.alloc_ub((8,), "int32")
            T.copy(A[cid, 0], x)
            T.copy(B[cid, 0], y)
            T.tile.fill(sums, 7)
            for i in T.serial(8):
                T.dp4a(x[4 * i], y[4 * i], sums[i])
            T.copy(sums, C[cid, 0])

    x, y = (random.integers(-128, 128, (2, 32)).astype(np.int8) for _ in range(2))
    expected = 7 + (x.astype(np.int64) * y).reshape(2, 8, 4).sum(-1)
    GROUP.add("dp4a", main, [x, y, np.zeros((2, 8), np.int32)], expected)


def add_barrier_of_threads() -> None:
    """In a kernel for GPUs the text's order holds, so a barrier adds nothing."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, threads=128) as block:
            x = T.alloc_shared((32, 64), "float32")
            T.copy(A[block * 32, 0], x)
            T.sync_threads()
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] + 1.0
            T.sync_threads()
            T.copy(x, C[block * 32, 0])

    x = random.standard_normal((64, 64)).astype(np.float32)
    GROUP.add("sync_threads", main, [x, np.zeros_like(x)], x.astype(np.float64) + 1)


add_magnitudes()
add_magnitudes_of_parts()
add_integers()
add_dynamic_names()
add_conditions()
add_atomic()
add_dot_products()
add_barrier_of_threads()


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
def test_rows_of_an_image() -> None:
    """T.c2d_im2col, element by element."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        image: T.Tensor((1, 6, 6, 16), "float16"), C: T.Tensor((8, 16), "float16")
    ):
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub((8, 16), "float16")
            T.c2d_im2col(image, x, 1, 4, 3, 1, 1, 1)
            T.copy(x, C)

    image = random.standard_normal((1, 6, 6, 16)).astype(np.float16)
    made, same = np.zeros((8, 16), np.float16), np.zeros((8, 16), np.float16)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(image, made)
    interpret(main, image, same)
    padded = np.pad(image[0], ((1, 1), (1, 1), (0, 0)))
    # The fifth 16 of (3, 3, 16) are those of the image's own place; the rows are pixels 8 to 15.
    expected = [padded[1 + n // 6, 1 + n % 6] for n in range(8, 16)]
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(same, made)


@pytest.mark.parametrize("name", GROUP.cases)
def test_name(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_running_maxima_pass_over_nans(dtype: str) -> None:
    """Down a tile (as vectors) and along its rows; a NaN before all numbers counts as -infinity."""

    @T.prim_func
    def main(A: T.Tensor((5, 12), dtype), C: T.Tensor((2, 5, 12), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((5, 12), dtype)
            y = T.alloc_ub((5, 12), dtype)
            T.copy(A, x)
            T.cummax(x, y, dim=0)
            T.copy(y, C[0, 0, 0])
            T.cummax(x, y, dim=1)
            T.copy(y, C[1, 0, 0])

    number = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    wide = random.integers(-9, 10, (5, 12)).astype(np.float32)
    wide[random.random((5, 12)) < 0.4] = np.nan
    wide[:, 3] = wide[2] = np.nan
    wide[0, :2], wide[1, :2] = (9, np.nan), (np.nan, -np.inf)
    a, made, same = wide.astype(number), np.zeros((2, 5, 12), number), np.zeros((2, 5, 12), number)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, made)
    interpret(main, a, same)
    known = np.where(np.isnan(wide), -np.inf, wide)
    expected = [np.maximum.accumulate(known, axis=axis) for axis in (0, 1)]
    np.testing.assert_array_equal(made.astype(np.float32), expected)
    np.testing.assert_array_equal(same.astype(np.float32), expected)


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-5), ("float16", 1e-3), ("int32", 0)])
def test_running_sums(dtype: str, rtol: float) -> None:
    """Down a tile, as vectors; along its rows, backwards and in place; of a part of a row; and the
    largest so far."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((12, 24), dtype), C: T.Tensor((4, 12, 24), dtype)
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((12, 24), dtype)
            y = T.alloc_ub((12, 24), dtype)
            T.copy(A, x)
            T.cumsum(x, y, dim=0)
            T.copy(y, C[0, 0, 0])
            T.copy(x, y)
            T.cumsum(y[2, 8:20], y[2, 8:20], dim=1)
            T.copy(y, C[1, 0, 0])
            T.cummax(x, y, dim=0)
            T.copy(y, C[2, 0, 0])
            T.cumsum(x, dim=1, reverse=True)
            T.copy(x, C[3, 0, 0])

    a = random.integers(-9, 10, (12, 24)).astype(dtype)
    made, same = np.zeros((4, 12, 24), dtype), np.zeros((4, 12, 24), dtype)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, made)
    interpret(main, a, same)
    wide = a.astype(np.float64)
    part = wide.copy()
    part[2, 8:20] = np.cumsum(wide[2, 8:20])
    backwards = np.cumsum(wide[:, ::-1], axis=1)[:, ::-1]
    largest = np.maximum.accumulate(wide, axis=0)
    expected = np.stack([np.cumsum(wide, axis=0), part, largest, backwards])
    np.testing.assert_allclose(made, expected, rtol=rtol)
    np.testing.assert_array_equal(same, made)


@pytest.mark.parametrize("is_npu", [True, False])
def test_tensors_seen_with_another_shape_before_the_launch(is_npu: bool) -> None:
    """The host's function for the grid knows nothing of them."""
    rows = T.dynamic("rows")

    @T.prim_func
    def main(A: T.Tensor((rows, 64), "float32"), C: T.Tensor((rows, 64), "float32")):
        flat = T.Tensor((rows * 64,), "float32", A.data)
        result = T.Tensor((rows * 64,), "float32", C.data)
        bits = T.view(A, (rows * 64,), "int32")
        with T.Kernel(T.ceildiv(rows, 2), is_npu=is_npu, threads=1) as block:
            x = T.alloc_shared((128,), "float32")
            signs = T.alloc_shared((128,), "int32")
            T.copy(flat[block * 128], x)
            T.copy(bits[block * 128], signs)
            for i in T.Parallel(128):
                x[i] = T.if_then_else(signs[i] < 0, x[i] * 2, x[i])
            T.copy(x, result[block * 128])

    a = random.standard_normal((7, 64)).astype(np.float32)
    made, same = np.zeros_like(a), np.zeros_like(a)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, made)
    np.testing.assert_array_equal(made, np.where(a < 0, a * 2, a))
    interpret(main, a, same)
    np.testing.assert_array_equal(same, made)


def test_tensors_at_addresses() -> None:
    """A call takes tensors for them; one that nothing is made of stays a number."""

    @T.prim_func
    def main(A: T.ptr("float"), C: T.ptr("float"), unused: T.ptr("int8")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((4, 16), "float")
            there = T.make_tensor(A, (8, 16), "float")
            result = T.make_tensor(C, (8, 16), "float")
            T.copy(there[vid * 4, 0], x)
            T.tile.add(x, x, 1.0)
            T.copy(x, result[vid * 4, 0])

    a = random.standard_normal((8, 16)).astype(np.float32)
    made = np.zeros((8, 16), np.float32)
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    kernel(a, made, 0)
    np.testing.assert_array_equal(made, a + 1)
    with pytest.raises(ValueError, match="A"):
        kernel(a[:7], made, 0)
    # The last parameter is no tensor, so the last tensor is meant.
    for workspaces in (None, []):
        kernel = tilewright.compile(
            main, [-1], workspace_idx=workspaces, target="ascend", pass_configs=AUTOMATIC
        )
        assert kernel.out_idx == [1]
        np.testing.assert_array_equal(kernel(a, 0), a + 1)


def at_addresses(form: str) -> Any:
    """Tensors at addresses whose shapes only the call knows, with tails."""
    m = T.dynamic("m")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.ptr("float"), n: T.int32, B: T.Tensor((m, 16), "float"), C: T.ptr("float"), k: T.int64
    ):
        with T.Kernel(T.ceildiv(n, 8), is_npu=True, threads=1) as cid:
            x = T.alloc_ub((8, 16), "float")
            y = T.alloc_ub((8, 16), "float")
            there = T.make_tensor(A, (n, 16 if form == "rows" else 4 * k), "float")
            result = T.make_tensor(C, (2 * m - k, 16), "float")
            T.copy(there[cid * 8, 0], x)
            T.copy(B[cid * 8, 0], y)
            T.tile.add(x, x, y)
            T.copy(x, result[cid * 8, 0])

    return main


@pytest.mark.parametrize("form", ["rows", "both"])
@pytest.mark.parametrize("given", [False, True])
def test_tensors_of_dynamic_shapes_at_addresses(form: str, given: bool) -> None:
    """Each call is checked; the result may be the runtime's."""
    main = at_addresses(form)
    out = [3] if given else None
    kernel = tilewright.compile(main, out, target="ascend", pass_configs=AUTOMATIC)
    for n, m in ((21, 21), (8, 13), (1, 3)):
        k = 4
        a, b = (random.standard_normal((rows, 16)).astype(np.float32) for rows in (n, m))
        made, same = (np.full((2 * m - k, 16), 7, np.float32) for _ in range(2))
        if given:
            made = kernel(a, n, b, k)
        else:
            kernel(a, n, b, made, k)
        interpret(main, a.ctypes.data, n, b, same.ctypes.data, k)
        rows = min(-(-n // 8) * 8, 2 * m - k)
        expected = np.zeros((max(rows, m, n), 16))
        expected[:n] += a
        expected[:m] += b
        np.testing.assert_allclose(made[:rows], expected[:rows], rtol=1e-6)
        np.testing.assert_array_equal(made[:rows], same[:rows])
    if given:
        return
    a, b = np.zeros((21, 16), np.float32), np.zeros((21, 16), np.float32)
    for first, last in ((a[:20], np.zeros((38, 16), np.float32)), (a, b)):
        with pytest.raises(ValueError, match="'A' has shape|'C' has shape"):
            kernel(first, 21, b, last, 4)
    with pytest.raises(ValueError, match="'A' has dtype float16 but float32 was expected"):
        kernel(a.astype(np.float16), 21, b, np.zeros((38, 16), np.float32), 4)


def counts(dtype: str, threads: int) -> Any:
    """A histogram whose bins memory gives, one beyond the end, and sums by twos and fours."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        X: T.Tensor((64,), "int32"), A: T.Tensor((3, 64), dtype), C: T.Tensor((4, 16), dtype)
    ):
        with T.Kernel(3, is_npu=True, threads=threads) as cid:
            x = T.alloc_ub((64,), "int32")
            a = T.alloc_ub((64,), dtype)
            T.copy(X, x)
            T.copy(A[cid, 0], a)
            T.barrier_all()
            for i in T.serial(64):
                T.atomic_add(C[0, x[i]], a[i])
            for i in T.Parallel(64):
                T.atomic_add(C[1, i // 4], a[i])
            for i in T.serial(8):
                T.atomic_addx2(C[2, i * 2], A[cid, i * 2])
            for i in T.serial(4):
                T.atomic_addx4(C[3, i * 4], A[cid, i * 4])

    return main


@pytest.mark.parametrize(
    ("dtype", "threads", "configs"),
    [("float32", 1, AUTOMATIC), ("int32", 2, AUTOMATIC), ("float16", 1, {})],
)
def test_atomic_adds_of_elements(dtype: str, threads: int, configs: dict[Any, Any]) -> None:
    bins = random.integers(0, 17, 64).astype(np.int32)
    a = random.integers(-9, 10, (3, 64)).astype(dtype)
    made = np.zeros((4, 16), dtype)
    with pytest.warns(match="on the scalar unit: it adds to single elements of a tensor"):
        kernel = tilewright.compile(counts(dtype, threads), target="ascend", pass_configs=configs)
    kernel(bins, a, made)
    total = a.astype(np.float64).sum(0)
    histogram = np.bincount(bins, total, 17)[:16]
    by_fours = total.reshape(16, 4).sum(1)
    np.testing.assert_array_equal(made, [histogram, by_fours, total[:16], total[:16]])
    if threads == 1:
        same = np.zeros((4, 16), dtype)
        interpret(counts(dtype, threads), bins, a, same)
        np.testing.assert_array_equal(same, made)
