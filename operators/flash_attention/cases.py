# SPDX-License-Identifier: Apache-2.0
"""Full and causal, with a length that fits the blocks and one that does not."""

SMALL = {"block_m": 32, "block_n": 16}
CASES = [
    {"heads": 2, "length": length, "dim": 64, "dtype": dtype, "causal": causal} | SMALL
    for dtype in ("float32", "bfloat16")
    for causal in (False, True)
    for length in (64, 83)
]
