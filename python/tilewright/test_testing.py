# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

import numpy as np
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


def _output_of(script):
    """What a script of tests prints that ends well."""
    package = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "run", script],
        env={"PYTHONPATH": str(package), "PATH": ""},
        cwd=script.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
    assert "1 passed, 1 skipped" in _output_of(script)


def test_assert_allclose():
    a = np.array([1.0, 2.0])
    testing.assert_allclose(torch.tensor([1.0, 2.0]), a)
    testing.assert_allclose([1.0, 2.0 + 1e-9], a)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        testing.assert_allclose(torch.tensor([1.0, 2.1]), a, rtol=1e-3)
    with pytest.raises(AssertionError):
        testing.assert_allclose(np.ones((1, 2)), np.ones(2))


def test_marks():
    """Whether a test of each compute capability runs where the device is of 8.0."""
    held = {"ge": (8, 0), "gt": (7, 5), "eq": (8, 0), "le": (8, 6), "lt": (9, 0)}
    missed = {"ge": (8, 9), "gt": (8, 0), "eq": (9, 0), "le": (7, 5), "lt": (8, 0)}
    for mode in held:
        named = getattr(testing, f"requires_cuda_compute_version_{mode}")
        for version, is_skipped in ((held[mode], False), (missed[mode], True)):
            by_mode = testing.requires_cuda_compute_version(*version, mode=mode)
            for made in (named(*version), by_mode):
                assert made.mark.name == "skipif" and made.mark.args == (is_skipped,)
    with pytest.raises(ValueError, match="a mode is ge, gt, le, lt or eq, not 'above'"):
        testing.requires_cuda_compute_version(8, 0, "above")
    assert testing.requires_cuda_or_cdna(held) is held
    for name in ("requires_cdna", "requires_gfx950"):

        @getattr(testing, name)
        def of_amd():
            pass

        assert of_amd.pytestmark[0].kwargs == {"reason": "is for AMD's GPUs"}
    assert testing.requires_package("numpy").mark.args == (False,)
    assert testing.requires_package("numpy", "no_such_package").mark.args == (True,)


def test_fixtures(tmp_path):
    """TVM's ways to name a test's values; its modules of tests and the language are found."""
    script = tmp_path / "test_it.py"
    script.write_text(
        "import tilelang, tvm.testing\n"
        "from tilelang.cuda.language.intrinsics import ieee_add\n"
        "from tilelang.language.tir.op import exp\n"
        "from tilelang.layout.layout import Layout\n"
        "number = tvm.testing.parameter(1, 2)\n"
        "name = tvm.testing.parameter(by_dict={'one': 'a', 'two': 'b'})\n"
        "@tvm.testing.fixture\n"
        "def both(number, name): return name * number\n"
        "@tvm.testing.fixture(cache_return_value=True)\n"
        "def once(): return []\n"
        "def test_one(both, once):\n"
        "    once.append(both)\n"
        "    assert len(once) <= 4 and both in ('a', 'aa', 'b', 'bb')\n"
        "def test_two(once): assert sorted(once) == ['a', 'aa', 'b', 'bb']\n"
        "if __name__ == '__main__': tvm.testing.main()\n"
    )
    assert "5 passed" in _output_of(script)
