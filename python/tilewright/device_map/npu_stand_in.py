# SPDX-License-Identifier: Apache-2.0
"""What stands for `torch.npu` and `torch_npu` where there is no NPU.

Kernels and torch operations are done when their call returns, as for `torch.cuda`. Of torch_npu's
own operators there are those of `npu_operators`.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any


def name_device() -> None:
    """Teaches torch the device name "npu"; the name stays, as torch cannot forget one."""
    import torch

    if torch._C._get_privateuse1_backend_name() != "npu":
        torch.utils.rename_privateuse1_backend("npu")


def _properties(device: object = None) -> SimpleNamespace:
    """A 910B2: 24 AI cores, each a cube and two vector cores."""
    return SimpleNamespace(
        name="Ascend910B2",
        total_memory=64 << 30,
        cube_core_num=24,
        vector_core_num=48,
        L2_cache_size=192 << 20,
    )


def stand_in() -> ModuleType:
    """`torch.npu`: what `torch.cuda`'s stand-in does, under names of torch_npu."""
    from .cuda_stand_in import REPLACEMENTS
    from .graphs import NPUGraph

    module = ModuleType("torch.npu")
    kept = {name: value for name, value in REPLACEMENTS.items() if "CUDA" not in name}
    module.__dict__.update(kept)
    module.__dict__.update(
        NPUGraph=NPUGraph,
        config=SimpleNamespace(allow_internal_format=False),
        get_device_properties=_properties,
        get_device_name=lambda device=None: "Ascend910B2",
        _is_in_bad_fork=lambda: False,  # torch.manual_seed asks
        set_compile_mode=lambda *args, **keywords: None,
        set_option=lambda *args, **keywords: None,
    )
    return module


class _TorchNpu(ModuleType):
    """`torch_npu`."""

    __version__ = "2.0"

    def __getattr__(self, name: str) -> Any:
        import torch

        return torch.npu if name == "npu" else _operator("torch_npu", name)


class Operators:
    """`torch.ops.npu`."""

    def __getattr__(self, name: str) -> Any:
        return _operator("torch.ops.npu", name)

    def __dir__(self) -> list[str]:
        from .npu_operators import OPERATORS

        return [*OPERATORS]


def _operator(owner: str, name: str) -> Any:
    """An operator of torch_npu. AttributeError: it isn't among those that we have."""
    from .npu_operators import OPERATORS

    if name in OPERATORS:
        return OPERATORS[name]
    there = f"; of its operators there are {', '.join(OPERATORS)}" if name[:4] == "npu_" else ""
    raise AttributeError(
        f"{owner} has no {name!r} without an NPU (it is a stand-in of 'tilewright run'){there}"
    )


def offer_torch_npu() -> None:
    """`import torch_npu` gives a stand-in, unless the real one is loaded. In it is
    `contrib.transfer_to_npu`, which has nothing to do: the device "cuda" is mapped already."""
    if "torch_npu" in sys.modules:
        return
    module, contrib = _TorchNpu("torch_npu"), ModuleType("torch_npu.contrib")
    transfer = ModuleType("torch_npu.contrib.transfer_to_npu")
    module.__path__, contrib.__path__ = [], []
    module.contrib, contrib.transfer_to_npu = contrib, transfer  # type: ignore[attr-defined]
    for made in (module, contrib, transfer):
        sys.modules[made.__name__] = made
