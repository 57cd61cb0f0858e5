# SPDX-License-Identifier: Apache-2.0
"""Names of a kernel while it is traced, and the run-time control frames that limit them.

A name bound to a value of the kernel is an SSA binding: it is valid in the control frame (loop,
branch, launch) where it was made. Python would let it escape, or let a loop re-bind it, and the
trace would silently use the value of the last traced statement; these cases are errors here.
"""

from __future__ import annotations

from typing import Any

from ..errors import Note, Place
from ..language.values import BufferRef, Expr, LanguageError, RegionRef, Symbol


class Binding:
    """What a name is bound to; `depth` is the number of frames that were open then. `is_index`:
    a number that an NPU's launch or loop gives, which other values hide where it is."""

    __slots__ = ("depth", "is_index", "place", "value")

    def __init__(self, value: Any, depth: int, place: Place, is_index: bool = False) -> None:
        self.value = value
        self.depth = depth
        self.place = place
        self.is_index = is_index


class Escaped:
    """A binding whose frame has ended; `kind` names the frame."""

    __slots__ = ("kind", "place", "rebound")

    def __init__(self, kind: str, place: Place, rebound: bool) -> None:
        self.kind = kind
        self.place = place
        self.rebound = rebound


class Frame:
    """One open control structure of the running kernel. `kind` reads as in "the for loop"."""

    __slots__ = ("is_branch", "is_loop", "kind", "may_not_run", "place", "reads")

    def __init__(
        self, kind: str, place: Place, is_loop: bool = False, is_branch: bool = False
    ) -> None:
        self.kind = kind
        self.place = place
        self.is_loop = is_loop
        self.is_branch = is_branch
        #: Whether what is traced now may never run: in a branch, in a loop without turns, or behind
        #: a break or continue.
        self.may_not_run = is_branch
        #: Names of outer frames that were read in this frame, with the place.
        self.reads: dict[tuple[int, str], Place] = {}

    @property
    def is_conditional(self) -> bool:
        return self.is_loop or self.is_branch


def is_run_time(value: object) -> bool:
    """Whether `value` is, or holds, something of the running kernel."""
    if isinstance(value, (Expr, BufferRef, RegionRef)):
        return True
    if isinstance(value, (tuple, list, set)):
        return any(is_run_time(v) for v in value)
    if isinstance(value, dict):
        return any(is_run_time(v) for v in value.values())
    return False


class Scope:
    """The local names of one activation of a kernel, macro, lambda or comprehension."""

    def __init__(self, frames: list[Frame], parent: Scope | None = None) -> None:
        self.names: dict[str, Binding | Escaped] = {}
        self.frames = frames
        self.parent = parent
        #: Changes in open branches and loops: one dict of previous bindings per saved frame.
        self._saved: list[dict[str, Binding | Escaped | None]] = []

    def find(self, name: str) -> Scope | None:
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope

    def read(self, name: str, place: Place) -> Any:
        """The value of a local name; KeyError if it has none."""
        binding = self.names[name]
        if isinstance(binding, Escaped):
            raise _escape_error(name, binding)
        for frame in self.frames[binding.depth :]:
            if frame.is_loop:
                frame.reads.setdefault((id(self), name), place)
        return binding.value

    def bind(self, name: str, value: object, place: Place) -> None:
        previous = self.names.get(name)
        if isinstance(previous, Binding):
            self._check_carried(name, previous, value)
        if self._saved:
            self._saved[-1].setdefault(name, previous)
        self.names[name] = Binding(value, len(self.frames), place)

    def rebound(self, name: str, value: object, place: Place) -> Binding | None:
        """What assigning `value` to `name` would hide: a value or buffer of a frame that is open.
        As in TileLang, a value of another name hides nothing (`a, b = b, a`), and what stands
        before the launch is free. A later turn of a loop that runs while tracing is none, either:
        there the earlier binding stands at the same place, or behind it."""
        previous = self.names.get(name)
        if not isinstance(value, (Expr, RegionRef)) or isinstance(value, Symbol):
            return None
        if not isinstance(previous, Binding) or previous.depth == 0 or previous.is_index:
            return None
        before, known = previous.place, previous.value
        if not isinstance(known, (Expr, BufferRef, RegionRef)):
            return None
        if (before.line, before.column) >= (place.line, place.column):
            return None
        if isinstance(known, BufferRef) and known.is_variable:  # the assignment is a store
            return None
        return None if self._is_named(value) or not name.strip("_") else previous

    def _is_named(self, value: object) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if any(isinstance(b, Binding) and b.value is value for b in scope.names.values()):
                return True
            scope = scope.parent
        return False

    def mark_indices(self, names: list[str]) -> None:
        """As in TVMScript, what hides one of these in a loop or branch ends with that."""
        for name in names:
            if isinstance(binding := self.names.get(name), Binding):
                binding.is_index = True

    def _check_carried(self, name: str, previous: Binding, value: object) -> None:
        if previous.is_index or (not is_run_time(value) and _same(previous.value, value)):
            return
        if (
            isinstance(previous.value, BufferRef)
            and not previous.value.is_variable
            and not isinstance(value, (BufferRef, RegionRef))
        ):
            return  # a number is no change of a buffer, but another thing of that name
        for frame in self.frames[previous.depth :]:
            read = frame.reads.get((id(self), name)) if frame.is_loop else None
            if read is not None:
                raise LanguageError(
                    f"{name!r} is changed in {frame.kind}, but the change is not carried to the "
                    "next iteration; use T.alloc_var or a buffer",
                    notes=(Note(previous.place, f"{name!r} was bound before the loop here"),),
                    python=RuntimeError,
                )

    # Frames: what a loop or branch changed ends with it ---------------------------------------

    def hide(self, names: list[str]) -> None:
        """Variables of a loop of an NPU's kernel hide what had their names, as in TVMScript: it is
        not they that the name means behind the loop."""
        for name in names:
            if isinstance(previous := self.names.get(name), Binding):
                self._saved[-1].setdefault(name, previous)
                del self.names[name]

    def save(self) -> None:
        self._saved.append({})

    def restore(self) -> dict[str, Binding | Escaped]:
        """Undoes the changes since the last `save` and gives the bindings that were made."""
        changes = self._saved.pop()
        made = {name: self.names[name] for name in changes if name in self.names}
        for name, previous in changes.items():
            if previous is None:
                self.names.pop(name, None)
            else:
                self.names[name] = previous
        return made

    def leave(self, frame: Frame, branches: list[dict[str, Binding | Escaped]]) -> None:
        """Ends a frame whose bodies made these bindings: one dict per branch."""
        for name in {name: None for made in branches for name in made}:
            outer = self.names.get(name)
            values = [made.get(name, outer) for made in branches]
            self._set(name, self._after(name, frame, outer, values))

    def _after(
        self,
        name: str,
        frame: Frame,
        outer: Binding | Escaped | None,
        values: list[Binding | Escaped | None],
    ) -> Binding | Escaped:
        if isinstance(outer, Binding) and outer.is_index:
            return outer
        bindings = [v for v in values if isinstance(v, Binding)]
        made = next(v for v in values if v is not None and v is not outer)
        if len(bindings) == len(values) and not any(is_run_time(b.value) for b in bindings):
            alike = all(_same(b.value, bindings[0].value) for b in bindings)
            unchanged = isinstance(outer, Binding) and _same(outer.value, bindings[0].value)
            if alike and (frame.is_branch or outer is None or unchanged):
                return Binding(bindings[0].value, len(self.frames), bindings[0].place)
        place = made.place
        return Escaped(frame.kind, place, isinstance(outer, Binding))

    def _set(self, name: str, binding: Binding | Escaped) -> None:
        if self._saved:
            self._saved[-1].setdefault(name, self.names.get(name))
        self.names[name] = binding


def _same(left: object, right: object) -> bool:
    if left is right:
        return True
    if type(left) is not type(right) or not isinstance(
        left, (bool, int, float, str, bytes, tuple, type(None))
    ):
        return False
    return bool(left == right)


def _escape_error(name: str, escaped: Escaped) -> LanguageError:
    if escaped.rebound:
        message = (
            f"{name!r} was changed in {escaped.kind}, and its value after that is not known while "
            "tracing; use T.alloc_var or a buffer"
        )
    else:
        message = f"{name!r} is used outside {escaped.kind} where it was made"
    notes = (Note(escaped.place, f"{name!r} was bound here"),)
    return LanguageError(message, notes=notes, python=RuntimeError)
