# SPDX-License-Identifier: Apache-2.0
"""A variable that only the vector cores know, for a loop asks elements of UB: what the cube core
needs it for is an error that names both, and both ways out that it tells of work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

GROUP = KernelGroup()


def counted(form: str) -> Any:  # noqa: ANN401
    """How often A @ A must be halved to come down to 100, up to P[2] times."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 16), "float16"),
        P: T.Tensor((64,), "int32"),
        C: T.Tensor((16, 16), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            y = T.alloc_shared((16, 16), "float16")
            z = T.alloc_shared((16, 16), "float32")
            product = T.alloc_fragment((16, 16), "float32")
            n = T.alloc_var("int32", init=0)
            T.copy(A, y)
            T.gemm_v0(y, y, product, init=True)
            T.copy(product, z)
            while z[0, 0] > 100.0:
                T.tile.mul(z, z, 0.5)
                n = n + 1
                if n > P[2]:
                    break
            if form == "waited for":
                if n > 1:
                    T.barrier_all()
            elif form == "asked":
                if n > 1:
                    T.gemm_v0(y, y, product)
            elif form == "by itself":
                if z[0, 0] > 60.0:
                    T.gemm_v0(y, y, product)
            elif form == "in a scope":
                with T.Scope("V"):
                    T.print(n)
            elif form == "by an element":
                if vid == 0:
                    P[32] = n
                if P[32] > 1:
                    T.gemm_v0(y, y, product)
            T.copy(product, z)
            if vid == 0:
                T.copy(z, C)

    return main


for number, sums in ((2, 1), (3, 1), (4, 2), (9, 2)):
    product = 16 * number**2 * sums
    GROUP.add(
        f"by an element, {number}",
        counted("by an element"),
        [
            np.full((16, 16), number, np.float16),
            np.full(64, 9, np.int32),
            np.zeros((16, 16), np.float32),
        ],
        {2: np.full((16, 16), product)},
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_by_an_element(name: str) -> None:
    GROUP.check(name)


def test_in_a_scope() -> None:
    assert tilewright.compile(counted("in a scope"), target="ascend", pass_configs=AUTOMATIC)


WAY = "store 'n' in an element of a tensor, where vid is 0, and read that element instead"


@pytest.mark.parametrize(
    ("form", "line", "way"),
    [("waited for", 21, f'put this into T.Scope("V"), or {WAY}'), ("asked", 24, WAY)],
)
def test_the_message(form: str, line: int, way: str) -> None:
    kernel = counted(form)
    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    head = "unsupported on ascend: the cube core needs 'n' here, but only the vector core knows it"
    assert error.message == f"{head}: {way}"
    first = kernel.function.__code__.co_firstlineno
    assert error.place.line - first == line
    assert [(note.message, note.place.line - first) for note in error.notes] == [
        ("'n' depends on what only the vector core reads here", asked) for asked in (14, 17)
    ]


def test_without_a_variable() -> None:
    kernel = counted("by itself")
    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    first = kernel.function.__code__.co_firstlineno
    assert "only the vector core can read it" in error.message
    assert [error.place.line, error.notes[0].place.line] == [first + 26, first + 27]
