# SPDX-License-Identifier: Apache-2.0
"""Each mistake raises a class of ours that is also the one that Python, or TileLang, has for it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import JITNoBuilderError, UnsupportedError

A8 = T.Tensor((8, 8), "float32")


def body(source):
    """A kernel on `A` with a shared tile `S` whose statement is `source`."""
    import linecache

    text = (
        "@T.prim_func\n"
        "def kernel(A: A8, B: A8):\n"
        "    with T.Kernel(2, threads=64) as bx:\n"
        "        S = T.alloc_shared((8, 8), 'float32')\n"
        "        I = T.alloc_local((8,), 'int32')\n"
        f"        {source}\n"
    )
    name = f"<kernel {hash(source)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"T": T, "A8": A8, "__name__": __name__, "np": np}
    exec(compile(text, name, "exec"), names)
    return names["kernel"]


MISTAKES = {
    "S[0] = 1.0": IndexError,  # as many indices as dims: the front end's
    "S[8, 0] = 1.0": IndexError,  # the builder's
    "S[0, 'x'] = 1.0": TypeError,
    "if S: pass": TypeError,
    "if A == B: S[0, 0] = 1.0": TypeError,
    "x = 1.0 if A[0:2, 0] != S else 2.0": TypeError,
    "x, y = S": TypeError,
    "S += 1.0": RuntimeError,
    "S[0, 0] = S[0, 0] & 1": TypeError,
    "T.gemm(S, S, I)": ValueError,
    "T.copy(S[0:4, 0:4], S[0:3, 0:4])": ValueError,
    "T.reduce_sum(S, S, dim=2)": IndexError,
    "for i in T.Parallel(8): T.copy(A, S)": RuntimeError,
    "for i in T.serial(0, 8, 0): S[i, 0] = 1.0": ValueError,
    "T.loop_break()": RuntimeError,
    "y = missing": NameError,
    "y = T.no_such_name(1)": AttributeError,
    "y = S.nothing": AttributeError,
    "assert 1 > 2": AssertionError,
    "raise KeyError('text')": KeyError,
    "y = {}['absent']": KeyError,
    "T.alloc_shared((8,), 'float31')": ValueError,
    "T.alloc_shared((8,), 3.5)": TypeError,
    "T.alloc_shared((-1,), 'float32')": ValueError,
    "T.atomic_addx2(A, A[0, 0])": TypeError,
    "with T.Kernel(1): pass": RuntimeError,
    "T.tma_gather4(A, S)": NotImplementedError,
    "x = S[0, 0] + 2 ** 70": OverflowError,
}


@pytest.mark.parametrize("source", list(MISTAKES))
def test_mistakes_in_kernels(source):
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(body(source))
    assert isinstance(caught.value, MISTAKES[source])
    plain = {ValueError, TypeError, IndexError, RuntimeError} - set(MISTAKES[source].__mro__)
    assert not isinstance(caught.value, tuple(plain))
    assert type(caught.value).__name__ in ("CompileError", "UnsupportedError")


@pytest.mark.parametrize("threads", [0, -1, [1, 0]])
def test_threads_that_are_not_positive(threads):
    @T.prim_func
    def kernel(A: A8):
        with T.Kernel(1, threads=threads):
            A[0, 0] = 1.0

    with pytest.raises(ValueError, match="threads of T.Kernel must be positive"):
        tilewright.compile(kernel)


def test_a_parameter_without_annotation():
    @T.prim_func
    def kernel(A, B: A8):
        with T.Kernel(1):
            B[0, 0] = 1.0

    with pytest.raises(ValueError, match="parameter 'A' of the kernel has no annotation"):
        tilewright.compile(kernel)


def test_a_value_outside_of_its_frame():
    @T.prim_func
    def kernel(A: A8):
        with T.Kernel(1):
            for i in T.serial(2):
                x = A[i, 0]
            A[0, 1] = x

    with pytest.raises(RuntimeError, match="'x' is used outside the serial loop"):
        tilewright.compile(kernel)


def test_outside_of_a_kernel():
    with pytest.raises(RuntimeError) as caught:
        T.Kernel(1)
    assert isinstance(caught.value, JITNoBuilderError)
    with pytest.raises(ValueError, match="1 strides for 2 dimensions"):
        T.StridedTensor((4, 4), (1,), "float32")
    with pytest.raises(TypeError, match="loop_layout of T.Parallel must be a T.Fragment"):
        T.Parallel(4, loop_layout=3)


@pytest.mark.parametrize(
    "source", ["S[8, 0] = 1.0", "T.tma_gather4(A, S)", "raise KeyError('text')"]
)
def test_errors_can_be_pickled(source):
    """As a process that compiles for another one hands them over."""
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(body(source))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value)
    assert copy.diagnostics == caught.value.diagnostics and str(copy) == str(caught.value)


def test_calls():
    """The checks of a call: a wrong count or kind is a TypeError, a wrong value a ValueError."""

    @T.prim_func
    def kernel(A: A8, n: T.int32):
        with T.Kernel(1):
            A[0, 0] = n

    run = tilewright.compile(kernel)
    array = np.zeros((8, 8), np.float32)
    for arguments in [(array,), (1, 2), (array, 1.5)]:
        with pytest.raises(TypeError):
            run(*arguments)
    for arguments in [(array[0], 1), (array.astype("int32"), 1), (array, 2**40), (None, 1)]:
        with pytest.raises(ValueError):
            run(*arguments)


def test_what_is_not_supported_is_not_implemented():
    assert issubclass(UnsupportedError, NotImplementedError)
    with pytest.raises(NotImplementedError):
        tilewright.compile(body("S[0, 0] = 1.0"), target="webgpu")


REDUCTIONS = {
    "dim=2": (ValueError, "reduce_sum over dim 2, but 'a' has 2 dims"),
    "dim=-3": (ValueError, "reduce_sum over dim -3, but 'a' has 2 dims"),
    "dim=0": (ValueError, "gives"),
    "dim=1.0": (TypeError, "expected an integer but got 1.0 of type float"),
}


@pytest.mark.parametrize("given", list(REDUCTIONS))
def test_reductions_on_an_npu(given):
    """The classes that TileLang-Ascend raises."""
    dim = {"dim": 1.0} if "." in given else {"dim": int(given[4:])}

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((8, 16), "float32")
            b = T.alloc_ub((8,), "float32")
            T.copy(A, a)
            T.reduce_sum(a, b, **dim)

    expected, message = REDUCTIONS[given]
    with pytest.raises(tilewright.CompileError, match=message) as caught:
        tilewright.compile(kernel, target="reference")
    assert isinstance(caught.value, expected) and not isinstance(caught.value, IndexError)
