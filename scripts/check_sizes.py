# SPDX-License-Identifier: Apache-2.0
"""A file has 400 lines at most if it can, and never over 800; a function 60, and never over 100.

Fails above the hard limits, but for what `scripts/size_exceptions.txt` lists with a reason;
`--list` shows what is above the wanted sizes, and the lines per folder.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sources import ROOT, cpp_files, files_with, python_files, report, shown

FILE_WANTED, FILE_LIMIT = 400, 800
FUNCTION_WANTED, FUNCTION_LIMIT = 60, 100
EXCEPTIONS = ROOT / "scripts/size_exceptions.txt"
COMMENTS_AND_STRINGS = re.compile(
    r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
)
# What may stand before a brace that opens a scope in which functions are declared.
SCOPE = re.compile(r'\b(namespace|class|struct|union|enum|extern\s*"?"?)\b[^()]*$')


@dataclass(frozen=True)
class Function:
    """A function's name, first line and number of lines."""

    name: str
    line: int
    lines: int


def python_functions(text: str) -> Iterator[Function]:
    """All functions, methods too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.end_lineno or node.lineno
            yield Function(node.name, node.lineno, last - node.lineno + 1)


def cpp_functions(text: str) -> Iterator[Function]:
    """Functions at namespace or class scope: a brace after a closing parenthesis there."""
    code = COMMENTS_AND_STRINGS.sub(lambda match: "\n" * match[0].count("\n"), text)
    code = re.sub(
        r"^[ \t]*#.*(\\\n.*)*$", lambda match: "\n" * match[0].count("\n"), code, flags=re.M
    )
    scopes: list[tuple[bool, str, int]] = []  # whether functions are declared in it; name; line
    start = 0
    for match in re.finditer(r"[{};]", code):
        header = code[start : match.start()]
        line = code.count("\n", 0, start + len(header) - len(header.lstrip())) + 1
        if match[0] == "{":
            outside = all(declares for declares, _, _ in scopes)
            name = re.search(r"([~\w:]+|operator\s*\S+)\s*\(", header)
            is_scope = bool(SCOPE.search(header)) or not name
            function = name[1] if outside and name and not is_scope else ""
            scopes.append((outside and is_scope and not function, function, line))
        elif match[0] == "}" and scopes:
            _, function, first = scopes.pop()
            if function:
                yield Function(function, first, code.count("\n", 0, match.start()) + 2 - first)
        start = match.end()


def read_exceptions(text: str) -> dict[str, str]:
    """`path` or `path:function`, then the reason; `#` starts a comment line."""
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    return {line[0]: line[1] for line in lines if not line[0].startswith("#") and len(line) > 1}


def oversized(path: Path, file_limit: int, function_limit: int) -> Iterator[tuple[str, str]]:
    """The key for the list of exceptions, and the finding."""
    text = path.read_text(errors="replace")
    lines = text.count("\n")
    if lines > file_limit:
        yield shown(path), f"{shown(path)}:1: error: {lines} lines, at most {file_limit}"
    functions = python_functions if path.suffix == ".py" else cpp_functions
    for function in functions(text) if path.suffix in (".py", ".cpp", ".h", ".c") else ():
        if function.lines > function_limit:
            yield (
                f"{shown(path)}:{function.name}",
                f"{shown(path)}:{function.line}: error: function '{function.name}' has "
                f"{function.lines} lines, at most {function_limit}",
            )


def findings() -> Iterator[str]:
    """What is above a hard limit without a reason, and reasons that are needed no more."""
    exceptions = read_exceptions(EXCEPTIONS.read_text())
    used = set()
    for path in (*cpp_files(), *python_files(), *files_with(".td", ".mlir")):
        for key, finding in oversized(path, FILE_LIMIT, FUNCTION_LIMIT):
            used.add(key)
            if key not in exceptions:
                yield finding
    for key in exceptions.keys() - used:
        yield f"{shown(EXCEPTIONS)}:1: error: '{key}' is an exception no more"


def list_sizes() -> None:
    """Lines per folder, and what is above the wanted sizes."""
    folders: Counter[str] = Counter()
    for path in (*cpp_files(), *python_files(), *files_with(".td")):
        folders["/".join(shown(path).split("/")[:2])] += path.read_text(errors="replace").count(
            "\n"
        )
        for _, finding in oversized(path, FILE_WANTED, FUNCTION_WANTED):
            print(finding.replace("error", "note"))
    for folder, lines in folders.most_common():
        print(f"{lines:7} {folder}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    if parser.parse_args().list:
        list_sizes()
    sys.exit(report(findings))
