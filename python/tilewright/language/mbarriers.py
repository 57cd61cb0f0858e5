# SPDX-License-Identifier: Apache-2.0
"""Memory barriers (mbarrier) and the copies and products of a GPU that they are waited for by.

On the CPU a copy and a product are complete when they return. The sides of branches on the
thread's number take turns where they wait for each other (compiler/passes/take_turns.cpp); a wait
that no side can end ends the kernel with its place. A barrier is the number of arrivals so far;
each `count` of them complete a phase.
"""

from __future__ import annotations

from ..capture.tracer import current, describe, guarded_by_poison
from ..options import traced_for
from .gpu_only import GPU_ONLY, NOT_ON_NPUS
from .memory import alloc_shared
from .tile_ops import GemmWarpPolicy, copy, fill, gemm
from .values import BufferRef, Element, LanguageError, Traced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_NEVER = "a wait for a memory barrier would never end: nobody is left who would arrive there"


def _off_npus(function: Callable[..., Any]) -> Callable[..., Any]:
    """On an NPU these are refused as all that only a GPU has."""
    from functools import wraps

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        if traced_for.get() == "ascend":
            return NOT_ON_NPUS[function.__name__](*given, **named)
        return guarded_by_poison(function)(*given, **named)

    return called


#: What the counter of a memory barrier of a GPU holds, in 20 bits.
MOST_ARRIVALS = (1 << 20) - 1


@_off_npus
def alloc_barrier(arrive_count: Any) -> Any:
    """A memory barrier, or one for each number of a list: so many arrivals complete a phase."""
    given = arrive_count if isinstance(arrive_count, (list, tuple)) else [arrive_count]
    tracer = current()
    counts = tracer.integers(given, "the count of T.alloc_barrier")
    if not counts or min(counts) < 1:
        raise LanguageError(
            f"arrive_count of T.alloc_barrier must be at least 1, not {arrive_count!r}"
        )
    if max(counts) > MOST_ARRIVALS:
        raise LanguageError(
            f"arrive_count of T.alloc_barrier must be at most {MOST_ARRIVALS}, not {arrive_count!r}"
        )
    made = alloc_shared((len(counts),), "int32")
    if isinstance(made, BufferRef):
        tracer.barriers[made.handle] = counts
        fill(made, 0)
    return made


def _place(barrier: Any, name: str) -> tuple[Element, Any]:
    """The number of arrivals at a barrier, and the count that completes a phase."""
    if isinstance(barrier, Traced) and barrier.origin is not None:
        barrier = barrier.origin
    element = barrier
    if isinstance(barrier, BufferRef):
        element = barrier[0]
    tracer = current()
    counts = tracer.barriers.get(element.buffer.handle) if isinstance(element, Element) else None
    if counts is None:
        raise LanguageError(f"{name} needs a barrier of T.alloc_barrier, not {describe(barrier)}")
    if len(set(counts)) == 1:
        return element, counts[0]
    [index] = element.indices
    known = tracer.integers_if_known([index])
    if known is not None:
        return element, counts[known[0]]
    count: Any = counts[0]
    for number, each in enumerate(counts[1:], 1):
        count = tracer.select(index == number, each, count)
    return element, count


def _arrive(barrier: Any, name: str) -> None:
    """Each thread that comes here arrives."""
    place, _ = _place(barrier, name)
    tracer = current()
    tracer.builder.atomic("add", tracer.operand(place, "a barrier"), tracer.value(1), {})


@_off_npus
def mbarrier_arrive(mbarrier: Any, cta_id: Any = None) -> None:
    """The thread arrives at the barrier."""
    if cta_id is not None:
        GPU_ONLY["ptx_arrive_cluster_barrier"](mbarrier, cta_id)
    _arrive(mbarrier, "T.mbarrier_arrive")


@_off_npus
def barrier_arrive(mbarrier: Any) -> None:
    """The thread arrives at the barrier."""
    _arrive(mbarrier, "T.barrier_arrive")


@_off_npus
def mbarrier_arrive_expect_tx(mbarrier: Any, tx: Any) -> None:
    """The thread arrives; the bytes of a copy are there when it returns."""
    _arrive(mbarrier, "T.mbarrier_arrive_expect_tx")


@_off_npus
def cp_async_barrier_noinc(barrier: Any) -> None:
    """The thread arrives when its copies are complete, which they are."""
    _arrive(barrier, "T.cp_async_barrier_noinc")


def _wait(barrier: Any, parity: Any, name: str) -> None:
    place, count = _place(barrier, name)
    tracer = current()
    tracer.builder.wait_until(tracer.value(place // count % 2 != parity), _NEVER)


@_off_npus
def mbarrier_wait_parity(mbarrier: Any, parity: Any) -> None:
    """The phase of this parity is complete here; where it isn't, the kernel ends."""
    _wait(mbarrier, parity, "T.mbarrier_wait_parity")


@_off_npus
def barrier_wait(mbarrier: Any, parity: Any = 0) -> None:
    """The same as `T.mbarrier_wait_parity`."""
    _wait(mbarrier, parity, "T.barrier_wait")


@_off_npus
def mbarrier_expect_tx(mbarrier: Any, tx: Any) -> None:
    """Bytes that a copy will bring: it has brought them when it returns."""
    _place(mbarrier, "T.mbarrier_expect_tx")


@_off_npus
def tma_copy(
    src: Any,
    dst: Any,
    *,
    barrier: Any = None,
    cluster_mask: Any = None,
    leader_scope_threads: int | None = None,
    eviction_policy: str | None = None,
    annotations: dict[str, Any] | None = None,
) -> None:
    """`T.copy`: the barrier is told of nothing, as the copy is complete when it returns."""
    if cluster_mask is not None:
        GPU_ONLY["copy_cluster"]()
    if barrier is not None:
        _place(barrier, "barrier of T.tma_copy")
    copy(src, dst)


@_off_npus
def wgmma_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy | int = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """`T.gemm`, which is complete when it returns."""
    gemm(A, B, C, transpose_A, transpose_B, policy, clear_accum)


def _nothing_to_do(name: str, what: str) -> Callable[..., None]:
    def done(*given: Any, **named: Any) -> None:
        current()

    done.__name__, done.__doc__ = name, what
    return _off_npus(done)


_COMPLETE = "Copies and products are complete when they return: nothing to wait for."
tma_store_arrive = _nothing_to_do("tma_store_arrive", _COMPLETE)
tma_store_wait = _nothing_to_do("tma_store_wait", _COMPLETE)
fence_proxy_async = _nothing_to_do("fence_proxy_async", _COMPLETE)
ptx_fence_barrier_init = _nothing_to_do("ptx_fence_barrier_init", _COMPLETE)
wait_wgmma = _nothing_to_do("wait_wgmma", _COMPLETE)
warpgroup_arrive = _nothing_to_do("warpgroup_arrive", _COMPLETE)
warpgroup_commit_batch = _nothing_to_do("warpgroup_commit_batch", _COMPLETE)
warpgroup_wait = _nothing_to_do("warpgroup_wait", _COMPLETE)
warpgroup_fence_operand = _nothing_to_do("warpgroup_fence_operand", _COMPLETE)
