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


GUARD = "; guard it by `if i < 64`"
CHOICE = ", or choose another value: T.if_then_else(i < 64, .., ..)"
CASES = {
    "column": (column, f"index 70 is out of range for dim 1 of 'C' with extent 64{GUARD}", 28),
    "row": (row, f"index 70 is out of range for dim 0 of 'A' with extent 64{GUARD}{CHOICE}", 39),
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


key = tilewright.PassConfigKey
AUTOMATIC = {
    key.TL_ASCEND_AUTO_SYNC: True,
    key.TL_ASCEND_MEMORY_PLANNING: True,
    key.TL_ASCEND_AUTO_CV_COMBINE: True,
    key.TL_ASCEND_AUTO_CV_SYNC: True,
}
N, BLOCK = 50, 32


def guarded(form: str, threads: int, is_npu: bool) -> Any:
    """Blocks of 32 of 50: what lies beyond is not chosen."""

    @T.prim_func
    def main(
        A: T.Tensor((N,), "float32"),
        I: T.Tensor((64,), "int32"),  # noqa: E741
        B: T.Tensor((64,), "float32"),
    ):
        with T.Kernel(2, is_npu=is_npu, threads=threads if is_npu else 1) as bx:
            u = T.alloc_shared((BLOCK,), "float32")
            if form == "choice":
                for i in T.Parallel(BLOCK):
                    u[i] = T.if_then_else(bx * BLOCK + i < N, A[bx * BLOCK + i] * 2 + 1, -1)
                T.copy(u, B[bx * BLOCK])
            if form == "chain":  # where another element says; a choice in a choice
                for i in T.Parallel(BLOCK):
                    at = bx * BLOCK + i
                    u[i] = T.if_then_else(
                        I[at] < N, T.if_then_else(A[I[at]] < 9, 9.0, A[I[at]]) * 2 + 1, -1
                    )
                T.copy(u, B[bx * BLOCK])
            if form == "ternary":
                for i in T.serial(BLOCK):
                    at = bx * BLOCK + i
                    B[at] = A[at] * 2 + 1 if at < N else -1.0
            if form == "and":
                for i in T.serial(BLOCK):
                    at = bx * BLOCK + i
                    if at < N and A[at] >= 0:
                        B[at] = A[at] * 2 + 1
                    else:
                        B[at] = -1
            if form == "apart":  # vector cores that do different things
                for i in T.serial(BLOCK):
                    at = bx * BLOCK + i
                    T.atomic_add(B[at], T.if_then_else(at < N, A[at] * 2 + 1, -1))

    return main


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("form", ["choice", "chain", "ternary", "and", "apart"])
@pytest.mark.parametrize("target", ["reference", "ascend", "cpu"])
def test_what_is_not_chosen_is_silent(
    form: str, threads: int, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_STRICT_INDICES", "1")
    a, b, at = np.arange(N, dtype=np.float32), np.zeros(64, np.float32), np.arange(64)
    kernel = guarded(form, threads, target != "cpu")
    tilewright.compile(kernel, target=target, pass_configs=AUTOMATIC)(a, at.astype(np.int32), b)
    if form == "chain":
        a = np.maximum(a, 9)
    np.testing.assert_array_equal(b, np.concatenate([a * 2 + 1, [-1] * 14]))


@pytest.mark.parametrize("target", ["reference", "ascend"])
def test_of_two_vector_cores_each_reads_what_it_chooses(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True) as (_, vid):
            last = T.alloc_var("int32", init=0)
            for i in T.serial(BLOCK):
                at = vid * BLOCK + i
                last = T.if_then_else(at < N, at, last)
                B[at] = T.if_then_else(at < N, A[at] + T.if_then_else(last < 3, 1, A[last]), 5)

    monkeypatch.setenv("TILEWRIGHT_STRICT_INDICES", "1")
    a, b = np.arange(N, dtype=np.float32), np.zeros(64, np.float32)
    tilewright.compile(main, target=target, pass_configs=AUTOMATIC)(a, b)
    expected = np.concatenate([a + np.where(a < 3, 1, a), [5] * 14])
    np.testing.assert_array_equal(b, expected)
