# SPDX-License-Identifier: Apache-2.0
"""Names of TVM's scripts that mean something here."""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison, plain_text
from .frames import RunTimeContext
from .math_ops import cast
from .memory import alloc_buffer
from .thread_reductions import CommReducer
from .values import LanguageError, Poison, PoisonUsed, Symbol, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..capture.tracer import Tracer


@guarded_by_poison
def allocate(extents: Any, dtype: Any = "float32", scope: str = "shared") -> Any:
    """The same as `T.alloc_buffer`."""
    return alloc_buffer(extents, dtype, scope)


class _Assertion(RunTimeContext):
    """Holds from here on."""

    kind = "the assertion"

    def __init__(self, condition: Any, message: str) -> None:
        super().__init__()
        self.condition = condition
        self.message = message

    def enter(self, tracer: Tracer) -> None:
        tracer.builder.device_assert(tracer.value(self.condition), plain_text(self.message))

    def leave(self, tracer: Tracer) -> None:
        """The assertion was checked where it stands."""


def Assert(condition: Any, message: str = "") -> RunTimeContext:
    """Ends the kernel with an error where the condition does not hold; `with` is allowed."""
    return _Assertion(condition, message)


class _Attribute(RunTimeContext):
    """A note for TVM's passes, of which only the reducer of threads means something here."""

    kind = "the attribute"

    def __init__(self, reducer: CommReducer | None) -> None:
        super().__init__()
        self.reducer = reducer

    def enter(self, tracer: Tracer) -> None:
        if self.reducer is not None:
            self.reducer.enter(tracer)

    def leave(self, tracer: Tracer) -> None:
        if self.reducer is not None:
            self.reducer.leave(tracer)


def attr(node: Any, attr_key: str, value: Any) -> RunTimeContext:
    """A note for TVM's passes, without effect but for a `T.comm_reducer`'s "reduce_scope"."""
    return _Attribute(node if isinstance(node, CommReducer) else None)


def Cast(dtype: Any, value: Any) -> Any:
    """`value` converted to `dtype`, in TVM's order of arguments."""
    return cast(value, dtype)


@guarded_by_poison
def evaluate(value: Any) -> None:
    """Computes a value and forgets it."""
    if value is not None:
        current().value(value)


@guarded_by_poison
def bind(value: Any, *options: Any) -> Any:
    """The value, computed here."""
    return current().expression(value)


class Let(RunTimeContext):
    """A variable, as of `v = T.int32()`, has a value."""

    kind = "the let"

    def __init__(self, variable: Symbol, value: Any) -> None:
        super().__init__()
        self.variable = variable
        self.value = value
        self.outer: Any = None

    def enter(self, tracer: Tracer) -> None:
        self.outer = tracer.lets.get(id(self.variable))
        value = cast(self.value, self.variable.symbol_dtype)
        if isinstance(value, Poison):
            raise PoisonUsed
        tracer.lets[id(self.variable)] = value

    def leave(self, tracer: Tracer) -> None:
        tracer.lets.pop(id(self.variable))
        if self.outer is not None:
            tracer.lets[id(self.variable)] = self.outer


@guarded_by_poison
def let(*operands: Any) -> Any:
    """The value, computed here: `x = T.let(value)` or `with T.let(value) as x:`. In TVM's form,
    `with T.let(v, value):`, the variable `v`, as of `v = T.int32()`, has the value in the block,
    or, without `with`, to the end of the block that it stands in; in `T.let(v, value, body)` in an
    expression."""
    if len(operands) == 1:
        return bind(operands[0])
    if len(operands) not in (2, 3) or not isinstance(operands[0], Symbol):
        raise LanguageError(
            "T.let takes a value, or a variable, as of v = T.int32(), and its value: x = T.let(1), "
            "with T.let(v, 1):"
        )
    return Let(operands[0], operands[1])


#: Of three arguments, the last is evaluated where the variable has its value.
let.is_let = True  # type: ignore[attr-defined]


@guarded_by_poison
def undef(dtype: Any = "float32") -> Any:
    """A value that nobody may use; 0."""
    return cast(0, dtype)


@guarded_by_poison
def call_intrin(dtype: Any, name: Any, *arguments: Any) -> Any:
    """Calls a function of the language by TVM's name, as "tir.exp" or "tirx.exp"."""
    from . import math_ops

    function = getattr(math_ops, str(name).rpartition(".")[2], None)
    if function is None:
        raise unsupported(f"T.call_intrin: there is no function {str(name)!r} here")
    return cast(function(*arguments), dtype)
