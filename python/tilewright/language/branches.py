# SPDX-License-Identifier: Apache-2.0
"""Branches as contexts: `with T.If(c): with T.Then(): ... with T.Else(): ...`."""

from __future__ import annotations

from ..capture.tracer import current
from .frames import RunTimeContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..capture.tracer import Tracer


class If(RunTimeContext):
    """A branch of the running kernel; holds a T.Then and perhaps a T.Else."""

    kind = "the T.If"
    may_not_run = True

    def __init__(self, condition: Any) -> None:
        super().__init__()
        current()
        self.condition = condition

    def enter(self, tracer: Tracer) -> None:
        tracer.builder.begin_if(tracer.value(self.condition))

    def leave(self, tracer: Tracer) -> None:
        tracer.builder.end_if()


class Then(RunTimeContext):
    """What runs where the condition of the T.If around it holds."""

    kind = "the T.Then"

    def enter(self, tracer: Tracer) -> None:
        return None

    def leave(self, tracer: Tracer) -> None:
        return None


class Else(RunTimeContext):
    """What runs where it doesn't; after the T.Then."""

    kind = "the T.Else"

    def enter(self, tracer: Tracer) -> None:
        tracer.builder.begin_else()

    def leave(self, tracer: Tracer) -> None:
        return None
