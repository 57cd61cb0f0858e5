# SPDX-License-Identifier: Apache-2.0
"""What the threads of a block do together: barriers, shuffles and votes."""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .launch import get_thread_binding, get_thread_extents, refuse_outside
from .math_ops import max as _max
from .math_ops import min as _min
from .values import Expr, LanguageError, binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WARP = 32
_ALL_LANES = 0xFFFFFFFF


def sync_threads(barrier_id: Any = None, arrive_count: int | None = None) -> None:
    """Waits for all threads of the block; they see each other's stores."""
    tracer = current()
    number, count = barrier_id, arrive_count
    if isinstance(number, Expr) and tracer.constant_value(number) is None:
        number = 1  # one of several, 1 + tx // 128: whoever comes to this line waits here
    if number is not None:
        [number] = tracer.integers([number], "the barrier's number")
    if count is not None:
        [count] = tracer.integers([count], "the number of threads that wait at a barrier")
    tracer.builder.barrier("block", number, count)


def syncthreads() -> None:
    """The same as `T.sync_threads()`."""
    sync_threads()


#: What T.thread_return gives to the statement that calls it.
THREAD_ENDS = object()


def thread_return() -> object:
    """The threads that come here do nothing more in their launch; others go on, and barriers wait
    for those alone. It stands in the launch itself, or in branches and loops of it."""
    refuse_outside("T.thread_return")
    return THREAD_ENDS


def sync_warp(mask: Any = None) -> None:
    """Waits for the threads of the warp."""
    current().builder.barrier("warp")


def sync_grid() -> None:
    """Waits for all blocks of the grid. The CPU can't do that: split the kernel in two."""
    current().builder.barrier("grid")


def sync_global() -> None:
    """Waits for all threads of the block; they see each other's stores to global memory."""
    current().builder.barrier("block")


# Lanes and warps


def _thread_number() -> Any:
    x, y, _ = get_thread_extents()
    number = get_thread_binding(0)
    for dim, stride in ((1, x), (2, x * y)):
        if get_thread_extents()[dim] != 1:
            number = number + get_thread_binding(dim) * stride
    return number


def get_lane_idx(warp_size: int | None = None) -> Any:
    """The number of the running thread in its warp."""
    return _thread_number() % (warp_size or _WARP)


def get_warp_idx(warp_size: int | None = None) -> Any:
    """The number of the running thread's warp in its block."""
    return _thread_number() // (warp_size or _WARP)


def get_warp_idx_sync(warp_size: int | None = None) -> Any:
    """The number of the running thread's warp in its block."""
    return get_warp_idx(warp_size)


def get_warp_group_idx(warp_size: int | None = None, warps_per_group: int | None = None) -> Any:
    """The number of the running thread's group of warps (4 by default) in its block."""
    return _thread_number() // ((warp_size or _WARP) * (warps_per_group or 4))


def shuffle_elect(thread_extent: int) -> Any:
    """True in one thread of each `thread_extent` ones; of the block, if that is 0."""
    number = _thread_number()
    return number == 0 if thread_extent == 0 else number % thread_extent == 0


# Shuffles


def _shuffle(kind: str, value: Any, lane: Any, width: int) -> Any:
    tracer = current()
    made = tracer.builder.shuffle(kind, tracer.value(value), tracer.value(lane), int(width))
    return tracer.wrap(made)


@guarded_by_poison
def shfl_sync(value: Any, srcLane: Any, width: int = _WARP, mask: Any = None) -> Any:
    """What lane `srcLane` of the warp passes in."""
    return _shuffle("index", value, srcLane, width)


@guarded_by_poison
def shfl_xor(value: Any, delta: Any, width: int = _WARP, mask: Any = None) -> Any:
    """What the lane whose number is the own one xor `delta` passes in."""
    return _shuffle("xor", value, delta, width)


@guarded_by_poison
def shfl_up(value: Any, delta: Any, width: int = _WARP, mask: Any = None) -> Any:
    """What the lane `delta` below passes in; the own value where there is none."""
    return _shuffle("up", value, delta, width)


@guarded_by_poison
def shfl_down(value: Any, delta: Any, width: int = _WARP, mask: Any = None) -> Any:
    """What the lane `delta` above passes in; the own value where there is none."""
    return _shuffle("down", value, delta, width)


def _warp_reduce(value: Any, combine: Callable[[Any, Any], Any]) -> Any:
    result = current().expression(value)
    for delta in (16, 8, 4, 2, 1):
        result = combine(result, shfl_xor(result, delta))
    return result


@guarded_by_poison
def warp_reduce_sum(value: Any) -> Any:
    """The sum over the lanes of the warp, in each of them."""
    return _warp_reduce(value, lambda a, b: binary("add", a, b))


@guarded_by_poison
def warp_reduce_max(value: Any) -> Any:
    """The largest value of the lanes of the warp, in each of them."""
    return _warp_reduce(value, _max)


@guarded_by_poison
def warp_reduce_min(value: Any) -> Any:
    """The smallest value of the lanes of the warp, in each of them."""
    return _warp_reduce(value, _min)


@guarded_by_poison
def warp_reduce_bitand(value: Any) -> Any:
    """The bitwise and over the lanes of the warp, in each of them."""
    return _warp_reduce(value, lambda a, b: binary("and", a, b))


@guarded_by_poison
def warp_reduce_bitor(value: Any) -> Any:
    """The bitwise or over the lanes of the warp, in each of them."""
    return _warp_reduce(value, lambda a, b: binary("or", a, b))


# Votes


def _vote(kind: str, scope: str, condition: Any) -> Any:
    tracer = current()
    return tracer.wrap(tracer.builder.vote(kind, scope, tracer.value(condition)))


def _mask_and_value(arguments: tuple[Any, ...], what: str) -> Any:
    """`f(predicate)` and `f(mask, predicate)`: all lanes take part."""
    if len(arguments) not in (1, 2):
        raise LanguageError(f"{what} takes a value, or a mask and a value")
    return arguments[-1]


@guarded_by_poison
def any_sync(*arguments: Any) -> Any:
    """Whether the condition holds in any lane of the warp: any_sync(c) or any_sync(mask, c)."""
    return _vote("any", "warp", _mask_and_value(arguments, "T.any_sync"))


@guarded_by_poison
def all_sync(*arguments: Any) -> Any:
    """Whether the condition holds in all lanes of the warp: all_sync(c) or all_sync(mask, c)."""
    return _vote("all", "warp", _mask_and_value(arguments, "T.all_sync"))


@guarded_by_poison
def ballot_sync(*arguments: Any) -> Any:
    """A bit per lane of the warp, as uint64: ballot_sync(c) or ballot_sync(mask, c)."""
    return _vote("ballot", "warp", _mask_and_value(arguments, "T.ballot_sync"))


@guarded_by_poison
def ballot(predicate: Any) -> Any:
    """A bit per lane of the warp, as uint64."""
    return _vote("ballot", "warp", predicate)


def activemask() -> Any:
    """A bit per lane of the warp that is here, as uint64: all of them."""
    return ballot(True)


@guarded_by_poison
def match_any_sync(*arguments: Any) -> Any:
    """A bit per lane of the warp with the same value, as uint32."""
    from .math_ops import Select, cast

    value = current().expression(_mask_and_value(arguments, "T.match_any_sync"))
    if isinstance(value, (bool, int, float)):
        return cast(_ALL_LANES, "uint32")
    mask = cast(0, "uint32")
    for lane in range(_WARP):
        same = shfl_sync(value, lane) == value
        mask = mask | Select(same, cast(1 << lane, "uint32"), cast(0, "uint32"))
    return mask


@guarded_by_poison
def match_all_sync(*arguments: Any) -> Any:
    """All bits, as uint32, if all lanes of the warp have the same value, else 0."""
    from .math_ops import Select, cast

    value = current().expression(_mask_and_value(arguments, "T.match_all_sync"))
    if isinstance(value, (bool, int, float)):
        return cast(_ALL_LANES, "uint32")
    same = all_sync(shfl_sync(value, 0) == value)
    return Select(same, cast(_ALL_LANES, "uint32"), cast(0, "uint32"))


@guarded_by_poison
def syncthreads_count(predicate: Any) -> Any:
    """A barrier of the block that tells in how many threads `predicate` holds."""
    return _vote("count", "block", predicate)


@guarded_by_poison
def syncthreads_and(predicate: Any) -> Any:
    """A barrier of the block that tells whether `predicate` holds in all threads."""
    return _vote("all", "block", predicate)


@guarded_by_poison
def syncthreads_or(predicate: Any) -> Any:
    """A barrier of the block that tells whether `predicate` holds in any thread."""
    return _vote("any", "block", predicate)
