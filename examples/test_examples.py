# SPDX-License-Identifier: Apache-2.0
"""The examples run and give right results, also for sizes that no block divides."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent


@pytest.mark.parametrize("arguments", [["--size", "130"], ["--size", "96", "--dtype", "float16"]])
def test_fused_gemm(arguments):
    answer = subprocess.run(
        [sys.executable, EXAMPLES / "fused_gemm.py", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "python")},
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "check       right" in answer.stdout
    assert "ratio" in answer.stdout


ASCEND = (
    "gemm",
    "gemm_add",
    "softmax",
    "norms",
    "elementwise",
    "reductions",
    "tuned_gemm",
    "tuned_add",
)


@pytest.mark.parametrize("target", ["reference", "ascend"])
@pytest.mark.parametrize("name", ASCEND)
def test_ascend(name, target):
    pytest.importorskip("numpy")
    script = EXAMPLES / "ascend" / f"{name}.py"
    command = [sys.executable, "-m", "tilewright", "run", "--target", target, str(script)]
    answer = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "python")},
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    lines = answer.stdout.splitlines()
    assert lines and all(line.endswith("Kernel Output Match!") for line in lines)
