# SPDX-License-Identifier: Apache-2.0
"""FlashAttention as it is written for GPUs, whose results the vector cores rescale before gemms add
to them (examples/ascend/flash_attention.py)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from kernel_group import KernelGroup

GROUP = KernelGroup()
ROOT = Path(__file__).parents[2]


def example() -> ModuleType:
    path = ROOT / "examples" / "ascend" / "flash_attention.py"
    spec = importlib.util.spec_from_file_location("flash_attention", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


attention = example()
random = np.random.default_rng(67)
for form, length, dim, choices in (
    ("full", 128, 64, {}),
    ("full", 192, 128, {"block_N": 32, "stages": 2}),
    ("causal", 192, 64, {}),
    ("causal", 192, 64, {"block_N": 64, "stages": 2}),
    ("causal", 256, 128, {}),
    ("full", 128, 64, {"npu_threads": 2}),
    ("causal", 128, 128, {"npu_threads": 2, "block_N": 32}),
    ("causal", 128, 64, {"npu_threads": 1, "block_M": 32}),
):
    causal = form == "causal"
    q, k, v = (random.uniform(-1, 1, (length, 2, dim)).astype(np.float16) for _ in range(3))
    GROUP.add(
        f"{form}, {length}, {dim}, {choices}",
        attention.flash_attention.get_tir(2, length, dim, causal, **choices),
        [q, k, v, np.zeros_like(q)],
        attention.reference(q, k, v, causal),
        rtol=5e-3,
        atol=2e-3,
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", list(GROUP.cases)[1:5:2])
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_both_vector_cores_work() -> None:
    """Each has half of the rows, of which nothing goes element by element."""
    (name,) = [name for name in GROUP.cases if name.startswith("full, 192")]
    text = GROUP.check(name).ascendc
    assert "GetSubBlockIdx()" in text
    assert "SetValue" not in text
    assert text.count("Add(acc_o, acc_o, acc_o_product_ub") == 1
