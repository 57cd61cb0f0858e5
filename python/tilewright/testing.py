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


requires_cuda = requires_rocm = requires_metal = requires_llvm = _unconditional


def requires_cuda_compute_version(*version: int, **more: int) -> Callable[..., Any]:
    """Skips tests that need more than the compute capability 8.0 that the device map shows."""
    import pytest

    reason = "needs instructions of a newer GPU"
    return pytest.mark.skipif(version > (8, 0), reason=reason)


requires_cuda_compute_version_ge = requires_cuda_compute_version


def requires_cuda_compute_version_lt(*version: int, **more: int) -> Callable[..., Any]:
    """Skips tests of older GPUs than the compute capability 8.0 that the device map shows."""
    import pytest

    return pytest.mark.skipif(version <= (8, 0), reason="is for an older GPU")
