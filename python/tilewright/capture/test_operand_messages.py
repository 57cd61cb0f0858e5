# SPDX-License-Identifier: Apache-2.0
"""Operators beside what is no number: what the user wrote is told, not a class of ours."""

import pytest

import tilewright.language as T
from tilewright.capture import recording_compiler
from tilewright.errors import CompileError


@T.macro
def nothing():
    pass


def test_operands_that_are_no_numbers():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            A[0] += "a"
            A[1] = nothing() * A[1]
            A[2] = bx - "b"
            A[3] = [1] + (2,)

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    first = kernel.function.__code__.co_firstlineno
    assert [(d.place.line - first, d.message) for d in caught.value.errors] == [
        (3, "'+' takes two numbers, but one of these is 'a' of type str"),
        (
            4,
            "'*' takes two numbers, but one of these is None of type NoneType; a @T.macro without "
            "a return gives that",
        ),
        (5, "'-' takes two numbers, but one of these is 'b' of type str"),
        (6, 'this raises TypeError: can only concatenate list (not "tuple") to list'),
    ]
