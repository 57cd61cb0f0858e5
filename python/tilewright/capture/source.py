# SPDX-License-Identifier: Apache-2.0
"""The source of a Python function as an AST whose nodes know their place in the real file."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING

from ..errors import CompileError, Diagnostic, Place
from ..source_lines import block_of

if TYPE_CHECKING:
    from types import FunctionType


class FunctionSource:
    """A function, its definition as parsed, and the lines that were parsed; `line_offset` is what
    their numbers lack to those of the file."""

    __slots__ = ("file", "function", "line_offset", "lines", "node")

    def __init__(
        self, function: FunctionType, node: ast.FunctionDef, lines: list[str], line_offset: int
    ) -> None:
        self.function = function
        self.node = node
        self.file = function.__code__.co_filename
        self.lines = lines
        self.line_offset = line_offset

    def place(self, node: ast.AST) -> Place:
        """The place of `node`; columns count characters from 1."""
        line = getattr(node, "lineno", None)
        if line is None:
            return self.header_place()
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        column = _characters(text, node.col_offset)  # type: ignore[attr-defined]
        end = getattr(node, "end_col_offset", None)
        if end is None or node.end_lineno != line:  # type: ignore[attr-defined]
            end_column = len(text.rstrip()) + 1
        else:
            end_column = _characters(text, end) + 1
        return Place(self.file, line + self.line_offset, column + 1, end_column)

    def header_place(self) -> Place:
        """The place of the function's name."""
        line = self.node.lineno
        text = self.lines[line - 1]
        column = text.find(self.node.name, text.find("def")) + 1
        return Place(self.file, line + self.line_offset, column, column + len(self.node.name))


def _characters(text: str, utf8_offset: int) -> int:
    if text.isascii():
        return utf8_offset
    return len(text.encode()[:utf8_offset].decode(errors="ignore"))


def function_source(function: FunctionType) -> FunctionSource:
    """Parses the definition of `function`; a CompileError says where there is no source."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    every = [line.rstrip("\r\n") for line in linecache.getlines(code.co_filename)]
    if not every:
        raise _no_source(function, "its file can't be read")
    try:
        first, end = block_of(code, every)
        return _parsed(function, every[first:end], first)
    except LookupError as changed:
        raise _no_source(function, str(changed)) from None
    except SyntaxError:
        return _by_tokens(function)


def _by_tokens(function: FunctionType) -> FunctionSource:
    """For definitions whose indentation misleads, as with a closing bracket far to the left."""
    import inspect

    try:
        lines, first = inspect.getsourcelines(function)
        return _parsed(function, [line.rstrip("\r\n") for line in lines], first - 1)
    except (OSError, SyntaxError, LookupError) as wrong:
        raise _no_source(function, str(wrong)) from None


def _parsed(function: FunctionType, lines: list[str], first: int) -> FunctionSource:
    # An indented definition is parsed inside `if`, so that lines and columns stay as they are in
    # the file (dedenting would change columns and the text of strings).
    if lines[0][:1].isspace():
        lines = ["if 1:", *lines]
        first -= 1
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            return FunctionSource(function, node, lines, first)
    raise LookupError("it is not a plain 'def'")


def _no_source(function: FunctionType, reason: str) -> CompileError:
    place = Place(function.__code__.co_filename, function.__code__.co_firstlineno)
    message = (
        f"the source of kernel '{function.__name__}' can't be read ({reason}); kernels "
        "must be defined with 'def' in a file, not in a prompt, python -c, exec or lambda"
    )
    return CompileError([Diagnostic("error", place, message)], function.__name__)
