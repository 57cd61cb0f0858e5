# SPDX-License-Identifier: Apache-2.0
"""Functions of all numbers of 16 bits: each answer is the right one, or next to it."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T

torch = pytest.importorskip("torch")


def sigmoid(x):
    """Where exp(x) or exp(-x) is infinite, the other form is taken."""
    small = np.exp(np.minimum(x, 0))
    return np.where(x < 0, small / (1 + small), 1 / (1 + np.exp(-np.maximum(x, 0))))


#: What each is in float64.
FUNCTIONS = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf),
    "floor": np.floor,
    "ceil": np.ceil,
    "nearbyint": np.rint,
    "trunc": np.trunc,
}
COUNT = 1 << 16


def distances(found, exact, dtype):
    """How many numbers of the dtype lie between what was found and the exact answer, rounded; both
    are no number where it is none. 0 is its own negative."""
    found = found.view(np.uint16).astype(np.int64)
    rounded = exact.astype(dtype).view(np.uint16).astype(np.int64)
    nothing = np.isnan(exact)
    is_nan = np.isnan(found.astype(np.uint16).view(dtype).astype(np.float64))
    np.testing.assert_array_equal(is_nan, nothing)
    places = [np.where(bits >= 0x8000, 0x8000 - bits, bits) for bits in (found, rounded)]
    return np.where(nothing, 0, np.abs(places[0] - places[1]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("target", "names"), [("cpu", [*FUNCTIONS]), ("reference", ["sigmoid", "tanh", "exp10"])]
)
def test_all_numbers(target, names, dtype):
    number = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    given = np.arange(COUNT, dtype=np.uint16)
    with np.errstate(all="ignore"):
        wide = given.view(number).astype(np.float64)
    for name in names:
        function = getattr(T, name)

        @T.prim_func
        def kernel(A: T.Tensor((COUNT,), dtype), B: T.Tensor((COUNT,), dtype)):
            with T.Kernel(COUNT // 1024) as block:
                for i in T.Parallel(1024):
                    B[block * 1024 + i] = function(A[block * 1024 + i])  # noqa: B023

        a = torch.from_numpy(given.view(np.int16).copy()).view(getattr(torch, dtype))
        b = torch.zeros_like(a)
        tilewright.compile(kernel, target=target)(a, b)
        with np.errstate(all="ignore"):
            exact = FUNCTIONS[name](wide)
            far = distances(b.view(torch.int16).numpy(), exact, number)
        worst = far.argmax()
        assert far[worst] <= 1, f"{name}({wide[worst]}) is {b[worst]}, not {exact[worst]}"
