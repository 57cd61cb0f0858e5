# SPDX-License-Identifier: Apache-2.0
"""A step of random kernels for Ascend: rows of tiles in turn, of which an argument or a block's
number says which one is first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from random_kernels import LIMIT, Block, window

if TYPE_CHECKING:
    from ascend_kernels import AscendGenerator

WIDTH = 16


def tiles_in_turn(generator: AscendGenerator) -> None:
    """Each turn of a loop loads a row, adds rows up and copies them, each in turn or the one
    after."""
    pick = generator.choices.integer
    count, trips = pick(2, 4), pick(1, 6)
    first = generator.named("first")
    generator.kernel.numbers[first] = tuple(pick(0, 9) for _ in range(3))
    sums = [
        f"k + {first}",
        f"{first} - k",
        f"k + {first} + bx",
        f"k * 3 + {first}",
        f"bx + {first}",
    ]
    number = generator.pick(sums)
    after = pick(1, count - 1)
    rows, total = (generator.new_tile((count, WIDTH), "float32") for _ in range(2))
    turn, other = generator.named("turn"), generator.named("other")
    th, tw = generator.block
    dy = pick(0, 4)
    places = [(turn, 0), (other, after), (str(pick(0, count - 1)), None)]
    lines: list[str] = []
    actions: list[Callable[[Block, int, int], None]] = []

    def at(place: tuple[str, int | None], now: int) -> int:
        text, step = place
        return int(text) if step is None else (now + step) % count

    for _ in range(pick(2, 4)):
        to, source = generator.pick(places), generator.pick(places)
        kind = generator.pick(["load", "add", "copy"])
        if kind == "load":
            lines.append(f"T.copy(A[by * {th} + k * {dy}, bx * {tw}], {rows.name}[{to[0]}, :])")

            def load(block: Block, k: int, now: int, to: tuple[str, int | None] = to) -> None:
                part = window(block["A"], block["by"] * th + k * dy, block["bx"] * tw, (1, WIDTH))
                block[rows.name][at(to, now)] = part[0]

            actions.append(load)
        elif kind == "add":
            line = f"{total.name}[{to[0]}, :]"
            lines += [
                f"T.tile.add({line}, {line}, {rows.name}[{source[0]}, :])",
                f"T.tile.min({line}, {line}, {LIMIT}.0)",
                f"T.tile.max({line}, {line}, -{LIMIT}.0)",
            ]

            def add(
                block: Block,
                k: int,
                now: int,
                to: tuple[str, int | None] = to,
                source: tuple[str, int | None] = source,
            ) -> None:
                value = block[total.name][at(to, now)] + block[rows.name][at(source, now)]
                block[total.name][at(to, now)] = np.clip(value, -LIMIT, LIMIT)

            actions.append(add)
        else:
            lines.append(f"T.copy({total.name}[{to[0]}, :], {rows.name}[{source[0]}, :])")

            def copy(
                block: Block,
                k: int,
                now: int,
                to: tuple[str, int | None] = to,
                source: tuple[str, int | None] = source,
            ) -> None:
                block[rows.name][at(source, now)] = block[total.name][at(to, now)]

            actions.append(copy)

    def step(block: Block) -> None:
        block[rows.name] = np.full((count, WIDTH), 1.0, np.float32)
        block[total.name] = np.full((count, WIDTH), 2.0, np.float32)
        for k in range(trips):
            names = {"k": k, "bx": block["bx"], first: block[first]}
            now = eval(number, {}, names) % count
            for action in actions:
                action(block, k, now)

    generator.emit(
        [
            f"T.tile.fill({rows.name}, 1.0)",
            f"T.tile.fill({total.name}, 2.0)",
            f"for k in T.serial({trips}):",
            f"    {turn} = ({number}) % {count}",
            f"    {other} = ({turn} + {after}) % {count}",
            *("    " + line for line in lines),
        ],
        step,
    )
