# SPDX-License-Identifier: Apache-2.0
"""Forms that public kernels and TileLang's newest examples write, run on the CPU and the
reference."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

TARGETS = pytest.mark.parametrize("target", ["cpu", "reference"])


@TARGETS
def test_clamp_takes_its_bounds_by_name(target):
    @T.prim_func
    def clamped(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=4):
            for i in T.Parallel(4):
                A[i] = T.clamp(A[i], min_val=0.25, max_val=0.75)

    a = np.array([0, 0.5, 1, 0.25], np.float32)
    tilewright.compile(clamped, target=target)(a)
    assert a.tolist() == [0.25, 0.5, 0.75, 0.25]


@TARGETS
def test_a_kernel_without_extents_is_one_block(target):
    @T.prim_func
    def numbered(A: T.Tensor((8,), "int32")):
        with T.Kernel(threads=8):
            t = T.get_thread_binding()
            A[t] = t

    a = np.zeros(8, np.int32)
    tilewright.compile(numbered, target=target)(a)
    assert a.tolist() == list(range(8))


@TARGETS
def test_a_thread_binding_is_a_value(target):
    @T.prim_func
    def numbered(A: T.Tensor((2, 4), "int32")):
        with T.Kernel(1, threads=(4, 2)):
            x = T.thread_binding(0, 4, thread="threadIdx.x")
            y = T.thread_binding(2, thread="threadIdx.y")
            A[y, x] = 10 * y + x

    a = np.zeros((2, 4), np.int32)
    tilewright.compile(numbered, target=target)(a)
    assert a.tolist() == [[0, 1, 2, 3], [10, 11, 12, 13]]


def test_a_thread_binding_of_more_threads_than_the_launch_has():
    @T.prim_func
    def numbered(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=4):
            x = T.thread_binding(0, 8, thread="threadIdx.x")
            A[x] = x

    with pytest.raises(CompileError, match="over 8 needs as many of threadIdx.x, but the launch"):
        tilewright.compile(numbered, target="cpu")


@TARGETS
def test_a_function_in_c_is_called_in_either_order(target):
    def only(order):
        @T.prim_func
        def root(A: T.Tensor((1,), "float32")):
            with T.Kernel(1, threads=1):
                if order == 0:
                    A[0] = T.call_extern("float32", "sqrtf", A[0])
                else:
                    A[0] = T.call_extern("sqrtf", A[0], dtype="float32")

        return root

    for order in (0, 1):
        a = np.array([9], np.float32)
        tilewright.compile(only(order), target=target)(a)
        assert a[0] == 3


WITHOUT_A_NAME = (
    "T.call_extern needs a dtype and the name of a function: "
    'T.call_extern("float32", "sqrtf", x), or T.call_extern("sqrtf", x, dtype="float32")'
)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        (("float32",), {}, WITHOUT_A_NAME),
        ((), {}, WITHOUT_A_NAME),
        (("float32", 5), {}, WITHOUT_A_NAME),
        (
            ("float32", "sqrtf"),
            {"type": 1},
            "T.call_extern has no argument 'type'; it has dtype, func_name, the function's "
            "arguments by place, and reference",
        ),
    ],
)
def test_a_call_without_a_name_or_with_a_wrong_one(arguments, named, message):
    @T.prim_func
    def calls(A: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=1):
            A[0] = T.call_extern(*arguments, **named)

    with pytest.raises(CompileError, match=re.escape(message)):
        tilewright.compile(calls, target="cpu")


@TARGETS
def test_scans_take_annotations_and_votes_take_numbers(target):
    @T.prim_func
    def scanned(A: T.Tensor((8,), "float32"), masks: T.Tensor((2,), "uint32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8,), "float32")
            T.copy(A, tile)
            T.cumsum(tile, annotations={"hint": 1})
            T.copy(tile, A)
            if T.get_thread_binding() == 0:
                masks[0] = T.match_all_sync(7)
                masks[1] = T.match_any_sync(7)

    a, masks = np.ones(8, np.float32), np.zeros(2, np.uint32)
    tilewright.compile(scanned, target=target)(a, masks)
    assert a.tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and masks.tolist() == [2**32 - 1] * 2


@TARGETS
def test_a_tile_scheduler_counts_its_tiles(target):
    @T.prim_func
    def scheduled(turns: T.Tensor((4, 3), "int32"), order: T.Tensor((12, 2), "int32")):
        with T.Kernel(2, threads=1) as block:
            tiles = T.PersistentTileScheduler(4, 3, num_workers=2, name="tiles")
            tiles.init(block)
            while tiles.valid():
                turns[tiles.m_idx, tiles.n_idx] = tiles.current_iter
                tiles.next_tile()
            free = T.PersistentTileScheduler(4, 3, num_workers=2, stateful=False)
            for k in T.serial(6):
                m, n = free.coord(block * 6 + k)
                order[block * 6 + k, 0] = m
                order[block * 6 + k, 1] = n

    turns, order = np.zeros((4, 3), np.int32), np.zeros((12, 2), np.int32)
    tilewright.compile(scheduled, target=target)(turns, order)
    assert sorted(turns.flatten().tolist()) == sorted([*range(6), *range(6)])
    assert sorted(map(tuple, order.tolist())) == [(m, n) for m in range(4) for n in range(3)]


def test_a_tuned_kernel_is_compiled_without_a_call():
    @tilewright.autotune(configs=[{"block": 4}, {"block": 8}], warmup=1, rep=1)
    @tilewright.jit(out_idx=[1])
    def doubled(n, block=None):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(n // block, threads=block) as b:
                for i in T.Parallel(block):
                    B[b * block + i] = A[b * block + i] * 2

        return main

    ones = np.ones(16, np.float32)
    chosen = doubled.compile(n=16, block=8)
    assert np.array_equal(chosen(ones), 2 * ones)
    tuned = doubled.compile(n=16)
    assert tuned.config in ({"block": 4}, {"block": 8})
    assert np.array_equal(tuned(ones), 2 * ones)
    assert tuned.get_profiler().func is tuned


def test_a_tuned_eager_kernel_is_tuned_for_constants():
    @tilewright.autotune(configs=[{"block": 3}, {"block": 8}, {"block": 1 << 40}], warmup=1, rep=1)
    @tilewright.jit
    def doubled(A, block, dtype="float32"):
        N = T.const("N")
        A: T.Tensor((N,), dtype)
        B = T.empty((N,), dtype)
        with T.Kernel(T.ceildiv(N, block), threads=block) as b:
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] * 2
        return B

    ones = np.ones(16, np.float32)
    for arguments, named in [((), {"N": 16}), ((T.Tensor((16,), "float32"),), {}), ((ones,), {})]:
        kernel = doubled.compile(*arguments, **named)
        assert kernel.config in ({"block": 3}, {"block": 8}) and kernel.latency > 0
        assert np.array_equal(kernel(ones), 2 * ones)
    kernel = doubled.compile(N=16, block=4)  # all names of the configurations: as it is
    assert kernel.config is None and np.array_equal(kernel(ones), 2 * ones)
    states = [c.state for c in doubled.tune(N=16).candidates]
    assert states[2] == "failed" and states.count("best") == 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'M'"):
        doubled.compile(N=16, M=3)


def optional(use):
    n, stride = T.dynamic("n"), T.dynamic("stride")

    @T.prim_func
    def main(
        A: T.Tensor((n,), "float32"),
        scales: T.StridedTensor((n, 2), (stride, 1), "float32"),
        B: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 8), threads=8) as b:
            flat = T.reshape(A, (n,))
            for i in T.Parallel(8):
                if use == "tensor":
                    B[b * 8 + i] = flat[b * 8 + i] + scales[b * 8 + i, 0]
                elif use == "symbol":
                    B[b * 8 + i] = flat[b * 8 + i] + T.cast(stride, "float32")
                else:
                    B[b * 8 + i] = flat[b * 8 + i] + 1

    return main


@TARGETS
def test_a_symbol_of_a_tensor_that_is_not_there(target):
    b = np.zeros(16, np.float32)
    tilewright.compile(optional("nothing"), target=target)(np.ones(16, np.float32), None, b)
    assert b.tolist() == [2] * 16
    message = "main: symbol 'stride' can't be found from the shapes and strides of the arguments"
    with pytest.raises(ValueError, match=message):
        tilewright.compile(optional("symbol"), target=target)(np.ones(16, np.float32), None, b)
    with pytest.raises(ValueError, match="'scales' is None but the kernel uses it"):
        tilewright.compile(optional("tensor"), target=target)(np.ones(16, np.float32), None, b)


@TARGETS
def test_a_view_that_nobody_reads_is_no_use(target):
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 2), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            flat = T.reshape(A, (m * 2,))
            T.view(flat, (2, m))
            for i in T.Parallel(8):
                B[i] = 3.0

    b = np.zeros(8, np.float32)
    tilewright.compile(main, target=target)(None, b)
    assert b.tolist() == [3] * 8


@TARGETS
def test_a_kernel_that_returns_what_it_makes(target):
    """A `T.prim_func` with `T.empty` and annotations in its body, as eager kernels have them."""

    @T.prim_func
    def rows(A, count: T.int32):
        n = T.dynamic("n")
        A: T.Tensor[[n, 4], T.float32]
        sums = T.empty([n], T.float32)
        doubled = T.empty([n, 4], "float16")
        with T.Kernel(n, threads=4) as row:
            sums[row] = 0.0
            for k in T.serial(count):
                sums[row] += A[row, k]
            for k in T.Parallel(4):
                doubled[row, k] = A[row, k] * 2
        return doubled, sums

    kernel = tilewright.compile(rows, target=target)
    for n in (1, 3):
        a = np.arange(n * 4, dtype=np.float32).reshape(n, 4)
        doubled, sums = kernel(a, 3)
        assert doubled.dtype == np.float16
        np.testing.assert_array_equal(doubled, 2 * a)
        np.testing.assert_array_equal(sums, a[:, :3].sum(1))


def test_what_a_kernel_that_returns_is_refused_for():
    @T.prim_func
    def dropped(A: T.Tensor((4,), "float32")):
        B = T.empty((4,), "float32")
        C = T.empty((4,), "float32")
        with T.Kernel(1):
            T.copy(A, B)
            T.copy(A, C)
        return B

    @T.prim_func
    def given(A: T.Tensor((4,), "float32")):
        B = T.empty((4,), "float32")
        with T.Kernel(1):
            T.copy(A, B)
        return A, B

    @T.prim_func
    def unknown(A):
        A: T.Tensor[[size], "float32"]  # noqa: F821
        with T.Kernel(1):
            A[0] = 1.0

    for kernel, message in [
        (dropped, "T.empty makes 2 tensors but the kernel returns 1"),
        (given, "a kernel can only return tensors made by T.empty"),
        (unknown, "name 'size' is not defined"),
    ]:
        with pytest.raises(CompileError) as caught:
            tilewright.compile(kernel)
        assert [e.message for e in caught.value.errors] == [message]
