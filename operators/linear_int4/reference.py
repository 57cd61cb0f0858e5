# SPDX-License-Identifier: Apache-2.0
"""What linear_int4 computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """A, W in bytes, and the scales in float32."""
    a = random.standard_normal((case["m"], case["k"]))
    w = random.integers(0, 256, (case["n"], case["k"] // 2)).astype(np.uint8)
    return [a, w, random.random(case["n"]).astype(np.float32)]


def reference(case: dict[str, Any], a: Array, w: Array, scale: Array) -> Array:
    """A times the transpose of (each 4 bits less 8, times its row's scale)."""
    wide = np.concatenate((w & 15, w >> 4), axis=1).astype(np.float64) - 8
    return a.astype(np.float64) @ (wide * scale.astype(np.float64)[:, None]).T
