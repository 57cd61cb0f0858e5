# SPDX-License-Identifier: Apache-2.0
"""A few random kernels that go round rows and slots: see ring_kernels.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from ring_kernels import removals_of


@pytest.mark.parametrize("number", range(8))
def test_each_flag_of_a_ring_is_needed(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    removals = removals_of(number, tmp_path)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [text for text, is_needed in removals.inserted.items() if not is_needed] == []
