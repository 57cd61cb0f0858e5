# SPDX-License-Identifier: Apache-2.0
"""By rows and by columns, full and causal, with lengths that fit the blocks and that do not."""

SMALL = {"block_m": 32, "block_n": 16}
CASES = [
    {"heads": 2, "length": length, "dim": 64, "dtype": dtype, "causal": causal} | SMALL | form
    for dtype in ("float32", "bfloat16")
    for causal in (False, True)
    for length in (64, 83)
    for form in (
        {},
        {"strip": 16},
        {"strip": 16, "panel": 16},
        {"strip": 32},
        {"strip": 64, "block_m": 128},
    )
]
