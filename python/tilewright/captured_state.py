# SPDX-License-Identifier: Apache-2.0
"""Whether what a factory reads outside itself is still what its kernels were made from.

A factory keeps its kernels by its arguments. Globals, closures and attributes that it and the
functions that it calls read are no arguments: they are noted when the first kernel is made, and
compared at each call (about a microsecond).
"""

from __future__ import annotations

from math import copysign
from types import CodeType, FunctionType, ModuleType

from .source_lines import codes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ABSENT = object()
_PLAIN = (type(None), bool, int, float, str, bytes, complex)
_CONTAINERS = (list, dict, set)


def kind_of(value: object) -> object:
    """What tells equal arguments apart: 2, 2.0 and True make different kernels, and so do 0.0 and
    -0.0."""
    if isinstance(value, float):
        return type(value), copysign(1.0, value)
    if isinstance(value, (tuple, frozenset)):
        return type(value), tuple(map(kind_of, value))
    return type(value)


class CapturedState:
    """What a function reads outside itself, as it is now."""

    __slots__ = ("_names", "_cells", "_copies", "_seen")

    def __init__(self, function: FunctionType) -> None:
        self._names: list[tuple[dict[str, Any], str, object]] = []
        self._cells: list[tuple[Any, object]] = []
        self._copies: list[tuple[Any, Any]] = []
        self._seen: set[int] = set()
        self._function(function)

    def holds(self) -> bool:
        """Whether all of it is as it was."""
        for namespace, name, value in self._names:
            if namespace.get(name, _ABSENT) is not value:
                return False
        for cell, value in self._cells:
            if _contents(cell) is not value:
                return False
        return all(container == copy for container, copy in self._copies)

    def _function(self, function: FunctionType) -> None:
        if id(function) in self._seen or is_ours(function.__module__):
            return
        self._seen.add(id(function))
        names = _names_of(function.__code__)
        for name in names:
            value = function.__globals__.get(name, _ABSENT)
            if value is not _ABSENT:
                self._names.append((function.__globals__, name, value))
                self._value(value, names)
        for cell in function.__closure__ or ():
            value = _contents(cell)
            self._cells.append((cell, value))
            self._value(value, names)

    def _value(self, value: Any, names: set[str]) -> None:
        """What may change inside of a value; `names` are those that its reader mentions."""
        inner = value if isinstance(value, FunctionType) else getattr(value, "function", None)
        if isinstance(inner, FunctionType):
            self._function(inner)
        elif type(value) in _CONTAINERS:
            if _is_plain(value):
                self._copies.append((value, type(value)(value)))
        elif not isinstance(value, _PLAIN):
            self._attributes(value, names)

    def _attributes(self, value: Any, names: set[str]) -> None:
        module = value.__name__ if isinstance(value, ModuleType) else type(value).__module__
        space = getattr(value, "__dict__", None)
        if type(space) is not dict or id(value) in self._seen or is_ours(module):
            return
        self._seen.add(id(value))
        for name in names & space.keys():
            self._names.append((space, name, space[name]))
            if not isinstance(space[name], ModuleType):
                self._value(space[name], names)


def is_ours(module: str | None) -> bool:
    """Whether a module is the package's, not a user's; the package's own tests are users."""
    parts = (module or "").split(".")
    return parts[0] in ("tilewright", "tilelang") and not parts[-1].startswith("test_")


def _contents(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _names_of(code: CodeType) -> set[str]:
    """Names that may be looked up outside; words of strings too, which may be annotations."""
    names: set[str] = set()
    for inner in codes_of(code):
        names.update(inner.co_names)
        for constant in inner.co_consts:
            if isinstance(constant, str) and len(constant) < 200:
                words = "".join(c if c.isalnum() or c == "_" else " " for c in constant).split()
                names.update(words)
    return names


def _is_plain(value: Any) -> bool:
    """Whether two copies can be compared without surprises."""
    if isinstance(value, dict):
        return _is_plain([*value.keys(), *value.values()])
    if isinstance(value, (list, tuple, set)):
        return all(_is_plain(item) for item in value)
    return isinstance(value, _PLAIN)
