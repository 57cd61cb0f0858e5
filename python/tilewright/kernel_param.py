# SPDX-License-Identifier: Apache-2.0
"""`tilelang.engine.param`: what a kernel's parameters are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .language.dtypes import to_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .language.dtypes import Dtype

__all__ = ["KernelParam"]


class KernelParam(dict[str, Any]):
    """One of `JITKernel.params`: its entry of the manifest (docs/kernel-abi.md), and what TileLang
    has as attributes. A scalar's shape is empty; unknown extents are names."""

    def __init__(self, dtype: object, shape: Iterable[object] = (), **entries: object) -> None:
        super().__init__({"dtype": str(to_dtype(dtype)), **entries})
        if entries.get("kind", "tensor") == "tensor":
            self["shape"] = tuple(shape)

    @property
    def dtype(self) -> Dtype:
        return to_dtype(self["dtype"])

    @property
    def shape(self) -> list[Any]:
        return list(self.get("shape", ()))

    def is_scalar(self) -> bool:
        return not self.shape

    def is_boolean(self) -> bool:
        return str(self.dtype) == "bool"

    def is_unsigned(self) -> bool:
        return str(self.dtype).startswith("uint")

    def is_float4(self) -> bool:
        return str(self.dtype).startswith("float4")

    def is_float8(self) -> bool:
        return str(self.dtype).startswith("float8")
