# SPDX-License-Identifier: Apache-2.0
"""`tilelang.carver`: TileLang's hints for tuning.

Its names can be imported, not used: absent.py says why.
"""

from __future__ import annotations

from .absent import names_of

__getattr__ = names_of("carver")
