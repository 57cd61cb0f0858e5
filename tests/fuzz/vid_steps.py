# SPDX-License-Identifier: Apache-2.0
"""Steps of random Ascend kernels in which `vid` says where, or whether, a vector core uses a gemm's
tile, of which a block has one. Each use has a place of its own in a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ascend_kernels import AscendGenerator

COLUMNS = 16
Block = dict[str, Any]


def work_by_vid(generator: AscendGenerator) -> None:
    Uses(generator).emit()


class Uses:
    def __init__(self, generator: AscendGenerator) -> None:
        self.generator = generator
        self.pick = generator.choices.integer
        self.half = 8 * self.pick(1, 2)
        self.rows = 2 * self.half
        self.count = self.pick(1, 4)
        number = len(generator.kernel.lines)
        self.tensor, self.c = f"Uses{number}", f"c{number}"
        self.number = number
        self.lines: list[str] = []
        #: What each use makes of its two places of the tensor, and of the product.
        self.effects: list[Any] = []
        #: A core has changed its part: the other one doesn't have that.
        self.is_apart = False

    def emit(self) -> None:
        generator, kernel = self.generator, self.generator.kernel
        known = list(generator.tiles)
        x, y = (generator.new_tile((self.rows, COLUMNS), "float16") for _ in range(2))
        generator.tiles = known
        (first, fill), (second, fill_other) = (generator.assignment(tile) for tile in (x, y))
        generator.tiles = [*known, x, y]
        kernel.inputs[self.tensor] = (
            kernel.grid[0] * kernel.grid[1] * self.count * 2,
            self.rows,
            self.rows,
        )
        kernel.told.append(self.tensor)
        if self.pick(0, 1):
            self.change_all()
        for use in range(self.count):
            self.use(f"{self.tensor}[cid * {2 * self.count} + {2 * use}", 2 * use)
        left, right = f"left{self.number}", f"right{self.number}"

        def step(block: Block) -> None:
            fill(block)
            fill_other(block)
            a, b = (block[tile.name].astype(np.float64) for tile in (x, y))
            product = a @ b.T
            cid = block["by"] * kernel.grid[0] + block["bx"]
            places = block[self.tensor][cid * 2 * self.count : (cid + 1) * 2 * self.count]
            for effect in self.effects:
                effect(places, product)

        generator.emit(
            [
                *first,
                *second,
                f'{left} = T.alloc_shared(({self.rows}, {COLUMNS}), "float16")',
                f'{right} = T.alloc_shared(({self.rows}, {COLUMNS}), "float16")',
                f'{self.c} = T.alloc_fragment(({self.rows}, {self.rows}), "float32")',
                f"T.copy({x.name}, {left})",
                f"T.copy({y.name}, {right})",
                f"T.gemm_v0({left}, {right}, {self.c}, transpose_B=True, init=True)",
                *self.lines,
            ],
            step,
        )

    def change_all(self) -> None:
        self.lines += [
            f"for i, j in T.Parallel({self.rows}, {self.rows}):",
            f"    {self.c}[i, j] = {self.c}[i, j] + 1.0",
        ]

        def effect(places: Any, product: Any) -> None:  # noqa: ANN401, ARG001
            product += 1

        self.effects.append(effect)

    def use(self, place: str, at: int) -> None:
        uses = [self.store_part, self.add_part, self.change_part]
        if not self.is_apart:
            uses += [self.add_once, self.add_by_one, self.store_by_one, self.add_by_each]
            uses += [self.add_in_turns]
        uses[self.pick(0, len(uses) - 1)](place, at)

    def part(self) -> str:
        start = self.generator.pick([f"vid * {self.half}", f"vid * {self.rows} // 2"])
        return f"{self.c}[{start}:{start} + {self.half}, :]"

    def store_part(self, place: str, at: int) -> None:
        self.lines.append(f"T.copy({self.part()}, {place}, vid * {self.half}, 0])")

        def effect(places: Any, product: Any) -> None:  # noqa: ANN401
            places[at] = product

        self.effects.append(effect)

    def add_part(self, place: str, at: int) -> None:
        self.lines.append(f"T.atomic_add({place}, vid * {self.half}, 0], {self.part()})")
        self.effects.append(adding(at, 1))

    def change_part(self, place: str, at: int) -> None:
        element = f"{self.c}[vid * {self.half} + i, j]"
        self.lines += [
            f"for i, j in T.Parallel({self.half}, {self.rows}):",
            f"    {element} = {element} * 2.0",
        ]
        self.is_apart = True

        def effect(places: Any, product: Any) -> None:  # noqa: ANN401, ARG001
            product *= 2

        self.effects.append(effect)
        self.store_part(place, at)

    def add_once(self, place: str, at: int) -> None:
        self.lines.append(f"T.atomic_add({place}, 0, 0], {self.c})")
        self.effects.append(adding(at, 1))

    def add_by_one(self, place: str, at: int) -> None:
        core = self.pick(0, 1)
        self.lines += [f"if vid == {core}:", f"    T.atomic_add({place}, 0, 0], {self.c})"]
        self.effects.append(adding(at, 1))

    def store_by_one(self, place: str, at: int) -> None:
        core = self.pick(0, 1)
        self.lines += [f"if vid == {core}:", f"    T.copy({self.c}, {place}, 0, 0])"]

        def effect(places: Any, product: Any) -> None:  # noqa: ANN401
            places[at] = product

        self.effects.append(effect)

    def add_by_each(self, place: str, at: int) -> None:
        self.lines.append(f"T.atomic_add({place} + vid, 0, 0], {self.c})")
        self.effects += [adding(at, 1), adding(at + 1, 1)]

    def add_in_turns(self, place: str, at: int) -> None:
        """As many turns as vid says, or a turn of the core's own."""
        stop = self.pick(0, 3)
        own = self.pick(0, 1)
        loop = f"for k{len(self.lines)} in T.serial({stop} + vid):"
        if own:
            loop = f"for k{len(self.lines)} in T.serial({stop}):"
        body = [f"    T.atomic_add({place}, 0, 0], {self.c})"]
        if own:
            body = [f"    if vid == k{len(self.lines)}:", "    " + body[0]]
        self.lines += [loop, *body]
        self.effects.append(adding(at, min(stop, 2) if own else 2 * stop + 1))


def adding(at: int, times: int) -> Any:  # noqa: ANN401
    def effect(places: Any, product: Any) -> None:  # noqa: ANN401
        places[at] += times * product

    return effect
