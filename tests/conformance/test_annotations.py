# SPDX-License-Identifier: Apache-2.0
"""Annotations: those that change values, and those that never do."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning


@pytest.mark.parametrize(("dtype", "safe"), [("float32", -3), ("int8", -3), ("float32", 0)])
def test_annotate_safe_value(agree, dtype, safe):
    """Copies and single reads past all ends of a tensor; a copy's own pad goes before, and of two
    values the last counts, also if it is 0."""

    @T.prim_func
    def kernel(
        A: T.Tensor((13, 11), dtype),
        B: T.Tensor((16, 16), dtype),
        C: T.Tensor((16, 16), dtype),
        D: T.Tensor((16, 16), dtype),
    ):
        with T.Kernel(2, 2, threads=32) as (bx, by):
            T.annotate_safe_value({A: 7})
            T.annotate_safe_value({A: safe})
            a = T.alloc_shared((8, 8), dtype)
            T.copy(A[by * 8 - 1, bx * 8 + 1], a)
            T.copy(a, B[by * 8, bx * 8])
            T.copy(A[by * 8, bx * 8], a, pad_value=5)
            T.copy(a, D[by * 8, bx * 8])
            for i, j in T.Parallel(8, 8):
                C[by * 8 + i, bx * 8 + j] = A[by * 8 + i - 2, bx * 8 + j]

    def moved(rows, columns, pad):
        return [[a[i, j] if 0 <= i < 13 and 0 <= j < 11 else pad for j in columns] for i in rows]

    a = np.arange(13 * 11).reshape(13, 11).astype(dtype)
    outputs = [np.zeros((16, 16), dtype) for _ in range(3)]
    expected = {
        1: np.array(moved([*range(-1, 7), *range(7, 15)], range(1, 17), safe), dtype),
        2: np.array(moved(range(-2, 14), range(16), safe), dtype),
        3: np.array(moved(range(16), range(16), 5), dtype),
    }
    agree(kernel, [a, *outputs], expected)


def test_layouts_of_loops_and_schedules_change_nothing(agree):
    @T.prim_func
    def kernel(A: T.Tensor((32, 8), "float32"), B: T.Tensor((32, 8), "float32")):
        with T.Kernel(1, threads=32):
            rows = T.alloc_fragment((8, 8), "float32")
            layout = T.Fragment((8, 8), forward_fn=lambda i, j: (i * 4 + j // 2, j % 2))
            for k in T.Pipelined(
                4, num_stages=2, order=[0, 1], stage=[0, 1], sync=[1], group=[[0], [1]]
            ):
                T.copy(A[k * 8, 0], rows, loop_layout=layout)
                for i, j in T.Parallel(8, 8, loop_layout=layout):
                    B[k * 8 + i, j] = rows[i, j] * 2

    a = np.arange(256, dtype=np.float32).reshape(32, 8)
    agree(kernel, [a, np.zeros_like(a)], {1: a * 2})


def pipelined(schedule, *, turns=8):
    """A loop of three statements that sums the products of rows."""

    @T.macro
    def add(c, a, b):
        for i in T.Parallel(32):
            c[i] += a[i] * b[i]

    @T.prim_func
    def kernel(
        A: T.Tensor((turns, 32), "float32"),
        B: T.Tensor((turns, 32), "float32"),
        C: T.Tensor((2, 32), "float32"),
    ):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((32,), "float32")
            b = T.alloc_shared((32,), "float32")
            c = T.alloc_fragment((32,), "float32")
            T.clear(c)
            for k in T.Pipelined(turns, **schedule):  # the schedule
                T.copy(A[k, 0], a)
                T.copy(B[k, 0], b)
                for i in T.Parallel(32):
                    c[i] += a[i] * b[i]
            T.copy(c, C[0, 0])
            T.clear(c)
            for k in T.Pipelined(turns, **schedule):  # whose number of statements isn't plain
                T.copy(A[k, 0], a)
                T.copy(B[k, 0], b)
                add(c, a, b)
            T.copy(c, C[1, 0])

    return kernel


@pytest.mark.parametrize(
    "schedule",
    [
        {"order": [1, 2, 0], "stage": [0, 0, 1]},
        {"order": [-1, -1, 0], "stage": [-1, -1, 0]},
        {"order": [0, 1], "stage": [0, 1], "group": [[0, 1], [2]]},
    ],
)
def test_a_schedule_of_all_statements(agree, random, schedule):
    a, b = random.standard_normal((2, 8, 32)).astype(np.float32)
    sums = (a.astype(np.float64) * b).sum(0).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(pipelined(schedule), [a, b, np.zeros((2, 32), np.float32)], {2: np.stack([sums] * 2)})


@pytest.mark.parametrize("count", [2, 4])
def test_a_schedule_of_fewer_or_more_statements_is_warned_of(count):
    kernel = pipelined({"order": list(range(count)), "stage": [0] * count})
    with pytest.warns(TilewrightWarning) as told:
        compiled = tilewright.compile(kernel)
    assert [str(warning.message) for warning in told] == [
        f"the schedule of this T.Pipelined is of {count}, but its body has 3 statements; the "
        "results are those of the loop as it stands"
    ]
    line = Path(__file__).read_text().splitlines()[told[0].lineno - 1]
    assert line.endswith("# the schedule")
    a, c = np.arange(256, dtype=np.float32).reshape(8, 32), np.zeros((2, 32), np.float32)
    compiled(a, a, c)
    np.testing.assert_array_equal(c, [(a * a).sum(0)] * 2)


@pytest.mark.parametrize("blocks", [T.sblock, T.block])
def test_a_safe_value_ends_with_its_block(agree, blocks):
    """Behind it, that of the launch around it holds again, which ends with the launch."""

    @T.prim_func
    def kernel(A: T.Tensor((6,), "float32"), B: T.Tensor((6, 8), "float32")):
        with T.Kernel(1, threads=32):
            T.annotate_safe_value({A: 3})
            a = T.alloc_shared((8,), "float32")
            T.copy(A[0:8], a)
            T.copy(a, B[0, :])
            with blocks("inner"):
                T.annotate_safe_value({A: -1})
                T.copy(A[0:8], a)
                T.copy(a, B[1, :])
                with blocks("innermost"):
                    T.annotate_safe_value({A: 0})
                    for i in T.Parallel(8):
                        B[2, i] = A[i]
                for i in T.Parallel(8):
                    B[3, i] = A[i]
            T.copy(A[0:8], a)
            T.copy(a, B[4, :])
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[5, i] = A[i]

    a = np.arange(1, 7, dtype=np.float32)
    expected = np.zeros((6, 8), np.float32)
    expected[:, :6] = a
    expected[:, 6:] = np.array([3, -1, 0, -1, 3, 0])[:, None]
    agree(kernel, [a, np.zeros((6, 8), np.float32)], {1: expected})


def test_a_safe_value_of_a_later_launch(agree):
    """It stands before the first use of the tensor in its launch."""

    @T.prim_func
    def kernel(A: T.Tensor((6,), "float32"), B: T.Tensor((2, 8), "float32")):
        for k in T.serial(2):
            with T.Kernel(1, threads=32):
                if k == 1:
                    T.annotate_safe_value({A: 5})
                for i in T.Parallel(8):
                    B[k, i] = A[i]

    a = np.arange(1, 7, dtype=np.float32)
    expected = np.stack([np.pad(a, (0, 2), constant_values=pad) for pad in (0, 5)])
    agree(kernel, [a, np.zeros((2, 8), np.float32)], {1: expected})


def test_a_safe_value_behind_a_use_in_its_block_is_an_error():
    with pytest.raises(tilewright.CompileError, match="before the first use of it"):

        @T.prim_func
        def kernel(A: T.Tensor((6,), "float32"), B: T.Tensor((8,), "float32")):
            with T.Kernel(1, threads=32), T.sblock("b"):
                for i in T.Parallel(8):
                    B[i] = A[i]
                T.annotate_safe_value({A: 5})

        tilewright.compile(kernel)


@pytest.mark.parametrize(("dtype", "pad"), [("float32", 10), ("int8", -3), ("float16", 0)])
def test_annotate_padding(agree, dtype, pad):
    """Of a tile: copies and elements from past the ends of a tensor; other tiles get 0."""

    @T.prim_func
    def kernel(
        A: T.Tensor((13, 11), dtype),
        B: T.Tensor((16, 16), dtype),
        C: T.Tensor((16, 16), dtype),
        D: T.Tensor((16, 16), dtype),
    ):
        with T.Kernel(2, 2, threads=32) as (bx, by):
            a = T.alloc_shared((8, 8), dtype)
            b = T.alloc_shared((8, 8), dtype)
            T.annotate_padding({a: pad})
            T.copy(A[by * 8, bx * 8], a)
            T.copy(a, B[by * 8, bx * 8])
            for i, j in T.Parallel(8, 8):
                a[i, j] = A[by * 8 + i - 2, bx * 8 + j] * 2 + A[by * 8 + i, bx * 8 + j]
            T.copy(a, C[by * 8, bx * 8])
            T.copy(A[by * 8, bx * 8], b)
            T.copy(b, D[by * 8, bx * 8])

    a = np.random.default_rng(0).integers(-9, 10, (13, 11))
    copied, summed = np.full((16, 16), pad), np.full((16, 16), pad)
    copied[:13, :11] = a
    summed[2:13, :11] = a[:11] * 2 + a[2:]
    plain = np.zeros((16, 16), int)
    plain[:13, :11] = a
    outputs = [np.zeros((16, 16), dtype) for _ in range(3)]
    expected = {n: e.astype(dtype) for n, e in enumerate((copied, summed, plain), 1)}
    agree(kernel, [a.astype(dtype), *outputs], expected)


@pytest.mark.parametrize("annotate", [T.annotate_safe_value, T.annotate_padding])
@pytest.mark.parametrize("dtype", ["int32", "float16"])
def test_a_view_of_another_dtype_has_the_number_in_that(agree, numpy_dtypes, annotate, dtype):
    """Copies and single reads agree."""
    count = 8 if dtype == "int32" else 16

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), n: T.int32, B: T.Tensor((2, 20), dtype)):
        with T.Kernel(1, threads=32):
            annotate({A: 2.75})
            view = T.view(A, (count,), dtype)
            tile = T.alloc_shared((20,), dtype)
            T.copy(view[n : n + 20], tile)
            T.copy(tile, B[0, 0:20])
            for i in T.Parallel(20):
                B[1, i] = view[n + i]

    a = np.arange(8, dtype=np.float32)
    inside = a.view(numpy_dtypes[dtype])[4:]
    row = np.full(20, 2.75).astype(numpy_dtypes[dtype])
    row[: len(inside)] = inside
    agree(kernel, [a, 4, np.zeros((2, 20), row.dtype)], {2: np.stack([row, row])})


def test_padding_is_a_constant_that_fits():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int8"), n: T.int32):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((8,), "int8")
            T.annotate_padding({a: n})
            T.annotate_padding({a: 300})
            T.copy(A, a)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel)
    assert [each.message for each in caught.value.errors] == [
        "the padding of 'a' must be a constant",
        "the integer 300 does not fit the dtype int8 of 'a'",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "annotate_safe_value",
            "T.annotate_safe_value takes a dict of tensors and numbers, not 'x' of type str",
        ),
        (
            "annotate_padding",
            "T.annotate_padding takes a dict of tiles and numbers, not 'x' of type str",
        ),
        (
            "annotate_pass_configs",
            "T.annotate_pass_configs takes a dict of keys and values, not 'x' of type str",
        ),
        (
            "annotate_restrict_buffers",
            "T.annotate_restrict_buffers takes tensors, not 'x' of type str",
        ),
        ("func_attr", "T.func_attr takes a dict of names and values, not 'x' of type str"),
        ("block_attr", "T.block_attr takes a dict of names and values, not 'x' of type str"),
        ("get_let_value", "T.get_let_value takes a name that stands for an element of a buffer"),
    ],
)
def test_what_annotations_do_not_take(name, message):
    function = getattr(T, name)

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            function("x")

    with pytest.raises(tilewright.CompileError, match=message):
        tilewright.compile(kernel)


@pytest.mark.parametrize(
    "name", ["serial", "unroll", "vectorized", "Parallel", "Pipelined", "thread_binding"]
)
def test_annotations_of_loops_are_dicts(name):
    function = getattr(T, name)

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=4):
            for i in function(4, annotations=[1]):
                A[i] = 1.0

    message = rf"annotations of T.{name} must be a dict, not \[1\] of type list"
    with pytest.raises(tilewright.CompileError, match=message) as caught:
        tilewright.compile(kernel)
    assert len(caught.value.errors) == 1


def test_annotations_of_tile_operations_are_dicts():
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((16, 16), "float32")
            T.copy(A, a, annotations="tma")
            T.gemm(a, a, a, annotations=3)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel)
    assert [d.message for d in caught.value.errors] == [
        "annotations of T.copy must be a dict, not 'tma' of type str",
        "annotations of T.gemm must be a dict, not 3 of type int",
    ]


def test_misspelt_hints_are_told():
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((16, 16), "float32")
            T.use_swizzle(0)
            T.use_swizzle("row")
            T.use_swizzle(10, order="diagonal")
            T.use_swizzle(0, enable=False)
            T.copy(A, a, eviction_policy="first")
            T.copy(A, a, prefer_instruction="TMA")
            T.copy(A, a, eviction_policy="evict_first", prefer_instruction="tma")
            r = T.alloc_reducer((16,), "float32", op="sum", replication="some")  # noqa: F841

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel)
    assert [d.message for d in caught.value.errors] == [
        "panel_size of T.use_swizzle is 0, but must be a positive integer",
        "panel_size of T.use_swizzle is 'row', but must be a positive integer",
        "order of T.use_swizzle is 'diagonal', but must be 'row' or 'column' or 'col' or 'mlx'",
        "eviction_policy of T.copy is 'first', but must be 'evict_normal' or 'evict_first' or "
        "'evict_last'",
        "prefer_instruction of T.copy is 'TMA', but must be 'tma' or 'cp_async' or 'sync'",
        "replication of T.alloc_reducer is 'some', but must be 'all' or 'none'",
    ]
