# SPDX-License-Identifier: Apache-2.0
"""More steps of random kernels: views, scans, loops that end early, and rows of the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from random_kernels import LIMIT, NUMPY, Block

if TYPE_CHECKING:
    from random_kernels import Generator, Tile


def _wide(generator: Generator) -> Tile | None:
    """A tile of two dims whose sums are exact."""
    fitting = [t for t in generator.tiles if len(t.shape) == 2 and t.dtype in ("float32", "int32")]
    return generator.pick(fitting) if fitting else None


def _clamped(tile: Tile) -> list[str]:
    h, w = tile.shape
    element = f"{tile.name}[i, j]"
    low, high = (f'T.cast({bound}, "{tile.dtype}")' for bound in (-LIMIT, LIMIT))
    return [
        f"for i, j in T.Parallel({h}, {w}):",
        f"    {element} = T.min(T.max({element}, {low}), {high})",
    ]


def reshape(generator: Generator) -> None:
    """Copies a tile through a view of another shape."""
    wide = [t for t in generator.tiles if len(t.shape) == 2]
    if not wide:
        return generator.load()
    tile = generator.pick(wide)
    h, w = tile.shape
    shape = generator.pick([(w, h), (h * w,), (1, h * w), (h * w, 1)])
    if max(shape) > 64:  # keep what follows small
        shape = (w, h)
    result = generator.new_tile(shape, tile.dtype)
    view = f"{result.name}_view"

    def step(block: Block) -> None:
        block[result.name] = block[tile.name].reshape(shape).copy()

    generator.emit(
        [f"{view} = T.reshape({tile.name}, {shape})", f"T.copy({view}, {result.name})"], step
    )
    return None


def scan(generator: Generator) -> None:
    """A running sum."""
    tile = _wide(generator)
    if tile is None:
        return generator.load()
    dim, reverse = generator.choices.integer(0, 1), bool(generator.choices.integer(0, 1))
    result = generator.new_tile(tile.shape, tile.dtype)

    def step(block: Block) -> None:
        source = block[tile.name].astype(np.float64)
        source = np.flip(source, dim) if reverse else source
        sums = np.cumsum(source, dim)
        sums = np.flip(sums, dim) if reverse else sums
        block[result.name] = np.clip(sums, -LIMIT, LIMIT).astype(NUMPY[tile.dtype])

    generator.emit(
        [
            f"T.cumsum({tile.name}, {result.name}, dim={dim}, reverse={reverse})",
            *_clamped(result),
        ],
        step,
    )
    return None


def early_end(generator: Generator) -> None:
    """A while loop over a variable, with continue and break."""
    tile = _wide(generator)
    if tile is None:
        return generator.load()
    pick = generator.choices.integer
    stop, skip, last = pick(0, 6), pick(0, 4), pick(1, 6)
    count = f"count{len(generator.kernel.lines)}"
    h, w = tile.shape
    element = f"{tile.name}[i, j]"

    def step(block: Block) -> None:
        value, turn = block[tile.name].astype(np.float64), 0
        while turn < stop:
            turn += 1
            if turn == skip:
                continue
            if turn == last:
                break
            value = value + turn - block["bx"]
        block[tile.name] = np.clip(value, -LIMIT, LIMIT).astype(NUMPY[tile.dtype])

    generator.emit(
        [
            f'{count} = T.alloc_var("int32", init=0)',
            f"while {count} < {stop}:",
            f"    {count} = {count} + 1",
            f"    if {count} == {skip}:",
            "        continue",
            f"    if {count} == {last}:",
            "        break",
            f"    for i, j in T.Parallel({h}, {w}):",
            f'        {element} = {element} + T.cast({count} - bx, "{tile.dtype}")',
            *_clamped(tile),
        ],
        step,
    )
    return None


def stores_rows(generator: Generator) -> None:
    """Up to four tiles of one dim, the last made first, go to rows or columns of the output: what
    a reduction gives would else hardly be seen there."""
    rows = [*(t for t in generator.tiles if len(t.shape) == 1), *generator.rows]
    rows.sort(key=lambda tile: int(tile.name[1:]), reverse=True)
    height = generator.block[0]
    chosen = rows[: min(4, height)]
    for number, tile in enumerate(chosen):
        kind = generator.choices.integer(0, 3)
        _store_row(generator, tile, number * height // len(chosen), kind)


def _store_row(generator: Generator, tile: Tile, at: int, kind: int) -> None:
    """`kind`: 0 and 1 copy it to row `at` of the block, 2 stores it there element by element, and
    3 as a column, `at` in the middle of the others."""
    pick, (th, tw) = generator.choices.integer, generator.block
    is_column = kind == 3
    length = min(tile.shape[0], th if is_column else tw)
    first = pick(0, tile.shape[0] - length)
    across = at * tw // th if is_column else 0

    def step(block: Block) -> None:
        y, x = block["by"] * th, block["bx"] * tw
        own = block["Out"][y : y + th, x : x + tw]
        line = own[:, across : across + 1] if is_column else own[at : at + 1].T
        values = block[tile.name][first : first + length].astype(np.float32)
        line[:length, 0:] = values[: line.shape[0], None]

    row, column = f"by * {th} + {at}", f"bx * {tw}"
    if kind < 2:
        part = f"{tile.name}[{first}:{first + length}]"
        lines = [f"T.copy({part}, Out[{row}, {column} : {column} + {length}])"]
    else:
        place = f"by * {th} + i, bx * {tw} + {across}" if is_column else f"{row}, {column} + i"
        value = f'T.cast({tile.name}[{first} + i], "float32")'
        lines = [f"for i in T.Parallel({length}):", f"    Out[{place}] = {value}"]
    generator.emit(lines, step)


STEPS = (reshape, scan, early_end)
