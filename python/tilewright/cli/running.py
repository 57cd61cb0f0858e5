# SPDX-License-Identifier: Apache-2.0
"""`tilewright run`: a script, with `import tilelang` and its device mapped to the chosen target."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_DESCRIPTION = """\
Runs a Python script. In it `import tilelang` gives this package, kernels are compiled for the
target whatever target they name, and torch's devices "cuda" and "npu" are the CPU
(docs/device-map.md tells what is mapped; --no-device-map leaves torch as it is). Options of the
script follow its name.
"""


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "run", help="run a script, its device mapped to the target", description=_DESCRIPTION
    )
    add_script_arguments(parser)
    parser.set_defaults(action=run)


def add_script_arguments(parser: argparse.ArgumentParser) -> None:
    """What names a script, its arguments and how its kernels are compiled."""
    parser.add_argument(
        "--target", default="cpu", help="what kernels are compiled for (default: cpu)"
    )
    parser.add_argument("--cpu", help="CPU name or level of the cpu target (default: native)")
    parser.add_argument("--no-device-map", action="store_true", help="leave torch as it is")
    parser.add_argument(
        "--relaxed",
        action="store_true",
        help="on the Ascend host, what the vendor's compiler orders by itself is in order",
    )
    parser.add_argument("-m", dest="module", help="run a module instead of a script")
    parser.add_argument("script", nargs="?", help="the script")
    parser.add_argument("arguments", nargs="...", help="its arguments")


def run(options: argparse.Namespace) -> int:
    return script_to_run(options)()


def script_to_run(options: argparse.Namespace) -> Callable[[], int]:
    """Prepares this process for the script; calling what it gives runs it, and gives the exit
    code. UsageError: there is no such script."""
    from . import UsageError

    script, arguments = options.script, options.arguments
    if options.module:
        arguments = ([script] if script else []) + arguments
    elif script is None:
        raise UsageError("name a script, or a module with -m")
    elif not Path(script).is_file():
        raise UsageError(f"there is no file '{script}'")
    _prepare(options)
    if options.module:
        return lambda: _run_module(options.module, arguments)
    return lambda: _run_script(script, arguments)


def _prepare(options: argparse.Namespace) -> None:
    """Makes this process what the script expects."""
    from .. import as_tilelang  # noqa: F401 - says so where another tilelang is installed
    from .. import options as compile_options
    from . import check_cpu, target_of

    target = target_of(options)
    check_cpu(options, target)
    compile_options.mapped_target = target
    if options.cpu:
        os.environ["TILEWRIGHT_CPU"] = options.cpu
    if options.relaxed:
        compile_options.relax_host()
    if target != "cuda" and not options.no_device_map:
        from ..device_map import install_with_torch
        from ..device_map.npu_stand_in import offer_torch_npu

        offer_torch_npu()
        install_with_torch()


def _run_script(script: str, arguments: list[str]) -> int:
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    return _guarded(lambda: runpy.run_path(script, run_name="__main__"))


def _run_module(module: str, arguments: list[str]) -> int:
    sys.argv = [module, *arguments]
    sys.path[0] = str(Path.cwd())
    return _guarded(lambda: runpy.run_module(module, run_name="__main__", alter_sys=True))


def _guarded(run_it: Any) -> int:
    """Runs the script; an exception is printed as Python would, without our own frames."""
    from . import OK, WRONG

    try:
        run_it()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or OK
        sys.stderr.write(f"{end.code}\n")
        return WRONG
    except Exception as error:
        print_as_python(error)
        return WRONG
    return OK


def print_as_python(error: BaseException) -> None:
    """Prints an exception of the user's file as Python would, without the frames of commands and,
    unless the fault is ours, of this package: it ends at the user's line, or the kernel's."""
    first = error.__traceback__
    while first is not None and _is_machinery(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    error = error.with_traceback(first)
    seen: list[BaseException] = []
    chain: list[BaseException | None] = [error]
    while chain:
        each = chain.pop()
        if each is None or each in seen:
            continue
        seen.append(each)
        if not _is_fault_of_ours(each):
            each.__traceback__ = _of_users(each.__traceback__)
        chain += [each.__cause__, each.__context__]
    traceback.print_exception(type(error), error, error.__traceback__)


_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def _is_fault_of_ours(error: BaseException) -> bool:
    """Whether the package tripped over itself, instead of raising an error for its user."""
    frames = traceback.extract_tb(error.__traceback__)
    is_slip = isinstance(error, (AssertionError, AttributeError, LookupError, NameError))
    is_ours = bool(frames) and frames[-1].filename.startswith(_PACKAGE)
    return is_ours and is_slip and not (frames[-1].line or "").startswith("raise")


def _of_users(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this package."""
    if trace is None:
        return None
    rest = _of_users(trace.tb_next)
    if trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _is_machinery(file: str) -> bool:
    is_command = Path(file).parent == Path(__file__).parent
    return is_command or file.startswith("<frozen") or file == runpy.__file__
