# SPDX-License-Identifier: Apache-2.0
"""Prints of elements beside a gemm: the vector cores print what they alone can read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

Key = tilewright.PassConfigKey
AUTOMATIC = {
    Key.TL_ASCEND_AUTO_SYNC: True,
    Key.TL_ASCEND_MEMORY_PLANNING: True,
    Key.TL_ASCEND_AUTO_CV_COMBINE: True,
    Key.TL_ASCEND_AUTO_CV_SYNC: True,
}


def kernel(form: str, threads: int) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float32"), F: T.Tensor((32, 32), "float32")
    ):
        with T.Kernel(2, threads=threads, is_npu=True) as cid:
            a = T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            u = T.alloc_shared((32, 32), "float32")
            s = T.alloc_var("float32", init=0.0)
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c, u)
            if form == "element":
                T.printf("%d: %f\n", cid, u[3, 4])
            if form == "sum":
                T.printf("%d: %f\n", cid, u[3, 4] + A[1, 1])
            if form == "variable":
                s = u[3, 4] * 2.0
                T.printf("%d: %f\n", cid, s)
            if form == "branch":
                if u[3, 4] > 0:
                    T.printf("%d: above\n", cid)
                else:
                    T.printf("%d: below\n", cid)
            if form == "loop":
                for i in T.serial(2):
                    T.printf("%d: %f\n", cid, u[i, 31])
            if form == "accumulator":
                T.printf("%d: %f\n", cid, c[20, 4])
            T.tile.mul(u, u, 2.0)
            if cid == 0:
                T.copy(u, F)

    return main


def lines_of(form: str, A: np.ndarray) -> list[str]:
    c = A @ A
    lines = {
        "element": [f"{c[3, 4]:f}"],
        "sum": [f"{c[3, 4] + A[1, 1]:f}"],
        "variable": [f"{2 * c[3, 4]:f}"],
        "branch": ["above" if c[3, 4] > 0 else "below"],
        "loop": [f"{c[0, 31]:f}", f"{c[1, 31]:f}"],
        "accumulator": [f"{c[20, 4]:f}"],
    }[form]
    return sorted(f"{block}: {line}" for block in range(2) for line in lines)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("form", ["element", "sum", "variable", "branch", "loop", "accumulator"])
@pytest.mark.parametrize("target", ["reference", "ascend"])
def test_each_block_prints_once(
    form: str, threads: int, target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    A = np.random.default_rng(1).integers(-3, 4, (32, 32)).astype(np.float32)
    F = np.zeros_like(A)
    tilewright.compile(kernel(form, threads), target=target, pass_configs=AUTOMATIC)(A, F)
    assert sorted(capfd.readouterr().out.splitlines()) == lines_of(form, A)
    np.testing.assert_array_equal(F, 2 * (A @ A))


@pytest.mark.parametrize("target", ["reference", "ascend"])
def test_each_vector_core_prints_its_own(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float32"), F: T.Tensor((32, 32), "float32")
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            u = T.alloc_ub((16, 32), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, init=True)
            T.copy(c[vid * 16 : vid * 16 + 16, :], u)
            T.printf("%d: %f\n", vid, u[3, 4])
            T.copy(u, F[vid * 16, 0])

    A = np.random.default_rng(1).integers(-3, 4, (32, 32)).astype(np.float32)
    F = np.zeros_like(A)
    tilewright.compile(main, target=target, pass_configs=AUTOMATIC)(A, F)
    np.testing.assert_array_equal(F, A @ A)
    lines = [f"{vid}: {F[vid * 16 + 3, 4]:f}" for vid in range(2)]
    assert sorted(capfd.readouterr().out.splitlines()) == lines
