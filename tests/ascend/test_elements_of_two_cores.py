# SPDX-License-Identifier: Apache-2.0
"""Single elements and prints with threads=2, which gives the kernel no vid: one core does them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

Key = tilewright.PassConfigKey
BY_HAND = {Key.TL_ASCEND_AUTO_SYNC: True, Key.TL_ASCEND_MEMORY_PLANNING: True}
AUTOMATIC = {**BY_HAND, Key.TL_ASCEND_AUTO_CV_COMBINE: True, Key.TL_ASCEND_AUTO_CV_SYNC: True}
FORMS = ["number", "element", "place", "sum", "turned", "tensor", "branch", "loop"]


def kernel(form: str, has_gemm: bool) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float32"),
        N: T.Tensor((8,), "int32"),
        C: T.Tensor((32, 32), "float32"),
        F: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(1, threads=2, is_npu=True):
            a = T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            u = T.alloc_shared((32, 32), "float32")
            v = T.alloc_shared((32, 32), "float32")
            w = T.alloc_shared((32, 32), "float32")
            ix = T.alloc_shared((8,), "int32")
            if has_gemm:
                T.copy(A, a)
                T.gemm_v0(a, a, c, init=True)
                T.copy(c, u)
            else:
                T.copy(A, u)
            T.copy(N, ix)
            if form == "turned":
                T.tile.transpose(v, u)
            else:
                T.tile.mul(v, u, 2.0)
            T.tile.add(w, u, 1.0)
            T.copy(w, C)
            if form == "number":
                F[1] = 5.0
            if form == "element":
                F[1] = u[3, 4]
            if form == "place":
                F[ix[1]] = u[1, 1]
            if form == "sum":
                F[1] = u[3, 4] + v[25, 6]
            if form == "turned":
                F[1] = u[3, 4] + v[5, 6]
            if form == "tensor":
                F[1] = A[3, 4]
            if form == "branch":  # noqa: SIM102
                if u[20, 4] < 1000:
                    F[1] = 3.0
            if form == "loop":
                for i in T.serial(8):
                    F[i] = u[i * 4, 2]

    return main


@pytest.mark.parametrize("has_gemm", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", ["reference", "ascend"])
def test_one_core_stores(form: str, has_gemm: bool, target: str) -> None:
    A = np.random.default_rng(1).integers(-3, 4, (32, 32)).astype(np.float32)
    u = A @ A if has_gemm else A
    C, F, expected = np.zeros_like(A), np.zeros(8, np.float32), np.zeros(8, np.float32)
    N = np.arange(8, dtype=np.int32) * 2
    expected[2 if form == "place" else 1] = {
        "number": 5,
        "element": u[3, 4],
        "place": u[1, 1],
        "sum": u[3, 4] + 2 * u[25, 6],
        "turned": u[3, 4] + u[6, 5],
        "tensor": A[3, 4],
        "branch": 3,
        "loop": 0,
    }[form]
    if form == "loop":
        expected = u[::4, 2]
    made = tilewright.compile(kernel(form, has_gemm), target=target, pass_configs=AUTOMATIC)
    made(A, N, C, F)
    np.testing.assert_array_equal(C, u + 1)
    np.testing.assert_array_equal(F, expected)


@pytest.mark.parametrize("target", ["reference", "ascend"])
def test_one_core_prints(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")
    ):
        with T.Kernel(1, threads=2, is_npu=True):
            u = T.alloc_shared((32, 32), "float32")
            w = T.alloc_shared((32, 32), "float32")
            T.copy(A, u)
            T.tile.add(w, u, 1.0)
            T.copy(w, C)
            T.printf("%f\n", u[20, 4])

    A = np.arange(1024, dtype=np.float32).reshape(32, 32)
    C = np.zeros_like(A)
    tilewright.compile(main, target=target, pass_configs=AUTOMATIC)(A, C)
    np.testing.assert_array_equal(C, A + 1)
    assert capfd.readouterr().out == "644.000000\n"
