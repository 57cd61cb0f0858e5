# SPDX-License-Identifier: Apache-2.0
"""What a trace knows of its reducers (T.alloc_reducer): set, updated, finalized, then read."""

from __future__ import annotations

from ..errors import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..errors import Place
    from .scopes import Frame
    from .tracer import Tracer

#: How kernels of the older form write the update of each kind.
_WRITTEN = {
    "sum": "q[i] += x or q[i] = T.fma(x, y, q[i])",
    "max": "q[i] = T.max(q[i], x)",
    "min": "q[i] = T.min(q[i], x)",
    "bitand": "q[i] = q[i] & x",
    "bitor": "q[i] = q[i] | x",
    "bitxor": "q[i] = q[i] ^ x",
}


class _Point:
    """A statement, and the frames that were open there."""

    def __init__(self, tracer: Tracer) -> None:
        self.place = tracer.place
        self.frames: list[Frame] = list(tracer.frames)
        self.is_in_branch = any(frame.is_branch for frame in self.frames)

    def surely_precedes(self, tracer: Tracer) -> bool:
        """Whether what is traced now runs behind it, however the branches go: both of one have the
        same frame."""
        return not self.is_in_branch and self.frames == tracer.frames[: len(self.frames)]


class Reducer:
    """One reducer: its kind, and how far it came."""

    def __init__(self, kind: str, name: str, place: Place) -> None:
        self.kind = kind
        self.name = name
        self.place = place
        self.updated_at: Place | None = None
        self.is_set = False  # somewhere before, by whatever statement
        #: Somewhere before, also since T.reducer_init.
        self.was_finalized = self.is_finalized = False
        self._set_at: _Point | None = None
        self._finalized_at: _Point | None = None
        #: Where elements were loaded that no update is known to take.
        self._reads: list[Place] = []

    def set_by(self, tracer: Tracer) -> None:
        """T.reducer_init: where one came before for sure, this one is too much."""
        self.is_set = True
        self.is_finalized = False
        self._finalized_at = None
        if self._set_at is not None and self._set_at.surely_precedes(tracer):
            tracer.report(
                f"reducer {self.name!r} is initialised again before T.finalize_reducer",
                notes=[Note(self._set_at.place, "it was initialised here")],
            )
        point = _Point(tracer)
        if not point.is_in_branch:
            self._set_at = point

    def updated_by(self, tracer: Tracer) -> None:
        """T.reducer_update: what it adds to must be set by a statement before it."""
        if not self.is_set:
            tracer.report(
                f"reducer {self.name!r} is updated before T.reducer_init sets it",
                notes=[Note(self.place, "it is allocated here")],
            )
        elif self._finalized_at is not None and self._finalized_at.surely_precedes(tracer):
            tracer.report(
                f"reducer {self.name!r} is updated after T.finalize_reducer; call T.reducer_init "
                "before more updates",
                notes=[Note(self._finalized_at.place, "it was finalized here")],
            )
        self.is_set = True  # one message is enough
        self._finalized_at = None
        self.updated_at = tracer.place

    def read_by(self, tracer: Tracer) -> None:
        """A load of an element, which a store may show to be that of an update."""
        if not self.is_finalized:
            self._reads.append(tracer.place)

    def taken_by(self, tracer: Tracer, role: str) -> None:
        """An operand of an operation on tiles; `role` says which."""
        if role.startswith(("the target", "the destination", "operand C")):
            self.is_set = True
            self._finalized_at = None  # what comes now is of the next epoch
        elif not self.is_finalized and role != "a reducer":
            self._reads.append(tracer.place)
            self.report_reads(tracer)
            self.is_set = True  # one message is enough

    def written_by(self, tracer: Tracer) -> None:
        """A plain store to an element, which has been built: an update, or one that sets the
        element first or changes what was finalized."""
        is_update = not self.is_finalized and tracer.builder.ends_update()
        if is_update and self._reads:
            self._reads.pop()
        elif not is_update and self.is_set and not self.is_finalized:
            if not tracer.has_errors:  # else it may be the store that is wrong
                tracer.report(
                    f"reducer {self.name!r} is a {self.kind!r}, so until T.finalize_reducer it is "
                    f"written by T.reducer_update, or as {_WRITTEN[self.kind]}",
                    notes=[Note(self.place, "it is allocated here")],
                )
            self._reads = [read for read in self._reads if read.line != tracer.place.line]
        self.is_set = True
        self._finalized_at = None
        self.updated_at = tracer.place

    def finalized_by(self, tracer: Tracer) -> None:
        """T.finalize_reducer."""
        if self._finalized_at is not None and self._finalized_at.surely_precedes(tracer):
            tracer.report(
                f"reducer {self.name!r} is finalized again, with no update since",
                notes=[Note(self._finalized_at.place, "it was finalized here")],
            )
        elif not self.is_set:
            tracer.report(
                f"reducer {self.name!r} is finalized before T.reducer_init sets it",
                notes=[Note(self.place, "it is allocated here")],
            )
        self.report_reads(tracer)
        self.is_finalized = self.was_finalized = True
        self._set_at = None
        point = _Point(tracer)
        self._finalized_at = None if point.is_in_branch else point

    def report_reads(self, tracer: Tracer) -> None:
        """Loads that no update takes, of what is only a part of the result yet."""
        for place in self._reads:
            tracer.report(
                f"reducer {self.name!r} is read before T.finalize_reducer",
                place=place,
                notes=[Note(self.place, "it is allocated here")],
            )
        self._reads.clear()


def report_open_reducers(reducers: dict[Any, Reducer], tracer: Tracer) -> None:
    """At the end of a kernel: what was collected in a reducer that nobody finalized is lost."""
    for reducer in reducers.values():
        reducer.report_reads(tracer)
        if reducer.updated_at is not None and not reducer.was_finalized:
            tracer.report(
                f"reducer {reducer.name!r} is updated but never finalized; "
                "call T.finalize_reducer after the loop",
                place=reducer.updated_at,
                notes=[Note(reducer.place, "it is allocated here")],
            )
