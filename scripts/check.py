# SPDX-License-Identifier: Apache-2.0
"""Runs every check of the sources that needs no build; `--fix` formats in place instead.

`--tidy` adds clang-tidy over the C++ files that differ from main (`--all`: over every one),
`--jobs` at a time; it needs a build.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interrupts import interrupted, run_until_interrupted
from sources import ROOT, cpp_files, git_files, python_files

# Each is a script of this folder; it prints its findings and fails if there are any.
OWN_CHECKS = ("spdx", "conflicts", "names", "merged", "sizes", "layering", "messages", "docs")


def run(label: str, command: Sequence[str | Path]) -> bool:
    """Runs one check; its output is shown only if it fails."""
    if interrupted.is_set():
        return False
    start = time.monotonic()
    answer = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if interrupted.is_set():
        return False
    seconds = time.monotonic() - start
    lines = [f"check {label:<14}{'ok' if answer.returncode == 0 else 'FAILED'}  {seconds:5.1f} s"]
    if answer.returncode != 0:
        lines.append((answer.stdout + answer.stderr).strip()[-6000:])
    print("\n".join(lines), flush=True)
    return answer.returncode == 0


def commands_of_sources(build: Path) -> list[dict[str, str]]:
    """How each source is compiled. Those that CMake merges (cmake/Tilewright.cmake) have the
    command of the file that includes them: clang-tidy would take that of a neighbour."""
    commands = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["directory"], entry["file"])
        text = path.read_text() if path.is_relative_to(build) and path.exists() else ""
        names = re.findall(r'^#include "(.+\.cpp)"$', text, re.MULTILINE)
        for name in [str(ROOT / name) for name in names] or [entry["file"]]:
            command = entry["command"].replace(entry["file"], name)
            commands.append({**entry, "file": name, "command": command})
    return commands


def run_clang_tidy(files: Sequence[Path], jobs: int) -> bool:
    """Runs clang-tidy on each file; the findings of all are shown."""
    if not (ROOT / "build/compile_commands.json").exists():
        print("check clang-tidy   needs `make build` first")
        return False
    folder = ROOT / "build/tidy"
    folder.mkdir(exist_ok=True)
    commands = json.dumps(commands_of_sources(ROOT / "build"), indent=1)
    (folder / "compile_commands.json").write_text(commands)

    def findings(path: Path) -> str:
        command = ["clang-tidy-22", "-p", str(folder), "--quiet", str(path)]
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return "" if answer.returncode == 0 else f"{answer.stdout}{answer.stderr}".strip()

    start = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        found = [text for text in pool.map(findings, files) if text]
    seconds = time.monotonic() - start
    print(f"check clang-tidy    {'FAILED' if found else 'ok'}  {seconds:5.1f} s", flush=True)
    for text in found:
        print(text, flush=True)
    return not found


def is_ascend_c(path: Path) -> bool:
    """Whether it has kernels for the Ascend driver: its headers and names are not clang-tidy's."""
    return '#include "kernel_operator.h"' in path.read_text()


def changed_cpp(everything: bool) -> list[Path]:
    """The C++ sources to give to clang-tidy."""
    sources = [path for path in cpp_files() if path.suffix == ".cpp" and not is_ascend_c(path)]
    if everything:
        return sources
    base = subprocess.run(
        ["git", "merge-base", "HEAD", "main"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    reference = base.stdout.strip() or "HEAD"
    diff = subprocess.run(
        ["git", "diff", "--name-only", reference],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = set(diff.stdout.split())
    return [path for path in sources if str(path.relative_to(ROOT)) in names]


def main() -> int:
    """Gives 1 if a check failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--tidy", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    python = [str(path.relative_to(ROOT)) for path in python_files()]
    formatter = shutil.which("clang-format-22")
    checks: list[tuple[str, Sequence[str | Path]]] = []
    if not options.fix:
        checks.append(("mypy", ["mypy"]))  # the longest first
    if formatter and cpp_files():
        mode = ["-i"] if options.fix else ["--dry-run", "-Werror"]
        checks.append(("clang-format", [formatter, *mode, *cpp_files()]))
    mode = [] if options.fix else ["--diff"]
    checks.append(("ruff format", ["ruff", "format", *mode, *python]))
    mode = ["--fix"] if options.fix else ["--output-format=concise"]
    checks.append(("ruff", ["ruff", "check", *mode, *python]))
    if not options.fix:
        checks += [(name, [sys.executable, f"scripts/check_{name}.py"]) for name in OWN_CHECKS]
    # What changes files goes one after the other.
    with ThreadPoolExecutor(1 if options.fix else options.jobs) as pool:
        good = all(list(pool.map(lambda check: run(*check), checks)))
    if options.tidy and (files := changed_cpp(options.all)):
        good &= run_clang_tidy(files, options.jobs)
    print(f"check: {len(git_files())} files")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(run_until_interrupted(main))
