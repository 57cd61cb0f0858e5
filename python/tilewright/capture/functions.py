# SPDX-License-Identifier: Apache-2.0
"""Functions whose bodies are captured: kernels, macros, and functions defined inside a kernel."""

from __future__ import annotations

import ast
import builtins
import sys
from types import MethodType
from typing import TYPE_CHECKING, Any

from ..language.values import BufferRef, Element, LanguageError, Traced
from ..suggestions import which_exist
from .definition import globals_of
from .expressions import Reference
from .guarded import expressions_only
from .interpreter import Interpreter
from .prescan import Prescan
from .scopes import Scope
from .source import FunctionSource, function_source
from .tracer import Tracer, current

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Sequence
    from types import FunctionType

Value = Any
#: Macros may call themselves while tracing; deeper than this is taken for endless.
DEEPEST_MACRO = 500


def outside_names(function: FunctionType) -> Callable[[str], Value]:
    """Looks up the names that `function` sees from outside: closure, globals, builtins."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    known = globals_of(function)

    def lookup(name: str) -> Value:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        if name in known:
            return known[name]
        return vars(builtins)[name]

    return lookup


def bind_arguments(interpreter: Interpreter, values: dict[str, Value], node: ast.AST) -> None:
    """Binds the parameters of an inlined function, by value unless they are `T.Ref`."""
    for name, value in values.items():
        if isinstance(value, Element):
            value = interpreter.tracer.expression(value)
        interpreter.tracer.name_value(name, value)
        interpreter.scope.bind(name, value, interpreter.place(node))


class InlinedFunction:
    """A function of Python source that is inlined where it is called (`@T.macro`)."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._source: FunctionSource | None = None
        self._checked = False

    def __repr__(self) -> str:
        return f"<macro {self.__name__}>"

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)  # a macro may be a method

    def source(self) -> FunctionSource:
        if self._source is None:
            self._source = function_source(self.function)
        return self._source

    def __call__(self, *args: Value, **keywords: Value) -> Value:
        tracer = current()
        source = self.source()
        lookup = outside_names(self.function)
        from inspect import signature

        values = _bound(signature(self.function), self.__name__, args, keywords)
        for name in _reference_parameters(source.node):
            values[name] = as_reference(name, values[name])
        with inlined(tracer, self.__name__), expressions_only(tracer, self.__name__):
            if not self._checked:
                self._checked = Prescan(source, lookup).run(tracer)
            interpreter = Interpreter(source, tracer, Scope(tracer.frames), lookup)
            bind_arguments(interpreter, values, source.node)
            return interpreter.run(source.node.body)


class NestedFunction:
    """A function or lambda defined inside a kernel; inlined where it is called."""

    def __init__(
        self,
        outer: Interpreter,
        name: str,
        arguments: ast.arguments,
        body: Sequence[ast.stmt],
    ) -> None:
        self.__name__ = name
        self._outer = outer
        self._scope = outer.scope
        self._arguments = arguments
        self._body = body
        self._defaults = {
            a.arg: outer.value(d)
            for a, d in [
                *_with_defaults([*arguments.posonlyargs, *arguments.args], arguments.defaults),
                *_with_defaults(arguments.kwonlyargs, arguments.kw_defaults),
            ]
            if d is not None
        }

    def __call__(self, *args: Value, **keywords: Value) -> Value:
        outer = self._outer
        tracer = outer.tracer
        values = _bound(self._signature(), self.__name__, args, keywords)
        for name in _annotated_references(self._arguments):
            values[name] = as_reference(name, values[name])
        place = tracer.place
        interpreter = Interpreter(
            outer.source, tracer, Scope(tracer.frames, self._scope), outer.outside
        )
        node = self._body[0]
        bind_arguments(interpreter, values, node)
        try:
            with expressions_only(tracer, self.__name__):
                return interpreter.run(self._body)
        finally:
            tracer.at(place)

    def _signature(self) -> inspect.Signature:
        import inspect

        given = self._arguments
        kinds = inspect.Parameter
        parts: list[tuple[ast.arg, Any]] = [(a, kinds.POSITIONAL_ONLY) for a in given.posonlyargs]
        parts += [(a, kinds.POSITIONAL_OR_KEYWORD) for a in given.args]
        if given.vararg:
            parts.append((given.vararg, kinds.VAR_POSITIONAL))
        parts += [(a, kinds.KEYWORD_ONLY) for a in given.kwonlyargs]
        if given.kwarg:
            parts.append((given.kwarg, kinds.VAR_KEYWORD))
        return inspect.Signature(
            [
                kinds(a.arg, kind, default=self._defaults.get(a.arg, kinds.empty))
                for a, kind in parts
            ]
        )


#: So many macros within each other fit into Python's own limit.
_SHALLOW = 40
#: Calls of Python's that a macro takes here, with some loops and branches around the call.
_CALLS_OF_MACRO = 40


def _room_for_macros() -> int:
    """Makes Python's limit of calls within each other large enough; gives what it was."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + DEEPEST_MACRO * _CALLS_OF_MACRO)
    return limit


class inlined:
    """Marks what is built inside as inlined from a macro called at the current place."""

    def __init__(self, tracer: Tracer, name: str) -> None:
        self.tracer = tracer
        self.name = name

    def __enter__(self) -> None:
        depth = len(self.tracer.call_sites)
        if depth >= DEEPEST_MACRO:
            raise LanguageError(
                f"macro {self.name!r} is nested in {depth} macros, the most that there may be; it "
                "may call itself without end",
                python=RecursionError,
            )
        self.python_limit = _room_for_macros() if depth == _SHALLOW else 0
        self.site = self.tracer.place
        self.name_for_result = self.tracer.pending_name
        self.tracer.pending_name = None
        self.tracer.enter_macro(self.name, self.site)

    def __exit__(self, *exc: object) -> None:
        if self.python_limit:
            sys.setrecursionlimit(self.python_limit)
        self.tracer.leave_macro()
        self.tracer.at(self.site)


def as_reference(name: str, value: Value) -> Value:
    if isinstance(value, Element):
        return Reference(value)
    if isinstance(value, Traced) and value.origin is not None:
        return Reference(value.origin)
    if isinstance(value, BufferRef) and value.is_variable:
        return Reference(value.element())
    raise LanguageError(
        f"parameter {name!r} is a T.Ref and needs a variable or an element", python=TypeError
    )


def _bound(
    signature: inspect.Signature, name: str, args: Sequence[Value], keywords: dict[str, Value]
) -> dict[str, Value]:
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError as wrong:
        unknown = next((key for key in keywords if key not in signature.parameters), None)
        if unknown is not None:
            end = which_exist(unknown, signature.parameters)
            message = f"{name} has no argument {unknown!r}{end}"
            raise LanguageError(message, python=TypeError) from None
        raise LanguageError(f"{name}(): {wrong}", python=TypeError) from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _reference_parameters(node: ast.FunctionDef) -> list[str]:
    return _annotated_references(node.args)


def _annotated_references(arguments: ast.arguments) -> list[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [a.arg for a in every if a.annotation is not None and _is_ref(a.annotation)]


def _is_ref(annotation: ast.expr) -> bool:
    text = ast.unparse(annotation).strip("'\"")
    return text == "Ref" or text.endswith(".Ref")


def _with_defaults(
    arguments: Sequence[ast.arg], defaults: Sequence[ast.expr | None]
) -> list[tuple[ast.arg, ast.expr | None]]:
    return list(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
