# SPDX-License-Identifier: Apache-2.0
"""The published per-pipe profiles of Ascend kernels beside our modelled times.

Kernels of the same shape and tiling (benchmarks/ascend) run on the host with the timing model of
the chip that was measured. A row is `profile/<kernel>/<pipe>`: `value` is ours, `peer_value` what
is published, both in microseconds. `fitted`: constants of the model were fitted to this kernel; the
others are predicted. What isn't gated has a `reason`.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "build/benchmarks/ascend/bin"
PROGRAMS = (FOLDER / "profile_add", FOLDER / "profile_matmul")
# As a profiler sees it: the launch is repeated, and only its time is asked for.
MODE = "time-only,warm-l2,chip=910B1"
ADDITIONS = tuple(f"add_case{number}" for number in range(1, 7))
PRODUCTS = (*(f"matmul_case{number}" for number in range(9)), "matmul_basic1", "matmul_basic2")
COLUMNS = {
    ADDITIONS: ("task", "core", "vec", "scalar", "mte2", "mte3"),
    PRODUCTS: ("task", "core", "mac", "scalar", "mte1", "mte2", "fixpipe"),
}
#: Why a column has no gate, where it has none.
REASONS = {
    (ADDITIONS, "scalar"): "addresses and queues of the measured kernels, which aren't public",
    (PRODUCTS, "scalar"): "code of the vendor's library, which isn't public",
    (PRODUCTS, "fixpipe"): "holds waits for the cube unit",
    (PRODUCTS, "mte2"): "holds waits of several cores for one another in L2",
}


def reason(name: str) -> str:
    """Why a row isn't gated."""
    kernel, column = name.split("/")[1:]
    return next(
        text for (kernels, of), text in REASONS.items() if kernel in kernels and of == column
    )


def names() -> list[str]:
    """Every row's name."""
    return [
        f"profile/{kernel}/{column}"
        for kernels, columns in COLUMNS.items()
        for kernel in kernels
        for column in columns
    ]


@cache
def answers() -> dict[str, dict[str, Any]]:
    """Each row as the program prints it, by name."""
    rows = []
    for program in PROGRAMS:
        answer = subprocess.run(
            [program],
            env=os.environ | {"TILEWRIGHT_ASCEND": MODE},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        rows += [json.loads(line) for line in answer.stdout.splitlines()]
    return {row["name"]: row for row in rows}
