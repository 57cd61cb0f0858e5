# SPDX-License-Identifier: Apache-2.0
"""Eager kernels are told from factories, also where a macro opens the launch for them."""

import types

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.kernel_style import is_eager


@tilewright.jit
def before_its_macro(A, B):
    N = T.const("N")
    A: T.Tensor[[N], "float32"]
    B: T.Tensor[[N], "float32"]
    copied(A, B)


@T.macro
def copied(A, B):
    with T.Kernel(A.shape[0]) as bx:
        B[bx] = A[bx]


@T.macro
def through_another(A, B):
    copied(A, B)


@T.macro
def made(A):
    B = T.empty(A.shape[0], dtype=A.dtype)
    copied(A, B)
    return B


@T.macro
def added(A, B, bx):
    B[bx] = A[bx] + 1


library = types.SimpleNamespace(copied=copied, added=added)


@tilewright.jit
def fixed_shapes(A: T.Tensor[[4], "float32"], B: T.Tensor[[4], "float32"]):
    through_another(A, B)


@tilewright.jit
def of_a_module(A: T.Tensor[[4], "float32"], B: T.Tensor[[4], "float32"]):
    library.copied(A, B)


@tilewright.jit
def by_its_own_macro(A: T.Tensor[[4], "float32"], B: T.Tensor[[4], "float32"]):
    @T.macro
    def own():
        with T.Kernel(4) as bx:
            B[bx] = A[bx]

    own()


@tilewright.jit
def gives_what_a_macro_makes(A):
    N = T.dynamic("N")
    A: T.Tensor[[N], "float32"]
    return made(A)


@pytest.mark.parametrize(
    "kernel",
    [before_its_macro, fixed_shapes, of_a_module, by_its_own_macro, gives_what_a_macro_makes],
    ids=lambda kernel: kernel.__name__,
)
def test_kernels_whose_macro_opens_the_launch(kernel):
    given = np.arange(4, dtype="float32")
    assert kernel.is_eager
    if kernel is gives_what_a_macro_makes:
        results = kernel(given)
    else:
        kernel(given, results := np.zeros(4, "float32"))
    assert (results == given).all()


def makes_kernels(body):
    def kernel_of(body):
        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
            body(A, B)

        return kernel

    return kernel_of(body)


def test_factories_that_use_such_macros():
    """They mention the macro, or call it in what they define, and aren't eager."""

    @tilewright.jit
    def defines(size):
        @T.prim_func
        def kernel(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
            copied(A, B)

        return kernel

    @tilewright.jit
    def passes(size):
        return makes_kernels(library.copied if size else through_another)

    for factory in (defines, passes):
        assert not factory.is_eager
        given, results = np.arange(4, dtype="float32"), np.zeros(4, "float32")
        factory(4)(given, results)
        assert (results == given).all()


def test_calls_that_open_nothing():
    def numbers(n):
        return np.empty(n), added, max(n, 2)

    def calls_a_small_macro(A, B):
        added(A, B, 0)

    def without_source():
        return None

    assert not any(map(is_eager, (numbers, calls_a_small_macro, without_source)))


def test_no_out_idx():
    """Known where the kernel is made, or at the call if only a macro shows it."""
    factory = tilewright.jit(fixed_shapes.function, out_idx=[1])
    with pytest.raises(ValueError, match="out_idx is not for eager kernels"):
        factory(np.zeros(4, "float32"), np.zeros(4, "float32"))
