# SPDX-License-Identifier: Apache-2.0
"""What layer_norm computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """X, the weights and the bias."""
    rows, columns = case["rows"], case["columns"]
    return [random.standard_normal((rows, columns)) + 1, *random.standard_normal((2, columns))]


def reference(case: dict[str, Any], x: Array, weight: Array, bias: Array) -> Array:
    """(x - mean) / sqrt(variance + 1e-5), times the weights, plus the bias."""
    wide = x.astype(np.float64)
    wide = wide - wide.mean(axis=1, keepdims=True)
    root = np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5)
    result: Array = wide / root * weight.astype(np.float64) + bias.astype(np.float64)
    return result
