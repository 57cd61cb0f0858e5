# SPDX-License-Identifier: Apache-2.0
"""Products of matrices whose sizes are no multiples of the tiles': the arguments of kernels, what
is expected of them, and sizes to try."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import tilewright.language as T

Array = np.ndarray[Any, Any]
Layout = tuple[bool, bool]  #: whether a and b are transposed
LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]
Sizes = tuple[Any, Any, Any]  #: rows and columns of the product, and k
#: Of a kernel and of its tiles: with and without tails, below one fractal, one row, one column.
SIZES = [
    ((70, 50, 45), (32, 32, 32)),
    ((100, 72, 96), (64, 32, 64)),
    ((33, 97, 33), (32, 64, 32)),
    ((7, 5, 3), (32, 32, 32)),
    ((1, 64, 130), (64, 64, 64)),
    ((64, 1, 64), (32, 32, 32)),
    ((90, 10, 100), (64, 16, 32)),
]


def shapes(sizes: Sizes, layout: Layout) -> list[tuple[Any, Any]]:
    """Of a and b, as they lie in memory."""
    m, n, k = sizes
    return [(k, m) if layout[0] else (m, k), (n, k) if layout[1] else (k, n)]


def operands(
    random: np.random.Generator, sizes: tuple[int, int, int], layout: Layout, dtype: str
) -> tuple[list[Array], Array]:
    """The three arguments, of whole numbers, whose products are exact, and what is expected."""
    m, n, k = sizes
    number = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    a, b = (random.integers(-8, 9, shape).astype(number) for shape in ((m, k), (k, n)))
    result = np.zeros((m, n), np.int32 if dtype == "int8" else np.float32)
    given = [np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), layout, strict=True)]
    return [*given, result], a.astype(np.float64) @ b.astype(np.float64)


@T.macro
def load_parts(
    A: Any,  # noqa: ANN401
    B: Any,  # noqa: ANN401
    a: Any,  # noqa: ANN401
    b: Any,  # noqa: ANN401
    at: Sizes,
    count: Sizes,
    layout: Layout,
) -> None:
    """Of a step: `count` rows, columns and numbers of k from the places `at` on."""
    x, y, z = at
    m, n, k = count
    if layout[0]:
        T.copy(A[z : z + k, x : x + m], a[0:k, 0:m])
    else:
        T.copy(A[x : x + m, z : z + k], a[0:m, 0:k])
    if layout[1]:
        T.copy(B[y : y + n, z : z + k], b[0:n, 0:k])
    else:
        T.copy(B[z : z + k, y : y + n], b[0:k, 0:n])
