# SPDX-License-Identifier: Apache-2.0
"""`tilelang.cpu`, `tilelang.cuda`, ...: there is one language here, for all targets."""

from __future__ import annotations

from . import language

__all__ = ["language"]
