# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding: the two halves of each head turn by an angle per position and column."""

import tilewright
import tilewright.language as T


@tilewright.jit(out_idx=[3], pass_configs={tilewright.PassConfigKey.TL_ENABLE_FAST_MATH: True})
def rope(length: int, heads: int, dim: int, dtype: str):
    """X and the result [length, heads, dim]; cosines and sines [length, dim / 2] in float32.
    ValueError where dim is odd."""
    if dim % 2:
        raise ValueError(f"rope turns two halves of a head, but dim is {dim}")
    half = dim // 2

    @T.prim_func
    def rope_kernel(
        X: T.Tensor((length, heads, dim), dtype),
        Cos: T.Tensor((length, half), "float32"),
        Sin: T.Tensor((length, half), "float32"),
        Y: T.Tensor((length, heads, dim), dtype),
    ):
        with T.Kernel(length, threads=128) as at:
            for head, j in T.Parallel(heads, half):
                left = T.cast(X[at, head, j], "float32")
                right = T.cast(X[at, head, j + half], "float32")
                Y[at, head, j] = left * Cos[at, j] - right * Sin[at, j]
                Y[at, head, j + half] = right * Cos[at, j] + left * Sin[at, j]

    return rope_kernel
