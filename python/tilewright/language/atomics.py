# SPDX-License-Identifier: Apache-2.0
"""Atomic operations on single elements: vectors of two and four, loads and stores."""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .values import BufferRef, Element, LanguageError, RegionRef, Traced
from .vectors import Vector, vector_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..capture.tracer import Tracer

#: What a warning says of an update beyond a tensor.
DOES_NOTHING = "this atomic update does nothing"
_ORDERS = ("relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst")
_LOAD_ORDERS = ("relaxed", "consume", "acquire", "seq_cst")
_STORE_ORDERS = ("relaxed", "release", "seq_cst")


def element_of(value: Any) -> Element | None:
    """The element of a buffer that `value` is, or was read from."""
    if isinstance(value, Traced) and value.origin is not None:
        value = value.origin
    if isinstance(value, RegionRef):  # a part of a buffer, or an element of one of vectors
        return Element(value.buffer, tuple(value.offsets))
    return value if isinstance(value, Element) else None


def _element(value: Any, what: str) -> Element:
    element = element_of(value)
    if element is None:
        raise LanguageError(f"{what} needs one element of a buffer, as in A[i]", python=TypeError)
    return element


def warn_outside(tracer: Tracer, element: Element | None, told: str) -> None:
    """Warns of an atomic operation on an element at a constant index beyond a tensor."""
    if element is not None:
        indices = [tracer.index(i) if isinstance(i, int) else i for i in element.indices]
        tracer.warn_outside(element.buffer, indices, told)


def _first_of(value: Any, lanes: int) -> Any:
    """Of a buffer of just so many elements the first one; else what is given."""
    if isinstance(value, BufferRef) and value.ndim and value.shape[-1] == lanes:
        is_row = all(extent == 1 for extent in value.shape[:-1])
        return Element(value, (0,) * value.ndim) if is_row else value
    return value


def _neighbour(element: Element, step: int) -> Element:
    return Element(element.buffer, (*element.indices[:-1], element.indices[-1] + step))


def _add_vector(dst: Any, value: Any, lanes: int, return_prev: bool) -> Any:
    what = f"T.atomic_addx{lanes}"
    dst, value = (_first_of(operand, lanes) for operand in (dst, value))
    target = _element(dst, what)
    if not target.indices:
        raise LanguageError(f"{what} needs an element that has neighbours, not a variable")
    tracer = current()
    if isinstance(value, (Vector, RegionRef)):
        given = vector_of(value, what).lanes
        if len(given) != lanes:
            raise LanguageError(f"{what} adds {lanes} elements, but the vector has {len(given)}")
    else:
        source = _element(value, what)
        given = [_neighbour(source, step) for step in range(lanes)]
    warn_outside(tracer, _neighbour(target, lanes - 1), DOES_NOTHING)
    before = []
    for step in range(lanes):
        place = tracer.operand(_neighbour(target, step), what)
        operand = tracer.value(given[step])
        before.append(tracer.wrap(tracer.builder.atomic("add", place, operand, {})))
    return Vector(before) if return_prev else None


@guarded_by_poison
def atomic_addx2(dst: Any, value: Any, return_prev: bool = False) -> Any:
    """Adds two neighbouring elements from `value` on to those from `dst` on, each atomically.

    `return_prev` gives the values before, as a vector.
    """
    return _add_vector(dst, value, 2, return_prev)


@guarded_by_poison
def atomic_addx4(dst: Any, value: Any, return_prev: bool = False) -> Any:
    """Adds four neighbouring elements from `value` on to those from `dst` on, each atomically.

    `return_prev` gives the values before, as a vector.
    """
    return _add_vector(dst, value, 4, return_prev)


def _check_order(what: str, order: str, allowed: tuple[str, ...]) -> None:
    if order not in allowed:
        raise LanguageError(f"{what} has no memory order {order!r}; it is {', '.join(allowed)}")


@guarded_by_poison
def atomic_load(src: Any, memory_order: str = "seq_cst") -> Any:
    """An element, read as one indivisible step."""
    _check_order("T.atomic_load", memory_order, _LOAD_ORDERS)
    tracer = current()
    element = _element(src, "T.atomic_load")
    warn_outside(tracer, element, "this read gives 0")
    place = tracer.operand(element, "the source of T.atomic_load")
    return tracer.wrap(tracer.builder.atomic("load", place, 0, {"memory_order": memory_order}))


@guarded_by_poison
def atomic_store(dst: Any, src: Any, memory_order: str = "seq_cst") -> None:
    """Writes an element as one indivisible step."""
    _check_order("T.atomic_store", memory_order, _STORE_ORDERS)
    tracer = current()
    element = _element(dst, "T.atomic_store")
    warn_outside(tracer, element, "this store does nothing")
    place = tracer.operand(element, "the target of T.atomic_store")
    tracer.builder.atomic("store", place, tracer.value(src), {"memory_order": memory_order})
