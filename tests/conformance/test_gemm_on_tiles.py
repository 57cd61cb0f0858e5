# SPDX-License-Identifier: Apache-2.0
"""Gemms of pairs of bfloat16 and of bytes in the shapes that tiles of 16 x 16 sums make special:
whole tiles, rows and depths that are left, few columns. On whatever the machine multiplies with."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright.language as T

# Rows, columns and depth of a block.
SHAPES = [
    (16, 16, 64),
    (32, 32, 64),
    (64, 48, 128),
    (96, 80, 64),
    (7, 32, 64),
    (40, 64, 96),
    (65, 16, 192),
    (33, 112, 48),
    (48, 32, 16),
    (31, 32, 80),
    (17, 48, 36),
    (40, 128, 256),
    (48, 160, 384),
]
BYTES = [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]


def blocks(shape, dtypes, sums, out, transposes=(False, False), turns=2, clear="first"):
    """C = A B, each block in some turns along K. clear: "first" turn, "fill" before the loop, or
    "flag" given by the caller for the first turn, whose sums go on from 3 otherwise."""
    m, n, k = shape
    grid = (1, 2)
    rows, columns, depth = grid[1] * m, grid[0] * n, turns * k
    of_a = (depth, rows) if transposes[0] else (rows, depth)
    of_b = (columns, depth) if transposes[1] else (depth, columns)

    @T.prim_func
    def kernel(
        A: T.Tensor(of_a, dtypes[0]),
        B: T.Tensor(of_b, dtypes[1]),
        C: T.Tensor((rows, columns), out),
        flag: T.int32,
    ):
        with T.Kernel(grid[0], grid[1], threads=64) as (bx, by):
            a = T.alloc_shared((k, m) if transposes[0] else (m, k), dtypes[0])
            b = T.alloc_shared((n, k) if transposes[1] else (k, n), dtypes[1])
            c = T.alloc_fragment((m, n), sums)
            if clear == "flag":
                T.fill(c, 3)
            elif clear == "fill":
                T.clear(c)
            for step in T.Pipelined(turns, num_stages=2):
                if transposes[0]:
                    T.copy(A[step * k, by * m], a)
                else:
                    T.copy(A[by * m, step * k], a)
                if transposes[1]:
                    T.copy(B[bx * n, step * k], b)
                else:
                    T.copy(B[step * k, bx * n], b)
                if clear == "flag":
                    T.gemm(a, b, c, *transposes, clear_accum=flag == step)
                elif clear == "fill":
                    T.gemm(a, b, c, *transposes)
                else:
                    T.gemm(a, b, c, *transposes, clear_accum=step == 0)
            T.copy(c, C[by * m, bx * n])

    return kernel, (rows, depth, columns)


def operands(sizes, dtypes, transposes=(False, False), seed=1):
    """Random, and exact in every order of the sums."""
    rows, depth, columns = sizes
    random = np.random.default_rng(seed)

    def matrix(shape, dtype):
        if dtype == "bfloat16":
            return random.integers(-4, 5, shape).astype(ml_dtypes.bfloat16)
        limits = np.iinfo(dtype)
        values = random.integers(limits.min, limits.max + 1, shape).astype(dtype)
        values.flat[:2] = limits.min, limits.max
        return values

    a, b = matrix((rows, depth), dtypes[0]), matrix((depth, columns), dtypes[1])
    kind = np.float64 if dtypes[0] == "bfloat16" else np.int64
    exact = a.astype(kind) @ b.astype(kind)
    given = [x.T.copy() if turned else x for x, turned in zip((a, b), transposes, strict=True)]
    return given, exact


@pytest.mark.parametrize("out", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_pairs(agree, shape, out):
    kernel, sizes = blocks(shape, ("bfloat16", "bfloat16"), "float32", out)
    given, exact = operands(sizes, ("bfloat16", "bfloat16"))
    wanted = exact.astype(np.float32).astype(out)
    agree(kernel, [*given, np.zeros(exact.shape, out), 0], {2: wanted})


@pytest.mark.parametrize("dtypes", BYTES)
@pytest.mark.parametrize("shape", SHAPES)
def test_bytes(agree, shape, dtypes):
    """Also -128 times -128, and 255 times 255."""
    kernel, sizes = blocks(shape, dtypes, "int32", "int32")
    given, exact = operands(sizes, dtypes)
    agree(kernel, [*given, np.zeros(exact.shape, "int32"), 0], {2: exact.astype("int32")})


@pytest.mark.parametrize("value", [-128, 127])
def test_largest_sums_of_bytes(agree, value):
    kernel, (rows, depth, columns) = blocks((32, 32, 512), ("int8", "int8"), "int32", "int32")
    a, b = np.full((rows, depth), value, "int8"), np.full((depth, columns), -128, "int8")
    wanted = np.full((rows, columns), -128 * value * depth, "int32")
    agree(kernel, [a, b, np.zeros_like(wanted), 0], {2: wanted})


@pytest.mark.parametrize("dtypes", [("bfloat16", "bfloat16"), ("int8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize("transposes", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shape", [(32, 32, 64), (40, 48, 96), (65, 32, 48)])
def test_transposes(agree, shape, transposes, dtypes):
    sums = "float32" if dtypes[0] == "bfloat16" else "int32"
    kernel, sizes = blocks(shape, dtypes, sums, sums, transposes)
    given, exact = operands(sizes, dtypes, transposes)
    agree(kernel, [*given, np.zeros(exact.shape, sums), 0], {2: exact.astype(sums)})


@pytest.mark.parametrize("dtypes", [("bfloat16", "bfloat16"), ("int8", "uint8")])
@pytest.mark.parametrize("clear", ["fill", "flag", "flag not"])
@pytest.mark.parametrize("shape", [(64, 64, 64), (40, 48, 128), (7, 80, 64)])
def test_clear(agree, shape, clear, dtypes):
    """What sums begin at: 0, or 3 where the caller says so."""
    sums = "float32" if dtypes[0] == "bfloat16" else "int32"
    kernel, sizes = blocks(shape, dtypes, sums, sums, clear=clear.split()[0])
    given, exact = operands(sizes, dtypes)
    flag = -1 if clear == "flag not" else 0
    wanted = (exact + (3 if clear == "flag not" else 0)).astype(sums)
    agree(kernel, [*given, np.zeros(exact.shape, sums), flag], {2: wanted})


@pytest.mark.parametrize("sums", ["bfloat16", "float16"])
def test_narrow_sums(agree, sums):
    """Each gemm rounds its sums to the accumulator's type."""
    kernel, sizes = blocks((48, 48, 64), ("bfloat16", "bfloat16"), sums, sums, turns=1)
    given, exact = operands(sizes, ("bfloat16", "bfloat16"))
    wanted = exact.astype(np.float32).astype(sums)
    agree(kernel, [*given, np.zeros(exact.shape, sums), 0], {2: wanted})


def test_infinities_and_nan(agree):
    kernel, sizes = blocks((32, 32, 64), ("bfloat16", "bfloat16"), "float32", "bfloat16")
    (a, b), _ = operands(sizes, ("bfloat16", "bfloat16"))
    a[:, 0] = 1
    b[0, :3] = np.inf, -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        exact = a.astype(np.float64) @ b.astype(np.float64)
    wanted = exact.astype(np.float32).astype(ml_dtypes.bfloat16)
    agree(kernel, [a, b, np.zeros(exact.shape, ml_dtypes.bfloat16), 0], {2: wanted})


@pytest.mark.parametrize("rows", [48, 40])
def test_one_after_the_other(agree, rows):
    """The weights of the second gemm are computed from the sums of the first, on chip."""
    depth, middle, columns = 64, 96, 32

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, depth), "bfloat16"),
        B: T.Tensor((middle, depth), "bfloat16"),
        V: T.Tensor((middle, columns), "bfloat16"),
        C: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((rows, depth), "bfloat16")
            b = T.alloc_shared((middle, depth), "bfloat16")
            v = T.alloc_shared((middle, columns), "bfloat16")
            scores = T.alloc_fragment((rows, middle), "float32")
            weights = T.alloc_fragment((rows, middle), "bfloat16")
            c = T.alloc_fragment((rows, columns), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(V, v)
            T.gemm(a, b, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(rows, middle):
                weights[i, j] = T.max(scores[i, j], 0) * 0.125
            T.clear(c)
            T.gemm(weights, v, c)
            T.copy(c, C)

    random = np.random.default_rng(2)
    a, b = (random.integers(-1, 2, (n, depth)).astype(ml_dtypes.bfloat16) for n in (rows, middle))
    v = random.integers(-2, 3, (middle, columns)).astype(ml_dtypes.bfloat16)
    weights = np.maximum(a.astype(np.float64) @ b.astype(np.float64).T, 0) * 0.125
    exact = (weights @ v.astype(np.float64)).astype(np.float32)
    agree(kernel, [a, b, v, np.zeros((rows, columns), np.float32)], {3: exact})


def test_blocks_that_wait_for_each_other(agree):
    """Each runs in a thread of its own, which has its own tiles."""
    size = 64

    @T.prim_func
    def kernel(
        A: T.Tensor((2 * size, size), "bfloat16"),
        B: T.Tensor((size, size), "bfloat16"),
        C: T.Tensor((2 * size, size), "float32"),
        D: T.Tensor((2 * size, size), "float32"),
    ):
        with T.Kernel(2, threads=64) as block:
            a = T.alloc_shared((size, size), "bfloat16")
            b = T.alloc_shared((size, size), "bfloat16")
            c = T.alloc_fragment((size, size), "float32")
            T.copy(A[block * size, 0], a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[block * size, 0])
            T.sync_grid()
            T.copy(C[(1 - block) * size, 0], c)
            T.gemm(a, b, c)
            T.copy(c, D[block * size, 0])

    random = np.random.default_rng(4)
    a, b = (random.integers(-2, 3, (n, size)).astype(ml_dtypes.bfloat16) for n in (128, 64))
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    other = np.vstack([exact[size:], exact[:size]])
    agree(kernel, [a, b, np.zeros_like(exact), np.zeros_like(exact)], {2: exact, 3: exact + other})


def test_kernel_that_a_print_calls(monkeypatch):
    """What T.print runs may use the thread's tiles itself."""
    import tilewright

    torch = pytest.importorskip("torch")
    size = 64

    @tilewright.jit(out_idx=[2])
    def multiply(prints):
        @T.prim_func
        def kernel(
            A: T.Tensor((size, size), "bfloat16"),
            B: T.Tensor((size, size), "bfloat16"),
            C: T.Tensor((size, size), "float32"),
        ):
            with T.Kernel(1, threads=64) as block:
                a = T.alloc_shared((size, size), "bfloat16")
                b = T.alloc_shared((size, size), "bfloat16")
                c = T.alloc_fragment((size, size), "float32")
                T.copy(A, a)
                T.copy(B, b)
                if prints:
                    T.print(block)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C)

        return kernel

    outer, inner = multiply(True), multiply(False)
    a, b = (torch.randint(-2, 3, (size, size)).to(torch.bfloat16) for _ in range(2))
    products = []

    class Screen:
        def write(self, text):
            products.append(inner(a, b))

        def flush(self):
            pass

    monkeypatch.setattr("sys.stdout", Screen())
    products.append(outer(a, b))
    monkeypatch.undo()
    assert len(products) > 1
    for product in products:
        torch.testing.assert_close(product, a.float() @ b.float(), rtol=0, atol=0)
