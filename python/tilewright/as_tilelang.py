# SPDX-License-Identifier: Apache-2.0
"""`import tilewright.as_tilelang`, before `import tilelang`, makes that this package."""

from __future__ import annotations

import sys

from .alias import take_over

_other = take_over()
if _other is not None:
    sys.stderr.write(f"tilewright: 'import tilelang' gives tilewright, not {_other}\n")
