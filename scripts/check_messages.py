# SPDX-License-Identifier: Apache-2.0
"""Every error message has a test that contains it.

A message is the longest literal piece in a call such as `emitError() << "..."`, `error("...")` or
`raise KernelError(f"...")`; a test is an `x_test.cpp`, an `x.mlir` or a `test_x.py`. And no message
of the Ascend target names its instructions, which no kernel knows.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sources import ROOT, cpp_files, files_with, python_files, report, shown

FOLDERS = ("compiler/", "runtime/", "simulator/", "python/", "tools/")
REPORTING_CALL = re.compile(
    r"\b(?:emit\w*Error|emitError|error|errorAt|fail|failure|unsupported|internal|invalid|reportError)"
    r"(?:\s*\(|\s+\w+\()"
)
REPORTING_NAME = re.compile(r"(error|fail|failure|unsupported|report\w*|\w*Error)")
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
SHORTEST = 8  # characters of a piece that still tells one message from another


@dataclass(frozen=True)
class Message:
    """Where a message is made, and its longest literal piece."""

    path: Path
    line: int
    piece: str


def is_test(path: Path) -> bool:
    """Whether the file's name says that it is a test."""
    return path.name.endswith(("_test.cpp", ".mlir")) or path.name.startswith(("test_", "conftest"))


def longest_piece(literals: list[str]) -> str:
    """The longest part of the literals between placeholders and quotes, without escapes."""
    pieces = [piece for text in literals for piece in re.split(r"\{[^}]*\}|\\.|'|%\w", text)]
    return max((piece.strip() for piece in pieces), key=len, default="")


def statement(text: str, start: int) -> str:
    """The text from `start` to the semicolon that ends the statement, strings taken as a whole."""
    end = start
    while end < len(text) and text[end] not in ";{":
        literal = LITERAL.match(text, end)
        end = literal.end() if literal else end + 1
    return text[start:end]


def cpp_messages(path: Path, text: str) -> Iterator[Message]:
    """Messages of C++ calls whose name says that they report."""
    code = re.sub(r"//[^\n]*", lambda match: " " * len(match[0]), text)
    for match in REPORTING_CALL.finditer(code):
        # One literal may be written in parts: parts with nothing but space between belong together.
        joined = re.sub(r'"\s*\n\s*"', "", statement(code, match.start()))
        piece = longest_piece(LITERAL.findall(joined))
        if len(piece) >= SHORTEST:
            yield Message(path, code.count("\n", 0, match.start()) + 1, piece)


def python_messages(path: Path, text: str) -> Iterator[Message]:
    """Messages of Python calls whose name says that they report."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if not REPORTING_NAME.fullmatch(name):
            continue
        literals = [
            part.value
            for argument in node.args
            for part in ast.walk(argument)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        piece = longest_piece(literals)
        if len(piece) >= SHORTEST and " " in piece:
            yield Message(path, node.lineno, piece)


def messages() -> list[Message]:
    """All messages of the code that is not a test."""
    found: list[Message] = []
    for path in cpp_files():
        if shown(path).startswith(FOLDERS) and not is_test(path):
            found += cpp_messages(path, path.read_text(errors="replace"))
    for path in python_files():
        if shown(path).startswith(FOLDERS) and not is_test(path) and path.suffix == ".py":
            found += python_messages(path, path.read_text())
    return found


def untested(found: list[Message], tests: str) -> list[Message]:
    """Those whose piece no test contains (spaces and quotes do not count)."""

    def plain(text: str) -> str:
        return re.sub(r"[\s\"'\\]+", "", text)

    haystack = plain(tests)
    return [message for message in found if plain(message.piece) not in haystack]


#: Ops of the Ascend target's instructions, by their definitions, and where the words of the
#: language for them and for other ops stand.
INSTRUCTION = re.compile(r'def Npu_(\w+Op) : Npu_\w*Op<"(\w+)"')
INSTRUCTIONS = "compiler/ir/npu_*_ops.td"
WORDS_OF_INSTRUCTIONS = "compiler/targets/ascend/describe_hazard.cpp"
WORDS_OF_OPERATIONS = "compiler/targets/ascend/operation_name.cpp"
NAMES_OF_ONE_WORD = ("mmad", "duplicate")  # others are words of the language, too


def internal_words(instructions: dict[str, str], sources: dict[str, str]) -> Iterator[str]:
    """Where the Ascend target would show the name of an op, given the class and name of each
    instruction and the sources by path."""
    words = sources.get(WORDS_OF_INSTRUCTIONS, "")
    for kind in instructions:
        if f"npu::{kind}" not in words:
            yield f"{WORDS_OF_INSTRUCTIONS}:1: error: no word of the language for npu::{kind}"
    names = "|".join(
        name for name in instructions.values() if "_" in name or name in NAMES_OF_ONE_WORD
    )
    shown_name = re.compile(rf"\b({names})\b")
    for path, text in sources.items():
        code = re.sub(r"//[^\n]*", lambda match: " " * len(match[0]), text)
        for match in LITERAL.finditer(code):
            if found := shown_name.search(match[1]):
                line = code.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: error: a text has the op's name '{found[0]}'"
        for match in re.finditer(r"stripDialect|getStringRef", code):
            line = code.count("\n", 0, match.start()) + 1
            if path != WORDS_OF_OPERATIONS:
                yield f"{path}:{line}: error: an op's name; take operationName, in the language"


def internal_names() -> Iterator[str]:
    """The same of this tree."""
    instructions: dict[str, str] = {}
    for path in sorted(ROOT.glob(INSTRUCTIONS)):
        instructions |= dict(INSTRUCTION.findall(path.read_text()))
    sources = {
        shown(path): path.read_text(errors="replace")
        for path in cpp_files()
        if shown(path).startswith("compiler/targets/ascend/") and not is_test(path)
    }
    yield from internal_words(instructions, sources)


def findings() -> Iterator[str]:
    """The untested ones, and names of ops that users would see."""
    yield from internal_names()
    tests = "\n".join(
        path.read_text(errors="replace")
        for path in files_with(".cpp", ".mlir", ".py")
        if is_test(path)
    )
    for message in untested(messages(), tests):
        yield f"{shown(message.path)}:{message.line}: error: no test has '{message.piece}'"


if __name__ == "__main__":
    sys.exit(report(findings))
