# SPDX-License-Identifier: Apache-2.0
"""Reducers: a tile that many iterations of a `T.Parallel` add to, in any order."""

from __future__ import annotations

from ..capture.reducers import Reducer
from ..capture.tracer import current, guarded_by_poison
from .annotate import check_hint
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
    check_hint("replication of T.alloc_reducer", replication, ("all", "none"))
    made = alloc_fragment(shape, dtype)
    if op.startswith("bit") and isinstance(made, BufferRef) and made.dtype.is_float:
        raise LanguageError(
            f"a reducer {op!r} works on integers, but this is of dtype {made.dtype}"
        )
    if not isinstance(made, BufferRef):  # what is wrong has been told
        return made
    tracer = current()
    tracer.reducers[made.handle] = Reducer(op, made.name, tracer.place)
    tracer.builder.annotate_reducer(made.handle, op)
    if replication is not None:  # the older form has no reducer_init
        tracer.reducers[made.handle].is_set = True
        fill(made, _identity(op, made.dtype))
    return made


def _reducer(buffer: Any, what: str) -> Reducer:
    reducer = None
    if isinstance(buffer, BufferRef):
        reducer = current().reducers.get(buffer.handle)
    if reducer is None:
        raise LanguageError(f"{what} needs a buffer of T.alloc_reducer")
    return reducer


@guarded_by_poison
def reducer_init(reducer: Any, init: Any = None) -> None:
    """Sets all elements to `init`, or to what changes nothing."""
    known = _reducer(reducer, "T.reducer_init")
    known.set_by(current())
    fill(reducer, _identity(known.kind, reducer.dtype) if init is None else init)


@guarded_by_poison
def reducer_update(target: Any, value: Any) -> None:
    """Combines one element of a reducer, `r[i]`, with a value."""
    if not isinstance(target, Element):
        raise LanguageError("T.reducer_update needs one element of a reducer, as in r[i]")
    tracer = current()
    reducer = _reducer(target.buffer, "T.reducer_update")
    reducer.updated_by(tracer)
    place = tracer.operand(target, "a reducer")
    tracer.builder.atomic(_UPDATES[reducer.kind], place, tracer.value(value), {})


@guarded_by_poison
def finalize_reducer(
    reducer: Any, dst: Any = None, batch: int = 1, annotations: dict[str, Any] | None = None
) -> None:
    """Ends the updates: from here on the reducer, or `dst`, holds the result."""
    if isinstance(batch, int) and batch < 1:
        raise LanguageError(f"the batch of T.finalize_reducer must be at least 1, not {batch}")
    _reducer(reducer, "T.finalize_reducer").finalized_by(current())
    if dst is not None:
        copy(reducer, dst)
