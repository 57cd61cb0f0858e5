# SPDX-License-Identifier: Apache-2.0
"""The tutorial's script runs as it is printed in the founding documents.

They are looked for in $TILEWRIGHT_SEEDS, and beside the clone. Torch's product of float16
matrices takes a second on some CPUs, so the test cuts the script's 110 rounds of measuring to 2, by
replacing `range` around it; the script itself is as printed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tilewright._compiler")

PACKAGE = Path(__file__).resolve().parents[1]
PLACES = [os.environ.get("TILEWRIGHT_SEEDS"), PACKAGE.parents[1] / "shared" / "seeds"]


def tutorial() -> str:
    for place in PLACES:
        for path in sorted(Path(place).glob("001*.txt")) if place else []:
            block = re.search(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)
            assert block is not None
            return block[1]
    pytest.skip("the founding documents are not here")


@pytest.mark.parametrize("arguments", [[], ["--target", "ascend"]])
def test_tutorial(tmp_path, arguments):
    script = tmp_path / "tutorial14.py"
    script.write_text(tutorial())
    # `benchmark_op` finds `range` in the builtins; only its calls, with 10 and 100, are cut.
    brief = tmp_path / "brief.py"
    brief.write_text(
        "import builtins, sys\n"
        "real = builtins.range\n"
        "builtins.range = lambda *a: real(1) if a in ((10,), (100,)) else real(*a)\n"
        "from tilewright.cli import main\n"
        "sys.exit(main(['run', *sys.argv[1:]]))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "c")}
    done = subprocess.run(
        [sys.executable, str(brief), *arguments, str(script)],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Check Passed: TileLang output matches PyTorch." in done.stdout
    assert done.stdout.count("TFLOPS") == 2
    assert re.search(r"Summary: TileLang is [\d.]+x faster than PyTorch.", done.stdout)
