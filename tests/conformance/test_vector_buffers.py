# SPDX-License-Identifier: Apache-2.0
"""Buffers whose elements are vectors: float32x4, int8x4."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


def test_loads_stores_arithmetic_and_casts(agree, random):
    @T.prim_func
    def vectors(
        A: T.Tensor((8, 4), "float32"), B: T.Tensor((8, 4), "float32"), C: T.Tensor((8, 4), "int8")
    ):
        with T.Kernel(1, threads=8):
            t = T.get_thread_binding()
            s = T.alloc_shared((8,), "float32x4")
            own = T.alloc_local((2,), T.float32x4)
            narrow = T.alloc_local((1,), "int8x4")
            s[t] = A[t, 0:4]
            own[0] = s[7 - t] * 2.0 + 1.0
            loaded = own[0]
            own[0] = 0.5
            own[1] = loaded - own[0]
            own[1] += s[t]
            B[t, 0:4] = own[1]
            narrow[0] = T.cast(own[1], "int8x4")
            C[t, 0:4] = narrow[0]

    a = random.integers(-8, 9, (8, 4)).astype(np.float32)
    expected = a[::-1] * 2 + 0.5 + a
    zeros = np.zeros((8, 4), np.float32)
    agree(vectors, [a, zeros, zeros.astype(np.int8)], {1: expected, 2: expected.astype(np.int8)})


def test_copies_fills_and_atomics(agree, random):
    @T.prim_func
    def moved(A: T.Tensor((4, 4), "float32"), B: T.Tensor((4, 4), "float32")):
        with T.Kernel(1, threads=4):
            t = T.get_thread_binding()
            s = T.alloc_shared((4,), "float32x4")
            other = T.alloc_shared((4,), "float32x4")
            T.fill(s, 3.0)
            T.copy(s, other)
            T.atomic_addx4(other[t], A[t, 0:4])
            T.atomic_addx4(B[t, 0], other[t])
            T.atomic_addx4(B[0, 0], T.float32x4(1.0))

    a, b = random.standard_normal((2, 4, 4)).astype(np.float32)
    expected = b + a + 3
    expected[0] += 4
    agree(moved, [a, b], {1: expected})


def test_what_takes_no_vectors():
    @T.prim_func
    def wrong(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=4):
            s = T.alloc_shared((4,), "float32x4")
            T.alloc_var("float32x4")
            T.reduce_sum(s, s)
            T.view(s, (2,))
            T.atomic_addx4(A[0], s[0] if False else T.cast(A[0:2], "float32x2"))

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(wrong)
    assert [d.message for d in caught.value.errors] == [
        "a variable of dtype float32x4 is not supported; use a buffer of one element, "
        "T.alloc_local((1,), 'float32x4')",
        "the source of T.reduce_sum can't be 's', a buffer of float32x4; only T.copy, T.fill and "
        "T.clear take whole buffers of vectors",
        "T.view of a buffer of vectors needs a dtype that is no vector",
        "T.atomic_addx4 adds 4 elements, but the vector has 2",
    ]
