# SPDX-License-Identifier: Apache-2.0
"""Front keys: find a compiled kernel without tracing it.

A front key is the digest of all that a kernel's text can depend on: the source of its factory and
of the functions that this calls, the values that they capture, the arguments, our version, the
options and the CPU. What can't be captured safely (a module that may change, an object of unknown
state, a read of the environment) gives no front key: the kernel is traced, and found by its IR.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from opcode import opmap
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from . import __version__, _runtime
from .capture.definition import globals_of
from .source_lines import annotated_words, block_of, codes_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Modules whose functions give the same result whenever they are called.
_PURE_MODULES = frozenset(
    [
        "builtins",
        "math",
        "operator",
        "functools",
        "itertools",
        "typing",
        "enum",
        "dataclasses",
        "collections",
        "abc",
        "__future__",
        "tilewright",
        "tilelang",
        "torch",
        "numpy",
    ]
)
#: Names that make a function depend on more than its source and arguments.
_IMPURE_NAMES = frozenset(
    [
        "open",
        "input",
        "eval",
        "exec",
        "globals",
        "locals",
        "vars",
        "__import__",
        "import_module",
        "environ",
        "getenv",
        "random",
        "rand",
        "randn",
        "randint",
        "urandom",
        "time",
        "perf_counter",
        "cuda",
        "backends",
        "is_available",
        "get_device_properties",
        "getattr",
        "setattr",
        "__dict__",
        "version",
    ]
)
_IMPORT_NAME = opmap["IMPORT_NAME"]


class NotCapturable(Exception):
    """Something may differ between two runs that look alike; says what."""


class _Description:
    """Collects text that is the same if and only if the kernel is."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.places: list[str] = []  # of the functions
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []  # ids stay valid while these live

    def add(self, value: Any) -> None:
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes, complex, float, type(Ellipsis)):
            self.parts.append(f"{kind.__name__}:{value!r}")
        elif kind in (tuple, list, dict, set, frozenset):
            self._container(value)
        elif isinstance(value, FunctionType):
            self._once(value, self._function)
        elif isinstance(value, ModuleType):
            self._module(value)
        elif isinstance(value, BuiltinFunctionType):
            self.parts.append(f"builtin:{value.__module__}.{value.__qualname__}")
        elif isinstance(value, type) and value.__module__ in ("builtins", "typing"):
            self.parts.append(f"type:{value.__qualname__}")
        elif kind.__module__ == "typing":
            self.parts.append(f"typing:{value!r}")
        else:
            self._object(value, kind)

    def _container(self, value: Any) -> None:
        items = list(value.items()) if isinstance(value, dict) else list(value)
        if isinstance(value, (set, frozenset)):
            items.sort(key=repr)
        self.parts.append(f"{type(value).__name__}[{len(items)}")
        for item in items:
            self.add(item)

    def _once(self, value: Any, describe: Any) -> None:
        number = self._seen.get(id(value))
        if number is not None:
            self.parts.append(f"seen:{number}")
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        describe(value)

    def _module(self, module: ModuleType) -> None:
        top = module.__name__.partition(".")[0]
        if top not in _PURE_MODULES:
            raise NotCapturable(f"module {module.__name__!r} may change")
        version = getattr(sys.modules.get(top), "__version__", "")
        self.parts.append(f"module:{module.__name__} {version}")

    def _object(self, value: Any, kind: type) -> None:
        module = kind.__module__
        if _is_of_the_package(module):
            self._ours(value, kind)
        elif module.partition(".")[0] in ("torch", "numpy") and kind.__name__.lower().endswith(
            "dtype"
        ):
            self.parts.append(f"dtype:{value!r}")
        elif isinstance(value, type) and issubclass(value, _numpy_generic()):
            self.parts.append(f"dtype:{value.__name__}")
        elif _is_enum(value):
            self.parts.append(f"enum:{module}.{kind.__qualname__}.{value.name}={value.value!r}")
        else:
            raise NotCapturable(f"{kind.__qualname__} may hold anything")

    def _ours(self, value: Any, kind: type) -> None:
        """Objects of the language, by what they say of themselves."""
        name = kind.__name__
        if name == "Dtype":
            self.parts.append(f"dtype:{value!s}")
        elif name == "_DynamicNames":  # T.dyn as an extent
            self.parts.append("dyn")
        elif name == "Symbol":
            self.parts.append(f"symbol:{value.name} {value.symbol_dtype}")
        elif name == "Deferred":
            self.parts.append(f"deferred:{value.op}")
            self.add(value.operands)
        elif name == "TensorAnnotation":
            self.parts.append(f"tensor:{value.dtype!s} {value.scope}")
            self.add(value.shape)
            self.add(value.strides)
        elif name in ("InlinedFunction", "PrimFunc"):
            self.parts.append(name)
            self.add(value.function)
            self._annotation_names(value.function, getattr(value, "names", {}))
        elif name == "SimplifiedPrimFunc":
            self.parts.append(name)
            self.add(value.kernel)
        elif name == "EagerPrimFunc":
            self.add(value.function)
            call = value.call
            self.add([call.plain(), call.constants, call.declarations()])
        elif name == "JITFunction":
            self.add(value.function)
            self.add(value.options_key())
        elif _is_enum(value):
            self.parts.append(f"enum:{kind.__qualname__}.{value.name}")
        else:
            raise NotCapturable(f"{name} may hold anything")

    def _annotation_names(self, function: FunctionType, names: dict[str, Any]) -> None:
        """What annotations that are strings take from where the kernel was defined."""
        for annotation in function.__annotations__.values():
            for word in words_of(annotation) if isinstance(annotation, str) else ():
                if word in names:
                    self.parts.append(word)
                    self.add(names[word])

    def _function(self, function: FunctionType) -> None:
        if _is_of_the_package(function.__module__):
            self.parts.append(f"ours:{function.__module__}.{function.__qualname__}")
            return
        code = function.__code__
        source = source_text(code)
        self.parts.append(source)
        self.places.append(f"{code.co_filename}:{code.co_firstlineno}")
        if code.co_name == "<lambda>":  # others may stand in its line
            self._code(code)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        if function.__closure__:
            for name, cell in zip(code.co_freevars, function.__closure__, strict=True):
                self.parts.append(name)
                try:
                    self.add(cell.cell_contents)
                except ValueError:
                    self.parts.append("<empty>")
        names = _names_used(code, source)
        impure = names & _IMPURE_NAMES
        if impure:
            raise NotCapturable(f"{function.__qualname__} uses {sorted(impure)[0]!r}")
        known = globals_of(function)
        for name in sorted(names):
            if name in known:
                self.parts.append(name)
                self.add(known[name])
        for annotation in function.__annotations__.values():
            self.add(annotation)

    def _code(self, code: CodeType) -> None:
        """What it does, apart from its source."""
        self.parts.append(repr((code.co_code, code.co_names, code.co_varnames)))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant)
            else:
                self.add(constant)


def _is_of_the_package(module: str | None) -> bool:
    """Whether our version stands for it; the package's own tests are users."""
    parts = (module or "").split(".")
    return parts[0] == "tilewright" and not parts[-1].startswith("test_")


def _numpy_generic() -> Any:
    numpy = sys.modules.get("numpy")
    return () if numpy is None else numpy.generic


def _is_enum(value: object) -> bool:
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(value, enum.Enum)


def _names_used(code: CodeType, source: str) -> set[str]:
    """The names that a function may look up outside itself. Annotations of local names leave no
    trace in the bytecode, so the words of lines that look like one count too."""
    names: set[str] = set()
    for inner in codes_of(code):
        names.update(inner.co_names)
        if _IMPORT_NAME in inner.co_code[::2]:
            raise NotCapturable("it imports a module")
    return names | annotated_words(code, source)


_files: dict[str, tuple[tuple[int, int], list[str]]] = {}


def _file_lines(path: str) -> list[str]:
    try:
        status = os.stat(path)  # noqa: PTH116 - pathlib costs 5 ms
        stamp = (status.st_mtime_ns, status.st_size)
        known = _files.get(path)
        if known is None or known[0] != stamp:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123
                known = _files[path] = (stamp, file.read().splitlines())
    except (OSError, UnicodeDecodeError):
        raise NotCapturable(f"the source {path!r} can't be read") from None
    return known[1]


def source_text(code: CodeType) -> str:
    """The lines of a function: from its first decorator to the last line that is surely its own."""
    lines = _file_lines(code.co_filename)
    try:
        first, end = block_of(code, lines)
    except LookupError as changed:
        raise NotCapturable(str(changed)) from None
    return "\n".join(lines[first:end])


def _cpu() -> str:
    """What "native" depends on: the first processor, and whether we get its tiles."""
    try:
        with open("/proc/cpuinfo", "rb") as file:  # noqa: PTH123
            block = file.read(8192).partition(b"\n\n")[0]
    except OSError:
        return repr(os.uname())
    keep = (b"model", b"vendor", b"flags", b"cpu family", b"CPU ", b"Features")
    lines = [line for line in block.splitlines() if line.startswith(keep)]
    return repr([lines, _runtime.refusal_of_tiles()])


def build_stamp() -> str:
    """Changes when the compiler or the front end does: version, and the age of their files."""
    here = os.path.dirname(__file__)  # noqa: PTH120
    stamps = [__version__, sys.version]
    for name in ("_compiler" + suffix for suffix in EXTENSION_SUFFIXES):
        try:
            status = os.stat(f"{here}/{name}")  # noqa: PTH116
        except OSError:
            continue
        stamps.append(f"{name} {status.st_mtime_ns} {status.st_size}")
    for folder in ("language", "capture"):
        with os.scandir(f"{here}/{folder}") as entries:
            files = [(e.name, e.stat().st_mtime_ns) for e in entries if e.name.endswith(".py")]
        stamps.append(repr(sorted(files)))
    return "\n".join(stamps)


_stamp: str | None = None


def machine_stamp() -> str:
    """`build_stamp` and the CPU, read once."""
    global _stamp
    if _stamp is None:
        _stamp = f"{build_stamp()}\n{_cpu()}"
    return _stamp


def digest(text: str) -> str:
    """sha256, as 64 hexadecimal digits."""
    return _runtime.sha256(text.encode("utf-8", "surrogatepass"))


class FrontKey(str):
    """A key, and that of the same kernel at this place in its files: for kernels whose messages
    tell their lines."""

    __slots__ = ("placed",)
    placed: str


def front_key(function: object, args: object, options: str) -> FrontKey | None:
    """The front key of a call of a factory, or None where something can't be captured safely."""
    description = _Description()
    try:
        description.add(function)
        description.add(args)
    except (NotCapturable, RecursionError):
        return None
    key = FrontKey(digest("\0".join(["front 6", machine_stamp(), options, *description.parts])))
    key.placed = digest("\0".join([key, *description.places]))
    return key


def why_not(function: object, args: object = ()) -> str | None:
    """Why a call has no front key, for messages; None if it has one."""
    try:
        description = _Description()
        description.add(function)
        description.add(args)
    except NotCapturable as reason:
        return str(reason)
    return None
