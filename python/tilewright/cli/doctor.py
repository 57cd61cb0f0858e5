# SPDX-License-Identifier: Apache-2.0
"""`tilewright doctor`: what works on this machine, what is missing, and how to get it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..errors import HOW_TO_BUILD, CompilerMissingError
from . import MISSING, OK

if TYPE_CHECKING:
    import argparse


@dataclass(slots=True)
class Finding:
    """`state` is "ok", "missing", "off" or "planned"; `remedy` says how to get what is missing."""

    part: str
    name: str
    state: str
    detail: str = ""
    remedy: str = ""


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor",
        help="list targets, compilers and cache, and what is missing",
        description="Lists what works. Exit code 0 if kernels can be compiled and run, else 3.",
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.set_defaults(action=_run)


def _run(options: argparse.Namespace) -> int:
    findings = [*_package(), *_targets(), *_compilers(), *_tools(), *_frameworks()]
    findings += [_cache(), _alias()]
    works = all(f.state == "ok" for f in findings if f.part == "target" and f.name == "cpu")
    if options.json:
        print(json.dumps({"works": works, "findings": [asdict(f) for f in findings]}, indent=1))
    else:
        for finding in findings:
            print(f"{finding.part:<10} {finding.name:<12} {finding.state:<8} {finding.detail}")
            if finding.remedy:
                print(f"{'':<23} -> {finding.remedy}")
    return OK if works else MISSING


def _package() -> list[Finding]:
    from .. import __version__

    here = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return [Finding("package", "tilewright", "ok", f"{__version__}, {here}")]


def _targets() -> list[Finding]:
    found = []
    try:
        from .. import _runtime

        found.append(
            Finding("runtime", "_runtime", "ok", f"{_runtime.get_num_threads()} threads a launch")
        )
    except CompilerMissingError as error:
        found.append(_not_built("runtime", "_runtime", error))
    try:
        from .. import _compiler

        detail = f"compiles for {_compiler.host_cpu()}"
        state = "ok" if found[0].state == "ok" else "missing"
        found.append(Finding("target", "cpu", state, detail))
    except CompilerMissingError as error:
        found.append(_not_built("target", "cpu", error))
    device = shutil.which("nvidia-smi")
    gpu = "an NVIDIA GPU is here; " if device else ""
    found.append(Finding("target", "cuda", "planned", f"{gpu}GPU scripts run by 'tilewright run'"))
    found.append(_ascend(found[1].state == "ok"))
    return found


def _not_built(part: str, name: str, error: CompilerMissingError) -> Finding:
    detail = str(error).removesuffix(f"; {HOW_TO_BUILD}")
    return Finding(part, name, "missing", detail, HOW_TO_BUILD)


def _ascend(has_compiler: bool) -> Finding:
    from .ascendc import program as find_program

    program = find_program()
    from ..ascend_toolchain import HOST_COMPILERS, vendor_compiler

    if vendor_compiler() is None and not any(map(shutil.which, HOST_COMPILERS)):
        remedy = "apt-get install clang-22, or another C++ compiler"
        return Finding("target", "ascend", "missing", "there is no C++ compiler", remedy)
    if has_compiler and program is not None:
        return Finding("target", "ascend", "ok", f"runs on the Ascend host: {program}")
    detail = "no compiler" if program is not None else "tilewright-ascendc is not found"
    remedy = "run 'make build' in a clone, or name it in TILEWRIGHT_ASCENDC"
    return Finding("target", "ascend", "missing", detail, remedy)


def _compilers() -> list[Finding]:
    """Those that build Ascend C: for this machine, and for an NPU."""
    from ..ascend_toolchain import HOST_COMPILERS, vendor_compiler

    host = next(filter(None, map(shutil.which, HOST_COMPILERS)), None)
    vendor = vendor_compiler()
    detail = "optional: builds kernels for an NPU; without it the Ascend host runs them"
    return [
        Finding("compiler", "host C++", "ok", f"builds Ascend C for the Ascend host: {host}")
        if host
        else Finding(
            "compiler",
            "host C++",
            "missing",
            "builds Ascend C for the Ascend host",
            f"apt-get install clang-22, or any of {', '.join(HOST_COMPILERS)}",
        ),
        Finding("compiler", "bisheng", "ok", f"builds Ascend C for an NPU: {vendor}")
        if vendor
        else Finding(
            "compiler", "bisheng", "missing", detail, "set ASCEND_HOME_PATH to a CANN toolkit"
        ),
    ]


def _tools() -> list[Finding]:
    uses = {
        "clang-22": "builds the package and programs around exported kernels",
        "gdb": "debugs kernels by name",
        "qemu-aarch64": "runs code made for AArch64",
    }
    remedies = {"clang-22": "clang-22", "gdb": "gdb", "qemu-aarch64": "qemu-user"}
    found = []
    for name, use in uses.items():
        path = shutil.which(name)
        state, detail = ("ok", path) if path else ("missing", f"optional: {use}")
        remedy = "" if path else f"apt-get install {remedies[name]}"
        found.append(Finding("tool", name, state, detail, remedy))
    return found


def _frameworks() -> list[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("torch", "numpy", "ml_dtypes", "jax"):
        try:
            found.append(Finding("framework", name, "ok", version(name)))
        except PackageNotFoundError:
            detail = "optional: its tensors can be arguments"
            found.append(Finding("framework", name, "missing", detail, f"pip install {name}"))
    return found


def _cache() -> Finding:
    try:
        from .. import cache
    except CompilerMissingError as error:
        return _not_built("cache", "disk", error)
    from . import cache as cache_command

    folder = cache.folder()
    if not cache.is_enabled():
        return Finding("cache", "disk", "off", f"{folder} ({cache.disabling_variable()})")
    entries = cache_command.entries()
    size = sum(e["bytes"] for e in entries)
    parent = folder
    while not os.path.exists(parent) and os.path.dirname(parent) != parent:  # noqa: PTH110, PTH120
        parent = os.path.dirname(parent)  # noqa: PTH120
    if not os.path.isdir(parent) or not os.access(parent, os.W_OK):  # noqa: PTH112
        return Finding(
            "cache", "disk", "missing", f"{folder} can't be written", "set TILEWRIGHT_CACHE_DIR"
        )
    return Finding("cache", "disk", "ok", f"{folder}: {len(entries)} kernels, {size >> 10} KiB")


def _alias() -> Finding:
    from ..alias import installed_elsewhere

    other = installed_elsewhere()
    remedy = "use 'tilewright run', or 'import tilewright.as_tilelang' first"
    if other is not None:
        detail = f"another tilelang is installed: {other}"
        return Finding("alias", "tilelang", "off", detail, remedy)
    if "tilewright_alias" not in sys.modules:  # tilewright_alias.pth lies in no folder of packages
        detail = "'import tilelang' gives this package only after 'import tilewright'"
        return Finding("alias", "tilelang", "off", detail, remedy)
    return Finding("alias", "tilelang", "ok", "'import tilelang' gives this package")
