# SPDX-License-Identifier: Apache-2.0
"""Random kernels with one to three tiles in turn, in loops that are left early: with the flags that
the compiler puts in no run has a hazard, and each of them is missed by some run."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from ascend_cases import CONFIGS, load_kernel
from verdicts import Subject

HEAD = """# SPDX-License-Identifier: Apache-2.0
import tilewright.language as T


@T.prim_func
def main(
    A: T.Tensor((48, 64), "float32"), W: T.Tensor((48, 64), "float32"), n: T.int32, m: T.int32
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub(({slots}, 8, 64), "float32")
        b = T.alloc_ub(({slots}, 8, 64), "float32")
        c = T.alloc_ub((8, 64), "float32")
        T.tile.fill(a, 0.0)
        T.tile.fill(b, 0.0)
        T.tile.fill(c, 1.0)
"""


class RandomExits:
    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.slots = self.random.choice([1, 2, 2, 3])
        self.text = HEAD.format(slots=self.slots)
        self.bound = self.random.choice(["n", "n", "3", "5"])
        self.loop("i", 2)
        self.statement(None, 2)
        self.add("T.copy(a[0, :, :], W[0, 0])", 2)

    def add(self, line: str, depth: int) -> None:
        self.text += "    " * depth + line + "\n"

    def tile(self, name: str, number: str | None) -> str:
        shift = self.random.randrange(self.slots + 1)
        turn = f"({number} + {shift})" if number and self.random.random() < 0.8 else str(shift)
        return f"{name}[{turn} % {self.slots}, :, :]" if self.random.random() < 0.85 else "c"

    def statement(self, number: str | None, depth: int) -> None:
        row = f"{number} % 6 * 8" if number else str(8 * self.random.randrange(6))
        first, second = self.tile("a", number), self.tile("b", number)
        kinds = (
            f"T.copy(A[{row}, 0], {first})",
            f"T.copy({second}, W[{row}, 0])",
            f"T.tile.add({first}, {second}, 1.0)",
            f"T.tile.max({second}, {first}, c)",
        )
        self.add(self.random.choice(kinds), depth)

    def exit(self, number: str, depth: int) -> None:
        last = self.random.randrange(1, 4)
        asks = (f"{number} >= m", f"{number} + 1 > m", f"{number} == {last}")
        self.add(f"if {self.random.choice(asks)}:", depth)
        if self.random.random() < 0.4:
            self.statement(number, depth + 1)
        self.add(self.random.choice(["break", "break", "continue"]), depth + 1)

    def loop(self, number: str, depth: int) -> None:
        self.add(f"for {number} in T.serial({self.bound}):", depth)
        for _ in range(self.random.randint(1, 3)):
            self.statement(number, depth + 1)
        self.exit(number, depth + 1)
        if number == "i" and self.random.random() < 0.3:
            self.loop("j", depth + 1)
        for _ in range(self.random.randint(1, 3)):
            self.statement(number, depth + 1)


#: Runs: how long the loops of unknown length are, and when they are left.
RUNS = [(5, 9), (3, 1), (9, 20), (6, 2), (9, 3), (6, -1), (1, 9), (2, 0), (0, 0), (4, 1)]
RUNS += [(9, 0), (7, 0), (1, 0), (9, 6)]


@pytest.mark.parametrize("number", [5, 16, 17, 19, 29, 30, 116])
def test_each_insertion_is_needed(number: int, tmp_path: Path) -> None:
    text = RandomExits(number).text
    captured = load_kernel(text, tmp_path, "main").capture()
    subject = Subject.of(captured, CONFIGS, tmp_path)
    unneeded: set[str] | None = None
    for length, last in RUNS:
        tensors = [np.ones((48, 64), np.float32), np.zeros((48, 64), np.float32)]
        removals = subject.removals([*tensors, length, last])
        assert removals.missed() == [], text
        still = {why for why, is_needed in removals.inserted.items() if not is_needed}
        unneeded = still if unneeded is None else unneeded & still
        if not unneeded:
            break
    assert unneeded == set(), text
