# SPDX-License-Identifier: Apache-2.0
"""`tilelang.dtypes`: the dtypes by name."""

from __future__ import annotations

from .language.dtypes import (
    DTYPES,
    Dtype,
    is_dtype,
    is_float4,
    is_float4_e2m1_unpacked,
    is_float4_e2m1fn,
    to_dtype,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DTYPES",
    "Dtype",
    "is_dtype",
    "is_float4",
    "is_float4_e2m1_unpacked",
    "is_float4_e2m1fn",
    "to_dtype",
]


def __getattr__(name: str) -> Any:
    if name in DTYPES:
        return DTYPES[name]
    raise AttributeError(f"tilewright.dtypes has no {name!r}")
