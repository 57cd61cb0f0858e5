# SPDX-License-Identifier: Apache-2.0
"""The tuned examples, at sizes where every core takes several tiles and one takes fewer."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from kernel_group import ROOT, KernelGroup

import tilewright.as_tilelang  # noqa: F401 - the examples import it by that name

random = np.random.default_rng(31)
GROUP = KernelGroup()
MODES = ("expert", "developer")

gemm, add = (
    runpy.run_path(str(ROOT / "examples" / "ascend" / f"tuned_{name}.py"))
    for name in ("gemm", "add")
)
a, b = (random.standard_normal(s).astype(np.float16) for s in ((160, 512), (512, 256)))
x, y = (random.standard_normal((56, 128)).astype(np.float16) for _ in range(2))
for mode in MODES:
    GROUP.add_example(
        f"gemm, {mode}",
        gemm[f"gemm_{mode}"],
        (160, 256, 512, 3, 32, 64),
        [a, b, np.zeros((160, 256), np.float16)],
        a.astype(np.float64) @ b.astype(np.float64),
        rtol=1e-3,
        atol=1e-2,
    )
    GROUP.add_example(
        f"add, {mode}",
        add[f"add_{mode}"],
        (56, 128, 3),
        [x, y, np.zeros_like(x)],
        (x + y).astype(np.float64),
        rtol=0,
        atol=0,
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_kernel(name: str) -> None:
    assert "PIPE_ALL" not in GROUP.check(name).ascendc


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)
