# SPDX-License-Identifier: Apache-2.0
"""Classes whose objects live while a kernel is traced, and hold variables of it."""

from __future__ import annotations

from types import FunctionType, MethodType

from .prim_func import macro

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _MetaMethod:
    """A method that is inlined where a kernel calls it."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.inlined = macro(function)
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        from ..capture.tracer import current_or_none

        called = self.function if current_or_none() is None else self.inlined
        return called(*args, **keywords)


def _inlined_accessor(function: Any) -> Any:
    return _MetaMethod(function) if isinstance(function, FunctionType) else function


def _is_made_by_dataclass(cls: type, name: str, member: Any) -> bool:
    """Whether the decorator dataclass wrote this method; `exec` gave it no file."""
    if not hasattr(cls, "__dataclass_fields__") or not name.startswith("__"):
        return False
    member = getattr(member, "__wrapped__", member)  # __repr__ is guarded against recursion
    return isinstance(member, FunctionType) and member.__code__.co_filename == "<string>"


def meta_class(cls: type) -> type:
    """Makes the methods of a class part of the kernels that call them.

    Their statements mean what they mean in a kernel. `self.x = ...` sets the attribute while
    tracing, or stores to it where it is a variable (T.alloc_var) already.
    """
    for name, member in list(vars(cls).items()):
        if _is_made_by_dataclass(cls, name, member):
            continue  # there is no source; Python runs it while the kernel is traced
        if isinstance(member, FunctionType):
            setattr(cls, name, _MetaMethod(member))
        elif isinstance(member, property):
            read, write = _inlined_accessor(member.fget), _inlined_accessor(member.fset)
            setattr(cls, name, property(read, write, member.fdel, member.__doc__))
    cls.is_tile_meta_class = True  # type: ignore[attr-defined]
    return cls


def inline(func: Any) -> Any:
    """The same as `T.macro`."""
    return macro(func)


def is_meta_object(value: object) -> bool:
    """Whether `value` is an object of a `T.meta_class`."""
    return getattr(type(value), "is_tile_meta_class", False)
