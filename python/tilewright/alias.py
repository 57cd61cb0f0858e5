# SPDX-License-Identifier: Apache-2.0
"""`import tilelang` as another name of this package.

`offer()` puts it behind all installed packages: a real TileLang wins. `take_over()` puts it before
them, and says so. Every module is the same object under both names.

TileLang brings a TVM of its own, so scripts import `tvm` behind it: where this package is
`tilelang` and no TVM is installed, that is `tilewright.tvm`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

ALIAS = "tilelang"
TVM = "tvm"


def _our_name(name: str) -> str:
    """The module of ours for a module of TileLang."""
    from . import ELSEWHERE

    inner = name if name.partition(".")[0] == TVM else name[len(ALIAS) + 1 :]
    return ".".join(["tilewright", ELSEWHERE.get(inner, inner)]).rstrip(".")


def _imported_as(frame: FrameType) -> str | None:
    """The module's name in the `from tilelang.x import y` that this frame is at, if any."""
    from dis import get_instructions

    written = ""
    for step in get_instructions(frame.f_code):
        if step.opname == "IMPORT_NAME":
            written = str(step.argval)
        if step.offset == frame.f_lasti:
            is_at_one = step.opname == "IMPORT_FROM"
            return written if is_at_one and written.partition(".")[0] in (ALIAS, TVM) else None
    return None


def _name_as_written(module: ModuleType, alias: str) -> None:
    """A name that the module does not have is told with the module's name in the script, `alias`
    where that isn't known: Python would tell that of the module, which is ours."""
    own = module.__dict__.get("__getattr__")
    if hasattr(own, "tells_written_names"):
        return

    def find(name: str) -> object:
        try:
            if own is not None:
                return own(name)
            raise AttributeError(f"{alias} has no {name!r}")
        except AttributeError as missing:
            # Python looks for a module that is being imported only after an AttributeError.
            is_loaded = f"{module.__name__}.{name}" in sys.modules
            written = None if is_loaded else _imported_as(sys._getframe(1))
            if written is None:
                if type(missing) is not AttributeError:  # it says more than that
                    raise
                raise _as_written(missing, module, alias, name) from None
        from .suggestions import did_you_mean

        text = f"cannot import name {name!r} from {written!r}{did_you_mean(name, dir(module))}"
        raise ImportError(text, name=written)

    find.tells_written_names = True  # type: ignore[attr-defined]
    module.__dict__["__getattr__"] = find


def _as_written(
    missing: AttributeError, module: ModuleType, alias: str, name: str
) -> AttributeError:
    """The same error with the name of the module that scripts have, and the name that was meant."""
    text = str(missing)
    script = sys._getframe(2).f_globals
    has_ours = "tilewright" in script and ALIAS not in script
    if text.startswith(module.__name__) and not has_ours:
        text = alias + text[len(module.__name__) :]
    if not name.startswith("_") and "did you mean" not in text:
        from .suggestions import did_you_mean

        text += did_you_mean(name, dir(module))
    return AttributeError(text)


class _KeepsItsNames(ModuleType):
    """A module whose functions stay what they are when a module of the same name is imported from
    it: `tilelang.engine.lower` is both."""

    def __setattr__(self, name: str, value: object) -> None:
        own = self.__dict__.get(name, value)
        if not isinstance(value, ModuleType) or isinstance(own, ModuleType):
            super().__setattr__(name, value)


class _Loader:
    """Gives the module of ours as the one to import."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_our_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # From here on all of `tilelang` is ours: no other finder may load a file of it again.
        _put_first()
        name = spec.name if (spec := module.__spec__) else module.__name__
        _name_as_written(module, name)
        parent = sys.modules.get(name.rpartition(".")[0])
        if type(parent) is ModuleType:
            parent.__class__ = _KeepsItsNames
        # The import system has replaced the module's own spec by that of the alias: put it back.
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state


class AliasFinder:
    """Finds `tilelang` and the modules in it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top = name.partition(".")[0]
        if top not in (ALIAS, TVM):
            return None
        if name != ALIAS and not _is_ours(sys.modules.get(ALIAS)):
            return None
        if name == TVM and installed_elsewhere(TVM) is not None:
            return None
        if name != TVM and top == TVM and sys.modules.get(TVM) is not _our_tvm():
            return None
        ours = _our_name(name)
        try:
            import_module(ours)
        except ModuleNotFoundError as missing:
            # A folder of it that isn't there, too: Python then tells the name that the script has.
            if f"{ours}.".startswith(f"{missing.name}."):
                return None
            raise
        return ModuleSpec(name, _Loader(), is_package=True)  # type: ignore[arg-type]


_finder = AliasFinder()


def _is_ours(module: ModuleType | None) -> bool:
    return module is not None and module is sys.modules.get("tilewright")


def _our_tvm() -> ModuleType | None:
    return sys.modules.get("tilewright.tvm")


def _put_first() -> None:
    if sys.meta_path[0] is not _finder:
        if _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
        sys.meta_path.insert(0, _finder)


def offer() -> None:
    """`import tilelang` finds this package if it finds no other."""
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


def installed_elsewhere(name: str = ALIAS) -> str | None:
    """Where another package of that name would be imported from, if there is one."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(name)
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        return None
    return spec.origin or list(spec.submodule_search_locations or [""])[0]


def take_over() -> str | None:
    """From now on `import tilelang` is this package. Gives where the other is, if there is one."""
    loaded = sys.modules.get(ALIAS)
    if loaded is not None and not _is_ours(loaded):
        raise ImportError(f"another {ALIAS} is already imported, from {loaded.__file__}")
    _put_first()
    return installed_elsewhere()
