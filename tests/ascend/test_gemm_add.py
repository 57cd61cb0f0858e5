# SPDX-License-Identifier: Apache-2.0
"""GEMM followed by add: flags by hand, found by the compiler, and all left to the compiler."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright.as_tilelang  # noqa: F401 - the example imports it by that name

Array = np.ndarray[Any, Any]
random = np.random.default_rng(7)

M, N, K = 128, 128, 128
SIZES = (M, N, K, 64, 64, 64)
EXAMPLE = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "examples" / "ascend" / "gemm_add.py")
)


@pytest.fixture(scope="module")
def inputs() -> tuple[Array, Array, Array]:
    a = random.standard_normal((M, K)).astype(np.float16)
    b = random.standard_normal((K, N)).astype(np.float16)
    return a, b, random.standard_normal((M, N)).astype(np.float32)


def test_same_numbers(inputs: tuple[Array, Array, Array], capfd: Any) -> None:
    os.environ.pop("TILEWRIGHT_ASCEND", None)
    a, b, d = inputs
    results = [
        np.asarray(make(*SIZES)(a, b, d))
        for make in (EXAMPLE["by_hand"], EXAMPLE["inferred"], EXAMPLE["automatic"])
    ]
    expected = a.astype(np.float64) @ b.astype(np.float64) + d
    np.testing.assert_allclose(results[0], expected, rtol=1e-4, atol=1e-4)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    assert "error:" not in capfd.readouterr().err


def test_automatic_kernel_reads_well() -> None:
    source = EXAMPLE["automatic"](*SIZES).get_kernel_source()
    assert "KERNEL_TYPE_MIX_AIC_1_2" in source
    assert source.count("CrossCoreSetFlag") == 1
    assert source.count("CrossCoreWaitFlag") == 1
    assert "PIPE_ALL" not in source
