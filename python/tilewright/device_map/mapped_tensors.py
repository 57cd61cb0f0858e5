# SPDX-License-Identifier: Apache-2.0
"""Which tensors are on a mapped device, and what torch's functions do to them.

A mapped tensor is a CPU tensor with a mark, the device's type: "cuda" or "npu". Results of an
operation with a mapped argument are mapped as it is; `.cpu()` gives a copy without the mark,
`.cuda()` and `.npu()` a copy with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device as default_device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MARK = "_tilewright_mapped"
_PINNED = "_tilewright_pinned"
_CPU = torch.device("cpu")
_DEVICES = ("cuda", "npu")


def mapped_type(value: object) -> str:
    """The type of the mapped device that a tensor is on; empty for other values."""
    return getattr(value, _MARK, "") if isinstance(value, torch.Tensor) else ""


def is_mapped(value: object) -> bool:
    return mapped_type(value) != ""


def mark(value: Any, device: str = "cuda") -> Any:
    """Marks the tensors in a result; an empty type takes the mark away."""
    if isinstance(value, torch.Tensor):
        if device or hasattr(value, _MARK):
            setattr(value, _MARK, device)
    elif isinstance(value, (tuple, list)):
        for item in value:
            mark(item, device)
    elif isinstance(value, dict):
        for item in value.values():
            mark(item, device)
    return value


def named_type(value: object) -> str:
    """The type of the mapped device that `value` names: "cuda", "cuda:0", torch.device("npu");
    empty if it names none."""
    if isinstance(value, torch.device):
        name = str(value.type)
    else:
        name = value.partition(":")[0] if isinstance(value, str) else ""
    return name if name in _DEVICES else ""


def names_device(value: object) -> bool:
    """Whether `value` names a device that is mapped."""
    return named_type(value) != ""


def any_mapped(values: Iterable[Any]) -> str:
    """The device of the first mapped tensor among values and lists of them; empty if none is."""
    for value in values:
        if isinstance(value, torch.Tensor):
            found = getattr(value, _MARK, "")
        elif isinstance(value, (tuple, list)):
            found = any_mapped(value)
        else:
            found = ""
        if found:
            return found
    return ""


def _moved(tensor: Any, device: str) -> Any:
    return tensor if mapped_type(tensor) == device else mark(tensor.clone(), device)


def _cuda(tensor: Any, device: object = None, non_blocking: bool = False, **more: Any) -> Any:
    return _moved(tensor, "cuda")


def to_npu(tensor: Any, device: object = None, non_blocking: bool = False, **more: Any) -> Any:
    """`Tensor.npu`, which torch_npu adds."""
    return _moved(tensor, "npu")


def _cpu(tensor: Any, *args: Any, **more: Any) -> Any:
    return mark(tensor.clone(), "") if is_mapped(tensor) else tensor


def _to(tensor: Any, *args: Any, **keywords: Any) -> Any:
    """`Tensor.to`, whose device may be an argument, a keyword, or that of another tensor."""
    devices = [a for a in args[:1] if isinstance(a, (str, torch.device, int, torch.Tensor))]
    devices += [keywords[k] for k in ("device", "other") if keywords.get(k) is not None]
    was = mapped_type(tensor)
    target = was
    for device in devices:
        is_integer = isinstance(device, int) and not isinstance(device, bool)
        target = mapped_type(device) or named_type(device) or ("cuda" if is_integer else "")
    args = tuple(_on_cpu(a) if k == 0 else a for k, a in enumerate(args))
    keywords = {k: _on_cpu(v) if k == "device" else v for k, v in keywords.items()}
    moved = tensor.to(*args, **keywords)
    if moved is tensor and target != was:
        moved = tensor.clone()
    return mark(moved, target) if target != mapped_type(moved) else moved


def _on_cpu(value: Any) -> Any:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return _CPU if names_device(value) or is_integer else value


def _device(tensor: Any) -> torch.device:
    device = mapped_type(tensor)
    return torch.device(device, 0) if device else _REAL_DEVICE(tensor)


def _get_device(tensor: Any) -> int:
    return 0 if is_mapped(tensor) else -1


def _set_data(tensor: Any, data: Any) -> None:
    torch.Tensor.data.__set__(tensor, data)
    mark(tensor, mapped_type(data))


def _is_cuda(tensor: Any) -> bool:
    return mapped_type(tensor) == "cuda"


def _pin_memory(tensor: Any, *args: Any) -> Any:
    return tensor if _is_pinned(tensor) else _pinned(tensor.clone())


def _pinned(tensor: Any) -> Any:
    setattr(tensor, _PINNED, True)
    return tensor


def _is_pinned(tensor: Any, *args: Any) -> bool:
    return getattr(tensor, _PINNED, False)


_REAL_DEVICE: Callable[[Any], torch.device] = torch.Tensor.device.__get__

#: Functions of torch with a meaning of their own on mapped tensors.
HANDLERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.cuda: _cuda,
    torch.Tensor.cpu: _cpu,
    torch.Tensor.to: _to,
    torch.Tensor.get_device: _get_device,
    torch.Tensor.pin_memory: _pin_memory,
    torch.Tensor.is_pinned: _is_pinned,
    torch.Tensor.is_cuda.__get__: _is_cuda,
    torch.Tensor.device.__get__: _device,
    torch.Tensor.data.__set__: _set_data,
}


def default_type() -> str:
    """What `with torch.device("cuda")` or `torch.set_default_device("cuda")` chose; empty if a
    device that isn't mapped is in force."""
    return named_type(default_device.CURRENT_DEVICE)


class MappedDevice(TorchFunctionMode):  # type: ignore[misc]
    """Sees every call of a torch function while the map is installed."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        handler = HANDLERS.get(func)
        if handler is not None:
            return handler(*args, **keywords)
        mapped = any_mapped(args)
        device = keywords.get("device")
        if device is not None:
            mapped = named_type(device)
            keywords = {**keywords, "device": _CPU if mapped else device}
        elif default_type() and func in default_device._device_constructors():
            mapped, keywords = default_type(), {**keywords, "device": _CPU}
        elif not mapped and keywords:
            mapped = any_mapped(keywords.values())
        if keywords.get("pin_memory"):
            result = _pinned(func(*args, **{**keywords, "pin_memory": False}))
        else:
            result = func(*args, **keywords)
        return mark(result, mapped) if mapped else result
