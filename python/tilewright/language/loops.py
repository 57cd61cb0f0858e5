# SPDX-License-Identifier: Apache-2.0
"""Loops: T.serial, T.unroll, T.vectorized, T.grid, T.Parallel, T.Pipelined."""

from __future__ import annotations

from ..capture.tracer import current
from .annotate import as_annotations
from .frames import Loop, ThreadLoop, TileLoop
from .pipeline_orders import scheduled_statements
from .values import LanguageError, check_loop_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNIT = 1


def _attributes(**given: Any) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def serial(
    start: Any, stop: Any = None, step: Any = None, *, annotations: dict[str, Any] | None = None
) -> Loop:
    """A loop over `range(start, stop, step)`, one iteration after the other."""
    if stop is None:
        start, stop = 0, start
    if isinstance(step, int) and step == 0:
        raise LanguageError("the step of a loop must not be 0")
    ranges = [(start, stop, _UNIT if step is None else step)]
    return Loop("serial", ranges, as_annotations("T.serial", annotations))


Serial = serial


def unroll(
    start: Any,
    stop: Any = None,
    step: Any = None,
    *,
    explicit: bool = False,
    unroll_factor: int | None = None,
    annotations: dict[str, Any] | None = None,
) -> Loop:
    """A serial loop whose iterations are written out."""
    loop = serial(start, stop, step)
    extra = _attributes(explicit=explicit or None, unroll_factor=unroll_factor)
    return Loop("unroll", loop.ranges, {**extra, **as_annotations("T.unroll", annotations)})


Unroll = unroll


def vectorized(start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> Loop:
    """A loop whose iterations run as the lanes of vector instructions."""
    loop = serial(start, stop)
    return Loop("vectorized", loop.ranges, as_annotations("T.vectorized", annotations))


Vectorized = vectorized


def grid(*extents: Any) -> Loop:
    """Nested serial loops over `extents`."""
    if not extents:
        raise LanguageError("T.grid needs at least one extent")
    for extent in extents:
        if isinstance(extent, bool):
            raise LanguageError(
                f"an extent of T.grid must be an integer, not {extent}", python=TypeError
            )
        if isinstance(extent, int) and extent < 0:
            raise LanguageError(f"an extent of T.grid is {extent}, but it cannot be negative")
    return Loop("serial", [(0, extent, _UNIT) for extent in extents])


def thread_binding(
    start: Any,
    stop: Any = None,
    thread: Any = "threadIdx.x",
    *,
    annotations: dict[str, Any] | None = None,
) -> Loop:
    """TVM's loop over the threads (`thread="threadIdx.y"`) or blocks (`"blockIdx.x"`) of a launch:
    each runs the body once, with its own number; those from the extent on don't."""
    if isinstance(stop, str):
        stop, thread = None, stop
    if stop is None:
        start, stop = 0, start
    as_annotations("T.thread_binding", annotations)
    return ThreadLoop(start, stop, str(thread))


class While:
    """`with T.While(condition):`: a while loop; the capture makes it (`ControlFlow._with`)."""

    def __init__(self, condition: Any) -> None:
        raise LanguageError("T.While is used in a with statement: with T.While(condition):")


def Parallel(
    *extents: Any,
    coalesced_width: int | None = None,
    loop_layout: Any = None,
    prefer_async: bool | None = None,
    annotations: dict[str, Any] | None = None,
) -> Loop:
    """Independent iterations, distributed over the threads of the block and vectorized.

    `loop_layout`, a `T.Fragment`, says which thread of a GPU computes what.
    """
    if not extents:
        raise LanguageError("T.Parallel needs at least one extent")
    check_loop_layout(loop_layout, "T.Parallel")
    extra = _attributes(coalesced_width=coalesced_width, prefer_async=prefer_async)
    ranges = [(0, extent, _UNIT) for extent in extents]
    return Loop("parallel", ranges, {**extra, **as_annotations("T.Parallel", annotations)})


parallel = Parallel


def Pipelined(
    start: Any,
    stop: Any = None,
    num_stages: int = 0,
    order: list[int] | None = None,
    stage: list[int] | None = None,
    sync: list[Any] | None = None,
    group: list[Any] | None = None,
    cross_interval: int = 1,
    annotations: dict[str, Any] | None = None,
) -> Loop:
    """A serial loop whose copies run ahead of its computation by up to `num_stages` iterations.

    `order`, `stage`, `sync` and `group` are the schedule of a GPU's compiler, a list each,
    which must be one; the results are those of the loop as it stands.
    """
    if sync is not None and not isinstance(sync, (list, tuple)):
        raise LanguageError(f"sync of T.Pipelined must be a list, not {sync!r}", python=TypeError)
    scheduled = scheduled_statements(order, stage, group)
    is_stages = isinstance(start, int) and isinstance(stop, int) and 0 < stop < start
    if is_stages and not num_stages:
        current().report(
            f"T.Pipelined({start}, {stop}) makes no turn: the second argument is the end, as of "
            f"range; stages are T.Pipelined({start}, num_stages={stop})",
            "warning",
        )
    loop = serial(start, stop)
    interval = None if cross_interval == 1 else cross_interval
    extra = _attributes(num_stages=num_stages, order=order, stage=stage, cross_interval=interval)
    given = {**extra, **as_annotations("T.Pipelined", annotations)}
    made = Loop("pipelined", loop.ranges, given)
    made.scheduled = scheduled
    return made


def Persistent(domain: Any, wave_size: Any, index: Any, group_size: int = 8) -> Loop:
    """The tiles of `domain` that fall to block `index` of `wave_size` blocks, one after the other.

    The order goes through panels of `group_size` columns of the last dim, for reuse in the cache.
    """
    extents = list(domain) if isinstance(domain, (list, tuple)) else [domain]
    if not extents:
        raise LanguageError("T.Persistent needs a domain of at least one extent")
    if not isinstance(group_size, int):
        raise LanguageError("group_size of T.Persistent must be a number that is known here")
    counts = [(f"extent {number} of the domain", 0, each) for number, each in enumerate(extents)]
    counts += [("wave_size", 1, wave_size), ("group_size", 1, group_size)]
    for what, least, count in counts:
        if isinstance(count, int) and count < least:
            raise LanguageError(
                f"{what} of T.Persistent is {count}, but at least {least} is needed"
            )
    most = wave_size if isinstance(wave_size, int) else None
    if isinstance(index, int) and (index < 0 or (most is not None and index >= most)):
        raise LanguageError(
            f"index of T.Persistent is {index}, but the blocks have numbers from 0"
            + (f" to {most - 1}" if most is not None else " on")
        )
    return TileLoop(extents, wave_size, index, group_size)
