# SPDX-License-Identifier: Apache-2.0
"""What was probably meant, for messages about Python that means something else in a kernel."""

from __future__ import annotations

import ast
import builtins
import math
from typing import TYPE_CHECKING, Any

from ..language.values import BufferRef, Element, Expr, LanguageError, RegionRef, Traced
from .tracer import describe

if TYPE_CHECKING:
    from .tracer import Tracer

Value = Any


def check_numbers(node: ast.BinOp, left: Value, right: Value) -> None:
    """Several block numbers or loop variables that have one name are no number, and a text is none,
    which Python would repeat; LanguageError."""
    for value, other, written in ((left, right, node.left), (right, left, node.right)):
        is_text = isinstance(value, str) and isinstance(node.op, ast.Mult)
        if is_text and isinstance(other, Expr) and not _is_known(other):
            raise LanguageError(
                f"'*' takes two numbers, but one of these is {describe(value)}", python=TypeError
            )
        if isinstance(value, (list, tuple)) and isinstance(other, Expr) and not _is_known(other):
            while isinstance(written, ast.BinOp):  # a list times a number is a list
                written = written.left
            name = ast.unparse(written)
            raise LanguageError(
                f"'{name}' holds several values, not one; give each a name of its own, or index "
                f"them, as in {name}[0]",
                python=TypeError,
            )


def check_operands(error: TypeError, left: Value, right: Value) -> None:
    """Raises for an operator that Python refused beside a number of the kernel, or None: Python's
    words name classes of ours."""
    for value, other in ((left, right), (right, left)):
        is_number = isinstance(other, (Expr, Element, int, float))
        is_ours = value is None or isinstance(other, (Expr, Element))
        is_wrong = not isinstance(value, (Expr, Element, int, float))
        if is_number and is_ours and is_wrong and str(error).startswith("unsupported operand"):
            symbol = str(error).partition(" for ")[2].partition(":")[0]
            nothing = "; a @T.macro without a return gives that" if value is None else ""
            raise LanguageError(
                f"'{symbol}' takes two numbers, but one of these is {describe(value)}{nothing}",
                python=TypeError,
            ) from None


def gives_nothing(node: ast.Call) -> str:
    """What is said of a call that gives nothing: an operation that writes a target, or a macro."""
    called = ast.unparse(node.func)
    writes = called.rpartition(".")[2].startswith(("copy", "reduce", "transpose"))
    target = f": it writes {ast.unparse(node.args[1])!r}" if writes and len(node.args) > 1 else ""
    return f"{called}() gives no value{target}"


def refuse_nothing(node: ast.expr) -> None:
    """An element of what gives nothing."""
    if isinstance(node, ast.Call):
        raise LanguageError(gives_nothing(node), python=TypeError)


def check_item(tracer: Tracer, owner: Value, index: Value) -> None:
    """A table of Python values, as a list, a dictionary or an array of NumPy's or PyTorch's, has no
    element whose number only the running kernel knows; LanguageError."""
    is_table = isinstance(owner, (list, tuple, dict)) or hasattr(owner, "__array__")
    indices = index if isinstance(index, tuple) else (index,)
    ends = [e for i in indices if isinstance(i, slice) for e in (i.start, i.stop)]
    if is_table and any(isinstance(e, Expr) and not _is_known(e) for e in (*indices, *ends)):
        tracer.refuse_undeclared(owner)
    if is_table and any(isinstance(each, Expr) and not _is_known(each) for each in indices):
        count = math.prod(owner.shape) if hasattr(owner, "shape") else len(owner)
        raise LanguageError(
            f"which of these {count} values is meant is known only in the running kernel; "
            "choose it by if statements, or make one buffer with a dim more",
            python=TypeError,
        )


def _is_known(index: Expr) -> bool:
    try:
        int(index)
    except LanguageError:
        return False
    return True


def check_sides(*sides: Value) -> None:
    """A conditional expression chooses between numbers; LanguageError."""
    for side in sides:
        if isinstance(side, RegionRef) or (isinstance(side, BufferRef) and not side.is_variable):
            name = side.buffer.name if isinstance(side, RegionRef) else side.name
            raise LanguageError(
                f"a conditional expression chooses between numbers, not between buffers such as "
                f"{name!r}; write an if statement",
                python=TypeError,
            )


def not_called(written: str, context: Value) -> str:
    """What is said of something in a with statement that isn't for it."""
    if callable(context):
        return f"{written} is not called; a with statement takes {written}(..)"
    return f"{type(context).__name__} can't be used in a with statement"


def printed_at_once(function: Value, args: list[Value]) -> str:
    """The warning about a Python print of what only the running kernel knows; empty without it."""
    if function is not builtins.print:
        return ""
    if not any(isinstance(each, (Expr, BufferRef, RegionRef)) for each in args):
        return ""
    return "print runs while the kernel is traced, where this has no value yet; use T.print"


def formatted_at_once(value: Value, written: str) -> str:
    """The warning about such a value in an f-string; empty for others."""
    if not isinstance(value, (Traced, Element)) or _is_known(value):
        return ""
    return (
        f"an f-string is made while the kernel is traced, where {written} has no value yet; "
        f"T.print({written}, 'text') prints it"
    )


#: What a buffer's methods would be, of those that arrays of NumPy and PyTorch have.
_OF_BUFFERS = {
    "fill": "T.fill({0}, value)",
    "fill_": "T.fill({0}, value)",
    "clear": "T.clear({0})",
    "zero_": "T.clear({0})",
    "copy": "T.copy({0}, target)",
    "copy_": "T.copy(source, {0})",
    "clone": "T.copy({0}, target)",
    "astype": "T.copy({0}, target), which converts to the target's dtype",
    "to": "T.copy({0}, target), which converts to the target's dtype",
    "T": "transpose_A=True or transpose_B=True of T.gemm, or T.transpose({0}, target)",
    "sum": "T.reduce_sum({0}, target, dim=0)",
    "max": "T.reduce_max({0}, target, dim=0)",
    "min": "T.reduce_min({0}, target, dim=0)",
    "size": "{0}.shape",
    "ndim": "len({0}.shape)",
}


def for_buffer(name: str, attribute: str) -> str:
    """The end of a message about an attribute that buffers do not have."""
    if (instead := _OF_BUFFERS.get(attribute)) is not None:
        return f"; write {instead.format(name)}"
    return function_for(attribute)


def function_for(attribute: str) -> str:
    """The end of a message about a method that the language has as a function."""
    from .. import language

    return (
        f"; T.{attribute}(x) is a function" if callable(getattr(language, attribute, None)) else ""
    )
