# SPDX-License-Identifier: Apache-2.0
"""The compiler's checker reports what the host reports, of kernels as they are and with any one
synchronisation taken out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ascend_cases import CONFIGS, FIRST_WITH_TURNS, kernel_of, load_kernel, many_runs
from test_synchronisation import flags_by_hand, softmax, two_buffers
from verdicts import Subject

import tilewright
import tilewright.language as T


def zeros(kernel: Any) -> list[Any]:
    """Arguments for a kernel whose params are all tensors of static shape."""
    return [np.zeros(param["shape"], param["dtype"]) for param in kernel.params]


@pytest.mark.parametrize("make", [softmax, two_buffers], ids=["softmax", "two_buffers"])
def test_of_kernels_with_automatic_flags(make: Any, tmp_path: Path) -> None:
    kernel = make()
    subject = Subject.built(kernel.stages(), kernel.entry.manifest, tmp_path)
    removals = subject.removals(zeros(kernel))
    assert len(removals.host) > 6
    assert removals.left_to_host == set()
    assert removals.missed() == []
    assert removals.needless() == []


def test_of_flags_by_hand(tmp_path: Path) -> None:
    kernel = flags_by_hand("")
    subject = Subject.built(kernel.stages(), kernel.entry.manifest, tmp_path)
    removals = subject.removals(zeros(kernel))
    assert len(removals.host) > 6
    assert removals.left_to_host == set()
    assert removals.missed() == []
    assert removals.needless() == []


def test_of_a_flag_whose_number_an_argument_gives(tmp_path: Path) -> None:
    """The checker gives no verdict of any flag of the kernel, and says so; the host does."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32"), event: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            T.set_flag("mte2", "v", event)
            T.wait_flag("mte2", "v", event)
            T.tile.add(x, x, 1.0)
            T.set_flag("v", "mte3", 0)
            T.wait_flag("v", "mte3", 0)
            T.copy(x, C)

    with pytest.warns(UserWarning, match="made of 'event', is known only when the kernel runs"):
        kernel = tilewright.compile(main, target="ascend")
    subject = Subject.built(kernel.stages(), kernel.entry.manifest, tmp_path)
    removals = subject.removals([*(np.zeros(64, np.float32) for _ in range(2)), 3])
    assert removals.host == dict.fromkeys(range(4), True)
    assert removals.checker == dict.fromkeys(range(4), False)
    assert removals.left_to_host == set(range(4))
    assert removals.missed() == removals.needless() == removals.neither() == []


#: Of 400 a flag is needed where a tensor's infinities name rows; of 74 a loop has one turn at most
#: where a branch goes by its length; of 2030 a tile names rows of which nothing is loaded. The last
#: ones have tiles in turn, of which arguments say which one is first.
NUMBERS = (*range(10), 74, 400, 2030, FIRST_WITH_TURNS, FIRST_WITH_TURNS + 1)


@pytest.mark.parametrize("has_loops", [False, True], ids=["no_loops", "loops"])
@pytest.mark.parametrize("number", NUMBERS)
def test_of_random_kernels(number: int, has_loops: bool, tmp_path: Path) -> None:
    random = kernel_of(number, has_loops)
    captured = load_kernel(random.source, tmp_path, random.name).capture()
    subject = Subject.of(captured, CONFIGS, tmp_path)
    removals = subject.removals_of_runs(many_runs(random))
    assert removals.left_to_host == set()
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
