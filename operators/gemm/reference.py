# SPDX-License-Identifier: Apache-2.0
"""What gemm computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """A and B."""
    shapes = (case["m"], case["k"]), (case["k"], case["n"])
    if case["dtype"] == "int8":
        return [random.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    return [random.standard_normal(shape) for shape in shapes]


def reference(case: dict[str, Any], a: Array, b: Array) -> Array:
    """A B; exact for int8."""
    return a.astype(np.float64) @ b.astype(np.float64)
