# SPDX-License-Identifier: Apache-2.0
"""With TILEWRIGHT_STRICT_INDICES=1 an element outside of its tensor is an error on Ascend, too;
else it reads as 0 and is dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
X = np.arange(1, 4097, dtype=np.float32).reshape(64, 64)
rows, columns = T.dynamic("rows"), T.dynamic("columns")


@T.prim_func
def column(
    A: T.Tensor((64, 64), "float32"),
    C: T.Tensor((64, 64), "float32"),
    I: T.Tensor((8,), "int32"),  # noqa: E741
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        for i in T.serial(4):
            C[i, I[i]] = A[i, 3]


@T.prim_func
def row(
    A: T.Tensor((rows, columns), "float32"),
    C: T.Tensor((rows, columns), "float32"),
    I: T.Tensor((8,), "int32"),  # noqa: E741
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        for i in T.serial(4):
            C[i, 3] = A[I[i], 3]


CASES = {
    "column": (column, "index 70 is out of range for dim 1 of 'C' with extent 64", 28),
    "row": (row, "index 70 is out of range for dim 0 of 'A' with extent 64", 39),
}
PLACES = np.array([1, 2, 70, 3, 0, 0, 0, 0], np.int32)


@pytest.mark.parametrize("name", CASES)
def test_an_element_outside_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, message, line = CASES[name]
    monkeypatch.setenv("TILEWRIGHT_STRICT_INDICES", "1")
    strict = tilewright.compile(kernel, target="ascend", pass_configs={})
    c = np.zeros_like(X)
    with pytest.raises(tilewright.KernelError) as caught:
        strict(X, c, PLACES)
    (found,) = caught.value.errors
    assert (found.message, found.place.line) == (message, line)
    assert not c.any()  # nothing has run
    inside = np.minimum(PLACES, 63)
    strict(X, c, inside)
    expected = X[inside[:4], 3] if name == "row" else X[:4, 3]
    np.testing.assert_array_equal(c[range(4), 3 if name == "row" else inside[:4]], expected)


@pytest.mark.parametrize("name", CASES)
def test_else_it_is_an_edge(name: str) -> None:
    kernel, _, _ = CASES[name]
    c = np.zeros_like(X)
    tilewright.compile(kernel, target="ascend", pass_configs={})(X, c, PLACES)
    assert c[2].sum() == 0


def test_made_outputs_and_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_STRICT_INDICES", "1")

    @tilewright.jit(out_idx=[-1], target="ascend")
    def taken() -> Any:
        @T.prim_func
        def main(
            A: T.Tensor((64, 64), "float32"),
            I: T.Tensor((8,), "int32"),  # noqa: E741
            C: T.Tensor((4,), "float32"),
        ):
            with T.Kernel(1, is_npu=True, threads=1) as _:
                for i in T.serial(4):
                    C[i] = A[I[i], 3]

        return main

    kernel = taken()
    np.testing.assert_array_equal(kernel(X, PLACES % 64), X[PLACES[:4] % 64, 3])
    assert "estimated time on 910B2" in kernel.report()
    with pytest.raises(tilewright.KernelError, match="index 70 is out of range for dim 0 of 'A'"):
        kernel(X, PLACES)
