# SPDX-License-Identifier: Apache-2.0
"""Installs the device map in torch, and takes it out again."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..kernel import JITKernel
from .cuda_stand_in import REPLACEMENTS, counted_call
from .graphs import recorded_launch
from .mapped_tensors import (
    MappedDevice,
    any_mapped,
    mapped_type,
    mark,
    named_type,
    names_device,
    to_npu,
)
from .npu_stand_in import Operators, name_device, stand_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_missing = object()
_undo: list[tuple[Any, str, Any]] = []
_modes = threading.local()


def is_installed() -> bool:
    return bool(_undo)


def _replace(owner: Any, name: str, value: Any) -> None:
    own = vars(owner).get(name, _missing)
    _undo.append((owner, name, own))
    setattr(owner, name, value)


def install() -> None:
    if _undo:
        return
    for name, value in REPLACEMENTS.items():
        _replace(torch.cuda, name, value)
    name_device()
    _replace(torch, "npu", stand_in())
    _replace(torch.ops, "npu", Operators())
    _replace(torch.Tensor, "npu", to_npu)
    _replace(torch.Tensor, "is_npu", property(lambda tensor: mapped_type(tensor) == "npu"))
    _replace(torch.nn.Module, "npu", _module_to_npu)
    _replace(torch, "Generator", _generator_type(torch.Generator))
    _replace(torch, "load", _mapped_load(torch.load))
    _replace(torch, "compile", _uncompiled)
    _replace(torch.autocast, "__init__", _autocast_on_cpu(torch.autocast.__init__))
    # These two don't pass through torch's modes.
    _replace(torch.Tensor, "record_stream", lambda tensor, stream: None)
    _replace(torch.Tensor, "_make_subclass", _marked_subclass(torch.Tensor._make_subclass))
    _replace(JITKernel, "__call__", _marked_call(JITKernel.__call__))
    _replace(threading.Thread, "run", _run_with_map(threading.Thread.run))
    _enter()


def remove() -> None:
    _leave()
    while _undo:
        owner, name, value = _undo.pop()
        if value is _missing:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


def _enter() -> None:
    mode = MappedDevice()
    mode.__enter__()
    _modes.mode = mode


def _leave() -> None:
    mode = getattr(_modes, "mode", None)
    if mode is not None:
        mode.__exit__(None, None, None)
        _modes.mode = None


def _run_with_map(run: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    """Torch's modes belong to a thread: a new thread gets its own."""

    def run_mapped(self: threading.Thread) -> None:
        _enter()
        try:
            run(self)
        finally:
            _leave()

    return run_mapped


def _refuse_host_tensors(kernel: JITKernel, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """An NPU reads no memory of the CPU, as TileLang-Ascend checks."""
    made = getattr(kernel, "made_idx", kernel.out_idx)
    names = [param["name"] for n, param in enumerate(kernel.params) if n not in made]
    scalars = {param["name"] for param in kernel.params if param["kind"] == "scalar"}
    for name, value in [*zip(names, args, strict=False), *named.items()]:
        if not isinstance(value, torch.Tensor) or mapped_type(value):
            continue
        is_number = name in scalars and value.ndim == 0  # of which the host gives the value
        if not is_number:
            raise ValueError(
                f"{kernel.name}: tensor '{name}' is on the CPU, but other tensors of the call are "
                "on the NPU; move it with .npu()"
            )


def _behind_map(frames: TracebackType | None) -> TracebackType | None:
    """What is left of a traceback without the frames of the map that it begins with."""
    folder = Path(__file__).parent
    while frames and Path(frames.tb_frame.f_code.co_filename).parent == folder:
        frames = frames.tb_next
    return frames


def _marked_call(call: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel's outputs are on the device of its inputs; without any tensor, on the one that is
    mapped. `call` may be one that measures."""

    def marked(self: JITKernel, *args: Any, **keywords: Any) -> Any:
        given = (*args, *keywords.values())
        device = any_mapped(given)
        if device == "npu":
            _refuse_host_tensors(self, args, keywords)
        try:
            result = recorded_launch(
                lambda: counted_call(self, lambda: call(self, *args, **keywords)), given
            )
        except Exception as error:
            raise error.with_traceback(_behind_map(error.__traceback__)) from error.__cause__
        if not any(isinstance(value, torch.Tensor) for value in given):
            device = "npu" if self.target == "ascend" else "cuda"
        return mark(result, device) if result is not None and device else result

    return marked


def _module_to_npu(module: Any, device: object = None) -> Any:
    return module.to("npu")


def _generator_type(real: Any) -> Any:
    class Kind(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real)

    class Generator(metaclass=Kind):
        """`torch.Generator` whose device "cuda" is the CPU."""

        def __new__(cls, device: Any = "cpu") -> Any:
            return OfTheDevice() if names_device(device) else real(device)

    class OfTheDevice(real):  # type: ignore[misc]
        """Random numbers of the CPU, for tensors that are on the mapped device."""

        @property
        def device(self) -> torch.device:
            return torch.device("cuda:0")

    return Generator


def _mapped_load(load: Callable[..., Any]) -> Callable[..., Any]:
    def mapped_load(file: Any, map_location: Any = None, *args: Any, **keywords: Any) -> Any:
        """`torch.load` of a file that was saved on a GPU, or for one."""
        mapped = map_location is None or names_device(map_location)
        loaded = load(file, "cpu" if mapped else map_location, *args, **keywords)
        device = named_type(map_location)
        return mark(loaded, device) if device else loaded

    return mapped_load


def _uncompiled(model: Any = None, **choices: Any) -> Any:
    """`torch.compile`: the function as it is. Dynamo doesn't see a mode's handling of tensors as
    part of the function."""
    return model if model is not None else lambda function: function


def _autocast_on_cpu(real: Callable[..., None]) -> Any:
    """`torch.autocast("cuda")`: the CPU's, to the dtype that the GPU's has."""

    def init(self: Any, device_type: str, dtype: Any = None, *args: Any, **keywords: Any) -> None:
        if names_device(device_type):
            dtype = torch.get_autocast_dtype("cuda") if dtype is None else dtype
            device_type = "cpu"
        real(self, device_type, dtype, *args, **keywords)

    return init


def _marked_subclass(real: Callable[..., Any]) -> Any:
    """`torch.nn.Parameter(x)` is on the device of x. The parameters' names are those that
    torch._dynamo expects of the function, which it compares when it is imported."""

    def make(cls: Any, data: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        made = real(cls, data, requires_grad, **kwargs)
        device = mapped_type(data)
        return mark(made, device) if device else made

    return staticmethod(make)
