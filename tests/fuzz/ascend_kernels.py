# SPDX-License-Identifier: Apache-2.0
"""Random small kernels for Ascend: the steps of `random_kernels` that the target has, and its own.

Launches are those of a portable kernel, of one that the compiler shares between two vector cores,
and of one that it doesn't. Products are made by the cube core from what vector cores have computed,
and go back to them, so that data crosses between the cores in both directions.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from counter_steps import whiles_of_counters
from extent_steps import run_time_extents
from loop_steps import loops
from pipeline_steps import pipelines
from random_kernels import (
    LIMIT,
    NUMPY,
    Block,
    Choices,
    Generator,
    RandomKernel,
    Step,
    compose,
    window,
)
from tensor_steps import BINARY, STEPS, UNARY, converts, odd_names, rows_in_turn
from turn_steps import tiles_in_turn
from vid_steps import work_by_vid
from while_steps import whiles_of_elements

LAUNCHES = (
    "with T.Kernel({columns}, {rows}, threads=64) as (bx, by):",
    "with T.Kernel({columns} * {rows}, is_npu=True) as (cid, vid):",
    "with T.Kernel({columns} * {rows}, threads=2, is_npu=True) as (cid):",
)
#: Parts of a tile in UB begin at a whole block of 32 bytes.
ALIGNED_COLUMNS = 16


class AscendGenerator(Generator):
    dtypes = ("float32", "float16", "int32", "bfloat16")
    summed = ("float32",)
    multiplied = ("float16", "bfloat16")
    narrowest = 2

    def __init__(self, choices: Choices, name: str) -> None:
        super().__init__(choices)
        self.kernel.name = name
        self.kernel.launch = self.pick(list(LAUNCHES))
        #: Both vector cores of a block do what isn't said otherwise.
        self.asks_vid = "vid" in self.kernel.launch and self.choices.integer(0, 1) == 1
        if "cid" in self.kernel.launch:
            columns = self.kernel.grid[0]
            self.kernel.lines += [f"bx = cid % {columns}", f"by = cid // {columns}"]

    def store(self) -> None:
        before = len(self.kernel.steps)
        super().store()
        if self.asks_vid:
            assert len(self.kernel.steps) == before + 1
            at = self.stored_from
            self.kernel.lines[at:] = ["if vid == 0:"] + ["    " + x for x in self.kernel.lines[at:]]

    def emit(self, lines: list[str], step: Step) -> None:
        self.stored_from = len(self.kernel.lines)
        super().emit(lines, step)

    def named(self, prefix: str) -> str:
        """A name that no other line has."""
        return f"{prefix}{len(self.kernel.lines)}"

    def width(self) -> int:
        """Columns of a tile; often as many as fill blocks."""
        return self.pick([ALIGNED_COLUMNS, ALIGNED_COLUMNS, self.choices.integer(2, 20)])

    def load(self) -> None:
        """Part of A, not in single columns, which the DMA can't put side by side."""
        shape = (self.choices.integer(1, 20), self.width())
        dy, dx = self.choices.integer(0, 6), self.choices.integer(0, 6)
        th, tw = self.block
        tile = self.new_tile(shape)

        def step(block: Block) -> None:
            part = window(block["A"], block["by"] * th + dy, block["bx"] * tw + dx, shape)
            block[tile.name] = part.astype(NUMPY[tile.dtype])

        self.emit([f"T.copy(A[by * {th} + {dy}, bx * {tw} + {dx}], {tile.name})"], step)

    def part_copy(self) -> None:
        """A slice of one tile into a slice of another that the vector unit can convert it to."""
        # Rows of one element lie side by side, so that parts begin anywhere in a block.
        wide = [t for t in self.tiles if len(t.shape) == 2 and t.shape[1] > 1]
        wide = [t for t in wide if t.dtype not in ("bfloat16", "int8")]
        if not wide:
            return self.load()
        source = self.pick(wide)
        fitting = [t for t in wide if t is not source and converts(source.dtype, t.dtype)]
        if not fitting:
            return self.elementwise()
        target = self.pick(fitting)
        h = self.choices.integer(1, min(source.shape[0], target.shape[0]))
        w = self.choices.integer(1, min(source.shape[1], target.shape[1]))
        (sy, sx), (ty, tx) = (
            (
                self.choices.integer(0, t.shape[0] - h),
                self.choices.integer(0, (t.shape[1] - w) // ALIGNED_COLUMNS) * ALIGNED_COLUMNS,
            )
            for t in (source, target)
        )

        def step(block: Block) -> None:
            part = block[source.name][sy : sy + h, sx : sx + w].astype(NUMPY[target.dtype])
            block[target.name] = block[target.name].copy()
            block[target.name][ty : ty + h, tx : tx + w] = part

        self.emit(
            [
                f"T.copy({source.name}[{sy}:{sy + h}, {sx}:{sx + w}], "
                f"{target.name}[{ty}:{ty + h}, {tx}:{tx + w}])"
            ],
            step,
        )
        return None

    def part_nest(self) -> None:
        """A nest over some rows and columns of a tile, which leaves all others."""
        wide = [t for t in self.tiles if len(t.shape) == 2 and t.dtype != "bfloat16"]
        if not wide:
            return self.load()
        tile = self.pick(wide)
        h, w = (self.choices.integer(1, extent) for extent in tile.shape)
        y = self.choices.integer(0, tile.shape[0] - h)
        by = self.choices.integer(-4, 4)
        element = f"{tile.name}[i + {y}, j]"

        def step(block: Block) -> None:
            changed = block[tile.name].copy()
            part = changed[y : y + h, :w].astype(np.float64) + by
            changed[y : y + h, :w] = np.clip(part, -LIMIT, LIMIT).astype(changed.dtype)
            block[tile.name] = changed

        low, high, added = (f'T.cast({n}, "{tile.dtype}")' for n in (-LIMIT, LIMIT, by))
        self.emit(
            [
                f"for i, j in T.Parallel({h}, {w}):",
                f"    {element} = T.min(T.max({element} + {added}, {low}), {high})",
            ],
            step,
        )
        return None

    def gemm(self) -> None:
        """A product of a tile that the vector cores have and of one loaded from V."""
        fitting = [t for t in self.tiles if len(t.shape) == 2 and t.dtype in self.multiplied]
        if not fitting:
            return self.load()
        a = self.pick(fitting)
        m, k = a.shape
        n = self.pick([ALIGNED_COLUMNS, 2 * ALIGNED_COLUMNS])
        known = list(self.tiles)
        b = self.new_tile((k, n), a.dtype)
        self.tiles = known
        lines, fill = self.assignment(b)
        self.tiles = [*known, b]
        result = self.new_tile((m, n), "float32")
        left, right, product = (self.named(p) for p in ("left", "right", "product"))
        # Tiles of the cube core are larger than what takes part, from a whole fractal on.
        before = [16 * self.choices.integer(0, 1) for _ in range(3)]
        behind = [16 * self.choices.integer(0, 1) for _ in range(2)]
        (ay, bx, py), (ah, bw) = before, behind
        repeats = self.choices.integer(1, 3)
        # The result may be used under another name and shape, made before it is there.
        seen, sides = result.name, [m, n]
        views = []
        if self.choices.integer(0, 1):
            seen, sides = self.named("flat"), [m * n]
            views = [f"{seen} = T.reshape({result.name}, ({m * n},))"]
        indices = ", ".join("ij"[: len(sides)])
        element = f"{seen}[{indices}]"

        def step(block: Block) -> None:
            fill(block)
            x, y = (block[t.name].astype(np.float64) for t in (a, b))
            block[result.name] = np.clip(x @ y * repeats, -LIMIT, LIMIT).astype(np.float32)

        self.emit(
            [
                *lines,
                *views,
                f'{left} = T.alloc_shared(({ay + m + ah}, {k}), "{a.dtype}")',
                f'{right} = T.alloc_shared(({k}, {bx + n + bw}), "{a.dtype}")',
                f'{product} = T.alloc_fragment(({py + m}, {n}), "float32")',
                f"T.copy({a.name}, {left}[{ay}:{ay + m}, :])",
                f"T.copy({b.name}, {right}[:, {bx}:{bx + n}])",
                f"for k in T.serial({repeats}):",
                f"    T.gemm_v0({left}[{ay}:{ay + m}, :], {right}[:, {bx}:{bx + n}], "
                f"{product}[{py}:{py + m}, :], init=(k == 0))",
                f"T.copy({product}[{py}:{py + m}, :], {result.name})",
                f"for {indices} in T.Parallel({', '.join(map(str, sides))}):",
                f"    {element} = T.min(T.max({element}, T.float32(-{LIMIT})), T.float32({LIMIT}))",
            ],
            step,
        )
        return None

    def tile_function(self) -> None:
        """A function of T.tile, over whole tiles."""
        fitting = [t for t in self.tiles if t.dtype in ("float32", "float16")]
        if not fitting:
            return self.load()
        a = self.pick(fitting)
        name = self.pick([*UNARY, *BINARY])
        others = [t for t in fitting if (t.shape, t.dtype) == (a.shape, a.dtype)]
        b = self.pick(others)
        result = self.new_tile(a.shape, a.dtype)
        operands = (a,) if name in UNARY else (a, b)
        function = {**UNARY, **BINARY}[name]

        def step(block: Block) -> None:
            values = [block[t.name].astype(np.float64) for t in operands]
            value = np.clip(function(*values), -LIMIT, LIMIT)
            block[result.name] = value.astype(NUMPY[a.dtype])

        words = ", ".join(t.name for t in (result, *operands))
        bounds = [
            f"T.tile.min({result.name}, {result.name}, {LIMIT}.0)",
            f"T.tile.max({result.name}, {result.name}, -{LIMIT}.0)",
        ]
        self.emit([f"T.tile.{name}({words})", *bounds], step)
        return None

    def pipelined(self) -> None:
        """Sums parts of A that a loop loads ahead."""
        shape = (self.choices.integer(1, 20), self.width())
        trips, stages = self.choices.integer(1, 5), self.choices.integer(1, 3)
        dy, dx = self.choices.integer(0, 4), self.choices.integer(0, 4)
        dtype = self.pick(["float32", "float16"]) if shape[1] % ALIGNED_COLUMNS == 0 else "float32"
        th, tw = self.block
        known = list(self.tiles)
        part, total = self.new_tile(shape, "float32"), self.new_tile(shape, dtype)
        self.tiles = [*known, total]
        element = f"{total.name}[i, j]"

        def step(block: Block) -> None:
            value = np.zeros(shape)
            for k in range(trips):
                value += window(block["A"], block["by"] * th + k * dy, block["bx"] * tw + dx, shape)
                value = np.clip(value, -LIMIT, LIMIT)
            block[total.name] = value.astype(NUMPY[dtype])

        low, high = (f'T.cast({bound}, "{dtype}")' for bound in (-LIMIT, LIMIT))
        added = f'{element} + T.cast({part.name}[i, j], "{dtype}")'
        self.emit(
            [
                f"T.clear({total.name})",
                f"for k in T.Pipelined({trips}, num_stages={stages}):",
                f"    T.copy(A[by * {th} + k * {dy}, bx * {tw} + {dx}], {part.name})",
                f"    for i, j in T.Parallel({shape[0]}, {shape[1]}):",
                f"        {element} = T.min(T.max({added}, {low}), {high})",
            ],
            step,
        )

    def named_rows(self) -> None:
        """Rows of A that a tile of integers, or other arithmetic, names; maybe computed with."""
        numbers = [t for t in self.tiles if t.dtype == "int32" and len(t.shape) == 2]
        known = self.pick(numbers) if numbers and self.choices.integer(0, 2) else None
        h = self.choices.integer(1, known.shape[0] if known else 20)
        shape, dx = (h, self.width()), self.choices.integer(0, 6)
        factor, base, turn = (self.choices.integer(1, 7) for _ in range(3))
        by = self.choices.integer(0, 1)
        tw = self.block[1]
        tile = self.new_tile(shape, self.pick(["float32", "float16"]))
        row = f"{known.name}[i, 0]" if known else f"(i * {factor} + {base}) % {turn * 3}"

        def step(block: Block) -> None:
            rows = block[known.name][:h, 0] if known else None
            made = np.zeros(shape)
            for i in range(h):
                at = int(rows[i]) if rows is not None else (i * factor + base) % (turn * 3)
                made[i] = window(block["A"], at, block["bx"] * tw + dx, (1, shape[1]))[0]
            made = np.clip(made + by, -LIMIT, LIMIT) if by else made
            block[tile.name] = made.astype(NUMPY[tile.dtype])

        element = f'T.cast(A[{row}, bx * {tw} + {dx} + j], "{tile.dtype}")'
        if by:
            low, high, added = (f'T.cast({n}, "{tile.dtype}")' for n in (-LIMIT, LIMIT, by))
            element = f"T.min(T.max({element} + {added}, {low}), {high})"
        self.emit(
            [f"for i, j in T.Parallel({h}, {shape[1]}):", f"    {tile.name}[i, j] = {element}"],
            step,
        )


def random_ascend_kernel(
    choices: Choices,
    name: str,
    has_loops: bool = True,
    has_turns: bool = False,
    has_whiles: bool = False,
    has_counters: bool = False,
) -> RandomKernel:
    """`has_loops`: also such in which what some runs need others don't. `has_turns`: also tiles in
    turn of which an argument says which one is first. `has_whiles`: also `while` loops that ask for
    elements. `has_counters`: also such whose turns variables count."""
    generator = AscendGenerator(choices, name)
    own = [generator.tile_function, generator.pipelined, generator.part_nest]
    own += [generator.named_rows, *2 * [partial(run_time_extents, generator)]]
    own.append(partial(pipelines, generator, gemms=False, stores=not generator.asks_vid))
    if generator.asks_vid:
        own += 6 * [partial(work_by_vid, generator)]
    elif has_loops:
        own += 3 * [partial(loops, generator)]
    if has_turns:
        own += 8 * [partial(tiles_in_turn, generator)]
    if has_whiles:
        own += 12 * [partial(whiles_of_elements, generator)]
    if has_counters:
        own += 12 * [partial(whiles_of_counters, generator)]
    # What both vector cores would store at one place has no order.
    steps = [step for step in STEPS if not (generator.asks_vid and step is rows_in_turn)]
    kernel = compose(generator, [*own, *(partial(step, generator) for step in steps)])
    odd_names(generator)
    return kernel
