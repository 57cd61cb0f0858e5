# SPDX-License-Identifier: Apache-2.0
"""A step of random kernels for Ascend: `while` loops whose turns variables count, one after the
other or in each other, over tiles in turn; variables are set back within turns and around loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from random_kernels import LIMIT, Array, Block, window

if TYPE_CHECKING:
    from ascend_kernels import AscendGenerator

WIDTH = 16
#: Rows of a tensor that each block has for itself.
ROWS = 4
#: A line of the kernel, and of the same in Python.
Lines = list[tuple[str, str]]


def _indented(lines: Lines) -> Lines:
    return [("    " + line, "    " + own) for line, own in lines]


def _both(*lines: str) -> Lines:
    return [(line, line) for line in lines]


class Counters:
    def __init__(self, generator: AscendGenerator) -> None:
        self.generator = generator
        self.pick = generator.choices.integer
        kernel = self.kernel = generator.kernel
        number = len(kernel.lines)
        self.slots = self.pick(2, 4)
        self.x, self.y = (generator.new_tile((self.slots, WIDTH), "float32") for _ in range(2))
        self.counts = [f"count{number}_{depth}" for depth in range(3)]
        self.ring = f"ring{number}"
        self.is_set_back_first = self.pick(0, 1) == 1
        self.argument = f"n{number}"
        kernel.numbers[self.argument] = tuple(generator.pick([0, 1, 2, 3, 5]) for _ in range(3))
        #: Both vector cores of a block would store there.
        self.has_tensor = "vid" not in kernel.launch
        self.tensor = f"Own{number}"
        #: By name of what counts: what its numbers lie below; of the loops around.
        self.open: dict[str, int] = {}

    def emit(self) -> None:
        kernel = self.kernel
        if self.has_tensor:
            kernel.inputs[self.tensor] = (kernel.grid[0] * kernel.grid[1] * ROWS, WIDTH)
            kernel.told.append(self.tensor)
        names = [*self.counts, self.ring]
        lines: Lines = []
        for _ in range(self.pick(2, 4)):
            lines += self.loop(0) if self.pick(0, 3) else self.work()
        text = "\n".join([f"{name} = 0" for name in names] + [own for _, own in lines])
        code = compile(text, "counters", "exec")

        def step(block: Block) -> None:
            for tile in (self.x, self.y):
                block[tile.name] = np.full((self.slots, WIDTH), 1.0, np.float32)
            exec(code, {"do": Work(self, block), self.argument: block[self.argument]})

        self.generator.emit(
            [
                *(f'{name} = T.alloc_var("int32", init=0)' for name in names),
                *(f"T.tile.fill({tile.name}, 1.0)" for tile in (self.x, self.y)),
                *(line for line, _ in lines),
            ],
            step,
        )

    # Control flow --------------------------------------------------------------------------------

    def body(self, depth: int) -> Lines:
        lines: Lines = []
        for _ in range(self.pick(1, 3)):
            kind = self.pick(0, 9)
            if kind < 3 and depth < 2:
                lines += self.loop(depth + 1)
            elif kind == 3:
                lines += [*_both(f"if {self.question()}:"), *_indented(self.work())]
            elif kind < 6:
                lines += self.turn_of_ring()
            else:
                lines += self.work()
        return lines

    def question(self) -> str:
        asked = self.generator.pick([*self.open, self.argument])
        return f"{asked} {self.generator.pick(['==', '<', '>=', '!='])} {self.pick(0, 3)}"

    def loop(self, depth: int) -> Lines:
        if self.pick(0, 4) == 0:
            turn, length = f"k{depth}", self.generator.pick(["2", "3", self.argument])
            self.open[turn] = 6 if length == self.argument else int(length)
            lines = _indented(self.body(depth))
            del self.open[turn]
            head = (f"for {turn} in T.serial({length}):", f"for {turn} in range({length}):")
            return [head, *lines]
        return self.repeat(depth)

    def repeat(self, depth: int) -> Lines:
        """A `while`. What it counts it goes on with, or begins anew before or behind it."""
        count, turns = self.counts[depth], self.pick(0, 4)
        kind = self.generator.pick(["up", "up", "up", "up to n", "down", "not equal"])
        start, step = self.pick(0, 2), 1 if kind == "not equal" else self.pick(1, 2)
        before, behind = _both(f"{count} = {start}"), _both()
        head, most = f"{count} < {start + turns}", start + turns + step
        if kind == "up" and self.pick(0, 3) == 0:
            before, behind = (_both(), _both(f"{count} = 0")) if self.pick(0, 1) else ([], [])
            head, most = f"{count} <= {turns}", turns + step + 1
        elif kind == "up to n":
            head, most = f"{count} < {self.argument}", 6 + step
        elif kind == "down":
            before, head = _both(f"{count} = {turns + 1}"), f"{count} > 1"
            step, most = -step, turns + 2
        elif kind == "not equal":
            head = f"{count} != {start + turns}"
        if self.pick(0, 4) == 0:
            element = f"{self.y.name}[0, {self.pick(0, WIDTH - 1)}]", self.pick(-1, 6)
            asked = [f"{element[0]} < {element[1]}", f"do.{element[0]} < {element[1]}"]
        else:
            more = f"{self.argument} > {self.pick(0, 2)}"
            asked = [more, more] if self.pick(0, 4) == 0 else []
        heads = [f"while {head} and {each}:" for each in asked] or 2 * [f"while {head}:"]
        is_cut_short = kind == "up" and self.pick(0, 3) == 0
        self.open[count] = 10 if is_cut_short else most
        lines = self.body(depth)
        by = _both(f"{count} = {count} {'+' if step > 0 else '-'} {abs(step)}")
        is_first = self.pick(0, 1) == 0
        exits = ["break", "continue"] if is_first else ["break"]
        if is_cut_short:
            exits = [f"{count} = 9"]
        leave = _both(f"if {self.question()}:", f"    {self.generator.pick(exits)}")
        if is_cut_short or self.pick(0, 3) == 0:
            lines = [*leave, *lines] if self.pick(0, 1) else [*lines, *leave]
        lines = [*by, *lines] if is_first else [*lines, *by]
        del self.open[count]
        return [*before, (heads[0], heads[1]), *_indented(lines), *behind]

    def turn_of_ring(self) -> Lines:
        back = _both(f"if {self.ring} == {self.slots}:", f"    {self.ring} = 0")
        on = _both(f"{self.ring} = {self.ring} + 1")
        work = self.work(self.ring)
        return [*back, *work, *on] if self.is_set_back_first else [*work, *on, *back]

    # Work ----------------------------------------------------------------------------------------

    def slot(self) -> str:
        chosen = self.generator.pick([*self.open, *self.open, str(self.pick(0, self.slots - 1))])
        low = self.open.get(chosen, 0) <= self.slots
        return chosen if low else f"{chosen} % {self.slots}"

    def work(self, slot: str | None = None) -> Lines:
        kinds = ["load", "load", "add", "add", "copy"] + 2 * ["store", "take"] * self.has_tensor
        to, other = slot or self.slot(), slot or self.slot()
        x, y, down = self.x.name, self.y.name, self.pick(0, 3)
        number = self.generator.pick([*self.open, str(self.pick(0, 3))])
        th, tw = self.generator.block
        columns = self.kernel.grid[0]
        own = f"{self.tensor}[(by * {columns} + bx) * {ROWS} + ({number}) % {ROWS}, :]"
        kind = self.generator.pick(kinds)
        if kind == "load":
            line = f"T.copy(A[by * {th} + {number} * {down}, bx * {tw}], {x}[{to}, :])"
            return [(line, f"do.load({number} * {down}, {to})")]
        if kind == "copy":
            return [(f"T.copy({y}[{to}, :], {x}[{other}, :])", f"do.copy({to}, {other})")]
        if kind == "store":
            return [(f"T.copy({y}[{to}, :], {own})", f"do.store({to}, {number})")]
        if kind == "take":
            return [(f"T.copy({own}, {x}[{to}, :])", f"do.take({number}, {to})")]
        lines = [
            f"T.tile.add({y}[{to}, :], {y}[{to}, :], {x}[{other}, :])",
            f"T.tile.min({y}[{to}, :], {y}[{to}, :], {LIMIT}.0)",
            f"T.tile.max({y}[{to}, :], {y}[{to}, :], -{LIMIT}.0)",
        ]
        return [(lines[0], f"do.add({to}, {other})"), *((line, "pass") for line in lines[1:])]


class Work:
    """What the statements of a block do."""

    def __init__(self, step: Counters, block: Block) -> None:
        self.step, self.block = step, block
        self.x, self.y = block[step.x.name], block[step.y.name]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return self.block[name]

    def load(self, row: int, to: int) -> None:
        th, tw = self.step.generator.block
        at = self.block["by"] * th + row, self.block["bx"] * tw
        self.x[to] = window(self.block["A"], *at, (1, WIDTH))[0]

    def add(self, to: int, other: int) -> None:
        self.y[to] = np.clip(self.y[to] + self.x[other], -LIMIT, LIMIT)

    def copy(self, source: int, to: int) -> None:
        self.x[to] = self.y[source]

    def row(self, number: int) -> Array:
        first = (self.block["by"] * self.step.kernel.grid[0] + self.block["bx"]) * ROWS
        row: Array = self.block[self.step.tensor][first + number % ROWS]
        return row

    def store(self, source: int, number: int) -> None:
        self.row(number)[...] = self.y[source]

    def take(self, number: int, to: int) -> None:
        self.x[to] = self.row(number)


def whiles_of_counters(generator: AscendGenerator) -> None:
    Counters(generator).emit()
