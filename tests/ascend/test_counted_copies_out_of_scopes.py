# SPDX-License-Identifier: Apache-2.0
"""A variable of a T.Scope says whether, where and how often a tile goes to the other kind of core:
both count, where both can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
SIDE, HALF = 32, 16
BY_HAND = {tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True}


def to_gemm(form: str, threads: int | None) -> Any:  # noqa: ANN401, C901
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"), n: T.int32, C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            h = T.alloc_ub((SIDE, SIDE), "float16")
            p = T.alloc_L1((SIDE, SIDE), "float16")
            q = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            i = T.alloc_var("int32", init=0)
            if form == "while":
                with T.Scope("V"):
                    while i < n:
                        T.copy(A[i, 0, 0], h)
                        T.copy(h[0:HALF, :], p[0:HALF, :])
                        T.copy(h[HALF:SIDE, :], p[HALF:SIDE, :])
                        i = i + 1
            elif form == "counted first":
                with T.Scope("V"):
                    while i < n:
                        T.copy(A[i, 0, 0], h)
                        i = i + 1
                        T.copy(h, p)
            elif form == "variable beside it":  # of the vector cores' alone
                with T.Scope("V"):
                    last = T.alloc_var("int32", init=-1)
                    while i < n:
                        T.copy(A[last + 1, 0, 0], h)
                        T.copy(h, p)
                        i, last = i + 1, i
            elif form == "own variable":
                with T.Scope("V"):
                    own = T.alloc_var("int32", init=n - 1)
                    step = T.alloc_var("int32", init=1)
                    while own >= 0:
                        T.copy(A[n - 1 - own, 0, 0], h)
                        T.copy(h, p)
                        own = own - step
            elif form == "where":
                while i < 2:
                    with T.Scope("V"):
                        T.copy(A[n - 1, 0, 0], h)
                        T.copy(h[i * HALF : (i + 1) * HALF, :], p[i * HALF : (i + 1) * HALF, :])
                    i = i + 1
            elif form == "whether":
                with T.Scope("V"):
                    for _ in T.serial(4):
                        if i < n:
                            T.copy(A[i, 0, 0], h)
                            T.copy(h, p)
                        i = i + 1
            elif form == "two counters":  # of which each is one copy's
                with T.Scope("V"):
                    other = T.alloc_var("int32", init=0)
                    for _ in T.serial(2):
                        T.copy(A[2, 0, 0], h)
                        T.copy(h[i * HALF : (i + 1) * HALF, :], p[i * HALF : (i + 1) * HALF, :])
                        i = i + 1
                        T.copy(h[other : other + HALF, :], q[other : other + HALF, :])
                        other = other + HALF
            else:  # a turn of each
                with T.Scope("V"):
                    while i < n:
                        own = T.alloc_var("int32", init=0)
                        while own < 2:
                            T.copy(A[i, own * HALF, 0], h[0:HALF, :])
                            T.copy(h[0:HALF, :], p[own * HALF : (own + 1) * HALF, :])
                            own = own + 1
                        i = i + 1
            with T.Scope("C"):
                T.gemm_v0(p, q if form == "two counters" else p, c, init=True)
                T.copy(c, C)

    return main


def from_gemm(scope: str, threads: int | None) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"), n: T.int32, C: T.Tensor((SIDE, SIDE), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            a = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_fragment((SIDE, SIDE), "float32")
            u = T.alloc_ub((SIDE, SIDE), "float32")
            T.copy(A[n - 1, 0, 0], a)
            T.gemm_v0(a, a, c, init=True)
            with T.Scope(scope):
                i = T.alloc_var("int32", init=0)
                while i < SIDE:
                    T.copy(c[i : i + HALF, :], u[i : i + HALF, :])
                    i = i + HALF
            T.copy(u, C)

    return main


random = np.random.default_rng(41)
matrices = random.integers(-3, 4, (4, SIDE, SIDE)).astype(np.float16)
wide = matrices.astype(np.float64)
FORMS = ["while", "counted first", "variable beside it", "own variable", "where", "whether"]
FORMS += ["two counters", "in turn"]
for threads in (1, 2, None):
    for form in FORMS:
        GROUP.add(
            f"{form}, threads={threads}",
            to_gemm(form, threads),
            [matrices, 3, np.zeros((SIDE, SIDE), np.float32)],
            wide[2] @ wide[2],
            configs=AUTOMATIC,
        )
    for scope in ("C", "V"):
        GROUP.add(
            f"of a gemm, in scope {scope}, threads={threads}",
            from_gemm(scope, threads),
            [matrices, 3, np.zeros((SIDE, SIDE), np.float32)],
            wide[2] @ wide[2],
            configs=AUTOMATIC,
        )


@pytest.mark.parametrize("name", GROUP.cases)
def test_both_count(name: str) -> None:
    GROUP.check(name)


def refused(form: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, SIDE, SIDE), "float16"),
        N: T.Tensor((4,), "int32"),
        n: T.int32,
        C: T.Tensor((4, SIDE, SIDE), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            h = T.alloc_ub((SIDE, SIDE), "float16")
            p = T.alloc_L1((SIDE, SIDE), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            i = T.alloc_var("int32", init=0)
            with T.Scope("V"):
                if form == "vid":
                    i = vid
                while i < n:
                    T.copy(A[i, 0, 0], h)
                    T.copy(h, p)
                    i = i + (N[i] if form == "element" else 1)
                    if form == "branch" and i == 2:
                        i = i + 1
            with T.Scope("C"):
                T.gemm_v0(p, p, c, init=True)
                T.copy(c, C[i if form == "read elsewhere" else 0, 0, 0])

    return main


@pytest.mark.parametrize("form", ["element", "branch", "vid", "read elsewhere"])
@pytest.mark.parametrize("configs", [AUTOMATIC, BY_HAND, {}])
def test_what_one_kind_of_core_counts(form: str, configs: Any) -> None:  # noqa: ANN401
    kernel = refused(form)
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel, target="ascend", pass_configs=configs)
    (error,) = caught.value.errors
    assert error.message == (
        "unsupported on ascend: 'p' goes from UB to L1 here, which takes both kinds of core, but "
        "the cube core can't come here as the vector cores of this T.Scope can: a variable or an "
        "element that is read in the scope says whether or where; put this copy outside of T.Scope"
    )
    assert error.place.line == kernel.function.__code__.co_firstlineno + 17
