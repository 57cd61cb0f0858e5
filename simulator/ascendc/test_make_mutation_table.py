# SPDX-License-Identifier: Apache-2.0
"""The table of removed synchronisations is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("make_mutation_table.py")
PROGRAM = Path(__file__).parents[2] / (
    "build/tools/tilewright-ascendc/bin/ascend_mutation_compute_test_clang"
)


@pytest.mark.skipif(not PROGRAM.exists(), reason="the mutation tests are not built")
def test_page_is_up_to_date() -> None:
    """Run make_mutation_table.py when this fails."""
    answer = subprocess.run([sys.executable, str(SCRIPT), "--check"], check=False)
    assert answer.returncode == 0
