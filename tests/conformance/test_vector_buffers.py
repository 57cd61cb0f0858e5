# SPDX-License-Identifier: Apache-2.0
"""Buffers whose elements are vectors: float32x4, int8x4."""

from __future__ import annotations

import runpy

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


def test_lanes(agree, random):
    """Of an element of a buffer, to read and to store, and of a vector; -1 is the last one."""

    @T.prim_func
    def lanes(A: T.Tensor((8,), "float32x4"), B: T.Tensor((8,), "float32x4")):
        with T.Kernel(1, threads=8):
            t = T.get_thread_binding()
            s = T.alloc_shared((8,), "float32x4")
            s[t] = A[t] * 2.0
            v = s[t]
            s[t][0] = A[t][3] + v[1]
            s[t][-1] += v[-2]
            for _ in T.unroll(1):
                s[t][1] = s[t][T.int32(2)] - v[0]
            B[t] = s[t]

    a = random.standard_normal((8, 4)).astype(np.float32)
    expected = a * 2
    expected[:, 0], expected[:, 1] = a[:, 3] + 2 * a[:, 1], 2 * (a[:, 2] - a[:, 0])
    expected[:, 3] += 2 * a[:, 2]
    agree(lanes, [a, np.zeros_like(a)], {1: expected})


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("A[0][4] = 1.0", "there is no lane 4 in a vector of 4 lanes"),
        ("A[0][1] = (A[1] * 2.0)[-5]", "there is no lane -5 in a vector of 4 lanes"),
        (
            "A[0][n] = 1.0",
            "the number of a lane is an integer that is known while compiling, not a value of the "
            "running kernel",
        ),
    ],
)
def test_lanes_that_there_are_not(statement, message, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(f"""import tilewright.language as T

@T.prim_func
def kernel(A: T.Tensor((8,), "float32x4"), n: T.int32):
    with T.Kernel(1, threads=1):
        {statement}
""")
    kernel = runpy.run_path(str(path))["kernel"]
    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    (error,) = caught.value.errors
    assert (error.message, error.place.line) == (message, 6)


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


def test_arguments_are_tensors_of_their_lanes(agree, random):
    """A tensor of float32x4 comes as one of float32 with a last dim of 4 more."""

    @T.prim_func
    def reversed_(
        A: T.Tensor((6, 2), "float32x4"),
        S: T.StridedTensor((6,), (2,), "float32x4"),
        B: T.Tensor((6, 2), T.float32x4),
    ):
        with T.Kernel(6, threads=2) as bx:
            t = T.get_thread_binding()
            B[bx, t] = A[5 - bx, 1 - t] * 2.0 + S[bx]

    a = random.integers(-8, 9, (6, 2, 4)).astype(np.float32)
    s = random.integers(-8, 9, (6, 8)).astype(np.float32)[:, :4]
    for target in ("cpu", "reference"):
        b = np.zeros_like(a)
        tilewright.compile(reversed_, target=target)(a, s, b)
        np.testing.assert_array_equal(b, a[::-1, ::-1] * 2 + s[:, None], err_msg=target)
    with pytest.raises(ValueError, match=r"has 2 dims, shape \(6, 4\), but 3 dims were expected"):
        tilewright.compile(reversed_)(a[:, 0], s, a)

    @tilewright.jit
    def eager(A):
        n = T.const("n")
        A: T.Tensor[[n, 2], T.float32x4]
        C = T.empty((n,), "float32x4")
        with T.Kernel(n) as i:
            C[i] = A[i, 0] - A[i, 1]
        return C

    np.testing.assert_array_equal(eager(a), a[:, 0] - a[:, 1])


def test_dynamic_shapes_of_vectors(agree, random):
    n = T.dynamic("n")

    @T.prim_func
    def scaled(A: T.Tensor((n,), "int16x2"), p: T.ptr, B: T.Tensor((n,), "int16x2")):
        with T.Kernel(n) as i:
            there = T.make_tensor(p, (n,), "int16x2")
            B[i] = A[i] * 3 + there[n - 1 - i]

    a, b = random.integers(-8, 9, (2, 5, 2)).astype(np.int16)
    out = np.zeros_like(a)
    tilewright.compile(scaled)(a, b, out)
    np.testing.assert_array_equal(out, a * 3 + b[::-1])


def test_views_as_vectors(agree, random):
    @T.prim_func
    def viewed(A: T.Tensor((4, 8), "float32"), B: T.Tensor((8, 4), "float32")):
        with T.Kernel(1, threads=8):
            t = T.get_thread_binding()
            s = T.alloc_shared((4, 8), "float32")
            T.copy(A, s)
            by_four = T.view(s, (8,), "float32x4")
            rows = T.view(by_four, (4, 2))
            flat = T.view(rows, (32,), "float32")
            tensor = T.view(A, (8,), "float32x4")
            B[t, 0:4] = by_four[7 - t] + rows[t // 2, t % 2] * flat[t] + tensor[t]

    a = random.integers(-8, 9, (4, 8)).astype(np.float32)
    v = a.reshape(8, 4)
    expected = v[::-1] + v * a.ravel()[:8, None] + v
    agree(viewed, [a, np.zeros((8, 4), np.float32)], {1: expected})


def test_variables_of_vectors(agree, random):
    """A name of such a variable loads all lanes; assigning to it stores them."""

    @T.prim_func
    def sums(A: T.Tensor((8, 4), "float32"), B: T.Tensor((8, 4), "float32")):
        with T.Kernel(1, threads=8):
            t = T.get_thread_binding()
            total = T.alloc_var("float32x4", init=0)
            row = T.alloc_var(T.float32x4)
            old = T.alloc_var("float32x4", A[t, 0:4])
            for i in T.serial(8):
                row = A[i, 0:4]
                if i == t:
                    row = 1.0
                before = total
                total = before + row
                total += T.extract_lane(row, 1)
            B[t, 0:4] = total - old

    a = random.integers(-8, 9, (8, 4)).astype(np.float32)
    expected = np.stack([
        sum(r + r[1] for r in np.where(np.arange(8)[:, None] == t, 1, a)) - a[t] for t in range(8)
    ])  # fmt: skip
    agree(sums, [a, np.zeros((8, 4), np.float32)], {1: expected})


def test_what_takes_no_vectors():
    @T.prim_func
    def wrong(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=4):
            s = T.alloc_shared((4,), "float32x4")
            v = T.alloc_var("float32x4")
            A[0] = T.exp(v)
            T.reduce_sum(s, s)
            T.view(s, (3,))
            T.atomic_addx4(A[0], s[0] if False else T.cast(A[0:2], "float32x2"))

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(wrong)
    assert [d.message for d in caught.value.errors] == [
        "expected a scalar but got a vector of 4 lanes",
        "the source of T.reduce_sum can't be 's', a buffer of float32x4; only T.copy, T.fill and "
        "T.clear take whole buffers of vectors",
        "a view of shape (3, 4) and dtype float32 has 384 bits but 's' has 512",
        "T.atomic_addx4 adds 4 elements, but the vector has 2",
    ]


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("form", ["int", "T.const"])
def test_extents_that_a_call_gives(target, form):
    """A call's tensor has the lanes as a dim of its own; a T.Tensor that stands for it, none."""

    @tilewright.jit(target=target)
    def of_int(A, B):
        A: T.Tensor[[int], "float32x4"]
        B: T.StridedTensor[[int, int], [int, 1], "float32x4"]
        C = T.empty([A.shape[0]], "float32x4")
        with T.Kernel(A.shape[0], threads=1) as i:
            C[i] = A[i] + B[i, 1] * 2.0
        return C

    @tilewright.jit(target=target)
    def of_const(A, B):
        N, M, S = T.const("N, M, S")
        A: T.Tensor[[N], "float32x4"]
        B: T.StridedTensor[[N, M], [S, 1], "float32x4"]
        C = T.empty([N], "float32x4")
        with T.Kernel(N, threads=1) as i:
            C[i] = A[i] + B[i, 1] * 2.0
        return C

    kernel = of_int if form == "int" else of_const
    for count in (3, 5):
        a = np.arange(count * 4, dtype=np.float32).reshape(count, 4)
        b = np.arange(count * 16, dtype=np.float32).reshape(count, 4, 4)[:, :2]
        np.testing.assert_array_equal(kernel(a, b), a + b[:, 1] * 2)
    strided = T.StridedTensor((3, 2), (4, 1), "float32x4")
    made = kernel.compile(T.Tensor((3,), "float32x4"), strided)
    assert len(kernel._kernels) == 2
    np.testing.assert_array_equal(made(a[:3], b[:3]), a[:3] + b[:3, 1] * 2)
