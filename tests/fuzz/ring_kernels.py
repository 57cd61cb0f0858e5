# SPDX-License-Identifier: Apache-2.0
"""Random small Ascend kernels that go round rows of tensors and slots of a tile, each with a number
of its own of turns: NumPy's numbers from the host and the interpreter, and each flag that the
compiler has put in is missed.

    python tests/fuzz/ring_kernels.py --first 100 --kernels 300
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "ascend")]
from ascend_cases import CONFIGS, Dice, DrawnText, load_kernel  # noqa: E402
from verdicts import Removals, Subject  # noqa: E402

from tilewright import _runtime  # noqa: E402
from tilewright.testing import interpret  # noqa: E402

SEED = 20261201
ROWS = 64
#: Enough for each row to come again.
MOST_TURNS = 3 * ROWS
HEAD = """import tilewright.language as T
@T.prim_func
def {name}(
    A: T.Tensor(({rows}, 8, 8), "int32"),
    C: T.Tensor(({round}, 8, 8), "int32"),
    D: T.Tensor(({other}, 8, 8), "int32"),
    n: T.int32,
):
    with T.Kernel(1, threads=1, is_npu=True) as _:
        h = T.alloc_ub((8, 8), "int32")
        g = T.alloc_ub((8, 8), "int32")
        u = T.alloc_ub(({slots}, 8, 8), "int32")
        T.tile.fill(h, 1)
        T.tile.fill(g, 2)
        T.tile.fill(u, 3)
        for k in T.serial({turns}):
"""
Rows = dict[str, np.ndarray[Any, Any]]


@dataclass
class Place:
    """What a turn touches: a row of an array, or all of it."""

    array: str
    text: str
    row: Callable[[int], int] | None = None

    def at(self, turn: int) -> Any:  # noqa: ANN401
        return slice(None) if self.row is None else self.row(turn)


class RingKernel(DrawnText):
    def __init__(self, dice: Dice, name: str) -> None:
        super().__init__(dice)
        self.name = name
        self.round = self.one_of(5, 8, 13, 16, 16, 20, 24, 32, 40)
        self.other = self.one_of(self.round, max(self.round // 2, 1), 4)
        self.slots = min(self.round, 20)
        self.shift = self.one_of(0, 0, 1, 3, self.round - 1)
        #: 0: an argument says it.
        self.turns = self.one_of(0, 0, 7, 50, 64, self.round, 2 * self.round)
        self.steps: list[Callable[[Rows, int], None]] = []
        for _ in range(self.pick(3, 6)):
            self.statement()

    @property
    def source(self) -> str:
        head = HEAD.format(
            name=self.name,
            rows=ROWS,
            round=self.round,
            other=self.other + 1,
            slots=self.slots,
            turns=self.turns or "n",
        )
        return head + "".join(" " * 12 + line + "\n" for line in self.lines)

    def remainder(self, modulus: int) -> tuple[str, Callable[[int], int]]:
        shift = self.one_of(0, self.shift)
        number = f"(k + {shift})" if shift else "k"
        return f"{number} % {modulus}", lambda k: (k + shift) % modulus

    def place(self) -> Place:
        kind = self.pick(0, 4)
        if kind < 2:
            text, row = self.remainder(self.round)
            return Place("C", f"C[{text}, 0, 0]", row)
        if kind == 2:
            other = self.other
            if self.pick(0, 1):
                return Place("D", f"D[{other}, 0, 0]", lambda _: other)
            return Place("D", f"D[k % {other}, 0, 0]", lambda k: k % other)
        if kind == 3:
            return Place("A", f"A[k % {ROWS}, 0, 0]", lambda k: k % ROWS)
        return Place("A", f"A[{ROWS - 1} - k % {ROWS}, 0, 0]", lambda k: ROWS - 1 - k % ROWS)

    def tile(self) -> Place:
        kind = self.pick(0, 3)
        if kind < 2:
            name = "hg"[kind]
            return Place(name, name)
        text, row = self.remainder(self.slots)
        return Place("u", f"u[{text}, :, :]", row)

    def statement(self) -> None:
        period, chosen = 1, 0
        if self.pick(0, 4) == 0:
            period, chosen = self.one_of(2, self.round), self.pick(0, 1)
            self.line(0, f"if k % {period} == {chosen}:")
        kind, tile = self.pick(0, 2), self.tile()
        source, target = (self.place(), tile) if kind == 0 else (tile, self.place())
        added = kind == 2
        if added:
            target = tile
            self.line(int(period > 1), f"T.tile.add({tile.text}, {tile.text}, 1)")
        else:
            self.line(int(period > 1), f"T.copy({source.text}, {target.text})")

        def run(rows: Rows, turn: int) -> None:
            if turn % period == chosen:
                rows[target.array][target.at(turn)] = rows[source.array][source.at(turn)] + added

        self.steps.append(run)

    def arguments(self) -> list[Any]:
        random = np.random.default_rng(self.round)
        tensors = [
            random.integers(-99, 99, (rows, 8, 8)).astype(np.int32)
            for rows in (ROWS, self.round, self.other + 1)
        ]
        return [*tensors, MOST_TURNS]

    def expected(self, arguments: list[Any]) -> list[Any]:
        tiles = {"h": np.full((8, 8), 1), "g": np.full((8, 8), 2)}
        slots = {"u": np.full((self.slots, 8, 8), 3)}
        rows: Rows = dict(zip("ACD", (each.copy() for each in arguments[:3]), strict=True))
        rows |= tiles | slots
        for turn in range(self.turns or arguments[3]):
            for step in self.steps:
                step(rows, turn)
        return [rows[name] for name in "ACD"]


def removals_of(number: int, folder: Path, most: int | None = None) -> Removals:
    """AssertionError: the numbers aren't NumPy's, or something has no order."""
    kernel = RingKernel(Dice(SEED + number), f"ring{number}")
    made = load_kernel(kernel.source, folder, kernel.name)
    subject = Subject.of(made.capture(), CONFIGS, folder)
    arguments = kernel.arguments()
    host, meant = ([*(a.copy() for a in arguments[:3]), arguments[3]] for _ in range(2))
    _runtime.Kernel(str(subject.library), subject.manifest, None)(*host)
    interpret(made, *meant)
    for found in (host, meant):
        for array, expected in zip(found, kernel.expected(arguments), strict=False):
            np.testing.assert_array_equal(array, expected)
    return subject.removals(arguments, most)


def report_removals(removals_of: Callable[[int, Path], Removals], numbers: range) -> int:
    """Says what fails, and how many removals there were; 1 if something fails."""
    os.environ["TILEWRIGHT_ASCEND_EXIT"] = "0"
    failed = removed = inserted = needless = 0
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = removals_of(number, Path(folder))
            except Exception as problem:  # all are tried
                print(f"{number}: {type(problem).__name__}: {problem}", flush=True)
                failed += 1
                continue
        removed += len(found.host)
        inserted += len(found.inserted)
        lines = [f"the host alone reports {line}" for line in found.missed()]
        lines += [f"the checker alone reports {line}" for line in found.needless()]
        unneeded = [text for text, is_needed in found.inserted.items() if not is_needed]
        needless += len(unneeded)
        for line in [*lines, *(f"no run misses {text}" for text in unneeded)]:
            print(f"{number}: {line}", flush=True)
        failed += bool(lines or unneeded)
    print(
        f"{len(numbers)} kernels, {removed} removals; {inserted} flags and barriers put in, of "
        f"which no run misses {needless}; {failed} kernels failed"
    )
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="random kernels that go round rows and slots")
    parser.add_argument("--first", type=int, default=0, help="the first kernel")
    parser.add_argument("--kernels", type=int, default=100, help="how many")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.kernels)
    return report_removals(removals_of, numbers)


if __name__ == "__main__":
    sys.exit(main())
