# SPDX-License-Identifier: Apache-2.0
"""Tensors that are given for arguments which are addresses."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_tensors_for_pointers(target):
    """A tensor given for T.ptr(dtype) has that dtype; how it lies is up to the kernel."""

    @T.prim_func
    def kernel(p: T.ptr("float32"), q: T.ptr, r: T.ptr(T.float16), B: T.Tensor((2, 4), "float32")):
        with T.Kernel(1):
            dense = T.make_tensor(p, (2, 4), "float32")
            any_dtype = T.make_tensor(q, (2, 4), "int32")
            columns = T.make_tensor(r, (2, 4), "float16", strides=(1, 2))
            for i, j in T.Parallel(2, 4):
                B[i, j] = dense[i, j] + any_dtype[i, j] + columns[i, j]

    compiled = tilewright.compile(kernel, target=target)
    a = np.arange(8, dtype=np.float32).reshape(2, 4)
    b, half, out = a.astype(np.int32), a.astype(np.float16), np.zeros((2, 4), np.float32)
    compiled(a, b, np.asfortranarray(half), out)
    np.testing.assert_array_equal(out, 3 * a)
    compiled(a, a.view(np.int32), half, out)  # T.ptr alone says nothing of the elements

    def refusal(*arguments):
        with pytest.raises(ValueError) as wrong:
            compiled(*arguments, out)
        return str(wrong.value).splitlines()

    assert refusal(a.astype(np.float64), b, half) == [
        "kernel: argument 0 'p' has dtype float64 but float32 was expected",
        "in TileLang's words: kernel.p_handle.dtype is expected to be float32, but got "
        "incompatible dtype",
    ]
    assert refusal(a, b, a)[0].endswith("'r' has dtype float32 but float16 was expected")
    address = a.ctypes.data  # nobody knows what lies at a number
    compiled(address, b, half, out)


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("pointer", [T.ptr, T.ptr("float32")])
def test_strided_tensors_for_pointers(target, pointer):
    """The kernel steps over gaps itself, as BLAS does: no strides are expected."""

    @T.prim_func
    def kernel(P: pointer, out: T.Tensor((4,), "float32"), step: T.int32, ld: T.int32):
        with T.Kernel(1):
            A = T.make_tensor(P, (3 * ld + 3 * step + 1,), "float32")
            for i in T.serial(4):
                out[i] = 0
                for j in T.serial(4):
                    out[i] += A[i * ld + j * step]

    compiled = tilewright.compile(kernel, target=target)
    big = np.arange(128, dtype=np.float32).reshape(8, 16)
    out = np.zeros(4, np.float32)
    leading = big[::2, :4]
    compiled(leading, out, 1, 32)
    np.testing.assert_array_equal(out, leading.sum(1))
    columns = np.asfortranarray(big[:4, :4])
    compiled(columns, out, 1, 4)
    np.testing.assert_array_equal(out, columns.sum(0))
    compiled(big.T, out, 1, 16)
    np.testing.assert_array_equal(out, big[:4, :4].sum(1))
    compiled(big[:, 3], out, 16, 1)
    np.testing.assert_array_equal(out, [big[:4, 3 + i].sum() for i in range(4)])


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_pointers_to_anything_and_to_vectors(target):
    @T.prim_func
    def kernel(
        p: T.ptr("void"), q: T.ptr("handle"), v: T.ptr("float32x4"), B: T.Tensor((8,), "float32")
    ):
        with T.Kernel(1):
            P = T.make_tensor(p, (8,), "float32")
            Q = T.make_tensor(q, (8,), "int32")
            V = T.make_tensor(v, (8,), "float32")
            for i in T.Parallel(8):
                B[i] = P[i] + Q[i] + V[i]

    compiled = tilewright.compile(kernel, target=target)
    a, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    compiled(a, a.astype(np.int32), a.reshape(2, 4), out)
    np.testing.assert_array_equal(out, 3 * a)
    compiled(a.view(np.int64), a.astype(np.int32).view(np.int8), a, out)
    np.testing.assert_array_equal(out, 3 * a)
    with pytest.raises(ValueError, match="'v' has dtype int32 but float32 was expected"):
        compiled(a, a.astype(np.int32), a.astype(np.int32), out)
    with pytest.raises(ValueError, match="there is no dtype 'flaot32'"):
        T.ptr("flaot32")


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_no_tensor_for_a_pointer(target):
    """None is the address 0, for a kernel that doesn't go there or asks first."""

    @T.prim_func
    def unused(p: T.ptr("float32"), q: T.ptr, B: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            nobody = T.make_tensor(p, (4,), "float32")  # noqa: F841
            for i in T.Parallel(4):
                B[i] = 1

    out = np.zeros(4, np.float32)
    tilewright.compile(unused, target=target)(None, None, out)
    assert out.tolist() == [1] * 4

    @T.prim_func
    def asks(p: T.ptr("float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            bias = T.make_tensor(p, (4,), "float32")
            for i in T.serial(4):
                B[i] = 2
                if not T.isnullptr(p):
                    B[i] += bias[i]

    compiled = tilewright.compile(asks, target=target)
    compiled(None, out)
    assert out.tolist() == [2] * 4
    compiled(np.ones(4, np.float32), out)
    assert out.tolist() == [3] * 4

    @T.prim_func
    def follows(p: T.ptr, n: T.uint64, B: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            bias = T.make_tensor(p, (4,), "float32")
            for i in T.Parallel(4):
                B[i] = bias[i] + n

    compiled = tilewright.compile(follows, target=target)
    with pytest.raises(ValueError, match="argument 0 'p' is None but the kernel uses it"):
        compiled(None, 1, out)
    with pytest.raises(TypeError, match="'n' is of type NoneType but a number for uint64 was"):
        compiled(out, None, out)

    @tilewright.jit(target=target)
    def eager(p: T.ptr("float32"), B):
        B: T.Tensor[[4], T.float32]
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = 5

    eager(None, out)
    assert out.tolist() == [5] * 4


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_strided_tensors_for_dense_ones(target):
    """A tensor of the shape that the kernel takes there is meant to be that one."""

    @T.prim_func
    def kernel(P: T.ptr("float32"), out: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            A = T.make_tensor(P, (4,), "float32")
            T.copy(A, out)

    compiled = tilewright.compile(kernel, target=target)
    numbers, out = np.arange(8, dtype=np.float32), np.zeros(4, np.float32)
    with pytest.raises(ValueError) as wrong:
        compiled(numbers[::2], out)
    assert str(wrong.value).splitlines()[0] == (
        "kernel: argument 0 'P' has strides (2,) for shape (4,) but stride 1 was expected at dim 0 "
        "(a contiguous tensor; give a contiguous copy, as .contiguous() makes one, or declare the "
        "parameter as a T.StridedTensor); or give T.make_tensor its strides"
    )
    for given in (numbers[::2].copy(), numbers, numbers.reshape(2, 4)):
        compiled(given, out)
        assert out.tolist() == given.ravel()[:4].tolist()


def of_blocks(A: T.Tensor((32,), "int32"), p: T.ptr("int32"), n: T.int32):
    with T.Kernel(4, threads=8) as bx:
        one = T.make_tensor(p, (16,), "int32")
        for i in T.Parallel(8):
            one[i + n * bx] = i


def of_blocks_and_an_argument(A: T.Tensor((32,), "int32"), p: T.ptr("int32"), n: T.int32):
    with T.Kernel(4, threads=8) as bx:
        one = T.make_tensor(p, (16,), "int32")
        if bx == 0:
            A[3] = 1
        if bx == 2:
            one[n] = 2


def of_halves(A: T.Tensor((32,), "int32"), p: T.ptr("int32"), n: T.int32):
    with T.Kernel(4, threads=8) as bx:
        one = T.make_tensor(p, (16,), "int32")
        halves = T.make_tensor(p, (32,), "int16")
        if bx == 0:
            one[0] = 1
        if bx == 1:
            halves[n] = 5


def of_iterations(A: T.Tensor((32,), "int32"), p: T.ptr("int32"), n: T.int32):
    with T.Kernel(1, threads=8):
        one = T.make_tensor(p, (16,), "int32")
        two = T.make_tensor(p, (4, 4), "int32")
        for i in T.Parallel(4):
            one[i] = two[n, i] + two[n, 0]


def of_threads(A: T.Tensor((32,), "int32"), p: T.ptr("int32"), n: T.int32):
    with T.Kernel(1, threads=8):
        tx = T.get_thread_binding()
        one = T.make_tensor(p, (16,), "int32")
        two = T.make_tensor(p, (16,), "int32")
        one[tx] = tx
        A[tx + 8] = two[T.max(tx - n, 0)]


@pytest.mark.parametrize(
    ("body", "races", "races_not", "who"),
    [
        (of_blocks, 7, 8, "blocks of the grid"),
        (of_blocks_and_an_argument, 3, 4, "blocks of the grid"),
        (of_halves, 1, 2, "blocks of the grid"),
        (of_iterations, 0, 1, "iterations of the parallel loop"),
        (of_threads, 1, 0, "threads of the block"),
    ],
)
def test_races_on_what_addresses_name(body, races, races_not, who):
    kernel = T.prim_func(body)
    numbers = np.zeros(32, np.int32)
    compiled = tilewright.compile(kernel, target="reference")
    compiled(numbers, numbers, races_not)
    with pytest.raises(RuntimeError, match=f"two {who}.* use element"):
        compiled(numbers, numbers, races)
