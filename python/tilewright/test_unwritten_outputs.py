# SPDX-License-Identifier: Apache-2.0
"""What nobody writes: the interpreter tells which elements of an output, when it runs; the other
targets what no statement writes, when they compile."""

from __future__ import annotations

import re
import warnings
from linecache import getline
from pathlib import Path

import numpy as np
import pytest

import tilewright as tl
import tilewright.language as T
from tilewright.errors import CompileError, Diagnostic, KernelError, load_compiler, warning_text


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


@T.prim_func
def accumulates(
    A: T.Tensor((32, 32), "float32"),
    B: T.Tensor((32, 32), "float32"),
    S: T.Tensor((32,), "float32"),
):
    with T.Kernel(1):
        a = T.alloc_shared((32, 32), "float32")
        product = T.alloc_fragment((32, 32), "float32")
        total = T.alloc_fragment((32, 32), "float32")
        rows = T.alloc_fragment((32,), "float32")
        count = T.alloc_var("int32")
        T.copy(A, a)
        T.gemm(a, a, product)
        for i, j in T.Parallel(32, 32):
            total[i, j] += product[i, j]
        for _ in T.serial(3):
            count += 1
        T.reduce_sum(total, rows, dim=1, clear=False)
        for i in T.Parallel(32):
            rows[i] = rows[i] + T.cast(count, "float32")
        T.copy(total, B)
        T.copy(rows, S)


@pytest.mark.parametrize("target", ["cpu", "ascend"])
def test_what_is_only_added_to_is_told(target):
    """At the first statement that does: a forgotten T.clear gives wrong numbers without a word."""
    if target == "ascend":
        told = [(d.place.line, warning_text(d)) for d in by_ascend(accumulates)[0]]
        told = [(LINES[line - 1].strip(), text) for line, text in told]
    else:
        _, told = warned(tl.compile, accumulates, out_idx=[1, 2], target=target)
    before = "here, but no statement sets it before: its"
    texts = {line: text.partition("; line ")[0] for line, text in told if "updated" in text}
    elements = f"{before} elements hold what was in memory before; call "
    assert texts == {
        "T.gemm(a, a, product)": f"'product' is updated {elements}T.clear(product) first",
        "total[i, j] += product[i, j]": f"'total' is updated {elements}T.clear(total) first",
        "count += 1": f"'count' is updated {before} element holds what was in memory before; "
        "give it a value first",
        "T.reduce_sum(total, rows, dim=1, clear=False)": "'rows' is updated "
        f"{elements}T.clear(rows) first",
    }


def test_what_may_be_set_is_not_told():
    """By a condition, in one iteration of many, through a view, by another element."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            d = T.alloc_fragment((32, 32), "float32")
            e = T.alloc_fragment((32, 32), "float32")
            f = T.alloc_fragment((32,), "float32")
            T.copy(A, a)
            T.fill(T.reshape(e, (1024,)), 0)
            for k in T.serial(4):
                T.gemm(a, a, c, clear_accum=k == 0)
                for i, j in T.Parallel(32, 32):
                    d[i, j] = T.if_then_else(k == 0, 0.0, d[i, j]) + c[i, j]
                    e[i, j] += d[i, j]
            T.reduce_sum(e, f, dim=1)
            for i in T.Parallel(32):
                f[i] += e[i, 0]
            T.copy(e, B)

    assert warned(tl.compile, kernel, out_idx=[1])[1] == []


@pytest.mark.filterwarnings("ignore:.*is updated here")
def test_the_host_tells_what_to_do_in_the_words_of_the_language():
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float16"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((32, 32), "float16")
            product = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.gemm(a, a, product)
            T.copy(product, B)

    @T.prim_func
    def vectors(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_fragment((64,), "float32")
            for i in T.Parallel(64):
                a[i] += 1.0
            T.copy(a, A)

    forms = r"\(T.clear, or init=True of T.gemm_v0 and T.mma\), or read less"
    with pytest.raises(RuntimeError, match=forms):
        tl.compile(kernel, out_idx=[1], target="ascend")(np.ones((32, 32), np.float16))
    with pytest.raises(RuntimeError, match="write them first, by T.copy, T.clear or T.fill, or"):
        tl.compile(vectors, target="ascend")(np.ones(64, np.float32))


def test_temporaries_are_told_as_such():
    @T.prim_func
    def kernel(A: T.Tensor((64, 256), "float32"), B: T.Tensor((64, 256), "float32")):
        with T.Kernel(1):
            a = T.alloc_fragment((64, 256), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(64, 256):
                a[i, j] = (a[i, j] + T.exp(a[i, j])) / (a[i, j] + T.sin(a[i, j]) * T.exp(-a[i, j]))
            T.copy(a, B)

    with pytest.raises(CompileError) as caught:
        tl.compile(kernel, out_idx=[1], target="ascend")
    (error,) = caught.value.errors
    notes = [note.message for note in error.notes]
    assert notes[0] == "a takes 65536 bytes"
    assert {*notes[1:-1]} == {"a temporary of this expression takes 65536 bytes"}
    assert notes[-1] == "they fit with half of the rows or columns in each tile"


def test_a_fill_of_a_tensor_names_it_on_ascend():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            T.clear(A)

    message = (
        "unsupported on ascend: a fill of 'A', a tensor; fill a tile (T.alloc_shared) and copy it "
        "there"
    )
    with pytest.raises(CompileError, match=re.escape(message)):
        tl.compile(kernel, target="ascend")


def shifted(distance, steps, *, guarded=False):
    """Each iteration reads what another one writes, if `distance` is not 0 and below `steps`."""

    @T.prim_func
    def kernel(A: T.Tensor((128, 8), "float32")):
        with T.Kernel(4) as bx:
            t = T.alloc_shared((128, 8), "float32")
            T.copy(A, t)
            for i, j in T.Parallel(steps, 8):
                if guarded:
                    if i % 2 == 0:
                        t[i + distance, j] = t[i, j] + 1
                else:
                    t[i + distance + bx, j] = t[bx + i, j] + 1
            T.copy(t, A)

    return kernel


@pytest.mark.parametrize("target", ["cpu", "ascend"])
def test_iterations_that_depend_on_each_other_are_told(target):
    """Only where they surely do; by the interpreter, too, which runs them."""

    def told(*arguments, **choices):
        kernel = shifted(*arguments, **choices)
        if target == "ascend":
            found = [(d.place.line, warning_text(d)) for d in by_ascend(kernel)[0]]
            told = [(LINES[line - 1].strip(), text) for line, text in found]
        else:
            _, told = warned(tl.compile, kernel, target=target)
        return [(line, text) for line, text in told if "each other" in text]

    written = LINES.index("                    t[i + distance + bx, j] = t[bx + i, j] + 1") + 1
    assert told(3, 32) == [
        (
            "for i, j in T.Parallel(steps, 8):",
            "the iterations of this T.Parallel loop depend on each other, but may run in any "
            "order, or at once: what one writes of 't' another one reads; make it a T.serial loop, "
            f"or write to another buffer; line {written}: it is written here",
        )
    ]
    for apart in (told(0, 32), told(32, 32), told(1, 1), told(1, 32, guarded=True)):
        assert apart == []
    with pytest.raises(KernelError, match="iteration"):
        tl.compile(shifted(3, 32), target="reference")(np.zeros((128, 8), np.float32))
