# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel on every target that runs here and compares: with each other, and with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright
from tilewright import _compiler

# Largest difference relative to the largest magnitude of the result. Half a unit in the last place
# is 2^-11 (f16), 2^-8 (bf16), 2^-24 (f32): a few roundings of the type are allowed, and for f32,
# which is also the accumulator, the error of a sum of some hundred terms (Higham, Accuracy and
# Stability of Numerical Algorithms, section 4.2).
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-12}

Array = np.ndarray[Any, Any]


def as_argument(array: Array | float) -> Any:
    """What the interpreter binds: memory as (address, shape, strides in elements), or a number."""
    if isinstance(array, np.ndarray):
        return array.ctypes.data, list(array.shape), [s // array.itemsize for s in array.strides]
    return array


def as_tensor(array: Array | float) -> Any:
    """What a compiled kernel takes: NumPy has no DLPack for bfloat16 and fp8, PyTorch has."""
    if isinstance(array, np.ndarray) and array.dtype.name in (
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
    ):
        torch = pytest.importorskip("torch")
        bits = array.view(np.int16 if array.itemsize == 2 else np.uint8)
        return torch.from_numpy(bits).view(getattr(torch, array.dtype.name))
    return array


def check_close(actual: Array, expected: Array, what: str, tolerance: float | None) -> None:
    if actual.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    bound = tolerance if tolerance is not None else TOLERANCE.get(actual.dtype.name, 0.07)
    wide, reference = actual.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(wide), np.isnan(reference), err_msg=what)
    infinite = np.isinf(reference)
    np.testing.assert_array_equal(wide[infinite], reference[infinite], err_msg=what)
    finite = np.isfinite(reference)
    scale = max(np.abs(reference[finite]).max(initial=0), np.finfo(np.float32).tiny)
    error = np.abs(wide[finite] - reference[finite]).max(initial=0) / scale
    assert error <= bound, f"{what}: relative error {error:.3g} is above {bound:.3g}"


class Agreement:
    """`agree(kernel, arguments, {parameter number: expected array})`. Arguments are all parameters;
    arrays are copied before each run. The kernel is compiled for each of `cpus`."""

    def __call__(
        self,
        kernel: Any,
        arguments: Sequence[Array | float],
        expected: dict[int, Array],
        tolerance: float | None = None,
        cpus: Sequence[str] = ("native",),
    ) -> None:
        reference = self.interpreted(kernel, arguments)
        for number, wanted in expected.items():
            check_close(reference[number], wanted, f"interpreter, argument {number}", tolerance)
        for cpu in cpus:
            compiled = self.compiled(kernel, arguments, cpu)
            for number, wanted in expected.items():
                check_close(compiled[number], wanted, f"cpu {cpu}, argument {number}", tolerance)
            for number, (ours, theirs) in enumerate(zip(compiled, reference, strict=True)):
                if isinstance(ours, np.ndarray):
                    what = f"cpu {cpu} against interpreter, argument {number}"
                    check_close(ours, theirs, what, tolerance)

    @staticmethod
    def interpreted(kernel: Any, arguments: Sequence[Array | float]) -> list[Any]:
        own = [a.copy("K") if isinstance(a, np.ndarray) else a for a in arguments]
        captured = kernel.capture()
        arguments = [as_argument(a) for a in own]
        _, found = _compiler.interpret(captured.module, arguments, captured.references)
        assert [d.message for d in found] == []
        return own

    @staticmethod
    def compiled(kernel: Any, arguments: Sequence[Array | float], cpu: str = "native") -> list[Any]:
        own = [a.copy("K") if isinstance(a, np.ndarray) else a for a in arguments]
        tilewright.compile(kernel, cpu=cpu)(*[as_tensor(a) for a in own])
        return own


@pytest.fixture
def agree() -> Agreement:
    return Agreement()


@pytest.fixture(scope="session")
def cpus() -> list[str]:
    """What the compiler makes other code for, and this machine runs."""
    cpuinfo = Path("/proc/cpuinfo")
    words = set(cpuinfo.read_text().split()) if cpuinfo.exists() else set()
    wide = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    kinds = {
        "avx2": {"avx2", "fma", "f16c"},
        "avx512": wide,
        "cascadelake": wide | {"avx512_vnni"},
    }
    return ["native", *(kind for kind, needed in kinds.items() if needed <= words)]


@pytest.fixture
def cpu_only() -> Callable[..., None]:
    """As `agree`, for what the interpreter doesn't run: functions in C."""

    def check(kernel: Any, arguments: Sequence[Array | float], expected: dict[int, Array]) -> None:
        compiled = Agreement.compiled(kernel, arguments)
        for number, wanted in expected.items():
            check_close(compiled[number], wanted, f"cpu, argument {number}", None)

    return check


@pytest.fixture
def eager() -> Callable[..., None]:
    """As `agree`, for an eager kernel: its arguments, and what it gives."""

    def check(function: Any, arguments: Sequence[Any], expected: Sequence[Array]) -> None:
        for target in ("cpu", "reference"):
            given = tilewright.jit(function, target=target)(*arguments)
            outputs = given if isinstance(given, (tuple, list)) else [given]
            for number, (output, wanted) in enumerate(zip(outputs, expected, strict=True)):
                check_close(np.asarray(output), wanted, f"{target}, output {number}", None)

    return check


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(20261120)


DTYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "bool": np.bool_,
    **{f"{s}int{b}": np.dtype(f"{s}int{b}").type for s in ("", "u") for b in (8, 16, 32, 64)},
}


@pytest.fixture(scope="session")
def numpy_dtypes() -> dict[str, Any]:
    """NumPy's dtypes by the language's names."""
    return DTYPES
