# SPDX-License-Identifier: Apache-2.0
"""375 random kernels on the Ascend host, the same in each run: see ascend_cases.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from ascend_cases import (
    FIRST_WITH_COUNTERS,
    FIRST_WITH_TURNS,
    FIRST_WITH_WHILES,
    KERNELS_PER_FILE,
    SEED,
    Dice,
    Script,
    check_all,
    keep,
    kernel_of,
    shrink,
)
from ascend_kernels import random_ascend_kernel

FILES = 12
#: The last ones have tiles in turn, loops that ask for elements, and loops that variables count.
FIRST = (
    *(file * KERNELS_PER_FILE for file in range(FILES)),
    FIRST_WITH_TURNS,
    FIRST_WITH_WHILES,
    FIRST_WITH_COUNTERS,
)


@pytest.mark.parametrize("first", FIRST)
def test_ascend_agrees_on_random_kernels(
    first: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    numbers = range(first, first + KERNELS_PER_FILE)
    failed = check_all(numbers, tmp_path)
    told = [f"{keep(kernel_of(number))}: {problem}" for number, problem in failed.items()]
    assert not told, "\n".join(told)
    # Flags between cores are the compiler's: none is set twice in a row.
    assert "again before it is waited for" not in capfd.readouterr().err


def test_a_script_of_what_was_thrown_makes_the_same_kernel() -> None:
    dice = Dice(SEED + 3)
    kernel = random_ascend_kernel(dice, "kernel")
    assert random_ascend_kernel(Script(dice.thrown), "kernel").source == kernel.source


def test_shrinking_leaves_what_fails() -> None:
    def fails(decisions: list[int]) -> bool:
        return sum(decisions) >= 10 and 7 in decisions

    assert shrink([5, 1, 7, 0, 3, 9, 2], fails) in ([7, 9], [7, 3], [5, 7])
