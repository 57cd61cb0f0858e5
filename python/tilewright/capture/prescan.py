# SPDX-License-Identifier: Apache-2.0
"""What is known before a kernel is traced: unsupported constructs, and the names that are unknown.

A construct is wrong wherever it stands. A name is wrong only where the trace comes to it: Python
asks for no name of a branch that is not taken. So what there is to say of a name waits for that.
"""

from __future__ import annotations

import ast
import types
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import Diagnostic
from ..suggestions import did_you_mean, meant_of_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .source import FunctionSource
    from .tracer import Tracer

_CONSTRUCTS: dict[type[ast.AST], str] = {
    ast.Try: "'try'",
    ast.ClassDef: "a class definition",
    ast.Delete: "'del'",
    ast.Match: "'match'",
    ast.Global: "'global'",
    ast.Nonlocal: "'nonlocal'",
    ast.Await: "'await'",
    ast.AsyncFor: "'async for'",
    ast.AsyncWith: "'async with'",
    ast.AsyncFunctionDef: "'async def'",
    ast.Yield: "'yield'",
    ast.YieldFrom: "'yield from'",
}
if hasattr(ast, "TryStar"):
    _CONSTRUCTS[ast.TryStar] = "'try'"


def is_unsupported_construct(node: ast.AST) -> bool:
    return type(node) in _CONSTRUCTS


def is_of_language(owner: object) -> bool:
    """Whether this is a module of ours, whose names are known before a trace."""
    return isinstance(owner, types.ModuleType) and owner.__name__.startswith("tilewright")


class Prescan:
    """Walks a function once; `lookup` resolves names from outside of it, or raises KeyError."""

    def __init__(self, source: FunctionSource, lookup: Callable[[str], object]) -> None:
        self.source = source
        self.lookup = lookup
        self._constructs: list[Diagnostic] = []
        self._unknown: dict[ast.AST, Diagnostic] = {}

    def run(self, tracer: Tracer) -> bool:
        """Tells the tracer what was found; whether that is nothing."""
        node = self.source.node
        with suppress(RecursionError):  # the trace says where
            self._function(node.args, node.body, frozenset())
        for found in self._constructs:
            tracer.report_found(found)
        tracer.unknown_names.update(self._unknown)
        return not self._constructs and not self._unknown

    def _construct(self, node: ast.AST, message: str) -> None:
        self._constructs.append(Diagnostic("unsupported", self.source.place(node), message))

    def _unknown_name(self, node: ast.AST, message: str, python: type[BaseException]) -> None:
        place = self.source.place(node)
        self._unknown[node] = Diagnostic("error", place, message, python=python)

    def _function(
        self, arguments: ast.arguments, body: Iterable[ast.AST], outer: frozenset[str]
    ) -> None:
        collector = _Locals()
        for statement in body:
            collector.visit(statement)
        names = {a.arg for a in _all_arguments(arguments)} | collector.names
        for statement in body:
            self._walk(statement, outer | names)

    def _walk(self, node: ast.AST, known: frozenset[str]) -> None:
        if type(node) in _CONSTRUCTS:
            self._construct(node, f"{_CONSTRUCTS[type(node)]} can't be captured in a kernel")
            return
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            word = "for" if isinstance(node, ast.For) else "while"
            self._construct(node, f"'else' of a {word} loop can't be captured in a kernel")
        if isinstance(node, ast.FunctionDef):
            for part in [*node.decorator_list, *node.args.defaults]:
                self._walk(part, known)
            self._function(node.args, node.body, known)
            return
        if isinstance(node, ast.Lambda):
            self._function(node.args, [node.body], known)
            return
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            targets = _Locals(inside=True)
            for generator in node.generators:
                targets.visit(generator.target)
            known = known | targets.names
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._name(node, known)
        elif isinstance(node, ast.Attribute):
            self._attribute(node, known)
        if isinstance(node, ast.AnnAssign):  # an annotation may be a string
            children: list[ast.AST] = [node.target] + ([node.value] if node.value else [])
        else:
            children = list(ast.iter_child_nodes(node))
        for child in children:
            self._walk(child, known)

    def _name(self, node: ast.Name, known: frozenset[str]) -> None:
        if node.id in known:
            return
        try:
            self.lookup(node.id)
        except KeyError:
            message = f"name {node.id!r} is not defined{did_you_mean(node.id, known)}"
            self._unknown_name(node, message, NameError)

    def _attribute(self, node: ast.Attribute, known: frozenset[str]) -> None:
        if not isinstance(node.value, ast.Name) or node.value.id in known:
            return
        try:
            owner = self.lookup(node.value.id)
        except KeyError:
            return
        if not is_of_language(owner):
            return
        from ..language.unsupported import is_known_name

        if not is_known_name(node.attr) and not hasattr(owner, node.attr):
            is_language = getattr(owner, "__name__", "") == "tilewright.language"
            hint = (meant_of_language if is_language else did_you_mean)(node.attr, dir(owner))
            message = f"{node.value.id} has no {node.attr!r}{hint}"
            self._unknown_name(node, message, AttributeError)


def _all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    extra = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


class _Locals(ast.NodeVisitor):
    """The names that statements of one function bind; does not enter nested functions."""

    def __init__(self, inside: bool = False) -> None:
        self.names: set[str] = set()
        self._inside = inside

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.names.add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.add(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        return

    def visit_ListComp(self, node: ast.ListComp) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                self.visit(child.target)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp  # type: ignore[assignment]

    def visit_Import(self, node: ast.Import) -> None:
        self.names.update(a.asname or a.name.split(".")[0] for a in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.names.update(a.asname or a.name for a in node.names)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)
