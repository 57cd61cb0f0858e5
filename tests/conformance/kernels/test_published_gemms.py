# SPDX-License-Identifier: Apache-2.0
"""More products as people write them for GPUs: weights of four-bit floats, tiles dealt out along k,
experts with their own numbers of tokens, casts to 8 bits; and what only a GPU has."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

LOG2_E = 1.44269504


def wide(array):
    return array.astype(np.float64)


def four_bit_floats(M, N, K, block_M=32, block_N=32, block_K=64):
    """float4_e2m1 to bfloat16 by its bits: the scale, a power of two, is added to the exponent."""

    @T.macro
    def decoded(byte, position, scale):
        four = (T.cast(byte, "uint16") >> (T.cast(position, "uint16") * T.uint16(4))) & T.uint16(15)
        sign = four >> T.uint16(3)
        exponent = ((four & T.uint16(6)) >> T.uint16(1)) + T.uint16(126)
        exponent = T.min(exponent + scale - T.uint16(127), T.uint16(255))
        fraction = (four & T.uint16(1)) << T.uint16(6)
        upper = ((sign << T.uint16(8)) | exponent) << T.uint16(7)
        return T.reinterpret("bfloat16", (upper | fraction) & T.uint16(0xFFFF))

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((N, K // 2), "uint8"),
        Scale: T.Tensor((N, K // 32), "uint8"),
        C: T.Tensor((M, N), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            a = T.alloc_shared((block_M, block_K), "bfloat16")
            packed = T.alloc_shared((block_N, block_K // 2), "uint8")
            own = T.alloc_fragment((block_N, block_K // 2), "uint8")
            b = T.alloc_fragment((block_N, block_K), "bfloat16")
            b_shared = T.alloc_shared((block_N, block_K), "bfloat16")
            c = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], a)
                T.copy(B[bx * block_N, k * block_K // 2], packed)
                T.copy(packed, own)
                for i, j in T.Parallel(block_N, block_K):
                    scale = T.cast(Scale[bx * block_N + i, (k * block_K + j) // 32], "uint16")
                    b[i, j] = decoded(own[i, j // 2], j % 2, scale)
                T.copy(b, b_shared)
                T.gemm(a, b_shared, c, transpose_B=True)
            T.copy(c, C[by * block_M, bx * block_N])

    return gemm


def test_gemm_of_four_bit_floats(agree, random):
    M, N, K = 40, 64, 128
    a = random.standard_normal((M, K)).astype(ml_dtypes.bfloat16)
    b = random.integers(0, 256, (N, K // 2)).astype(np.uint8)
    scale = random.integers(124, 130, (N, K // 32)).astype(np.uint8)
    four = np.stack([b & 15, b >> 4], -1).reshape(N, K).astype(np.int64)
    power = ((four & 6) >> 1) - 1 + scale.repeat(32, 1).astype(np.int64) - 127
    values = np.where(four >> 3, -1.0, 1.0) * 2.0**power * (1 + (four & 1) / 2)
    expected = (wide(a) @ values.T).astype(ml_dtypes.bfloat16)
    arguments = [a, b, scale, np.zeros((M, N), ml_dtypes.bfloat16)]
    agree(four_bit_floats(M, N, K), arguments, {3: expected})


def dealt_out(M, N, K, split_tiles, block, programs):
    """Stream-K: the iterations of the first tiles are dealt out evenly, whole tiles follow."""
    columns, turns = T.ceildiv(N, block), T.ceildiv(K, block)
    tiles = T.ceildiv(M, block) * columns
    share, rest = divmod(split_tiles * turns, programs)

    @T.macro
    def multiply(A, B, a, b, c, tile, first, count):
        T.clear(c)
        for k in T.Pipelined(count, num_stages=2):
            T.copy(A[tile // columns * block, (k + first) * block], a)
            T.copy(B[tile % columns * block, (k + first) * block], b)
            T.gemm(a, b, c, transpose_B=True)

    @T.macro
    def first_wave(pid, A, B, C, a, b, c):
        start = T.alloc_fragment((1,), "int32", "local")
        end = T.alloc_fragment((1,), "int32", "local")
        start[0] = pid * share + T.min(pid, rest)
        last = (pid + 1) * share + T.min(pid + 1, rest)
        while start[0] < last:
            end[0] = T.min(start[0] + (turns - (start[0] % turns)), last)
            tile = start[0] // turns
            skipped = start[0] % turns
            multiply(A, B, a, b, c, tile, skipped, end[0] - start[0])
            if skipped == 0 and end[0] % turns == 0:
                T.copy(c, C[tile // columns * block, tile % columns * block])
            else:
                for i, j in T.Parallel(block, block):
                    T.atomic_add(
                        C[tile // columns * block + i, tile % columns * block + j], c[i, j]
                    )
            start[0] = end[0]

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float")
    ):
        with T.Kernel(programs, threads=128) as pid:
            a = T.alloc_shared((block, block), "float16")
            b = T.alloc_shared((block, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            first_wave(pid, A, B, C, a, b, c)
            for p in T.serial(T.ceildiv(tiles - split_tiles, programs)):
                tile = pid + split_tiles + p * programs
                if tile < tiles:
                    multiply(A, B, a, b, c, tile, 0, turns)
                    T.copy(c, C[tile // columns * block, tile % columns * block])

    return gemm


@pytest.mark.parametrize(("split_tiles", "programs"), [(5, 4), (9, 7), (2, 3)])
def test_tiles_dealt_out_along_k(agree, random, split_tiles, programs):
    M, N, K = 90, 96, 160
    a, b = (random.uniform(-1, 1, s).astype(np.float16) for s in ((M, K), (N, K)))
    expected = (wide(a) @ wide(b).T).astype(np.float32)
    kernel = dealt_out(M, N, K, split_tiles, 32, programs)
    agree(kernel, [a, b, np.zeros((M, N), np.float32)], {2: expected})


def test_tiles_dealt_out_on_ascend(monkeypatch, random):
    """What a block counts with is each core's own: the cores come to the same branches."""
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    M, N, K = 96, 96, 160
    a, b = (random.uniform(-1, 1, s).astype(np.float16) for s in ((M, K), (N, K)))
    c = np.zeros((M, N), np.float32)
    tilewright.compile(dealt_out(M, N, K, 5, 32, 4), target="ascend")(a, b, c)
    np.testing.assert_allclose(c, wide(a) @ wide(b).T, rtol=1e-5, atol=1e-4)


def experts(tokens, hidden, inner, groups, blocks, block_M=16, block=32):
    """Two launches: the gate and the product of each token's expert, then the way back."""

    @T.prim_func
    def forward(
        X: T.Tensor((tokens, hidden), "float16"),
        Gate: T.Tensor((groups, inner, hidden), "float16"),
        Up: T.Tensor((groups, inner, hidden), "float16"),
        Down: T.Tensor((groups, hidden, inner), "float16"),
        weights: T.Tensor((tokens,), "float16"),
        sizes: T.Tensor((groups,), "int32"),
        starts: T.Tensor((groups,), "int32"),
        padded_starts: T.Tensor((groups,), "int32"),
        group_of: T.Tensor((blocks,), "int32"),
        Between: T.Tensor((tokens, inner), "float16"),
        Out: T.Tensor((tokens, hidden), "float16"),
    ):
        with T.Kernel(blocks, T.ceildiv(inner, block), threads=128) as (bx, by):
            x = T.alloc_fragment((block_M, block), "float16")
            w = T.alloc_shared((block, block), "float16")
            gate = T.alloc_fragment((block_M, block), "float32")
            up = T.alloc_fragment((block_M, block), "float32")
            group = T.alloc_local([1], "int32")
            T.use_swizzle(10, enable=True)
            group[0] = group_of[bx]
            offset = bx * block_M - padded_starts[group[0]]
            first = offset + starts[group[0]]
            rows = T.max(0, T.min(block_M, sizes[group[0]] - offset))
            T.clear(gate)
            T.clear(up)
            for k in T.Pipelined(T.ceildiv(hidden, block), num_stages=1):
                part = slice(k * block, (k + 1) * block)
                T.copy(X[first : first + block_M, part], x, coalesced_width=8)
                T.copy(Gate[group[0], by * block : (by + 1) * block, part], w, coalesced_width=8)
                T.gemm(x, w, gate, k_pack=1, transpose_B=True)
                T.copy(Up[group[0], by * block : (by + 1) * block, part], w, coalesced_width=8)
                T.gemm(x, w, up, k_pack=1, transpose_B=True)
            for i, j in T.Parallel(block_M, block):
                gate[i, j] = gate[i, j] * (1.0 / (1.0 + T.exp2(-gate[i, j] * LOG2_E)))
                up[i, j] = up[i, j] * gate[i, j]
            for i, j in T.Parallel(block_M, block):
                if i < rows:
                    Between[first + i, by * block + j] = up[i, j]
        with T.Kernel(blocks, T.ceildiv(hidden, block), threads=128) as (bx, by):
            x = T.alloc_fragment((block_M, block), "float16")
            w = T.alloc_shared((block, block), "float16")
            out = T.alloc_fragment((block_M, block), "float32")
            group = T.alloc_local([1], "int32")
            group[0] = group_of[bx]
            offset = bx * block_M - padded_starts[group[0]]
            first = offset + starts[group[0]]
            rows = T.max(0, T.min(block_M, sizes[group[0]] - offset))
            T.clear(out)
            for k in T.Pipelined(T.ceildiv(inner, block), num_stages=1):
                part = slice(k * block, (k + 1) * block)
                T.copy(Between[first : first + block_M, part], x)
                T.copy(Down[group[0], by * block : (by + 1) * block, part], w)
                T.gemm(x, w, out, transpose_B=True)
            for i, j in T.Parallel(block_M, block):
                if i < rows:
                    Out[first + i, by * block + j] = out[i, j] * weights[first + i]

    return forward


def test_experts_with_sizes(agree, random):
    hidden, inner, block_M = 64, 32, 16
    sizes = np.array([20, 0, 33, 11], np.int32)
    tokens, groups = int(sizes.sum()), len(sizes)
    ends = np.cumsum(sizes)
    padded = np.cumsum(-(-sizes // block_M) * block_M)
    blocks = -(-tokens // block_M) + groups
    group_of = np.searchsorted(padded, np.arange(blocks) * block_M, side="right")
    group_of = np.minimum(group_of, groups - 1).astype(np.int32)
    x = random.uniform(-1, 1, (tokens, hidden)).astype(np.float16)
    gate, up = (random.uniform(-0.5, 0.5, (groups, inner, hidden)).astype(np.float16) for _ in "ab")
    down = random.uniform(-0.5, 0.5, (groups, hidden, inner)).astype(np.float16)
    weights = random.uniform(0, 1, tokens).astype(np.float16)
    between, expected = np.zeros((tokens, inner)), np.zeros((tokens, hidden))
    for g, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        own = slice(end - size, end)
        gates = wide(x[own]) @ wide(gate[g]).T
        between[own] = wide(x[own]) @ wide(up[g]).T * gates / (1 + np.exp(-gates))
        expected[own] = between[own] @ wide(down[g]).T * wide(weights[own])[:, None]
    starts = [ends - sizes, padded - -(-sizes // block_M) * block_M]
    arguments = [x, gate, up, down, weights, sizes, *(s.astype(np.int32) for s in starts), group_of]
    outputs = [np.zeros((tokens, n), np.float16) for n in (inner, hidden)]
    kernel = experts(tokens, hidden, inner, groups, blocks)
    results = {9: between.astype(np.float16), 10: expected.astype(np.float16)}
    agree(kernel, [*arguments, *outputs], results, 4e-3)


def test_rows_cast_to_eight_bits(agree, random):
    M, N, rows, group, largest = 20, 256, 8, 128, 448.0

    @T.prim_func
    def cast(
        X: T.Tensor((M, N), "float32"),
        Y: T.Tensor((M, N), "float8_e4m3fn"),
        Scale: T.Tensor((M, T.ceildiv(N, group)), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, rows), T.ceildiv(N, group), threads=128) as (bx, by):
            x = T.alloc_fragment((rows, group), "float32")
            most = T.alloc_fragment((rows,), "float32")
            scale = T.alloc_fragment((rows,), "float32")
            small = T.alloc_fragment((rows, group), "float8_e4m3fn")
            layout = T.Fragment(x.shape, forward_thread_fn=lambda i, j: i // 2 * 32 + j % 32)
            T.annotate_layout({x: layout})
            T.copy(X[bx * rows : (bx + 1) * rows, by * group : (by + 1) * group], x)
            T.reduce_absmax(x, most, dim=1)
            for i in T.Parallel(rows):
                most[i] = T.max(most[i], 1e-4)
                scale[i] = most[i] / largest
            for i, j in T.Parallel(rows, group):
                x[i, j] = T.clamp(x[i, j] / scale[i], -largest, largest)
            T.copy(x, small)
            for i in T.Parallel(rows):
                Scale[bx * rows + i, by] = scale[i]
            T.copy(small, Y[bx * rows : (bx + 1) * rows, by * group : (by + 1) * group])

    x = (random.standard_normal((M, N)) * 3).astype(np.float32)
    x[3, :128] = 0
    most = np.maximum(np.abs(x.reshape(M, -1, group)).max(-1), np.float32(1e-4))
    scale = most / np.float32(largest)
    exact = (x.reshape(M, -1, group) / scale[..., None]).reshape(M, N)
    outputs = [np.zeros((M, N), ml_dtypes.float8_e4m3fn), np.zeros(scale.shape, np.float32)]
    expected = np.clip(exact, -largest, largest).astype(ml_dtypes.float8_e4m3fn)
    agree(cast, [x, *outputs], {1: expected, 2: scale}, 1e-6)


def test_sum_with_tuned_blocks(random):
    """All choices give the same; one of them is taken."""
    sides, threads = (16, 32), (64, 128)
    configs = [
        {"block_M": m, "block_N": n, "threads": t}
        for m, n, t in itertools.product(sides, sides, threads)
    ]

    @tilewright.autotune(configs=configs, warmup=1, rep=1)
    @tilewright.jit(out_idx=[-1])
    def add(M, N, block_M=None, block_N=None, threads=None):
        @T.prim_func
        def kernel(
            A: T.Tensor((M, N), "float32"),
            B: T.Tensor((M, N), "float32"),
            C: T.Tensor((M, N), "float"),
        ):
            with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (
                bx,
                by,
            ):
                a = T.alloc_shared((block_M, block_N), "float32")
                b = T.alloc_shared((block_M, block_N), "float32")
                c = T.alloc_fragment((block_M, block_N), "float32")
                T.copy(A[by * block_M, bx * block_N], a)
                T.copy(B[by * block_M, bx * block_N], b)
                for i, j in T.Parallel(block_M, block_N):
                    c[i, j] = a[i, j] + b[i, j]
                T.copy(c, C[by * block_M, bx * block_N])

        return kernel

    a, b = (random.standard_normal((70, 50)).astype(np.float32) for _ in "ab")
    tuned = add(70, 50)
    np.testing.assert_array_equal(np.asarray(tuned(a, b)), a + b)
    assert tuned.config in configs


def test_warps_with_roles(agree, random):
    """One group of warps loads and another one multiplies."""

    @T.prim_func
    def gemm(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((2, 64, 32), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            ready = T.alloc_barrier(arrive_count=[128] * 2)
            T.clear(c)
            for k in range(2):
                with T.ws(1):
                    T.tma_copy(A[0:64, k * 32 : (k + 1) * 32], a[k, :, :], barrier=ready[k])
                    T.barrier_arrive(ready[k])
                with T.ws(0):
                    T.barrier_wait(ready[k], 0)
                    T.wgmma_gemm(a[k, :, :], a[k, :, :], c, transpose_B=True)
                    T.wait_wgmma(0)
            with T.ws(0):
                T.copy(c, C)

    a = random.standard_normal((64, 64)).astype(np.float16)
    wide = a.astype(np.float64)
    agree(gemm, [a, np.zeros((64, 64), np.float32)], {1: wide @ wide.T})
