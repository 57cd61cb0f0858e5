# SPDX-License-Identifier: Apache-2.0
"""Reductions of parts whose extents the kernel is given: real_shape, and slices of tiles."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup, compiled

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

LINES = Path(__file__).read_text().splitlines()
GROUP = KernelGroup()
ROWS, COLUMNS = 24, 200
REDUCED = {"max": np.max, "min": np.min, "sum": np.sum, "absmax": np.max, "abssum": np.sum}
NONE = {"max": -np.inf, "min": np.inf, "sum": 0, "absmax": 0, "abssum": 0}
DTYPES: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int32": np.int32,
}
SIZES = [
    (24, 200),
    (24, 40),
    (7, 1),
    (1, 200),
    (1, 1),
    (9, 129),
    (24, 64),
    (2, 128),
    (5, 0),
    (0, 9),
]
random = np.random.default_rng(38)


def place(mark: str) -> str:
    """Of the line that ends with this comment."""
    (line,) = (number for number, text in enumerate(LINES, 1) if text.endswith(f"# {mark}"))
    return f"{__file__}:{line}"


def numbers(dtype: str, *shape: int) -> Any:
    if dtype == "int32":
        return random.integers(-99, 99, shape).astype(np.int32)
    return random.uniform(-1, 1, shape).astype(DTYPES[dtype])


def reduction(kind: str, dim: int, dtype: str, form: str, clear: bool, result: str = "") -> Any:
    """`form`: how the part is named. What lies behind it nothing has written."""
    kept = COLUMNS if dim == 0 else ROWS
    reduce = getattr(T, f"reduce_{kind}")
    to = result or dtype

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, COLUMNS), dtype), m: T.int32, n: T.int32, C: T.Tensor((kept,), to)
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), dtype)
            c = T.alloc_ub((kept,), to)
            T.copy(A[0:m, 0:n], a[0:m, 0:n])
            T.copy(C, c)
            if form == "real_shape":
                reduce(a, c, dim, clear=clear, real_shape=[m, n])
            elif form == "whole results":
                reduce(a[0:m, 0:n], c, dim, clear=clear)
            elif dim == 0:
                reduce(a[0:m, 0:n], c[0:n], dim, clear=clear)
            else:
                reduce(a[0:m, 0:n], c[0:m], dim, clear=clear)
            T.copy(c, C)

    return main


def expected(kind: str, dim: int, part: Any, before: Any, clear: bool) -> Any:
    """Of none what a reduction begins with; of no results nothing."""
    part = part.astype(np.float64)
    part = np.abs(part) if kind.startswith("abs") else part
    none = np.full(part.shape[1 - dim], NONE[kind])
    new = REDUCED[kind](part, axis=dim) if part.shape[dim] else none
    result = before.astype(np.float64)
    if not clear:
        new = REDUCED[kind]([result[: new.size], new], axis=0)
    result[: new.size] = new
    return result.astype(before.dtype)


CASES: dict[str, tuple[Any, ...]] = {}
for case in itertools.product(
    ("max", "min", "sum"), (0, 1), ("float32", "float16"), ("real_shape", "slices"), (True, False)
):
    CASES[" ".join(map(str, case))] = case
for case in (
    ("sum", 1, "float32", "whole results", True),
    ("max", 0, "float16", "whole results", True),
    *itertools.product(("absmax", "abssum"), (0, 1), ("float32", "float16"), ("slices",), (True,)),
    ("max", 1, "bfloat16", "slices", True),
    ("sum", 0, "bfloat16", "real_shape", False),
    ("sum", 1, "float16", "whole results", False, "float32"),
    ("sum", 0, "float32", "real_shape", True, "float16"),
):
    CASES[" ".join(map(str, case))] = case
for name, case in CASES.items():
    kept = COLUMNS if case[1] == 0 else ROWS
    result = numbers(case[5] if len(case) > 5 else case[2], kept)
    GROUP.add(name, reduction(*case), [numbers(case[2], ROWS, COLUMNS), 24, 200, result], {})


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
@pytest.mark.parametrize("name", CASES)
def test_what_lies_behind_takes_no_part(name: str) -> None:
    kind, dim, dtype, _, clear, *_ = CASES[name]
    a, _, _, c = GROUP.cases[name].arguments
    close = {"float32": 2e-5, "float16": 2e-2, "bfloat16": 2e-1}[dtype] if "sum" in kind else 0
    for m, n in SIZES:
        wanted = expected(kind, dim, a[:m, :n], c, clear).astype(np.float64)
        made = np.asarray(GROUP.run(name, a, m, n, c)[3]).astype(np.float64)
        np.testing.assert_allclose(made, wanted, close, close, err_msg=f"{m} x {n}")
        if (m, n) in ((9, 129), (5, 0), (0, 9)):
            same = c.copy()
            interpret(GROUP.cases[name].kernel, a, m, n, same)
            np.testing.assert_allclose(same.astype(np.float64), wanted, close, close)


@pytest.mark.parametrize("name", ["max 1 float32 real_shape True", "sum 0 float16 slices False"])
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def text_of(prim: Any) -> str:
    return dict(compiled(prim, AUTOMATIC)[0].stages)["ascendc"]


def test_instructions_count_what_the_kernel_is_given() -> None:
    text = text_of(reduction("max", 1, "float32", "real_shape", True))
    rows, columns = "larger(index, 0)", "larger(index_1, 0)"
    assert f"reduceRows<Reduce::Max>(c, a, scratch, {rows}, {columns}, 200);" in text
    text = text_of(reduction("sum", 0, "float16", "slices", False))
    assert f"reduceColumns<Reduce::Sum, false>(c, a, scratch, {rows}, {columns}, 208);" in text
    text = text_of(reduction("absmax", 1, "float32", "slices", True))  # rows are apart
    assert "{\n    Abs(magnitudes[row * 200], a[row * 200], least);\n  }" in text
    artifact, told = compiled(reduction("sum", 1, "float32", "slices", True), AUTOMATIC)
    assert told == []


@T.prim_func
def planes(  # type: ignore[no-untyped-def]
    A: T.Tensor((4, 8, 64), "float32"),
    p: T.int32,
    m: T.int32,
    n: T.int32,
    C: T.Tensor((5, 64), "float32"),
):
    """Of 3 dims, from an offset on, with half of the rows for each vector core, and in place."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((4, 8, 64), "float32")
        rows = T.alloc_ub((4, 8), "float32")
        columns = T.alloc_ub((4, 64), "float32")
        one = T.alloc_ub((8,), "float32")
        result = T.alloc_ub((5, 64), "float32")
        T.copy(A, a)
        for each in (rows, columns, one, result):
            T.tile.fill(each, 7.0)
        T.reduce_max(a[0:p, 0:m, 8 : 8 + n], rows[0:p, 0:m], -1)
        T.reduce_sum(a[0:p, 0:m, 0:n], columns[0:p, 0:n], -2)
        T.reduce_min(a[p - 1, m - 1, 0:n], one[0:1], -1)
        T.copy(rows, result[0:4, 0:8])
        T.copy(columns[p - 1, :], result[4, :])
        T.copy(one, result[0, 16:24])
        T.reduce_max(a[0, 0:m, 0:n], a[0, 0, 0:n], 0)
        T.copy(a[0, 0, :], result[1, :])
        T.copy(result, C)


@pytest.mark.parametrize("sizes", [(4, 8, 56), (3, 5, 20), (1, 1, 1), (2, 8, 33)])
def test_planes(sizes: tuple[int, int, int]) -> None:
    p, m, n = sizes
    a = numbers("float32", 4, 8, 64)
    wanted = np.full((5, 64), 7, np.float32)
    wanted[0:p, 0:m] = a[0:p, 0:m, 8 : 8 + n].max(-1)
    wanted[4, 0:n] = a[p - 1, 0:m, 0:n].sum(0)
    wanted[0, 16] = a[p - 1, m - 1, 0:n].min()
    wanted[1] = a[0, 0]
    wanted[1, 0:n] = a[0, 0:m, 0:n].max(0)
    kernel = tilewright.compile(planes, target="ascend", pass_configs=AUTOMATIC)
    for run in (kernel, None):
        made = np.zeros_like(wanted)
        run(a, p, m, n, made) if run else interpret(planes, a, p, m, n, made)
        np.testing.assert_allclose(made, wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("dim", [0, 1])
def test_integers_go_line_by_line(dim: int) -> None:
    prim = reduction("sum", dim, "int32", "slices", True)
    with pytest.warns(TilewrightWarning, match="runs element by element on the scalar unit"):
        kernel = tilewright.compile(prim, target="ascend", pass_configs=AUTOMATIC)
    a = numbers("int32", ROWS, COLUMNS)
    for m, n in ((24, 40), (3, 200), (1, 1), (0, 5), (4, 0)):
        c = numbers("int32", COLUMNS if dim == 0 else ROWS)
        wanted = expected("sum", dim, a[:m, :n], c, clear=True)
        kernel(a, m, n, c)
        np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("dim", [0, 1])
def test_results_that_something_else_has_written_before(dim: int) -> None:
    """Rows of less than 256 bytes become numbers without a barrier, those of more behind one."""
    kept = COLUMNS if dim == 0 else ROWS

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, COLUMNS), "float32"),
        m: T.int32,
        n: T.int32,
        C: T.Tensor((kept,), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), "float32")
            c = T.alloc_ub((kept,), "float32")
            T.copy(A, a)
            T.tile.fill(c, 7.0)
            T.reduce_max(a, c, dim, real_shape=[m, n])
            T.copy(c, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = numbers("float32", ROWS, COLUMNS)
    for m, n in ((24, 200), (24, 5), (1, 200), (2, 3), (3, 0), (0, 3)):
        c = np.zeros(kept, np.float32)
        kernel(a, m, n, c)
        wanted = expected("max", dim, a[:m, :n], np.full_like(c, 7), clear=True)
        np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kind", ["max", "min", "sum"])
def test_rows_that_lie_far_apart(kind: str, dtype: str) -> None:
    """Further than a stride says: 255 blocks. All results are one instruction's all the same."""
    rows, columns = 9, 4096 if dtype == "float32" else 8192
    reduce = getattr(T, f"reduce_{kind}")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((rows, columns), dtype), m: T.int32, n: T.int32, C: T.Tensor((4, 16), dtype)
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((rows, columns), dtype)
            c = T.alloc_ub((4, 16), dtype)
            T.copy(A, a)
            T.tile.fill(c, 0.5)
            reduce(a, c[0, 0:rows], 1)
            reduce(a[:, 64:96], c[1, 0:rows], 1, clear=False)
            reduce(a[0:m, 0:n], c[2, 0:m], 1)
            T.copy(a[0:8, 64], c[3, 0:8])  # also a column is a reduction of rows
            T.copy(c, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = numbers(dtype, rows, columns)
    close = {"float32": 2e-4, "float16": 2e-1}[dtype] if kind == "sum" else 0
    for m, n in ((9, columns), (1, 300), (5, 40), (2, 130)):
        made, wanted = np.zeros((4, 16), DTYPES[dtype]), np.full((4, 16), 0.5)
        wide = a.astype(np.float64)
        wanted[0, :rows] = REDUCED[kind](wide, axis=1)
        wanted[1, :rows] = REDUCED[kind](
            [wanted[1, :rows], REDUCED[kind](wide[:, 64:96], axis=1)], 0
        )
        wanted[2, :m] = REDUCED[kind](wide[:m, :n], axis=1)
        wanted[3, :8] = wide[:8, 64]
        kernel(a, m, n, made)
        np.testing.assert_allclose(made.astype(np.float64), wanted, close, close)


@T.prim_func
def shared(  # type: ignore[no-untyped-def]
    A: T.Tensor((64, 64), "float32"), m: T.int32, n: T.int32, C: T.Tensor((2, 64), "float32")
):
    with T.Kernel(1, is_npu=True, threads=2) as _:
        a = T.alloc_shared((64, 64), "float32")
        b = T.alloc_shared((64, 64), "float32")
        r = T.alloc_shared((64,), "float32")
        s = T.alloc_shared((64,), "float32")
        T.copy(A, a)
        T.copy(A, b)
        T.fill(s, 7)
        T.reduce_max(a, r, 1, real_shape=[64, n])
        T.reduce_max(b, s, 1, real_shape=[m, n])
        T.copy(r, C[0, :])
        T.copy(s, C[1, :])


def test_two_vector_cores() -> None:
    a = numbers("float32", 64, 64)
    kernel = tilewright.compile(shared, target="ascend", pass_configs=AUTOMATIC)
    for m, n in ((64, 64), (40, 30), (3, 1)):
        wanted = np.full((2, 64), 7, np.float32)
        wanted[0] = a[:, :n].max(1)
        wanted[1, :m] = a[:m, :n].max(1)
        made = np.zeros_like(wanted)
        kernel(a, m, n, made)
        np.testing.assert_array_equal(made, wanted)


@T.prim_func
def beyond(  # type: ignore[no-untyped-def]
    A: T.Tensor((8, 64), "float32"), given: T.Tensor((3,), "int32"), C: T.Tensor((16,), "float32")
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((2, 8, 64), "float32")
        r = T.alloc_ub((16,), "float32")
        o = given[0]
        m = given[1]
        n = given[2]
        T.copy(A, a[0, :, :])
        T.copy(A, a[1, :, :])
        T.tile.fill(r, 0.0)
        T.reduce_max(a[0, 0:m, o : o + n], r, 1)  # part
        T.copy(r, C)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((0, 8, 65), "'a' is read at [0, 0, 0] to [0, 7, 64], but its shape is (2, 8, 64)"),
        ((8, 9, 8), "'a' is read at [0, 0, 8] to [0, 8, 15], but its shape is (2, 8, 64)"),
        (
            (60, 8, 4),
            "the reduction's source begins within a block of 32 bytes of UB: at element 60 of its "
            "tile",
        ),
    ],
)
def test_parts_are_checked(given: tuple[int, int, int], told: str) -> None:
    kernel = tilewright.compile(beyond, target="ascend", pass_configs=AUTOMATIC)
    a, r = numbers("float32", 8, 64), np.zeros(16, np.float32)
    kernel(a, np.array((8, 8, 50), np.int32), r)
    np.testing.assert_array_equal(r[:8], a[:, 8:58].max(1))
    with pytest.raises(RuntimeError, match=re.escape(f"{place('part')}: error: ")) as caught:
        kernel(a, np.array(given, np.int32), r)
    assert told in str(caught.value)


def test_fewer_than_none_are_none() -> None:
    kernel = tilewright.compile(
        reduction("max", 1, "float32", "slices", True), target="ascend", pass_configs=AUTOMATIC
    )
    a, r = numbers("float32", ROWS, COLUMNS), np.zeros(ROWS, np.float32)
    kernel(a, 4, -3, r)
    np.testing.assert_array_equal(r, [-np.inf] * 4 + [0] * 20)
    kernel(a, -3, 4, r)
    np.testing.assert_array_equal(r, [-np.inf] * 4 + [0] * 20)
