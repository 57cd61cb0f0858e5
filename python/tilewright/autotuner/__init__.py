# SPDX-License-Identifier: Apache-2.0
"""Finds the fastest of many configurations of a kernel: `@tilelang.autotune` and `AutoTuner`.

Candidates are compiled side by side, then each is checked and measured alone. What fails, gives
wrong values or hangs is reported in the table of results and skipped. docs/autotuning.md is its
guide.
"""

from .decorator import AutotunedFunction, autotune
from .inputs import get_autotune_inputs, set_autotune_inputs
from .results import AutotuneResult, Candidate, TuningError
from .tuner import AutoTuner

__all__ = [
    "AutoTuner",
    "AutotuneResult",
    "AutotunedFunction",
    "Candidate",
    "TuningError",
    "autotune",
    "get_autotune_inputs",
    "set_autotune_inputs",
]
