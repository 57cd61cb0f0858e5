# SPDX-License-Identifier: Apache-2.0
"""Whole blocks, and a ragged end."""

CASES = [
    {"count": count, "dtype": dtype, "block": 64}
    for dtype in ("float32", "bfloat16")
    for count in (128, 1000)
]
