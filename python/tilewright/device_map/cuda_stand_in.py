# SPDX-License-Identifier: Apache-2.0
"""What stands for `torch.cuda` where the CPU is the device.

Kernels and torch operations on the CPU are done when their call returns, so streams have nothing to
do, and an event is the time of day. Of kernels on the Ascend host the time of day says nothing:
between events with such launches, the time is what the model of the chip says of these.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from ..errors import TilewrightError
from ..profiling.ascend_time import is_estimated, recorded_times
from .graphs import CUDAGraph, graph, is_capturing, make_graphed_callables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..kernel import JITKernel


class Stream:
    """A stream: everything that was put in is done."""

    cuda_stream = 0
    npu_stream = 0
    stream_id = 0

    def __init__(self, device: object = None, priority: int = 0, **more: object) -> None:
        self.device = torch.device("cuda", 0)
        self.priority = priority

    def synchronize(self) -> None:
        return None

    def query(self) -> bool:
        return True

    def wait_stream(self, stream: Stream) -> None:
        return None

    def wait_event(self, event: Event) -> None:
        return None

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        return None


class _Launches:
    """The launches on the Ascend host, counted from the first event on that times something."""

    is_counting = False
    count = 0
    modelled_us = 0.0


def counted_call(kernel: JITKernel, call: Callable[[], Any]) -> Any:
    """What `call`, which calls the kernel, gives; its launches count for events."""
    if not _Launches.is_counting or kernel.target != "ascend" or is_estimated():
        return call()
    with recorded_times() as launches:
        result = call()
    _Launches.count += len(launches)
    _Launches.modelled_us += sum(launch.task for launch in launches)
    return result


class Event:
    """A point in time."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self._is_timed = enable_timing
        self._time_ns: int | None = None
        self._launched, self._modelled_us = 0, 0.0
        if enable_timing:
            _Launches.is_counting = True

    def record(self, stream: Stream | None = None) -> None:
        self._launched, self._modelled_us = _Launches.count, _Launches.modelled_us
        self._time_ns = time.perf_counter_ns()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to the other; where kernels were launched on the Ascend host
        meanwhile, those that the model says of them."""
        if not (self._is_timed and end_event._is_timed):
            raise RuntimeError("both events must be created with enable_timing=True")
        if self._time_ns is None or end_event._time_ns is None:
            raise RuntimeError("both events must be recorded before their time is asked for")
        if end_event._launched != self._launched:
            return (end_event._modelled_us - self._modelled_us) / 1e3
        return (end_event._time_ns - self._time_ns) / 1e6

    def wait(self, stream: Stream | None = None) -> None:
        return None

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        return None


_stream = Stream()


def current_stream(device: object = None) -> Stream:
    return _stream


def default_stream(device: object = None) -> Stream:
    return _stream


def _giving(result: int | None) -> Callable[..., int | None]:
    """A function of any arguments. Each name has one of its own: torch.compile tells functions
    apart by what they are."""

    def give(*args: object, **keywords: object) -> int | None:
        return result

    return give


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _free_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def get_device_properties(device: object = None) -> SimpleNamespace:
    """The CPU in the terms of a GPU. It says compute capability 8.0, so that scripts which choose
    their kernels by it take the ones without Hopper's instructions."""
    return SimpleNamespace(
        name=get_device_name(),
        major=8,
        minor=0,
        total_memory=_memory_bytes(),
        multi_processor_count=len(os.sched_getaffinity(0)),
        warp_size=32,
        max_threads_per_multi_processor=2048,
        shared_memory_per_block=232448,
        shared_memory_per_block_optin=232448,
        shared_memory_per_multiprocessor=233472,
        regs_per_multiprocessor=65536,
        L2_cache_size=32 << 20,
        gcnArchName="",
        is_integrated=True,
    )


def get_device_name(device: object = None) -> str:
    return "CPU (mapped by tilewright)"


def get_device_capability(device: object = None) -> tuple[int, int]:
    return (8, 0)


class _Scope:
    """`torch.cuda.device(0)` and `torch.cuda.stream(s)` as context managers."""

    def __init__(self, *args: object, **keywords: object) -> None:
        self.idx = 0

    def __enter__(self) -> _Scope:
        return self

    def __exit__(self, *exc: object) -> None:
        return None


class MissingOnCpuError(TilewrightError, NotImplementedError):
    """Something of torch's GPU interface that the device map does not offer."""


@contextmanager
def _named_range(*args: object, **keywords: object) -> Iterator[None]:
    yield


def _seed_all(seed: int) -> None:
    torch.default_generator.manual_seed(seed)  # torch.manual_seed calls this function


def _tensor_type(name: str) -> Any:
    """`torch.cuda.FloatTensor` and so on: makes tensors, and knows those that are one."""
    real = getattr(torch, name)

    class Kind(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype == real.dtype

    def make(cls: Any, *args: Any) -> Any:
        return real(*args).to("cuda")

    return Kind(name, (), {"__new__": make, "dtype": real.dtype, "is_cuda": True})


_TENSOR_TYPES = [
    f"{kind}Tensor"
    for kind in (
        *("Float", "Double", "Half", "BFloat16"),
        *("Byte", "Char", "Short", "Int", "Long", "Bool"),
    )
]

#: The attributes of `torch.cuda` that are replaced.
REPLACEMENTS: dict[str, Any] = {
    "Stream": Stream,
    "Event": Event,
    "CUDAGraph": CUDAGraph,
    "device": _Scope,
    "device_of": _Scope,
    "stream": _Scope,
    "graph": graph,
    "make_graphed_callables": make_graphed_callables,
    "graph_pool_handle": lambda: (0, 0),
    "default_generators": (torch.default_generator,),
    **{name: _tensor_type(name) for name in _TENSOR_TYPES},
    "nvtx": SimpleNamespace(
        range=_named_range,
        mark=_giving(None),
        range_push=_giving(0),
        range_pop=_giving(0),
        range_start=_giving(0),
        range_end=_giving(None),
    ),
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "is_current_stream_capturing": is_capturing,
    "is_bf16_supported": lambda *args, **keywords: True,
    "device_count": lambda: 1,
    "current_device": _giving(0),
    "current_stream": current_stream,
    "default_stream": default_stream,
    "get_device_properties": get_device_properties,
    "get_device_name": get_device_name,
    "get_device_capability": get_device_capability,
    "get_arch_list": lambda: ["sm_80"],
    "manual_seed": _seed_all,
    "manual_seed_all": lambda seed: _seed_all(seed),
    "seed": lambda: torch.seed(),
    "seed_all": lambda: torch.seed(),
    "initial_seed": lambda: torch.initial_seed(),
    "get_rng_state": lambda *args: torch.get_rng_state(),
    "set_rng_state": lambda state, *args: torch.set_rng_state(state),
    "mem_get_info": lambda *args: (_free_bytes(), _memory_bytes()),
    "memory_allocated": _giving(0),
    "max_memory_allocated": _giving(0),
    "memory_reserved": _giving(0),
    "max_memory_reserved": _giving(0),
    **{
        name: _giving(None)
        for name in (
            "init",
            "synchronize",
            "set_device",
            "set_stream",
            "empty_cache",
            "ipc_collect",
            "reset_peak_memory_stats",
            "reset_max_memory_allocated",
            "_lazy_init",
            "_sleep",
        )
    },
}
