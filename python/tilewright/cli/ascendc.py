# SPDX-License-Identifier: Apache-2.0
"""`tilewright ascendc`: builds Ascend C programs for this machine; the work is done by
tilewright-ascendc."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import MISSING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_PROGRAM = "tilewright-ascendc"


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "ascendc",
        help="build Ascend C for this machine",
        description="Builds Ascend C programs for this machine; see docs/ascend-host.md.",
        add_help=False,
    )
    parser.set_defaults(action=_run)


def program() -> Path | None:
    """The driver: what TILEWRIGHT_ASCENDC names, else beside the package, in PATH, or in the
    build of this checkout."""
    named = os.environ.get("TILEWRIGHT_ASCENDC")
    if named:
        return Path(named)
    package = Path(__file__).resolve().parents[1]
    build = Path(os.environ.get("TILEWRIGHT_BUILD", package.parents[1] / "build"))
    in_path = shutil.which(_PROGRAM)
    candidates = [package / "bin" / _PROGRAM, Path(in_path or ""), build / "bin" / _PROGRAM]
    return next((c for c in candidates if c.is_file()), None)


def forward(arguments: Sequence[str]) -> int:
    """Runs the driver with these arguments; gives its exit code."""
    driver = program()
    if driver is None:
        sys.stderr.write(
            f"tilewright ascendc: {_PROGRAM} is not installed; build the simulator, or name the"
            " program in TILEWRIGHT_ASCENDC\n"
        )
        return MISSING
    try:
        return subprocess.run([driver, *arguments], check=False).returncode
    except OSError as error:
        sys.stderr.write(f"tilewright ascendc: cannot start '{driver}': {error.strerror}\n")
        return MISSING


def _run(_options: argparse.Namespace) -> int:
    return forward([])
