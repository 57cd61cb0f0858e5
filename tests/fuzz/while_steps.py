# SPDX-License-Identifier: Apache-2.0
"""A step of random kernels for Ascend: `while` loops that ask for elements of tiles and tensors,
which their bodies mostly write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from random_kernels import LIMIT, NUMPY, Array, Block, Tile, window

if TYPE_CHECKING:
    from ascend_kernels import AscendGenerator

WIDTH = 16
#: Rows of a tensor that each block has for itself.
ROWS = 4


class _Left(Exception):
    """A loop, or an iteration, is left."""

    def __init__(self, all_turns: bool) -> None:
        self.all = all_turns


Run = Callable[[Block], None]
Body = list[tuple[list[str], Run]]


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


class Whiles:
    def __init__(self, generator: AscendGenerator) -> None:
        self.generator = generator
        self.pick = generator.choices.integer
        self.kernel = generator.kernel
        number = len(self.kernel.lines)
        self.tensor = f"Own{number}"
        self.count = f"turns{number}"
        dtypes = ["float32", "float32", "int32"]
        rows = self.pick(1, 5)
        self.tiles = [generator.new_tile((rows, WIDTH), generator.pick(dtypes)) for _ in range(2)]
        self.line = generator.new_tile((rows,), self.tiles[0].dtype)
        #: Both vector cores of a block would store there.
        self.has_tensor = "vid" not in self.kernel.launch
        self.depth = 0

    def emit(self) -> None:
        kernel = self.kernel
        body: Body = [self.load(tile, "0") for tile in self.tiles]
        body.append(self.reduction())
        if self.has_tensor:
            blocks = kernel.grid[0] * kernel.grid[1]
            kernel.inputs[self.tensor] = (blocks * ROWS, WIDTH)
            kernel.told.append(self.tensor)
        if self.pick(0, 2) == 0:
            body.append(self.loop())
        else:
            body.append(self.repeat())
        body += [self.work("1") for _ in range(self.pick(0, 2))]
        lines = [f'{self.count}{depth} = T.alloc_var("int32", init=0)' for depth in range(3)]

        def step(block: Block) -> None:
            for _, run in body:
                run(block)

        self.generator.emit([*lines, *(line for part, _ in body for line in part)], step)

    # What the loops ask for ----------------------------------------------------------------------

    def question(self) -> tuple[str, Callable[[Block], bool]]:
        """An element, and what it is less or more than."""
        kinds = ["tile", "tile", "tile", "line"] + ["tensor"] * self.has_tensor
        kind, bound = self.generator.pick(kinds), self.pick(-2, 5)
        more = self.pick(0, 3) == 0
        word = ">" if more else "<"
        if kind == "tensor":
            row, column = self.pick(0, ROWS - 1), self.pick(0, WIDTH - 1)
            text = f"{self.tensor}[{self.first_row()} + {row}, {column}]"

            def value(block: Block) -> float:
                return float(self.own_rows(block)[row, column])

        elif kind == "line":
            at = self.pick(0, self.line.shape[0] - 1)
            text = f"{self.line.name}[{at}]"

            def value(block: Block) -> float:
                return float(block[self.line.name][at])

        else:
            tile = self.generator.pick(self.tiles)
            row, column = self.pick(0, tile.shape[0] - 1), self.pick(0, WIDTH - 1)
            text = f"{tile.name}[{row}, {column}]"

            def value(block: Block) -> float:
                return float(block[tile.name][row, column])

        return (
            f"{text} {word} {bound}",
            lambda block: value(block) > bound if more else value(block) < bound,
        )

    def condition(self) -> tuple[str, Callable[[Block], bool]]:
        """One or two of these."""
        first, holds = self.question()
        if self.pick(0, 2):
            return first, holds
        second, also = self.question()
        if self.pick(0, 1):
            return f"{first} and {second}", lambda block: holds(block) and also(block)
        return f"({first} or {second})", lambda block: holds(block) or also(block)

    # Control flow --------------------------------------------------------------------------------

    def repeat(self) -> tuple[list[str], Run]:
        """A loop of `most` turns at most."""
        count, most = f"{self.count}{self.depth}", self.pick(1, 5)
        self.depth += 1
        asked, holds = self.condition()
        by_break = self.pick(0, 2) == 0
        body = [self.statement(count) for _ in range(self.pick(1, 4))]
        if self.pick(0, 2) == 0:
            body.append(self.exit())
            body.append(self.statement(count))
        self.depth -= 1
        head, last = f"while {count} < {most} and {asked}:", []
        if by_break:
            head, last = f"while {asked}:", [f"if {count} == {most}:", "    break"]
        elif self.pick(0, 1):
            head = f"while {asked} and {count} < {most}:"

        def run(block: Block) -> None:
            block[count] = 0
            while (by_break or block[count] < most) and holds(block):
                if by_break and block[count] == most:
                    break
                block[count] += 1
                try:
                    for _, each in body:
                        each(block)
                except _Left as left:
                    if left.all:
                        break

        inner = [*last, f"{count} = {count} + 1", *(line for part, _ in body for line in part)]
        return [f"{count} = 0", head, *_indented(inner)], run

    def loop(self) -> tuple[list[str], Run]:
        """The same in each turn of a loop."""
        trips = self.pick(1, 4)
        self.depth += 1
        body = [self.load(self.generator.pick(self.tiles), "k"), self.repeat(), self.work("k")]
        if self.pick(0, 1):
            body.insert(0, self.work("k"))
        self.depth -= 1

        def run(block: Block) -> None:
            for k in range(trips):
                block["k"] = k
                for _, each in body:
                    each(block)

        lines = [line for part, _ in body for line in part]
        return [f"for k in T.serial({trips}):", *_indented(lines)], run

    def exit(self) -> tuple[list[str], Run]:
        asked, holds = self.question()
        word = self.generator.pick(["break", "continue"])

        def run(block: Block) -> None:
            if holds(block):
                raise _Left(word == "break")

        return [f"if {asked}:", f"    {word}"], run

    def branch(self, number: str) -> tuple[list[str], Run]:
        asked, holds = self.question()
        taken, other = self.work(number), self.work(number)
        has_other = self.pick(0, 2) == 0

        def run(block: Block) -> None:
            if holds(block):
                taken[1](block)
            elif has_other:
                other[1](block)

        rest = ["else:", *_indented(other[0])] if has_other else []
        return [f"if {asked}:", *_indented(taken[0]), *rest], run

    def statement(self, number: str) -> tuple[list[str], Run]:
        kind = self.pick(0, 7)
        if kind == 0 and self.depth < 3:
            return self.repeat()
        return self.branch(number) if kind == 1 else self.work(number)

    # Work ----------------------------------------------------------------------------------------

    def work(self, number: str) -> tuple[list[str], Run]:
        kinds = [self.add, self.add, self.add_tile, self.copy, self.reduction]
        if self.has_tensor:
            kinds += [self.store, self.store, self.take]
        if self.pick(0, 8) == 0:
            return self.load(self.generator.pick(self.tiles), number)
        return self.generator.pick(kinds)()

    def load(self, tile: Tile, number: str) -> tuple[list[str], Run]:
        th, tw = self.generator.block
        down = self.pick(0, 3)

        def run(block: Block) -> None:
            row = block["by"] * th + (int(number) if number.isdigit() else block[number]) * down
            part = window(block["A"], row, block["bx"] * tw, (tile.shape[0], WIDTH))
            block[tile.name] = part.astype(NUMPY[tile.dtype])

        start = f"by * {th} + {number} * {down}, bx * {tw}"
        if tile.dtype == "float32":
            return [f"T.copy(A[{start}], {tile.name})"], run
        return [
            f"for i, j in T.Parallel({tile.shape[0]}, {WIDTH}):",
            f"    {tile.name}[i, j] = "
            f'T.cast(A[by * {th} + {number} * {down} + i, bx * {tw} + j], "{tile.dtype}")',
        ], run

    def add(self) -> tuple[list[str], Run]:
        tile, by = self.generator.pick(self.tiles), self.pick(-1, 3)

        def run(block: Block) -> None:
            value = np.clip(block[tile.name].astype(np.float64) + by, -LIMIT, LIMIT)
            block[tile.name] = value.astype(NUMPY[tile.dtype])

        number = f"{by}.0" if tile.dtype == "float32" else str(by)
        name = tile.name
        return [f"T.tile.add({name}, {name}, {number})", *self.bounds(tile)], run

    @staticmethod
    def bounds(tile: Tile) -> list[str]:
        point = ".0" if tile.dtype == "float32" else ""
        name = tile.name
        return [
            f"T.tile.min({name}, {name}, {LIMIT}{point})",
            f"T.tile.max({name}, {name}, -{LIMIT}{point})",
        ]

    def add_tile(self) -> tuple[list[str], Run]:
        target, other = self.tiles if self.pick(0, 1) else self.tiles[::-1]

        def run(block: Block) -> None:
            value = block[target.name].astype(np.float64) + block[other.name]
            block[target.name] = np.clip(value, -LIMIT, LIMIT).astype(NUMPY[target.dtype])

        element = f"{target.name}[i, j]"
        low, high = (f'T.cast({bound}, "{target.dtype}")' for bound in (-LIMIT, LIMIT))
        added = f'{element} + T.cast({other.name}[i, j], "{target.dtype}")'
        return [
            f"for i, j in T.Parallel({target.shape[0]}, {WIDTH}):",
            f"    {element} = T.min(T.max({added}, {low}), {high})",
        ], run

    def copy(self) -> tuple[list[str], Run]:
        source, target = self.tiles if self.pick(0, 1) else self.tiles[::-1]

        def run(block: Block) -> None:
            block[target.name] = block[source.name].astype(NUMPY[target.dtype])

        return [f"T.copy({source.name}, {target.name})"], run

    def reduction(self) -> tuple[list[str], Run]:
        kind, tile = self.generator.pick(["max", "min"]), self.tiles[0]

        def run(block: Block) -> None:
            block[self.line.name] = getattr(np, kind)(block[tile.name], axis=1)

        if tile.dtype != "float32":
            return [f"T.copy({tile.name}[:, 0], {self.line.name})"], lambda block: block.update(
                {self.line.name: block[tile.name][:, 0].copy()}
            )
        return [f"T.reduce_{kind}({tile.name}, {self.line.name}, dim=1)"], run

    def first_row(self) -> str:
        return f"(by * {self.kernel.grid[0]} + bx) * {ROWS}"

    def own_rows(self, block: Block) -> Array:
        at = (block["by"] * self.kernel.grid[0] + block["bx"]) * ROWS
        rows: Array = block[self.tensor][at : at + ROWS]
        return rows

    def store(self) -> tuple[list[str], Run]:
        tile, row = self.tiles[0], self.pick(0, ROWS - 1)
        of = self.pick(0, tile.shape[0] - 1)

        def run(block: Block) -> None:
            self.own_rows(block)[row] = block[tile.name][of].astype(np.float32)

        target = f"{self.tensor}[{self.first_row()} + {row}, "
        if tile.dtype == "float32":
            return [f"T.copy({tile.name}[{of}, :], {target}:])"], run
        value = f'T.cast({tile.name}[{of}, j], "float32")'
        return [f"for j in T.Parallel({WIDTH}):", f"    {target}j] = {value}"], run

    def take(self) -> tuple[list[str], Run]:
        tile, row = self.tiles[0], self.pick(0, ROWS - 1)
        to = self.pick(0, tile.shape[0] - 1)

        def run(block: Block) -> None:
            block[tile.name] = block[tile.name].copy()
            block[tile.name][to] = self.own_rows(block)[row].astype(NUMPY[tile.dtype])

        source = f"{self.tensor}[{self.first_row()} + {row}, "
        if tile.dtype == "float32":
            return [f"T.copy({source}:], {tile.name}[{to}, :])"], run
        value = f'T.cast({source}j], "{tile.dtype}")'
        return [f"for j in T.Parallel({WIDTH}):", f"    {tile.name}[{to}, j] = {value}"], run


def whiles_of_elements(generator: AscendGenerator) -> None:
    Whiles(generator).emit()
