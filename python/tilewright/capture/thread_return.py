# SPDX-License-Identifier: Apache-2.0
"""`T.thread_return()`: the threads that come to it do nothing more in their launch.

What stands behind a branch that holds one belongs to the threads that took another way. So it is
put into the branch: `if c: T.thread_return()` and a rest become `if c: pass` and `else:` the rest.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..language.threads import THREAD_ENDS
from ..language.values import unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAME = "thread_return"
_WAY_OUT = "put what follows under the opposite condition"


class EndingIf(ast.If):
    """A branch in which threads may end, with all that follows on each of its ways."""


def with_rest(node: ast.stmt, rest: Sequence[ast.stmt]) -> EndingIf | None:
    """The branch and what follows it as one statement; None where no thread ends in `node`."""
    if not isinstance(node, ast.If) or not any(_is_return(n) for n in ast.walk(node)):
        return None
    whole = EndingIf(node.test, [*node.body, *rest], [*node.orelse, *rest])
    return ast.copy_location(whole, node)


def is_end(value: object) -> bool:
    return value is THREAD_ENDS


def refuse_misplaced(call: ast.expr, function: ast.FunctionDef, under_condition: bool) -> None:
    """Raises where it can't be told what the threads that go on have left to do."""
    if not any(call is allowed for allowed in _straight(function.body)):
        where = "in a loop, a 'with' or an expression"
        raise unsupported(f"T.thread_return {where} is not supported; {_WAY_OUT}")
    if under_condition:
        refuse_one_way()


def refuse_one_way() -> None:
    raise unsupported(
        f"T.thread_return in a macro, on one way of a branch, is not supported; {_WAY_OUT}"
    )


def _is_return(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return _NAME in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))


def _opens_launch(node: ast.With) -> bool:
    calls = (item.context_expr for item in node.items)
    return any(
        isinstance(call, ast.Call)
        and getattr(call.func, "attr", getattr(call.func, "id", "")) in ("Kernel", "kernel")
        for call in calls
    )


def _straight(body: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """The expressions that are statements of a launch, or of branches of it."""
    for node in body:
        if isinstance(node, ast.Expr):
            yield node.value
        elif isinstance(node, ast.If):
            yield from _straight([*node.body, *node.orelse])
        elif isinstance(node, ast.With) and _opens_launch(node):
            yield from _straight(node.body)
