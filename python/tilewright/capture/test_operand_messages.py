# SPDX-License-Identifier: Apache-2.0
"""Operators beside what is no number: what the user wrote is told, not a class of ours."""

import pytest

import tilewright.language as T
from tilewright.capture import recording_compiler
from tilewright.errors import CompileError, TilewrightWarning


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


def test_a_macro_that_returns_in_both_branches():
    """One message, and none of the value that is missing then."""

    @T.macro
    def either(x):
        if x > 3:
            return x
        else:
            return x + 1

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            A[0] = either(bx)

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    (error,) = caught.value.errors
    assert error.message == "'return' inside a loop or branch of the running kernel"
    assert error.place.line == either.function.__code__.co_firstlineno + 3


def test_values_of_the_kernel_in_texts():
    """An f-string has none of them; what is known has its place in one."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            T.print(f"{A[bx]}")
            T.print(f"{bx + 1}")
            T.print(bx, f"{A.dtype} of {A.shape[0]}, {3}")

    with pytest.warns(TilewrightWarning):
        captured = kernel.capture(recording_compiler)
    first = kernel.function.__code__.co_firstlineno
    start = "an f-string is made while the kernel is traced, where "
    assert [(d.kind, d.place.line - first, d.message) for d in captured.warnings] == [
        ("warning", 3, f"{start}A[bx] has no value yet; T.print(A[bx], 'text') prints it"),
        ("warning", 4, f"{start}bx + 1 has no value yet; T.print(bx + 1, 'text') prints it"),
    ]
