# SPDX-License-Identifier: Apache-2.0
"""What scripts take from `tilelang.tvm`: targets as contexts, dtypes, and the classes of values.

TVM itself is no part of this package; `tilewright.lower` and `tilewright inspect` show what a
kernel becomes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import options as transform
from . import tir
from .language.dtypes import DataType
from .options import resolve_target, scoped_targets

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["DataType", "Target", "target", "tir", "tirx", "transform"]

#: The name that newer releases of TVM have for it.
tirx = tir


class TargetKind(str):
    """The name of a target, which has a name as TVM's kinds have."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self)


class Target:
    """`with tvm.target.Target("c"):`: the target of kernels that name none."""

    def __init__(self, target: object, host: object = None) -> None:
        self.name = resolve_target(target)

    @property
    def kind(self) -> TargetKind:
        return TargetKind(self.name)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost one that is open."""
        if scoped_targets:
            return Target(scoped_targets[-1])
        if not allow_none:
            raise ValueError("no target is open; use one with `with`")
        return None

    def __enter__(self) -> Target:
        scoped_targets.append(self.name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        scoped_targets.pop()

    def __repr__(self) -> str:
        return f"Target({self.name!r})"


class target:
    """TVM's module of that name."""

    Target = Target


def __getattr__(name: str) -> Any:
    if name == "testing":
        from . import testing

        return testing
    if name in ("error", "TVMError"):
        from . import errors

        return errors if name == "error" else errors.TVMError
    raise AttributeError(f"tilewright.tvm has no {name!r}: TVM is no part of this package")
