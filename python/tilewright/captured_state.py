# SPDX-License-Identifier: Apache-2.0
"""Whether what a factory reads outside itself is still what its kernels were made from.

A factory keeps its kernels by its arguments. Globals, closures and attributes that it and the
functions that it calls read are no arguments: they are noted when the first kernel is made, and
compared at each call (about a microsecond).
"""

from __future__ import annotations

import os
import sys
from collections import ChainMap, deque
from itertools import pairwise
from marshal import dumps
from math import copysign
from types import (
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
)

from .capture.definition import globals_of
from .outside_reads import (
    is_context,
    kind_of_reader,
    names_in_getter,
    read_of_module,
    read_of_object,
    read_of_path,
)
from .source_lines import annotated_words, codes_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_ABSENT = object()
_PLAIN = (type(None), bool, int, float, str, bytes, complex)
_CONTAINERS = (list, dict, set, tuple, frozenset)
#: What is in them stays as it is, as in Python's own modules.
_LIBRARIES = ("numpy", "torch")
_FOLDER_OF_PYTHON = os.path.dirname(os.__file__)  # noqa: PTH120 - pathlib costs 5 ms
#: How many values are followed. Of what reaches more, nobody knows whether it is as it was.
_MOST_VALUES = 10_000
#: Methods that make, show and compare objects.
_OF_MAKING = frozenset(
    [
        "__init__",
        "__new__",
        "__post_init__",
        "__init_subclass__",
        "__repr__",
        "__str__",
        "__eq__",
        "__hash__",
    ]
)
#: Where functions that are wrapped in something else are to be found.
_WRAPPED_AS = ("function", "func", "__func__", "fget", "__wrapped__")
#: Attributes of functions that wrap others; `registry` is that of functools.singledispatch.
_OF_WRAPPERS = ("__wrapped__", "registry")
#: Tensors up to this many bytes are compared; larger ones only count their changes.
_SMALL = 65536
#: What an array says of itself without its numbers, and the instructions that read a name.
_FACTS = ("shape", "dtype", "ndim", "size", "itemsize", "nbytes")
_READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")


def kind_of(value: object) -> object:
    """What tells equal arguments apart: 2, 2.0 and True make different kernels, and so do 0.0 and
    -0.0."""
    if isinstance(value, float):
        return type(value), copysign(1.0, value)
    if isinstance(value, (tuple, frozenset)):
        return type(value), tuple(map(kind_of, value))
    return type(value)


class CapturedState:
    """What a function reads outside itself, as it is now."""

    __slots__ = ("_names", "_cells", "_slots", "_contents", "_seen", "_kept", "_waiting", "unknown")

    def __init__(self, function: FunctionType, arguments: Iterable[Any] | None = None) -> None:
        """With `arguments`, what it reads in those."""
        #: (namespace, name, value)
        self._names: list[tuple[Any, str, object]] = []
        self._cells: list[tuple[Any, object]] = []
        #: (object, name of a slot, value)
        self._slots: list[tuple[object, str, object]] = []
        #: (how to look at it, what may change inside, what was there)
        self._contents: list[tuple[Callable[[Any], Any], Any, Any]] = []
        #: By identity, the names that were looked at in an object.
        self._seen: dict[int, set[str]] = {}
        self._kept: list[object] = []  # identities stay valid while these live
        #: Values to look into, with the names that their readers mention.
        self._waiting: list[tuple[Any, set[str]]] = []
        #: What can't be followed: then it never counts as the same. Empty if all is.
        self.unknown = ""
        if arguments is None:
            self._function(function)
        else:
            names = _names_of(function.__code__)
            for argument in arguments:
                self._value(argument, names)
        self._follow()

    def _follow(self) -> None:
        """Looks into all that is reached; no call within a call, as chains have any length."""
        for _ in range(_MOST_VALUES):
            if not self._waiting:
                return
            self._look_into(*self._waiting.pop())
        self._waiting.clear()
        self.unknown = f"more than {_MOST_VALUES} values"

    def is_empty(self) -> bool:
        """Whether nothing of it can change."""
        return not (self._names or self._cells or self._slots or self._contents or self.unknown)

    def holds(self) -> bool:
        """Whether all of it is as it was."""
        if self.unknown:
            return False
        for namespace, name, value in self._names:
            if namespace.get(name, _ABSENT) is not value:
                return False
        for cell, value in self._cells:
            if _contents(cell) is not value:
                return False
        for owner, name, value in self._slots:
            if getattr(owner, name, _ABSENT) is not value:
                return False
        try:
            return all(look(value) == before for look, value, before in self._contents)
        except ValueError:  # now it holds something that isn't plain
            return False

    def _new(self, value: object, names: set[str]) -> set[str] | None:
        """Those of the names that nobody has looked at in this object; None if all were."""
        seen = self._seen.get(id(value))
        new = names if seen is None else names - seen
        if seen is None:
            self._kept.append(value)
            self._seen[id(value)] = set(names)
            return new
        seen |= names
        return new or None

    def _function(self, function: FunctionType, read: Iterable[str] = ()) -> None:
        """`read` are the names that its reader mentions, which may be attributes of it."""
        if _stays(function.__module__):
            self._outside(read_of_module(function.__module__ or "", {function.__name__}))
            return
        is_known = id(function) in self._seen
        new = self._new(function, {*read, *_OF_WRAPPERS})
        if new:
            self._space(vars(function), new)
        if is_known:
            return
        names = _names_of(function.__code__, function.__doc__)
        known = globals_of(function)
        kept = known.maps[0] if isinstance(known, ChainMap) else {}
        cells = [*zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)]
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        values = [known.get(name) for name in names] + [_contents(cell) for _, cell in cells]
        names |= _names_in_values([*values, *defaults], "getattr" in names)
        if "open" not in known and _reads_name(function.__code__, "open"):
            self._outside(kind_of_reader(open))
        for name in names:
            value = known.get(name, _ABSENT)
            if value is not _ABSENT:
                if name not in kept:
                    self._names.append((function.__globals__, name, value))
                if not _is_asked_only(function.__code__, name, value):
                    self._value(value, names)
        for name, cell in cells:
            value = _contents(cell)
            self._cells.append((cell, value))
            if not _is_asked_only(function.__code__, name, value):
                self._value(value, names)
        for value in defaults:
            self._value(value, names)

    def _outside(self, kind: str) -> None:
        """What a function of Python's own reads."""
        if kind == "environment":
            self._value(os.environ, set())
        elif kind == "folder":
            self._contents.append((_folder, None, _folder(None)))
        elif kind:
            self.unknown = kind

    def _value(self, value: Any, names: set[str]) -> None:
        """What may change inside of a value; `names` are those that its reader mentions."""
        if not isinstance(value, _PLAIN):
            self._waiting.append((value, names))

    def _look_into(self, value: Any, names: set[str]) -> None:
        self._outside(kind_of_reader(value) or read_of_path(value, names))
        if isinstance(value, FunctionType):
            self._function(value, names)
        elif isinstance(value, (*_CONTAINERS, deque, MappingProxyType)):
            self._container(value, names)
        elif _is_array(value, "numpy", "ndarray"):
            self._contents.append((_array_facts, value, _array_facts(value)))
        elif _is_array(value, "torch", "Tensor"):
            self._tensor(value)
        elif isinstance(value, ModuleType):
            self._module(value, names)
        elif is_context(value):
            self._contents.append((_held, value, _held(value)))
            self._kept.append(value.get(_ABSENT))
            self._value(value.get(_ABSENT), names)
        elif (read := names_in_getter(value)) - names:  # its reader doesn't mention what it reads
            self.unknown = f"an attribute ({', '.join(sorted(read))}) by a getter"
        elif isinstance(value, type):
            new = self._new(value, names)
            if new is not None:
                self._class(type(value), self._class(value, new, None), value)
        elif (held := _raw_bytes(value)) is not None:
            self._contents.append((_raw_bytes, value, held))
        else:
            self._object(value, names)

    def _container(self, value: Any, names: set[str]) -> None:
        if type(value) in _CONTAINERS and _is_plain(value):
            if not _is_constant(value):
                self._contents.append((_as_bytes, value, _as_bytes(value)))
            return
        new = self._new(value, names)
        if new is not None:
            self._contents.append((_identities, value, _identities(value)))
            for item in _items(value):
                self._kept.append(item)
                self._value(item, new)

    def _tensor(self, tensor: Any) -> None:
        self._contents.append((_version, tensor, _version(tensor)))
        if tensor.nbytes <= _SMALL:
            try:
                shared = tensor.detach().numpy()
            except (TypeError, RuntimeError):  # NumPy hasn't its dtype, or can't reach it
                return
            self._contents.append((_array_facts, shared, _array_facts(shared)))

    def _module(self, module: ModuleType, names: set[str]) -> None:
        if is_ours(module.__name__):
            return
        space = vars(module)
        stays = _stays(module.__name__)
        new = self._new(module, names) or set()
        if not stays:
            self._space(space, new)
            return
        self._outside(read_of_module(module.__name__, new & space.keys()))
        for name in new & space.keys():
            self._names.append((space, name, space[name]))
            # `os.environ` changes, though Python's modules don't.
            if _is_of_python(module.__name__) and space[name] is not sys.modules:
                self._value(space[name], new)

    def _object(self, value: Any, names: set[str]) -> None:
        module = type(value).__module__
        if _stays(module):
            self._object_of_library(value, names, module)
            return
        new = self._new(value, names)
        if new is not None:
            space = getattr(value, "__dict__", None)
            read = self._class(type(value), new, value)
            if type(space) is dict:
                self._space(space, read | _behind_methods(value, space))

    def _object_of_library(self, value: Any, names: set[str], module: str) -> None:
        """An object of a class that isn't followed: what it wraps or holds may change."""
        self._outside(read_of_object(module))
        for inner in _functions_in(value):
            self._function(inner)
        if module in ("builtins", "functools"):
            read = names | _names_in(value)
            for part in ("__self__", "args", "keywords"):  # of methods and partial functions
                self._value(getattr(value, part, None), read)
        if module == "weakref":  # to keep what it points to would change when that ends
            self.unknown = "a weak reference"
        elif _is_of_python(module) and type(getattr(value, "__dict__", None)) is dict:
            held = vars(value)
            new = self._new(value, names | _behind_methods(value, held))
            self._space(held, new or set())

    def _space(self, space: dict[str, Any], names: set[str]) -> None:
        for name in names & space.keys():
            self._names.append((space, name, space[name]))
            self._value(space[name], names)

    def _class(self, kind: type, names: set[str], instance: object | None) -> set[str]:
        """The attributes of a class, or of an instance through its class; gives the names that are
        read, those in the methods among them."""
        owners = [owner for owner in kind.__mro__ if not _stays(owner.__module__)]
        read = set(names)
        methods: set[str] = set()
        while True:
            found = {n for owner in owners for n, v in vars(owner).items() if _is_read(n, v, read)}
            if found == methods:
                break
            methods = found
            for owner in owners:
                for name in found & vars(owner).keys():
                    read |= _names_in(vars(owner)[name])
        spaces: list[Any] = [vars(owner) for owner in owners]
        if instance is not None and type(getattr(instance, "__dict__", None)) is dict:
            spaces.insert(0, vars(instance))
        for name in methods:
            for space in spaces:  # up to the one that has it: those before may get it, too
                value = space.get(name, _ABSENT)
                self._names.append((space, name, value))
                if isinstance(value, MemberDescriptorType) and instance is not None:
                    inside = getattr(instance, name, _ABSENT)
                    self._slots.append((instance, name, inside))
                    self._value(inside, read)
                elif value is not _ABSENT:
                    self._value(value, read)
                if value is not _ABSENT:
                    break
        return read


def is_ours(module: str | None) -> bool:
    """Whether a module is the package's, not a user's; the package's own tests are users."""
    parts = (module or "").split(".")
    return parts[0] in ("tilewright", "tilelang") and not parts[-1].startswith("test_")


def _stays(module: str | None) -> bool:
    """Whether nobody changes what a module holds: ours, known libraries and Python's own."""
    top = (module or "").partition(".")[0]
    return top in _LIBRARIES or is_ours(module) or _is_of_python(module)


def _is_of_python(module: str | None) -> bool:
    """A user's file may have the name of a module of Python's, `profile.py`."""
    top = (module or "").partition(".")[0]
    if top not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is None or file.startswith(_FOLDER_OF_PYTHON)


def _behind_methods(value: object, held: dict[str, Any]) -> set[str]:
    """Attributes that no reader mentions: what is indexed by methods of Python's own, a ChainMap,
    `os.environ` or a user's ConfigParser, holds all behind names of theirs."""
    for owner in type(value).__mro__:
        if "__getitem__" in vars(owner):
            return set(held) if _is_of_python(owner.__module__) else set()
    return set()


def _is_read(name: str, value: object, names: set[str]) -> bool:
    """Whether readers that mention `names` read this attribute of a class: special methods are
    called without a name."""
    if name.startswith("__") and name.endswith("__"):
        return name not in _OF_MAKING and bool(_functions_in(value))
    return name in names


def _functions_in(value: Any) -> list[FunctionType]:
    """A function, or those in what is wrapped around one."""
    if isinstance(value, FunctionType):
        return [value]
    if not _stays(type(value).__module__):
        return []
    inner = []
    for wrapped in _WRAPPED_AS:
        try:
            inner.append(getattr(value, wrapped, None))
        except Exception:  # an object may refuse its attributes
            continue
    return [f for f in inner if isinstance(f, FunctionType)]


def _names_in(value: Any) -> set[str]:
    return set().union(*(_names_of(f.__code__) for f in _functions_in(value)))


def _is_array(value: object, module: str, kind: str) -> bool:
    known = sys.modules.get(module)
    return known is not None and isinstance(value, getattr(known, kind, ()))


def _is_asked_only(code: CodeType, name: str, value: Any) -> bool:
    """Whether a function only asks a large array for its shape and the like: comparing it at each
    call would take long."""
    if not _is_array(value, "numpy", "ndarray") or value.nbytes <= _SMALL:
        return False
    from dis import get_instructions

    for inner in codes_of(code):
        lines = [i for i in get_instructions(inner) if i.opname != "CACHE"]
        for line, after in pairwise(lines):
            if line.argval == name and line.opname in _READS and after.argval not in _FACTS:
                return False
    return True


def _raw_bytes(value: Any) -> bytes | None:
    """The memory that an object shares: a bytearray, an array of `array` or `ctypes`, a view."""
    try:
        return memoryview(value).tobytes()
    except (TypeError, ValueError, BufferError):  # it shares none
        return None


def _held(context: Any) -> int:
    return id(context.get(_ABSENT))


def _folder(_: object) -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib costs 5 ms
    except OSError:  # it was removed
        return ""


def _names_in_values(values: list[Any], by_strings: bool) -> set[str]:
    """Attributes that a function reads though its text doesn't mention them: by getters, and by
    strings that it gives to getattr."""
    names = set().union(*map(names_in_getter, values))
    if by_strings:
        names |= {value for value in values if isinstance(value, str)}
    return names


def _reads_name(code: CodeType, name: str) -> bool:
    """Whether it, or a function in it, reads this global: not an attribute of that name."""
    if not any(name in inner.co_names for inner in codes_of(code)):
        return False
    from dis import get_instructions

    return any(
        step.opname in _READS and step.argval == name
        for inner in codes_of(code)
        for step in get_instructions(inner)
    )


def _array_facts(array: Any) -> tuple[Any, ...]:
    return array.dtype, array.shape, array.tobytes()


def _version(tensor: Any) -> tuple[Any, ...]:
    return tensor._version, tensor.data_ptr(), tensor.shape, tensor.dtype


def _as_bytes(value: Any) -> bytes:
    """Tells 1, 1.0 and True apart, which are equal; version 2 says nothing of who shares what."""
    return dumps(value, 2)


def _items(value: Any) -> list[Any]:
    if isinstance(value, (dict, MappingProxyType)):
        return [*value.keys(), *value.values()]
    return list(value)


def _identities(value: Any) -> list[int]:
    return list(map(id, _items(value)))


def _is_constant(value: Any) -> bool:
    """Whether a plain value can't change."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_constant, value))
    return isinstance(value, _PLAIN)


def _contents(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _names_of(code: CodeType, doc: str | None = None) -> set[str]:
    """Names that may be looked up outside; words of strings too, which may be annotations, but for
    those of the docstring."""
    names: set[str] = set()
    for inner in codes_of(code):
        names.update(inner.co_names)
        for constant in inner.co_consts:
            if isinstance(constant, str) and constant is not doc and len(constant) < 200:
                names.update(words_of(constant))
    return names | _names_in_annotations(code)


def _names_in_annotations(code: CodeType) -> set[str]:
    from .front_key import NotCapturable, source_text

    try:
        return annotated_words(code, source_text(code))
    except NotCapturable:  # no source: it is no kernel
        return set()


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether it is made of Python's own values alone, and holds itself nowhere."""
    if type(value) in _CONTAINERS and depth < 32:
        return all(_is_plain(item, depth + 1) for item in _items(value))
    return type(value) in _PLAIN
