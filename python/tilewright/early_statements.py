# SPDX-License-Identifier: Apache-2.0
"""The statements of an eager kernel before its launch, run by plain Python for what annotations
need."""

from __future__ import annotations

import ast
import symtable
from typing import TYPE_CHECKING, Any

from .capture.imports import imported
from .language.dtypes import Dtype, is_dtype, to_dtype

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType


def _free_names(node: ast.expr) -> list[str]:
    """The names that an expression takes from outside: not those of its lambdas and loops."""
    parts = list(ast.walk(node))
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    own_scope = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if not any(isinstance(part, own_scope) for part in parts):
        return names
    tables = [symtable.symtable(ast.unparse(node), "<signature>", "eval")]
    free: set[str] = set()
    for table in tables:  # grows meanwhile
        free.update(s.get_name() for s in table.get_symbols() if s.is_global())
        tables += table.get_children()
    return [name for name in names if name in free]


def _is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _joined(node: ast.AugAssign, before: ast.expr) -> ast.BinOp:
    return ast.BinOp(before, node.op, node.value)


class EarlyStatements:
    """Evaluates the statements before the launch with plain Python."""

    def __init__(self, names: dict[str, Any], lookup: Callable[[str], Any]) -> None:
        self.names = names
        self.lookup = lookup
        #: What the annotations raised that have no value.
        self.failures: dict[ast.expr, Exception] = {}
        #: Names without a value, and what the expressions raised that should have given it.
        self.unknown: dict[str, Exception] = {}

    def _evaluated(self, node: ast.expr, known: Callable[[Any], Any] | None = None) -> Any:
        """Its value, with what `known` gives in the place of names' values."""
        scope = {name: known(v) if known else v for name, v in self.names.items()}
        for name in _free_names(node):
            if name in self.unknown:
                raise self.unknown[name]
            if name not in scope:
                try:
                    scope[name] = self.lookup(name)
                except KeyError:
                    raise NameError(f"name {name!r} is not defined", name=name) from None
        return eval(compile(ast.Expression(node), "<signature>", "eval"), scope)

    def annotation(self, node: ast.expr, defined: Any = None) -> Any:
        """The value of an annotation, which may be a string; or of what it was when the function
        was defined."""
        try:
            value = self._evaluated(node) if defined is None else defined
            while isinstance(value, str) and not isinstance(value, Dtype):
                value = self._named(value)
            return value
        except Exception as error:  # told with a constant that isn't found, or by the trace
            self.failures[node] = error
            return None

    def _named(self, text: str) -> Any:
        """What a string says: `int` is Python's, `int32` a dtype if no name."""
        try:
            return self._evaluated(ast.parse(text, mode="eval").body)
        except NameError:
            if is_dtype(text):
                return to_dtype(text)
            raise

    def bring(self, node: ast.Import | ast.ImportFrom, function: FunctionType) -> None:
        try:
            names = imported(node, function)
        except Exception as error:  # the trace reports it, with its place
            wrong = [alias.asname or alias.name.split(".")[0] for alias in node.names]
            self.unknown.update(dict.fromkeys(wrong, error))
            return
        self.names.update(names)
        for name in names:
            self.unknown.pop(name, None)

    def run(self, node: ast.stmt, function: FunctionType) -> None:
        """What a statement before the launch does to the names that annotations may use."""
        if isinstance(node, ast.Assign):
            self.assign(node.targets, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            self.assign([node.target], ast.copy_location(_joined(node, before), node))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self.bring(node, function)
        else:
            self._lose(node)

    def taken(self, node: ast.If, known: Callable[[Any], Any]) -> list[ast.stmt]:
        """The side of an if that runs; none, and its names are lost, where that isn't known.
        `known` gives the number of what T.const gave, where it is known yet."""
        try:
            return node.body if self._evaluated(node.test, known) else node.orelse
        except Exception:  # the trace reports it, or builds both
            self._lose(node)
            return []

    def _lose(self, node: ast.stmt) -> None:
        """What a statement sets that is first run by the trace."""
        set_ = [p.id for p in ast.walk(node) if isinstance(p, ast.Name) and _is_set(p)]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            set_ = [node.name]
        for name in set_:
            message = (
                f"an annotation can't use {name!r}, which is set in a loop, as a function or under "
                "a condition on T.const: those run later"
            )
            self.unknown[name] = NameError(message, name=name)

    def assign(self, targets: list[ast.expr], expression: ast.expr) -> None:
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        try:
            value = self._evaluated(expression)
        except Exception as error:  # the trace reports it, with its place
            self.unknown.update(dict.fromkeys(names, error))
            return
        for name in names:
            self.unknown.pop(name, None)
        for target in targets:
            if isinstance(target, ast.Name):
                self.names[target.id] = value
            elif isinstance(target, ast.Tuple) and isinstance(value, tuple):
                for part, item in zip(target.elts, value, strict=False):
                    if isinstance(part, ast.Name):
                        self.names[part.id] = item
