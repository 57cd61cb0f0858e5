# SPDX-License-Identifier: Apache-2.0
"""The warning of a loop's step that nobody knows while compiling: where there is one, and where
not."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

pytest.importorskip("tilewright._compiler")

LINES = ["", *map(str.strip, Path(__file__).read_text().splitlines())]
ROW = T.Tensor((8,), "int32")
REST = (
    " of this loop is not known while compiling: the loop has the turns of Python's range, up or "
    "down as the step's sign says"
)


def told(kernel):
    """What the capture of a kernel warns of: the line and the text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel.capture()
    return [(LINES[w.lineno], str(w.message)) for w in caught if w.category is TilewrightWarning]


def test_steps_that_the_call_gives():
    @T.prim_func
    def kernel(A: ROW, s: T.int32, B: ROW):
        with T.Kernel(1, threads=1):
            step = T.alloc_var("int32", 2)
            for i in range(0, 8, s):
                B[i] = 1
            for i in T.serial(7, -1, step=A[0] - 1):
                B[i] = 2
            for i in T.unroll(0, 8, step):
                B[i] = 3
            for i in T.serial(*(0, 8, s)):
                B[i] = 4

    assert told(kernel) == [
        ("for i in range(0, 8, s):", f"the step 's'{REST}"),
        ("for i in T.serial(7, -1, step=A[0] - 1):", f"the step 'A[0] - 1'{REST}"),
        ("for i in T.unroll(0, 8, step):", f"the step 'step'{REST}"),
        ("for i in T.serial(*(0, 8, s)):", f"the step{REST}"),
    ]


@pytest.mark.parametrize(("step", "turns"), [(3, [0, 3, 6]), (-3, []), (0, [])])
def test_the_turns_of_such_a_loop(step, turns):
    @tilewright.jit(target="reference")
    def kernel(s: T.int32):
        B = T.empty((8,), "int32")
        with T.Kernel(1, threads=1):
            T.clear(B)
            for i in range(0, 8, s):
                B[i] = 1
        return B

    with pytest.warns(TilewrightWarning, match="the step 's' of this loop is not known"):
        out = kernel(step)
    assert np.flatnonzero(np.asarray(out)).tolist() == turns


def test_steps_that_are_known_or_never_negative():
    """Numbers, and what counts blocks, threads, elements, or has no sign."""
    n = T.dynamic("n")
    two = 2

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), u: T.uint32, B: ROW):
        with T.Kernel(n, threads=4) as bx:
            tx = T.get_thread_binding()
            for i in range(0, 8, two):
                B[i] = 1
            for i in range(7, -1, T.int32(-3)):
                B[i] = 1
            for i in range(bx, 8, T.get_block_extent()):
                B[i] = 2
            for i in range(0, 8, n):
                B[i] = 3
            for i in range(0, 8, T.ceildiv(n, 4)):
                B[i] = 3
            for i in T.serial(tx, 8, T.get_thread_extent()):
                B[i] = 4
            for i in T.serial(0, 8, tx + 1):
                B[i] = 5
            for i in T.serial(0, 8, T.max(A[0], 1)):
                B[i] = 6
            for i in T.serial(0, 8, u):
                B[i] = 6

    assert told(kernel) == []


def test_steps_that_are_said_to_be_positive():
    """By a promise, an assertion, a condition, a choice, a shift, or abs."""

    @T.prim_func
    def kernel(A: ROW, s: T.int32, n: T.int32, k: T.int32, B: ROW):
        T.assume(n - k > 0)
        with T.Kernel(1, threads=1):
            for i in range(0, 8, n - k):
                B[i] = 1
            for i in range(0, 8, T.Select(s > 0, s, 1)):
                B[i] = 2
            for i in range(0, 8, T.if_then_else(s > 3, s - 2, 1 - s + 3)):
                B[i] = 2
            for i in range(0, 8, 1 if k <= 0 else k):
                B[i] = 2
            for i in range(0, 8, 1 << k):
                B[i] = 3
            for i in range(0, 8, T.abs(s)):
                B[i] = 4
            if s < n:
                for i in range(0, 8, n - s):
                    B[i] = 5
                assert k > 2
                for i in range(0, 8, k - 2):
                    B[i] = 6
            for i in range(0, 8, k - 2):
                B[i] = 7
            T.assume(k > 2)
            for i in range(0, 8, k >> 1):
                B[i] = 8

    assert told(kernel) == [("for i in range(0, 8, k - 2):", f"the step 'k - 2'{REST}")]


def test_once_a_place():
    @T.macro
    def every(B, s):
        for i in range(0, 8, s):
            B[i] = 1

    @T.prim_func
    def kernel(A: ROW, B: ROW):
        with T.Kernel(1, threads=1):
            for k in [0, 1, 2]:
                every(B, A[k])

    line = "for i in range(0, 8, s):"
    assert [(at, text.partition(";")[0]) for at, text in told(kernel)] == [
        (line, f"the step 's'{REST}")
    ]


def test_a_step_of_another_kind_is_an_error_alone():
    @T.prim_func
    def kernel(A: ROW, s: T.float32):
        with T.Kernel(1):
            for i in range(0, 8, s):
                A[i] = 1

    with pytest.raises(tilewright.CompileError, match="a loop's step must be an integer") as caught:
        kernel.capture()
    assert len(caught.value.diagnostics) == 1
