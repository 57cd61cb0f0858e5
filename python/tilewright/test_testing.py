# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tilewright import testing  # noqa: E402


def test_assert_close():
    a = torch.ones(2000)
    b = a.clone()
    b[0] = 2
    testing.torch_assert_close(a, b)
    with pytest.raises(AssertionError, match="1 of 2000 elements differ, by up to 1 "):
        testing.torch_assert_close(a, b, max_mismatched_ratio=0)
    with pytest.raises(AssertionError, match=r"shapes \(2000,\) and \(3,\) differ"):
        testing.torch_assert_close(a, b[:3])


def test_seed():
    testing.set_random_seed(3)
    first = torch.randn(3)
    testing.set_random_seed(3)
    assert torch.equal(first, torch.randn(3))


def test_main(tmp_path):
    script = tmp_path / "test_it.py"
    script.write_text(
        "import tilelang.testing\n"
        "@tilelang.testing.requires_cuda\n"
        "def test_one(): pass\n"
        "@tilelang.testing.requires_cuda_compute_version(9, 0)\n"
        "def test_two(): raise ValueError\n"
        "if __name__ == '__main__': tilelang.testing.main()\n"
    )
    package = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "run", script],
        env={"PYTHONPATH": str(package), "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
