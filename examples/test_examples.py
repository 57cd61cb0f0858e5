# SPDX-License-Identifier: Apache-2.0
"""The examples run and give right results, also for sizes that no block divides."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
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


def test_fused_gemm_beside_a_slow_peer(monkeypatch, capsys):
    """Its own figures come first, and the peer is called no longer than there is time for."""
    spec = importlib.util.spec_from_file_location("fused_gemm", EXAMPLES / "fused_gemm.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    printed = []

    def peer():
        printed.append(capsys.readouterr().out)
        time.sleep(0.15)

    monkeypatch.setattr(example, "SECONDS", 0.2)
    monkeypatch.setattr(example, "peer_of", lambda *_: ("Slow", peer))
    monkeypatch.setattr(sys, "argv", ["fused_gemm.py", "--size", "96"])
    assert example.main() == 0
    assert "check       right" in printed[0] and "GFLOP/s, alone" in printed[0]
    assert len(printed) == 2
    assert "median of 1, in turns with Slow" in capsys.readouterr().out


def test_fused_gemm_is_interrupted():
    with subprocess.Popen(
        [sys.executable, EXAMPLES / "fused_gemm.py", "--size", "96"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as example:
        while "alone" not in (line := example.stdout.readline()):
            assert line
        example.send_signal(signal.SIGINT)
        _, errors = example.communicate(timeout=60)
    assert (errors, example.returncode) == ("\ninterrupted\n", 130)


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
