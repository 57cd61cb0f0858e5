# SPDX-License-Identifier: Apache-2.0
"""Which style a function of `@tilelang.jit` is written in: does it give a kernel, or is it one?

An eager kernel opens `T.Kernel`, mostly in its own body, which its bytecode shows. Where a macro
does that for it, the calls in its source tell.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator, Sequence
    from types import FunctionType
    from typing import Any

#: What only an eager kernel calls, or a macro for it.
_OF_EAGER = ("Kernel", "const", "empty")


def names_kernel(function: FunctionType) -> bool:
    """Whether a function opens a kernel in its own body, not in one that it defines."""
    return "Kernel" in function.__code__.co_names


def is_eager(function: FunctionType) -> bool:
    """Whether calling a function makes the kernel, not calling what it gives."""
    if names_kernel(function):
        return True
    return _may_open(function) and _opens(function, set())


def _may_open(function: FunctionType) -> bool:
    """A quick look without the source; few factories pass."""
    code = function.__code__
    names = {*code.co_names, *code.co_freevars}
    if "prim_func" in names:
        return False
    if "macro" in names or not names.isdisjoint(_OF_EAGER):
        return True
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    found = [function.__globals__[name] for name in names & function.__globals__.keys()]
    found += [cell.cell_contents for _, cell in cells if _is_set(cell)]
    return any(_is_macro(v) or any(_is_macro(_attribute(v, n)) for n in names) for v in found)


def _is_set(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _is_macro(value: object) -> bool:
    kind = type(value)
    return kind.__name__ == "InlinedFunction" and kind.__module__.startswith("tilewright.")


def _attribute(value: object, name: str) -> Any:
    """An attribute of a module, a class or an object: nothing of the user's runs."""
    space = getattr(value, "__dict__", None)
    if type(space) is dict and name in space:
        return space[name]
    kind = value if isinstance(value, type) else type(value)
    return next((vars(owner)[name] for owner in kind.__mro__ if name in vars(owner)), None)


def _opens(function: FunctionType, seen: set[int]) -> bool:
    from .capture.functions import outside_names
    from .capture.source import function_source
    from .errors import CompileError

    if names_kernel(function):
        return True
    if id(function) in seen:
        return False
    seen.add(id(function))
    try:
        body = function_source(function).node.body
    except CompileError:  # no source: the call says so
        return False
    own = set(function.__code__.co_varnames)
    lookup = outside_names(function)

    def outside(name: str) -> Any:
        return None if name in own else lookup(name)

    return _calls_open(body, outside, seen)


def _calls_open(body: Sequence[ast.stmt], lookup: Callable[[str], Any], seen: set[int]) -> bool:
    import ast

    nodes = list(_own_nodes(body))
    macros = {n.name: n.body for n in nodes if isinstance(n, ast.FunctionDef) and _is_marked(n)}
    language = sys.modules.get("tilewright.language")
    only_eager = [getattr(language, name, None) for name in _OF_EAGER]
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in macros:
            if _calls_open(macros.pop(node.func.id), lookup, seen):
                return True
            continue
        called = _called(node.func, lookup)
        if called is not None and any(called is function for function in only_eager):
            return True
        if _is_macro(called) and _opens(called.function, seen):
            return True
    return False


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a body without those of the functions in it."""
    import ast

    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _own_nodes(list(ast.iter_child_nodes(node)))


def _is_marked(function: ast.FunctionDef) -> bool:
    """Whether it is a macro."""
    names = (getattr(d, "attr", getattr(d, "id", None)) for d in function.decorator_list)
    return "macro" in names


def _called(node: ast.expr, lookup: Callable[[str], Any]) -> Any:
    """What a name or an attribute says, as far as that is known before the call."""
    import ast

    if isinstance(node, ast.Name):
        try:
            return lookup(node.id)
        except KeyError:
            return None
    if isinstance(node, ast.Attribute):
        owner = _called(node.value, lookup)
        return None if owner is None else _attribute(owner, node.attr)
    return None
