# SPDX-License-Identifier: Apache-2.0
"""A step of random kernels for Ascend: loops whose length an argument gives, also of no turn, with
branches on the number of a turn, exits and loops within, over work of both kinds of core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from random_kernels import LIMIT, Array, Block, window

if TYPE_CHECKING:
    from ascend_kernels import AscendGenerator

SIDE = 16
PARTS = 3
#: The counter of a flag between cores ends at 15.
LENGTHS = (0, 1, 2, 5, 18)


class _Left(Exception):
    """A turn that ends early; `all`: the loop, too."""

    def __init__(self, all_turns: bool) -> None:
        self.all = all_turns


Action = Callable[[Block, dict[str, int]], None]


@dataclass
class Body:
    """Lines of a kernel, and what they do."""

    lines: list[str] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)

    def add(self, lines: list[str], action: Action) -> None:
        self.lines += lines
        self.actions.append(action)

    def indented(self) -> list[str]:
        return ["    " + line for line in self.lines]

    def run(self, block: Block, names: dict[str, int]) -> None:
        for action in self.actions:
            action(block, names)


def _value(text: str, names: dict[str, int]) -> Any:  # noqa: ANN401
    return eval(text, {}, names)


class Loops:
    """Tiles: `s`, which everything changes, `x` from tensors, `y` from the cube core."""

    def __init__(self, generator: AscendGenerator) -> None:
        self.generator = generator
        self.pick = generator.choices.integer
        self.number = len(generator.kernel.lines)
        self.made = 0
        kernel = generator.kernel
        self.argument, self.inner_argument = (f"n{self.number}", f"m{self.number}")
        kernel.numbers[self.argument] = tuple(generator.pick(list(LENGTHS)) for _ in range(3))
        kernel.numbers[self.inner_argument] = tuple(self.pick(0, 3) for _ in range(3))
        self.parts, self.own = f"Parts{self.number}", f"Rows{self.number}"
        blocks = kernel.grid[0] * kernel.grid[1]
        kernel.inputs[self.parts] = (PARTS, SIDE, SIDE)
        kernel.halves.append(self.parts)
        kernel.inputs[self.own] = (blocks * PARTS * SIDE, SIDE)
        self.s, self.x, self.y, self.h = (
            generator.new_tile((SIDE, SIDE), dtype)
            for dtype in ("float32", "float32", "float32", "float16")
        )
        self.left, self.right, self.product = (
            f"{name}{self.number}" for name in ("left", "right", "product")
        )

    def name(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.number}_{self.made}"

    def step(self) -> None:
        body = Body()
        self.start(body)
        self.loop(body, [], 0)
        if self.pick(0, 1):
            self.work(body, [])
        if self.pick(0, 2) == 0:
            self.loop(body, [], 0)
        for number, tile in enumerate((self.s, self.x, self.y)):
            self.keep(body, tile.name, str(number))
        numbers = (self.argument, self.inner_argument)

        def run(block: Block) -> None:
            block[self.product] = None
            body.run(block, {name: block[name] for name in ("bx", "by", *numbers)})

        self.generator.emit(body.lines, run)

    def start(self, body: Body) -> None:
        def fill(block: Block, _: dict[str, int]) -> None:
            for tile in (self.s, self.x, self.y):
                block[tile.name] = np.full((SIDE, SIDE), 1.0)
            block[self.left] = block[self.right] = block[self.parts][0].astype(np.float64)
            block[self.product] = block[self.left] @ block[self.right]
            block[self.h.name] = np.full((SIDE, SIDE), 1.0)

        body.add(
            [
                f'{self.left} = T.alloc_shared(({SIDE}, {SIDE}), "float16")',
                f'{self.right} = T.alloc_shared(({SIDE}, {SIDE}), "float16")',
                f'{self.product} = T.alloc_fragment(({SIDE}, {SIDE}), "float32")',
                *(f"T.tile.fill({tile.name}, 1.0)" for tile in (self.s, self.x, self.y, self.h)),
                f"T.copy({self.parts}[0, 0, 0], {self.left})",
                f"T.copy({self.parts}[0, 0, 0], {self.right})",
                f"T.gemm_v0({self.left}, {self.right}, {self.product}, init=True)",
            ],
            fill,
        )

    # Control flow --------------------------------------------------------------------------------

    def loop(self, body: Body, around: list[tuple[str, str]], depth: int) -> None:
        variable = self.name("k")
        if around:
            length = self.generator.pick(["2", self.inner_argument, self.inner_argument])
        else:
            n = self.argument
            length = self.generator.pick([n, n, f"{n} - bx", str(self.generator.pick([0, 3, 17]))])
        kind = self.generator.pick(["serial", "serial", "serial", "Pipelined", "Persistent"])
        inner = Body()
        loops = [*around, (variable, length)]
        for _ in range(self.pick(1, 3)):
            self.statement(inner, loops, depth + 1)
        # The others aren't left early.
        if kind == "serial" and self.pick(0, 2) == 0:
            self.exit(inner, loops)
            self.statement(inner, loops, depth + 1)
        words = {
            "serial": f"serial({length})",
            "Pipelined": f"Pipelined({length}, num_stages={self.pick(1, 3)})",
            "Persistent": f"Persistent([{length}], 1, 0)",
        }[kind]

        def run(block: Block, names: dict[str, int]) -> None:
            for turn in range(_value(length, names)):
                try:
                    inner.run(block, names | {variable: turn})
                except _Left as left:
                    if left.all:
                        break

        body.add([f"for {variable} in T.{words}:", *inner.indented()], run)

    def condition(self, loops: list[tuple[str, str]]) -> str:
        if not loops:
            return self.generator.pick(["bx < 1", f"{self.argument} > 1"])
        k, length = self.generator.pick(loops)
        return self.generator.pick(
            [
                f"{k} % 3 == 1",
                f"{k} % 2 == 0",
                f"{k} >= 2",
                f"{k} == 0",
                f"{k} < {length} - 1",
                f"{k} == {length} - 1",
                f"{k} >= {self.inner_argument}",
                f"{k} < {self.inner_argument}",
                "bx < 1",
                f"{self.argument} > 1",
            ]
        )

    def branch(self, body: Body, loops: list[tuple[str, str]], depth: int) -> None:
        asked = self.condition(loops)
        taken, other = Body(), Body()
        for _ in range(self.pick(1, 2)):
            self.statement(taken, loops, depth + 1)
        if self.pick(0, 3) == 0:
            self.statement(other, loops, depth + 1)
        rest = ["else:", *other.indented()] if other.lines else []

        def run(block: Block, names: dict[str, int]) -> None:
            (taken if _value(asked, names) else other).run(block, names)

        body.add([f"if {asked}:", *taken.indented(), *rest], run)

    def exit(self, body: Body, loops: list[tuple[str, str]]) -> None:
        asked = self.condition(loops)
        word = self.generator.pick(["break", "continue"])

        def run(_: Block, names: dict[str, int]) -> None:
            if _value(asked, names):
                raise _Left(word == "break")

        body.add([f"if {asked}:", f"    {word}"], run)

    def statement(self, body: Body, loops: list[tuple[str, str]], depth: int) -> None:
        kind = self.pick(0, 9)
        if kind < 2 and depth < 3:
            self.branch(body, loops, depth)
        elif kind == 2 and len(loops) < 2 + (self.pick(0, 2) == 0):
            self.loop(body, loops, depth)
        else:
            self.work(body, loops)

    # Work ----------------------------------------------------------------------------------------

    def work(self, body: Body, loops: list[tuple[str, str]]) -> None:
        number = self.generator.pick(loops)[0] if loops else str(self.pick(0, 2))
        self.generator.pick(
            [self.add, self.load, self.multiply, self.fetch, self.square, self.give, self.take]
        )(body, number)

    def add(self, body: Body, _: str) -> None:
        """Of another tile, or of a number."""
        other = self.generator.pick([self.x, self.y, None])
        by = self.pick(-2, 2)
        s = f"{self.s.name}[i, j]"
        added = f"{s} + {other.name}[i, j]" if other else f"{s} + T.float32({by})"

        def run(block: Block, _: dict[str, int]) -> None:
            value = block[self.s.name] + (block[other.name] if other else by)
            block[self.s.name] = np.clip(value, -LIMIT, LIMIT)

        body.add(
            [
                f"for i, j in T.Parallel({SIDE}, {SIDE}):",
                f"    {s} = T.min(T.max({added}, T.float32(-{LIMIT})), T.float32({LIMIT}))",
            ],
            run,
        )

    def load(self, body: Body, number: str) -> None:
        th, tw = self.generator.block
        down = self.pick(0, 2)

        def run(block: Block, names: dict[str, int]) -> None:
            row = block["by"] * th + _value(number, names) * down
            block[self.x.name] = window(block["A"], row, block["bx"] * tw, (SIDE, SIDE)).astype(
                np.float64
            )

        body.add(
            [f"T.copy(A[by * {th} + {number} * {down}, bx * {tw}], {self.x.name})"],
            run,
        )

    def multiply(self, body: Body, number: str) -> None:
        def run(block: Block, names: dict[str, int]) -> None:
            left = block[self.parts][_value(number, names) % PARTS].astype(np.float64)
            block[self.left] = left
            block[self.product] = left @ block[self.right]

        body.add(
            [
                f"T.copy({self.parts}[{number} % {PARTS}, 0, 0], {self.left})",
                f"T.gemm_v0({self.left}, {self.right}, {self.product}, init=True)",
            ],
            run,
        )

    def fetch(self, body: Body, _: str) -> None:
        def run(block: Block, _: dict[str, int]) -> None:
            block[self.y.name] = block[self.product].copy()

        body.add([f"T.copy({self.product}, {self.y.name})"], run)

    def square(self, body: Body, _: str) -> None:
        """What the vector cores have made is multiplied."""

        def run(block: Block, _: dict[str, int]) -> None:
            block[self.h.name] = block[self.left] = block[self.s.name].copy()
            block[self.product] = block[self.left] @ block[self.right]

        body.add(
            [
                f"T.copy({self.s.name}, {self.h.name})",
                f"T.copy({self.h.name}, {self.left})",
                f"T.gemm_v0({self.left}, {self.right}, {self.product}, init=True)",
            ],
            run,
        )

    def place(self, number: str) -> str:
        block = f"(by * {self.generator.kernel.grid[0]} + bx)"
        return f"{self.own}[({block} * {PARTS} + {number} % {PARTS}) * {SIDE}, 0]"

    def rows(self, block: Block, number: int) -> Array:
        at = (block["by"] * self.generator.kernel.grid[0] + block["bx"]) * PARTS + number % PARTS
        rows: Array = block[self.own][at * SIDE : (at + 1) * SIDE]
        return rows

    def give(self, body: Body, number: str) -> None:
        """A tile, or a product, to rows of a tensor that are the block's own."""
        self.keep(body, self.generator.pick([self.s.name, self.product]), number)

    def keep(self, body: Body, source: str, number: str) -> None:
        def run(block: Block, names: dict[str, int]) -> None:
            self.rows(block, _value(number, names))[...] = block[source]

        body.add([f"T.copy({source}, {self.place(number)})"], run)

    def take(self, body: Body, number: str) -> None:
        def run(block: Block, names: dict[str, int]) -> None:
            block[self.x.name] = self.rows(block, _value(number, names)).astype(np.float64)

        body.add([f"T.copy({self.place(number)}, {self.x.name})"], run)


def loops(generator: AscendGenerator) -> None:
    Loops(generator).step()
