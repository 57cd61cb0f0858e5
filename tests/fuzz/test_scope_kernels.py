# SPDX-License-Identifier: Apache-2.0
"""A few random kernels whose scopes assign to variables: see scope_kernels.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from scope_kernels import check_all


@pytest.mark.parametrize("first", [0, 40])
def test_scopes_mean_what_the_interpreter_says(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    failed, refused = check_all(range(first, first + 40), tmp_path)
    assert failed == {}
    assert 10 < refused < 30


#: Flags between cores in branches that one kind alone takes, or each as its own variables say; an
#: element that both vector cores stored.
@pytest.mark.parametrize("number", [1523, 1901, 3470, 4141])
def test_what_failed_before(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    assert check_all(range(number, number + 1), tmp_path) == ({}, 0)
