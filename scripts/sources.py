# SPDX-License-Identifier: Apache-2.0
"""The checkout's own files, as the check scripts see them: tracked, or new and not ignored."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@cache
def git_files() -> tuple[Path, ...]:
    """All files of the checkout that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(
        ROOT / name for name in sorted(set(names.split("\0"))) if name and (ROOT / name).is_file()
    )


def files_with(*suffixes: str) -> list[Path]:
    """Those whose name ends in one of the suffixes."""
    return [path for path in git_files() if path.name.endswith(suffixes)]


def cpp_files() -> list[Path]:
    """C and C++ sources and headers, and CUDA's."""
    return files_with(".cpp", ".h", ".c", ".cu", ".cuh")


def python_files() -> list[Path]:
    """Python sources and stubs."""
    return files_with(".py", ".pyi")


def report(check: Callable[[], Iterable[str]]) -> int:
    """Prints a check's findings; the exit status is 1 if there are any."""
    findings = list(check())
    print("\n".join(findings))
    return 1 if findings else 0


def shown(path: Path) -> str:
    """The path as findings show it: from the root, with slashes."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit("this module serves the check scripts")
