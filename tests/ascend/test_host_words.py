# SPDX-License-Identifier: Apache-2.0
"""What the host finds in a kernel of the language is told in its words: the buffer's name, the
element, the line; and it is told once, by the exception."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

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
