# SPDX-License-Identifier: Apache-2.0
"""Kernels over tiles: copies, gemms, reductions, and what models are made of."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm(agree, random, numpy_dtypes, dtype, transpose_a, transpose_b):
    M, N, K, block = 70, 45, 51, 32

    def shape(rows, columns, transposed):
        return (columns, rows) if transposed else (rows, columns)

    @T.prim_func
    def gemm(
        A: T.Tensor(shape(M, K, transpose_a), dtype),
        B: T.Tensor(shape(K, N, transpose_b), dtype),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            a = T.alloc_shared(shape(block, 16, transpose_a), dtype)
            b = T.alloc_shared(shape(16, block, transpose_b), dtype)
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 16), num_stages=2):
                if transpose_a:
                    T.copy(A[k * 16, by * block], a)
                else:
                    T.copy(A[by * block, k * 16], a)
                if transpose_b:
                    T.copy(B[bx * block, k * 16], b)
                else:
                    T.copy(B[k * 16, bx * block], b)
                T.gemm(a, b, c, transpose_A=bool(transpose_a), transpose_B=bool(transpose_b))
            T.copy(c, C[by * block, bx * block])

    a = random.standard_normal(shape(M, K, transpose_a)).astype(numpy_dtypes[dtype])
    b = random.standard_normal(shape(K, N, transpose_b)).astype(numpy_dtypes[dtype])
    wide_a = a.astype(np.float64).T if transpose_a else a.astype(np.float64)
    wide_b = b.astype(np.float64).T if transpose_b else b.astype(np.float64)
    agree(gemm, [a, b, np.zeros((M, N), np.float32)], {2: (wide_a @ wide_b).astype(np.float32)})


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rows", [5, 21])
@pytest.mark.parametrize("columns", [256, 272, 288, 304, 528])
def test_gemm_of_many_columns(agree, random, rows, columns, transposed):
    """B goes into panels of two or three vectors, of which some are left; each brought twice."""
    depth = 20
    shape = (columns, depth) if transposed else (depth, columns)

    @T.prim_func
    def gemm(
        A: T.Tensor((rows, 2 * depth), "float32"),
        B: T.Tensor((2, *shape), "float32"),
        C: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((rows, depth), "float32")
            b = T.alloc_shared(shape, "float32")
            c = T.alloc_fragment((rows, columns), "float32")
            T.clear(c)
            for k in T.serial(2):
                T.copy(A[0, k * depth], a)
                T.copy(B[k, 0:, 0:], b)
                T.gemm(a, b, c, transpose_B=transposed)
            T.copy(c, C)

    a = random.standard_normal((rows, 2 * depth)).astype(np.float32)
    b = random.standard_normal((2, *shape)).astype(np.float32)
    wide = b.transpose(0, 2, 1) if transposed else b
    expected = a.astype(np.float64) @ np.concatenate(wide).astype(np.float64)
    agree(gemm, [a, b, np.zeros((rows, columns), np.float32)], {2: expected.astype(np.float32)})


@pytest.mark.parametrize("columns", [40, 48, 64])
@pytest.mark.parametrize("left", ["int8", "uint8"])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(0, 0), (1, 1)])
def test_gemm_of_bytes(agree, random, columns, left, transpose_a, transpose_b):
    """Whole vectors of columns, which CPUs multiply in fours, and others; a ragged depth."""
    M, K = 37, 90

    def shape(rows, columns, transposed):
        return (columns, rows) if transposed else (rows, columns)

    @T.prim_func
    def gemm(
        A: T.Tensor(shape(M, K, transpose_a), left),
        B: T.Tensor(shape(K, columns, transpose_b), "int8"),
        C: T.Tensor((M, columns), "int32"),
    ):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared(shape(48, 64, transpose_a), left)
            b = T.alloc_shared(shape(64, columns, transpose_b), "int8")
            c = T.alloc_fragment((48, columns), "int32")
            T.clear(c)
            for k in T.Pipelined(2):
                if transpose_a:
                    T.copy(A[k * 64, 0], a)
                    T.copy(B[0, k * 64], b)
                else:
                    T.copy(A[0, k * 64], a)
                    T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c, transpose_A=bool(transpose_a), transpose_B=bool(transpose_b))
            T.copy(c, C[0, 0])

    least, beyond = (0, 256) if left == "uint8" else (-128, 128)
    a = random.integers(least, beyond, shape(M, K, transpose_a)).astype(left)
    b = random.integers(-128, 128, shape(K, columns, transpose_b)).astype(np.int8)
    wide_a, wide_b = a.astype(np.int32), b.astype(np.int32)
    agree(
        gemm,
        [a, b, np.zeros((M, columns), np.int32)],
        {2: (wide_a.T if transpose_a else wide_a) @ (wide_b.T if transpose_b else wide_b)},
    )


def test_gemm_of_dynamic_shape(agree, random):
    M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float32"),
        B: T.Tensor((K, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
            a = T.alloc_shared((32, 16), "float32")
            b = T.alloc_shared((16, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 16), num_stages=2):
                T.copy(A[by * 32, k * 16], a)
                T.copy(B[k * 16, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])

    for m, n, k in ((1, 1, 1), (33, 65, 17), (64, 32, 48)):
        a = random.standard_normal((m, k)).astype(np.float32)
        b = random.standard_normal((k, n)).astype(np.float32)
        expected = (a.astype(np.float64) @ b).astype(np.float32)
        agree(gemm, [a, b, np.zeros((m, n), np.float32)], {2: expected})


def test_softmax(agree, random):
    rows, columns, block = 37, 53, 8

    @T.prim_func
    def softmax(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as bx:
            x = T.alloc_fragment((block, columns), "float32")
            largest = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(X[bx * block, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * block, 0])

    x = random.standard_normal((rows, columns)).astype(np.float32) * 4
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    agree(softmax, [x, np.zeros_like(x)], {1: expected})


def test_rms_norm(agree, random):
    rows, columns = 9, 128

    @T.prim_func
    def rms_norm(
        X: T.Tensor((rows, columns), "float16"),
        W: T.Tensor((columns,), "float16"),
        Y: T.Tensor((rows, columns), "float16"),
    ):
        with T.Kernel(rows, threads=128) as row:
            x = T.alloc_fragment((1, columns), "float32")
            squares = T.alloc_fragment((1, columns), "float32")
            mean = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            for i, j in T.Parallel(1, columns):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, mean, dim=1)
            for i, j in T.Parallel(1, columns):
                x[i, j] = x[i, j] * T.rsqrt(mean[i] / columns + 1e-5) * W[j]
            T.copy(x, Y[row, 0])

    x = random.standard_normal((rows, columns)).astype(np.float16)
    w = random.standard_normal(columns).astype(np.float16)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5) * w.astype(np.float64)
    agree(rms_norm, [x, w, np.zeros_like(x)], {2: expected.astype(np.float16)})


@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention(agree, random, causal):
    heads, length, dim, block = 2, 96, 32, 32
    scale = dim**-0.5 * 1.44269504

    @T.prim_func
    def attention(
        Q: T.Tensor((heads, length, dim), "float16"),
        K: T.Tensor((heads, length, dim), "float16"),
        V: T.Tensor((heads, length, dim), "float16"),
        Out: T.Tensor((heads, length, dim), "float16"),
    ):
        with T.Kernel(T.ceildiv(length, block), heads, threads=128) as (bx, head):
            q = T.alloc_shared((block, dim), "float16")
            k = T.alloc_shared((block, dim), "float16")
            v = T.alloc_shared((block, dim), "float16")
            score = T.alloc_fragment((block, block), "float32")
            weight = T.alloc_fragment((block, block), "float16")
            out = T.alloc_fragment((block, dim), "float32")
            largest = T.alloc_fragment((block,), "float32")
            before = T.alloc_fragment((block,), "float32")
            factor = T.alloc_fragment((block,), "float32")
            added = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(Q[head, bx * block : (bx + 1) * block, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            steps = bx + 1 if causal else T.ceildiv(length, block)
            for step in T.Pipelined(steps, num_stages=2):
                T.copy(K[head, step * block : (step + 1) * block, :], k)
                if causal:
                    for i, j in T.Parallel(block, block):
                        score[i, j] = T.if_then_else(
                            bx * block + i >= step * block + j, 0, -T.infinity("float32")
                        )
                else:
                    T.clear(score)
                T.gemm(q, k, score, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, before)
                T.fill(largest, -T.infinity("float32"))
                T.reduce_max(score, largest, dim=1, clear=False)
                for i in T.Parallel(block):
                    largest[i] = T.max(largest[i], before[i])
                    factor[i] = T.exp2(before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(block, block):
                    score[i, j] = T.exp2(score[i, j] * scale - largest[i] * scale)
                T.reduce_sum(score, added, dim=1)
                for i in T.Parallel(block):
                    total[i] = total[i] * factor[i] + added[i]
                T.copy(score, weight)
                for i, j in T.Parallel(block, dim):
                    out[i, j] *= factor[i]
                T.copy(V[head, step * block : (step + 1) * block, :], v)
                T.gemm(weight, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[head, bx * block : (bx + 1) * block, :])

    q, k, v = (random.standard_normal((heads, length, dim)).astype(np.float16) for _ in range(3))
    score = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * dim**-0.5
    if causal:
        score = np.where(np.tril(np.ones((length, length), bool)), score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    expected = (weight / weight.sum(axis=-1, keepdims=True)) @ v.astype(np.float64)
    agree(attention, [q, k, v, np.zeros_like(q)], {3: expected.astype(np.float16)})


@pytest.mark.parametrize("kind", ["sum", "max", "min", "abssum", "absmax"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_reductions(agree, random, kind, dim):
    shape = (5, 7, 19)
    kept = tuple(e for d, e in enumerate(shape) if d != dim)

    @T.prim_func
    def reduction(X: T.Tensor(shape, "float32"), Y: T.Tensor(kept, "float32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_fragment(shape, "float32")
            y = T.alloc_fragment(kept, "float32")
            T.copy(X, x)
            if kind == "sum":
                T.reduce_sum(x, y, dim=dim)
            elif kind == "max":
                T.reduce_max(x, y, dim=dim)
            elif kind == "min":
                T.reduce_min(x, y, dim=dim)
            elif kind == "abssum":
                T.reduce_abssum(x, y, dim=dim)
            else:
                T.reduce_absmax(x, y, dim=dim)
            T.copy(y, Y)

    x = random.standard_normal(shape).astype(np.float32)
    wide = np.abs(x.astype(np.float64)) if "abs" in kind else x.astype(np.float64)
    combine = {"sum": np.sum, "max": np.max, "min": np.min}[kind.removeprefix("abs")]
    agree(
        reduction, [x, np.zeros(kept, np.float32)], {1: combine(wide, axis=dim).astype(np.float32)}
    )


def test_reduction_into_what_is_there(agree, random):
    @T.prim_func
    def reduction(X: T.Tensor((6, 11), "int32"), Y: T.Tensor((6,), "int32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_fragment((6, 11), "int32")
            y = T.alloc_fragment((6,), "int32")
            T.copy(X, x)
            T.copy(Y, y)
            T.reduce_sum(x, y, dim=1, clear=False)
            T.copy(y, Y)

    x = random.integers(-1000, 1000, (6, 11)).astype(np.int32)
    y = random.integers(-1000, 1000, 6).astype(np.int32)
    agree(reduction, [x, y], {1: y + x.sum(axis=1, dtype=np.int32)})


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_running_sums(agree, random, dim, reverse):
    @T.prim_func
    def scan(X: T.Tensor((6, 13), "float32"), Y: T.Tensor((6, 13), "float32")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((6, 13), "float32")
            T.copy(X, x)
            T.cumsum(x, dim=dim, reverse=reverse)
            T.copy(x, Y)

    x = random.standard_normal((6, 13)).astype(np.float32)
    wide = np.flip(x, dim) if reverse else x
    expected = np.cumsum(wide.astype(np.float64), axis=dim)
    agree(
        scan,
        [x, np.zeros_like(x)],
        {1: (np.flip(expected, dim) if reverse else expected).astype("f")},
    )


def test_copies_of_other_ranks_and_edges(agree, random):
    @T.prim_func
    def copies(X: T.Tensor((3, 10, 14), "float32"), Y: T.Tensor((10, 14), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            tile = T.alloc_shared((8, 8), "float32")
            T.copy(X[1, by * 8, bx * 8], tile)
            for i, j in T.Parallel(8, 8):
                tile[i, j] = tile[i, j] + 1
            T.copy(tile, Y[by * 8, bx * 8])

    x = random.standard_normal((3, 10, 14)).astype(np.float32)
    agree(copies, [x, np.zeros((10, 14), np.float32)], {1: x[1] + np.float32(1)})


def test_views(agree, random):
    @T.prim_func
    def views(X: T.Tensor((4, 6), "float32"), Y: T.Tensor((24,), "float32")):
        with T.Kernel(1, threads=32) as _:
            tile = T.alloc_shared((4, 6), "float32")
            flat = T.reshape(tile, (24,))
            T.copy(X, tile)
            for i in T.Parallel(24):
                flat[i] = flat[i] * 2
            T.copy(flat, Y)

    x = random.standard_normal((4, 6)).astype(np.float32)
    agree(views, [x, np.zeros(24, np.float32)], {1: (x * 2).ravel()})


@pytest.mark.parametrize("row", [-1, 57, 2**40])
def test_gemm_and_reduction_outside_of_a_buffer_stop_with_the_place(random, row):
    """The offset is the caller's: no compiler can know it, and no target may trust it."""

    @T.prim_func
    def gemm(A: T.Tensor((64, 16), "float32"), row: T.int64, C: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=32) as _:
            a = T.alloc_shared((64, 16), "float32")
            b = T.alloc_shared((16, 16), "float32")
            c = T.alloc_fragment((8, 16), "float32")
            T.copy(A, a)
            T.fill(b, 1)
            T.clear(c)
            T.gemm(a[row : row + 8, :], b, c)
            T.copy(c, C)

    @T.prim_func
    def total(A: T.Tensor((64, 16), "float32"), row: T.int64, C: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32) as _:
            a = T.alloc_shared((64, 16), "float32")
            c = T.alloc_fragment((8,), "float32")
            T.copy(A, a)
            T.reduce_sum(a[row : row + 8, :], c, dim=1)
            T.copy(c, C)

    a = random.standard_normal((64, 16)).astype(np.float32)
    for kernel, shape in ((gemm, (8, 16)), (total, (8,))):
        compiled = tilewright.compile(kernel)
        out = np.zeros(shape, np.float32)
        compiled(a, 56, out)
        expected = a[56:].astype(np.float64).sum(axis=1)
        np.testing.assert_allclose(
            out if out.ndim == 1 else out[:, 0], expected, rtol=1e-4, atol=1e-5
        )
        with pytest.raises(
            RuntimeError, match="leaves its buffer in dim 0, which ends at 64"
        ) as caught:
            compiled(a, row, out)
        assert "test_tiles.py:" in str(caught.value)


@pytest.mark.parametrize("fills", [T.clear, lambda tile: T.fill(tile, 1)])
def test_a_fill_inside_of_a_parallel_loop_is_named_as_written(fills):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            tile = T.alloc_shared((8,), "float32")
            for _ in T.Parallel(8):
                fills(tile)

    name = "T.clear" if fills is T.clear else "T.fill"
    message = f"{name} stands inside of T.Parallel, which holds code on single elements only"
    with pytest.raises(tilewright.CompileError, match=message):
        kernel.capture()


def test_fills_of_arrays_in_nests(agree, random):
    """Each iteration has the array of T.alloc_local for itself: it fills all of it, or a part."""

    @T.prim_func
    def kernel(A: T.Tensor((24, 6), "int32"), B: T.Tensor((24, 4), "int32")):
        with T.Kernel(1, threads=24):
            counts = T.alloc_local((2, 2), "int32")
            for row in T.Parallel(24):
                T.clear(counts)
                T.fill(counts[1, 0:2], row)
                for j in T.serial(6):
                    counts[j % 2, A[row, j] % 2] += 1
                for i, j in T.grid(2, 2):
                    B[row, 2 * i + j] = counts[i, j]

    a = random.integers(0, 9, (24, 6)).astype(np.int32)
    expected = np.zeros((24, 2, 2), np.int32)
    expected[:, 1] = np.arange(24)[:, None]
    for row in range(24):
        for j in range(6):
            expected[row, j % 2, a[row, j] % 2] += 1
    agree(kernel, [a, np.zeros((24, 4), np.int32)], {1: expected.reshape(24, 4)})
