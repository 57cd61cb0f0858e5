# SPDX-License-Identifier: Apache-2.0
"""`tilelang.math`: integers on the host."""

from __future__ import annotations

from . import cdiv, next_power_of_2

__all__ = ["cdiv", "next_power_of_2"]
