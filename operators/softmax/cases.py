# SPDX-License-Identifier: Apache-2.0
"""Rows that fill vectors, and rows that do not."""

CASES = [
    {"rows": rows, "columns": columns, "dtype": dtype}
    for dtype in ("float32", "bfloat16")
    for rows, columns in ((8, 256), (5, 75))
]
