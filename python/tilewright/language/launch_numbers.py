# SPDX-License-Identifier: Apache-2.0
"""The numbers that a launch gives, where one name is bound to all of them."""

from __future__ import annotations

from .values import Expr, LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class LaunchNumbers(list):  # type: ignore[type-arg]
    """A list with which nobody computes as if it were one number."""

    def __init__(self, numbers: list[Any], *, of_npu: bool) -> None:
        super().__init__(numbers)
        self.of_npu = of_npu

    def advice(self) -> str:
        """What it holds, and how each is named."""
        if self.of_npu:
            return (
                "the numbers of the block and of the vector core, which `with T.Kernel(n, "
                "is_npu=True) as (cid, vid)` names; with threads=1 or threads=2 the launch gives "
                "the block's alone"
            )
        return (
            "a list of numbers; a launch over several extents gives as many: with T.Kernel(m, n) "
            "as (bx, by)"
        )


def _refused(name: str) -> Callable[[LaunchNumbers, Any], Any]:
    of_lists = getattr(list, name, None)

    def operator(self: LaunchNumbers, other: Any) -> Any:
        if of_lists and not isinstance(other, (int, float, Expr)):
            return of_lists(self, other)
        raise LanguageError(f"this computes with one number, not {self.advice()}", python=TypeError)

    return operator


for _name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "and", "or", "lshift", "rshift"):
    for _side in ("", "r"):
        setattr(LaunchNumbers, f"__{_side}{_name}__", _refused(f"__{_side}{_name}__"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(LaunchNumbers, f"__{_name}__", _refused(f"__{_name}__"))
