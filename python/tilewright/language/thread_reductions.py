# SPDX-License-Identifier: Apache-2.0
"""TVM's reduction over threads: `T.tvm_thread_allreduce` under a `T.comm_reducer`.

Published GEMV kernels end in it:

    with T.attr(
        T.comm_reducer(lambda x, y: x + y, [T.Cast("float32", 0)]),
        "reduce_scope",
        T.reinterpret(T.uint64(0), dtype="handle"),
    ):
        T.evaluate(T.tvm_thread_allreduce(T.uint32(1), acc[0], True, total[0], tk, dtype="handle"))
"""

from __future__ import annotations

from math import prod

from ..capture.tracer import current, guarded_by_poison
from .frames import Loop
from .launch import ThreadIndex, get_thread_binding, get_thread_extents
from .math_ops import if_then_else
from .memory import alloc_shared, alloc_var
from .threads import sync_threads
from .values import Element, LanguageError, Traced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..capture.tracer import Tracer

#: Where `T.attr` keeps the reducers that are open, innermost last.
_OPEN = "reduce_scope"


class CommReducer:
    """How values of several threads become one, and the values that change nothing."""

    def __init__(self, combine: Callable[..., Any], identities: Sequence[Any]) -> None:
        self.combine = combine
        self.identities = identities

    def __call__(self, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        result = self.combine(*left, *right)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def enter(self, tracer: Tracer) -> None:
        """Begins the code that reduces by it."""
        tracer.hints.setdefault(_OPEN, []).append(self)

    def leave(self, tracer: Tracer) -> None:
        """Ends that code."""
        tracer.hints[_OPEN].pop()


def comm_reducer(combiner: Callable[..., Any], identity: Sequence[Any]) -> CommReducer:
    """A commutative reduction: of n values at a time, `combiner` takes n and n, and gives n."""
    return CommReducer(combiner, list(identity))


@guarded_by_poison
def tvm_thread_allreduce(size: Any, *arguments: Any, dtype: Any = "handle") -> None:
    """Reduces `size` values of the threads that differ only in the given thread indices.

    `tvm_thread_allreduce(size, values..., condition, results..., thread indices...)`: each thread
    gives its values, or where its condition is false what changes nothing; each gets the results.
    All threads of the block take part.
    """
    tracer = current()
    if not tracer.hints.get(_OPEN):
        raise LanguageError(
            'T.tvm_thread_allreduce stands within T.attr(T.comm_reducer(...), "reduce_scope", ...)'
        )
    reducer: CommReducer = tracer.hints[_OPEN][-1]
    count = len(reducer.identities)
    given = tracer.integers([size], "the size of T.tvm_thread_allreduce")[0]
    if given != count or len(arguments) < 2 * count + 2:
        raise LanguageError(
            f"T.tvm_thread_allreduce of {given} values got {len(arguments)} arguments, and its "
            f"reducer takes {count}: it is values, a condition, results and thread indices"
        )
    values, condition = arguments[:count], arguments[count]
    results = [_element(r) for r in arguments[count + 1 : 2 * count + 1]]
    dims = [_dim(index) for index in arguments[2 * count + 1 :]]
    _reduce(tracer, reducer, values, condition, results, dims)


def _element(result: Any) -> Element:
    element = result.origin if isinstance(result, Traced) else result
    if not isinstance(element, Element):
        raise LanguageError(
            "a result of T.tvm_thread_allreduce is an element of a buffer: total[0]"
        )
    return element


def _dim(index: Any) -> int:
    if not isinstance(index, ThreadIndex):
        raise LanguageError(
            "T.tvm_thread_allreduce reduces over thread indices, as of T.get_thread_binding(0)"
        )
    return index.dim


def _reduce(
    tracer: Tracer,
    reducer: CommReducer,
    values: Sequence[Any],
    condition: Any,
    results: Sequence[Element],
    dims: Sequence[int],
) -> None:
    """Through shared memory: all threads store, then each combines those of its group."""
    extents = tracer.integers(get_thread_extents(), "the threads of T.tvm_thread_allreduce")
    strides = [1, extents[0], extents[0] * extents[1]]
    own = sum((get_thread_binding(d) * strides[d] for d in range(3) if extents[d] != 1), start=0)
    first = own
    for dim in dims:
        first = first - get_thread_binding(dim) * strides[dim]
    identities = [tracer.expression(i) for i in reducer.identities]
    stored = []
    for value, identity in zip(values, identities, strict=True):
        memory = alloc_shared((prod(extents),), identity.dtype)
        kept = value if condition is True else if_then_else(condition, value, identity)
        tracer.store(Element(memory, (own,)), kept)
        stored.append(memory)
    sync_threads()
    totals = [alloc_var(identity.dtype, init=identity) for identity in identities]
    loop = Loop("serial", [(0, prod(extents[d] for d in dims), 1)])
    (number,) = loop.enter(tracer, ["thread"])
    place = first
    for dim in dims:
        place = place + number % extents[dim] * strides[dim]
        number = number // extents[dim]
    left = [tracer.expression(total.element()) for total in totals]
    right = [tracer.expression(Element(memory, (place,))) for memory in stored]
    for total, combined in zip(totals, reducer(left, right), strict=True):
        tracer.store(total.element(), combined)
    loop.leave(tracer)
    for result, total in zip(results, totals, strict=True):
        tracer.store(result, tracer.expression(total.element()))
    sync_threads()
