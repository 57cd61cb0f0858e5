# SPDX-License-Identifier: Apache-2.0
"""T.gemm_sp: two of every four numbers of A, and metadata that says which."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.language.values import LanguageError

M, N, K = 32, 24, 64
NUMPY = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "int8": np.int8,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
}


def packed(random, dtype, words):
    """A matrix with zeros, its stored numbers and its metadata, made number by number."""
    stored, of = (1, 2) if dtype == "float32" else (2, 4)
    bits = np.dtype(words).itemsize * 8
    dense = np.zeros((M, K), np.float32)
    numbers = np.zeros((M, K * stored // of), np.float32)
    metadata = np.zeros((M, K // of * 4 // bits), np.uint64)
    for row in range(M):
        for group in range(K // of):
            places = sorted(random.choice(of, stored, replace=False))
            for number, place in enumerate(places):
                value = random.integers(-4, 5)
                dense[row, group * of + place] = value
                numbers[row, group * stored + number] = value
            code = places[0] + 4 * places[1] if stored == 2 else (4, 14)[places[0]]
            word, shift = divmod(group * 4, bits)
            metadata[row, word] += np.uint64(int(code) << shift)
    return dense, numbers.astype(NUMPY[dtype]), metadata.astype(f"u{words}").view(words)


def sparse_matmul(dtype, total, words, transposes=(False, False, False), steps=2):
    in_a, in_e, in_b = transposes
    stored, of = (1, 2) if dtype == "float32" else (2, 4)
    numbers, covered = K * stored // of, np.dtype(words).itemsize * 2 * of

    def shape(rows, columns, is_transposed):
        return (columns, rows) if is_transposed else (rows, columns)

    @T.prim_func
    def kernel(
        A: T.Tensor(shape(M, numbers, in_a), dtype),
        E: T.Tensor(shape(M, K // covered, in_e), words),
        B: T.Tensor(shape(K, N, in_b), dtype),
        C: T.Tensor((M, N), total),
    ):
        with T.Kernel(2, threads=128) as by:
            a = T.alloc_shared(shape(16, numbers // steps, in_a), dtype)
            e = T.alloc_shared(shape(16, K // covered // steps, in_e), words)
            b = T.alloc_shared(shape(K // steps, N, in_b), dtype)
            c = T.alloc_fragment((16, N), total)
            T.clear(c)
            for k in T.Pipelined(steps, num_stages=2):
                at_a = shape(by * 16, k * (numbers // steps), in_a)
                at_e = shape(by * 16, k * (K // covered // steps), in_e)
                at_b = shape(k * (K // steps), 0, in_b)
                T.copy(A[at_a[0], at_a[1]], a)
                T.copy(E[at_e[0], at_e[1]], e)
                T.copy(B[at_b[0], at_b[1]], b)
                T.gemm_sp(a, e, b, c, in_a, in_e, in_b, policy=T.GemmWarpPolicy.FullRow)
            T.copy(c, C[by * 16, 0])

    return kernel


def run(agree, random, dtype, total, words, transposes=(False, False, False)):
    dense, numbers, metadata = packed(random, dtype, words)
    b = random.integers(-4, 5, (K, N)).astype(np.float32)
    given = [numbers, metadata, b.astype(NUMPY[dtype])]
    given = [a.T.copy() if swaps else a for a, swaps in zip(given, transposes, strict=True)]
    c = np.zeros((M, N), np.int32 if total == "int32" else np.float32)
    agree(sparse_matmul(dtype, total, words, transposes), [*given, c], {3: (dense @ b)})


@pytest.mark.parametrize("words", ["int8", "int16", "int32"])
@pytest.mark.parametrize("dtype", NUMPY)
def test_gemm_sp(agree, random, dtype, words):
    run(agree, random, dtype, "int32" if dtype == "int8" else "float32", words)


@pytest.mark.parametrize(
    "transposes", [(True, True, False), (False, False, True), (True, False, True)]
)
def test_gemm_sp_transposed(agree, random, transposes):
    run(agree, random, "float16", "float32", "int16", transposes)


def test_gemm_sp_of_parts(agree, random):
    """Parts of tiles, and an accumulator that is cleared."""

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K // 2), "float16"),
        E: T.Tensor((M, K // 16), "int16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((2, M, K // 2), "float16")
            e = T.alloc_shared((2, M, K // 16), "int16")
            b = T.alloc_shared((K, N), "float16")
            c = T.alloc_fragment((M, N), "float32")
            T.copy(A, a[1, :, :])
            T.copy(E, e[1, :, :])
            T.copy(B, b)
            for _ in T.serial(2):
                T.gemm_sp(a[1, :, :], e[1, :, :], b, c, clear_accum=True)
            T.copy(c, C)

    dense, numbers, metadata = packed(random, "float16", "int16")
    b = random.integers(-4, 5, (K, N)).astype(np.float16)
    c = np.zeros((M, N), np.float32)
    agree(kernel, [numbers, metadata, b, c], {3: dense @ b.astype(np.float32)})


def test_what_compress_makes():
    torch = pytest.importorskip("torch")
    sparse = pytest.importorskip("tilewright.sparse")
    torch.manual_seed(1)
    for dtype, total, words in [
        (torch.float16, "float32", "int16"),
        (torch.float32, "float32", "int16"),
        (torch.int8, "int32", "int32"),
    ]:
        if dtype == torch.int8:
            a = sparse.randint_semi_sparse(M, K, -4, 5, dtype=dtype)
            b = torch.randint(-4, 5, (K, N)).to(dtype)
        else:
            a = sparse.randn_semi_sparse(M, K, dtype=dtype)
            b = torch.randn(K, N).to(dtype)
        name = str(dtype).removeprefix("torch.")
        numbers, metadata = sparse.compress(a, getattr(torch, words))
        assert metadata.shape[1] * sparse.get_e_factor(name, words) == K
        c = torch.zeros(M, N, dtype=getattr(torch, total))
        tilewright.compile(sparse_matmul(name, total, words))(numbers, metadata, b, c)
        wanted = a.double() @ b.double()
        torch.testing.assert_close(c.double(), wanted, rtol=1e-5, atol=1e-3)
    few = torch.zeros(16, 32, dtype=torch.float16)
    few[:, 4] = 3
    numbers, metadata = sparse.compress(few)
    assert numbers.sum() == 48 and int(metadata[0, 0]) == 0b0100_0100_0100_0100
    with pytest.raises(ValueError, match="a group of 4 numbers holds more than 2 that aren't 0"):
        sparse.compress(torch.ones(16, 32).half())
    with pytest.raises(ValueError, match="compress takes a matrix with a multiple of 16 columns"):
        sparse.compress(torch.ones(16, 40).half())


def message_of(words="int16", columns=K // 16, dtype="float16", metadata=False, part=None):
    from tilewright.layout import make_cutlass_metadata_layout

    @T.prim_func
    def wrong(C: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, K // 2), dtype)
            e = T.alloc_shared((M, columns), words)
            b = T.alloc_shared((K, N), dtype)
            c = T.alloc_fragment((M, N), "float32")
            if metadata:
                T.annotate_layout({e: make_cutlass_metadata_layout(e)})
            first = a if part is None else T.alloc_shared((8,), dtype)
            for n in T.serial(M):
                T.gemm_sp(a[0:n, :] if part == "rows" else first, e, b, c)
            T.copy(c, C)

    with pytest.raises((LanguageError, tilewright.CompileError)) as found:
        wrong.capture()
    return str(found.value)


def test_compress_takes_what_gemm_sp_does():
    torch = pytest.importorskip("torch")
    sparse = pytest.importorskip("tilewright.sparse")
    for dtype in (torch.float64, torch.int32, torch.int64):
        message = f"compress takes numbers of 8 or 16 bits, or float32, not {str(dtype)[6:]}"
        with pytest.raises(TypeError, match=message):
            sparse.compress(torch.zeros(16, 64, dtype=dtype))
    for dtype, columns in ((torch.float16, 32), (torch.float32, 32)):
        numbers, metadata = sparse.compress(torch.zeros(0, 64, dtype=dtype))
        assert numbers.shape == (0, columns) and numbers.dtype == dtype
        assert metadata.shape == (0, 64 // sparse.get_e_factor(str(dtype)[6:], "int16"))


def test_what_gemm_sp_refuses():
    assert (
        "A has 32 rows of 32 numbers, which stand for 64; a word of int16 describes 16 of these, "
        "but E has 32 rows of 9 words"
    ) in message_of(columns=9)
    assert "A of T.gemm_sp needs a buffer of two dims, or a part of one" in message_of(part="dims")
    assert "A of T.gemm_sp has extents that aren't known: write" in message_of(part="rows")
    assert "E of T.gemm_sp holds integers of 8 to 32 bits, not float16" in message_of("float16")
    assert "T.gemm_sp of float64 is not supported; use 8 or 16 bits, or float32" in message_of(
        dtype="float64"
    )
    assert (
        "the order of CUTLASS's metadata, which 'e' is annotated with, is not supported; "
        "T.gemm_sp takes it row by row, as tilelang.utils.sparse.compress does"
    ) in message_of(metadata=True)


def test_counted_numbers_of_which_half_are_zero():
    """Of each four numbers the greater two are gone; T.gemm_sp has an older name, too."""
    torch = pytest.importorskip("torch")
    sparse = pytest.importorskip("tilewright.sparse")
    counted = sparse.arange_semi_sparse(2, 8, dtype=torch.int8).tolist()
    assert counted == [[0, 1, 0, 0, 4, 5, 0, 0], [8, 9, 0, 0, 12, 13, 0, 0]]
    assert T.gemm_sp_v2 is T.gemm_sp
