# SPDX-License-Identifier: Apache-2.0
"""Steps of random kernels for Ascend that come back to global memory, and to parts of tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from random_kernels import LIMIT, NUMPY, Array, Block

if TYPE_CHECKING:
    from collections.abc import Callable

    from ascend_kernels import AscendGenerator

#: Names that C++, Ascend C or our header have for something else.
ODD_NAMES = (
    "half",
    "min",
    "max",
    "new",
    "default",
    "double",
    "Add",
    "main",
    "unix",
    "NULL",
    "slots",
    "int64_t",
    "grid",
    "stream",
)
UNARY = {"abs": np.abs, "relu": lambda x: np.maximum(x, 0)}
BINARY = {"add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum}


def converts(source: str, target: str) -> bool:
    """Whether a copy may convert between two element types."""
    if "int8" in (source, target):
        return source == target or source == "float16" or target in ("float16", "float32")
    return source == target or "float32" in (source, target)


def odd_names(generator: AscendGenerator) -> None:
    """Some arguments and tiles get names that the text can't keep."""
    kernel, pick = generator.kernel, generator.choices.integer
    if pick(0, 2):
        return
    named = [*kernel.inputs, "Out", *(tile.name for tile in generator.tiles)]
    odd = list(ODD_NAMES)
    for name in named:
        if odd and pick(0, 2) == 0:
            kernel.names[name] = odd.pop(pick(0, len(odd) - 1))


def rows_in_turn(generator: AscendGenerator) -> None:
    """Rows of a tensor of which each block has its own are loaded and stored, in parts that
    meet; of one column as often as of several."""
    pick = generator.choices.integer
    columns, rows = generator.pick([1, 1, generator.width()]), pick(4, 24)
    blocks = generator.kernel.grid[0] * generator.kernel.grid[1]
    tensor = f"W{len(generator.kernel.inputs)}"
    is_by_block = bool(pick(0, 1))
    shape = (blocks, rows, columns) if is_by_block else (blocks * rows, columns)
    generator.kernel.inputs[tensor] = shape
    number = f"(by * {generator.kernel.grid[0]} + bx)"

    def place(row: str) -> str:
        return (
            f"{tensor}[{number}, {row}, 0]"
            if is_by_block
            else f"{tensor}[{number} * {rows} + {row}, 0]"
        )

    def own(block: Block) -> Array:
        at = block["by"] * generator.kernel.grid[0] + block["bx"]
        return block[tensor][at] if is_by_block else block[tensor][at * rows : (at + 1) * rows]

    for _ in range(pick(2, 4)):
        height = pick(1, rows)
        first = pick(0, rows - height)
        kind = generator.pick(["load", "store", "loop"])
        if kind == "loop":
            _update_in_loop(generator, (height, columns), rows, place, own)
        elif kind == "store":
            known = list(generator.tiles)
            tile = generator.new_tile((height, columns), "float32")
            generator.tiles = known
            lines, fill = generator.assignment(tile)
            generator.tiles = [*known, tile]

            def store(block: Block, tile=tile, fill=fill, first=first, height=height) -> None:  # noqa: ANN001
                fill(block)
                own(block)[first : first + height] = block[tile.name]

            generator.emit([*lines, f"T.copy({tile.name}, {place(str(first))})"], store)
        else:
            tile = generator.new_tile((height, columns), "float32")

            def load(block: Block, tile=tile, first=first, height=height) -> None:  # noqa: ANN001
                block[tile.name] = own(block)[first : first + height].copy()

            generator.emit([f"T.copy({place(str(first))}, {tile.name})"], load)


def _update_in_loop(
    generator: AscendGenerator,
    shape: tuple[int, int],
    rows: int,
    place: Callable[[str], str],
    own: Callable[[Block], Array],
) -> None:
    """Adds to some rows, then to some that begin a few rows on, and so on."""
    pick = generator.choices.integer
    trips = pick(1, 4)
    height = min(shape[0], max(1, rows // 2))
    step = pick(0, (rows - height) // max(1, trips - 1)) if trips > 1 else 0
    by = pick(-3, 3)
    tile = generator.new_tile((height, shape[1]), "float32")
    element = f"{tile.name}[i, j]"

    def update(block: Block) -> None:
        for k in range(trips):
            part = own(block)[k * step : k * step + height]
            part[...] = np.clip(part + by, -LIMIT, LIMIT)
            block[tile.name] = part.copy()

    generator.emit(
        [
            f"for k in T.serial({trips}):",
            f"    T.copy({place(f'k * {step}')}, {tile.name})",
            f"    for i, j in T.Parallel({height}, {shape[1]}):",
            f"        {element} = T.min(T.max({element} + T.float32({by}), T.float32(-{LIMIT})), "
            f"T.float32({LIMIT}))",
            f"    T.copy({tile.name}, {place(f'k * {step}')})",
        ],
        update,
    )


def reduce_into_filled(generator: AscendGenerator) -> None:
    """A reduction that keeps what its target holds: what a fill or a nest has written."""
    pick = generator.choices.integer
    wide = [t for t in generator.tiles if len(t.shape) == 2 and t.dtype in generator.summed]
    if not wide:
        return generator.load()
    tile, dim = generator.pick(wide), pick(0, 1)
    kind, value = generator.pick(["sum", "max", "min"]), pick(-3, 3)
    known = list(generator.tiles)
    result = generator.new_tile((tile.shape[1 - dim],), tile.dtype)
    generator.tiles = known
    lines, fill = [f"T.tile.fill({result.name}, {value}.0)"], None
    if pick(0, 1):
        lines, fill = generator.assignment(result)
    generator.tiles = [*known, result]

    def step(block: Block) -> None:
        before = np.float64(value)
        if fill is not None:
            fill(block)
            before = block[result.name].astype(np.float64)
        reduced = getattr(np, kind)(block[tile.name].astype(np.float64), axis=dim)
        join = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind]
        joined = np.clip(join(before, reduced), -LIMIT, LIMIT)
        block[result.name] = joined.astype(NUMPY[tile.dtype])

    element = f"{result.name}[i]"
    low, high = (f'T.cast({bound}, "{tile.dtype}")' for bound in (-LIMIT, LIMIT))
    generator.emit(
        [
            *lines,
            f"T.reduce_{kind}({tile.name}, {result.name}, dim={dim}, clear=False)",
            f"for i in T.Parallel({result.shape[0]}):",
            f"    {element} = T.min(T.max({element}, {low}), {high})",
        ],
        step,
    )
    return None


def slice_function(generator: AscendGenerator) -> None:
    """A function of T.tile from slices of tiles to a slice of one, which leaves all else."""
    pick = generator.choices.integer
    fitting = [
        t for t in generator.tiles if len(t.shape) == 2 and t.dtype in ("float32", "float16")
    ]
    if not fitting:
        return generator.load()
    result = generator.pick(fitting)
    sources = [t for t in fitting if t.dtype == result.dtype and t is not result]
    if not sources:
        return generator.elementwise()
    name = generator.pick([*UNARY, *BINARY])
    operands = [generator.pick(sources) for _ in range(1 if name in UNARY else 2)]
    h, w = (min(t.shape[d] for t in (result, *operands)) for d in (0, 1))
    h, w = pick(1, h), pick(1, w)
    unit = 16
    places = [
        (pick(0, t.shape[0] - h), pick(0, (t.shape[1] - w) // unit) * unit if t.shape[1] > 1 else 0)
        for t in (result, *operands)
    ]
    # Rows of one element lie side by side: a part of a block begins at its first.
    places = [
        (y // unit * unit if t.shape[1] == 1 else y, x)
        for t, (y, x) in zip((result, *operands), places, strict=True)
    ]
    function = {**UNARY, **BINARY}[name]

    def part(block: Block, number: int) -> Array:
        y, x = places[number]
        return block[(result, *operands)[number].name][y : y + h, x : x + w]

    def step(block: Block) -> None:
        values = [part(block, 1 + n).astype(np.float64) for n in range(len(operands))]
        block[result.name] = block[result.name].copy()
        made = np.clip(function(*values), -LIMIT, LIMIT).astype(NUMPY[result.dtype])
        part(block, 0)[...] = made

    words = [
        f"{t.name}[{y}:{y + h}, {x}:{x + w}]"
        for t, (y, x) in zip((result, *operands), places, strict=True)
    ]
    generator.emit(
        [
            f"T.tile.{name}({', '.join(words)})",
            f"T.tile.min({words[0]}, {words[0]}, {LIMIT}.0)",
            f"T.tile.max({words[0]}, {words[0]}, -{LIMIT}.0)",
        ],
        step,
    )
    return None


def whole_copies(generator: AscendGenerator) -> None:
    """A tile goes to another one by a copy, by rows or one by one, maybe converted, and on from
    there as a whole. Rows end within a block of 32 bytes more often than not."""
    pick = generator.choices.integer
    lines: list[str] = []
    fill = None
    if pick(0, 1):
        first = generator.pick(generator.tiles)
    else:
        shape: tuple[int, ...] = (pick(1, 9), pick(2, 40))
        known = list(generator.tiles)
        dtype = generator.pick([*generator.dtypes, "int8"])
        first = generator.new_tile(shape if pick(0, 3) else shape[1:], dtype)
        generator.tiles = known
        lines, fill = generator.assignment(first)
        generator.tiles = [*known, first]
    others = [d for d in (*generator.dtypes, "int8") if converts(first.dtype, d)]
    second = generator.new_tile(first.shape, generator.pick([first.dtype, *others]))
    third = generator.new_tile(first.shape, second.dtype)
    if pick(0, 1):
        lines = [*lines, f"T.copy({first.name}, {second.name})"]
    else:
        names = ["i", "j"][: len(first.shape)]
        last = generator.pick(["serial", "Parallel"])
        for depth, (name, extent) in enumerate(zip(names, first.shape, strict=True)):
            kind = last if depth + 1 == len(names) else "serial"
            lines = [*lines, f"{'    ' * depth}for {name} in T.{kind}({extent}):"]
        at = f"[{', '.join(names)}]"
        value = f'T.cast({first.name}{at}, "{second.dtype}")'
        lines = [*lines, f"{'    ' * len(names)}{second.name}{at} = {value}"]

    def step(block: Block) -> None:
        if fill is not None:
            fill(block)
        for tile in (second, third):
            block[tile.name] = block[first.name].astype(NUMPY[tile.dtype])

    generator.emit([*lines, f"T.copy({second.name}, {third.name})"], step)


STEPS = (rows_in_turn, reduce_into_filled, slice_function, whole_copies)
