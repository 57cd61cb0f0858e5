# SPDX-License-Identifier: Apache-2.0
"""Which tensors are on the mapped device, and what torch's functions do to them.

A mapped tensor is a CPU tensor with a mark. Results of an operation with a mapped argument are
mapped; `.cpu()` gives a copy without the mark, `.cuda()` a copy with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device as default_device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MARK = "_tilewright_mapped"
_CPU = torch.device("cpu")
_MAPPED = torch.device("cuda", 0)


def is_mapped(value: object) -> bool:
    return isinstance(value, torch.Tensor) and getattr(value, _MARK, False)


def mark(value: Any, mapped: bool = True) -> Any:
    """Marks the tensors in a result."""
    if isinstance(value, torch.Tensor):
        if mapped or hasattr(value, _MARK):
            setattr(value, _MARK, mapped)
    elif isinstance(value, (tuple, list)):
        for item in value:
            mark(item, mapped)
    elif isinstance(value, dict):
        for item in value.values():
            mark(item, mapped)
    return value


def names_device(value: object) -> bool:
    """Whether `value` names the device that is mapped: "cuda", "cuda:0", torch.device("cuda")."""
    if isinstance(value, torch.device):
        return bool(value.type == "cuda")
    return isinstance(value, str) and value.partition(":")[0] == "cuda"


def _any_mapped(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, torch.Tensor):
            if getattr(value, _MARK, False):
                return True
        elif isinstance(value, (tuple, list)) and _any_mapped(value):
            return True
    return False


def _cuda(tensor: Any, device: object = None, non_blocking: bool = False, **more: Any) -> Any:
    return tensor if is_mapped(tensor) else mark(tensor.clone())


def _cpu(tensor: Any, *args: Any, **more: Any) -> Any:
    return mark(tensor.clone(), False) if is_mapped(tensor) else tensor


def _to(tensor: Any, *args: Any, **keywords: Any) -> Any:
    """`Tensor.to`, whose device may be an argument, a keyword, or that of another tensor."""
    devices = [a for a in args[:1] if isinstance(a, (str, torch.device, int, torch.Tensor))]
    devices += [keywords[k] for k in ("device", "other") if keywords.get(k) is not None]
    was = is_mapped(tensor)
    target = was
    for device in devices:
        is_integer = isinstance(device, int) and not isinstance(device, bool)
        target = is_mapped(device) or names_device(device) or is_integer
    args = tuple(_on_cpu(a) if k == 0 else a for k, a in enumerate(args))
    keywords = {k: _on_cpu(v) if k == "device" else v for k, v in keywords.items()}
    moved = tensor.to(*args, **keywords)
    if moved is tensor and target != was:
        moved = tensor.clone()
    return mark(moved, target) if target != is_mapped(moved) else moved


def _on_cpu(value: Any) -> Any:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return _CPU if names_device(value) or is_integer else value


def _device(tensor: Any) -> torch.device:
    return _MAPPED if is_mapped(tensor) else _REAL_DEVICE(tensor)


def _get_device(tensor: Any) -> int:
    return 0 if is_mapped(tensor) else -1


def _set_data(tensor: Any, data: Any) -> None:
    torch.Tensor.data.__set__(tensor, data)
    mark(tensor, is_mapped(data))


def _is_pinned(tensor: Any, *args: Any) -> bool:
    return False


_REAL_DEVICE: Callable[[Any], torch.device] = torch.Tensor.device.__get__

#: Functions of torch with a meaning of their own on mapped tensors.
HANDLERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.cuda: _cuda,
    torch.Tensor.cpu: _cpu,
    torch.Tensor.to: _to,
    torch.Tensor.get_device: _get_device,
    torch.Tensor.pin_memory: lambda tensor, *args: tensor,
    torch.Tensor.is_pinned: _is_pinned,
    torch.Tensor.is_cuda.__get__: is_mapped,
    torch.Tensor.device.__get__: _device,
    torch.Tensor.data.__set__: _set_data,
}


def default_is_mapped() -> bool:
    """Whether `with torch.device("cuda")` or `torch.set_default_device("cuda")` is in force."""
    return names_device(default_device.CURRENT_DEVICE)


class MappedDevice(TorchFunctionMode):  # type: ignore[misc]
    """Sees every call of a torch function while the map is installed."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        handler = HANDLERS.get(func)
        if handler is not None:
            return handler(*args, **keywords)
        mapped = _any_mapped(args)
        device = keywords.get("device")
        if device is not None:
            mapped = names_device(device)
            keywords = {**keywords, "device": _CPU if mapped else device}
        elif default_is_mapped() and func in default_device._device_constructors():
            mapped, keywords = True, {**keywords, "device": _CPU}
        elif not mapped and keywords:
            mapped = _any_mapped(keywords.values())
        if keywords.get("pin_memory"):
            keywords = {**keywords, "pin_memory": False}
        result = func(*args, **keywords)
        return mark(result) if mapped else result
