# SPDX-License-Identifier: Apache-2.0
"""Reducers: a tile that many iterations of a `T.Parallel` add to, in any order."""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .math_ops import max_value, min_value
from .memory import alloc_fragment
from .tile_ops import copy, fill
from .values import BufferRef, Element, LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The atomic update of each kind of reducer.
_UPDATES = {
    "sum": "add",
    "max": "max",
    "min": "min",
    "bitand": "and",
    "bitor": "or",
    "bitxor": "xor",
}


def _identity(kind: str, dtype: Any) -> Any:
    """What changes nothing."""
    if kind in ("sum", "bitor", "bitxor"):
        return 0
    if kind == "bitand":
        return max_value(dtype) if dtype.startswith("u") else -1
    if dtype.is_float and "8" not in dtype:
        return float("-inf") if kind == "max" else float("inf")
    return min_value(dtype) if kind == "max" else max_value(dtype)


@guarded_by_poison
def alloc_reducer(shape: Any, dtype: Any, op: str = "sum", replication: Any = None) -> Any:
    """A tile to reduce into: init, any number of updates, finalize. op: sum, max, min, bitand,
    bitor or bitxor. `replication` says where a GPU keeps partial results."""
    if op not in _UPDATES:
        raise LanguageError(f"there is no reducer {op!r}; it is one of {', '.join(_UPDATES)}")
    made = alloc_fragment(shape, dtype)
    current().reducers[made.handle] = op
    if replication is not None:  # the older form has no reducer_init
        fill(made, _identity(op, made.dtype))
    return made


def _kind(reducer: Any, what: str) -> str:
    kind = None
    if isinstance(reducer, BufferRef):
        kind = current().reducers.get(reducer.handle)
    if kind is None:
        raise LanguageError(f"{what} needs a buffer of T.alloc_reducer")
    return str(kind)


@guarded_by_poison
def reducer_init(reducer: Any, init: Any = None) -> None:
    """Sets all elements to `init`, or to what changes nothing."""
    kind = _kind(reducer, "T.reducer_init")
    fill(reducer, _identity(kind, reducer.dtype) if init is None else init)


@guarded_by_poison
def reducer_update(target: Any, value: Any) -> None:
    """Combines one element of a reducer, `r[i]`, with a value."""
    if not isinstance(target, Element):
        raise LanguageError("T.reducer_update needs one element of a reducer, as in r[i]")
    tracer = current()
    kind = _kind(target.buffer, "T.reducer_update")
    place = tracer.operand(target, "a reducer")
    tracer.builder.atomic(_UPDATES[kind], place, tracer.value(value), {})


@guarded_by_poison
def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1) -> None:
    """Ends the updates: from here on the reducer, or `dst`, holds the result."""
    _kind(reducer, "T.finalize_reducer")
    if dst is not None:
        copy(reducer, dst)
