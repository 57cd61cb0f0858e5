# SPDX-License-Identifier: Apache-2.0
"""Random kernels of several launches whose threads hand shared memory over to each other.

A launch reads one array and writes another, each thread one element; between, `v` of each thread
goes through steps. They are written as if all threads did each step at once: the barriers come from
the compiler, or from T.sync_threads now and then. Values are small integers, as in random_kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from random_kernels import LIMIT, Array, Choices

#: What the threads of one block hold: `v`, `bx`, and the array that the launch reads as `source`.
State = dict[str, Any]
Step = Callable[[State], None]
Indices = Callable[[], Array]

NUMPY = {"float32": np.float32, "float16": np.float16, "int32": np.int32}
CLAMP = f"v = T.min(T.max(v, T.float32(-{LIMIT})), T.float32({LIMIT}))"


def clamp(values: Array) -> Array:
    return np.clip(values, -LIMIT, LIMIT)


@dataclass
class Launch:
    threads: int
    source: str
    target: str
    lines: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


@dataclass
class ThreadKernel:
    """`source` defines `kernel(A, Out)`; `reference` gives Out for the inputs."""

    inputs: dict[str, tuple[int, ...]]
    output: tuple[int, ...]
    lines: list[str] = field(default_factory=list)
    #: Launches in the order in which they run, each with its turn of the loop it stands in.
    launches: list[tuple[Launch, int]] = field(default_factory=list)

    @property
    def source(self) -> str:
        n = self.output[0]
        head = [
            "import tilewright.language as T",
            "",
            "@T.prim_func",
            f'def kernel(A: T.Tensor(({n},), "float32"), Out: T.Tensor(({n},), "float32")):',
        ]
        return "\n".join(head + ["    " + line for line in self.lines]) + "\n"

    def dtype_of(self, tensor: str) -> str:
        return "float32"

    def reference(self, inputs: dict[str, Array]) -> Array:
        n = self.output[0]
        arrays = {"A": inputs["A"].astype(np.float64)}
        for launch, turn in self.launches:
            made = np.zeros(n)
            for bx in range(-(-n // launch.threads)):
                at = bx * launch.threads + np.arange(launch.threads)
                state: State = {"bx": bx, "turn": turn, "source": arrays[launch.source], "at": at}
                for step in launch.steps:
                    step(state)
                made[at[at < n]] = state["v"][at < n]
            arrays[launch.target] = made
        return arrays["Out"].astype(np.float32)


class LaunchGenerator:
    """The body of one launch."""

    def __init__(self, choices: Choices, n: int, source: str, target: str, in_loop: bool) -> None:
        self.choices, self.n = choices, n
        threads = self.pick([1, 8, 24, 32, 64, 96])
        self.launch = Launch(threads, source, target)
        self.made = 0
        self.in_loop = in_loop
        is_flat = threads % 2 != 0 or choices.integer(0, 2) > 0
        blocks = -(-n // threads)
        if is_flat:
            self.open = f"with T.Kernel({blocks}, threads={threads}) as bx:"
            lines = ["t = T.get_thread_binding()"]
        else:
            half = threads // 2
            self.open = f"with T.Kernel({blocks}, threads=({half}, 2)) as bx:"
            lines = [f"t = T.get_thread_binding(1) * {half} + T.get_thread_binding(0)"]
        lines.append(f"at = bx * {threads} + t")
        self.launch.lines = lines
        shift = choices.integer(0, n)
        lines.append(f'v = T.alloc_var("float32", init={source}[(at + {shift}) % {n}])')

        def begin(state: State) -> None:
            state["v"] = state["source"][(state["at"] + shift) % n]

        self.launch.steps.append(begin)

    def pick(self, items: list[Any]) -> Any:  # noqa: ANN401
        return items[self.choices.integer(0, len(items) - 1)]

    def emit(self, lines: list[str], step: Step) -> None:
        self.launch.lines += [*lines, CLAMP]

        def clamped(state: State) -> None:
            step(state)
            state["v"] = clamp(state["v"])

        self.launch.steps.append(clamped)

    def name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    def shared(self, dtype: str | None = None) -> tuple[str, str, list[str]]:
        """A new shared buffer of one element per thread: name, dtype, the line that makes it."""
        name, dtype = self.name("s"), dtype or self.pick(list(NUMPY))
        return name, dtype, [f'{name} = T.alloc_shared(({self.launch.threads},), "{dtype}")']

    def permutation(self) -> tuple[str, Array]:
        """Each thread has an element of its own: source, and the elements by thread."""
        count = self.launch.threads
        t = np.arange(count)
        shift, mask = self.choices.integer(0, count), self.choices.integer(0, 31)
        kinds = [("t", t), (f"{count - 1} - t", t[::-1]), (f"(t + {shift}) % {count}", t + shift)]
        if count & (count - 1) == 0:
            kinds.append((f"t ^ {mask % count}", t ^ mask % count))
        source, found = self.pick(kinds)
        return source, found % count

    def anywhere(self) -> tuple[str, Array]:
        count = self.launch.threads
        t = np.arange(count)
        one = self.choices.integer(0, count - 1)
        kinds = [
            self.permutation(),
            (str(one), t * 0 + one),
            ("t // 2", t // 2),
            (f"T.min(t + 1, {count - 1})", np.minimum(t + 1, count - 1)),
        ]
        return self.pick(kinds)  # type: ignore[no-any-return]

    def barrier(self) -> list[str]:
        return ["T.sync_threads()"] if self.choices.integer(0, 3) == 0 else []

    # Steps ---------------------------------------------------------------------------------------

    def hand_over(self) -> None:
        name, dtype, lines = self.shared()
        (put, put_at), (take, take_at) = self.permutation(), self.anywhere()
        more = self.choices.integer(-3, 3)

        def step(state: State) -> None:
            s = np.zeros(len(put_at))
            s[put_at] = state["v"] + more
            state["v"] = state["v"] - s[take_at]

        lines += [f'{name}[{put}] = T.cast(v + {more}, "{dtype}")', *self.barrier()]
        self.emit([*lines, f'v = v - T.cast({name}[{take}], "float32")'], step)

    def some_threads(self) -> None:
        """Only some threads write a second time, elements that others wrote first."""
        name, dtype, lines = self.shared()
        (first, first_at), (second, second_at) = self.permutation(), self.permutation()
        take, take_at = self.anywhere()
        limit = self.choices.integer(0, self.launch.threads)

        def step(state: State) -> None:
            v = state["v"]
            s = np.zeros(len(v))
            s[first_at] = v
            s[second_at[:limit]] = v[:limit] * 2
            state["v"] = s[take_at]

        lines += [
            f'{name}[{first}] = T.cast(v, "{dtype}")',
            f"if t < {limit}:",
            f'    {name}[{second}] = T.cast(v * 2, "{dtype}")',
            f'v = T.cast({name}[{take}], "float32")',
        ]
        self.emit(lines, step)

    def loop(self) -> None:
        """Each turn overwrites what others have read in the turn before."""
        name, dtype, lines = self.shared()
        (put, put_at), (take, take_at) = self.permutation(), self.anywhere()
        turns, end = self.choices.integer(0, 4), self.choices.integer(1, 4)

        def step(state: State) -> None:
            for turn in range(min(turns, end)):
                s = np.zeros(len(put_at))
                s[put_at] = state["v"] + turn
                state["v"] = clamp(state["v"] - s[take_at])

        index = self.name("k")
        is_while = self.choices.integer(0, 1) == 1
        if is_while:
            lines += [f'{index} = T.alloc_var("int32", init=0)', f"while {index} < {turns}:"]
        else:
            lines += [f"for {index} in T.serial({turns}):"]
        body = [
            f"if {index} == {end}:",
            "    break",
            f'{name}[{put}] = T.cast(v + {index}, "{dtype}")',
            f'v = v - T.cast({name}[{take}], "float32")',
            CLAMP,
            *([f"{index} = {index} + 1"] if is_while else []),
        ]
        self.emit(lines + ["    " + line for line in body], step)

    def one_for_all(self) -> None:
        name, dtype, lines = self.shared()
        total, index = self.name("total"), self.name("k")
        count = self.launch.threads
        who = self.choices.integer(0, count - 1)

        def step(state: State) -> None:
            state["v"] = state["v"] - state["v"].sum()

        lines += [
            f'{total} = T.alloc_shared((1,), "float32")',
            f'{name}[t] = T.cast(v, "{dtype}")',
            f"if t == {who}:",
            f"    {total}[0] = 0",
            f"    for {index} in T.serial({count}):",
            f'        {total}[0] += T.cast({name}[{index}], "float32")',
            f"v = v - {total}[0]",
        ]
        self.emit(lines, step)

    def atomics(self) -> None:
        name = self.name("sums")
        dtype = self.pick(["float32", "int32"])
        count = self.choices.integer(1, min(4, self.launch.threads))

        def step(state: State) -> None:
            t = np.arange(len(state["v"]))
            sums = np.zeros(count)
            np.add.at(sums, t % count, state["v"])
            state["v"] = sums[(t + 1) % count]

        lines = [
            f'{name} = T.alloc_shared(({count},), "{dtype}")',
            f"if t < {count}:",
            f"    {name}[t] = 0",
            f'T.atomic_add({name}[t % {count}], T.cast(v, "{dtype}"))',
            f'v = T.cast({name}[(t + 1) % {count}], "float32")',
        ]
        self.emit(lines, step)

    def tile(self) -> None:
        """All threads together work on what each has put there."""
        name, dtype, lines = self.shared(self.pick(["float32", "int32"]))
        (put, put_at), (take, take_at) = self.permutation(), self.anywhere()
        count = self.launch.threads
        kind = self.pick(["parallel", "cumsum", "reduce", "copy"])
        index, other = self.name("i"), self.name("o")
        if kind == "parallel":
            work = [
                f"for {index} in T.Parallel({count}):",
                f"    {name}[{index}] = {name}[{index}] * 2 - {index} % 3",
            ]
        elif kind == "cumsum":
            work = [f"T.cumsum({name})"]
        elif kind == "reduce":
            work = [
                f'{other} = T.alloc_shared((1,), "{dtype}")',
                f"T.reduce_max({name}, {other})",
                f"{name}[t] = {other}[0]",
            ]
        else:
            work = [
                f'{other} = T.alloc_shared(({count},), "{dtype}")',
                f"T.copy({name}, {other})",
                f"{name}[t] = {other}[{count - 1} - t]",
            ]

        def step(state: State) -> None:
            s = np.zeros(count)
            s[put_at] = state["v"]
            t = np.arange(count)
            made = {
                "parallel": s * 2 - t % 3,
                "cumsum": np.cumsum(s),
                "reduce": t * 0 + s.max(),
                "copy": s[::-1],
            }[kind]
            state["v"] = made[take_at]

        lines += [f'{name}[{put}] = T.cast(v, "{dtype}")', *work]
        self.emit([*lines, f'v = T.cast({name}[{take}], "float32")'], step)

    def group(self) -> tuple[str, str, Array]:
        """A condition that neighbours meet: what goes before, itself, and for whom it holds."""
        count, t = self.launch.threads, np.arange(self.launch.threads)
        low, high = sorted(self.choices.integer(0, count) for _ in range(2))
        width = self.pick([8, 32])
        part, name = self.choices.integer(0, max(0, count // width - 1)), self.name("limit")
        dynamic = f'{name} = T.alloc_shared((1,), "int32")\n{name}[0] = {high}'
        kinds: list[tuple[str, str, Array]] = [
            ("", f"t < {high}", t < high),
            ("", f"t >= {low}", t >= low),
            ("", f"{low} <= t and t < {high}", (low <= t) & (t < high)),
            ("", f"t // {width} == {part}", t // width == part),
            ("", f"t == {low}", t == low),
            (dynamic, f"t < {name}[0]", t < high),
            (dynamic, f"{name}[0] <= t", t >= high),
        ]
        return self.pick(kinds)  # type: ignore[no-any-return]

    def work(
        self, name: str, depth: int
    ) -> tuple[list[str], Callable[[Array, State, Array], None]]:
        """What a group does to the tile `name`: lines, and the same on (tile, state, members)."""
        count = self.launch.threads
        kind = self.pick(["parallel", "cumsum", "copy", "loop", "own", "inner"])
        index, other, turns = self.name("i"), self.name("o"), self.choices.integer(0, 3)
        more = self.choices.integer(-3, 3)

        def add(s: Array, state: State, members: Array) -> None:
            times = turns if kind == "loop" else 1
            s[:] += more * times if members.any() else 0

        parallel = [f"for {index} in T.Parallel({count}):", f"    {name}[{index}] += {more}"]
        if kind == "loop":
            loop = [f"for {self.name('k')} in T.serial({turns}):"]
            return loop + ["    " + line for line in parallel], add
        if kind == "cumsum":

            def total(s: Array, state: State, members: Array) -> None:
                s[:] = np.cumsum(s) if members.any() else s

            return [f"T.cumsum({name})"], total
        if kind == "copy":

            def reverse(s: Array, state: State, members: Array) -> None:
                s[:] = s[::-1] + more if members.any() else s

            lines = [
                f'{other} = T.alloc_fragment(({count},), "float32")',
                f"T.copy({name}, {other})",
                f"for {index} in T.Parallel({count}):",
                f"    {name}[{index}] = {other}[{count - 1} - {index}] + {more}",
            ]
            return lines, reverse
        if kind == "own":

            def own(s: Array, state: State, members: Array) -> None:
                add(s, state, members)
                state["v"] = np.where(members, state["v"] + s, state["v"])
                s[members] -= 1

            return [*parallel, f"v += {name}[t]", f"{name}[t] -= 1"], own
        if kind == "inner" and depth < 2:
            before, condition, inside = self.group()
            lines, step = self.work(name, depth + 1)

            def inner(s: Array, state: State, members: Array) -> None:
                step(s, state, members & inside)

            head = before.split("\n") if before else []
            return [*head, f"if {condition}:", *("    " + line for line in lines)], inner
        return parallel, add

    def groups(self) -> None:
        """Each side of a branch has a tile, on which those who take it work together."""
        sides = [self.name("s") for _ in range(2)]
        (put, put_at), (take, take_at) = self.permutation(), self.anywhere()
        before, condition, members = self.group()
        made = [self.work(name, 0) for name in sides]
        # What remains of a range in the middle is none.
        rest = np.flatnonzero(~members)
        has_else = len(rest) < 2 or rest[-1] - rest[0] + 1 == len(rest)
        has_else = has_else and "//" not in condition and "==" not in condition

        def step(state: State) -> None:
            tiles = [np.zeros(len(members)) for _ in sides]
            for tile in tiles:
                tile[put_at] = state["v"]
            made[0][1](tiles[0], state, members)
            if has_else:
                made[1][1](tiles[1], state, ~members)
            state["v"] = state["v"] + tiles[0][take_at] - tiles[1][take_at]

        count = self.launch.threads
        lines = [f'{name} = T.alloc_shared(({count},), "float32")' for name in sides]
        lines += [f"{name}[{put}] = v" for name in sides]
        lines += before.split("\n") if before else []
        lines += [f"if {condition}:", *("    " + line for line in made[0][0])]
        if has_else:
            lines += ["else:", *("    " + line for line in made[1][0])]
        self.emit([*lines, f"v = v + {sides[0]}[{take}] - {sides[1]}[{take}]"], step)

    def some(self, depth: int) -> tuple[str, str, Array]:
        """As `group`, or threads that aren't neighbours."""
        count, t = self.launch.threads, np.arange(self.launch.threads)
        if depth > 0 or self.choices.integer(0, 2) > 0:
            return self.group()
        low, high = sorted(self.choices.integer(0, count) for _ in range(2))
        divisor = self.choices.integer(2, 33)
        kinds = [
            (f"t % {divisor} == 1", t % divisor == 1),
            (f"t % {divisor} < {divisor // 2}", t % divisor < divisor // 2),
            (f"t < {low} or t >= {high}", (t < low) | (t >= high)),
        ]
        return "", *self.pick(kinds)

    def turns(
        self, name: str, dtype: str, depth: int
    ) -> tuple[list[str], list[str], Callable[[Array, State, Array], None]]:
        """Turns in which those of a branch read what they wrote: what goes before it, what stands
        in it, and the same on (tile, state, members)."""
        (put, put_at), (take, take_at) = self.permutation(), self.anywhere()
        count, index = self.choices.integer(0, 3), self.name("k")

        def step(s: Array, state: State, members: Array) -> None:
            for turn in range(count):
                state["v"] = np.where(members, clamp(state["v"] - s[take_at]), state["v"])
                s[put_at[members]] = (state["v"] + turn)[members]

        lines = [
            f"for {index} in T.serial({count}):",
            f'    v = v - T.cast({name}[{take}], "float32")',
            f"    {CLAMP}",
            f'    {name}[{put}] = T.cast(v + {index}, "{dtype}")',
        ]
        if depth == 2 or self.choices.integer(0, 1):
            return [], lines, step
        before, condition, inside = self.some(depth + 1)
        first, work, inner = self.turns(name, dtype, depth + 1)

        def both(s: Array, state: State, members: Array) -> None:
            step(s, state, members)
            inner(s, state, members & inside)

        lines += [f"if {condition}:", *("    " + line for line in work)]
        return [*before.split("\n"), *first], lines, both

    def branches(self) -> None:
        """Those who take a side of a branch hand a tile over among themselves."""
        name, dtype, lines = self.shared()
        other, _, more = self.shared(dtype)
        (put, put_at), (take, take_at) = self.permutation(), self.anywhere()
        before, condition, members = self.some(0)
        first, taken, step_taken = self.turns(name, dtype, 0)
        second, rest, step_rest = self.turns(other, dtype, 0)

        def step(state: State) -> None:
            s, r = np.zeros(len(members)), np.zeros(len(members))
            s[put_at] = r[put_at] = state["v"]
            step_taken(s, state, members)
            step_rest(r, state, ~members)
            state["v"] = clamp(state["v"] - s[take_at]) - r[take_at]

        head = [line for line in [*before.split("\n"), *first, *second] if line]
        lines += [*more, *(f'{tile}[{put}] = T.cast(v, "{dtype}")' for tile in (name, other))]
        lines += [*head, f"if {condition}:", *("    " + line for line in taken)]
        lines += ["else:", *("    " + line for line in rest)]
        lines += [f'v = v - T.cast({name}[{take}], "float32")', CLAMP]
        self.emit([*lines, f'v = v - T.cast({other}[{take}], "float32")'], step)

    def warp(self) -> None:
        if self.launch.threads % 32:
            return self.hand_over()
        mask, lane = self.choices.integer(1, 31), self.choices.integer(0, 31)
        t = np.arange(self.launch.threads)
        if self.choices.integer(0, 1):

            def exchange(state: State) -> None:
                state["v"] = state["v"] - state["v"][t ^ mask]

            self.emit([f"v = v - T.shfl_xor(v, {mask})"], exchange)
        else:

            def broadcast(state: State) -> None:
                state["v"] = state["v"] + state["v"][t // 32 * 32 + lane]

            self.emit([f"v = v + T.shfl_sync(v, {lane})"], broadcast)
        return None

    def differ(self) -> None:
        """Threads that take different branches."""
        divisor = self.choices.integer(1, 5)
        turn = "turn" if self.in_loop else "1"

        def step(state: State) -> None:
            t = np.arange(len(state["v"]))
            added = state["turn"] if self.in_loop else 1
            state["v"] = np.where(
                t % divisor == 0, state["v"] + added, 1 - state["v"] + state["bx"]
            )

        lines = [
            f"if t % {divisor} == 0:",
            f"    v = v + {turn}",
            "else:",
            "    v = 1 - v + bx",
        ]
        self.emit(lines, step)

    def lazy(self) -> None:
        """Reads where other reads say, which only the conditions before them allow."""
        name, dtype, lines = self.shared()
        (put, put_at), (order, order_at) = self.permutation(), self.permutation()
        count, places = self.launch.threads, self.name("places")
        least = self.choices.integer(-LIMIT, LIMIT)

        def step(state: State) -> None:
            v = state["v"]
            s = np.zeros(count)
            s[put_at] = v
            is_inside = (v >= 0) & (v < count)
            found = s[order_at[np.clip(v, 0, count - 1).astype(int)]]
            other = np.where(is_inside, found - 1, 1 - v)
            state["v"] = np.where(is_inside & (found > least), found * 2, other)

        there = f'{name}[{places}[T.cast(v, "int32")]]'
        lines += [
            f'{places} = T.alloc_shared(({count},), "int32")',
            f'{name}[{put}] = T.cast(v, "{dtype}")',
            f"{places}[t] = {order}",
            f"if v >= 0 and v < {count} and {there} > {least}:",
            f'    v = T.cast({there}, "float32") * 2',
            "else:",
            f'    v = T.if_then_else(v < 0 or v >= {count}, 1 - v, T.cast({there}, "float32") - 1)',
        ]
        self.emit(lines, step)

    def gather(self) -> None:
        """The same of a tensor, where any index may be read: what lies outside is 0."""
        source, n = self.launch.source, self.n
        equal, least = (self.choices.integer(-LIMIT, LIMIT) for _ in range(2))

        def step(state: State) -> None:
            v = state["v"]

            def at(index: Array) -> Array:
                inside = (index >= 0) & (index < n)
                return np.where(inside, state["source"][np.clip(index, 0, n - 1).astype(int)], 0)

            is_chosen = (v == equal) | (at(at(v)) > least)
            state["v"] = np.where(is_chosen, v + 1, np.where(v < 0, at(at(-v)), -v))

        def twice(index: str) -> str:
            inner = f'{source}[T.cast({index}, "int32")]'
            return f'{source}[T.cast({inner}, "int32")]'

        lines = [
            f"if v == {equal} or {twice('v')} > {least}:",
            "    v = v + 1",
            "else:",
            f"    v = T.if_then_else(v < 0, {twice('-v')}, -v)",
        ]
        self.emit(lines, step)

    def vectors(self) -> None:
        """Buffers of vectors, filled from neighbouring elements of the source."""
        lanes = self.pick([k for k in (2, 4) if self.n % k == 0] or [1])
        if lanes == 1:
            return self.hand_over()
        name, own = self.name("s"), self.name("own")
        (put, put_at), (take, take_at) = self.permutation(), self.anywhere()
        factor, lane = self.choices.integer(-2, 2), self.choices.integer(0, lanes - 1)
        count, groups = self.launch.threads, self.n // lanes
        dtype = f"float32x{lanes}"
        first = self.name("first")

        def step(state: State) -> None:
            s = np.zeros((count, lanes))
            s[put_at] = state["source"].reshape(-1, lanes)[state["at"] % groups]
            state["v"] = (s[take_at] * factor + state["v"][:, None])[:, lane]

        lines = [
            f'{name} = T.alloc_shared(({count},), "{dtype}")',
            f'{own} = T.alloc_var("{dtype}")',
            f"{first} = at % {groups} * {lanes}",
            f"{name}[{put}] = {self.launch.source}[{first} : {first} + {lanes}]",
            f"{own} = v",
            f"{own} = {name}[{take}] * {factor} + {own}",
            f"v = T.extract_lane({own}, {lane})",
        ]
        self.emit(lines, step)
        return None

    def views(self) -> None:
        """A shared buffer of scalars, seen as one of vectors."""
        count = self.launch.threads
        lanes = self.pick([k for k in (1, 2, 4, 8) if count % k == 0])
        if lanes == 1:
            return self.vectors()
        name, dtype, lines = self.shared()
        view, own = self.name("view"), self.name("own")
        (put, put_at), lane = self.permutation(), self.choices.integer(0, lanes - 1)
        one = self.choices.integer(0, count // lanes - 1)

        def step(state: State) -> None:
            s = np.zeros(count)
            s[put_at] = state["v"]
            rows, t = s.reshape(-1, lanes), np.arange(count)
            state["v"] = rows[t // lanes, lane] - rows[one, (lane + 1) % lanes]

        lines += [
            f'{view} = T.view({name}, ({count // lanes},), "{dtype}x{lanes}")',
            f'{own} = T.alloc_local((2,), "{dtype}x{lanes}")',
            f'{name}[{put}] = T.cast(v, "{dtype}")',
            f"{own}[0] = {view}[t // {lanes}]",
            f"{own}[1] = {view}[{one}]",
            f'v = T.cast(T.extract_lane({own}[0], {lane}), "float32")'
            f' - T.cast(T.extract_lane({own}[1], {(lane + 1) % lanes}), "float32")',
        ]
        self.emit(lines, step)
        return None

    def finish(self) -> tuple[list[str], Launch]:
        count, target = self.launch.threads, self.launch.target
        kind = self.choices.integer(0, 2)
        if kind == 0:
            end = [f"if at < {self.n}:", f"    {target}[at] = v"]
        elif kind == 1:
            end = [f"{target}[at] = v"]  # what lies outside isn't written
        else:
            name, _, end = self.shared("float32")
            end += [f"{name}[t] = v", f"T.copy({name}, {target}[bx * {count}])"]
        body = ["    " + line for line in [*self.launch.lines, *end]]
        return [self.open, *body], self.launch


def random_thread_kernel(choices: Choices) -> ThreadKernel:
    """1 to 4 launches, or pairs of them in a loop, each with 0 to 5 steps."""
    n = choices.integer(1, 130)
    kernel = ThreadKernel({"A": (n,)}, (n,))
    kernel.lines += [f'W{i} = T.alloc_global(({n},), "float32")' for i in (0, 1)]

    def launch(source: str, target: str, in_loop: bool = False) -> tuple[list[str], Launch]:
        generator = LaunchGenerator(choices, n, source, target, in_loop)
        steps = [
            generator.hand_over,
            generator.some_threads,
            generator.loop,
            generator.one_for_all,
            generator.atomics,
            generator.tile,
            generator.groups,
            generator.branches,
            generator.warp,
            generator.differ,
            generator.lazy,
            generator.gather,
            generator.vectors,
            generator.views,
        ]
        for _ in range(choices.integer(0, 5)):
            generator.pick(steps)()
        return generator.finish()

    newest = "A"
    for _ in range(choices.integer(0, 2)):
        other = "W1" if newest == "W0" else "W0"
        lines, made = launch(newest, other)
        kernel.lines += lines
        kernel.launches.append((made, 0))
        newest = other
    turns = choices.integer(0, 3)
    if newest != "A" and turns > 0:
        other = "W1" if newest == "W0" else "W0"
        there, back = launch(newest, other, in_loop=True), launch(other, newest, in_loop=True)
        kernel.lines.append(f"for turn in T.serial({turns}):")
        kernel.lines += ["    " + line for line in [*there[0], *back[0]]]
        for turn in range(turns):
            kernel.launches += [(there[1], turn), (back[1], turn)]
    lines, made = launch(newest, "Out")
    kernel.lines += lines
    kernel.launches.append((made, 0))
    return kernel
