# SPDX-License-Identifier: Apache-2.0
"""The launch of a kernel, and what a block or thread knows of its place in it."""

from __future__ import annotations

from ..capture.tracer import current
from .extern import import_source
from .frames import KernelLaunch, WarpGroups
from .values import LanguageError, Traced, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..capture.tracer import Tracer


def Kernel(
    *blocks: Any,
    threads: Any = None,
    prelude: str | None = None,
    is_npu: bool = False,
    is_cpu: bool = False,
    pipeline: bool = False,
    cpu_num_threads: int | None = None,
) -> KernelLaunch:
    """Opens a launch: up to 3 grid extents (x, y, z; one block if there is none), and the threads
    of a block (default 128). Several of a kernel run one after the other.

    With `is_npu` a block is an AI core: a cube core and two vector cores. It gives the number of
    the block and, without `threads`, that of the vector core. With `threads=2` the compiler shares
    the work of the vector cores out; `threads=1` is a block with one vector core.

    `prelude` is source text that stands before the kernel, as that of `T.import_source`.
    `cpu_num_threads` means nothing here: `tilelang.set_num_threads` says how many cores the blocks
    of all kernels run on.
    """
    tracer = current()
    tracer.is_npu |= is_npu
    if len(blocks) > 3:
        raise LanguageError(f"T.Kernel takes 1 to 3 grid extents but got {len(blocks)}")
    blocks = blocks or (1,)
    if pipeline:
        raise unsupported(
            "pipeline of T.Kernel is not supported yet; write the kernel's loop as T.Pipelined"
        )
    is_count = type(cpu_num_threads) is int and cpu_num_threads > 0
    if cpu_num_threads is not None and not is_count:
        raise LanguageError(
            f"cpu_num_threads of T.Kernel must be a positive integer, not {cpu_num_threads!r}"
        )
    import_source(prelude)
    if is_npu and threads is None:
        return KernelLaunch(blocks, [], {"npu": True})
    shape = [1 if is_cpu else 128] if threads is None else threads
    shape = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    if not 1 <= len(shape) <= 3:
        raise LanguageError(f"threads of T.Kernel takes 1 to 3 extents but got {len(shape)}")
    for extent in shape:
        if isinstance(extent, int) and extent <= 0:
            raise LanguageError(f"threads of T.Kernel must be positive, not {extent}")
    return KernelLaunch(blocks, shape, {"npu": True} if is_npu else {})


def ws(*warp_group_idx: Any) -> WarpGroups:
    """`with T.ws(0):` holds what only the threads of these groups of 128 do.

    It is a condition on the thread's number: operations on tiles, which all threads of a block do
    together, can't stand there.
    """
    current()
    return WarpGroups(warp_group_idx)


WarpSpecialize = ws


class ThreadIndex(Traced):
    """The index of the running thread along x, y or z (`dim` 0, 1, 2)."""

    __slots__ = ("dim",)

    def __init__(self, tracer: Tracer, dim: int) -> None:
        super().__init__(tracer.builder.thread_binding(dim), tracer)
        self.dim = dim


def get_thread_binding(dim: int = 0) -> Any:
    """The index of the running thread in its block, along x, y or z."""
    return ThreadIndex(current(), dim)


def get_block_binding(dim: int = 0) -> Any:
    """The index of the running block, along x, y or z."""
    tracer = current()
    return tracer.wrap(tracer.builder.block_binding(dim))


def get_thread_bindings() -> list[Traced]:
    """The indices of the running thread along x, y and z."""
    return [get_thread_binding(d) for d in range(3)]


def get_block_bindings() -> list[Traced]:
    """The indices of the running block along x, y and z."""
    return [get_block_binding(d) for d in range(3)]


class KernelLaunchFrame:
    """What a kernel may ask of the launch that it is in."""

    def __init__(self, launch: KernelLaunch) -> None:
        #: The grid's extents and the block's, x first.
        self.blocks = tuple(launch.grid)
        self.threads = tuple(launch.threads)

    @staticmethod
    def Current() -> KernelLaunchFrame | None:
        """The open launch, or None outside of `T.Kernel`."""
        launch = current().launch
        return None if launch is None else KernelLaunchFrame(launch)


#: The advice beside what stands in no launch.
WORK_IN_LAUNCH = "a kernel's work stands in a launch, `with T.Kernel(blocks, threads=128) as bx:`"


def _launch(what: str) -> KernelLaunch:
    launch = current().launch
    if launch is None:
        text = f"{what} stands outside of T.Kernel; {WORK_IN_LAUNCH}"
        raise LanguageError(text, python=RuntimeError)
    return launch


def refuse_outside(what: str) -> None:
    """An error where no launch is open; `what` stands in one."""
    _launch(what)


def _extent(extents: Any, dim: int, what: str) -> Any:
    if dim not in (0, 1, 2):
        raise LanguageError(f"{what}: the dim is {dim}, but it must be 0, 1 or 2")
    return extents[dim] if dim < len(extents) else 1


def get_thread_extent(dim: int = 0) -> Any:
    """The number of threads of a block along x, y or z."""
    return _extent(_launch("T.get_thread_extent").threads, dim, "T.get_thread_extent")


def get_thread_extents() -> list[Any]:
    """The number of threads of a block along x, y and z."""
    return [get_thread_extent(d) for d in range(3)]


def get_block_extent(dim: int = 0) -> Any:
    """The number of blocks of the grid along x, y or z."""
    return _extent(_launch("T.get_block_extent").grid, dim, "T.get_block_extent")


def get_block_extents() -> list[Any]:
    """The number of blocks of the grid along x, y and z."""
    return [get_block_extent(d) for d in range(3)]
