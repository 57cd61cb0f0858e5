# SPDX-License-Identifier: Apache-2.0
"""The fenced code blocks of the documentation, as programs that can be run.

Python blocks of one document are one program, in their order: each may use what stands before it.
Other blocks stand alone. A comment line before a block, `<!-- not run: reason -->`, takes it out;
such a block is counted as skipped with that reason.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sources import files_with, shown

FENCE = re.compile(r"^```([\w+-]*)[^\n]*\n(.*?)^```\s*$", re.M | re.S)
NOT_RUN = re.compile(r"<!-- not run: (.*?) -->\s*\Z")
RUNNABLE = ("sh", "python", "c++", "cpp", "c", "mlir")


@dataclass
class Block:
    """A program of a document: its language, text, place, and why it isn't run, if so."""

    document: Path
    line: int
    language: str
    text: str
    not_run: str | None = None

    def name(self) -> str:
        """How a test report calls it."""
        return f"{shown(self.document)}:{self.line}:{self.language}"


def blocks_of(document: Path, text: str) -> Iterator[Block]:
    """The runnable blocks, the Python ones joined. Empty lines keep the document's line numbers."""
    program: Block | None = None
    for match in FENCE.finditer(text):
        if match[1] not in RUNNABLE:
            continue
        line = text.count("\n", 0, match.start(2)) + 1
        reason = NOT_RUN.search(text[: match.start()])
        block = Block(document, line, match[1], match[2], reason[1] if reason else None)
        if block.language != "python" or block.not_run:
            yield block
            continue
        program = program or Block(document, line, "python", "")
        program.text += "\n" * (line - 1 - program.text.count("\n")) + block.text
    if program:
        yield program


def all_blocks() -> list[Block]:
    """Those of all the checkout's documents."""
    return [
        block
        for document in files_with(".md")
        for block in blocks_of(document, document.read_text())
    ]
