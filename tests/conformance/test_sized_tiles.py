# SPDX-License-Identifier: Apache-2.0
"""Tiles whose extents a call gives: symbols, scalar arguments, and what is made of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright import CompileError

TARGETS = ["cpu", "reference"]


@pytest.mark.parametrize("scope", ["shared", "fragment"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_scan_of_rows_of_any_length(target, scope):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((5, n), "int32"), B: T.Tensor((5, n), "int32")):
        with T.Kernel(5, threads=64) as bx:
            row = getattr(T, f"alloc_{scope}")((n,), "int32")
            T.copy(A[bx, :], row)
            T.cumsum(row)
            T.copy(row, B[bx, :])

    compiled = tilewright.compile(kernel, out_idx=[1], target=target)
    random = np.random.default_rng(0)
    for length in (0, 1, 7, 129, 1000):
        a = random.integers(-9, 10, (5, length)).astype(np.int32)
        np.testing.assert_array_equal(compiled(a), a.astype(np.int64).cumsum(1))


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
@pytest.mark.parametrize("target", TARGETS)
def test_nests_reductions_and_single_elements(target, dtype):
    """Two tiles, each with its own bytes, in a loop; threads hand elements over to each other."""
    m, n = T.dynamic("m"), T.dynamic("n")

    @T.prim_func
    def kernel(
        A: T.Tensor((m, n), dtype), B: T.Tensor((m + 1, n), dtype), R: T.Tensor((2, m), "float32")
    ):
        with T.Kernel(2, threads=32) as bx:
            tx = T.get_thread_binding()
            tile = T.alloc_shared((m, n), dtype)
            wide = T.alloc_fragment((m + 1, n), "float32")
            sums = T.alloc_fragment((m,), "float32")
            turned = T.alloc_shared((32, m), "float32")
            for turn in T.serial(2):
                T.copy(A, tile)
                T.fill(wide, turn)
                for i, j in T.Parallel(m, n):
                    wide[i + 1, j] = wide[i + 1, j] + tile[i, n - 1 - j]
                T.reduce_sum(wide[1:, :], sums, dim=1)
                for i in T.serial(m):
                    turned[31 - tx, i] = sums[i] + tx
                for i in T.serial(m):
                    if tx == 0:
                        R[bx, i] = turned[tx, i]
            if bx == 0:
                T.copy(wide, B)

    compiled = tilewright.compile(kernel, out_idx=[1, 2], target=target)
    random = np.random.default_rng(1)
    for shape in ((1, 1), (3, 40), (17, 5)):
        a = random.integers(0, 5, shape).astype(dtype)
        b, r = compiled(a)
        wide = np.append(np.ones((1, shape[1])), a[:, ::-1].astype(np.float64) + 1, axis=0)
        np.testing.assert_array_equal(b, wide)
        np.testing.assert_array_equal(r, np.tile(wide[1:].sum(1) + 31, (2, 1)))


@pytest.mark.parametrize("target", TARGETS)
def test_extents_that_are_scalar_arguments(target):
    """And numbers made of them, in the launch too; blocks have their own."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32"), k: T.int32):
        with T.Kernel(8, threads=64) as bx:
            half = k // 2 + 1
            tile = T.alloc_shared((2, half), "float32")
            T.copy(A[bx, 0:half], tile[0, :])
            T.copy(A[bx, half : 2 * half], tile[1, :])
            for i, j in T.Parallel(2, half):
                B[bx, j * 2 + i] = tile[i, j] * 2

    compiled = tilewright.compile(kernel, target=target)
    a = np.random.default_rng(2).standard_normal((8, 64)).astype(np.float32)
    for k in (0, 5, 62):
        half = k // 2 + 1
        b = np.full_like(a, -1)
        compiled(a, b, k)
        expected = np.full_like(a, -1)
        expected[:, 0 : 2 * half : 2] = 2 * a[:, :half]
        expected[:, 1 : 2 * half : 2] = 2 * a[:, half : 2 * half]
        np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_reducers_and_atomics(target):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(
        A: T.Tensor((16, n), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "int32")
    ):
        with T.Kernel(1, threads=64):
            sums = T.alloc_reducer((n,), "float32", op="max", replication="all")
            counts = T.alloc_shared((n,), "int32")
            T.clear(counts)
            for i, j in T.Parallel(16, n):
                sums[j] = T.max(sums[j], A[i, j])
            for i, j in T.Parallel(16, n):
                T.atomic_add(counts[j], T.if_then_else(A[i, j] > 0, 1, 0))
            T.finalize_reducer(sums)
            T.copy(sums, B)
            T.copy(counts, C)

    compiled = tilewright.compile(kernel, out_idx=[1, 2], target=target)
    a = np.random.default_rng(3).standard_normal((16, 37)).astype(np.float32)
    b, c = compiled(a)
    np.testing.assert_array_equal(b, a.max(0))
    np.testing.assert_array_equal(c, (a > 0).sum(0))


def test_memory_is_given_back():
    """Also where a block stops the kernel."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((1,), "float32"), ok: T.int32):
        with T.Kernel(1):
            tile = T.alloc_shared((n,), "float32")
            T.copy(A, tile)
            T.device_assert(ok == 1, "stopped")
            B[0] = tile[n - 1]

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1])

    compiled = tilewright.compile(kernel)
    a, b = np.ones(1 << 22, np.float32), np.zeros(1, np.float32)  # 16 MiB
    for ok in (1, 0):
        before = 0
        for turn in range(40):
            if ok:
                compiled(a, b, ok)
                assert b[0] == 1
            else:
                with pytest.raises(RuntimeError, match="stopped"):
                    compiled(a, b, ok)
            before = resident() if turn == 4 else before
        assert resident() - before < (64 << 20) // 4096


@pytest.mark.parametrize("target", TARGETS)
def test_calls_that_are_too_large_or_negative(target):
    @T.prim_func
    def kernel(B: T.Tensor((1,), "float32"), m: T.int32, n: T.int32):
        with T.Kernel(1):
            tile = T.alloc_shared((m, n), "float32")
            T.fill(tile, 3)
            B[0] = tile[m - 1, n - 1]

    compiled = tilewright.compile(kernel, target=target)
    b = np.zeros(1, np.float32)
    compiled(b, 2, 2)
    assert b[0] == 3
    large = {
        "reference": "this tile takes 2305843009213693951 bytes, but the reference interpreter has",
        "cpu": "'tile' takes more than the 268435456 bytes that the cpu target has for a tile, or "
        "there is no memory for it",
    }[target]
    with pytest.raises(RuntimeError, match=re.escape(large)):
        compiled(b, 2**30 - 1, 2**30 - 1)
    for sizes, dim, size in (((2, -1), 1, -1), ((-(2**31), 3), 0, -(2**31)), ((-7, -5), 0, -7)):
        negative = f"dim {dim} of 'tile' is {size}, but it cannot be negative"
        with pytest.raises(RuntimeError, match=negative) as caught:
            compiled(b, *sizes)
        assert f"{__file__}:{kernel.function.__code__.co_firstlineno + 3}:" in str(caught.value)


def refusals(body):
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), n: T.int32):
        with T.Kernel(2, threads=32) as bx:
            body(A, n, bx)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    line = body.function.__code__.co_firstlineno
    return [(d.place.line - line, d.message) for d in caught.value.errors]


def test_what_has_no_such_extents():
    @T.macro
    def of_a_block(A, n, bx):
        T.alloc_shared((bx + 1, n), "float32")
        T.alloc_fragment((n, T.Cast("int32", A[0, 0])), "float32")
        T.alloc_fragment((T.get_thread_binding() + 1,), "float32")

    @T.macro
    def of_a_thread(A, n, bx):
        T.alloc_local((n,), "float32")

    @T.macro
    def multiplied(A, n, bx):
        a = T.alloc_shared((n, 32), "float32")
        c = T.alloc_fragment((32, 32), "float32")
        T.gemm(a[0:32, :], A_tile(A), c)

    @T.macro
    def A_tile(A):
        b = T.alloc_shared((32, 32), "float32")
        T.copy(A[0:32, 0:32], b)
        return b

    text = (
        "must be known while compiling, or made of symbols and scalar arguments: the memory is set "
        "aside before the blocks run"
    )
    assert refusals(of_a_block) == [
        (2, f"dim 0 of 'shared' {text}"),
        (3, f"dim 1 of 'fragment' {text}"),
        (4, f"dim 0 of 'fragment' {text}"),
    ]
    assert refusals(of_a_thread) == [
        (
            2,
            "the shape of an allocation must be known while compiling, not a value of the running "
            "kernel",
        )
    ]
    assert refusals(multiplied) == [
        (4, "gemm on the cpu target needs tiles whose shapes are known when compiling")
    ]


def test_ascend_refuses_them():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            tile = T.alloc_shared((n,), "float32")
            T.copy(A, tile)
            T.copy(tile, B)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel, target="ascend")
    (error,) = caught.value.errors
    assert error.message == (
        "unsupported on ascend: tiles whose shape is known only when the kernel is called; give a "
        "T.alloc_shared or T.alloc_fragment constant extents, and copy a part of the tensor"
    )
    assert error.place.line == kernel.function.__code__.co_firstlineno + 3
