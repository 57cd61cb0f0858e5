# SPDX-License-Identifier: Apache-2.0
"""The compiler's checker reports what the host reports, of kernels as they are and with any one
synchronisation taken out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ascend_cases import CONFIGS, kernel_of, load_kernel, many_runs
from test_synchronisation import flags_by_hand, softmax, two_buffers
from verdicts import Subject


def zeros(kernel: Any) -> list[Any]:
    """Arguments for a kernel whose params are all tensors of static shape."""
    return [np.zeros(param["shape"], param["dtype"]) for param in kernel.params]


@pytest.mark.parametrize("make", [softmax, two_buffers], ids=["softmax", "two_buffers"])
def test_of_kernels_with_automatic_flags(make: Any, tmp_path: Path) -> None:
    kernel = make()
    subject = Subject.built(kernel.stages(), kernel.entry.manifest, tmp_path)
    removals = subject.removals(zeros(kernel))
    assert len(removals.host) > 6
    assert removals.missed() == []
    assert removals.needless() == []


def test_of_flags_by_hand(tmp_path: Path) -> None:
    kernel = flags_by_hand("")
    subject = Subject.built(kernel.stages(), kernel.entry.manifest, tmp_path)
    removals = subject.removals(zeros(kernel))
    assert len(removals.host) > 6
    assert removals.missed() == []
    assert removals.needless() == []


#: Of 400 a flag is needed where a tensor's infinities name rows; of 74 a loop has one turn at most
#: where a branch goes by its length; of 2030 a tile names rows of which nothing is loaded.
NUMBERS = (*range(10), 74, 400, 2030)


@pytest.mark.parametrize("has_loops", [False, True], ids=["no_loops", "loops"])
@pytest.mark.parametrize("number", NUMBERS)
def test_of_random_kernels(number: int, has_loops: bool, tmp_path: Path) -> None:
    random = kernel_of(number, has_loops)
    captured = load_kernel(random.source, tmp_path, random.name).capture()
    subject = Subject.of(captured, CONFIGS, tmp_path)
    removals = subject.removals_of_runs(many_runs(random))
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
