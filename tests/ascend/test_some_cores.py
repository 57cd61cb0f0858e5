# SPDX-License-Identifier: Apache-2.0
"""Branches that only some cores of a block take: what orders the cube and the vector cores stands
outside of them, because all cores must set a flag between cores, and all that wait must come."""

# ruff: noqa: SIM102 - the outer one is not of the kernel
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(0)
A, B, W = (random.standard_normal((32, 32)).astype(np.float16) for _ in range(3))


def product(form: str) -> Any:
    """A product of a tensor that vector cores write."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        B: T.Tensor((32, 32), "float16"),
        W: T.Tensor((32, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            x = T.alloc_ub((32, 32), "float16")
            u = T.alloc_ub((32, 32), "float32")
            T.copy(B, b)
            for i in T.serial(3):
                T.copy(A, x)
                T.tile.add(x, x, x)
                if form in ("of_one", "in_turn"):
                    if vid == (0 if form == "of_one" else i % 2):
                        T.copy(x, W)
                elif form == "by_element":
                    if x[0, 0] > T.cast(1 - i, "float16"):  # in all but the first iteration
                        T.copy(x[vid * 16 : vid * 16 + 16, :], W[vid * 16, 0])
                elif form == "both_inside":
                    if vid == 0:
                        T.copy(x, W)
                        T.copy(W, a)
                T.copy(W, a)
                T.gemm_v0(a, b, c, init=i == 0)
            T.copy(c, C)
            if vid == 1:
                T.copy(C, u)
                T.tile.add(u, u, 1.0)
                T.copy(u, C)

    return main


for form in ("of_one", "in_turn", "by_element"):
    first = W if form == "by_element" else A + A
    left = first.astype(np.float64) + 2 * (A + A).astype(np.float64)
    expected = left @ B.astype(np.float64) + 1
    arguments = [A, B, W, np.zeros((32, 32), np.float32)]
    GROUP.add(form, product(form), arguments, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", GROUP.cases)
def test_kernels(name: str) -> None:
    """Not in the interpreter: it runs one vector core behind the other."""
    GROUP.cases[name].check(GROUP.run(name), "host")
    GROUP.check_removals(name)


def test_no_flag_can_stand_in_such_a_branch() -> None:
    kernel = product("both_inside")
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)
    error = caught.value.errors[0]
    assert error.message == (
        "T.copy to L1 needs what T.copy from UB writes, but both are where not all cores of a "
        "block come alike (a branch or loop that asks for vid, for elements of UB or for what a "
        "T.Scope assigns): no flag can order them there"
    )
    assert error.place.line - kernel.function.__code__.co_firstlineno == 26


@T.prim_func
def asked_by_while(
    A: T.Tensor((96, 16), "float16"),
    B: T.Tensor((16, 16), "float16"),
    I: T.Tensor((8,), "int32"),  # noqa: E741
    C: T.Tensor((96, 16), "float"),
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_shared((16, 16), "float16")
        b = T.alloc_shared((16, 16), "float16")
        c = T.alloc_fragment((16, 16), "float")
        index = T.alloc_shared((8,), "int32")
        i = T.alloc_var("int32", init=0)
        T.copy(I, index)
        while index[i] >= 0:
            T.copy(A[i * 16, 0], a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[i * 16, 0])
            i += 1


def test_a_loop_around_a_gemm_that_asks_an_element_of_ub() -> None:
    with pytest.raises(tilewright.UnsupportedError) as caught:
        tilewright.compile(asked_by_while, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert error.message == (
        "unsupported on ascend: the cube core needs this value, but only the vector core can read "
        "it: take what the cube core does out of the loop or branch that asks for it, or ask an "
        "element of a tensor"
    )
    assert error.place.line - asked_by_while.function.__code__.co_firstlineno == 14
