# SPDX-License-Identifier: Apache-2.0
"""The errors that users see: structured diagnostics, and exceptions that carry them."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])
    _Error = TypeVar("_Error", bound=Exception)

ERROR_KINDS = ("error", "unsupported", "internal")
_COLORS = {"error": "31", "unsupported": "35", "internal": "31", "warning": "33", "remark": "36"}


class Place(tuple):  # type: ignore[type-arg]
    """A range on one line, counted from 1; `end_column` is one past the end, or 0."""

    __slots__ = ()

    def __new__(cls, file: str = "", line: int = 0, column: int = 0, end_column: int = 0) -> Place:
        return tuple.__new__(cls, (file, line, column, end_column))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    @property
    def file(self) -> str:
        return str(self[0])

    @property
    def line(self) -> int:
        return int(self[1])

    @property
    def column(self) -> int:
        return int(self[2])

    @property
    def end_column(self) -> int:
        return int(self[3])

    def __str__(self) -> str:
        if not self.line:
            return self.file or "<unknown>"
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


class Note:
    """A further place of a message."""

    __slots__ = ("message", "place")

    def __init__(self, place: Place, message: str) -> None:
        self.place = place
        self.message = message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note) and (self.place, self.message) == (
            other.place,
            other.message,
        )

    def __repr__(self) -> str:
        return f"Note({self.place}: {self.message})"


class Diagnostic:
    """One message. `kind` is "error", "unsupported", "internal", "warning" or "remark"; `python` is
    Python's class for such an error, where there is one."""

    __slots__ = ("kind", "message", "notes", "place", "python")

    def __init__(
        self,
        kind: str,
        place: Place,
        message: str,
        notes: Sequence[Note] | None = None,
        python: type[BaseException] | None = None,
    ) -> None:
        self.kind = kind
        self.place = place
        self.message = message
        self.notes = list(notes or [])
        self.python = python

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Diagnostic):
            return False
        mine, theirs = (
            (self.kind, self.place, self.message),
            (other.kind, other.place, other.message),
        )
        return mine == theirs and self.notes == other.notes

    def __repr__(self) -> str:
        return f"Diagnostic({self.place}: {self.kind}: {self.message})"

    @property
    def is_error(self) -> bool:
        return self.kind in ERROR_KINDS

    @property
    def is_unsupported(self) -> bool:
        """Whether the kernel is right: it asks for what there isn't, at all or on this target."""
        is_of_target = self.kind == "error" and self.message.startswith("unsupported on ")
        return self.kind == "unsupported" or is_of_target

    @classmethod
    def from_native(cls, native: Any, fault: str | None = None) -> Diagnostic:
        """`fault` is what the builder calls the error: "value", "type", "index" or "state"."""
        notes = [Note(_place(n.place), n.message) for n in native.notes]
        python = None if fault is None else _FAULTS[fault]
        return cls(native.severity, _place(native.place), native.message, notes, python)

    def render(self, color: bool = False) -> str:
        """`file:line:column: error: message`, the source line with a caret, and the notes."""
        label = "internal error" if self.kind == "internal" else self.kind
        parts = [_rendered(self.place, label, self.message, color, _COLORS.get(self.kind, "31"))]
        parts += [_rendered(n.place, "note", n.message, color, "36") for n in self.notes]
        return "\n".join(parts)


def _place(native: Any) -> Place:
    return Place(native.file, native.line, native.column, native.end_column)


def _rendered(place: Place, label: str, message: str, color: bool, code: str) -> str:
    where = f"{place}: " if place.line or place.file else ""
    head = f"{where}{label}: {message}"
    if color:
        head = f"\x1b[1m{where}\x1b[{code}m{label}:\x1b[0;1m {message}\x1b[0m"
    line = source_line(place)
    if line is None or place.column < 1:
        return head
    lead = "".join("\t" if c == "\t" else " " * _columns(c) for c in line[: place.column - 1])
    width = max(1, sum(_columns(c) for c in line[place.column - 1 : place.end_column - 1]))
    marks = "^" + "~" * (width - 1)
    caret = f"\x1b[1;32m{marks}\x1b[0m" if color else marks
    return f"{head}\n    {line}\n    {lead}{caret}"


def _columns(character: str) -> int:
    """Columns of a terminal that a character takes."""
    if character.isascii():
        return 1
    from unicodedata import combining, east_asian_width

    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def source_line(place: Place) -> str | None:
    if not place.line:
        return None
    import linecache

    text = linecache.getline(place.file, place.line)
    return text.rstrip("\r\n") if text else None


class TilewrightWarning(UserWarning):
    """Something in a kernel that is legal and probably not meant."""


def warning_text(found: Diagnostic) -> str:
    """What a warning says; Python shows its place, so the other places are told by their lines."""
    text = found.message
    for note in found.notes:
        other = note.place
        is_near = other.file == found.place.file
        where = f"line {other.line}" if is_near else f"{other.file}:{other.line}"
        text += f"; {where}: {note.message}" if other.line else f"; {note.message}"
    return text


#: What `warn_explicit` remembers of what it has told, by file, so that each is said once.
_told: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}


def warn(diagnostics: Sequence[Diagnostic]) -> None:
    """Gives the warnings among these messages to Python, with their places."""
    from warnings import warn_explicit

    for found in diagnostics:
        if found.kind == "warning":
            file, line = found.place.file or "?", found.place.line
            told = _told.setdefault(file, {})
            warn_explicit(warning_text(found), TilewrightWarning, file, line, registry=told)


def warn_of_run(text: str) -> None:
    """Gives what the Ascend host warns of in a run, `file:line: warning: ..` with its notes, to
    Python. How often it was seen is left out: it makes no other warning of it."""
    import re
    from warnings import warn_explicit

    head, *notes = text.rstrip("\n").split("\n")
    found = re.fullmatch(r"(?:(.*):(\d+): )?warning: (.*?)(?: \[\d+ times\])?", head)
    file, line, message = found.groups() if found else (None, None, head)
    file = file or "?"
    for note in notes:
        told = re.fullmatch(r"(?:(.*):(\d+): |  )note: (.*)", note)
        if told:  # else it is the source's line
            where = f"line {told[2]}: " if told[1] == file else f"{told[1]}:{told[2]}: "
            message += f"; {where if told[2] else ''}{told[3]}"
    told_of_file = _told.setdefault(file, {})
    warn_explicit(message, TilewrightWarning, file, int(line or 0), registry=told_of_file)


class TilewrightError(Exception):
    """Base of all errors of ours."""


class JITNoBuilderError(TilewrightError, RuntimeError):
    """A construct of the tile language was used outside a kernel."""


class CompileError(TilewrightError):
    """A kernel is wrong or can't be compiled; `diagnostics` holds every message with its place."""

    def __init__(self, diagnostics: Sequence[Diagnostic], kernel: str = "") -> None:
        self.diagnostics = list(diagnostics)
        self.kernel = kernel
        #: A traceback of one frame: the kernel at its first wrong line.
        self.kernel_frame: TracebackType | None = None
        super().__init__(self.render())

    def __reduce__(self) -> tuple[Any, ...]:
        # The class of Python's that the error has beside ours has no name to pickle it by.
        named = (UnsupportedError, KernelError, CompileError)
        ours = next(kind for kind in named if isinstance(self, kind))
        return _unpickled, (ours, self.diagnostics, self.kernel)

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.diagnostics if d.is_error]

    def render(self, color: bool = False) -> str:
        errors = self.errors
        count = f"{len(errors)} error{'s' * (len(errors) != 1)}"
        name = f" in kernel '{self.kernel}'" if self.kernel else ""
        others = [d for d in self.diagnostics if not d.is_error]
        return "\n".join([f"{count}{name}", *(d.render(color) for d in [*errors, *others])])

    def __str__(self) -> str:
        return self.render(color=_wants_color())


#: What TVM, and `tvm.error`, call it.
TVMError = InternalError = CompileError


class UnsupportedError(CompileError, NotImplementedError):
    """All that stands in the way is valid, but not supported by this version or target."""


class KernelError(CompileError, RuntimeError):
    """A kernel did something wrong while it ran on the reference interpreter."""


class CompilerMissingError(TilewrightError, ImportError):
    """This installation lacks its compiler or runtime, or they can't be loaded."""


HOW_TO_BUILD = "run 'make build' in a clone, or install a wheel of tilewright"


def native_module(name: str) -> Any:
    """The module `tilewright._compiler` or `tilewright._runtime`; CompilerMissingError without."""
    from importlib import import_module

    try:
        return import_module(f"tilewright.{name}")
    except ModuleNotFoundError:
        problem = "is not built"
    except ImportError as error:
        problem = f"can't be loaded ({error})"
    raise CompilerMissingError(f"tilewright.{name} {problem}; {HOW_TO_BUILD}")


def load_compiler() -> Any:
    """The native module `tilewright._compiler`; loads LLVM and MLIR the first time."""
    return native_module("_compiler")


class EagerJITBuildError(TilewrightError):
    """An eager kernel (`T.const`, `T.empty`) can't be built for the arguments of this call."""


def _wants_color() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stderr.isatty()


def compile_error(diagnostics: Sequence[Diagnostic], kernel: str = "") -> CompileError:
    """The exception for these diagnostics: a CompileError that is also what Python and TileLang
    call the first of the errors, as a ValueError or an IndexError."""
    errors = [d for d in diagnostics if d.is_error]
    if errors and all(d.is_unsupported for d in errors):
        return UnsupportedError(diagnostics, kernel)
    first = next((d for d in errors if d.kind == "error"), None)
    python = first.python if first else None
    if first and first.is_unsupported:
        python = NotImplementedError
    return also(CompileError, python)(diagnostics, kernel)


def _unpickled(
    ours: type[CompileError], diagnostics: Sequence[Diagnostic], kernel: str
) -> CompileError:
    return compile_error(diagnostics, kernel) if ours is CompileError else ours(diagnostics, kernel)


#: Classes of Python's that an error of ours may be too.
_PLAIN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    LookupError,
    NameError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)
#: Python's class for each kind of wrong use that the builder tells apart.
_FAULTS = {"value": ValueError, "type": TypeError, "index": IndexError, "state": RuntimeError}
_combined: dict[tuple[type, type], type] = {}


def also(ours: type[_Error], python: type[BaseException] | None) -> type[_Error]:
    """The class `ours` that code which catches `python`, or the closest plain one, catches too."""
    plain = next((c for c in (python.__mro__ if python else ()) if c in _PLAIN), None)
    if plain is None or issubclass(ours, plain):
        return ours
    made = _combined.get((ours, plain))
    if made is None:
        about = {"__module__": ours.__module__, "__doc__": ours.__doc__}
        made = _combined.setdefault((ours, plain), type(ours.__name__, (ours, plain), about))
    return made


def unsupported(message: str) -> CompileError:
    """The error for a choice, at no place of a kernel, that is not carried out yet."""
    return compile_error([Diagnostic("unsupported", Place(), message)])


def raise_at_kernel(error: CompileError, cause: BaseException | None = None) -> None:
    """Raises `error` with the first wrong line of the kernel as last frame of the traceback."""
    place = next((d.place for d in error.errors if d.place.line), None)
    if place is None:
        raise error from cause
    try:
        raise error from cause
    except CompileError as raised:
        error.kernel_frame = _frame_at(place, error.kernel or "kernel")
        _append(raised.__traceback__, error.kernel_frame)
        raise


def short_traceback(function: _Function) -> _Function:
    """A function of the public interface: the traceback of a CompileError goes straight from it to
    the kernel, without the frames of the compiler; one of an unknown keyword ends at the caller's
    line and names the keywords that there are."""
    from functools import wraps

    @wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except CompileError as error:
            raise error.with_traceback(error.kernel_frame) from error.__cause__
        except TypeError as error:
            from .suggestions import unknown_keyword

            if wrong := unknown_keyword(error, function, keywords):
                raise TypeError(f"{error}{wrong[1]}") from None
            raise

    return called  # type: ignore[return-value]


def _frame_at(place: Place, name: str) -> TracebackType | None:
    """A traceback of one frame that stands at `place`: Python marks these columns."""
    import ast

    columns = dict(zip(("col_offset", "end_col_offset"), _byte_range(place), strict=True))
    here: dict[str, Any] = {"lineno": place.line, "end_lineno": place.line, **columns}
    marker = ast.Raise(ast.Name("LookupError", ast.Load(), **here), **here)
    code = compile(ast.Module([marker], []), place.file, "exec")
    try:
        exec(code.replace(co_name=name, co_qualname=name), {})
    except LookupError as raised:
        return raised.__traceback__.tb_next if raised.__traceback__ else None
    return None


def _byte_range(place: Place) -> tuple[int, int]:
    """The columns of a place as Python counts them, in bytes from 0; the whole line, which Python
    leaves unmarked, where the place has none."""
    line = source_line(place) or ""
    first, last = place.column - 1, max(place.end_column - 1, place.column)
    if place.column < 1:
        first, last = len(line) - len(line.lstrip()), len(line)
    return len(line[:first].encode()), len(line[:last].encode())


def _append(head: TracebackType | None, tail: TracebackType | None) -> None:
    while head is not None and head.tb_next is not None:
        head = head.tb_next
    if head is not None:
        head.tb_next = tail
