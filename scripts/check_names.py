# SPDX-License-Identifier: Apache-2.0
"""Names say what a thing is: no filler words, files in snake_case, one stem for a pass everywhere.

The pass `struct SplitCube : KernelPass<SplitCube>` stands in `split_cube.cpp`, has the option
`--split-cube` (a target's pass: `--ascend-split-cube`), and a test beside it, `split_cube.mlir`.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sources import cpp_files, files_with, git_files, python_files, report, shown

BANNED = {"util", "utils", "helper", "helpers", "misc", "common", "manager", "v2"}
# Names that an interface which we provide for other people's programs fixes.
INTERFACE_NAMES = {"LoadData3DParamsV2Pro", "PlatformAscendCManager"}
# What tools and readers expect under these names.
FREE_NAMES = re.compile(
    r"[A-Z]+(\.md)?|Makefile|CMakeLists\.txt|CMakePresets\.json|\..+|__\w+__\.py"
)
CODE_NAME = re.compile(r"_?[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
TEXT_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
CODE_SUFFIXES = {".cpp", ".h", ".c", ".cu", ".cuh", ".td", ".py", ".pyi", ".mlir", ".cmake"}
DECLARATION = re.compile(r"^\s*(?:class|struct|enum class|namespace|def|async def) (\w+)", re.M)
PASS = re.compile(
    r"(?:struct|class) (\w+)(?: final)?\s*:\s*(?:public )?[\w:]*Pass(?:Wrapper)?<\1\b"
)
OPTION = re.compile(r'(?:getArgument\b|kArgument\b)[^;"]*"([^"]+)"')


def words(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name, lower case."""
    return {word.lower() for word in re.split(r"[_\W]+|(?<=[a-z0-9])(?=[A-Z])", name) if word}


def file_name_fault(path: Path) -> str | None:
    """Why the path's last part is no good name, if so."""
    name = path.name
    if words(path.stem) & BANNED:
        return f"says nothing: {', '.join(sorted(words(path.stem) & BANNED))}"
    # CMake finds its modules by the name in include(...).
    if path.suffix == ".cmake" or FREE_NAMES.fullmatch(name):
        return None
    pattern = CODE_NAME if path.suffix in CODE_SUFFIXES else TEXT_NAME
    return None if pattern.fullmatch(name) else "is not in snake_case"


def declared_faults(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of each declaration with a banned word."""
    for match in DECLARATION.finditer(text):
        if words(match[1]) & BANNED and match[1] not in INTERFACE_NAMES:
            yield text.count("\n", 0, match.start(1)) + 1, match[1]


def pass_faults(source: Path, text: str) -> Iterator[str]:
    """What is missing or misnamed for the passes in a C++ file; those of a test stay with it."""
    if source.stem.endswith("_test"):
        return
    options = OPTION.findall(text)
    for camel in PASS.findall(text):
        stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", camel).lower()
        if source.stem != stem:
            yield f"pass {camel} is not in {stem}.cpp"
        dashed = stem.replace("_", "-")
        if not {dashed, f"{source.parent.name}-{dashed}"} & set(options):
            yield f"pass {camel} has no option '{dashed}'"
        if not source.with_name(f"{stem}.mlir").exists():
            yield f"pass {camel} has no test {stem}.mlir beside it"


def findings() -> Iterator[str]:
    """All of the checkout's."""
    for path in git_files():
        fault = file_name_fault(path)
        if fault:
            yield f"{shown(path)}:1: error: the file's name {fault}"
    code: Iterable[Path] = (*cpp_files(), *python_files())
    for path in code:
        for line, name in declared_faults(path.read_text(errors="replace")):
            yield f"{shown(path)}:{line}: error: the name '{name}' says nothing"
    for path in files_with(".cpp"):
        for fault in pass_faults(path, path.read_text(errors="replace")):
            yield f"{shown(path)}:1: error: {fault}"


if __name__ == "__main__":
    sys.exit(report(findings))
