# SPDX-License-Identifier: Apache-2.0
"""Pointers and calls by name, on the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret
from tilewright.tir import Buffer, BufferRegion, Var

Array = np.ndarray[Any, Any]
random = np.random.default_rng(21)


def kernel(function: Callable[[Any, Any, Any], None]) -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, 16), "float"), B: T.Tensor((4, 16), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, __):
            a = T.alloc_ub((4, 16), "float")
            b = T.alloc_ub((4, 16), "float")
            c = T.alloc_ub((4, 16), "float")
            T.copy(A, a)
            T.copy(B, b)
            T.tile.fill(c, 7.0)
            function(c, a, b)
            T.copy(c, B)

    return main


def result(function: Callable[[Any, Any, Any], None]) -> tuple[Array, Array, Array]:
    a = np.abs(random.standard_normal((4, 16))).astype(np.float32)
    b = random.standard_normal((4, 16)).astype(np.float32)
    c = b.copy()
    interpret(kernel(function), a, c)
    return a.astype(np.float64), b.astype(np.float64), c


def refusal(function: Callable[[Any, Any, Any], None]) -> str:
    with pytest.raises(tilewright.CompileError) as caught:
        result(function)
    return str(caught.value.errors[0].message)


def test_functions_by_name() -> None:
    def pointers(c: Any, *sources: Any) -> list[Any]:
        return [c.access_ptr("w"), *[s.access_ptr("r") for s in sources]]

    a, _, c = result(lambda c, a, b: T.call_extern("handle", "AscendC::Ln", *pointers(c, a), 64))
    np.testing.assert_allclose(c, np.log(a), rtol=1e-5)
    a, b, c = result(
        lambda c, a, b: T.call_extern("handle", "AscendC::Add", *pointers(c, a, b), 64)
    )
    np.testing.assert_allclose(c, a + b, rtol=1e-5, atol=1e-6)
    a, _, c = result(
        lambda c, a, b: T.call_extern("handle", "AscendC::Muls", *pointers(c, a), 3.0, 64)
    )
    np.testing.assert_allclose(c, a * 3, rtol=1e-6)


def test_pointers_have_offsets_and_counts() -> None:
    def part(c: Any, a: Any, b: Any) -> None:
        pointer = c.access_ptr("w", offset=16)
        T.call_extern("handle", "AscendC::Abs", pointer, b.access_ptr("r", offset=32), 8)
        T.call_extern("handle", "AscendC::Duplicate", c.access_ptr("w"), 2.5, 4)

    _, b, c = result(part)
    expected = np.full(64, 7.0)
    expected[16:24] = np.abs(b.ravel()[32:40])
    expected[:4] = 2.5
    np.testing.assert_array_equal(c.ravel(), expected.astype(np.float32))


def test_names_that_stand_for_elements() -> None:
    seen: list[Any] = []

    def look(c: Any, a: Any, value: Any) -> None:
        seen.append((isinstance(c, Buffer), isinstance(c[0:1, :], BufferRegion)))
        seen.append((isinstance(value, Var), T.has_let_value(value), T.has_let_value(c)))
        seen.append(T.get_let_value(value).buffer is a)
        seen.append([(r.min, r.extent) for r in c[1:3, 4].region])

    @T.prim_func
    def main(A: T.Tensor((4, 16), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, __):
            a = T.alloc_ub((4, 16), "float")
            c = T.alloc_ub((4, 16), "float")
            x = a[0, 1]
            look(c, a, x)

    main.capture()
    assert seen == [(True, True), (True, True, False), True, [(1, 2), (4, 1)]]


def test_functions_of_ones_own() -> None:
    def own(c: Any, a: Any, b: Any) -> None:
        T.import_source("// mine")
        T.call_extern("handle", "mine::f<float>", c.access_ptr("rw", offset=4), 3, 2.5)

    text = kernel(own).capture().module.text()
    assert 'ascend.sources = ["// mine"]' in text
    assert 'ascend.call "mine::f<float>"' in text and '["rw", "value", "value"]' in text
    assert refusal(own) == (
        "the reference interpreter can't run the function 'mine::f<float>', which is known by its "
        "Ascend C only"
    )


GEMM = "tl::ascend::gemm_v0<half, float, 4, 8, 16, false, false>"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda c, a, b: T.call_extern("handle", "AscendC::Exp", c.access_ptr("w"), 64),
            "AscendC::Exp takes 3 arguments, not 2",
        ),
        (
            lambda c, a, b: T.call_extern("handle", "AscendC::Exp", c, a.access_ptr("r"), 64),
            "AscendC::Exp takes a pointer here; use the buffer's access_ptr",
        ),
        (lambda c, a, b: c.access_ptr("x"), "an access mask is r, w or rw, not 'x'"),
        (
            lambda c, a, b: T.call_extern("float32", "mine", c.access_ptr("r")),
            "T.call_extern of a function that gives a float32 is not supported",
        ),
        (
            lambda c, a, b: T.call_extern("handle", GEMM, 1),
            "tl::ascend::gemm_v0 takes 4 arguments, not 1",
        ),
        (
            lambda c, a, b: T.call_extern(
                "handle", GEMM, *[x.access_ptr("r", offset=3) for x in (a, b, c)], 1
            ),
            "a matrix of 4 x 16 elements that doesn't start at a multiple of its "
            "size in 'a' is not supported",
        ),
    ],
)
def test_refused(function: Callable[[Any, Any, Any], None], message: str) -> None:
    assert refusal(function) == message


def test_let_values_are_of_names() -> None:
    @T.prim_func
    def main(A: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            T.get_let_value(cid)

    with pytest.raises(tilewright.CompileError) as caught:
        interpret(main, np.zeros(4, np.int32))
    assert caught.value.errors[0].message == (
        "T.get_let_value takes a name that stands for an element of a buffer"
    )
