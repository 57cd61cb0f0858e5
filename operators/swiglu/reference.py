# SPDX-License-Identifier: Apache-2.0
"""What swiglu computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """A and B."""
    return [random.standard_normal(case["count"]) * 4 for _ in range(2)]


def reference(case: dict[str, Any], a: Array, b: Array) -> Array:
    """a / (1 + e^-a) b."""
    wide = a.astype(np.float64)
    result: Array = wide / (1 + np.exp(-wide)) * b.astype(np.float64)
    return result
