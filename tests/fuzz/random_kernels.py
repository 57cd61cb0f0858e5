# SPDX-License-Identifier: Apache-2.0
"""Random small kernels, each with what it computes in NumPy.

All values are small integers, in whatever dtype they are stored, and are clamped after each step:
then every order of every sum is exact, and interpreter, targets and NumPy must give the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
#: The state of one block: its tiles by name, and `bx`, `by`.
Block = dict[str, Any]
Step = Callable[[Block], None]

NUMPY = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int32": np.int32,
    "int8": np.int8,
}
LIMIT = 8


class Choices(Protocol):
    """Where the generator's decisions come from: hypothesis, or `random.Random`."""

    def integer(self, low: int, high: int) -> int: ...


@dataclass(frozen=True)
class Tile:
    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass
class RandomKernel:
    """`source` defines `kernel(A, V, Out)`; `reference` gives Out for the inputs."""

    inputs: dict[str, tuple[int, ...]]
    output: tuple[int, ...]
    grid: tuple[int, int]
    name: str = "kernel"
    launch: str = "with T.Kernel({columns}, {rows}, threads=64) as (bx, by):"
    lines: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    #: Arguments that are numbers: one for each run.
    numbers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    #: Inputs of float16, all others are of float32.
    halves: list[str] = field(default_factory=list)
    #: Inputs that the kernel writes, of which the steps tell what they are then.
    told: list[str] = field(default_factory=list)
    #: What the text calls what has another name here.
    names: dict[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        tensors = [
            f'{name}: T.Tensor({shape}, "{self.dtype_of(name)}")'
            for name, shape in {**self.inputs, "Out": self.output}.items()
        ]
        arguments = ", ".join([*tensors, *(f"{name}: T.int32" for name in self.numbers)])
        head = [
            "import tilewright.language as T",
            "",
            "@T.prim_func",
            f"def {self.name}({arguments}):",
            "    " + self.launch.format(columns=self.grid[0], rows=self.grid[1]),
        ]
        text = "\n".join(head + [" " * 8 + line for line in self.lines]) + "\n"
        return re.sub(r"\w+", lambda word: self.names.get(word[0], word[0]), text)

    def dtype_of(self, tensor: str) -> str:
        return "float16" if tensor in self.halves else "float32"

    def runs(self) -> list[dict[str, int]]:
        """The numbers of each run."""
        count = max((len(values) for values in self.numbers.values()), default=1)
        return [
            {name: values[run] for name, values in self.numbers.items()} for run in range(count)
        ]

    def reference(self, inputs: dict[str, Array], numbers: dict[str, int] | None = None) -> Array:
        return self.results(inputs, numbers)["Out"]

    def results(
        self, inputs: dict[str, Array], numbers: dict[str, int] | None = None
    ) -> dict[str, Array]:
        """Out, and inputs that are told of; `inputs` are left as they are."""
        out = np.zeros(self.output, np.float32)
        inputs = {name: array.copy() for name, array in inputs.items()}
        for by in range(self.grid[1]):
            for bx in range(self.grid[0]):
                block: Block = {"bx": bx, "by": by, "Out": out, **inputs, **(numbers or {})}
                for step in self.steps:
                    step(block)
        return {"Out": out, **{name: inputs[name] for name in self.told}}


def window(source: Array, row: int, column: int, shape: tuple[int, int]) -> Array:
    """A part of a tensor; what lies outside is 0."""
    result = np.zeros(shape, source.dtype)
    for i in range(shape[0]):
        for j in range(shape[1]):
            y, x = row + i, column + j
            if 0 <= y < source.shape[0] and 0 <= x < source.shape[1]:
                result[i, j] = source[y, x]
    return result


class Generator:
    #: Element types of tiles; those whose sums a reduction takes; those of a gemm's operands.
    dtypes = tuple(NUMPY)
    summed = ("float32", "int32")
    multiplied = ("float32", "float16", "bfloat16")
    #: Columns of a block, at least.
    narrowest = 1
    #: Whether reductions keep what they give before it is clamped, for the output.
    keeps_rows = False

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.tiles: list[Tile] = []
        #: Rows that only the output takes: their numbers may be large.
        self.rows: list[Tile] = []
        self.made = 0
        pick = self.choices.integer
        self.block = (pick(1, 20), pick(self.narrowest, 20))
        grid = (pick(1, 3), pick(1, 3))
        # The tensor ends somewhere inside the last blocks.
        height = max(1, grid[1] * self.block[0] - pick(0, 5))
        width = max(1, grid[0] * self.block[1] - pick(0, 5))
        self.kernel = RandomKernel({"A": (height, width), "V": (width,)}, (height, width), grid)

    def pick(self, items: list[Any]) -> Any:  # noqa: ANN401
        return items[self.choices.integer(0, len(items) - 1)]

    def emit(self, lines: list[str], step: Step) -> None:
        self.kernel.lines += lines
        self.kernel.steps.append(step)

    def new_tile(self, shape: tuple[int, ...], dtype: str | None = None) -> Tile:
        self.made += 1
        tile = Tile(f"t{self.made - 1}", shape, dtype or self.pick(list(self.dtypes)))
        scope = self.pick(["shared", "fragment"])
        self.kernel.lines.append(f'{tile.name} = T.alloc_{scope}({shape}, "{tile.dtype}")')
        self.tiles.append(tile)
        return tile

    # Steps: each emits source and what it does in NumPy ------------------------------------------

    def load(self) -> None:
        shape = (self.choices.integer(1, 20), self.choices.integer(1, 20))
        dy, dx = self.choices.integer(-3, 6), self.choices.integer(-3, 6)
        th, tw = self.block
        tile = self.new_tile(shape)

        def step(block: Block) -> None:
            part = window(block["A"], block["by"] * th + dy, block["bx"] * tw + dx, shape)
            block[tile.name] = part.astype(NUMPY[tile.dtype])

        self.emit([f"T.copy(A[by * {th} + {dy}, bx * {tw} + {dx}], {tile.name})"], step)

    def leaf(self, extents: tuple[int, ...]) -> tuple[str, Callable[[Block, Any], Any]]:
        """A tile's element, an index or a constant: source, and a function of the index grids."""
        fitting: list[tuple[Tile, tuple[int, ...]]] = []
        for tile in self.tiles:
            for axes in [(0, 1), (1, 0), (0,), (1,)]:
                if len(axes) != len(tile.shape) or max(axes) >= len(extents):
                    continue
                if all(extents[a] <= s for a, s in zip(axes, tile.shape, strict=True)):
                    fitting.append((tile, axes))
        if fitting and self.choices.integer(0, 3) > 0:
            tile, axes = self.pick(fitting)
            names = ", ".join("ij"[a] for a in axes)
            return (
                f'T.cast({tile.name}[{names}], "float32")',
                lambda block, at: block[tile.name][tuple(at[a] for a in axes)].astype(np.float64),
            )
        if self.choices.integer(0, 1):
            axis = self.choices.integer(0, len(extents) - 1)
            return f'T.cast({"ij"[axis]} % 5, "float32")', lambda block, at: at[axis] % 5
        constant = self.choices.integer(-3, 3)
        return f"T.float32({constant})", lambda block, at: np.float64(constant)

    def expression(
        self, extents: tuple[int, ...], depth: int
    ) -> tuple[str, Callable[[Block, Any], Any]]:
        if depth == 0:
            return self.leaf(extents)
        left, left_value = self.expression(extents, depth - 1)
        right, right_value = self.expression(extents, self.choices.integer(0, depth - 1))
        kind = self.pick(["+", "-", "*", "max", "min", "select"])
        if kind in ("max", "min"):
            function = np.maximum if kind == "max" else np.minimum
            return (
                f"T.{kind}({left}, {right})",
                lambda block, at: function(left_value(block, at), right_value(block, at)),
            )
        if kind == "select":
            return (
                f"T.if_then_else({left} < {right}, {right}, {left} - 1)",
                lambda block, at: np.where(
                    left_value(block, at) < right_value(block, at),
                    right_value(block, at),
                    left_value(block, at) - 1,
                ),
            )
        operate = {"+": np.add, "-": np.subtract, "*": np.multiply}[kind]
        return (
            f"({left} {kind} {right})",
            lambda block, at: operate(left_value(block, at), right_value(block, at)),
        )

    def assignment(self, tile: Tile) -> tuple[list[str], Step]:
        """One Parallel loop that writes all of a tile, from a value read before it is written."""
        source, value = self.expression(tile.shape, self.choices.integer(1, 3))
        names = ["i", "j"][: len(tile.shape)]
        clamped = f"T.min(T.max({source}, T.float32(-{LIMIT})), T.float32({LIMIT}))"
        lines = [
            f"for {', '.join(names)} in T.Parallel({', '.join(map(str, tile.shape))}):",
            f'    {tile.name}[{", ".join(names)}] = T.cast({clamped}, "{tile.dtype}")',
        ]

        def step(block: Block) -> None:
            at = np.indices(tile.shape)
            result = np.clip(value(block, at), -LIMIT, LIMIT)
            block[tile.name] = np.broadcast_to(result, tile.shape).astype(NUMPY[tile.dtype])

        return lines, step

    def elementwise(self) -> None:
        shape = (self.choices.integer(1, 20), self.choices.integer(1, 20))
        if self.choices.integer(0, 3) == 0:
            shape = shape[:1]  # type: ignore[assignment]
        lines, step = [], None
        # The new tile is not yet a source of its own value.
        known = list(self.tiles)
        tile = self.new_tile(shape)
        self.tiles = known
        lines, step = self.assignment(tile)
        self.tiles = [*known, tile]
        self.emit(lines, step)

    def branch(self) -> None:
        """Overwrites a tile differently in different blocks."""
        tile = self.pick(self.tiles)
        known, self.tiles = self.tiles, [t for t in self.tiles if t is not tile]
        first, one = self.assignment(tile)
        second, other = self.assignment(tile)
        self.tiles = known
        limit = self.choices.integer(0, 2)

        def step(block: Block) -> None:
            (one if block["bx"] < limit else other)(block)

        indented = ["    " + line for line in first], ["    " + line for line in second]
        self.emit([f"if bx < {limit}:", *indented[0], "else:", *indented[1]], step)

    def reduce(self) -> None:
        wide = [t for t in self.tiles if len(t.shape) == 2 and t.dtype in self.summed]
        if not wide:
            return self.load()
        tile = self.pick(wide)
        dim = self.choices.integer(0, 1)
        kind = self.pick(["sum", "max", "min"])
        result = self.new_tile((tile.shape[1 - dim],), tile.dtype)
        n = result.shape[0]
        keep: list[str] = []
        if self.keeps_rows and self.choices.integer(0, 1):
            self.rows.append(self.new_tile(result.shape, tile.dtype))
            self.tiles.pop()
            keep = [f"T.copy({result.name}, {self.rows[-1].name})"]
        kept = [row.name for row in self.rows[-1:] if keep]

        def step(block: Block) -> None:
            value = getattr(np, kind)(block[tile.name].astype(np.float64), axis=dim)
            block.update({row: value for row in kept})
            block[result.name] = np.clip(value, -LIMIT, LIMIT).astype(NUMPY[tile.dtype])

        element = f"{result.name}[i]"
        low, high = f'T.cast(-{LIMIT}, "{tile.dtype}")', f'T.cast({LIMIT}, "{tile.dtype}")'
        self.emit(
            [
                f"T.reduce_{kind}({tile.name}, {result.name}, dim={dim})",
                *keep,
                f"for i in T.Parallel({n}):",
                f"    {element} = T.min(T.max({element}, {low}), {high})",
            ],
            step,
        )
        return None

    def gemm(self) -> None:
        fitting = [t for t in self.tiles if len(t.shape) == 2 and t.dtype in self.multiplied]
        if not fitting:
            return self.load()
        a = self.pick(fitting)
        transpose_a, transpose_b = (
            bool(self.choices.integer(0, 1)),
            bool(self.choices.integer(0, 1)),
        )
        m, k = a.shape[::-1] if transpose_a else a.shape
        n = self.choices.integer(1, 24)
        known = list(self.tiles)
        b = self.new_tile((n, k) if transpose_b else (k, n), a.dtype)
        self.tiles = known
        lines, fill = self.assignment(b)
        self.tiles = [*known, b]
        c = self.new_tile((m, n), "float32")
        repeats = self.choices.integer(1, 3)
        element = f"{c.name}[i, j]"

        def step(block: Block) -> None:
            fill(block)
            left, right = block[a.name].astype(np.float64), block[b.name].astype(np.float64)
            product = (left.T if transpose_a else left) @ (right.T if transpose_b else right)
            block[c.name] = np.clip(product * repeats, -LIMIT, LIMIT).astype(np.float32)

        self.emit(
            [
                *lines,
                f"T.clear({c.name})",
                f"for k in T.Pipelined({repeats}, num_stages=2):",
                f"    T.gemm({a.name}, {b.name}, {c.name}, {transpose_a}, {transpose_b})",
                f"for i, j in T.Parallel({m}, {n}):",
                f"    {element} = T.min(T.max({element}, T.float32(-{LIMIT})), T.float32({LIMIT}))",
            ],
            step,
        )
        return None

    def part_copy(self) -> None:
        """A slice of one tile into a slice of another."""
        wide = [t for t in self.tiles if len(t.shape) == 2]
        if len(wide) < 2:
            return self.load()
        source, target = self.pick(wide), self.pick(wide)
        if source is target:
            return self.elementwise()
        h = self.choices.integer(1, min(source.shape[0], target.shape[0]))
        w = self.choices.integer(1, min(source.shape[1], target.shape[1]))
        sy, sx = (self.choices.integer(0, source.shape[d] - (h, w)[d]) for d in (0, 1))
        ty, tx = (self.choices.integer(0, target.shape[d] - (h, w)[d]) for d in (0, 1))

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

    def serial(self) -> None:
        """Adds to a tile in a loop, with a step that some iterations skip."""
        wide = [t for t in self.tiles if len(t.shape) == 2 and t.dtype in ("float32", "int32")]
        if not wide:
            return self.load()
        tile = self.pick(wide)
        stop, skip = self.choices.integer(0, 5), self.choices.integer(1, 3)
        h, w = tile.shape

        def step(block: Block) -> None:
            added = sum(k for k in range(stop) if k % skip == 0)
            wanted = np.minimum(block[tile.name].astype(np.float64) + added, LIMIT)
            block[tile.name] = wanted.astype(NUMPY[tile.dtype])

        element = f"{tile.name}[i, j]"
        self.emit(
            [
                f"for k in T.serial({stop}):",
                f"    if k % {skip} == 0:",
                f"        for i, j in T.Parallel({h}, {w}):",
                f"            {element} = {element} + k",
                f"for i, j in T.Parallel({h}, {w}):",
                f'    {element} = T.min({element}, T.cast({LIMIT}, "{tile.dtype}"))',
            ],
            step,
        )
        return None

    def store(self) -> None:
        tile = self.pick([t for t in self.tiles if len(t.shape) == 2])
        th, tw = self.block
        known = list(self.tiles)
        out = self.new_tile((th, tw), "float32")
        self.tiles = known
        lines, assign = self.assignment(out)
        h, w = min(th, tile.shape[0]), min(tw, tile.shape[1])

        def step(block: Block) -> None:
            assign(block)
            result = block[out.name].copy()
            result[:h, :w] = block[tile.name][:h, :w].astype(np.float32)
            y, x = block["by"] * th, block["bx"] * tw
            target = block["Out"][y : y + th, x : x + tw]
            target[...] = result[: target.shape[0], : target.shape[1]]

        self.emit(
            [
                *lines,
                f"T.copy({tile.name}[0:{h}, 0:{w}], {out.name}[0:{h}, 0:{w}])",
                f"T.copy({out.name}, Out[by * {th}, bx * {tw}])",
            ],
            step,
        )


def compose(generator: Generator, more: Sequence[Callable[[], None]]) -> RandomKernel:
    """A kernel of 2 to 9 steps: a load, steps that all generators have or `more`, and a store."""
    generator.load()
    steps = [
        generator.load,
        generator.elementwise,
        generator.elementwise,
        generator.branch,
        generator.reduce,
        generator.gemm,
        generator.part_copy,
        generator.serial,
        *more,
    ]
    for _ in range(generator.choices.integer(1, 7)):
        generator.pick(steps)()
    generator.store()
    return generator.kernel


def random_kernel(choices: Choices) -> RandomKernel:
    from control_steps import STEPS, stores_rows
    from pipeline_steps import pipelines

    generator = Generator(choices)
    generator.keeps_rows = True
    more = [partial(step, generator) for step in STEPS]
    kernel = compose(generator, [*more, generator.reduce, partial(pipelines, generator)])
    stores_rows(generator)
    return kernel


def random_inputs(kernel: RandomKernel, seed: int) -> dict[str, Array]:
    generator = np.random.default_rng(seed)
    return {
        name: generator.integers(-LIMIT, LIMIT + 1, shape).astype(kernel.dtype_of(name))
        for name, shape in kernel.inputs.items()
    }
