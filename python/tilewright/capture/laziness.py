# SPDX-License-Identifier: Apache-2.0
"""Whether an expression may be computed where it is not needed.

`T.if_then_else(i < n, S[i], 0)` may not read S[i] where i is too large. A branch per element would
stop vectorization, though, so both sides of a choice are computed where neither can fault.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..language.dtypes import Dtype
from ..language.values import BufferRef, Element, Expr, subscript

if TYPE_CHECKING:
    from .expressions import ExpressionEvaluator

_PLAIN = (ast.Constant, ast.Attribute)
#: Functions on integers that not all operands have a result of, by the names that they carry.
_PARTIAL = frozenset(
    ["align_up", "ceildiv", "floordiv", "floormod", "shl", "shr", "truncdiv", "truncmod"]
)


def is_total(evaluator: ExpressionEvaluator, node: ast.expr) -> bool:
    """Whether computing `node` can neither fault nor have an effect. Builds nothing but indices."""
    if isinstance(node, _PLAIN):
        return True
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.UnaryOp):
        return is_total(evaluator, node.operand)
    if isinstance(node, ast.BinOp):
        return _is_total_operator(evaluator, node)
    if isinstance(node, ast.BoolOp):
        return all(is_total(evaluator, v) for v in node.values)
    if isinstance(node, ast.Compare):
        return all(is_total(evaluator, v) for v in [node.left, *node.comparators])
    if isinstance(node, ast.Call):
        return _is_total_call(evaluator, node)
    if isinstance(node, ast.Subscript):
        return _is_total_load(evaluator, node)
    return False


def dtype_seen(evaluator: ExpressionEvaluator, node: ast.expr) -> Any:
    """The dtype of a number of the kernel that has a name, or of a named buffer's element; else
    None. Builds nothing."""
    if isinstance(node, ast.Subscript):
        buffer = _known(evaluator, node.value)
        return buffer.dtype if type(buffer) is BufferRef else None
    found = _known(evaluator, node)
    return found.dtype if isinstance(found, Expr) else None


def _is_total_operator(evaluator: ExpressionEvaluator, node: ast.BinOp) -> bool:
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        divisor = _known(evaluator, node.right)
        if not isinstance(divisor, (int, float)) or divisor == 0:
            return False
    shifts = isinstance(node.op, (ast.LShift, ast.RShift))
    if shifts and not isinstance(_known(evaluator, node.right), int):
        return False  # perhaps beyond the width
    return is_total(evaluator, node.left) and is_total(evaluator, node.right)


def _is_total_call(evaluator: ExpressionEvaluator, node: ast.Call) -> bool:
    function = _known(evaluator, node.func)
    is_math = getattr(function, "__module__", "") == "tilewright.language.math_ops"
    if not is_math and not isinstance(function, Dtype):
        return False
    if getattr(function, "__name__", "") in _PARTIAL:
        number = _known(evaluator, node.args[1]) if len(node.args) == 2 else None
        if not isinstance(number, int) or number <= 0:
            return False
    return not node.keywords and all(is_total(evaluator, a) for a in node.args)


def _is_total_load(evaluator: ExpressionEvaluator, node: ast.Subscript) -> bool:
    buffer = _known(evaluator, node.value)
    if not isinstance(buffer, BufferRef):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not all(isinstance(p, (ast.Name, ast.Constant)) for p in parts):
        return buffer.scope() == "global" and all(is_total(evaluator, p) for p in parts)
    element = subscript(buffer, evaluator.value(node.slice))
    return isinstance(element, Element) and evaluator.tracer.is_surely_inside(element)


def _known(evaluator: ExpressionEvaluator, node: ast.expr) -> Any:
    """What a name, an attribute of a name, or a number stands for; None for all else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return evaluator.peek(node)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return getattr(evaluator.peek(node.value), node.attr, None)
    return None
