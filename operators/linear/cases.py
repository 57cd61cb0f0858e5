# SPDX-License-Identifier: Apache-2.0
"""One row and some; shapes that fit the blocks, and shapes that do not."""

CASES = [
    {"m": m, "n": n, "k": k, "dtype": dtype}
    for dtype in ("float32", "bfloat16")
    for m in (1, 4, 16)
    for n, k in ((64, 512), (50, 300))
]
CASES += [{**case, "gemm_from": 1} for case in CASES if case["m"] == 1]
CASES += [{**case, "w_left": True, "block_k": 512} for case in CASES if case["m"] == 16]
