# SPDX-License-Identifier: Apache-2.0
"""`A[e : e + n]` has the extent n, whatever expression e is: known when compiling."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.language as T

STARTS = {
    "remainder": lambda bx, n, p, q: (bx + 1) % 3,
    "quotient": lambda bx, n, p, q: (bx + 4) // 3,
    "loaded": lambda bx, n, p, q: p,
    "product": lambda bx, n, p, q: bx * n,
    "least": lambda bx, n, p, q: T.min(bx, 1),
    "shifted": lambda bx, n, p, q: (bx << 1) >> 1,
    "variable": lambda bx, n, p, q: q,
    "chosen": lambda bx, n, p, q: T.if_then_else(bx > 0, 1, 0),
    "halved": lambda bx, n, p, q: bx * 8 // 8,
    "wide": lambda bx, n, p, q: T.cast(p, "int64") * 1,
}


@pytest.mark.parametrize("form", STARTS)
def test_a_start_of_any_form(agree, form):
    start = STARTS[form]

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 4, 8), "float32"),
        At: T.Tensor((2,), "int32"),
        n: T.int32,
        B: T.Tensor((2, 4, 8), "float32"),
        C: T.Tensor((2, 2, 8), "float32"),
    ):
        with T.Kernel(2, threads=32) as bx:
            plane = T.alloc_fragment((4, 8), "float32")
            rows = T.alloc_fragment((2, 8), "float32")
            p = At[bx]
            q = T.alloc_var("int32", init=At[bx])
            e = start(bx, n, p, q)
            T.copy(A[e : e + 1, 0:4, 0:8], plane)
            T.copy(plane, B[bx : bx + 1, 0:4, 0:8])
            T.copy(A[0, e : e + 2, 0:8], rows)
            T.copy(rows, C[bx, 0:2, 0:8])

    at = {"remainder": [1, 2], "quotient": [1, 1]}.get(form, [0, 1])
    a = np.arange(4 * 4 * 8, dtype=np.float32).reshape(4, 4, 8)
    agree(
        kernel,
        [a, np.array([0, 1], np.int32), 1, np.zeros((2, 4, 8), np.float32),
         np.zeros((2, 2, 8), np.float32)],
        {3: a[at], 4: np.stack([a[0, i : i + 2] for i in at])},
    )  # fmt: skip


def test_dims_pair_up_by_known_extents(agree):
    """A dim of `x % 3 : x % 3 + 1` is a unit dim, which pairs with nothing: with an extent that
    isn't known, a copy of three elements took one."""

    @T.prim_func
    def kernel(B: T.Tensor((3, 4, 8), "int32")):
        with T.Kernel(1, threads=32) as bx:
            a = T.alloc_fragment((3, 4, 8), "int32")
            b = T.alloc_fragment((3, 4, 8), "int32")
            T.fill(a, 7)
            T.clear(b)
            T.copy(
                a[(bx * 3 + 6) % 3 : (bx * 3 + 6) % 3 + 1, bx : bx + 3, 0:1],
                b[0:1, 0:3, (bx + 9) % 8 : (bx + 9) % 8 + 1],
            )
            T.copy(b, B)

    expected = np.zeros((3, 4, 8), np.int32)
    expected[0, 0:3, 1] = 7
    agree(kernel, [np.ones_like(expected)], {0: expected})


def test_gemms_of_a_slot(agree, random):
    @T.prim_func
    def kernel(A: T.Tensor((128, 32), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((128, 32), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            at = T.alloc_var("int32", init=0)
            T.copy(A, a)
            T.clear(c)
            for k in T.serial(2):
                slot = a[k % 2 * 64 : (k % 2 + 1) * 64, :]
                T.gemm(slot, a[at : at + 64, :], c, transpose_B=True)
                at += 64
            T.copy(c, C)

    a = random.standard_normal((128, 32)).astype(np.float32)
    halves = a.astype(np.float64).reshape(2, 64, 32)
    expected = sum(half @ half.T for half in halves).astype(np.float32)
    agree(kernel, [a, np.zeros((64, 64), np.float32)], {1: expected}, 1e-4)


def test_what_is_written_between_two_reads_counts(agree):
    """`end - at` are two reads of one element, with a store between them."""

    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=32):
            at = T.alloc_shared((2,), "int32")
            at[0] = A[3]
            before = at[0]
            at[0] = 5
            B[0] = at[0] - before
            B[1] = (at[0] + 4) - at[0]

    a = np.arange(16, dtype=np.int32)
    agree(kernel, [a, np.zeros(2, np.int32)], {1: np.array([2, 4], np.int32)})


@pytest.mark.parametrize("divisor", [2, 3, 4])
def test_multiples_that_are_divided(agree, divisor):
    """`block * 12 // 2 : (block + 1) * 12 // 2` are six rows."""
    rows = 12 // divisor

    @T.prim_func
    def kernel(A: T.Tensor((2 * rows, 8), "int32"), B: T.Tensor((2 * rows, 8), "int32")):
        with T.Kernel(2, threads=32) as bx:
            part = T.alloc_fragment((rows, 8), "int32")
            T.copy(A[bx * 12 // divisor : (bx + 1) * 12 // divisor, :], part)
            T.copy(part, B[(bx * 12 + 12) // divisor - rows : (bx * 12 + 12) // divisor, :])

    a = np.arange(2 * rows * 8, dtype=np.int32).reshape(2 * rows, 8)
    agree(kernel, [a, np.zeros_like(a)], {1: a})
