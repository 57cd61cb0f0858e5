# SPDX-License-Identifier: Apache-2.0
"""Branches as contexts: `with T.If(c): with T.Then(): ... with T.Else(): ...`."""

from __future__ import annotations

from ..capture.tracer import current
from .frames import RunTimeContext
from .values import LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..capture.tracer import Tracer

_FORM = "write `with T.If(condition):`, and right in it `with T.Then():` and `with T.Else():`"


class If(RunTimeContext):
    """A branch of the running kernel; holds a T.Then and perhaps a T.Else."""

    kind = "the T.If"
    may_not_run = True

    def __init__(self, condition: Any) -> None:
        super().__init__()
        current()
        self.condition = condition
        #: The names of its sides so far, and how many frames are open right in it.
        self.sides: list[str] = []
        self.depth = 0

    def enter(self, tracer: Tracer) -> None:
        tracer.builder.begin_if(tracer.value(self.condition))
        tracer.open_ifs.append(self)
        self.depth = len(tracer.frames) + 1

    def leave(self, tracer: Tracer) -> None:
        tracer.open_ifs.pop()
        tracer.builder.end_if()


def _begin_side(tracer: Tracer, name: str) -> None:
    """An error where no T.If is right around, or where that has such a side, or its T.Else."""
    around = tracer.open_ifs[-1] if tracer.open_ifs else None
    if around is None or around.depth != len(tracer.frames):
        raise LanguageError(f"{name} doesn't stand right in a T.If; {_FORM}", python=RuntimeError)
    sides = around.sides
    if name in sides:
        raise LanguageError(f"this T.If has a {name} already; {_FORM}", python=RuntimeError)
    if "T.Else" in sides:
        raise LanguageError(f"{name} stands behind the T.Else; {_FORM}", python=RuntimeError)
    sides.append(name)


class Then(RunTimeContext):
    """What runs where the condition of the T.If around it holds."""

    kind = "the T.Then"

    def enter(self, tracer: Tracer) -> None:
        _begin_side(tracer, "T.Then")

    def leave(self, tracer: Tracer) -> None:
        return None


class Else(RunTimeContext):
    """What runs where it doesn't; after the T.Then."""

    kind = "the T.Else"

    def enter(self, tracer: Tracer) -> None:
        _begin_side(tracer, "T.Else")
        tracer.builder.begin_else()

    def leave(self, tracer: Tracer) -> None:
        return None
