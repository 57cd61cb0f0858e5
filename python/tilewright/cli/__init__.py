# SPDX-License-Identifier: Apache-2.0
"""The command `tilewright`.

Exit codes: 0 done; 1 the kernel or the script is wrong; 2 the command is wrong; 3 something is
missing on this machine; 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

OK, WRONG, USAGE, MISSING, INTERRUPTED = 0, 1, 2, 3, 130

_EXAMPLES = """\
examples:
  tilewright run script.py --steps 10            a script written for a GPU, on the CPU
  tilewright profile script.py --roofline roofline.svg
  tilewright compile gemm.py --args M=1024 N=1024 K=1024 -o libgemm.so --header gemm.h
  tilewright compile gemm.py --cpu avx2 -o libgemm.so
  tilewright inspect gemm.py --args M=64 N=64 K=64 --stage tile
  tilewright inspect gemm.py --args M=64 N=64 K=64 --list-stages
  tilewright doctor --json
  tilewright cache clear

exit codes: 0 done, 1 the kernel or script is wrong, 2 the command is wrong,
            3 something is missing on this machine, 130 interrupted
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tilewright",
        description="Compile, inspect and run tile kernels.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    from . import ascendc, cache, compiling, doctor, profiling, running

    running.add_to(commands)
    profiling.add_to(commands)
    compiling.add_to(commands)
    doctor.add_to(commands)
    cache.add_to(commands)
    ascendc.add_to(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["ascendc"]:  # its options are another program's
        from . import ascendc

        return ascendc.forward(given[1:])
    parser = _parser()
    options = parser.parse_args(given)
    if options.version:
        from .. import __version__

        print(__version__)
        return OK
    if options.command is None:
        parser.print_help()
        return USAGE
    from ..errors import CompileError, CompilerMissingError

    try:
        return int(options.action(options))
    except KeyboardInterrupt:
        sys.stderr.write("tilewright: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return OK
    except (CompileError, UsageError) as error:
        sys.stderr.write(f"tilewright {options.command}: {error}\n")
        return USAGE
    except CompilerMissingError as error:
        sys.stderr.write(f"tilewright {options.command}: {error}\n")
        return MISSING


class UsageError(Exception):
    """The command line asks for something that can't be."""


def target_of(options: argparse.Namespace) -> str:
    """The target that the command line or the environment chooses; UsageError if there is none."""
    from ..errors import CompileError
    from ..options import resolve_target

    try:
        return resolve_target(options.target)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except CompileError as error:  # one that is planned
        raise UsageError(error.diagnostics[0].message) from None


def check_cpu(options: argparse.Namespace, target: str) -> None:
    """UsageError if the command line names a CPU that there is not."""
    from .. import _compiler

    if options.cpu and (problem := _compiler.cpu_problem(options.cpu, target)):
        raise UsageError(problem)


class ScriptError(Exception):
    """The user's file raised; its exception is the cause."""
