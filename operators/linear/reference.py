# SPDX-License-Identifier: Apache-2.0
"""What linear computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """A and W."""
    return [random.standard_normal((rows, case["k"])) for rows in (case["m"], case["n"])]


def reference(case: dict[str, Any], a: Array, w: Array) -> Array:
    """A W^T."""
    return a.astype(np.float64) @ w.astype(np.float64).T
