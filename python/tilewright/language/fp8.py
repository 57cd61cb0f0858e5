# SPDX-License-Identifier: Apache-2.0
"""`tilelang.language.fp8`: which 8-bit float formats this machine has."""

from __future__ import annotations

from .dtypes import Dtype, to_dtype


def determine_fp8_type(format: str = "e4m3") -> Dtype:
    """The dtype of "e4m3" or "e5m2": the formats of the OCP, as on NVIDIA's GPUs."""
    if format not in ("e4m3", "e5m2"):
        raise ValueError(f"there is no 8-bit float format {format!r}; it is e4m3 or e5m2")
    return to_dtype("float8_e4m3fn" if format == "e4m3" else "float8_e5m2")
