# SPDX-License-Identifier: Apache-2.0
"""What a candidate is measured on."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..kernel import JITKernel
    from ..profiler import TensorSupplyType

_chosen: ContextVar[tuple[Any, ...] | None] = ContextVar("autotune_inputs", default=None)


@contextmanager
def set_autotune_inputs(*tensors: Any) -> Iterator[None]:
    """Within it, candidates are measured on these arguments: one by one, or as one list or tuple.

    They are all arguments of the kernel but its outputs, in order.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    token = _chosen.set(tuple(tensors))
    try:
        yield
    finally:
        _chosen.reset(token)


def chosen_inputs() -> tuple[Any, ...] | None:
    """What `set_autotune_inputs` gave, if that is in force."""
    return _chosen.get()


class InputSupply:
    """Makes the inputs of a kernel: given ones, else the user's function, else random ones."""

    def __init__(
        self,
        supply_prog: Callable[[Sequence[Any]], Sequence[Any]] | None,
        supply_type: TensorSupplyType | None,
        keep: bool,
    ) -> None:
        self._supply_prog = supply_prog
        self._supply_type = supply_type
        self._keep = keep
        self._kept: list[Any] | None = None

    def __call__(self, kernel: JITKernel) -> list[Any]:
        given = chosen_inputs()
        if given is not None:
            return list(given)
        if self._kept is not None:
            return self._kept
        made = self._made(kernel)
        if self._keep:
            self._kept = made
        return made

    def _made(self, kernel: JITKernel) -> list[Any]:
        if self._supply_prog is None:
            return kernel.get_profiler(self._supply_type).inputs()
        outputs = {number % len(kernel.params) for number in kernel.made_idx}
        return list(self._supply_prog([p for n, p in enumerate(kernel.params) if n not in outputs]))
