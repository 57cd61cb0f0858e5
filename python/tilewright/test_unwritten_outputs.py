# SPDX-License-Identifier: Apache-2.0
"""What nobody writes: the interpreter tells which elements of an output, when it runs; the other
targets what no statement writes, when they compile."""

from __future__ import annotations

import warnings
from linecache import getline
from pathlib import Path

import numpy as np
import pytest

import tilewright as tl
import tilewright.language as T
from tilewright.errors import Diagnostic, KernelError, load_compiler, warning_text


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


def warned(kernel, *arguments, **choices):
    """What a call gives, and its warnings: the line in this file, and the text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = kernel(*arguments, **choices)
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


@T.prim_func
def forgetful(
    A: T.Tensor((16,), "float32"),
    B: T.Tensor((16,), "float32"),
    C: T.Tensor((16,), "float32"),
):
    with T.Kernel(1):
        x = T.alloc_shared((2, 8), "float32")
        y = T.alloc_fragment((16,), "float32")
        flat = T.reshape(x, (16,))
        T.copy(A, y)
        for i in T.Parallel(16):
            y[i] = y[i] + flat[i]
        T.copy(flat, y)
        T.copy(y, B)


LINES = Path(__file__).read_text().splitlines()
X_IS_ALLOCATED = LINES.index('        x = T.alloc_shared((2, 8), "float32")') + 1
X_IS_READ = (
    "y[i] = y[i] + flat[i]",
    "'x' is read here, but no statement writes it: its elements hold what was in memory before; "
    f"line {X_IS_ALLOCATED}: 'x' was allocated here",
)


def is_given_back(name):
    what = "is given back, but no statement writes it: it holds what was in memory before"
    return f'{name}: T.Tensor((16,), "float32"),', f"'{name}' {what}"


@pytest.mark.parametrize("times", ["first", "from the cache"])
def test_what_no_statement_writes_is_told_when_compiling(times):
    """A result that the kernel only reads is none, either."""
    _, told = warned(tl.compile, forgetful, out_idx=[1, 2])
    assert told == [X_IS_READ, is_given_back("C")]
    _, told = warned(tl.compile, forgetful, out_idx=[0, 1])
    assert told == [X_IS_READ, is_given_back("A")]
    _, told = warned(tl.compile, forgetful, out_idx=[1], workspace_idx=[2])
    assert told == [X_IS_READ]
    unchecked = {tl.PassConfigKey.TL_DISABLE_BUFFER_INIT_CHECK: True}
    assert warned(tl.compile, forgetful, out_idx=[1, 2], pass_configs=unchecked)[1] == []


def test_results_of_an_eager_kernel_that_no_statement_writes():
    @tl.jit
    def eager(A):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        B = T.empty((N,), T.float32)
        C = T.empty((N,), T.float32)
        with T.Kernel(1):
            T.copy(A, B)
        return B, C

    assert [line for line, _ in warned(eager, np.ones(8, "f4"))[1]] == [
        "C = T.empty((N,), T.float32)"
    ]
    assert warned(eager, np.ones(8, "f4"))[1] == []  # once


def by_ascend(function):
    """What compiling says, and which parameters are written; no library is built, in seconds."""
    import json

    compiler = load_compiler()
    options = compiler.CompileOptions("ascend", "native", {}, build_library=False)
    artifact, found = compiler.compile(function.capture().module, options)
    written = [param["written"] for param in json.loads(artifact.manifest)["params"]]
    return [Diagnostic.from_native(each) for each in found], written


def test_what_no_statement_writes_is_told_on_ascend():
    found, written = by_ascend(forgetful)
    assert [(getline(d.place.file, d.place.line).strip(), warning_text(d)) for d in found] == [
        X_IS_READ
    ]
    assert written == [False, True, False]


def test_what_may_be_written_is_not_told():
    """By a function of the user's own, at an address that the kernel chose, by an update."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1):
            T.import_source('extern "C" __aicore__ void fill(__gm__ float*, __ubuf__ float*) {}')
            x = T.alloc_ub((64,), "float32")
            y = T.alloc_ub((64,), "float32")
            z = T.alloc_ub((64,), "float32")
            T.annotate_address({y: 1024, z: 1024})
            T.call_extern("handle", "fill", B.access_ptr("w"), x.access_ptr("w"))
            T.barrier_all()
            T.copy(x, z)
            T.barrier_all()
            T.tile.add(x, y, x)

    found, written = by_ascend(kernel)
    assert found == [] and written == [False, True]
