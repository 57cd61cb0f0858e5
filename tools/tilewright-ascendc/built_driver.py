# SPDX-License-Identifier: Apache-2.0
"""What the tests of tilewright-ascendc share: where the build is, and with what it compiles."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
DRIVER = BUILD / "bin" / "tilewright-ascendc"

needs_driver = pytest.mark.skipif(not DRIVER.exists(), reason="tilewright-ascendc is not built")

COMPILERS = [
    pytest.param(
        name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"{name} is not installed")
    )
    for name in ("clang++-22", "g++-12")
]


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command and keeps its output."""
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, timeout=120, cwd=cwd
    )
