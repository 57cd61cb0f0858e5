# SPDX-License-Identifier: Apache-2.0
"""The warning of a name that is bound again, as in TileLang: where there is one, and where not."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning

pytest.importorskip("tilewright._compiler")

LINES = ["", *map(str.strip, Path(__file__).read_text().splitlines())]
ROW = T.Tensor((8,), "float32")


def told(kernel):
    """What the capture of a kernel warns of: the name, its line and the earlier one, as texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel.capture()
    found = []
    for each in (w for w in caught if w.category is TilewrightWarning):
        text = re.fullmatch(
            r"'(\w+)' is bound to another value here than at line (\d+); use T.alloc_var for a "
            r"variable that changes(; line \d+: in macro '\w+' called here)?",
            str(each.message),
        )
        assert text, str(each.message)
        found.append((text[1], LINES[each.lineno], LINES[int(text[2])]))
    return found


def test_a_value_bound_again():
    """The new value holds from there on; what was made of the old one keeps it."""

    @tilewright.jit(target="reference")
    def kernel(A: ROW):
        B = T.empty([8], "float32")
        with T.Kernel(1):
            x = A[0]
            y = x * 2
            x = x + 1
            x += A[2]
            B[0] = x
            B[1] = y
            for i in T.serial(2, 8):
                B[i] = 0
        return B

    with pytest.warns(TilewrightWarning, match="'x' is bound to another value") as caught:
        out = kernel(np.arange(5, 13, dtype="float32"))
    assert np.asarray(out)[:2].tolist() == [13, 10]
    lines = [LINES[w.lineno] for w in caught if w.category is TilewrightWarning]
    assert lines == ["x = x + 1", "x += A[2]"]


def test_forms_of_assignment():
    @T.prim_func
    def kernel(A: ROW, B: ROW):
        with T.Kernel(4) as bx:
            bx = bx * 2
            x: T.float32 = A[0]
            x: T.float32 = A[1]
            tile = T.alloc_fragment((8,), "float32")
            T.copy(A, tile)
            tile = tile[0]
            B[bx] = tile + x
            for i in T.serial(4):
                i = i + 1
                B[i] = 0

    assert told(kernel) == [
        ("bx", "bx = bx * 2", "with T.Kernel(4) as bx:"),
        ("x", "x: T.float32 = A[1]", "x: T.float32 = A[0]"),
        ("tile", "tile = tile[0]", 'tile = T.alloc_fragment((8,), "float32")'),
        ("i", "i = i + 1", "for i in T.serial(4):"),
    ]


def test_numbers_of_a_dtype():
    """As in TileLang, one in the place of another is no change of a value of the kernel."""

    @T.prim_func
    def kernel(A: ROW, B: ROW):
        with T.Kernel(1):
            m = T.int32(1)
            m = T.int32(2)
            m = T.float32(0.5)
            m = T.int64(3) + 1
            B[0] = m
            m = A[m]
            m = T.int32(1)
            B[1] = m

    assert told(kernel) == [
        ("m", "m = A[m]", "m = T.int64(3) + 1"),
        ("m", "m = T.int32(1)", "m = A[m]"),
    ]


def test_inner_frames():
    """A name of an open frame is hidden in the inner one."""

    @T.prim_func
    def kernel(A: ROW, B: ROW):
        with T.Kernel(1):
            x = A[0]
            B[0] = x
            for i in T.serial(8):
                x = A[i]
                B[i] = x

    assert told(kernel) == [("x", "x = A[i]", "x = A[0]")]


def test_macros_have_names_of_their_own():
    @T.macro
    def sum_of(x, y):
        z = x + y
        x = x + z
        return x

    @T.prim_func
    def kernel(A: ROW, B: ROW):
        with T.Kernel(1):
            x = A[0]
            z = sum_of(x, A[1])
            B[0] = x + z
            B[1] = sum_of(2, z)  # a number is no value of the kernel

    assert told(kernel) == [("x", "x = x + z", "def sum_of(x, y):")]


def test_what_is_no_rebinding():
    """Numbers of Python, variables, other frames and branches, parts of tuples, chains,
    parameters, `_`, loops that run while tracing, and loops' own variables."""

    @T.prim_func
    def kernel(A: ROW, B: ROW, n: T.int32):
        n = n + 1
        half = T.ceildiv(n, 2)
        half = half + 1
        with T.Kernel(1) as bx:
            x = 1.0
            x = A[bx] * x
            x = 2.0
            last = T.alloc_var("float32", 0)
            last = A[1]
            last = last + x
            last = T.alloc_var("float32", 0)
            a = A[0]
            b = A[1]
            a, b = b, a
            b = a
            _ = A[2]
            _ = A[3]
            if n > half:
                c = A[0]
                B[0] = c
            else:
                c = A[1]
                B[0] = c
            c = A[2]
            for i in T.serial(8):
                d = A[i]
                B[i] = a + b + c + d + last
            for i in T.serial(8):
                d = A[i]
                for i in T.serial(2):
                    B[i] = d
            p, q = A[0], A[1]
            p, q = A[2], A[3]
            q = p = A[4]
            if (p := A[5]) > q:
                B[3] = p
            tile = T.alloc_fragment((8,), "float32")
            tile = T.alloc_fragment((4,), "float32")
            T.clear(tile)
            total = 0.0
            for k in [0, 1, 2]:
                each = A[k]
                total = total + each
            B[1] = total
            B[2] = sum([e for e in [A[0], A[1]] for e in [e + 1]])

    assert told(kernel) == []


def test_the_launches_of_a_kernel_are_apart():
    @T.prim_func
    def kernel(A: ROW, B: ROW):
        with T.Kernel(1):
            x = A[0]
            B[0] = x
        with T.Kernel(1):
            x = A[1]
            B[1] = x

    assert told(kernel) == []


def test_of_an_npu_the_numbers_of_launches_and_loops_are_hidden():
    """As in TVMScript, there they mean behind the loop what they did before."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
        with T.Kernel(4, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((16,), "float32")
            for i in T.serial(2):
                cid = T.use_swizzle(i * 4 + cid, 128, 128, 128, 64, 64)
                T.copy(A[cid, 0], tile)
                T.copy(tile, B[cid, 0])

    assert told(kernel) == []


def test_what_is_an_error_is_not_warned_of():
    @T.prim_func
    def kernel(A: ROW, B: ROW):
        with T.Kernel(1):
            x = A[0]
            for i in T.serial(8):
                B[i] = x
                x = x + A[i]

    with pytest.raises(tilewright.CompileError, match="'x' is changed in") as caught:
        kernel.capture()
    assert len(caught.value.diagnostics) == 1


def test_a_kernel_that_is_traced_again_says_no_more():
    """As of all warnings, under Python's own filters."""

    def kernel(scale):
        @T.prim_func
        def scaled(A: ROW, B: ROW):
            with T.Kernel(1):
                x = A[0]
                x = x * scale
                B[0] = x

        return scaled

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for scale in (2, 3, 4):
            kernel(scale).capture()
    assert [LINES[each.lineno] for each in caught] == ["x = x * scale"]


def test_a_value_that_is_not_used():
    @T.prim_func
    def kernel(A: ROW, B: ROW):
        with T.Kernel(1):
            B[0] == A[0]  # noqa: B015 - what is tested
            A[1] + 1
            T.atomic_add(B[2], A[2])
            T.max(A[0], A[1])
            B[3] = A[3]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel.capture()
    assert [(LINES[each.lineno], str(each.message)) for each in caught] == [
        (
            "B[0] == A[0]  # noqa: B015 - what is tested",
            "the value of this expression is not used; write '=' to assign",
        ),
        ("A[1] + 1", "the value of this expression is not used"),
    ]
