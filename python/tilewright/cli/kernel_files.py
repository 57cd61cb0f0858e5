# SPDX-License-Identifier: Apache-2.0
"""Finds the kernel of a file for `tilewright compile` and `tilewright inspect`."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from . import ScriptError, UsageError

if TYPE_CHECKING:
    import argparse

    from ..capture.kernel import CapturedKernel


#: Classes of kernels and of what makes them.
_KERNELS = ("PrimFunc", "SimplifiedPrimFunc", "JITFunction", "KernelFactory")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a Python file with a kernel")
    parser.add_argument(
        "--kernel", "-k", metavar="NAME", help="which kernel or factory of the file"
    )
    parser.add_argument(
        "--args",
        nargs="*",
        default=[],
        metavar="NAME=VALUE",
        help="arguments of the factory, e.g. M=1024 dtype=float16; of an eager kernel, shapes: "
        "A=64x128 B=64x",
    )
    parser.add_argument("--target", help="the target (default: that of @jit, or cpu)")
    parser.add_argument("--cpu", help="CPU name or level: native, avx2, avx512, neon, ...")


def kernel_of(options: argparse.Namespace) -> Any:
    """The kernel or factory that the command names; the file's main part does not run."""
    from .. import as_tilelang  # noqa: F401

    path = Path(options.file)
    if not path.is_file():
        raise UsageError(f"there is no file '{options.file}'")
    names = _names_of(path)
    candidates = {
        name: value for name, value in names.items() if _is_kernel(value) and _is_from(value, path)
    }
    return _chosen(candidates, options)


def choice_of(kernel: Any, name: str) -> Any:
    """What `jit` was given as `name`; None for a kernel without it."""
    return getattr(kernel, "choices", {}).get(name)


def captured(kernel: Any, options: argparse.Namespace) -> CapturedKernel:
    """The kernel that `kernel` is, or makes of the command's arguments."""
    arguments = dict(_argument(text) for text in options.args)
    made: CapturedKernel
    takes_none = hasattr(kernel, "capture") or type(kernel).__name__ == "KernelFactory"
    if takes_none and arguments:
        raise UsageError(f"kernel '{kernel.__name__}' takes no --args: it is no factory")
    if hasattr(kernel, "capture"):
        made = kernel.capture()
        return made
    if not takes_none:
        _check_arguments(kernel, arguments)
    if kernel.is_eager:
        from ..eager import EagerCall
        from ..errors import EagerJITBuildError

        try:
            return EagerCall(kernel, (), arguments).capture()
        except EagerJITBuildError as error:
            raise UsageError(f"{error}; --args gives tensors as their shapes: A=64x128") from None
    made = kernel.get_tir(**arguments).capture()
    outputs = kernel.choices.get("out_idx")
    if outputs is not None:
        numbers = [outputs] if isinstance(outputs, int) else list(outputs)
        made.outputs = [n % len(made.parameters) for n in numbers]
    made.pass_configs = kernel.choices.get("pass_configs")
    return made


def _names_of(path: Path) -> dict[str, Any]:
    """Runs the file as Python would without arguments, and gives its names."""
    from ..errors import TilewrightError

    sys.argv = [str(path)]
    sys.path[0] = str(path.resolve().parent)
    try:
        return runpy.run_path(str(path), run_name="__tilewright__")
    except TilewrightError:
        raise
    except Exception as error:
        raise ScriptError from error


def _check_arguments(factory: Any, arguments: dict[str, Any]) -> None:
    parameters = inspect.signature(factory.function).parameters.values()
    fixed = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [p.name for p in fixed if p.default is p.empty and p.name not in arguments]
    names = [p.name for p in fixed]
    takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters)
    unknown = [] if takes_any else [f"'{name}'" for name in arguments if name not in names]
    wrong = []
    if missing:
        wrong.append("needs arguments: --args " + " ".join(f"{name}=..." for name in missing))
    if unknown:
        known = f"it has: {', '.join(names) or 'none'}"
        wrong.append(f"has no argument {', '.join(unknown)}; {known}")
    if wrong:
        kind = "kernel" if factory.is_eager else "factory"
        tensors = "; tensors as their shapes: A=64x128" if factory.is_eager and missing else ""
        raise UsageError(f"{kind} '{factory.__name__}' {'; it '.join(wrong)}{tensors}")


def _is_kernel(value: object) -> bool:
    return type(value).__name__ in _KERNELS


def _is_from(kernel: Any, path: Path) -> bool:
    return Path(kernel.function.__code__.co_filename).resolve() == path.resolve()


def _chosen(candidates: dict[str, Any], options: argparse.Namespace) -> Any:
    names = ", ".join(sorted(candidates)) or "none"
    if options.kernel:
        if options.kernel not in candidates:
            raise UsageError(f"'{options.file}' has no kernel '{options.kernel}'; it has: {names}")
        return candidates[options.kernel]
    if len(candidates) != 1:
        raise UsageError(f"choose a kernel of '{options.file}' with --kernel; it has: {names}")
    return next(iter(candidates.values()))


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"'{text}' is not of the form NAME=VALUE")
    if re.search(r",\s*[A-Za-z_]\w*=", value):
        raise UsageError(f"'{text}' has commas: spaces stand between arguments, as in M=64 N=64")
    extents = value.removesuffix("x").split("x")
    if "x" in value and all(e.isdigit() for e in extents):
        return name, SimpleNamespace(shape=tuple(int(e) for e in extents))
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
