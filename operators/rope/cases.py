# SPDX-License-Identifier: Apache-2.0
"""Halves that fill vectors, and halves that do not."""

CASES = [
    {"length": 5, "heads": 3, "dim": dim, "dtype": dtype}
    for dtype in ("float32", "bfloat16")
    for dim in (128, 24)
]
