# SPDX-License-Identifier: Apache-2.0
"""A name must exist where the trace comes to it, and only there, as in Python."""

import pytest

import tilewright.language as T
from tilewright.capture import recording_compiler
from tilewright.errors import CompileError

# ruff: noqa: F821


def places(kernel) -> list[tuple[int, int, str]]:
    """Line (of the function), column and text of each error."""
    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    start = kernel.function.__code__.co_firstlineno
    return [(d.place.line - start, d.place.column, d.message) for d in caught.value.errors]


def with_bias(bias):
    if bias:
        extra = 3

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            if bias:
                A[0] = extra
            else:
                A[0] = 1
            A[1] = extra if bias else 2
            A[2] = 3 if not bias else extra

    return kernel


@pytest.mark.parametrize("bias", [False, True])
def test_name_that_the_factory_binds_in_a_branch(bias):
    with_bias(bias).capture(recording_compiler)


def test_names_that_are_never_reached():
    flag, nothing = True, None

    @T.macro
    def unused(A):
        return A[nope]

    @T.macro
    def store(A, extra):
        A[1] = 1 if extra is None else nope[extra]
        if extra is not None:
            T.nosuch(A)

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as bx:
            if not flag:
                A[0] = nope
                T.nosuch(A, nope.more)
            if hasattr(T, "new_name"):
                T.new_name(A)
            A[0] = T.newest() if hasattr(T, "newest") else 4
            A[1] = flag or nope
            A[2] = (not flag) and nope[3]
            A[3] = T.if_then_else(nothing is None, 1, nothing_there)
            A[1] = T.if_then_else(bx > 1, 2, flag or nope[3])
            A[2] = bx > 0 or flag or nope[3]
            if nothing is not None and nope > 3:
                unused(A)
            for i in []:
                A[i] = nope
            A[1] = [nope for _ in range(0)] == []
            store(A, nothing)

            def uncalled():
                return nope

            assert flag, nope
            return
            A[3] = nope

    kernel.capture(recording_compiler)


def test_names_that_are_reached():
    flag = True

    @T.macro
    def store(A):
        A[1] = nope4

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as bx:
            if bx > 0:
                A[0] = nope1
            else:
                T.alloc_shred(A)
            A[1] = nope2 if flag else 2
            A[2] = T.if_then_else(bx > 1, nope3, 4)
            for i in range(2):
                A[i] = A[1] + T.nosuch
            store(A)

    line = store.function.__code__.co_firstlineno - kernel.function.__code__.co_firstlineno
    assert places(kernel) == [
        (line + 2, 16, "name 'nope4' is not defined"),
        (4, 24, "name 'nope1' is not defined"),
        (6, 17, "T has no 'alloc_shred'; did you mean 'alloc_shared'?"),
        (7, 20, "name 'nope2' is not defined"),
        (8, 43, "name 'nope3' is not defined"),
        (10, 31, "T has no 'nosuch'"),
    ]


def test_names_in_a_statement_that_failed():
    """Its condition isn't known, so all that may be reached is reported."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            if nope1 > 0:
                A[0] = nope2
                T.nosuch(A)

    assert places(kernel) == [
        (3, 16, "name 'nope1' is not defined"),
        (4, 24, "name 'nope2' is not defined"),
        (5, 17, "T has no 'nosuch'"),
    ]


def test_function_that_is_used_before_it_is_bound():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            A[0] = twice(2)

            def twice(x):
                return x + x

    assert places(kernel) == [(3, 20, "name 'twice' is used before it is bound")]
