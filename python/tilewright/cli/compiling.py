# SPDX-License-Identifier: Apache-2.0
"""`tilewright compile` and `tilewright inspect`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import MISSING, OK, WRONG, ScriptError, UsageError, check_cpu, target_of
from .kernel_files import add_arguments, captured, choice_of, kernel_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_COMPILE = """\
Compiles a kernel ahead of time into a shared library that any language can call: it depends on
neither Python nor this package. The header declares it.
"""
_INSPECT = """\
Prints the kernel at a stage of its way: "tile" is the tile IR as the builder made it, then comes
one stage per pass, "llvm" and "asm".
"""


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "compile", help="compile a kernel to a shared library", description=_COMPILE
    )
    add_arguments(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the library")
    parser.add_argument("--header", metavar="FILE", help="also write a C header")
    parser.add_argument("--manifest", metavar="FILE", help="also write the manifest")
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")
    parser.set_defaults(action=lambda options: _guarded(_compile, options))
    parser = commands.add_parser(
        "inspect", help="print a kernel at a stage of compilation", description=_INSPECT
    )
    add_arguments(parser)
    parser.add_argument("--stage", metavar="NAME", help="the stage to print (default: tile)")
    parser.add_argument("--list-stages", action="store_true", help="print the names of the stages")
    parser.add_argument(
        "--places", action="store_true", help="with the places of the kernel's lines"
    )
    parser.add_argument("--json", action="store_true", help="print all stages as JSON")
    parser.set_defaults(action=lambda options: _guarded(_inspect, options))


def _guarded(action: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    from ..errors import CompilerMissingError, TilewrightError

    try:
        return action(options)
    except TilewrightError as error:
        sys.stderr.write(f"{error}\n")
        return MISSING if isinstance(error, CompilerMissingError) else WRONG
    except ScriptError as error:
        from .running import print_as_python

        print_as_python(error.__cause__ or error)
        return WRONG


def _choices(kernel: Any, options: argparse.Namespace) -> tuple[str, str | None, str | None]:
    """Target, CPU and platform: the command's, else those that the kernel's `jit` was given."""
    options.target = options.target or choice_of(kernel, "target")
    cpu = options.cpu or choice_of(kernel, "cpu")
    target = target_of(options)
    check_cpu(options, target)
    return target, cpu, choice_of(kernel, "platform")


def _compile(options: argparse.Namespace) -> int:
    from ..compilation import compile_artifact
    from ..options import Options, tracing_for

    started = time.perf_counter()
    target_of(options)  # a wrong one is told before the file is run
    kernel = kernel_of(options)
    target, cpu, platform = _choices(kernel, options)
    if target == "reference":
        raise UsageError(
            "target 'reference' makes no library: it interprets the kernel; cpu and ascend make one"
        )
    if options.header and target == "ascend":
        raise UsageError("target 'ascend' has no header: its library is launched through acl")
    with tracing_for(target):
        made = captured(kernel, options)
    artifact = compile_artifact(made, Options(target, cpu, made.pass_configs, platform))
    written = {"library": options.output}
    contents = {options.output: artifact.library}
    for kind, text in (("header", artifact.header), ("manifest", artifact.manifest)):
        path = getattr(options, kind)
        if path:
            contents[path] = text.encode()
            written[kind] = path
    _write_all(contents)
    seconds = time.perf_counter() - started
    if options.json:
        times = dict(artifact.times)
        print(json.dumps({"kernel": made.name, **written, "seconds": seconds, "times_ms": times}))
    else:
        print(f"{made.name}: {', '.join(written.values())} in {seconds:.2f} s")
    return OK


def _write_all(contents: dict[str, bytes]) -> None:
    """Writes all files or none: first what can't be renamed into place, then new files beside."""
    parts: dict[Path, Path] = {}
    path = ""
    try:
        for path, content in contents.items():
            target = Path(path).resolve()
            if target.exists() and not target.is_file():  # a device, as /dev/null; or a folder
                target.write_bytes(content)
                continue
            parts[target] = target.with_name(f"{target.name}.{os.getpid()}.part")
            parts[target].write_bytes(content)
        for target, part in parts.items():
            path = str(target)
            part.replace(target)
    except OSError as error:
        raise UsageError(f"'{path}' can't be written: {error.strerror}") from None
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _numbered(stages: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The stages, each with a name of its own: of a pass that runs twice, `cse` and `cse-2`."""
    seen: Counter[str] = Counter()
    named = []
    for name, text in stages:
        seen[name] += 1
        named.append((name if seen[name] == 1 else f"{name}-{seen[name]}", text))
    return named


def _inspect(options: argparse.Namespace) -> int:
    from ..compilation import stages_of
    from ..options import Options, tracing_for

    target_of(options)
    kernel = kernel_of(options)
    target, cpu, platform = _choices(kernel, options)
    with tracing_for(target):
        made = captured(kernel, options)
    stage = options.stage or "tile"
    if stage == "tile" and not options.list_stages and not options.json:
        print(made.module.text(options.places))
        return OK
    chosen = Options(target, cpu, made.pass_configs, platform)
    stages = _numbered(stages_of(made, chosen))
    if options.json:
        print(json.dumps({"kernel": made.name, "stages": [list(s) for s in stages]}))
        return OK
    if options.list_stages:
        print("\n".join(name for name, _ in stages))
        return OK
    # A pass of a target has the target's name before it in tilewright-opt: --cpu-lower-gemm.
    wanted = (stage, stage.removeprefix(f"{chosen.target}-"))
    texts = [text for name, text in stages if name in wanted]
    if not texts:
        known = ", ".join(name for name, _ in stages)
        raise UsageError(f"there is no stage '{stage}'; there are: {known}")
    print(texts[0])
    return OK
