# SPDX-License-Identifier: Apache-2.0
"""docs/dialects.md names a test for each case, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAMES = re.findall(r"\| `(test_\w+)` \|$", (ROOT / "docs/dialects.md").read_text(), re.MULTILINE)


def test_each_case_has_a_test() -> None:
    text = (ROOT / "docs/dialects.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(NAMES) == len(rows) - 1 > 15  # but for the head


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_it_is_there(name: str) -> None:
    files = [
        *(ROOT / "python/tilewright").rglob("test_*.py"),
        *(ROOT / "tests/ascend").glob("test_*.py"),
    ]
    assert any(f"def {name}(" in path.read_text() for path in files)
