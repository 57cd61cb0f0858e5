# SPDX-License-Identifier: Apache-2.0
"""What rms_norm computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """X and the weights."""
    rows, columns = case["rows"], case["columns"]
    return [random.standard_normal((rows, columns)), random.standard_normal(columns)]


def reference(case: dict[str, Any], x: Array, weight: Array) -> Array:
    """x / sqrt(mean(x^2) + 1e-6), times the weights."""
    wide = x.astype(np.float64)
    root = np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6)
    result: Array = wide / root * weight.astype(np.float64)
    return result
