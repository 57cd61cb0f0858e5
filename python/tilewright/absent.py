# SPDX-License-Identifier: Apache-2.0
"""Modules of TileLang without a counterpart here. Scripts that import them load; using what they
import is an error that says what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .language.values import unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

#: What a module is there, and what to do here.
REASONS = {
    "carver": "its hints are made from models of GPUs; give configs to tilewright.autotune",
    "analysis": "its passes are TVM's; the builder checks kernels while they are traced",
    "autodd": 'give the kernel to target="reference", which says where it goes wrong',
}


class Absent:
    """Stands for a name of such a module."""

    def __init__(self, name: str, reason: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.reason = reason

    def _refuse(self) -> NoReturn:
        raise unsupported(f"tilelang.{self.__name__} is not supported: {self.reason}")

    def __call__(self, *args: object, **keywords: object) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"<tilelang.{self.__name__}, not supported>"


def names_of(module: str) -> Callable[[str], Absent]:
    """The `__getattr__` of such a module: any name can be imported from it."""

    def look_up(name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{module}.{name}", REASONS[module])

    return look_up
