# SPDX-License-Identifier: Apache-2.0
"""The source of a Python function as an AST whose nodes know their place in the real file."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import CompileError, Diagnostic, Place

if TYPE_CHECKING:
    from types import FunctionType


@dataclass(slots=True)
class FunctionSource:
    """A function, its definition as parsed, and the lines of its file."""

    function: FunctionType
    node: ast.FunctionDef
    file: str
    lines: list[str]
    line_offset: int

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
    import inspect

    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as missing:
        raise _no_source(function, missing) from None
    # An indented definition is parsed inside `if`, so that lines and columns stay as they are in
    # the file (dedenting would change columns and the text of strings).
    indented = lines[0][:1].isspace()
    text = ("if 1:\n" if indented else "") + "".join(lines)
    try:
        module = ast.parse(text)
    except SyntaxError as wrong:
        raise _no_source(function, wrong) from None
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            source_lines = text.splitlines()
            offset = first - 1 - (1 if indented else 0)
            return FunctionSource(function, node, code.co_filename, source_lines, offset)
    raise _no_source(function, LookupError("it is not a plain 'def'"))


def _no_source(function: FunctionType, reason: Exception) -> CompileError:
    place = Place(function.__code__.co_filename, function.__code__.co_firstlineno)
    message = (
        f"the source of kernel '{function.__name__}' can't be read ({_reason(reason)}); kernels "
        "must be defined with 'def' in a file, not in a prompt, exec or lambda"
    )
    return CompileError([Diagnostic("error", place, message)], function.__name__)


def _reason(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text[0].lower() + text[1:]
