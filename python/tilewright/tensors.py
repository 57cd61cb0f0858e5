# SPDX-License-Identifier: Apache-2.0
"""`tilelang.utils` and `tilelang.utils.tensor`: dtypes of torch, and comparisons."""

from __future__ import annotations

from .language.dtypes import to_dtype
from .profiler import InputMaker, TensorSupplyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["TensorSupplyType", "get_tensor_supply", "map_torch_type", "torch_assert_close"]


def map_torch_type(dtype: object) -> Any:
    """The torch dtype of a name."""
    return to_dtype(dtype).as_torch()


def get_tensor_supply(
    supply_type: TensorSupplyType = TensorSupplyType.Auto,
) -> Callable[[Any], Any]:
    """A function that makes an input of a kernel's parameter (its shape of numbers, its dtype)."""
    maker = InputMaker(supply_type)
    return lambda param: maker.tensor([int(dim) for dim in param.shape], str(to_dtype(param.dtype)))


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    verbose: bool = False,
    equal_nan: bool = True,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    base_name: str = "LHS",
    ref_name: str = "RHS",
) -> bool:
    """AssertionError if more than `max_mismatched_ratio` of the elements differ by more than
    `atol` + `rtol` times the second tensor's."""
    import torch

    given, wanted = tensor_a.detach().double().cpu(), tensor_b.detach().double().cpu()
    if given.shape != wanted.shape:
        raise AssertionError(f"the shapes differ: {tuple(given.shape)} and {tuple(wanted.shape)}")
    differs = ~torch.isclose(given, wanted, rtol=rtol, atol=atol, equal_nan=equal_nan)
    count = int(differs.sum())
    if count > max_mismatched_ratio * max(given.numel(), 1):
        worst = float((given - wanted).abs()[differs].max())
        raise AssertionError(
            f"{count} of {given.numel()} elements differ, by {worst:.3g} at most; "
            f"allowed are {max_mismatched_ratio:.3%}"
        )
    return True
