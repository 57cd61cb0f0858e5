# SPDX-License-Identifier: Apache-2.0
"""g++ builds the host as well as clang does: no warning of what it sees without optimising."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ["machine", "acl"]  # where the most of our own code stands


@pytest.mark.skipif(not shutil.which("g++-12"), reason="g++-12 is not installed")
def test_warnings(tmp_path: Path) -> None:
    """The sources of a folder as one, as the build has them."""
    running = []
    for number, folder in enumerate(FOLDERS):
        sources = sorted((ROOT / "simulator" / folder).glob("*.cpp"))
        kept = [s for s in sources if not s.name.endswith("_test.cpp")]
        merged = tmp_path / f"{number}.cpp"
        merged.write_text("".join(f'#include "{source}"\n' for source in kept))
        command = ["g++-12", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
        command += [f"-I{ROOT}", f"-I{ROOT}/include", f"-I{ROOT}/simulator/include"]
        running.append(subprocess.Popen([*command, str(merged)], stderr=subprocess.PIPE, text=True))
    messages = [process.communicate(timeout=120)[1] for process in running]
    assert [text for text in messages if text] == []
