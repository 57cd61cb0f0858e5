# SPDX-License-Identifier: Apache-2.0
"""T.thread_binding where it isn't what TVM's is, and numbers of threads in loops over elements."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

TARGETS = ["cpu", "reference"]


def messages(kernel):
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel)
    return [(each.message, each.place.line) for each in caught.value.errors]


def test_outside_of_a_launch():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        for bx in T.thread_binding(2, "blockIdx.x"):
            for tx in T.thread_binding(32, "threadIdx.x"):
                A[bx * 32 + tx] = 1

    ((text, line),) = messages(kernel)
    assert line == kernel.function.__code__.co_firstlineno + 2
    assert text == (
        "T.thread_binding stands outside of T.Kernel, which says how many blocks and threads "
        "there are: put `with T.Kernel(blocks, threads=n) as bx:` around it, or make a loop of "
        "launches a T.serial"
    )


@pytest.mark.parametrize("thread", ["vthread", "vthread.x", "cthread"])
def test_virtual_threads(thread):
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            for v in T.thread_binding(2, thread):
                A[v] = 1

    ((text, _),) = messages(kernel)
    assert text == (
        f"T.thread_binding: there is no thread {thread!r}; it is threadIdx or blockIdx, and .x, .y "
        "or .z; a loop that each thread goes through itself is T.unroll or T.serial"
    )


@pytest.mark.parametrize("target", TARGETS)
def test_an_extent_of_the_run(target):
    """More than the launch has would be left out in silence."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), n: T.int32):
        with T.Kernel(1, threads=32):
            for v in T.thread_binding(n, "threadIdx.x"):
                A[v] = v + 1

    compiled = tilewright.compile(kernel, target=target)
    for n in (0, 5, 32):
        result = np.zeros(64, np.int32)
        compiled(result, n)
        np.testing.assert_array_equal(result, np.where(np.arange(64) < n, np.arange(64) + 1, 0))
    message = "T.thread_binding over more than the launch has of threadIdx.x"
    with pytest.raises((RuntimeError, tilewright.KernelError), match=message):
        compiled(np.zeros(64, np.int32), 33)


@T.macro
def in_a_nest(A, n):
    for i in T.Parallel(32):
        A[i] = T.get_thread_binding() + n


@T.macro
def before_a_nest(A, n):
    tx = T.get_thread_binding()
    for i, j in T.Parallel(4, 8):
        A[i * 8 + j] = (tx // 2) * 2.0 + n


@T.macro
def by_a_binding(A, n):
    for i in T.Parallel(2):
        for v in T.thread_binding(16, "threadIdx.x"):
            A[i * 16 + v] = n


@T.macro
def as_a_condition(A, n):
    tx = T.get_thread_binding()
    for i in T.Parallel(32):
        if tx == i:
            A[i] = n


@T.macro
def of_a_variable(A, n):
    x = T.alloc_var("float32", init=n)
    if T.get_thread_binding() == 3:
        x = 7
    for i in T.Parallel(32):
        A[i] = x * i


@T.macro
def of_an_array(A, n):
    own = T.alloc_local((2,), "float32")
    own[1] = T.get_thread_binding() * n
    for i, j in T.Parallel(4, 8):
        A[i * 8 + j] = own[1]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "work",
    [in_a_nest, before_a_nest, by_a_binding, as_a_condition, of_a_variable, of_an_array],
)
def test_numbers_of_threads_in_loops_over_elements(work, target):
    """Which thread runs an iteration isn't known: a number that differs is an error."""

    def kernel(threads):
        @T.prim_func
        def main(A: T.Tensor((32,), "float32"), n: T.int32):
            with T.Kernel(1, threads=threads):
                work(A, n)

        return main

    message = {
        "cpu": "the threads of a block must agree here",
        "reference": "threads of a block take part in this operation with different values: ",
    }[target]
    with pytest.raises((RuntimeError, tilewright.KernelError), match=message):
        tilewright.compile(kernel(32), target=target)(np.zeros(32, np.float32), 3)


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_that_all_threads_share(target):
    """Of their warp, where one warp comes, or of one thread."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            scale = T.cast(tx // 32, "float32") + 1
            if tx < 32:
                for i in T.Parallel(32):
                    A[i] = scale * i
            else:
                for i in T.Parallel(32):
                    A[(tx // 32) * 32 + i] = scale * i

    result = np.zeros(64, np.float32)
    tilewright.compile(kernel, target=target)(result)
    np.testing.assert_array_equal(result, np.concatenate([np.arange(32), 2 * np.arange(32)]))


@pytest.mark.parametrize("target", TARGETS)
def test_variables_that_all_threads_share(target):
    """What a thread had before counts no more; what only some have written isn't read."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            x = T.alloc_var("int32", init=tx)
            own = T.alloc_local((2,), "float32")
            own[0] = n
            if tx > 5:
                own[1] = tx
            x = n * 2
            for i in T.Parallel(64):
                A[i] = own[0] * i + x
                if n < 0:
                    A[i] = own[1]

    result = np.zeros(64, np.float32)
    tilewright.compile(kernel, target=target)(result, 3)
    np.testing.assert_array_equal(result, 3 * np.arange(64) + 6)
