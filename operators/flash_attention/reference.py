# SPDX-License-Identifier: Apache-2.0
"""What attention computes, in float64."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def inputs(random: np.random.Generator, case: dict[str, Any]) -> list[Array]:
    """Q, K and V."""
    shape = (case["heads"], case["length"], case["dim"])
    return [random.standard_normal(shape) for _ in range(3)]


def reference(case: dict[str, Any], q: Array, k: Array, v: Array) -> Array:
    """softmax(Q K^T / sqrt(dim)) V; causal: a row sees the columns up to its own."""
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    score = q @ k.transpose(0, 2, 1) * case["dim"] ** -0.5
    if case["causal"]:
        score = np.where(np.tril(np.ones(score.shape[1:], bool)), score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    result: Array = weight / weight.sum(axis=-1, keepdims=True) @ v
    return result
