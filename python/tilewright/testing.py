# SPDX-License-Identifier: Apache-2.0
"""What TileLang's test scripts use: `tilelang.testing`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main() -> None:
    """Runs the tests of the calling script with pytest, and ends with its exit code."""
    import pytest

    script = sys._getframe(1).f_code.co_filename
    sys.exit(pytest.main([script, *sys.argv[1:]]))


def set_random_seed(seed: int = 42) -> None:
    """Seeds Python's, NumPy's and torch's random numbers, of those that are loaded."""
    import random

    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float = 1e-7,
    atol: float = 1e-7,
    verbose: bool = True,
    err_msg: str = "",
) -> None:
    """Raises AssertionError where elements of arrays or tensors differ, or their shapes."""
    import numpy

    arrays = [a.detach().cpu().numpy() if hasattr(a, "detach") else a for a in (actual, desired)]
    actual, desired = (numpy.asanyarray(a) for a in arrays)
    numpy.testing.assert_allclose(actual.shape, desired.shape)
    numpy.testing.assert_allclose(
        actual, desired, rtol=rtol, atol=atol, err_msg=err_msg, verbose=verbose
    )


def parameter(*values: Any, ids: Any = None, by_dict: dict[str, Any] | None = None) -> Any:
    """A fixture of pytest, with each value in turn; `by_dict` gives names to the values."""
    import copy

    import pytest

    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())

    @pytest.fixture(params=values, ids=ids)
    def value(request: Any) -> Any:
        return copy.deepcopy(request.param)

    return value


def fixture(function: Any = None, *, cache_return_value: bool = False) -> Any:
    """A fixture of pytest; with `cache_return_value` it is made once."""
    import pytest

    make = pytest.fixture(scope="session" if cache_return_value else "function")
    return make if function is None else make(function)


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    **unused: object,
) -> None:
    """Raises AssertionError if more than this share of the elements differ."""
    import torch

    if tensor_a.shape != tensor_b.shape:
        raise AssertionError(f"shapes {tuple(tensor_a.shape)} and {tuple(tensor_b.shape)} differ")
    a, b = tensor_a.double(), tensor_b.double()
    wrong = ~torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    count = int(wrong.sum())
    if count > max_mismatched_ratio * wrong.numel():
        largest = float((a - b).abs().max())
        raise AssertionError(
            f"{count} of {wrong.numel()} elements differ, by up to {largest:.3g} "
            f"(rtol {rtol}, atol {atol})"
        )


def interpret(kernel: Any, *arguments: Any) -> str:
    """Runs a `T.prim_func` on the reference interpreter, in place on NumPy arrays (or tensors on
    the CPU), and gives what it printed.

    CompileError: what the interpreter found, at the places of the kernel.
    """
    from .errors import Diagnostic, compile_error, load_compiler

    bound = [_address(argument) for argument in arguments]
    captured = kernel.capture()
    printed, found = load_compiler().interpret(captured.module, bound, captured.references)
    if found:
        raise compile_error([Diagnostic.from_native(d) for d in found], kernel.__name__)
    return str(printed)


def _address(argument: Any) -> Any:
    """What the interpreter takes: a number, or address, shape and strides in elements."""
    if isinstance(argument, (bool, int, float)):
        return argument
    if hasattr(argument, "data_ptr"):
        return argument.data_ptr(), list(argument.shape), list(argument.stride())
    strides = [stride // argument.itemsize for stride in argument.strides]
    return argument.ctypes.data, list(argument.shape), strides


def _unconditional(function: Callable[..., Any]) -> Callable[..., Any]:
    """A device that a test asks for is there: `tilewright run` maps it."""
    return function


requires_cuda = requires_rocm = requires_metal = requires_llvm = requires_gpu = _unconditional
requires_cuda_or_cdna = _unconditional


def requires_package(*names: str) -> Callable[..., Any]:
    """Skips tests where one of these packages isn't installed."""
    import importlib.util

    import pytest

    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def _of_other_gpus(function: Callable[..., Any]) -> Callable[..., Any]:
    """Skips a test: it is for a GPU that the device map doesn't show."""
    import pytest

    skipped: Callable[..., Any] = pytest.mark.skip(reason="is for AMD's GPUs")(function)
    return skipped


requires_cdna = requires_gfx950 = _of_other_gpus

#: The compute capability that the device map shows.
_CAPABILITY = (8, 0)


def _requires(holds: bool) -> Callable[..., Any]:
    import pytest

    return pytest.mark.skipif(not holds, reason="is for another compute capability than 8.0")


def requires_cuda_compute_version(
    major_version: int, minor_version: int = 0, mode: str = "ge"
) -> Callable[..., Any]:
    """Skips tests whose compute capability isn't the device map's, 8.0. `mode` is how that must
    compare: ge, gt, le, lt or eq."""
    import operator

    if mode not in ("ge", "gt", "le", "lt", "eq"):
        raise ValueError(f"a mode is ge, gt, le, lt or eq, not {mode!r}")
    return _requires(getattr(operator, mode)(_CAPABILITY, (major_version, minor_version)))


def requires_cuda_compute_version_ge(
    major_version: int, minor_version: int = 0
) -> Callable[..., Any]:
    """Skips tests of newer GPUs."""
    return requires_cuda_compute_version(major_version, minor_version, "ge")


def requires_cuda_compute_version_gt(
    major_version: int, minor_version: int = 0
) -> Callable[..., Any]:
    """Skips tests of newer GPUs, and of this one."""
    return requires_cuda_compute_version(major_version, minor_version, "gt")


def requires_cuda_compute_version_eq(
    major_version: int, minor_version: int = 0
) -> Callable[..., Any]:
    """Skips tests of other GPUs."""
    return requires_cuda_compute_version(major_version, minor_version, "eq")


def requires_cuda_compute_version_le(
    major_version: int, minor_version: int = 0
) -> Callable[..., Any]:
    """Skips tests of older GPUs."""
    return requires_cuda_compute_version(major_version, minor_version, "le")


def requires_cuda_compute_version_lt(
    major_version: int, minor_version: int = 0
) -> Callable[..., Any]:
    """Skips tests of older GPUs, and of this one."""
    return requires_cuda_compute_version(major_version, minor_version, "lt")
