# SPDX-License-Identifier: Apache-2.0
"""Measures the kernels that a script calls, and sets them against the machine's limits.

`tilewright profile script.py` is its command; docs/profiling.md its guide.
"""

from .recorder import KernelRecorder, Row
from .report import Measured, evaluate, table
from .roofline import roofline

__all__ = ["KernelRecorder", "Measured", "Row", "evaluate", "roofline", "table"]
