# SPDX-License-Identifier: Apache-2.0
"""Warnings of what a kernel reads or updates before any statement sets it; one does later."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import tilewright as tl
import tilewright.language as T
from tilewright.errors import Diagnostic, KernelError, load_compiler, warning_text

LINES = Path(__file__).read_text().splitlines()


def told(kernel, target="cpu"):
    """The lines here that compiling warns of, and the texts; nothing is built for Ascend."""
    if target == "ascend":
        compiler = load_compiler()
        options = compiler.CompileOptions("ascend", "native", {}, build_library=False)
        found = compiler.compile(kernel.capture().module, options)[1]
        found = [Diagnostic.from_native(each) for each in found]
        return [(LINES[d.place.line - 1].strip(), warning_text(d)) for d in found]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tl.compile(kernel, target=target)
    return [(LINES[w.lineno - 1].strip(), str(w.message)) for w in caught]


@T.prim_func
def read_first(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
    with T.Kernel(1):
        tile = T.alloc_fragment((16,), "float32")
        T.copy(tile, B)
        T.copy(A, tile)


@T.prim_func
def read_in_the_first_turn(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
    with T.Kernel(1, threads=1):
        last = T.alloc_var("float32")
        for i in T.serial(16):
            if A[i] > 0:
                B[i] = 1
            B[i] = last
            last = A[i]


@T.prim_func
def cleared_after_use(A: T.Tensor((64, 16), "float32"), B: T.Tensor((64, 16), "float32")):
    with T.Kernel(1):
        a = T.alloc_shared((16, 16), "float32")
        total = T.alloc_fragment((16, 16), "float32")
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k * 16, 0], a)
            T.gemm(a, a, total)
            T.copy(total, B[k * 16, 0])
            T.clear(total)


@T.prim_func
def read_in_some_case(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"), n: T.int32):
    with T.Kernel(1):
        tile = T.alloc_local((16,), "float32")
        if n > 3:
            T.copy(tile, B)
        else:
            T.copy(A, tile)
            T.copy(tile, B)


@pytest.mark.parametrize("target", ["cpu", "ascend"])
def test_what_is_set_later_only_is_told(target):
    """At the first that takes it, with the place that sets it; by the interpreter when it runs."""
    memory = "but no statement sets it before: its"
    for kernel, name, line, later, what in (
        (read_first, "tile", "T.copy(tile, B)", "T.copy(A, tile)", "read"),
        (read_in_the_first_turn, "last", "B[i] = last", "last = A[i]", "read"),
        (cleared_after_use, "total", "T.gemm(a, a, total)", "T.clear(total)", "updated"),
        (read_in_some_case, "tile", "T.copy(tile, B)", "T.copy(A, tile)", "read"),
    ):
        if target == "ascend" and kernel is read_in_some_case:  # it has no memory per thread
            continue
        start = next(n for n, text in enumerate(LINES) if f"def {kernel.__name__}(" in text)
        at = next(n for n, text in enumerate(LINES[start:], start) if f"{name} = T.all" in text)
        then = [n for n, text in enumerate(LINES[start:], start) if text.strip() == later][0]
        element = "element holds" if name == "last" else "elements hold"
        hint = "; call T.clear(total) first" if what == "updated" else ""
        text = f"'{name}' is {what} here, {memory} {element} what was in memory before{hint}"
        text += f"; line {at + 1}: '{name}' was allocated here"
        text += f"; line {then + 1}: it is set here, later"
        assert told(kernel, target) == [(line, text)], kernel.__name__
    unchecked = {tl.PassConfigKey.TL_DISABLE_BUFFER_INIT_CHECK: True}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.compile(read_first, target="cpu", pass_configs=unchecked)
    with pytest.raises(KernelError, match=r"reads element \[0\] of 'tile', which was never"):
        tl.compile(read_first, target="reference")(np.ones(16, "f4"), np.ones(16, "f4"))


@T.prim_func
def guarded(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"), n: T.int32):
    """What the first turns don't read, keep or choose; what others of a block may have set."""
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        last = T.alloc_var("float32")
        before = T.alloc_var("float32")
        chosen = T.alloc_var("float32")
        kept = T.alloc_var("int32")
        greatest = T.alloc_var("float32")
        counted = T.alloc_var("int32")
        shared = T.alloc_shared((16,), "float32")
        for i in T.serial(16):
            if i > 0:
                B[i] = last + A[i]
            last = A[i]
        for i in T.serial(16):
            chosen = T.if_then_else(i > 0, before, A[i])
            before = chosen * 2
        for i in T.serial(16):
            kept = T.if_then_else(A[i] > 0, i, kept)
        for i in T.serial(16):
            if i == 0:
                greatest = A[i]
                continue
            greatest = T.max(greatest, A[i])
        for i in T.serial(16):
            if i != 3:
                continue
            B[i] = T.cast(counted + kept, "float32") + greatest
            break
        counted = 1
        if tx < 32:
            if tx < 16:
                B[tx] = shared[tx]
        else:
            T.copy(A, shared)


@T.prim_func
def skips(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"), n: T.int32):
    """Read behind a `continue`, in a `while`, by turns of a loop around; set through an address."""
    with T.Kernel(1, threads=1):
        last = T.alloc_var("float32")
        ended = T.alloc_var("float32")
        seen = T.alloc_fragment((16,), "float32")
        count = T.alloc_var("int32", init=0)
        for i in T.serial(16):
            if i == 0:
                last = A[i]
                continue
            B[i] = last
            last = A[i]
        while count < n:
            if count > 1:
                B[count] = ended
            ended = A[count]
            count += 1
        for k in T.serial(4):
            for i in T.Parallel(16):
                if k > 0:
                    B[i] += seen[i]
            T.copy(A, seen)


def test_what_the_first_turns_skip_is_not_told():
    warning = "'counted' is read here, but no statement sets it before"
    assert [text.partition(":")[0] for _, text in told(guarded)] == [warning]
    assert told(skips) == []


@T.prim_func
def triangular(L: T.Tensor((16, 16), "float32"), B: T.Tensor((16,), "float32")):
    """Inner loops that have no turn at first, or never; what a branch or an `and` alone uses."""
    with T.Kernel(1, threads=1):
        x = T.alloc_local((16,), "float32")
        never = T.alloc_local((16,), "float32")
        last = T.alloc_var("float32")
        taken = T.alloc_var("float32")
        for i in T.serial(16):
            total = T.alloc_var("float32", init=0)
            for j in T.serial(i):
                total += L[i, j] * x[j]
            x[i] = B[i] - total
        for i in T.serial(16):
            for j in T.serial(0):
                B[i] += never[j]
            never[i] = B[i]
        for i in T.serial(16):
            if i > 0 and last > 3:
                B[i] = 3
            last = B[i]
        for i in T.serial(16):
            before = taken
            if i > 0:
                B[i] = before
            taken = B[i]


def test_what_has_no_turn_or_no_use_at_first_is_not_told():
    assert told(triangular) == []


@T.macro
def halves(n: int, first: T.Ref, last: T.Ref):
    first = n // 2
    last = n - first  # noqa: F841 - what was given


@T.prim_func
def unused(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"), n: T.int32):
    """What is read and then not used: for T.Ref, which gives the variable itself, or in a choice
    that is known."""
    with T.Kernel(1, threads=1):
        first = T.alloc_var("int32")
        last = T.alloc_var("int32")
        halves(n, first, last)
        B[first] = A[last]
        scale = T.alloc_var("float32")
        for i in T.serial(16):
            B[i] = T.Select(False, B[i] * scale, B[i])


def test_what_is_read_but_not_used_is_not_told():
    assert told(unused) == []
