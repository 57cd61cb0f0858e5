# SPDX-License-Identifier: Apache-2.0
"""A step of random kernels: T.Pipelined loops in each other, in T.serial and in T.Persistent loops,
with loads before, in and behind the inner one, and results that go to the output and come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from random_kernels import LIMIT, Block, window

if TYPE_CHECKING:
    from random_kernels import Generator

DEEPEST = 3
#: What a line of the kernel does, with the numbers of the loops around it, the outermost first.
Action = Callable[[Block, tuple[int, ...]], None]


class Pipelines:
    """Tiles: `total`, to which all is added, `part`, which inner loops load, and `weight`, which
    mostly an outer one does. With `gemms`, also `square`, which sums products of these two."""

    def __init__(self, generator: Generator, *, gemms: bool, stores: bool) -> None:
        self.generator = generator
        self.pick = generator.choices.integer
        self.shape = (self.pick(1, 16), self.pick(2, 20))
        known = list(generator.tiles)
        self.part, self.weight, self.total = (
            generator.new_tile(self.shape, "float32").name for _ in range(3)
        )
        generator.tiles = [*known, generator.tiles[-1]]
        works = [self.load_part, self.load_weight, self.add, self.multiply, self.keep]
        if gemms:
            side = (self.shape[0], self.shape[0])
            self.square = generator.new_tile(side, "float32").name
            works.append(self.gemm)
        if stores:
            works += [self.put, self.take]
        self.works = works
        self.has_square = gemms
        self.lines: list[str] = []

    def step(self) -> None:
        actions: list[Action] = []
        for name in (self.part, self.weight, self.total):
            self.lines.append(f"T.fill({name}, 1.0)")
        if self.has_square:
            self.lines.append(f"T.clear({self.square})")
        self.loop(actions, 0)
        if self.pick(0, 2) == 0:
            self.loop(actions, 0)

        def run(block: Block) -> None:
            for name in (self.part, self.weight, self.total):
                block[name] = np.full(self.shape, 1.0)
            if self.has_square:
                block[self.square] = np.zeros((self.shape[0], self.shape[0]))
            for action in actions:
                action(block, ())

        self.generator.emit(self.lines, run)

    def loop(self, actions: list[Action], depth: int) -> None:
        """The innermost one is pipelined, each around it as often as not."""
        length = self.pick(0 if depth else 1, 4)
        is_innermost = depth == DEEPEST - 1 or (depth > 0 and self.pick(0, 2) > 0)
        stages = self.pick(1, 3)
        pipelined = f"Pipelined({length}, num_stages={stages})"
        others = [] if is_innermost else [f"serial({length})", f"Persistent([{length}], 1, 0)"]
        kind = self.generator.pick([pipelined, pipelined, *others])
        self.lines.append("    " * depth + f"for k{depth} in T.{kind}:")
        inside: list[Action] = []
        for _ in range(self.pick(1, 3)):
            self.work(inside, depth)
        if not is_innermost:
            self.loop(inside, depth + 1)
            for _ in range(self.pick(0, 2)):
                self.work(inside, depth)

        def run(block: Block, numbers: tuple[int, ...]) -> None:
            for k in range(length):
                for action in inside:
                    action(block, (*numbers, k))

        actions.append(run)

    def work(self, actions: list[Action], depth: int) -> None:
        work = self.generator.pick([self.load_part if depth else self.load_weight, *self.works])
        lines, action = work(depth)
        self.lines += ["    " * (depth + 1) + line for line in lines]
        actions.append(action)

    def load(self, tile: str, depth: int) -> tuple[list[str], Action]:
        """From rows that move with some of the loops."""
        steps = [self.pick(0, 3) for _ in range(depth + 1)]
        dx = self.pick(0, 4)
        th, tw = self.generator.block
        moved = "".join(f" + k{number} * {by}" for number, by in enumerate(steps))

        def run(block: Block, numbers: tuple[int, ...]) -> None:
            row = block["by"] * th + sum(k * by for k, by in zip(numbers, steps, strict=True))
            source = window(block["A"], row, block["bx"] * tw + dx, self.shape)
            block[tile] = source.astype(np.float64)

        return [f"T.copy(A[by * {th}{moved}, bx * {tw} + {dx}], {tile})"], run

    def load_part(self, depth: int) -> tuple[list[str], Action]:
        return self.load(self.part, depth)

    def load_weight(self, depth: int) -> tuple[list[str], Action]:
        return self.load(self.weight, depth)

    def nest(
        self, target: str, text: str, value: Callable[[Block, tuple[int, ...]], np.ndarray]
    ) -> tuple[list[str], Action]:
        def run(block: Block, numbers: tuple[int, ...]) -> None:
            block[target] = np.clip(value(block, numbers), -LIMIT, LIMIT)

        h, w = self.shape
        clamped = f"T.min(T.max({text}, T.float32(-{LIMIT})), T.float32({LIMIT}))"
        return [f"for i, j in T.Parallel({h}, {w}):", f"    {target}[i, j] = {clamped}"], run

    def add(self, depth: int) -> tuple[list[str], Action]:
        other = self.generator.pick([self.part, self.weight])
        times = self.pick(0, 1)

        def value(block: Block, numbers: tuple[int, ...]) -> np.ndarray:
            return block[self.total] + block[other] - numbers[-1] * times

        element = f"{self.total}[i, j] + {other}[i, j]"
        return self.nest(self.total, f'{element} - T.cast(k{depth} * {times}, "float32")', value)

    def multiply(self, _: int) -> tuple[list[str], Action]:
        """What is loaded is changed in place: the load of the next turn overwrites it."""
        text = f"{self.part}[i, j] * {self.weight}[i, j] + {self.total}[i, j]"
        return self.nest(
            self.part,
            text,
            lambda block, _: block[self.part] * block[self.weight] + block[self.total],
        )

    def keep(self, _: int) -> tuple[list[str], Action]:
        source, target = self.generator.pick(
            [(self.part, self.weight), (self.total, self.weight), (self.weight, self.total)]
        )

        def run(block: Block, _: tuple[int, ...]) -> None:
            block[target] = block[source].copy()

        return [f"T.copy({source}, {target})"], run

    def gemm(self, _: int) -> tuple[list[str], Action]:
        side = self.shape[0]

        def run(block: Block, _: tuple[int, ...]) -> None:
            product = block[self.square] + block[self.part] @ block[self.weight].T
            block[self.square] = np.clip(product, -LIMIT, LIMIT)

        element = f"{self.square}[i, j]"
        return [
            f"T.gemm({self.part}, {self.weight}, {self.square}, transpose_B=True)",
            f"for i, j in T.Parallel({side}, {side}):",
            f"    {element} = T.min(T.max({element}, T.float32(-{LIMIT})), T.float32({LIMIT}))",
        ], run

    # The block's part of the output, which is overwritten at the end ------------------------------

    def own(self) -> tuple[int, int, str, str]:
        th, tw = self.generator.block
        h, w = min(th, self.shape[0]), min(tw, self.shape[1])
        place = f"Out[by * {th} : by * {th} + {h}, bx * {tw} : bx * {tw} + {w}]"
        return h, w, place, f"[0:{h}, 0:{w}]"

    def put(self, _: int) -> tuple[list[str], Action]:
        h, w, place, part = self.own()
        th, tw = self.generator.block
        source = self.generator.pick([self.total, self.part])

        def run(block: Block, _: tuple[int, ...]) -> None:
            y, x = block["by"] * th, block["bx"] * tw
            target = block["Out"][y : y + h, x : x + w]
            target[...] = block[source][: target.shape[0], : target.shape[1]]

        return [f"T.copy({source}{part}, {place})"], run

    def take(self, _: int) -> tuple[list[str], Action]:
        h, w, place, part = self.own()
        th, tw = self.generator.block

        def run(block: Block, _: tuple[int, ...]) -> None:
            block[self.weight] = block[self.weight].copy()
            source = window(block["Out"], block["by"] * th, block["bx"] * tw, (h, w))
            block[self.weight][:h, :w] = source

        return [f"T.copy({place}, {self.weight}{part})"], run


def pipelines(generator: Generator, *, gemms: bool = True, stores: bool = True) -> None:
    Pipelines(generator, gemms=gemms, stores=stores).step()
