# SPDX-License-Identifier: Apache-2.0
"""Random small Ascend kernels whose two vector cores may touch the same bytes of a tensor: what the
compiler warns of, the host finds in some run, and what the host finds, the compiler warns of.

    python tests/fuzz/vector_core_kernels.py --first 100 --kernels 300
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "ascend")]
from ascend_cases import Dice, DrawnText, load_kernel  # noqa: E402
from kernel_group import AUTOMATIC, KernelGroup, compiled  # noqa: E402

SEED = 20261201
ROWS, ELEMENTS = 256, 64
#: From one vector core's part of a tensor to the other one's.
STEP, ELEMENT_STEP = 120, 32
HEAD = """import tilewright.language as T
@T.prim_func
def {name}(
    A: T.Tensor((16, 16), "float16"),
    C: T.Tensor(({rows}, 16), "float32"),
    D: T.Tensor(({rows}, 16), "float32"),
    P: T.Tensor(({elements},), "int32"),
    n: T.int32,
    m: T.int32,
):
    with T.Kernel(1, is_npu=True) as (_, vid):
        u = T.alloc_shared((16, 16), "float32")
        h = T.alloc_shared((16, 16), "float16")
"""
PRODUCT = ("T.copy(h, left)", "T.gemm_v0(left, left, product, init=True)", "T.copy(product, u)")
QUESTIONS = ("n > 1", "n > 5", "P[0] > 2", "P[16] < 90")
#: What a loop up to `m` does in its third turn, the compiler leaves to the host.
TURNS = ("2", "3", "m", "4")


class VectorCoreKernel(DrawnText):
    """Most statements keep to their core's own part; one in some meets the other one's."""

    def __init__(self, dice: Dice, name: str) -> None:
        super().__init__(dice)
        self.name = name
        self.is_mixed = self.pick(0, 1) == 1
        if self.is_mixed:
            self.line(0, 'left = T.alloc_shared((16, 16), "float16")')
            self.line(0, 'product = T.alloc_fragment((16, 16), "float32")')
            self.line(0, "T.copy(A, h)")
        self.line(0, "T.tile.fill(u, 1.0)")
        for _ in range(self.pick(2, 5)):
            self.statement(0, "", by_vid=False)
        self.line(0, "T.copy(u, D[240 - vid * 16, 0])")

    @property
    def source(self) -> str:
        head = HEAD.format(name=self.name, rows=ROWS, elements=ELEMENTS)
        return head + "".join(" " * 8 + line + "\n" for line in self.lines)

    def rows(self, loop: str) -> str:
        turns = f" + {loop} * {self.one_of(8, 16, 32)}" if loop and self.pick(0, 1) else ""
        if self.pick(0, 6):
            return f"{self.one_of(0, 16, 32)}{turns.replace('32', '16')} + vid * {STEP}"
        step = self.one_of(-16, 0, 8, 16, 32)
        return f"{self.one_of(16, 32, 48, 96)}{turns} + vid * {step}"

    def element(self) -> str:
        if self.pick(0, 6):
            return f"{self.one_of(0, 16)} + vid * {ELEMENT_STEP}"
        return f"{self.one_of(0, 16, 32)} + vid * {self.one_of(0, 16)}"

    def work(self, depth: int, loop: str, *, by_vid: bool) -> None:
        kind = self.pick(0, 6 if self.is_mixed and not by_vid else 5)
        tensor = self.one_of("C", "D")
        if kind <= 1:
            self.line(depth, f"T.copy(u, {tensor}[{self.rows(loop)}, 0])")
        elif kind <= 3:
            self.line(depth, f"T.copy({tensor}[{self.rows(loop)}, 0], u)")
        elif kind == 4:
            value = self.one_of("4", f"P[{self.element()}] + 1")
            self.line(depth, f"P[{self.element()}] = {value}")
        elif kind == 5:
            self.line(depth, f"T.tile.add(u, u, T.cast(P[{self.element()}], 'float32'))")
        else:
            for text in PRODUCT:
                self.line(depth, text)

    def statement(self, depth: int, loop: str, *, by_vid: bool) -> None:
        kind = self.pick(0, 11)
        if kind == 0 and depth == 0:
            self.line(depth, "T.sync_all()")
        elif kind <= 2 and depth < 2 and not by_vid:
            self.line(depth, f"if vid == {self.pick(0, 1)}:")
            self.inside(depth, loop, by_vid=True)
        elif kind <= 4 and depth < 2:
            self.line(depth, f"if {self.one_of(*QUESTIONS)}:")
            self.inside(depth, loop, by_vid=by_vid)
        elif kind <= 6 and depth < 3 and not loop:
            self.line(depth, f"for i in T.serial({self.one_of(*TURNS)}):")
            self.inside(depth, "i", by_vid=by_vid)
            if self.pick(0, 5) == 0:
                self.line(depth + 1, f"if P[{self.one_of(0, 32)}] > {self.one_of(3, 99)}:")
                self.line(depth + 2, "break")
        else:
            self.work(depth, loop, by_vid=by_vid)

    def inside(self, depth: int, loop: str, *, by_vid: bool) -> None:
        for _ in range(self.pick(1, 3)):
            self.statement(depth + 1, loop, by_vid=by_vid)


def arguments() -> Iterator[list[Any]]:
    """Loops and branches of all kinds."""
    tensors = [np.ones((16, 16), np.float16), *(np.zeros((ROWS, 16), np.float32) for _ in "CD")]
    for number, turns in ((3, 2), (0, 2), (1, 2), (7, 2), (7, 0), (2, 1)):
        for element in (0, 2, 50, 99):
            yield [*tensors, np.full(ELEMENTS, element, np.int32), number, turns]


def is_taken(kernel: Any) -> bool:  # noqa: ANN401
    """False where both kinds of core would have to wait in a branch that one vector core takes."""
    try:
        compiled(kernel, AUTOMATIC)
    except AssertionError as problem:
        told = ("where not all cores of a block come alike", "or ask an element of a tensor")
        assert any(words in str(problem) for words in told)
        return False
    return True


def verdicts_of(numbers: range, folder: Path) -> dict[int, tuple[list[str], list[str]]]:
    """Of each kernel that the compiler doesn't refuse, what it warns of, and what the host finds:
    between vector cores. AssertionError: either says something else."""
    group = KernelGroup()
    for number in numbers:
        name = f"cores{number}"
        kernel = load_kernel(VectorCoreKernel(Dice(SEED + number), name).source, folder, name)
        if is_taken(kernel):
            group.add_faulty(name, kernel, next(arguments()), AUTOMATIC)
    verdicts = {}
    for name in group.cases:
        number = int(name.removeprefix("cores"))
        told = [each for each in group.told(name) if "nothing orders them" in each]
        assert [each for each in told if "vector core" not in each] == [], number
        found = []
        for given in arguments():
            try:
                group.run(name, *given)
            except RuntimeError as problem:
                found.append(str(problem))
        others = [each for each in found if "nothing orders" not in each or "core 1" not in each]
        assert others == [], number
        verdicts[number] = (told, found)
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description="random kernels whose vector cores may meet")
    parser.add_argument("--first", type=int, default=0, help="the first kernel")
    parser.add_argument("--kernels", type=int, default=100, help="how many")
    options = parser.parse_args()
    os.environ["TILEWRIGHT_ASCEND_EXIT"] = "0"
    both = neither = alone = 0
    last = options.first + options.kernels
    with tempfile.TemporaryDirectory() as folder:
        for first in range(options.first, last, 100):
            numbers = range(first, min(first + 100, last))
            for number, (told, found) in verdicts_of(numbers, Path(folder)).items():
                both += bool(told and found)
                neither += not (told or found)
                if bool(told) != bool(found):
                    alone += 1
                    who, words = ("checker", told) if told else ("host", found)
                    print(f"{number}: the {who} alone reports {words[0]}", flush=True)
    taken = both + neither + alone
    print(f"{taken} kernels: both report {both}, neither {neither}, one alone {alone}")
    return 1 if alone else 0


if __name__ == "__main__":
    sys.exit(main())
