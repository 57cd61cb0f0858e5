# SPDX-License-Identifier: Apache-2.0
"""`T.thread_return()`: the threads that come to it do nothing more in their launch.

What stands behind a branch that holds one belongs to the threads that took another way. So it is
put into the branch: `if c: T.thread_return()` and a rest become `if c: pass` and `else:` the rest.
Those that end in a loop set a variable and leave it; what stands behind the outermost such loop is
for threads that have not set theirs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..language.threads import THREAD_ENDS
from ..language.values import unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn

_NAME = "thread_return"
_WAY_OUT = "put what follows under the opposite condition"


class EndingIf(ast.If):
    """A branch in which threads may end, with all that follows on each of its ways."""


class EndingLoop(ast.stmt):
    """A loop in which threads may end, with all that follows."""

    loop: ast.For | ast.While
    rest: Sequence[ast.stmt]


def with_rest(node: ast.stmt, rest: Sequence[ast.stmt]) -> EndingIf | EndingLoop | None:
    """The statement and what follows it as one; None where no thread ends in `node`."""
    if not isinstance(node, (ast.If, ast.For, ast.While)):
        return None
    if not any(_is_return(n) for n in ast.walk(node)):
        return None
    if isinstance(node, ast.If):
        whole = EndingIf(node.test, [*node.body, *rest], [*node.orelse, *rest])
        return ast.copy_location(whole, node)
    ending = EndingLoop()
    ending.loop, ending.rest = node, rest
    return ast.copy_location(ending, node)


def is_end(value: object) -> bool:
    return value is THREAD_ENDS


def refuse_misplaced(call: ast.expr, function: ast.FunctionDef, under_condition: bool) -> None:
    """Raises where it can't be told what the threads that go on have left to do."""
    if not any(call is allowed for allowed in _straight(function.body)):
        refuse_in("a 'with' or an expression")
    if under_condition:
        refuse_one_way()


def refuse_in(where: str) -> NoReturn:
    raise unsupported(f"T.thread_return in {where} is not supported; {_WAY_OUT}")


def refuse_one_way() -> NoReturn:
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
    """The expressions that are statements of a launch, or of branches and loops of it."""
    for node in body:
        if isinstance(node, ast.Expr):
            yield node.value
        elif isinstance(node, (ast.If, ast.For, ast.While)):
            yield from _straight([*node.body, *node.orelse])
        elif isinstance(node, ast.With) and _opens_launch(node):
            yield from _straight(node.body)
