# SPDX-License-Identifier: Apache-2.0
"""Every path, make target and link that the documentation names exists.

A path is an inline code span with a slash or a known suffix, beginning with a folder or file of
the checkout. The code blocks are run by scripts/test_doc_blocks.py.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, files_with, report, shown

CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
MAKE = re.compile(r"\bmake ([a-z]+)\b")
# A path with one of these is a pattern or a placeholder.
PATTERN = re.compile(r"^\.\w+$|[<>*{}$\s]|\.\.\.|NAME|\bx\.|x_|_x\.")
SUFFIXES = (".py", ".cpp", ".h", ".td", ".md", ".mlir", ".txt", ".cmake", ".json", ".toml", ".sh")
# Made by the build or by a run.
MADE = ("build/", "build-asan/", ".venv", ".deps")


def without_blocks(text: str) -> str:
    """The text with fenced blocks emptied; the lines keep their numbers."""
    return re.sub(
        r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S
    )


def missing_path(span: str, document: Path) -> bool:
    """Whether the span names a path of the checkout that does not exist."""
    path = span.strip().rstrip("/").split(":")[0]
    if PATTERN.search(path) or path.startswith(("/", "-", "~", *MADE)) or not path:
        return False
    first = path.split("/")[0]
    names_path = (ROOT / first).exists() if "/" in path else path.endswith(SUFFIXES)
    if not names_path:
        return False
    places = (ROOT / path, document.parent / path, ROOT / "include" / path)
    # A bare file name may stand for a file in a folder that the sentence names.
    found_below = "/" not in path and any(other.name == path for other in files_with(path))
    return not found_below and not any(place.exists() for place in places)


def make_targets() -> set[str]:
    """The targets that the Makefile has."""
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))


def document_faults(document: Path, text: str, targets: set[str]) -> Iterator[tuple[int, str]]:
    """Line and finding of each name that stands for nothing."""
    prose = without_blocks(text)
    for match in CODE_SPAN.finditer(prose):
        line = prose.count("\n", 0, match.start()) + 1
        if missing_path(match[1], document):
            yield line, f"no such path: {match[1]}"
        for target in MAKE.findall(match[1]):
            if target not in targets:
                yield line, f"the Makefile has no target '{target}'"
    for match in LINK.finditer(prose):
        target = match[1]
        if "://" not in target and not (document.parent / target).exists():
            yield prose.count("\n", 0, match.start()) + 1, f"no such file: {target}"


def findings() -> Iterator[str]:
    """All of the checkout's documents."""
    targets = make_targets()
    for document in files_with(".md"):
        for line, fault in document_faults(document, document.read_text(), targets):
            yield f"{shown(document)}:{line}: error: {fault}"


if __name__ == "__main__":
    sys.exit(report(findings))
