# SPDX-License-Identifier: Apache-2.0
"""What rope computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """X, and the cosines and sines of the angles, in float32."""
    x = random.standard_normal((case["length"], case["heads"], case["dim"]))
    angle = np.outer(np.arange(case["length"]), 10000.0 ** -np.linspace(0, 1, case["dim"] // 2))
    return [x, np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)]


def reference(case: dict[str, Any], x: Array, cos: Array, sin: Array) -> Array:
    """Column j and column j + dim / 2 as a point in the plane, turned."""
    left, right = np.split(x.astype(np.float64), 2, axis=-1)
    c, s = cos[:, None].astype(np.float64), sin[:, None].astype(np.float64)
    return np.concatenate((left * c - right * s, right * c + left * s), axis=-1)
