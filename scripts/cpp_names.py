# SPDX-License-Identifier: Apache-2.0
"""The names that a C++ file declares outside its classes and functions, read from its text."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_BLANK = re.compile(
    r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:.*\\\n)*.*$",
    re.M,
)
_MACRO = re.compile(r"^[ \t]*#[ \t]*(define|undef) (\w+)", re.M)
_MARK = re.compile(r"[{};]")
_SPACE = re.compile(r"\s*")
_ATTRIBUTE = re.compile(r"\[\[.*?\]\] ?|\balignas\(\w+\) ?")
_SPECIFIER = re.compile(r"(static|inline|constexpr|const|constinit|extern|thread_local) ")
_NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{\}$|extern ?\{\}$")
_TYPE = re.compile(
    r"(class|struct|union|enum(?: class| struct)?)(?: (\w+))?(?: final)? ?(?=\{|:[^:]|$)"
)
_ALIAS = re.compile(r"(?:using|namespace) (\w+) ?=(.*)|typedef (.*\W)(\w+)$")
_NO_NAME = re.compile(r"(?:using|friend|static_assert|template|class|struct|union|enum)\b")
_OPERATOR = re.compile(r"\boperator ?(?:\(\)|\[\]|\w+|[^\w\s(]+)")
_ANGLES = re.compile(r"<[^<>]*>")
_LIBRARY = re.compile(r"\b(?:mlir|llvm|std)::")
_WORDS_OF_TYPES = {"int", "long", "short", "char", "bool", "float", "double", "unsigned", "signed"}


@dataclass(frozen=True, slots=True)
class Name:
    """What a file declares. `scope` is the namespace, but for the parts that have no name; `kind`
    is "function" (`detail`: the types that it takes), "alias" (`detail`: what it stands for), or
    another. `is_nameless`: it stands in a namespace without a name, or is static."""

    scope: str
    name: str
    kind: str
    detail: str
    is_nameless: bool
    line: int

    def meets(self, other: "Name") -> bool:
        """Whether one source can't have both."""
        if (self.scope, self.name) != (other.scope, other.name):
            return False
        if self.kind != other.kind:
            return self.is_nameless or other.is_nameless
        if (
            self.kind == "function"
        ):  # without a namespace's help, it is declared here, defined there
            return self.detail == other.detail and (self.is_nameless or other.is_nameless)
        return self.kind != "alias" or self.detail != other.detail

    def hides(self, other: "Name") -> bool:
        """Whether who means the other one, of a namespace around, finds this one."""
        is_inside = other.scope != "" and self.scope.startswith(f"{other.scope}::")
        return self.name == other.name and is_inside and other.kind != "macro"


def names_of(text: str) -> Iterator[Name]:
    """All of a file's; a function that is declared before its definition comes twice."""
    undone = {name for word, name in _MACRO.findall(text) if word == "undef"}
    for macro in _MACRO.finditer(text):
        if macro[1] == "define" and macro[2] not in undone:
            yield Name("", macro[2], "macro", "", True, text.count("\n", 0, macro.start()) + 1)
    yield from _Reader(text).names()


class _Reader:
    def __init__(self, text: str) -> None:
        self.code = _BLANK.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
        self.closing: dict[int, int] = {}
        opened = []
        for brace in re.finditer(r"[{}]", self.code):
            if brace[0] == "{":
                opened.append(brace.start())
            elif opened:
                self.closing[opened.pop()] = brace.start()

    def names(self) -> Iterator[Name]:
        yield from self._scope(0, len(self.code), "", False)

    def _scope(self, begin: int, end: int, scope: str, is_nameless: bool) -> Iterator[Name]:
        line, counted = self.code.count("\n", 0, begin) + 1, begin
        for start, text, bodies in self._declarations(begin, end):
            if space := _NAMESPACE.match(text):
                inner = "::".join(part for part in (scope, space[1]) if part)
                yield from self._scope(*bodies[0], inner, is_nameless or space[1] == "")
                continue
            line, counted = line + self.code.count("\n", counted, start), start
            specifiers, text = _without_specifiers(text)
            is_static = is_nameless or "static" in specifiers
            if "extern" in specifiers:
                continue
            for name, kind, detail in self._declared(text, bodies, is_nameless):
                yield Name(scope, name, kind, detail, is_static, line)

    def _declarations(
        self, begin: int, end: int
    ) -> Iterator[tuple[int, str, list[tuple[int, int]]]]:
        """Where each begins, its text with `{}` for what braces hold, and where that stands."""
        pieces: list[str] = []
        bodies: list[tuple[int, int]] = []
        at = begin
        start = 0
        while mark := _MARK.search(self.code, at, end):
            if not pieces:
                space = _SPACE.match(self.code, at)
                start = space.end() if space else at
            pieces.append(self.code[at : mark.start()])
            at = mark.end()
            if mark[0] == "{":
                close = self.closing.get(mark.start(), end)
                bodies.append((at, close))
                pieces.append("{}")
                at = close + 1
            text = " ".join("".join(pieces).split())
            if mark[0] == "{" and not self._ends(text, at):
                continue
            if text:
                yield start, text, bodies
            pieces, bodies = [], []

    def _ends(self, text: str, at: int) -> bool:
        """Whether a brace ends a declaration: that of a namespace, and a function's last, since its
        list of members may have braces, too."""
        if _NAMESPACE.match(text):
            return True
        _, text = _without_specifiers(text)
        if _TYPE.match(text.partition("{")[0]):
            return False
        head = _without_angles(text)
        call, value = head.find("("), head.find("=")
        space = _SPACE.match(self.code, at)
        is_followed = space is not None and self.code[space.end() : space.end() + 1] in ("{", ",")
        return call >= 0 and (value < 0 or call < value) and not is_followed

    def _declared(
        self, text: str, bodies: list[tuple[int, int]], is_nameless: bool
    ) -> Iterator[tuple[str, str, str]]:
        """Name, kind and detail of all that a declaration brings."""
        if alias := _ALIAS.match(text):
            yield alias[1] or alias[4], "alias", (alias[2] or alias[3]).strip()
        elif kind := _TYPE.match(text):
            if kind[2] and (bodies or is_nameless):  # others are only declared
                yield kind[2], "type", ""
            if kind[1] == "enum" and bodies:
                for part in _parts(self.code[slice(*bodies[0])]):
                    yield part.partition("=")[0].strip(), "enumerator", ""
        elif _NO_NAME.match(text):
            return
        elif call := _first_call(text):
            if call[0] and "::" not in call[0]:
                yield call[0], "function", call[1]
        else:
            yield from ((name, "variable", "") for name in _variables(text))


def _without_specifiers(text: str) -> tuple[set[str], str]:
    """Without attributes, a template's parameters, and words that say how something is linked."""
    text = _ATTRIBUTE.sub("", text)
    while text.startswith("template <"):
        parameters = _first_group(text, "<", ">")
        text = text[parameters.stop :].lstrip()
    found = set()
    while specifier := _SPECIFIER.match(text):
        found.add(specifier[1])
        text = text[specifier.end() :]
    return found, text


def _without_angles(text: str) -> str:
    """Without the arguments of templates; what follows keeps its place."""
    text = _OPERATOR.sub(lambda match: "operator".ljust(len(match[0]), "_"), text)
    text = text.replace("->", "__")
    while (shorter := _ANGLES.sub(lambda match: "_" * len(match[0]), text)) != text:
        text = shorter
    return text


def _first_call(text: str) -> tuple[str, str] | None:
    """The name of the function that is declared, and the types of its parameters. What returns
    nothing, a constructor or a macro's call, has no name."""
    head = _without_angles(text)
    at = head.find("(")
    if at < 0 or 0 <= head.find("=") < at:
        return None
    name = re.search(r"(\boperator.*|[\w:~]+) ?$", text[:at])
    if not name or not text[: name.start()].strip():
        return "", ""
    takes = [_type_of(part) for part in _parts(text[_first_group(text, "(", ")", at)][1:-1])]
    return name[1].replace(" ", ""), ", ".join(takes)


def _first_group(text: str, opening: str, closing: str, at: int = 0) -> slice:
    """From the first opening sign to behind the one that closes it."""
    first = text.find(opening, at)
    depth = 0
    for end in range(first, len(text)):
        depth += (text[end] == opening) - (text[end] == closing)
        if depth == 0:
            return slice(first, end + 1)
    return slice(first, len(text))


def _parts(text: str) -> list[str]:
    """What stands between the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "([{<":
            depth += 1
        elif sign in ")]}>":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part for part in (*parts, text[start:]) if part.strip()]


def _type_of(parameter: str) -> str:
    """Without its name, its default, and the namespaces of libraries."""
    words = re.findall(r"\w+|::|\S", _LIBRARY.sub("", parameter.partition("=")[0]))
    is_named = len(words) > 1 and words[-1].isidentifier() and words[-2] != "::"
    if is_named and words[-1] not in _WORDS_OF_TYPES and words[:-1] != ["const"]:
        words.pop()
    return " ".join(words)


def _variables(text: str) -> Iterator[str]:
    """The names in a declaration of one or several variables."""
    for number, part in enumerate(_parts(text)):
        declared = re.sub(r"( ?\[[^]]*\])+$", "", re.split(r"=|\{\}", part)[0].strip())
        found = re.search(r"^\W*(\w+)$" if number else r"[\w>)*&][\s*&]*?[\s*&>](\w+)$", declared)
        if found:
            yield found[1]


if __name__ == "__main__":
    sys.exit("this module serves the check scripts")
