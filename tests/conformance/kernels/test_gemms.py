# SPDX-License-Identifier: Apache-2.0
"""Matrix products as people write them for GPUs: split along k, persistent, grouped, block-sparse,
with weights of four bits, and as a convolution."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.layout import make_swizzled_layout


def halves(random, *shape):
    return random.uniform(-1, 1, shape).astype(np.float16)


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def split_k(M, N, K, block_M, block_N, block_K, parts):
    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), T.float16), B: T.Tensor((N, K), T.float16), C: T.Tensor((M, N), "float")
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), parts, threads=128) as (
            bx,
            by,
            bz,
        ):
            A_shared = T.alloc_shared((block_M, block_K), T.float16)
            B_shared = T.alloc_shared((block_N, block_K), T.float16)
            C_shared = T.alloc_shared((block_M, block_N), T.float32)
            C_local = T.alloc_fragment((block_M, block_N), T.float32)
            T.annotate_layout({C_shared: make_swizzled_layout(C_shared)})
            T.clear(C_local)
            steps = K // parts
            for k in T.Pipelined(T.ceildiv(steps, block_K), num_stages=2):
                T.copy(A[by * block_M, bz * steps + k * block_K], A_shared)
                T.copy(B[bx * block_N, bz * steps + k * block_K], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C_shared)
            for i, j in T.Parallel(block_M, block_N):
                T.atomic_add(C[by * block_M + i, bx * block_N + j], C_shared[i, j])

    return gemm


@pytest.mark.parametrize("shape", [(64, 64, 128), (40, 70, 128)])
def test_gemm_split_along_k(agree, random, shape):
    """Blocks add their parts of the sum up with atomics; ragged edges stay untouched."""
    M, N, K = shape
    a, b = halves(random, M, K), halves(random, N, K)
    expected = product(a, b.T).astype(np.float32)
    kernel = split_k(M, N, K, 32, 32, 16, 4)
    agree(kernel, [a, b, np.zeros((M, N), np.float32)], {2: expected})


def test_gemm_split_along_k_by_tiles(agree, random):
    """The whole fragment in one atomic addition."""
    M, N, K, parts = 48, 32, 64, 2

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float32"), B: T.Tensor((K, N), "float32"), C: T.Tensor((M, N), "float")
    ):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), parts) as (bx, by, bz):
            a = T.alloc_shared((32, 16), "float32")
            b = T.alloc_shared((16, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.Pipelined(K // parts // 16, num_stages=3):
                first = bz * (K // parts) + k * 16
                T.copy(A[by * 32, first], a)
                T.copy(B[first, bx * 32], b)
                T.gemm(a, b, c)
            T.atomic_add(C[by * 32, bx * 32], c)

    a = random.standard_normal((M, K)).astype(np.float32)
    b = random.standard_normal((K, N)).astype(np.float32)
    agree(gemm, [a, b, np.zeros((M, N), np.float32)], {2: product(a, b).astype(np.float32)})


@pytest.mark.parametrize("use_persistent", [False, True])
def test_persistent_gemm(agree, random, use_persistent):
    """Fewer blocks than tiles: each takes every so many."""
    M, N, K, tile, workers = 96, 80, 32, 32, 3
    rows, columns = -(-M // tile), -(-N // tile)

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), T.float16), B: T.Tensor((K, N), T.float16), C: T.Tensor((M, N), "half")
    ):
        with T.Kernel(workers, threads=128) as block:
            a = T.alloc_shared((tile, 16), T.float16)
            b = T.alloc_shared((16, tile), T.float16)
            c = T.alloc_fragment((tile, tile), T.float32)
            out = T.alloc_shared((tile, tile), T.float16)
            if use_persistent:
                for bx, by in T.Persistent([rows, columns], workers, block):
                    T.clear(c)
                    for k in T.Pipelined(T.ceildiv(K, 16), num_stages=2):
                        T.copy(A[bx * tile, k * 16], a)
                        T.copy(B[k * 16, by * tile], b)
                        T.gemm(a, b, c)
                    T.copy(c, out)
                    T.copy(out, C[bx * tile, by * tile])
            else:
                for wave in T.serial(T.ceildiv(rows * columns, workers)):
                    number = workers * wave + block
                    bx = number // columns
                    by = number % columns
                    if bx * tile < M and by * tile < N:
                        T.clear(c)
                        for k in T.Pipelined(T.ceildiv(K, 16), num_stages=2):
                            T.copy(A[bx * tile, k * 16], a)
                            T.copy(B[k * 16, by * tile], b)
                            T.gemm(a, b, c)
                        T.copy(c, out)
                        T.copy(out, C[bx * tile, by * tile])

    a, b = halves(random, M, K), halves(random, K, N)
    agree(gemm, [a, b, np.zeros((M, N), np.float16)], {2: product(a, b).astype(np.float16)})


def test_swizzled_gemm_with_layouts(agree, random):
    """Rasterisation, swizzled tiles, a warp policy, and an epilogue with bias and activation."""
    M, N, K = 64, 96, 48

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((K, N), "bfloat16"),
        bias: T.Tensor((N,), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=256) as (bx, by):
            a = T.alloc_shared((32, 16), "bfloat16")
            b = T.alloc_shared((16, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.use_swizzle(panel_size=10, order="row")
            T.annotate_layout({a: make_swizzled_layout(a), b: make_swizzled_layout(b)})
            T.clear(c)
            for k in T.Pipelined(K // 16, num_stages=3):
                T.copy(A[by * 32, k * 16], a)
                for i, j in T.Parallel(16, 32):
                    b[i, j] = B[k * 16 + i, bx * 32 + j]
                T.gemm(a, b, c, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(32, 32):
                value = c[i, j] + bias[bx * 32 + j]
                c[i, j] = value * T.sigmoid(value)
            T.copy(c, C[by * 32 : (by + 1) * 32, bx * 32 : (bx + 1) * 32])

    import ml_dtypes

    a = random.uniform(-1, 1, (M, K)).astype(ml_dtypes.bfloat16)
    b = random.uniform(-1, 1, (K, N)).astype(ml_dtypes.bfloat16)
    bias = random.standard_normal(N).astype(np.float32)
    x = product(a, b) + bias
    expected = (x / (1 + np.exp(-x))).astype(np.float32)
    agree(gemm, [a, b, bias, np.zeros((M, N), np.float32)], {3: expected})


def test_grouped_gemm(agree, random):
    """Groups of rows have matrices of their own; tiles find their group in a table."""
    sizes, N, K, tile = [20, 5, 33, 1], 24, 32, 16
    groups, total = len(sizes), sum(sizes)
    padded = [-(-s // tile) * tile for s in sizes]
    blocks = sum(padded) // tile

    @T.prim_func
    def gemm(
        A: T.Tensor((total, K), "float16"),
        B: T.Tensor((groups, K, N), "float16"),
        C: T.Tensor((total, N), "float16"),
        batch_sizes: T.Tensor((groups,), "int32"),
        batch_offsets: T.Tensor((groups,), "int32"),
        padded_offsets: T.Tensor((groups,), "int32"),
    ):
        with T.Kernel(blocks, T.ceildiv(N, 16), threads=128) as (bx, by):
            a = T.alloc_shared((tile, 16), "float16")
            b = T.alloc_shared((16, 16), "float16")
            c = T.alloc_fragment((tile, 16), "float32")
            which = T.alloc_local((1,), "int32")
            size = T.alloc_local((1,), "int32")
            start = bx * tile
            which[0] = 0
            for g in range(groups):
                which[0] = T.if_then_else(start >= padded_offsets[g], g, which[0])
            size[0] = batch_sizes[which[0]]
            first = start - padded_offsets[which[0]] + batch_offsets[which[0]]
            rows = T.max(0, T.min(tile, size[0] + batch_offsets[which[0]] - first))
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 16), num_stages=2):
                T.copy(A[first : first + tile, k * 16 : (k + 1) * 16], a)
                T.copy(B[which[0], k * 16 : (k + 1) * 16, by * 16 : (by + 1) * 16], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(tile, 16):
                if i < rows:
                    C[first + i, by * 16 + j] = c[i, j]

    a, b = halves(random, total, K), halves(random, groups, K, N)
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(padded)[:-1]]).astype(np.int32)
    parts = [
        product(a[o : o + s], b[g]) for g, (o, s) in enumerate(zip(offsets, sizes, strict=True))
    ]
    tables = [np.array(sizes, np.int32), offsets, starts]
    arguments = [a, b, np.zeros((total, N), np.float16), *tables]
    agree(gemm, arguments, {2: np.concatenate(parts).astype(np.float16)})


def test_block_sparse_gemm(agree, random):
    """A mask says which blocks of the product's depth count."""
    M, N, K, tile = 64, 64, 64, 32

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        mask: T.Tensor((M // tile, N // tile, K // tile), "bool"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, tile), T.ceildiv(M, tile), threads=128) as (bx, by):
            a = T.alloc_shared((tile, tile), "float16")
            b = T.alloc_shared((tile, tile), "float16")
            c = T.alloc_fragment((tile, tile), "float32")
            out = T.alloc_shared((tile, tile), "float16")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, tile), num_stages=1):
                if mask[by, bx, k]:
                    T.copy(A[by * tile, k * tile], a)
                    T.copy(B[k * tile, bx * tile], b)
                    T.gemm(a, b, c)
            T.copy(c, out)
            T.copy(out, C[by * tile, bx * tile])

    a, b = halves(random, M, K), halves(random, K, N)
    mask = random.random((2, 2, 2)) < 0.5
    expected = np.zeros((M, N))
    for i, j, k in np.argwhere(mask):
        rows, columns, depth = (slice(n * tile, (n + 1) * tile) for n in (i, j, k))
        expected[rows, columns] += product(a[rows, depth], b[depth, columns])
    agree(gemm, [a, b, mask, np.zeros((M, N), np.float16)], {3: expected.astype(np.float16)})


@pytest.mark.parametrize("by_hand", [True, False])
def test_dequantized_gemm(agree, random, by_hand):
    """Weights of four bits with a scale per group, unpacked in the kernel or read as int4."""
    M, N, K, group = 16, 32, 64, 32
    storage, columns = ("uint8", K // 2) if by_hand else ("int4", K)

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, columns), storage),
        scales: T.Tensor((N, K // group), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, 16), T.ceildiv(M, 16), threads=128) as (bx, by):
            a = T.alloc_shared((16, 32), "float16")
            packed = T.alloc_shared((16, 16 if by_hand else 32), storage)
            own = T.alloc_fragment((16, 16 if by_hand else 32), storage)
            b = T.alloc_fragment((16, 32), "float16")
            b_shared = T.alloc_shared((16, 32), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            T.clear(c)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(A[by * 16, k * 32], a)
                T.copy(B[bx * 16, k * (16 if by_hand else 32)], packed)
                T.copy(packed, own)
                for i, j in T.Parallel(16, 32):
                    if by_hand:
                        nibble = (own[i, j // 2] >> ((j % 2) * 4)) & T.uint8(15)
                        signed = T.cast(nibble, "int8") - T.int8(8)
                        b[i, j] = (
                            signed.astype("float16") * scales[bx * 16 + i, (k * 32 + j) // group]
                        )
                    else:
                        b[i, j] = (
                            T.cast(own[i, j], "float16")
                            * scales[bx * 16 + i, (k * 32 + j) // group]
                        )
                T.copy(b, b_shared)
                T.gemm(a, b_shared, c, transpose_B=True)
            T.copy(c, C[by * 16, bx * 16])

    a = halves(random, M, K)
    weights = random.integers(-8, 8, (N, K)).astype(np.int8)
    scales = random.uniform(0.01, 0.1, (N, K // group)).astype(np.float16)
    code = weights + 8 if by_hand else weights & 15
    bytes_ = (code[:, ::2] | (code[:, 1::2] << 4)).astype(np.uint8)
    wide = (weights * scales.repeat(group, 1)).astype(np.float16)
    arguments = [a, bytes_ if by_hand else bytes_.view(np.int8), scales]
    expected = product(a, wide.T).astype(np.float16)
    if by_hand:
        agree(gemm, [*arguments, np.zeros((M, N), np.float16)], {3: expected})
    for target in ("cpu", "reference"):
        made = tilewright.compile(gemm, out_idx=[3], target=target)(*arguments)
        np.testing.assert_allclose(made.astype(float), expected.astype(float), atol=4e-3)


@pytest.mark.parametrize("way", ["im2col", "indices"])
def test_convolution(agree, random, way):
    """NHWC convolution as a gemm over unfolded patches."""
    N, H, W, C, F, K, S, D, P = 1, 9, 8, 8, 16, 3, 2, 1, 1
    OH, OW = (H + 2 * P - D * (K - 1) - 1) // S + 1, (W + 2 * P - D * (K - 1) - 1) // S + 1

    @T.prim_func
    def convolution(
        data: T.Tensor((N, H, W, C), "float16"),
        weights: T.Tensor((K, K, C, F), "float16"),
        out: T.Tensor((N, OH, OW, F), "float16"),
    ):
        with T.Kernel(T.ceildiv(F, 16), T.ceildiv(N * OH * OW, 16), threads=128) as (bx, by):
            patch = T.alloc_shared((16, 8), "float16")
            filters = T.alloc_shared((8, 16), "float16")
            total = T.alloc_fragment((16, 16), "float32")
            result = T.alloc_shared((16, 16), "float16")
            flat_weights = T.Tensor((K * K * C, F), "float16", weights.data)
            flat_out = T.Tensor((N * OH * OW, F), "float16", out.data)
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(K * K * C, 8), num_stages=3):
                if way == "im2col":
                    T.im2col(data, patch, by, k, K, S, D, P)
                else:
                    for i, j in T.Parallel(16, 8):
                        depth = k * 8 + j
                        pixel = by * 16 + i
                        y = pixel % (OH * OW) // OW * S + depth // (K * C) * D - P
                        x = pixel % OW * S + depth // C % K * D - P
                        inside = (y >= 0) and (x >= 0) and (y < H) and (x < W)
                        patch[i, j] = T.if_then_else(
                            inside, data[pixel // (OH * OW), y, x, depth % C], 0
                        )
                T.copy(flat_weights[k * 8, bx * 16], filters)
                T.gemm(patch, filters, total)
            T.copy(total, result)
            T.copy(result, flat_out[by * 16, bx * 16])

    data, weights = halves(random, N, H, W, C), halves(random, K, K, C, F)
    padded = np.pad(data.astype(np.float64), ((0, 0), (P, P), (P, P), (0, 0)))
    expected = np.zeros((N, OH, OW, F))
    for dy in range(K):
        for dx in range(K):
            part = padded[:, dy * D : dy * D + S * OH : S, dx * D : dx * D + S * OW : S]
            expected += part[:, :OH, :OW] @ weights[dy, dx].astype(np.float64)
    zeros = np.zeros((N, OH, OW, F), np.float16)
    agree(convolution, [data, weights, zeros], {2: expected.astype(np.float16)})
