# SPDX-License-Identifier: Apache-2.0
"""What the host finds in a kernel of the language is told in its words: the buffer's name, the
element, the line; and it is told once, by the exception."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

AUTOMATIC = {
    "tl.ascend_auto_sync": True,
    "tl.ascend_memory_planning": True,
    "tl.ascend_auto_cv_combine": True,
    "tl.ascend_auto_cross_core_sync": True,
}


@T.prim_func
def one_dim(A: T.Tensor((64,), "float32"), I: T.Tensor((8,), "int32")):  # noqa: E741
    with T.Kernel(1, is_npu=True, threads=1) as _:
        row = T.alloc_ub((64,), "float32")
        T.copy(A, row)
        row[I[0]] = 5.0
        T.copy(row, A)


@T.prim_func
def read_of_two_dims(A: T.Tensor((64,), "float32"), I: T.Tensor((8,), "int32")):  # noqa: E741
    with T.Kernel(1, is_npu=True, threads=1) as _:
        tile = T.alloc_ub((8, 6), "float32")
        T.tile.fill(tile, 1.0)
        A[0] = tile[I[0], 2]


@T.prim_func
def rows(A: T.Tensor((64, 64), "float32"), I: T.Tensor((8,), "int32")):  # noqa: E741
    with T.Kernel(1, is_npu=True, threads=1) as _:
        tile = T.alloc_ub((32, 64), "float32")
        T.copy(A[0, 0], tile)
        first = I[0]
        T.copy(A[0:8, :], tile[first : first + 8, :])
        T.copy(tile, A[0, 0])


@T.prim_func
def unordered(A: T.Tensor((64,), "float32"), I: T.Tensor((8,), "int32")):  # noqa: E741
    with T.Kernel(1, is_npu=True, threads=1) as _:
        row = T.alloc_ub((64,), "float32")
        T.copy(A, row)
        T.tile.add(row, row, 1.0)
        T.barrier_all()
        T.copy(row, A)


def failure(kernel: Any, index: int, configs: dict[str, bool] | None = None) -> str:
    shape = (64, 64) if kernel is rows else (64,)
    a, indices = np.ones(shape, np.float32), np.full(8, index, np.int32)
    compiled = tilewright.compile(
        kernel, target="ascend", pass_configs=AUTOMATIC if configs is None else configs
    )
    with pytest.raises(RuntimeError) as caught:
        compiled(a, indices)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kernel", "index", "sentence", "line"),
    [
        (one_dim, 100, "'row' is written at [100], but its shape is (64)", "row[I[0]] = 5.0"),
        (one_dim, -2, "'row' is written at [-2], but its shape is (64)", "row[I[0]] = 5.0"),
        (
            read_of_two_dims,
            9,
            "'tile' is read at [9, 2], but its shape is (8, 6)",
            "A[0] = tile[I[0], 2]",
        ),
        (
            rows,
            -3,
            "'tile' is written at [-3, 0] to [4, 63], but its shape is (32, 64)",
            "T.copy(A[0:8, :], tile[first : first + 8, :])",
        ),
        (
            rows,
            30,
            "'tile' is written at [30, 0] to [37, 63], but its shape is (32, 64)",
            "T.copy(A[0:8, :], tile[first : first + 8, :])",
        ),
    ],
)
def test_an_element_out_of_range(
    kernel: Any, index: int, sentence: str, line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = failure(kernel, index)
    number = Path(__file__).read_text().splitlines().index(f"        {line}") + 1
    assert f"test_host_words.py:{number}: error: {sentence} (vector core 0)\n" in text
    assert text.count("error: ") == 1
    assert f"\n            {line}" in text
    assert "SetValue" not in text and "GetValue" not in text and "DataCopy" not in text
    assert capfd.readouterr().err == ""


@pytest.mark.filterwarnings("ignore:add needs what")
def test_a_race_names_its_buffer(capfd: pytest.CaptureFixture[str]) -> None:
    text = failure(unordered, 0, {})
    assert re.search(r"Adds on PIPE_V \w+ UB bytes 0 to 255 of 'row' while DataCopyPad", text), text
    assert capfd.readouterr().err == ""


X = np.ones((64, 64), np.float32)


def told(kernel: Any, *arguments: Any, configs: dict[str, bool] | None = None) -> str:
    compiled = tilewright.compile(
        kernel, target="ascend", pass_configs=AUTOMATIC if configs is None else configs
    )
    with pytest.raises(RuntimeError) as caught:
        compiled(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))
    return str(caught.value)


def line_of(text: str) -> int:
    (number,) = (
        n
        for n, line in enumerate(Path(__file__).read_text().splitlines(), 1)
        if line.strip() == text
    )
    return number


@T.prim_func
def blocks_that_overlap(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(4, is_npu=True, threads=1) as cid:
        tile = T.alloc_ub((16, 64), "float32")
        T.copy(A[cid * 16, 0], tile)
        T.copy(tile, C[cid // 2 * 8, 0])


def test_a_race_of_two_blocks_names_elements() -> None:
    text = told(blocks_that_overlap, X, X)
    at = f"test_host_words.py:{line_of('T.copy(tile, C[cid // 2 * 8, 0])')}"
    assert (
        f"{at}: error: nothing orders this write of 'C'[0, 0] to [15, 63] by DataCopyPad on "
        "PIPE_MTE3 (vector core 1) and a write by DataCopyPad on PIPE_MTE3 (vector core 0)" in text
    )
    assert "of an allocation" not in text


rows_given, columns_given = T.dynamic("rows_given"), T.dynamic("columns_given")


@T.prim_func
def parts_that_overlap(
    A: T.Tensor((rows_given, columns_given), "float32"),
    C: T.Tensor((rows_given, columns_given), "float32"),
):
    with T.Kernel(2, is_npu=True, threads=1) as cid:
        tile = T.alloc_ub((16, 32), "float32")
        T.copy(A[cid * 16, 0], tile)
        T.copy(C[cid * 16, 16], tile)
        T.copy(tile, C[cid * 16 + 8, 0])


def test_a_race_names_elements_of_shapes_that_come_with_the_call() -> None:
    text = told(parts_that_overlap, X, X)
    assert (
        "nothing orders this read of 'C'[16, 16] to [31, 47] by DataCopyPad on PIPE_MTE2 (vector "
        "core 1) and a write of [8, 0] to [23, 31] by DataCopyPad on PIPE_MTE3 (vector core 0)"
        in text
    )
    assert "note: both touch [16, 16] to [16, 31], and more behind them" in text


@T.prim_func
def elements_of_one_line(C: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, is_npu=True, threads=1) as cid:
        C[3, cid] = 1.0


def test_elements_of_one_cache_line_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    """Python warns of it, at the kernel's line, and once; the compiler has done so before."""
    line = elements_of_one_line.function.__code__.co_firstlineno + 3
    with pytest.warns(TilewrightWarning) as told:
        kernel = tilewright.compile(elements_of_one_line, target="ascend", pass_configs={})
    assert [(str(each.message), each.lineno) for each in told] == [
        (
            "the scalar units of block 0 and block 1 write 'C'[3, 0] and 'C'[3, 1], which lie in "
            "one 64-byte cache line; the line that is written back last may undo the other: let "
            "each core write lines of its own, or copy from UB",
            line,
        )
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        kernel(X.copy())
        kernel(X.copy())
    (warning,) = caught
    assert warning.category is TilewrightWarning
    assert str(warning.message) == (
        "the scalar units of vector core 0 and vector core 1 write 'C'[3, 0] and 'C'[3, 1], which "
        "lie in one 64-byte cache line; the line that is written back last may undo the other; "
        f"line {line}: the other write is here; let each core write lines of its own, or "
        "copy from UB"
    )
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert capfd.readouterr().err == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TilewrightWarning, match="lie in one 64-byte cache line"):
            kernel(X.copy())


@T.prim_func
def divided(A: T.Tensor((64,), "float32"), I: T.Tensor((8,), "int32")):  # noqa: E741
    with T.Kernel(1, is_npu=True, threads=1) as _:
        row = T.alloc_ub((64,), "float32")
        T.copy(A, row)
        turns = 64 // I[0]
        for _ in T.serial(turns):
            T.tile.add(row, row, 1.0)
        T.copy(row, A)


def test_a_division_by_zero_points_at_the_kernel() -> None:
    text = told(divided, X[0], np.zeros(8, np.int32))
    at = f"test_host_words.py:{line_of('turns = 64 // I[0]')}: error: "
    assert (
        f"{at}the kernel divided an integer by zero, or the least one by -1 (vector core 0)" in text
    )
    assert "tilewright_" not in text


DIVISIONS = (
    "Y[i // n] = 1",
    "Y[i] = Y[i // n + 1]",
    "rests = (i, 64 % n)",
    "T.copy(row, Y[i * (64 // n)])",
)


def dividing(form: int) -> Any:
    @T.prim_func
    def main(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32"), n: T.int32):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            row = T.alloc_ub((8,), "int32")
            T.copy(X[0:8], row)
            if form == 0:
                for i in T.serial(8):
                    Y[i] = X[i]
                    Y[i // n] = 1
            elif form == 1:
                for i in T.Parallel(8):
                    Y[i] = Y[i // n + 1]
            elif form == 2:
                for i in T.serial(8):
                    rests = (i, 64 % n)
                    Y[0] = i
                    if i > 2:
                        Y[i] = rests[1]
            else:
                for i in T.serial(8):
                    T.copy(row, Y[i * (64 // n)])

    return main


@pytest.mark.parametrize("form", range(len(DIVISIONS)))
def test_a_division_by_zero_is_the_one_that_is_written(form: int) -> None:
    """Neither the loop around it nor the statement before it, or where its result is used."""
    numbers = np.ones(64, np.int32)
    text = told(dividing(form), numbers, numbers.copy(), 0)
    at = f"test_host_words.py:{line_of(DIVISIONS[form])}: error: "
    assert f"{at}the kernel divided an integer by zero" in text


@T.prim_func
def part_of_a_gemm(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32"), n: T.int32):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_L1((64, 64), "float16")
        b = T.alloc_L1((64, 64), "float16")
        c = T.alloc_L0C((16, 64), "float32")
        T.copy(A, a)
        T.copy(A, b)
        T.gemm_v0(a[n : n + 16, :], b, c, init=True)
        T.copy(c, C[0, 0])


def test_a_start_within_a_fractal_is_told_in_a_sentence() -> None:
    text = told(part_of_a_gemm, X.astype(np.float16), X, 3)
    at = f"test_host_words.py:{line_of('T.gemm_v0(a[n : n + 16, :], b, c, init=True)')}: error: "
    assert (
        f"{at}a of a gemm begins at row 3 of a tile in L1, which is no multiple of 16 (cube core 0)"
        in text
    )
    assert "assertion" not in text


@T.prim_func
def part_of_a_row(A: T.Tensor((64,), "float32"), n: T.int32):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        row = T.alloc_ub((64,), "float32")
        T.copy(A, row)
        T.fill(row[n : n + 8], 0.0)
        T.copy(row, A)


def test_a_start_within_a_block_is_told_in_a_sentence() -> None:
    text = told(part_of_a_row, X[0], 5)
    assert (
        f"test_host_words.py:{line_of('T.fill(row[n : n + 8], 0.0)')}: error: the fill begins "
        "within a block of 32 bytes of UB: at element 5 of its tile, which is no multiple of 8"
        in text
    )


@T.prim_func
def unordered_sums(A: T.Tensor((16, 128), "float32"), I: T.Tensor((8,), "int32")):  # noqa: E741
    with T.Kernel(1, is_npu=True, threads=1) as _:
        tile = T.alloc_ub((16, 128), "float32")
        sums = T.alloc_ub((16,), "float32")
        T.copy(A[0, 0], tile)
        T.reduce_sum(tile, sums, dim=-1)
        T.barrier_all()
        T.copy(sums, A[0, 0:16])


def test_an_instruction_of_another_name_has_its_statement_before_it() -> None:
    text = told(unordered_sums, np.ones((16, 128), np.float32), np.zeros(8, np.int32), configs={})
    at = f"test_host_words.py:{line_of('T.reduce_sum(tile, sums, dim=-1)')}: error: "
    found = re.findall(re.escape(at) + r"(\S+) (\w+) on PIPE_V reads", text)
    assert found
    assert {statement for statement, _ in found} == {"T.reduce_sum:"}
    plain = told(unordered, X[0], np.zeros(8, np.int32), configs={})
    assert re.search(r"py:\d+: error: Adds on PIPE_V reads", plain)
