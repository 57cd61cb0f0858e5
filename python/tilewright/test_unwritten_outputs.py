# SPDX-License-Identifier: Apache-2.0
"""What the interpreter says of outputs that a call makes and the kernel doesn't fill."""

from __future__ import annotations

import warnings
from linecache import getline

import numpy as np
import pytest

import tilewright as tl
import tilewright.language as T
from tilewright.errors import KernelError


def test_atomics_on_what_nobody_wrote():
    """Adding needs a number that is there; storing doesn't."""

    @T.prim_func
    def counted(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32"), stores: T.int32):
        with T.Kernel(1):
            for i in T.Parallel(4):
                if stores == 1:
                    T.atomic_store(B[i], A[i])
                else:
                    T.atomic_add(B[i], A[i])

    kernel, a = tl.compile(counted, out_idx=[1], target="reference"), np.arange(4, dtype=np.int32)
    assert kernel(a, 1).tolist() == [0, 1, 2, 3]
    with pytest.raises(KernelError, match=r"updates element \[0\] of 'B', which was never written"):
        kernel(a, 0)


def warned(kernel, *arguments):
    """What a call gives, and its warnings: the line in this file, and the text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = kernel(*arguments)
    lines = [getline(w.filename, w.lineno).strip() for w in caught]
    return given, list(zip(lines, (str(w.message) for w in caught), strict=True))


@T.prim_func
def partly(
    A: T.Tensor((4, 6), "float32"),
    B: T.Tensor((4, 6), "float32"),
    C: T.Tensor((3,), "int4"),
    n: T.int32,
):
    with T.Kernel(1):
        for i, j in T.Parallel(4, 6):
            if i * 6 + j < n:
                B[i, j] = A[i, j]
        if n > 24:
            for i in T.serial(n - 24):
                C[i] = 1


def test_outputs_that_nobody_fills():
    """A warning at the tensor, once per call; what the caller gave may be left as it was."""
    kernel, a = tl.compile(partly, out_idx=[1, 2], target="reference"), np.ones((4, 6), "f4")
    at_b, at_c = 'B: T.Tensor((4, 6), "float32"),', 'C: T.Tensor((3,), "int4"),'
    all_of_c = "'C' is given back, but nothing has written it: its 3 elements hold"
    before = " what was in memory before"
    assert warned(kernel, a, 0)[1] == [
        (
            at_b,
            "'B' is given back, but nothing has written it: its 24 elements hold" + before,
        ),
        (at_c, all_of_c + before),
    ]
    assert warned(kernel, a, 20)[1][0] == (
        at_b,
        "'B' is given back, but 4 of its 24 elements were never written, the first of them [3, 2]: "
        "they hold" + before,
    )
    assert warned(kernel, a, 26)[1] == [
        (
            at_c,
            "'C' is given back, but 1 of its 3 elements were never written, the first of them [2]: "
            "it holds" + before,
        )
    ]
    assert warned(kernel, a, 27)[1] == []
    b = np.zeros((4, 6), np.float32)
    given = tl.compile(partly, out_idx=[2], target="reference")
    assert [line for line, _ in warned(given, a, b, 0)[1]] == [at_c]
    work = tl.compile(partly, out_idx=[2], workspace_idx=[1], target="reference")
    assert [line for line, _ in warned(work, a, 0)[1]] == [at_c]


def test_an_empty_tensor_that_nobody_fills():
    @tl.jit(target="reference")
    def eager(A):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        B = T.empty((N,), T.float32)
        with T.Kernel(1):
            for i in T.serial(N // 2):
                B[i] = A[i]
        return B

    (_, found), _none = warned(eager, np.ones(8, np.float32)), warned(eager, np.ones(0, "f4"))
    message = "'B' is given back, but 4 of its 8 elements were never written, the first of them [4]"
    assert [(line, text[: len(message)]) for line, text in found] == [
        ("B = T.empty((N,), T.float32)", message)
    ]
