# SPDX-License-Identifier: Apache-2.0
"""The page of the timing model's constants is up to date."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("make_constants.py")


def test_page_is_up_to_date() -> None:
    """Run make_constants.py when this fails."""
    answer = subprocess.run([sys.executable, str(SCRIPT), "--check"], check=False)
    assert answer.returncode == 0
