# SPDX-License-Identifier: Apache-2.0
"""T.ldg32 to T.sts128: loads and stores of so many bits."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

N = 64


def test_loads_and_stores_of_each_width(agree, random):
    """Through global and shared memory, with words of one dtype and elements of another."""

    @T.prim_func
    def moved(
        A: T.Tensor((N,), "float32"),
        H: T.Tensor((2, N), "float16"),
        B: T.Tensor((4, N), "float32"),
        G: T.Tensor((2, N), "float16"),
    ):
        with T.Kernel(1, threads=8):
            t = T.get_thread_binding()
            s = T.alloc_shared((N,), "float32")
            B[0, t] = T.reinterpret(T.ldg32(A[t]), T.float32)
            T.stg64(B[1, t * 2], T.ldg64(A[t * 2 : t * 2 + 2]))
            T.sts128(s[t * 4 : t * 4 + 4], T.ldg128(A[t * 4 : t * 4 + 4]))
            B[2, t * 4 : t * 4 + 4] = T.reinterpret(T.float32x4, T.lds128(s[t * 4]))
            T.stg256(B[3, t * 8], T.ldg256(A[t * 8]))
            T.stg128(G[0, t * 8], T.ldg128(H[0, t * 8]))
            T.sts64(s[t * 2], T.ldg64(H[1, t * 4]))
            T.stg64(G[1, t * 4], T.lds64(s[t * 2]))
            T.sts32(s[t], T.ldg32(H[1, 32 + t * 2]))
            T.stg32(G[1, 32 + t * 2], T.lds32(s[t]))

    a = random.standard_normal(N).astype(np.float32)
    h = random.standard_normal((2, N)).astype(np.float16)
    b, g = np.zeros((4, N), np.float32), np.zeros((2, N), np.float16)
    rows = b.copy()
    for row, count in enumerate((8, 16, 32, 64)):
        rows[row, :count] = a[:count]
    halves = g.copy()
    halves[0], halves[1, :48] = h[0], h[1, :48]
    agree(moved, [a, h, b, g], {2: rows, 3: halves}, 0)


def test_conditions_and_other_elements(agree):
    """A load that is not done gives 0, a store that is not done nothing; bytes and doubles."""

    @T.prim_func
    def some(A: T.Tensor((N,), "int8"), B: T.Tensor((N,), "int8"), D: T.Tensor((8,), "float64")):
        with T.Kernel(1, threads=8):
            t = T.get_thread_binding()
            T.stg64(B[t * 8], T.ldg64(A[t * 8], pred=t % 2 == 0), pred=t != 3)
            T.stg64(D[t], T.cast(t + 1, "uint64") << 52, pred=t < 4)

    a = np.arange(N).astype(np.int8)
    expected = np.where((np.arange(N) // 8) % 2 == 0, a, 0).astype(np.int8)
    expected[24:32] = -1
    words = (np.arange(1, 5, dtype=np.uint64) << np.uint64(52)).view(np.float64)
    doubles = np.concatenate([words, np.ones(4)])
    agree(some, [a, np.full(N, -1, np.int8), np.ones(8)], {1: expected, 2: doubles}, 0)


MISTAKES = {
    "T.ldg32(S[0])": "T.ldg32 is for global memory, but 'S' is in shared",
    "T.sts64(A[0], T.ldg64(A[0]))": "T.sts64 is for shared memory, but 'A' is in global",
    "T.ldg32(3)": "T.ldg32 takes a buffer, a part of one or an element",
    "T.ldg32(D[0])": "T.ldg32 moves 32 bits, which are no whole elements of float64",
    "T.ldg256(A)": "T.ldg256 moves 8 elements of float32, but a row of 'A' has 4",
    "T.stg128(A[0], T.ldg64(A[0]))": "T.stg128 stores 128 bits, but the value has 64",
}


@pytest.mark.parametrize("source", list(MISTAKES))
def test_mistakes(source, tmp_path):
    import linecache

    text = (
        "@T.prim_func\n"
        "def kernel(A: T.Tensor((4,), 'float32'), D: T.Tensor((4,), 'float64')):\n"
        "    with T.Kernel(1, threads=1):\n"
        "        S = T.alloc_shared((8,), 'float32')\n"
        f"        {source}\n"
    )
    name = f"<wide {hash(source)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"T": T, "__name__": __name__}
    exec(compile(text, name, "exec"), names)
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(names["kernel"])
    assert [d.message for d in caught.value.errors] == [MISTAKES[source]]
