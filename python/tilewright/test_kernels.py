# SPDX-License-Identifier: Apache-2.0
"""Kernels of the kind that people write, from Python to numbers, against NumPy in float64."""

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("tilewright._compiler")

import tilewright  # noqa: E402
import tilewright.language as T  # noqa: E402

LOG2_E = 1.44269504


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))


def test_operators_mean_what_they_mean_in_python():
    N = 16

    @T.prim_func
    def kernel(
        A: T.Tensor((N,), "int32"), B: T.Tensor((N, 12), "int32"), F: T.Tensor((N, 6), "float32")
    ):
        with T.Kernel(N) as bx:
            x = A[bx]
            B[bx, 0] = x // 3
            B[bx, 1] = x % 3
            B[bx, 2] = (bx - 5) // 2
            B[bx, 3] = (bx - 5) % 4
            B[bx, 4] = x >> 1
            B[bx, 5] = T.truncdiv(x, 3)
            B[bx, 6] = T.truncmod(x, 3)
            s = T.alloc_var("int32", init=0)
            for i in range(10, 0, -3):
                s += i
            B[bx, 7] = s
            c = T.alloc_var("int32", init=0)
            for i in T.serial(2, 12, 4):
                for j in T.unroll(3):
                    if j == 2 or (i + j) % 2 == 0:
                        continue
                    c += i * j
            B[bx, 8] = c
            B[bx, 9] = 1 if -3 < x <= 4 != x else 0
            y, z = x, 7
            y, z = z, y
            B[bx, 10] = y - z
            B[bx, 11] = T.cast(T.cast(x * 100, "int8"), "int32")
            F[bx, 0] = x / 2.0
            F[bx, 1] = T.cast(x, "float32") ** 2
            F[bx, 2] = -x * 0.5 + T.float32(1)
            F[bx, 3] = T.max(x, 0.5)
            F[bx, 4] = T.clamp(T.cast(x, "float32"), -1.5, 2.5)
            F[bx, 5] = abs(x) + T.sqrt(T.float32(4.0))

    a = numpy.arange(-8, 8).astype("int32")
    b, f = tilewright.compile(kernel, out_idx=[1, 2])(a)
    block = numpy.arange(N)
    truncated = numpy.fix(a / 3).astype(int)
    pairs = [(i, j) for i in range(2, 12, 4) for j in range(3) if j != 2 and (i + j) % 2]
    columns = [
        a // 3, a % 3, (block - 5) // 2, (block - 5) % 4, a >> 1, truncated, a - 3 * truncated,
        0 * a + sum(range(10, 0, -3)), 0 * a + sum(i * j for i, j in pairs),
        [int(-3 < v <= 4 != v) for v in a], 7 - a, (a * 100).astype("int8"),
    ]  # fmt: skip
    numpy.testing.assert_array_equal(b, numpy.stack(columns, 1))
    real = [a / 2, a.astype(float) ** 2, -a * 0.5 + 1, numpy.maximum(a, 0.5)]
    real += [numpy.clip(a, -1.5, 2.5), abs(a) + 2]
    numpy.testing.assert_allclose(f, numpy.stack(real, 1))


def test_softmax():
    M, N, rows = 50, 40, 16

    @T.prim_func
    def softmax(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            largest = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] /= total[i]
            T.copy(x, Y[bx * rows, 0])

    x = numpy.random.default_rng(2).standard_normal((M, N)).astype("float32") * 5
    exact = numpy.exp(x.astype("float64"))
    exact /= exact.sum(1, keepdims=True)
    found = tilewright.compile(softmax, out_idx=-1)(x)
    numpy.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-7)


def test_rms_norm():
    M, N, rows = 45, 64, 16

    @T.prim_func
    def norm(
        A: T.Tensor((M, N), "float32"), W: T.Tensor((N,), "float32"), B: T.Tensor((M, N), "float32")
    ):
        with T.Kernel(T.ceildiv(M, rows)) as bx:
            tile = T.alloc_shared((rows, N), "float32")
            squares = T.alloc_fragment((rows, N), "float32")
            scale = T.alloc_fragment((rows,), "float32")
            T.copy(A[bx * rows : (bx + 1) * rows, :], tile)
            for i, j in T.Parallel(rows, N):
                squares[i, j] = tile[i, j] * tile[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(rows):
                scale[i] = T.rsqrt(scale[i] / N + 1e-6)
            for i, j in T.Parallel(rows, N):
                tile[i, j] *= scale[i] * W[j]
            T.copy(tile, B[bx * rows : (bx + 1) * rows, :])

    rng = numpy.random.default_rng(3)
    a, w = (rng.standard_normal(s).astype("float32") for s in ((M, N), (N,)))
    exact = a.astype("float64")
    exact = exact / numpy.sqrt((exact**2).mean(1, keepdims=True) + 1e-6) * w
    found = tilewright.compile(norm, out_idx=[2])(a, w)
    numpy.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-6)


@tilewright.jit(out_idx=[3])
def flash_attention(batch, heads, seq, dim, is_causal, block_M=32, block_N=32):
    scale = (1.0 / dim) ** 0.5 * LOG2_E
    shape = [batch, seq, heads, dim]
    dtype, accum = "float16", "float"

    @T.macro
    def scores(K, Q_shared, K_shared, acc_s, k, bx, by, bz):
        T.copy(K[bz, k * block_N : (k + 1) * block_N, by, :], K_shared)
        for i, j in T.Parallel(block_M, block_N):
            visible = k * block_N + j < seq
            if is_causal:
                visible = visible and bx * block_M + i >= k * block_N + j
            acc_s[i, j] = T.if_then_else(visible, 0, -T.infinity(acc_s.dtype))
        T.gemm(Q_shared, K_shared, acc_s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)

    @T.macro
    def online_softmax(acc_s, acc_s_cast, m, m_prev, correction, sums, total):
        T.copy(m, m_prev)
        T.fill(m, -T.infinity(accum))
        T.reduce_max(acc_s, m, dim=1, clear=False)
        for i in T.Parallel(block_M):
            m[i] = T.max(m[i], m_prev[i])
            correction[i] = T.exp2(m_prev[i] * scale - m[i] * scale)
        for i, j in T.Parallel(block_M, block_N):
            acc_s[i, j] = T.exp2(acc_s[i, j] * scale - m[i] * scale)
        T.reduce_sum(acc_s, sums, dim=1)
        for i in T.Parallel(block_M):
            total[i] = total[i] * correction[i] + sums[i]
        T.copy(acc_s, acc_s_cast)

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        Out: T.Tensor(shape, dtype),
    ):
        with T.Kernel(T.ceildiv(seq, block_M), heads, batch, threads=128) as (bx, by, bz):
            Q_shared = T.alloc_shared([block_M, dim], dtype)
            K_shared = T.alloc_shared([block_N, dim], dtype)
            V_shared = T.alloc_shared([block_N, dim], dtype)
            acc_s = T.alloc_fragment([block_M, block_N], accum)
            acc_s_cast = T.alloc_fragment([block_M, block_N], dtype)
            acc_o = T.alloc_fragment([block_M, dim], accum)
            m, m_prev, correction, sums, total = [
                T.alloc_fragment([block_M], accum) for _ in range(5)
            ]
            T.annotate_layout({Q_shared: None})
            T.use_swizzle(10)
            T.copy(Q[bz, bx * block_M : (bx + 1) * block_M, by, :], Q_shared)
            T.fill(acc_o, 0)
            T.fill(total, 0)
            T.fill(m, -1e30)
            blocks = T.ceildiv(seq, block_N)
            if is_causal:
                blocks = T.min(blocks, T.ceildiv((bx + 1) * block_M, block_N))
            for k in T.Pipelined(blocks, num_stages=2):
                scores(K, Q_shared, K_shared, acc_s, k, bx, by, bz)
                online_softmax(acc_s, acc_s_cast, m, m_prev, correction, sums, total)
                for i, j in T.Parallel(block_M, dim):
                    acc_o[i, j] *= correction[i]
                T.copy(V[bz, k * block_N : (k + 1) * block_N, by, :], V_shared)
                T.gemm(acc_s_cast, V_shared, acc_o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                acc_o[i, j] /= total[i]
            T.copy(acc_o, Out[bz, bx * block_M : (bx + 1) * block_M, by, :])

    return attention


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("seq", [64, 50])
def test_flash_attention(is_causal, seq):
    rng = numpy.random.default_rng(4)
    q, k, v = (rng.standard_normal((2, seq, 2, 32)).astype("float16") for _ in range(3))
    found = flash_attention(2, 2, seq, 32, is_causal)(q, k, v)
    exact_q, exact_k, exact_v = (t.astype("float64").transpose(0, 2, 1, 3) for t in (q, k, v))
    weights = exact_q @ exact_k.transpose(0, 1, 3, 2) / 32**0.5
    if is_causal:
        weights[..., ~numpy.tri(seq, dtype=bool)] = -numpy.inf
    weights = numpy.exp(weights - weights.max(-1, keepdims=True))
    exact = (weights / weights.sum(-1, keepdims=True)) @ exact_v
    numpy.testing.assert_allclose(found, exact.transpose(0, 2, 1, 3), rtol=5e-3, atol=5e-3)
