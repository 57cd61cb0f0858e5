# SPDX-License-Identifier: Apache-2.0
"""Steps of random kernels for Ascend: parts of tiles whose extents arguments give, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from random_kernels import LIMIT, NUMPY, Block, window
from tensor_steps import converts

if TYPE_CHECKING:
    from ascend_kernels import AscendGenerator
    from random_kernels import Step, Tile

SIDE = 16
RUNS = 3


class Extents:
    """Numbers of the kernel that its arguments give, and their values by block."""

    def __init__(self, generator: AscendGenerator) -> None:
        self.generator = generator
        self.pick = generator.choices.integer
        self.number = len(generator.kernel.lines)
        self.lines: list[str] = []
        self.limits: dict[str, tuple[str, int, int]] = {}

    def add(self, name: str, most: int, least: int = 0) -> str:
        """A number from `least` to `most`: the argument, or the nearest of these."""
        argument, made = f"e{self.number}{name}", f"{name}{self.number}"
        values = tuple(
            self.generator.pick([least, most, self.pick(least, most)]) for _ in range(RUNS)
        )
        self.generator.kernel.numbers[argument] = values
        bounded = f"T.min({argument}, {most})"
        self.lines.append(f"{made} = " + (f"T.max({bounded}, {least})" if least else bounded))
        self.limits[made] = (argument, least, most)
        return made

    def of(self, block: Block, name: str) -> int:
        argument, least, most = self.limits[name]
        return max(least, min(int(block[argument]), most))


def _clamped(tile: Tile) -> list[str]:
    low, high = (f'T.cast({bound}, "{tile.dtype}")' for bound in (-LIMIT, LIMIT))
    element = f"{tile.name}[i, j]"
    return [
        f"for i, j in T.Parallel({tile.shape[0]}, {tile.shape[1]}):",
        f"    {element} = T.min(T.max({element}, {low}), {high})",
    ]


def _assigned(
    generator: AscendGenerator, shape: tuple[int, int], dtype: str
) -> tuple[Tile, list[str], Step]:
    """A new tile, what computes all of it, and the same in NumPy."""
    known = list(generator.tiles)
    tile = generator.new_tile(shape, dtype)
    generator.tiles = known
    lines, fill = generator.assignment(tile)
    generator.tiles = [*known, tile]
    return tile, lines, fill


def _load(generator: AscendGenerator) -> None:
    """Part of A into a tile that is filled before."""
    extents, pick = Extents(generator), generator.choices.integer
    shape = (pick(1, 20), generator.width())
    dy, dx, value = pick(0, 6), pick(0, 6), pick(-3, 3)
    th, tw = generator.block
    tile = generator.new_tile(shape)
    m, n = extents.add("m", shape[0]), extents.add("n", shape[1])

    def step(block: Block) -> None:
        h, w = extents.of(block, m), extents.of(block, n)
        made = np.full(shape, value).astype(NUMPY[tile.dtype])
        part = window(block["A"], block["by"] * th + dy, block["bx"] * tw + dx, (h, w))
        made[:h, :w] = part.astype(made.dtype)
        block[tile.name] = made

    y, x = f"by * {th} + {dy}", f"bx * {tw} + {dx}"
    generator.emit(
        [
            *extents.lines,
            f'T.fill({tile.name}, T.cast({value}, "{tile.dtype}"))',
            f"T.copy(A[{y} : {y} + {m}, {x} : {x} + {n}], {tile.name}[0:{m}, 0:{n}])",
        ],
        step,
    )


def _store(generator: AscendGenerator) -> None:
    """Part of a tile to rows of a tensor of which each block has its own."""
    extents, pick = Extents(generator), generator.choices.integer
    kernel = generator.kernel
    shape = (pick(1, 20), generator.width())
    tensor = f"E{len(kernel.inputs)}"
    kernel.inputs[tensor] = (kernel.grid[0] * kernel.grid[1] * shape[0], shape[1])
    kernel.told.append(tensor)
    tile, lines, fill = _assigned(generator, shape, "float32")
    m, n = extents.add("m", shape[0]), extents.add("n", shape[1])

    def step(block: Block) -> None:
        fill(block)
        h, w = extents.of(block, m), extents.of(block, n)
        first = (block["by"] * kernel.grid[0] + block["bx"]) * shape[0]
        block[tensor][first : first + h, :w] = block[tile.name][:h, :w]

    row = f"(by * {kernel.grid[0]} + bx) * {shape[0]}"
    generator.emit(
        [
            *lines,
            *extents.lines,
            f"T.copy({tile.name}[0:{m}, 0:{n}], {tensor}[{row} : {row} + {m}, 0:{n}])",
        ],
        step,
    )


def _part(generator: AscendGenerator) -> None:
    """Part of a tile over that of another one."""
    wide = [t for t in generator.tiles if len(t.shape) == 2 and t.shape[1] > 1]
    pairs = [(s, t) for s in wide for t in wide if s is not t and converts(s.dtype, t.dtype)]
    if not pairs:
        return generator.load()
    extents = Extents(generator)
    source, target = generator.pick(pairs)
    h, w = (min(source.shape[dim], target.shape[dim]) for dim in (0, 1))
    m, n = extents.add("m", h), extents.add("n", w)

    def step(block: Block) -> None:
        rows, columns = extents.of(block, m), extents.of(block, n)
        changed = block[target.name].copy()
        changed[:rows, :columns] = block[source.name][:rows, :columns].astype(changed.dtype)
        block[target.name] = changed

    part = f"[0:{m}, 0:{n}]"
    generator.emit([*extents.lines, f"T.copy({source.name}{part}, {target.name}{part})"], step)
    return None


def _nest(generator: AscendGenerator) -> None:
    """Some rows, or some rows and columns, of a tile are changed."""
    wide = [t for t in generator.tiles if len(t.shape) == 2 and t.dtype != "bfloat16"]
    if not wide:
        return generator.load()
    extents, by = Extents(generator), generator.choices.integer(-4, 4)
    tile = generator.pick(wide)
    h, w = tile.shape
    m = extents.add("m", h)
    is_loop = bool(generator.choices.integer(0, 1))
    n = None if is_loop else extents.add("n", w)
    element = f"{tile.name}[i, j]"

    def step(block: Block) -> None:
        rows, columns = extents.of(block, m), w if n is None else extents.of(block, n)
        changed = block[tile.name].copy()
        part = changed[:rows, :columns].astype(np.float64) + by
        changed[:rows, :columns] = np.clip(part, -LIMIT, LIMIT).astype(changed.dtype)
        block[tile.name] = changed

    low, high, added = (f'T.cast({x}, "{tile.dtype}")' for x in (-LIMIT, LIMIT, by))
    head = (
        [f"for i in T.serial({m}):", f"    for j in T.Parallel({w}):"]
        if is_loop
        else [f"for i, j in T.Parallel({h}, {w}):", f"    if i < {m} and j < {n}:"]
    )
    generator.emit(
        [
            *extents.lines,
            *head,
            f"        {element} = T.min(T.max({element} + {added}, {low}), {high})",
        ],
        step,
    )
    return None


def _product(generator: AscendGenerator) -> None:
    """A product of parts of a tile that vector cores have and of another one, by T.gemm_v0 or, of
    tiles in L0, by T.mma."""
    fitting = [t for t in generator.tiles if len(t.shape) == 2 and t.dtype in generator.multiplied]
    pick = generator.choices.integer
    before: list[str] = []
    fill_a = None
    if fitting and pick(0, 1):
        a = generator.pick(fitting)
    else:
        a, before, fill_a = _assigned(generator, (pick(1, 20), generator.width()), "float16")
    extents = Extents(generator)
    sides = (a.shape[0], generator.pick([SIDE, 2 * SIDE, 3 * SIDE]), a.shape[1])
    b, lines, fill = _assigned(generator, (sides[2], sides[1]), a.dtype)
    result = generator.new_tile(sides[:2], "float32")
    m, n = extents.add("m", sides[0]), extents.add("n", sides[1])
    k = extents.add("k", sides[2], least=1)
    repeats, value, turned = pick(1, 3), pick(-3, 3), bool(pick(0, 1))
    in_l0 = "is_npu" in generator.kernel.launch and bool(pick(0, 1))
    left, right, product = (generator.named(p) for p in ("left", "right", "product"))

    def step(block: Block) -> None:
        if fill_a is not None:
            fill_a(block)
        fill(block)
        h, w, d = (extents.of(block, name) for name in (m, n, k))
        x, y = (block[t.name].astype(np.float64) for t in (a, b))
        made = np.full(sides[:2], value, np.float32)
        made[:h, :w] = x[:h, :d] @ y[:d, :w] * repeats
        block[result.name] = np.clip(made, -LIMIT, LIMIT)

    ofa, ofb, ofc = f"[0:{m}, 0:{k}]", f"[0:{k}, 0:{n}]", f"[0:{m}, 0:{n}]"
    tiles = [
        f'{left} = T.alloc_shared(({sides[0]}, {sides[2]}), "{a.dtype}")',
        f'{right} = T.alloc_shared(({sides[2]}, {sides[1]}), "{a.dtype}")',
        f'{product} = T.alloc_fragment(({sides[0]}, {sides[1]}), "float32")',
        f"T.copy({a.name}, {left})",
        f"T.copy({b.name}, {right})",
    ]
    multiply = f"T.gemm_v0({left}{ofa}, {right}{ofb}, {product}{ofc}, init=(r == 0))"
    if in_l0:
        tiles += [
            f'{left}_l0 = T.alloc_L0A(({sides[0]}, {sides[2]}), "{a.dtype}")',
            f'{right}_l0 = T.alloc_L0B(({sides[2]}, {sides[1]}), "{a.dtype}")',
            f"T.copy({left}{ofa}, {left}_l0{ofa})",
            f"T.copy({right}{ofb}, {right}_l0{ofb})",
        ]
        multiply = f"T.mma({left}_l0{ofa}, {right}_l0{ofb}, {product}{ofc}, init=(r == 0))"
    elif turned:
        tiles[1] = f'{right} = T.alloc_shared(({sides[1]}, {sides[2]}), "{a.dtype}")'
        tiles[4] = f"T.copy({b.name}, {right}, transpose=True)"
        multiply = multiply.replace(f"{right}{ofb}", f"{right}[0:{n}, 0:{k}]")
        multiply = multiply.replace("init", "transpose_B=True, init")
    generator.emit(
        [
            *before,
            *lines,
            *extents.lines,
            *tiles,
            f"for r in T.serial({repeats}):",
            f"    {multiply}",
            f"T.tile.fill({result.name}, {value}.0)",
            f"T.copy({product}{ofc}, {result.name}{ofc})",
            *_clamped(result),
        ],
        step,
    )


def run_time_extents(generator: AscendGenerator) -> None:
    kinds = [_load, _part, _nest, _product, _product]
    # What both vector cores would store at one place has no order.
    if not generator.asks_vid:
        kinds.append(_store)
    generator.pick(kinds)(generator)
