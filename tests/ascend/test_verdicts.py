# SPDX-License-Identifier: Apache-2.0
"""The compiler's checker reports what the host reports, of kernels as they are and with any one
synchronisation taken out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ascend_cases import CONFIGS, SEED, kernel_of, load_kernel
from random_kernels import random_inputs
from test_synchronisation import flags_by_hand, softmax, two_buffers
from verdicts import Subject


def zeros(kernel: Any) -> list[Any]:
    """Arguments for a kernel whose params are all tensors of static shape."""
    return [np.zeros(param["shape"], param["dtype"]) for param in kernel.params]


@pytest.mark.parametrize("make", [softmax, two_buffers], ids=["softmax", "two_buffers"])
def test_of_kernels_with_automatic_flags(make: Any, tmp_path: Path) -> None:
    kernel = make()
    subject = Subject.built(dict(kernel.stages()), kernel.entry.manifest, tmp_path)
    removals = subject.removals(zeros(kernel))
    assert len(removals.host) > 6
    assert removals.missed() == []
    assert removals.needless() == []


def test_of_flags_by_hand(tmp_path: Path) -> None:
    kernel = flags_by_hand("")
    subject = Subject.built(dict(kernel.stages()), kernel.entry.manifest, tmp_path)
    removals = subject.removals(zeros(kernel))
    assert len(removals.host) > 6
    assert removals.missed() == []
    assert removals.needless() == []


@pytest.mark.parametrize("number", range(10))
def test_of_random_kernels(number: int, tmp_path: Path) -> None:
    random = kernel_of(number, has_loops=False)
    captured = load_kernel(random.source, tmp_path, random.name).capture()
    subject = Subject.of(captured, CONFIGS, tmp_path)
    inputs = [*random_inputs(random, SEED).values(), np.zeros(random.output, np.float32)]
    removals = subject.removals(inputs)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
