# SPDX-License-Identifier: Apache-2.0
"""How many statements a T.Pipelined has, as a schedule by hand counts them, where that is sure."""

from __future__ import annotations

import ast

from ..language import loops, tile_ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Functions of which a call is one statement; others may be several, or none.
_OPERATIONS = (tile_ops.copy, tile_ops.gemm, tile_ops.fill, tile_ops.clear)
_LOOPS = (loops.Parallel, loops.serial, loops.unroll, loops.vectorized, loops.grid, range)


def count_of_statements(
    body: Sequence[ast.stmt], evaluate: Callable[[ast.expr], object]
) -> int | None:
    """The number of operations on tiles, stores and loops; None where there is anything else, as a
    macro, a branch or a name that is bound: whether it counts isn't plain from the text."""
    count = 0
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            known = len(targets) == 1 and isinstance(targets[0], ast.Subscript)
        elif isinstance(statement, ast.Expr):
            known = _calls(statement.value, _OPERATIONS, evaluate)
        elif isinstance(statement, ast.For):
            known = _calls(statement.iter, _LOOPS, evaluate)
        else:
            known = False
        if not known:
            return None
        count += 1
    return count


def _calls(
    node: ast.expr, functions: Sequence[object], evaluate: Callable[[ast.expr], object]
) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
        return False
    called = evaluate(node.func)
    return any(called is function for function in functions)
