# SPDX-License-Identifier: Apache-2.0
"""Which lines of its file a function is written in, from its bytecode and their indentation.

Unlike `inspect.getsource` this needs no tokenizer: it is on the way of every cache hit.
"""

from __future__ import annotations

from types import CodeType

_FUTURE_ANNOTATIONS = 0x1000000


def codes_of(code: CodeType) -> list[CodeType]:
    """The code of a function and of all functions in it."""
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += codes_of(constant)
    return found


def block_of(code: CodeType, lines: list[str]) -> tuple[int, int]:
    """The lines of a function, numbered from 0: from its first decorator to the last one that is
    surely its own, and further as long as lines are indented deeper than it. LookupError if the
    file has fewer lines."""
    first = code.co_firstlineno - 1
    if first >= len(lines):
        raise LookupError(f"the source {code.co_filename!r} has changed")
    last = max(line or 0 for inner in codes_of(code) for _, _, line in inner.co_lines())
    indent = indent_of(lines[first])
    end = max(last, first + 1)
    while end < len(lines) and (not lines[end].strip() or indent_of(lines[end]) > indent):
        end += 1
    while end > first + 1 and not lines[end - 1].strip():
        end -= 1
    return first, end


def annotated_words(code: CodeType, source: str) -> set[str]:
    """The words of lines that look like an annotation; those of local names leave no trace in the
    bytecode. Of all lines where annotations are put off."""
    everywhere = bool(code.co_flags & _FUTURE_ANNOTATIONS)
    words: set[str] = set()
    for line in source.splitlines():
        head, colon, _ = line.partition(":")
        if everywhere or (colon and head.strip().isidentifier()):
            words.update(words_of(line))
    return words


def words_of(line: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in line).split()


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())
