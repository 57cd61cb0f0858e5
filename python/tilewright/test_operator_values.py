# SPDX-License-Identifier: Apache-2.0
"""Each operator computes, on the CPU and in the interpreter, what NumPy computes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright import _compiler, _runtime

SIZE = 256
Array = np.ndarray[Any, Any]

INTEGER_OPS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "truncdiv": lambda a, b: (a - np.fmod(a, b)) // b,
    "truncmod": np.fmod,
    "ceildiv": lambda a, b: -(-a.astype(object) // b.astype(object)),
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
}
REAL_OPS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.fmin,
    "max": np.fmax,
    "fmod": np.fmod,
    "lt": np.less,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: 10.0**x,
    "log1p": lambda x: np.log1p(np.abs(x)),
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "rsqrt": lambda x: 1 / np.sqrt(np.abs(x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "sin": np.sin,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "nearbyint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}


def run_everywhere(
    build: Callable[[_compiler.KernelBuilder, list[_compiler.Value]], _compiler.Value],
    inputs: list[Array],
    result: str,
    folder: Path,
) -> list[Array]:
    """Of a kernel with one value per element: the results of the CPU and of the interpreter."""
    b = _compiler.KernelBuilder("kernel", _compiler.Place(__file__, 1, 1))
    tensors = [b.tensor(f"I{n}", [SIZE], str(x.dtype)) for n, x in enumerate(inputs)]
    out = b.tensor("O", [SIZE], result)
    b.begin_launch([1], [32])
    (i,) = b.begin_parallel([SIZE], ["i"])
    b.store(out, [i], build(b, [b.load(tensor, [i]) for tensor in tensors]))
    b.end_parallel()
    b.end_launch()
    module = b.finish()
    assert module is not None, [str(diagnostic) for diagnostic in b.diagnostics]
    artifact, diagnostics = _compiler.compile(module)
    assert artifact is not None, [str(diagnostic) for diagnostic in diagnostics]
    library = folder / "kernel.so"
    library.write_bytes(artifact.library)
    compiled, interpreted = np.zeros(SIZE, result), np.zeros(SIZE, result)
    _runtime.Kernel(str(library), artifact.manifest, [])(*inputs, compiled)
    arguments = [(x.ctypes.data, [SIZE], []) for x in [*inputs, interpreted]]
    assert _compiler.interpret(module, arguments)[1] == []
    return [compiled, interpreted]


def integers(dtype: str, seed: int) -> Array:
    info = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    small = random.integers(max(info.min, -20), 20, SIZE // 2)
    large = random.integers(info.min, info.max, SIZE // 2, dtype=dtype)
    return np.concatenate([small.astype(dtype), large])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
def test_integers(dtype: str, tmp_path: Path) -> None:
    a, b = integers(dtype, 1), integers(dtype, 2)
    b[b == 0] = 3
    b[b == -1] = 2 if a.min() < 0 else b.max()  # the quotient of the least number and -1 overflows
    for op, reference in INTEGER_OPS.items():
        expected = reference(a, b)
        result = "bool" if expected.dtype == bool else dtype
        for actual in run_everywhere(
            lambda k, v, op=op: k.binary(op, *v), [a, b], result, tmp_path
        ):
            np.testing.assert_array_equal(actual, expected.astype(result), err_msg=op)


@pytest.mark.parametrize("divisor", [8, 7, -8, -3])
def test_divisors_that_are_known(divisor: int, tmp_path: Path) -> None:
    a = integers("int32", 3)
    for op in ("floordiv", "floormod", "truncdiv", "truncmod"):
        expected = INTEGER_OPS[op](a.astype(np.int64), np.full(SIZE, divisor)).astype("int32")
        for actual in run_everywhere(
            lambda k, v, op=op: k.binary(op, v[0], divisor), [a], "int32", tmp_path
        ):
            np.testing.assert_array_equal(actual, expected, err_msg=op)


def reals(seed: int) -> Array:
    x = np.random.default_rng(seed).normal(scale=3, size=SIZE).astype("float32")
    x[:6] = [0.0, -0.0, np.nan, np.inf, -np.inf, 2.5]
    return x


def test_reals(tmp_path: Path) -> None:
    a, b = reals(4), np.roll(reals(5), 3)
    for op, reference in REAL_OPS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = reference(a, b)
        result = str(expected.dtype)
        for actual in run_everywhere(
            lambda k, v, op=op: k.binary(op, *v), [a, b], result, tmp_path
        ):
            np.testing.assert_array_equal(actual, expected, err_msg=op)


def test_functions(tmp_path: Path) -> None:
    x = reals(6)
    for op, reference in FUNCTIONS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = reference(x.astype("float64"))
        takes_positive = op in ("log1p", "sqrt", "rsqrt")
        result = "bool" if expected.dtype == bool else "float32"
        for actual in run_everywhere(
            lambda k, v, op=op, absolute=takes_positive: k.unary(
                op, k.unary("abs", v[0]) if absolute else v[0]
            ),
            [x],
            result,
            tmp_path,
        ):
            np.testing.assert_allclose(
                actual, expected.astype(result), rtol=2e-6, atol=1e-6, err_msg=op
            )


@pytest.mark.parametrize(
    "target", ["int8", "uint8", "int32", "int64", "float16", "float64", "bool"]
)
@pytest.mark.parametrize("source", ["int8", "uint8", "int32", "float32", "float16", "bool"])
def test_casts(source: str, target: str, tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    # Of a real number, only what the integer can hold has one meaning.
    low = 0 if target == "uint8" or source in ("uint8", "bool") else -100
    x = random.integers(low, 2 if source == "bool" else 100, SIZE).astype(source)
    if source.startswith("float"):
        x = (x + np.asarray(0.5, source)).astype(source)
    for actual in run_everywhere(lambda k, v: k.cast(v[0], target), [x], target, tmp_path):
        np.testing.assert_array_equal(actual, x.astype(target))
