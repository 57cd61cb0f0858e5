# SPDX-License-Identifier: Apache-2.0
"""What a candidate is measured on."""

from __future__ import annotations

import sys
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


def get_autotune_inputs() -> tuple[Any, ...] | None:
    """What `set_autotune_inputs` gave, if that is in force."""
    return _chosen.get()


def private_copy(value: Any, copies: dict[int, Any]) -> Any:
    """A tensor's elements in memory of their own, with the same strides; anything else as it is.
    `copies` holds those that were made: a tensor that is given twice is copied once."""
    if id(value) in copies:
        return copies[id(value)]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        made = torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device=value.device
        )
        made.copy_(value.detach())
    elif type(value).__module__.partition(".")[0] == "numpy" and getattr(value, "ndim", 0) > 0:
        made = _same_strides(value)
    else:
        return value
    copies[id(value)] = made
    return made


def _same_strides(array: Any) -> Any:
    import numpy as np

    if array.flags.c_contiguous or array.size == 0 or min(array.strides) < 0:
        return array.copy()
    reach = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True))
    memory = np.zeros(reach + array.itemsize, np.uint8)
    made = np.ndarray(array.shape, array.dtype, memory, strides=array.strides)
    made[...] = array
    return made


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
        #: Whether some were random ones.
        self.made_random = False

    def __call__(self, kernel: JITKernel) -> list[Any]:
        given = get_autotune_inputs()
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
            self.made_random = True
            return kernel.get_profiler(self._supply_type).inputs()
        outputs = {number % len(kernel.params) for number in kernel.made_idx}
        return list(self._supply_prog([p for n, p in enumerate(kernel.params) if n not in outputs]))
