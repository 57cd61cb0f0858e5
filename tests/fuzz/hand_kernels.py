# SPDX-License-Identifier: Apache-2.0
"""Random small Ascend kernels whose flags are set by hand, with branches and `while` loops that ask
for elements: the interpreter's numbers on the host, and of each synchronisation that is taken out
the checker says what the host says.

    python tests/fuzz/hand_kernels.py --first 100 --kernels 300
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
from ascend_cases import Dice, load_kernel  # noqa: E402
from verdicts import Removals, Subject  # noqa: E402

from tilewright import _compiler, _runtime  # noqa: E402

SEED = 20261130
ROWS, WIDTH = 6, 16
MACRO = """
@T.macro
def {name}(asked):
    T.wait_flag("v", "s", {event})
    return asked[{element}] < {bound}
"""
HEAD = """import tilewright.language as T
{macros}
@T.prim_func
def {name}(A: T.Tensor(({rows}, {width}), "int32"), C: T.Tensor(({rows}, {width}), "int32")):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        x = T.alloc_ub(({width},), "int32")
        y = T.alloc_ub(({width},), "int32")
"""


class HandKernel:
    """After each statement the scalar unit knows that it is over, by a flag or a barrier; what
    stands behind that is issued by it, so everything is in order."""

    def __init__(self, dice: Dice, name: str) -> None:
        self.dice = dice
        self.name = name
        self.macros: list[str] = []
        self.lines: list[str] = []
        self.loops = 0
        for tile in ("x", "y"):
            self.add(0, f"T.copy(A[{self.pick(0, ROWS - 1)}, :], {tile})", "mte2")
        self.repeat(0, 0)
        for _ in range(self.pick(1, 3)):
            self.statement(0, 1)
        self.add(0, f"T.copy({self.tile()}, C[{self.pick(0, ROWS - 1)}, :])", "mte3")

    @property
    def source(self) -> str:
        head = HEAD.format(macros="".join(self.macros), name=self.name, rows=ROWS, width=WIDTH)
        counts = [f'n{loop} = T.alloc_var("int32", init=0)' for loop in range(self.loops)]
        return head + "".join(" " * 8 + line + "\n" for line in [*counts, *self.lines])

    def pick(self, low: int, high: int) -> int:
        return self.dice.integer(low, high)

    def tile(self) -> str:
        return "xy"[self.pick(0, 1)]

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def add(self, depth: int, text: str, pipe: str, *, waits: bool = True) -> None:
        self.line(depth, text)
        if not waits:
            return
        if pipe == "s" or self.pick(0, 3) == 0:
            self.line(depth, "T.barrier_all()")
        else:
            event = self.pick(0, 2)
            self.line(depth, f'T.set_flag("{pipe}", "s", {event})')
            self.line(depth, f'T.wait_flag("{pipe}", "s", {event})')

    def question(self) -> str:
        sign = "<" if self.pick(0, 2) else ">"
        return f"{self.tile()}[{self.pick(0, WIDTH - 1)}] {sign} {self.pick(-1, 6)}"

    def work(self, depth: int) -> None:
        tile, other, row = self.tile(), self.tile(), self.pick(0, ROWS - 1)
        kind = self.pick(0, 6)
        if kind == 0:
            self.add(depth, f"T.copy(A[{row}, :], {tile})", "mte2")
        elif kind == 1:
            self.add(depth, f"T.copy({tile}, C[{row}, :])", "mte3")
        elif kind == 2:
            at = self.pick(0, WIDTH - 1)
            self.add(depth, f"{tile}[{at}] = {tile}[{at}] + 1", "s")
        elif kind == 3:
            self.add(depth, f"T.tile.max({tile}, {tile}, {other})", "v")
        else:
            self.add(depth, f"T.tile.add({tile}, {tile}, {self.pick(-1, 3)})", "v")

    def statement(self, depth: int, level: int) -> None:
        kind = self.pick(0, 7)
        if kind == 0 and level < 3:
            self.line(depth, f"if {self.question()}:")
            for _ in range(self.pick(1, 2)):
                self.statement(depth + 1, level + 1)
        elif kind == 1 and level < 3:
            self.repeat(depth, level)
        else:
            self.work(depth)

    def repeat(self, depth: int, level: int) -> None:
        """A loop of `most` turns at most, which counts them; what it asks may wait by itself."""
        number, most = self.loops, self.pick(2, 4)
        self.loops += 1
        event = 5 - number if number < 3 and self.pick(0, 1) else None
        count = f"n{number}"
        self.line(depth, f"{count} = 0")
        held: list[str] = []
        if event is not None:
            macro = f"{self.name}_asks{number}"
            self.macros.append(
                MACRO.format(
                    name=macro,
                    event=event,
                    element=self.pick(0, WIDTH - 1),
                    bound=self.pick(0, 8),
                )
            )
            held = [f'T.set_flag("v", "s", {event})']
            self.line(depth, held[0])
            self.line(depth, f"while {macro}({self.tile()}):")
        else:
            self.line(depth, f"while {self.question()}:")
        inner = depth + 1
        self.line(inner, f"if {count} == {most}:")
        self.line(inner + 1, "break")
        self.line(inner, f"{count} = {count} + 1")
        for _ in range(self.pick(0, 2)):
            self.statement(inner, level + 1)
        if self.pick(0, 2) == 0:
            word = "continue" if self.pick(0, 1) else "break"
            self.line(inner, f"if {self.question()}:")
            for each in held if word == "continue" else []:
                self.line(inner + 1, each)
            self.line(inner + 1, word)
        tile, by = self.tile(), self.pick(-1, 3)
        self.add(inner, f"T.tile.add({tile}, {tile}, {by})", "v", waits=not held)
        for each in held:
            self.line(inner, each)


def arguments_of(number: int) -> Iterator[list[Any]]:
    random = np.random.default_rng(SEED + number)
    for _ in range(6):
        rows = random.integers(-2, 8, (ROWS, WIDTH)).astype(np.int32)
        yield [rows, np.zeros((ROWS, WIDTH), np.int32)]


def removals_of(number: int, folder: Path, most: int | None = None) -> Removals:
    """AssertionError: the host's numbers aren't the interpreter's, or something has no order."""
    kernel = HandKernel(Dice(SEED + number), f"hand{number}")
    captured = load_kernel(kernel.source, folder, kernel.name).capture()
    subject = Subject.of(captured, {}, folder)
    loaded = _runtime.Kernel(str(subject.library), subject.manifest, None)
    runs = list(arguments_of(number))
    for arguments in runs:
        host, meant = ([array.copy() for array in arguments] for _ in range(2))
        loaded(*host)
        bound = [(array.ctypes.data, list(array.shape), []) for array in meant]
        _, found = _compiler.interpret(captured.module, bound)  # type: ignore[arg-type]
        assert [d.message for d in found] == []
        np.testing.assert_array_equal(host[1], meant[1])
    return subject.removals(runs[0], most, also=runs[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description="random kernels with flags set by hand")
    parser.add_argument("--first", type=int, default=0, help="the first kernel")
    parser.add_argument("--kernels", type=int, default=100, help="how many")
    options = parser.parse_args()
    os.environ["TILEWRIGHT_ASCEND_EXIT"] = "0"
    failed = removed = neither = left = 0
    for number in range(options.first, options.first + options.kernels):
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = removals_of(number, Path(folder))
            except Exception as problem:  # all are tried
                print(f"{number}: {type(problem).__name__}: {problem}", flush=True)
                failed += 1
                continue
        removed += len(found.host)
        neither += len(found.neither())
        left += len(found.left_to_host)
        for who, lines in (("host", found.missed()), ("checker", found.needless())):
            for line in lines:
                print(f"{number}: the {who} alone reports {line}", flush=True)
            failed += bool(lines)
    print(
        f"{options.kernels} kernels, {removed} removals, of which neither reports {neither} and "
        f"{left} are left to the host; {failed} kernels failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
