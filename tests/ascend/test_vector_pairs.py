# SPDX-License-Identifier: Apache-2.0
"""What the two vector cores of a block do to the same bytes of a tensor: the compiler tells it at
its line, the host where it comes to it, and of cores that keep apart neither says a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

SHAPE = (64, 32)
GROUP = KernelGroup()
LINES = Path(__file__).read_text().splitlines()
SAME = (
    "both vector cores of a block store this at the same place of '{}', and nothing orders them: "
    "store where `vid == 0`, or a part of its own on each, by vid"
)
STEP = (
    "what the two vector cores of a block store here of 'O' overlaps, and nothing orders them: "
    "along dim {} they begin 8 apart, but are 16 long; let vid move it by 16, or store it where "
    "`vid == 0`"
)
TWO = (
    "one vector core of a block {} here what the other one stores of 'O', and nothing orders them: "
    "put T.sync_all() between them, or let each keep to a part of its own, by vid"
)
#: What the compiler says of each.
TOLD = {
    "rows of its own": None,
    "the same rows": SAME.format("O"),
    "the same rows in one branch": None,
    "the same rows, one core each turn": None,
    "the same rows in a loop": SAME.format("O"),
    "the same rows in a loop of n turns": SAME.format("O"),
    "the same rows in no turn": None,
    "rows that an element says": SAME.format("O"),
    "rows that its own element says": None,
    "sums": None,
    "one element": SAME.format("P"),
    "an element of its own": None,
    "one element in one branch": None,
    "rows that overlap": STEP.format(0),
    "columns that overlap": STEP.format(1),
    "columns side by side": None,
    "the same rows beside a meeting": SAME.format("O"),
    "the other's rows": TWO.format("stores"),
    "the other's rows behind a meeting": None,
    "load of the other's rows": TWO.format("reads"),
    "load of the other's rows behind a meeting": None,
    "one stores, the other loads": TWO.format("reads"),
    "one stores and loads": None,
}


def kernel(form: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(SHAPE, "float32"),
        N: T.Tensor((8,), "int32"),
        n: T.int32,
        O: T.Tensor(SHAPE, "float32"),  # noqa: E741
        P: T.Tensor((64,), "int32"),
    ):
        with T.Kernel(1, is_npu=True) as (_, vid), T.Scope("V"):
            u = T.alloc_ub((16, 32), "float32")
            numbers = T.alloc_ub((8,), "int32")
            T.copy(A[vid * 16, 0], u)
            T.copy(N, numbers)
            T.barrier_all()
            T.copy(u, O[vid * 16, 0])
            T.barrier_all()
            if form == "the same rows":
                T.copy(u, O[32, 0])
            elif form == "the same rows in one branch":  # noqa: SIM102
                if vid == 1:
                    T.copy(u, O[32, 0])
            elif form == "the same rows, one core each turn":
                for k in T.serial(2):
                    if vid == k:
                        T.copy(u, O[32 + k * 16, 0])
            elif form == "the same rows in a loop":
                for k in T.serial(2):
                    T.copy(u, O[32 + k * 16, 0])
            elif form == "the same rows in a loop of n turns":
                for k in T.serial(n):
                    T.copy(u, O[32 + k * 16, 0])
            elif form == "the same rows in no turn":
                for k in T.serial(0):
                    T.copy(u, O[32 + k * 16, 0])
            elif form == "rows that an element says":
                T.copy(u, O[32 + numbers[1] * 8, 0])
            elif form == "rows that its own element says":
                T.copy(u, O[32 + numbers[vid] * 8, 0])
            elif form == "sums":
                T.tile.atomic_add(O[32, 0], u)
            elif form == "one element":
                P[5] = 3
            elif form == "an element of its own":
                P[5 + vid * 32] = 3
            elif form == "one element in one branch":
                if vid == 0:
                    P[5] = 3
            elif form == "rows that overlap":
                T.copy(u, O[32 + vid * 8, 0])
            elif form == "columns that overlap":
                T.copy(u[:, 0:16], O[32, vid * 8])
            elif form == "columns side by side":
                T.copy(u[:, 0:16], O[32, vid * 16])
            elif form == "the same rows beside a meeting":
                T.sync_all()
                T.copy(u, O[32, 0])
            elif form == "the other's rows":
                T.copy(u, O[16 - vid * 16, 0])
            elif form == "the other's rows behind a meeting":
                T.sync_all()
                T.copy(u, O[16 - vid * 16, 0])
            elif form == "load of the other's rows":
                T.copy(O[16 - vid * 16, 0], u)
            elif form == "load of the other's rows behind a meeting":
                T.sync_all()
                T.copy(O[16 - vid * 16, 0], u)
            elif form == "one stores, the other loads":
                if vid == 0:
                    T.copy(u, O[32, 0])
                else:
                    T.copy(O[32, 0], u)
            elif form == "one stores and loads":  # noqa: SIM102
                if vid == 0:
                    T.copy(u, O[32, 0])
                    T.barrier_all()
                    T.copy(O[32, 0], u)

    return main


GIVEN = [
    np.ones(SHAPE, np.float32),
    np.arange(8, dtype=np.int32) * 2,
    2,
    np.zeros(SHAPE, np.float32),
    np.zeros(64, np.int32),
]
for name, wanted in TOLD.items():
    # With other elements, which `all_verdicts.py` tries, the cores of one meet.
    if wanted is None and "its own element" not in name:
        GROUP.add(name, kernel(name), GIVEN, {}, configs={})
    else:
        GROUP.add_faulty(name, kernel(name), GIVEN, {})


@pytest.mark.parametrize("form", TOLD)
def test_compiler_and_host_agree(form: str) -> None:
    wanted = TOLD[form]
    told = [each for each in GROUP.told(form) if "nothing orders them" in each]
    if wanted is None:
        GROUP.run(form)
        assert told == []
        return
    (warning,) = told
    assert warning.partition("; line")[0] == wanted
    with pytest.raises(RuntimeError, match="nothing orders this .* by .*vector core 1"):
        GROUP.run(form)


def test_the_line_is_the_kernels() -> None:
    """Of what two statements do, the other one's is told, too."""
    (warning,) = GROUP.told("load of the other's rows")
    line = next(n for n, text in enumerate(LINES, 1) if "T.copy(u, O[vid * 16, 0])" in text)
    assert warning.endswith(f"; line {line}: the other one's store is here")
