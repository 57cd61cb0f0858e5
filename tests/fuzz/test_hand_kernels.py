# SPDX-License-Identifier: Apache-2.0
"""A few random kernels with flags set by hand: see hand_kernels.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_kernels import removals_of


@pytest.mark.parametrize("number", range(8))
def test_checker_and_host_agree_on_flags_by_hand(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    removals = removals_of(number, tmp_path, most=6)
    assert removals.missed() == []
    assert removals.needless() == []
