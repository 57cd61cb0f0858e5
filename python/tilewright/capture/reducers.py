# SPDX-License-Identifier: Apache-2.0
"""What a trace knows of its reducers (T.alloc_reducer): each is set, updated, and finalized."""

from __future__ import annotations

from ..errors import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..errors import Place
    from .scopes import Frame
    from .tracer import Tracer


class Reducer:
    """One reducer: its kind, and how far it came."""

    def __init__(self, kind: str, name: str, place: Place) -> None:
        self.kind = kind
        self.name = name
        self.place = place
        self.updated_at: Place | None = None
        self.is_finalized = False
        self.is_set = False  # somewhere before, by whatever statement
        self._set_at: tuple[Place, list[Frame]] | None = None

    def set_by(self, tracer: Tracer) -> None:
        """T.reducer_init: where one came before for sure, this one is too much."""
        self.is_set = True
        if self._set_at is not None:
            place, frames = self._set_at
            if frames == tracer.frames[: len(frames)]:
                tracer.report(
                    f"reducer {self.name!r} is initialised again before T.finalize_reducer",
                    notes=[Note(place, "it was initialised here")],
                )
        if not any(frame.is_branch for frame in tracer.frames):  # both branches have one frame
            self._set_at = (tracer.place, list(tracer.frames))

    def updated_by(self, tracer: Tracer) -> None:
        """T.reducer_update: what it adds to must be set by a statement before it."""
        if not self.is_set:
            tracer.report(
                f"reducer {self.name!r} is updated before T.reducer_init sets it",
                notes=[Note(self.place, "it is allocated here")],
            )
        self.is_set = True  # one message is enough
        self.updated_at = tracer.place

    def finalize(self) -> None:
        self.is_finalized = True
        self._set_at = None


def report_open_reducers(reducers: dict[Any, Reducer], tracer: Tracer) -> None:
    """At the end of a kernel: what was collected in a reducer that nobody finalized is lost."""
    for reducer in reducers.values():
        if reducer.updated_at is not None and not reducer.is_finalized:
            tracer.report(
                f"reducer {reducer.name!r} is updated but never finalized; "
                "call T.finalize_reducer after the loop",
                place=reducer.updated_at,
                notes=[Note(reducer.place, "it is allocated here")],
            )
