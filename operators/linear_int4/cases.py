# SPDX-License-Identifier: Apache-2.0
"""One row and some."""

CASES = [
    {"m": m, "n": n, "k": 512, "dtype": dtype, "block_k": 128}
    for dtype in ("float32", "bfloat16")
    for m in (1, 4, 16)
    for n in (64, 50)
]
CASES += [{**case, "w_left": True} for case in CASES if case["m"] == 16]
CASES += [{**case, "gemm_from": 1} for case in CASES if case["m"] == 1]
