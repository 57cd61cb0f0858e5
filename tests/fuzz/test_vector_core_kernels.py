# SPDX-License-Identifier: Apache-2.0
"""A few random kernels whose vector cores may meet: see vector_core_kernels.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from vector_core_kernels import verdicts_of


def test_compiler_and_host_agree_on_vector_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    verdicts = verdicts_of(range(60), tmp_path)
    agreed = {number: bool(told) for number, (told, _) in verdicts.items()}
    assert agreed == {number: bool(found) for number, (_, found) in verdicts.items()}
    assert 10 < sum(agreed.values()) < 50
