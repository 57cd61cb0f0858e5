# SPDX-License-Identifier: Apache-2.0
"""Macros in lazy expressions (`and`, `or`, ternaries, `T.if_then_else`) only compute a value."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..language.values import LanguageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tracer import Tracer

#: What of the builder is no part of an expression.
_STATEMENTS = frozenset(
    [
        "alloc",
        "alloc_var",
        "atomic_tile",
        "barrier",
        "begin_for",
        "begin_if",
        "begin_launch",
        "begin_parallel",
        "begin_scope",
        "begin_while",
        "break_loop",
        "compute",
        "copy",
        "device_assert",
        "fill",
        "gemm",
        "pipe_barrier",
        "print",
        "print_formatted",
        "reduce",
        "scan",
        "set_cross_flag",
        "set_deq_scale",
        "set_flag",
        "store",
        "sync_all",
        "wait_cross_flag",
        "wait_flag",
    ]
)
#: What is one where its value is dropped.
_CALLS = frozenset(["atomic", "call_extern", "call_external", "shuffle", "vote"])


class ExpressionsOnly:
    """The builder while a lazy expression calls the macro `name`."""

    def __init__(self, builder: Any, name: str) -> None:
        self._builder = builder
        self._name = name
        #: How many calls there were whose value counts.
        self.calls = 0

    def __getattr__(self, method: str) -> Any:
        if method in _STATEMENTS:
            raise self.refusal()
        self.calls += method in _CALLS
        return getattr(self._builder, method)

    def refusal(self) -> LanguageError:
        return LanguageError(
            f"macro {self._name!r} has statements and can't be used in a lazy expression"
        )


@contextmanager
def expressions_only(tracer: Tracer, name: str) -> Iterator[None]:
    """A call of the macro `name`: if a lazy expression makes it, statements in it are refused."""
    before = tracer.expressions_only
    if tracer.lazy_depth and before is None:
        tracer.expressions_only = ExpressionsOnly(tracer.builder, name)
    try:
        yield
    finally:
        tracer.expressions_only = before


@contextmanager
def value_is_dropped(tracer: Tracer) -> Iterator[None]:
    """An expression that stands as a statement."""
    guard = tracer.expressions_only
    calls = guard.calls if guard else 0
    yield
    if guard and guard.calls != calls:
        raise guard.refusal()
