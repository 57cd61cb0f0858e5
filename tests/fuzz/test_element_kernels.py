# SPDX-License-Identifier: Apache-2.0
"""A few random kernels that read and write elements: see element_kernels.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from element_kernels import removals_of


@pytest.mark.parametrize("number", range(8))
def test_each_flag_beside_elements_is_needed(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    removals = removals_of(number, tmp_path)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [text for text, is_needed in removals.inserted.items() if not is_needed] == []


#: Rows `i ^ 1` of a loop whose length an argument gives, beside elements of other lines.
@pytest.mark.parametrize("number", [92, 99, 254, 408, 464])
def test_what_failed_before(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_each_flag_beside_elements_is_needed(number, tmp_path, monkeypatch)
