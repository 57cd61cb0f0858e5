# SPDX-License-Identifier: Apache-2.0
"""The timing model reproduces the published profiles."""

from __future__ import annotations

import statistics

import profile_rows
import pytest

pytestmark = pytest.mark.skipif(
    not all(program.exists() for program in profile_rows.PROGRAMS),
    reason="benchmarks/ascend is not built",
)


def error_of(name: str) -> float:
    """Our value's relative distance from the published one."""
    row = profile_rows.answers()[name]
    return abs(float(row["value"]) / float(row["peer_value"]) - 1)


def gated(*columns: str) -> list[str]:
    """The gated rows of some columns."""
    return [
        name
        for name in profile_rows.names()
        if name.rsplit("/", 1)[1] in columns and profile_rows.answers()[name]["gated"]
    ]


def test_every_row_is_printed() -> None:
    assert sorted(profile_rows.answers()) == sorted(profile_rows.names())


def test_every_row_without_a_gate_has_a_reason() -> None:
    ungated = [name for name in profile_rows.names() if not profile_rows.answers()[name]["gated"]]
    assert len(ungated) == 6 + 2 * 11 + 9
    assert all(map(profile_rows.reason, ungated))


def test_pipes_within_the_gate() -> None:
    rows = gated("vec", "mac", "mte1", "mte2", "mte3")
    assert len(rows) == 3 * 6 + 2 * 11 + 2
    assert statistics.median(map(error_of, rows)) <= 0.05
    assert [name for name in rows if error_of(name) > 0.15] == []


def test_core_and_task_within_the_gate() -> None:
    assert all(error_of(name) <= 0.20 for name in gated("core", "task"))
