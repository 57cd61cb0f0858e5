# SPDX-License-Identifier: Apache-2.0
"""Tiles that kernels bring through shared memory and fragments, which GPUs need, CPUs don't."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

BF16 = ml_dtypes.bfloat16


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def norm(rows, columns, block, dtype, between):
    """Rows by their root mean square, in the style of published kernels."""

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), dtype), B: T.Tensor((rows, columns), dtype)):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as bx:
            s = T.alloc_shared((block, columns), between)
            p = T.alloc_fragment((block, columns), "float32")
            q = T.alloc_fragment((block, columns), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(A[bx * block, 0], s)
            T.copy(s, p)
            for i, j in T.Parallel(block, columns):
                q[i, j] = p[i, j] * p[i, j]
            T.reduce_sum(q, total, dim=1)
            for i in T.Parallel(block):
                total[i] = T.rsqrt(total[i] / columns + 1e-6)
            for i, j in T.Parallel(block, columns):
                p[i, j] *= total[i]
            T.copy(p, s)
            T.copy(s, B[bx * block, 0])

    return kernel


@pytest.mark.parametrize("between", ["float32", "bfloat16"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "rows, columns, block", [(8, 256, 1), (8, 256, 4), (7, 256, 4), (6, 75, 3)]
)
def test_rows_come_and_go_through_stages(agree, cpus, rows, columns, block, dtype, between):
    kind = {"float32": np.float32, "bfloat16": BF16}
    a = numbers(rows, columns, dtype=kind[dtype])
    wide = a.astype(kind[between]).astype(np.float64)
    exact = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-6)
    result = exact.astype(kind[between]).astype(kind[dtype])
    b = np.zeros_like(a)
    kernel = norm(rows, columns, block, dtype, between)
    tolerance = 1e-5 if "bfloat16" not in (dtype, between) else 2**-7
    agree(kernel, [a, b], {1: result}, tolerance, cpus=cpus)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_row_is_normed_where_it_lies(dtype):
    """The result's tensor is that of the rows."""
    a = numbers(8, 256, dtype={"float32": np.float32, "bfloat16": BF16}[dtype])
    wide = a.astype(np.float64)
    exact = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-6)
    tilewright.compile(norm(8, 256, 1, dtype, dtype))(a, a)
    np.testing.assert_allclose(a.astype(np.float64), exact, rtol=2**-8, atol=1e-6)


def test_a_rounding_between_is_kept(agree, cpus):
    """float32 to bfloat16 to float32 isn't float32 to float32."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((64,), "bfloat16")
            T.copy(A, s)
            T.copy(s, B)

    a = numbers(64)
    agree(kernel, [a, np.zeros_like(a)], {1: a.astype(BF16).astype(np.float32)}, 0.0, cpus=cpus)


def test_what_a_stage_holds_outlives_its_source(agree, cpus):
    """The tensor and the fragment that it was filled from are written to before it is read."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((3, 64), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((64,), "float32")
            t = T.alloc_shared((64,), "float32")
            p = T.alloc_fragment((64,), "float32")
            q = T.alloc_fragment((64,), "float32")
            T.copy(A, s)
            T.copy(A, p)
            T.copy(p, t)
            for i in T.Parallel(64):
                A[i] = -1.0
            T.fill(p, 7.0)
            T.copy(s, q)
            T.copy(q, B[0, 0])
            T.copy(t, B[1, 0])
            T.copy(p, t)
            T.copy(t, B[2, 0])

    a = numbers(64)
    expected = np.stack([a, a, np.full(64, 7, np.float32)])
    agree(kernel, [a.copy(), np.zeros((3, 64), np.float32)], {1: expected}, 0.0, cpus=cpus)


def test_turns_of_a_loop_keep_what_the_last_one_left(agree, cpus):
    """A stage is read before it is filled anew."""

    @T.prim_func
    def kernel(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((64,), "float32")
            p = T.alloc_fragment((64,), "float32")
            T.fill(p, 0.0)
            T.copy(p, s)
            for k in T.serial(4):
                T.copy(s, p)
                T.copy(p, B[k * 64])
                T.copy(A[k * 64], s)

    a = numbers(256)
    expected = np.concatenate([np.zeros(64, np.float32), a[:192]])
    agree(kernel, [a, np.zeros_like(a)], {1: expected}, 0.0, cpus=cpus)


def product(m, n, k, dtype, style):
    """A gemm whose result goes through a bias, shared memory, or both."""

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype),
        B: T.Tensor((k, n), dtype),
        C: T.Tensor((m, n), dtype),
        D: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 32), threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), dtype)
            b = T.alloc_shared((32, 64), dtype)
            c = T.alloc_fragment((32, 64), "float32")
            s = T.alloc_shared((32, 64), dtype)
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[by * 32, ko * 32], a)
                T.copy(B[ko * 32, bx * 64], b)
                T.gemm(a, b, c)
            if style != "plain":
                for i, j in T.Parallel(32, 64):
                    c[i, j] = T.max(c[i, j] + D[bx * 64 + j], 0.0)
            if style != "straight":
                T.copy(c, s)
                T.copy(s, C[by * 32, bx * 64])
            else:
                T.copy(c, C[by * 32, bx * 64])

    return kernel


@pytest.mark.parametrize("style", ["plain", "bias", "straight"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("m, n, k", [(64, 128, 96), (40, 100, 50)])
def test_products_go_through_shared_memory(agree, cpus, m, n, k, dtype, style):
    kind = {"float32": np.float32, "bfloat16": BF16, "float16": np.float16}[dtype]
    a, b, d = numbers(m, k, dtype=kind), numbers(k, n, dtype=kind, seed=1), numbers(n, seed=2)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    if style != "plain":
        exact = np.maximum(exact + d, 0)
    tolerance = {"float32": 1e-5, "bfloat16": 2**-7, "float16": 2**-10}[dtype]
    kernel = product(m, n, k, dtype, style)
    agree(kernel, [a, b, np.zeros((m, n), kind), d], {2: exact.astype(kind)}, tolerance, cpus=cpus)


def test_a_result_is_turned_and_read_by_others(agree, cpus):
    """To a slice of a tensor of more dims; of a nest that reads rows of the tensor it writes."""

    @T.prim_func
    def kernel(
        A: T.Tensor((8, 32), "float32"),
        B: T.Tensor((2, 8, 3, 32), "float32"),
        C: T.Tensor((8, 32), "float32"),
    ):
        with T.Kernel(2, threads=32) as bx:
            p = T.alloc_fragment((4, 32), "float32")
            q = T.alloc_fragment((4, 32), "float32")
            for i, j in T.Parallel(4, 32):
                p[i, j] = A[bx * 4 + i, j] * 2.0
            T.copy(p, B[1, bx * 4 : bx * 4 + 4, 2, 0:32])
            for i, j in T.Parallel(4, 32):
                q[i, j] = A[bx * 4 + 3 - i, 31 - j]
            T.copy(q, C[bx * 4, 0])

    a = numbers(8, 32)
    b, c = np.zeros((2, 8, 3, 32), np.float32), np.zeros((8, 32), np.float32)
    expected_b = b.copy()
    expected_b[1, :, 2] = a * 2
    expected_c = np.concatenate([a[3::-1, ::-1], a[7:3:-1, ::-1]])
    agree(kernel, [a, b, c], {1: expected_b, 2: expected_c}, 0.0, cpus=cpus)
    own = a.copy()
    tilewright.compile(kernel)(own, b.copy(), own)  # turned where it lies
    np.testing.assert_array_equal(own, expected_c)


def test_a_view_is_turned_where_it_lies(agree, cpus):
    """The nest reads the tensor that the copy behind it fills, by another name."""

    @T.prim_func
    def kernel(X: T.Tensor((1, 64, 64), "float32")):
        with T.Kernel(1, threads=32):
            flat = T.reshape(X, (4096,))
            turned = T.alloc_fragment((64, 64), "float32")
            for i, j in T.Parallel(64, 64):
                turned[i, j] = flat[4095 - i * 64 - j]
            T.copy(turned, X[0, 0, 0])

    x = numbers(1, 64, 64)
    agree(kernel, [x.copy()], {0: x.ravel()[::-1].reshape(x.shape)}, 0.0, cpus=cpus)


def backwards(shape, dtype):
    """Y [4096] is X backwards, as bits."""

    @T.prim_func
    def kernel(X: T.Tensor(shape, dtype), Y: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=32):
            turned = T.alloc_fragment((4096,), "float32")
            for i in T.Parallel(4096):
                if len(shape) == 2:
                    turned[i] = T.reinterpret(X[0, 4095 - i], "float32")
                else:
                    turned[i] = T.reinterpret(X[4095 - i], "float32")
            T.copy(turned, Y)

    return kernel


@pytest.mark.parametrize(
    "shape, dtype", [((1, 4096), "float32"), ((4096,), "int32"), ((T.dynamic("n"),), "float32")]
)
def test_one_array_of_two_shapes_and_types(shape, dtype):
    x = numbers(4096)
    own = x.copy()
    first = own.reshape(1, -1) if len(shape) == 2 else own.view(dtype)
    tilewright.compile(backwards(shape, dtype))(first, own)
    np.testing.assert_array_equal(own, x[::-1])
