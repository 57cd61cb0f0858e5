# SPDX-License-Identifier: Apache-2.0
"""Shapes that fit the blocks, and shapes that do not."""

SMALL = {"block_m": 64, "block_n": 64, "block_k": 32}
CASES = (
    [
        {"m": m, "n": n, "k": k, "dtype": dtype, "fast": True} | SMALL
        for dtype in ("float32", "float16")
        for m, n, k in ((128, 64, 96), (70, 130, 45))
    ]
    + [
        {"m": m, "n": n, "k": k, "dtype": dtype} | SMALL
        for dtype in ("float32", "float16", "bfloat16", "int8")
        for m, n, k in ((128, 64, 96), (70, 130, 45))
    ]
    + [
        {"m": m, "n": n, "k": k, "dtype": dtype, "rows": 64, "block_m": 32, "block_n": 64}
        for dtype in ("float32", "float16", "bfloat16", "int8")
        for m, n, k in ((128, 128, 96), (70, 130, 45))
    ]
    + [
        {"m": m, "n": n, "k": k, "dtype": dtype, "fast": True, "rows": 64, "block_m": 32}
        | {"block_n": 64}
        | depth
        for depth in ({}, {"block_k": 32})
        for dtype in ("float32", "float16")
        for m, n, k in ((128, 128, 96), (70, 130, 45))
    ]
    + [
        {"m": m, "n": n, "k": k, "dtype": dtype, "rows": 64, "block_k": 32}
        | {"block_m": 32, "block_n": 64}
        for dtype in ("float32", "float16", "bfloat16", "int8")
        for m, n, k in ((128, 128, 96), (70, 130, 45))
    ]
)
