# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence in one of its first three lines."""

import sys
from collections.abc import Iterator
from pathlib import Path

from sources import files_with, report, shown

LINE = "SPDX-License-Identifier: Apache-2.0"
SUFFIXES = (
    ".cpp",
    ".h",
    ".c",
    ".cu",
    ".cuh",
    ".td",
    ".py",
    ".pyi",
    ".mlir",
    ".cmake",
    ".sh",
    ".toml",
)
NAMES = ("CMakeLists.txt", "Makefile")


def lacks_licence(text: str) -> bool:
    """Whether the text's first three lines do not hold the licence line."""
    return not any(LINE in line for line in text.splitlines()[:3])


def findings() -> Iterator[str]:
    """One line per file without it."""
    files: list[Path] = files_with(*SUFFIXES, *NAMES)
    for path in files:
        if lacks_licence(path.read_text(errors="replace")):
            yield f"{shown(path)}:1: error: no line '{LINE}' among the first three"


if __name__ == "__main__":
    sys.exit(report(findings))
