# SPDX-License-Identifier: Apache-2.0
"""What softmax computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """X."""
    rows, columns = case["rows"], case["columns"]
    return [random.standard_normal((rows, columns)) * 4]


def reference(case: dict[str, Any], x: Array) -> Array:
    """Along the rows."""
    wide = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis=1, keepdims=True))
    result: Array = wide / wide.sum(axis=1, keepdims=True)
    return result
