# SPDX-License-Identifier: Apache-2.0
"""Random small Ascend kernels that read and write single elements of tensors beside copies of their
rows, in nested loops: NumPy's numbers from the host and the interpreter, and each flag that the
compiler has put in is missed.

    python tests/fuzz/element_kernels.py --first 100 --kernels 300
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "ascend")]
from ascend_cases import CONFIGS, Dice, DrawnText, load_kernel  # noqa: E402
from ring_kernels import report_removals  # noqa: E402
from verdicts import Removals, Subject  # noqa: E402

from tilewright import _runtime  # noqa: E402
from tilewright.testing import interpret  # noqa: E402

SEED = 20261211
OUTER, INNER, WIDTH = 4, 3, 32
HEAD = """import tilewright.language as T
@T.prim_func
def {name}(
    A: T.Tensor(({outer}, {inner}, {width}), "int32"),
    C: T.Tensor(({outer}, {inner}, {width}), "int32"),
    D: T.Tensor((64,), "int32"),
    n: T.int32,
):
    with T.Kernel(1, threads=1, is_npu=True) as _:
        h = T.alloc_ub((16,), "int32")
        g = T.alloc_ub((16,), "int32")
        T.tile.fill(h, 1)
        T.tile.fill(g, 2)
        for i in T.serial({turns}):
            for j in T.serial({inner}):
"""
#: Numbers of a row, as text and for NumPy.
PLANES: list[tuple[str, Callable[[int], int]]] = [
    ("i", lambda i: i),
    ("i", lambda i: i),
    ("(i * 2) % 4", lambda i: i * 2 % 4),
    ("(i + 1) % 4", lambda i: (i + 1) % 4),
    ("i ^ 1", lambda i: i ^ 1),
    ("3 - i", lambda i: 3 - i),
    ("i % 2", lambda i: i % 2),
    ("2", lambda _: 2),
]
ROWS: list[tuple[str, Callable[[int], int]]] = [
    ("j", lambda j: j),
    ("j", lambda j: j),
    ("2 - j", lambda j: 2 - j),
    ("j % 2", lambda j: j % 2),
    ("1", lambda _: 1),
]
Arrays = dict[str, np.ndarray[Any, Any]]
Number = Callable[[Arrays, int, int], Any]


class ElementKernel(DrawnText):
    def __init__(self, dice: Dice, name: str) -> None:
        super().__init__(dice)
        self.name = name
        self.turns = self.one_of(0, 4, 4, 2)
        self.steps: list[Callable[[Arrays, int, int], None]] = []
        #: Some lie in the outer loop, behind the inner one.
        self.ends: list[Callable[[Arrays, int, int], None]] = []
        for _ in range(self.pick(2, 5)):
            self.statement(0, self.steps)
        for _ in range(self.pick(0, 2)):
            self.statement(-1, self.ends)

    @property
    def source(self) -> str:
        sizes = {"outer": OUTER, "inner": INNER, "width": WIDTH, "turns": self.turns or "n"}
        head = HEAD.format(name=self.name, **sizes)
        return head + "".join(" " * 16 + line + "\n" for line in self.lines).replace(
            " " * 16 + "@", " " * 12
        )

    def place(self, depth: int) -> tuple[str, str, Callable[[int, int], tuple[int, int]]]:
        """A row of a tensor; in the outer loop one that `j` doesn't choose."""
        plane, at_plane = self.one_of(*PLANES)
        row, at_row = self.one_of(*(ROWS if depth == 0 else ROWS[-1:]))
        return self.one_of("A", "C"), f"{plane}, {row}", lambda i, j: (at_plane(i), at_row(j))

    def element(self, depth: int) -> tuple[str, Number, Callable[[Arrays, int, int, Any], None]]:
        """As text, its number, and what gives it one."""
        if self.pick(0, 3) == 0:
            at = self.pick(0, 40)
            return (
                f"D[{at}]",
                lambda arrays, _i, _j: arrays["D"][at],
                lambda arrays, _i, _j, number: arrays["D"].__setitem__(at, number),
            )
        tensor, row, where = self.place(depth)
        x = self.pick(0, WIDTH - 1)
        return (
            f"{tensor}[{row}, {x}]",
            lambda arrays, i, j: arrays[tensor][(*where(i, j), x)],
            lambda arrays, i, j, number: arrays[tensor].__setitem__((*where(i, j), x), number),
        )

    def statement(self, depth: int, steps: list[Callable[[Arrays, int, int], None]]) -> None:
        mark = "@" if depth < 0 else ""
        kind, tile = self.pick(0, 5), self.one_of("h", "g")
        tensor, row, where = self.place(depth)
        begin = 16 * self.pick(0, 1)
        part = f"{tensor}[{row}, {begin} : {begin + 16}]"
        if kind == 0:
            self.line(0, f"{mark}T.copy({part}, {tile})")

            def run(arrays: Arrays, i: int, j: int) -> None:
                arrays[tile][:] = arrays[tensor][where(i, j)][begin : begin + 16]

        elif kind == 1:
            self.line(0, f"{mark}T.copy({tile}, {part})")

            def run(arrays: Arrays, i: int, j: int) -> None:
                arrays[tensor][where(i, j)][begin : begin + 16] = arrays[tile]

        elif kind == 2:
            self.line(0, f"{mark}T.tile.add({tile}, {tile}, 1)")

            def run(arrays: Arrays, _i: int, _j: int) -> None:
                arrays[tile] += 1

        else:
            target, _, store = self.element(depth)
            source, number, _ = self.element(depth)
            by = self.pick(-2, 3)
            self.line(
                0, f"{mark}{target} = {source} + {by}" if kind < 5 else f"{mark}{target} = {by}"
            )

            def run(arrays: Arrays, i: int, j: int) -> None:
                store(arrays, i, j, number(arrays, i, j) + by if kind < 5 else by)

        steps.append(run)

    def arguments(self, turns: int = 3) -> list[Any]:
        random = np.random.default_rng(turns)
        shapes = ((OUTER, INNER, WIDTH), (OUTER, INNER, WIDTH), (64,))
        return [*(random.integers(-99, 99, shape).astype(np.int32) for shape in shapes), turns]

    def expected(self, arguments: list[Any]) -> list[Any]:
        arrays: Arrays = dict(zip("ACD", (each.copy() for each in arguments[:3]), strict=True))
        arrays |= {"h": np.full(16, 1, np.int32), "g": np.full(16, 2, np.int32)}
        for i in range(self.turns or arguments[3]):
            for j in range(INNER):
                for step in self.steps:
                    step(arrays, i, j)
            for step in self.ends:
                step(arrays, i, 0)
        return [arrays[name] for name in "ACD"]


def removals_of(number: int, folder: Path, most: int | None = None) -> Removals:
    """AssertionError: the numbers aren't NumPy's, or something has no order."""
    kernel = ElementKernel(Dice(SEED + number), f"elements{number}")
    made = load_kernel(kernel.source, folder, kernel.name)
    subject = Subject.of(made.capture(), CONFIGS, folder)
    arguments = kernel.arguments()
    host, meant = ([*(a.copy() for a in arguments[:3]), arguments[3]] for _ in range(2))
    _runtime.Kernel(str(subject.library), subject.manifest, None)(*host)
    interpret(made, *meant)
    for found in (host, meant):
        for array, expected in zip(found, kernel.expected(arguments), strict=False):
            np.testing.assert_array_equal(array, expected)
    also = [kernel.arguments(OUTER)] if kernel.turns == 0 else []
    return subject.removals(arguments, most, also=also)


def main() -> int:
    parser = argparse.ArgumentParser(description="random kernels with elements beside copies")
    parser.add_argument("--first", type=int, default=0, help="the first kernel")
    parser.add_argument("--kernels", type=int, default=100, help="how many")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.kernels)
    return report_removals(removals_of, numbers)


if __name__ == "__main__":
    sys.exit(main())
