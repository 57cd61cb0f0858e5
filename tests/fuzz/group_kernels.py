# SPDX-License-Identifier: Apache-2.0
"""Random kernels whose groups of threads share fragments, and what they give: a thread at a time.

The oracle keeps each fragment once per thread, as registers are. What threads do together each
does with its own; where it goes to memory they must have the same (`Undefined` else), but for those
who never wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

N, ROWS, SOURCES = 16, 64, 8
Array = np.ndarray[Any, Any]


class Undefined(Exception):
    """Threads that store together have different numbers."""


@dataclass
class Registers:
    """A fragment in each thread: numbers, and which of them were ever written."""

    values: Array
    written: Array


@dataclass
class State:
    threads: int
    a: Array
    b: Array
    c: Array
    numbers: dict[str, int]
    fragments: dict[str, Registers] = field(default_factory=dict)
    #: Elements of b and c that no one knows, as a thread read what it never wrote.
    open_b: Array = field(init=False)
    open_c: Array = field(init=False)

    def __post_init__(self) -> None:
        self.open_b, self.open_c = np.zeros(self.b.shape, bool), np.zeros(self.c.shape, bool)

    def together(self, who: Array, values: Array, written: Array) -> tuple[Array, Array]:
        """What the threads have in common: numbers, and whether anyone has written them."""
        known = written[who]
        highest = np.where(known, values[who], np.iinfo(np.int64).min).max(0)
        lowest = np.where(known, values[who], np.iinfo(np.int64).max).min(0)
        some = known.any(0)
        if np.any(some & (highest != lowest)):
            raise Undefined
        return np.where(some, highest, 0), some


#: What a statement does for the threads that come to it.
Step = Callable[[State, Array], None]


class GroupKernel:
    """`source` defines `kernel(A, B, C, n, m)`; `run` gives B, C and their open elements."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.threads = int(self.pick([64, 96, 128]))
        self.names = [f"f{number}" for number in range(int(self.random.integers(1, 4)))]
        self.rows = self.made = self.variables = 0
        self.loop: int | None = None
        self.lines: list[str] = []
        steps = [self.begin(name) for name in self.names]
        for _ in range(int(self.random.integers(3, 7))):
            steps.append(self.statement(0))
        # At the end each group, or all, tell what they have.
        steps.append(self.ending())
        self.steps = steps

    @staticmethod
    def make(seed: int, a: Array, n: int, m: int) -> tuple[GroupKernel, State | None]:
        """One in four as it comes; the others have a meaning. With what it gives, if it has."""
        generator = np.random.default_rng(seed)
        while True:
            kernel = GroupKernel(int(generator.integers(2**40)))
            try:
                return kernel, kernel.run(a, n, m)
            except Undefined:
                if seed % 4 == 0:
                    return kernel, None

    def pick(self, items: list[Any]) -> Any:  # noqa: ANN401
        return items[int(self.random.integers(len(items)))]

    def chance(self, percent: int) -> bool:
        return bool(self.random.integers(100) < percent)

    @property
    def source(self) -> str:
        head = [
            "import tilewright.language as T",
            "",
            "@T.prim_func",
            f'def kernel(A: T.Tensor(({SOURCES}, {N}), "int32"),',
            f'           B: T.Tensor(({ROWS}, {N}), "int32"),',
            f'           C: T.Tensor(({ROWS}, {self.threads}), "int32"), n: T.int32, m: T.int32):',
            f"    with T.Kernel(1, threads={self.threads}):",
            "        tx = T.get_thread_binding()",
        ]
        made = [f'        {name} = T.alloc_fragment(({N},), "int32")' for name in self.names]
        return "\n".join(head + made + ["        " + line for line in self.lines]) + "\n"

    def run(self, a: Array, n: int, m: int) -> State:
        state = State(
            self.threads,
            a.astype(np.int64),
            np.zeros((ROWS, N), np.int64),
            np.zeros((ROWS, self.threads), np.int64),
            {"n": n, "m": m, "k": 0},
        )
        for name in self.names:
            shape = (self.threads, N)
            state.fragments[name] = Registers(np.zeros(shape, np.int64), np.zeros(shape, bool))
        everyone = np.ones(self.threads, bool)
        for step in self.steps:
            step(state, everyone)
        return state

    # Statements

    def begin(self, name: str) -> Step:
        if self.chance(15):
            return lambda _state, _who: None
        return self.fill(name, "")

    def ending(self) -> Step:
        kind = self.random.integers(4)
        if kind == 0:
            return self.out("")
        condition = self.condition(0)
        return self.branch(condition, "", lambda indent: self.out(indent), both=True)

    def block(self, depth: int, indent: str) -> Step:
        steps = [self.statement(depth, indent) for _ in range(int(self.random.integers(1, 4)))]

        def run(state: State, who: Array) -> None:
            for step in steps:
                step(state, who)

        return run

    def statement(self, depth: int, indent: str = "") -> Step:
        if depth < 3 and self.chance(45 if depth < 2 else 20):
            if self.loop is None and self.chance(30):
                return self.turns(depth, indent)
            return self.branch(
                self.condition(depth), indent, lambda inner: self.block(depth + 1, inner)
            )
        name = self.pick(self.names)
        if self.chance(2):
            return self.own_element(name, indent)
        kinds: list[Callable[[], Step]] = [
            lambda: self.fill(name, indent),
            lambda: self.load(name, indent),
            lambda: self.grow(name, indent),
            lambda: self.grow(name, indent),
            lambda: self.move(name, indent),
            lambda: self.move(name, indent),
            lambda: self.part(name, indent),
            lambda: self.running(name, indent),
            lambda: self.out(indent),
            lambda: self.out(indent),
            lambda: self.both(name, indent),
            lambda: self.element(name, indent),
            lambda: self.element_out(name, indent),
            lambda: self.viewed(name, indent),
            lambda: self.largest(name, indent),
            lambda: self.handed_over(name, indent),
        ]
        return self.pick(kinds)()  # type: ignore[no-any-return]

    def nest(self, lines: list[str], indent: str) -> None:
        self.lines.append(f"{indent}for i in T.Parallel({N}):")
        self.lines += [f"{indent}    {line}" for line in lines]

    def change(self, name: str, what: Callable[[State], tuple[Array, Array]]) -> Step:
        def run(state: State, who: Array) -> None:
            values, written = what(state)
            own = state.fragments[name]
            own.values[who] = np.broadcast_to(values, own.values.shape)[who]
            own.written[who] = np.broadcast_to(written, own.written.shape)[who]

        return run

    def fill(self, name: str, indent: str) -> Step:
        number = int(self.random.integers(100))
        self.lines.append(f"{indent}T.fill({name}, {number})")
        return self.change(name, lambda _: (np.array(number), np.array(True)))

    def source_row(self) -> tuple[str, Callable[[State], Array]]:
        row = int(self.random.integers(SOURCES - 3))
        if self.loop is not None and self.chance(50):
            return f"{row} + k", lambda state: state.a[row + state.numbers["k"]]
        return str(row), lambda state: state.a[row]

    def load(self, name: str, indent: str) -> Step:
        text, row = self.source_row()
        self.lines.append(f"{indent}T.copy(A[{text}, 0:{N}], {name})")
        return self.change(name, lambda state: (row(state), np.array(True)))

    def grow(self, name: str, indent: str) -> Step:
        text, row = self.source_row()
        self.nest([f"{name}[i] = {name}[i] * 2 + A[{text}, i]"], indent)

        def what(state: State) -> tuple[Array, Array]:
            own = state.fragments[name]
            return own.values * 2 % 100003 + row(state), own.written

        self.lines[-1] = self.lines[-1].replace(" * 2 ", " * 2 % 100003 ")
        return self.change(name, what)

    def move(self, name: str, indent: str) -> Step:
        other = self.pick(self.names)
        kind = self.random.integers(3)
        if kind == 0 and other != name:
            self.lines.append(f"{indent}T.copy({other}, {name})")
            return self.change(
                name,
                lambda s: (s.fragments[other].values.copy(), s.fragments[other].written.copy()),
            )
        if kind == 1 and other != name:
            self.nest([f"{name}[i] = {other}[{N - 1} - i]"], indent)
            return self.change(
                name,
                lambda s: (
                    s.fragments[other].values[:, ::-1].copy(),
                    s.fragments[other].written[:, ::-1].copy(),
                ),
            )
        self.nest([f"{name}[i] = {name}[i] - {other}[i]"], indent)
        return self.change(
            name,
            lambda s: (
                s.fragments[name].values - s.fragments[other].values,
                s.fragments[name].written & s.fragments[other].written,
            ),
        )

    def part(self, name: str, indent: str) -> Step:
        half, number = int(self.random.integers(2)) * (N // 2), int(self.random.integers(100))
        self.lines.append(f"{indent}T.fill({name}[{half}:{half + N // 2}], {number})")

        def run(state: State, who: Array) -> None:
            own = state.fragments[name]
            own.values[who, half : half + N // 2] = number
            own.written[who, half : half + N // 2] = True

        return run

    def running(self, name: str, indent: str) -> Step:
        self.lines.append(f"{indent}T.cumsum({name})")

        def what(state: State) -> tuple[Array, Array]:
            own = state.fragments[name]
            return np.cumsum(own.values, 1), np.logical_and.accumulate(own.written, 1)

        return self.change(name, what)

    def next_row(self) -> tuple[str, Callable[[State], int]]:
        first = self.rows
        if self.loop is None:
            self.rows += 1
            return str(first), lambda _: first
        self.rows += self.loop
        return f"{first} + k", lambda state: first + state.numbers["k"]

    def store(self, name: str, row: Callable[[State], int]) -> Step:
        def run(state: State, who: Array) -> None:
            own = state.fragments[name]
            values, known = state.together(who, own.values, own.written)
            state.b[row(state)], state.open_b[row(state)] = values, ~known

        return run

    def out(self, indent: str) -> Step:
        name = self.pick(self.names)
        text, row = self.next_row()
        if self.chance(50):
            self.lines.append(f"{indent}T.copy({name}, B[{text}, 0:{N}])")
        else:
            self.nest([f"B[{text}, i] = {name}[i]"], indent)
        return self.store(name, row)

    def both(self, name: str, indent: str) -> Step:
        text, row = self.next_row()
        self.nest([f"{name}[i] = {name}[i] + 3", f"B[{text}, i] = {name}[i]"], indent)
        grown = self.change(
            name, lambda s: (s.fragments[name].values + 3, s.fragments[name].written)
        )
        store = self.store(name, row)

        def run(state: State, who: Array) -> None:
            grown(state, who)
            store(state, who)

        return run

    def element(self, name: str, indent: str) -> Step:
        at, number = int(self.random.integers(N)), int(self.random.integers(100))
        self.lines.append(f"{indent}{name}[{at}] = {number}")

        def run(state: State, who: Array) -> None:
            own = state.fragments[name]
            own.values[who, at], own.written[who, at] = number, True

        return run

    def own_element(self, name: str, indent: str) -> Step:
        at = int(self.random.integers(N))
        self.lines.append(f"{indent}{name}[{at}] = tx")

        def run(state: State, who: Array) -> None:
            own = state.fragments[name]
            own.values[who, at] = np.arange(state.threads)[who]
            own.written[who, at] = True

        return run

    def element_out(self, name: str, indent: str) -> Step:
        text, row = self.next_row()
        at = int(self.random.integers(N))
        self.lines.append(f"{indent}C[{text}, tx] = {name}[{at}]")

        def run(state: State, who: Array) -> None:
            own = state.fragments[name]
            state.c[row(state), who] = own.values[who, at]
            state.open_c[row(state), who] = ~own.written[who, at]

        return run

    def viewed(self, name: str, indent: str) -> Step:
        """Through another shape: transposed."""
        self.lines.append(f"{indent}seen = T.view({name}, (4, {N // 4}))")
        other = self.pick(self.names)
        self.lines.append(f"{indent}for i, j in T.Parallel(4, {N // 4}):")
        if other == name:
            self.lines.append(f"{indent}    seen[i, j] = seen[i, j] + i")
        else:
            self.lines.append(f"{indent}    seen[i, j] = {other}[j * 4 + i] + i")
        rows = np.repeat(np.arange(4), N // 4)

        def what(state: State) -> tuple[Array, Array]:
            own = state.fragments[other]
            order = np.arange(N) if other == name else np.arange(N).reshape(N // 4, 4).T.ravel()
            return own.values[:, order] + rows, own.written[:, order]

        return self.change(name, what)

    def largest(self, name: str, indent: str) -> Step:
        """A reduction to a fragment of its own, and that back to all elements."""
        other = self.pick(self.names)
        self.made += 1
        most = f"most{self.made}"
        self.lines.append(f'{indent}{most} = T.alloc_fragment((1,), "int32")')
        self.lines.append(f"{indent}T.reduce_max({other}, {most}, dim=0)")
        self.nest([f"{name}[i] = {name}[i] - {most}[0]"], indent)

        def what(state: State) -> tuple[Array, Array]:
            own, given = state.fragments[name], state.fragments[other]
            return (
                own.values - given.values.max(1, keepdims=True),
                own.written & given.written.all(1, keepdims=True),
            )

        return self.change(name, what)

    def handed_over(self, name: str, indent: str) -> Step:
        """Through a shared tile, which all who come have in common."""
        other = self.pick(self.names)
        self.made += 1
        tile = f"tile{self.made}"
        self.lines.append(f'{indent}{tile} = T.alloc_shared(({N},), "int32")')
        self.lines.append(f"{indent}T.copy({other}, {tile})")
        self.nest([f"{name}[i] = {tile}[{N - 1} - i]"], indent)

        def run(state: State, who: Array) -> None:
            given = state.fragments[other]
            values, known = state.together(who, given.values, given.written)
            own = state.fragments[name]
            own.values[who], own.written[who] = values[::-1], known[::-1]

        return run

    # Structures

    def condition(self, depth: int) -> tuple[str, Callable[[State], Array]]:
        """A condition on the thread's number: its text, and for whom it holds."""

        def at(state: State) -> Array:
            return np.arange(state.threads)

        first = int(self.pick([16, 32, 48, 64]))
        name = self.pick(["n", "n", "n", "m"])
        kinds: list[tuple[str, Callable[[State], Array]]] = [
            (f"tx < {first}", lambda s: at(s) < first),
            (f"tx >= {first}", lambda s: at(s) >= first),
            ("tx < 64", lambda s: at(s) < 64),
            ("tx >= 32 and tx < 96", lambda s: (at(s) >= 32) & (at(s) < 96)),
            ("tx // 32 == 1", lambda s: at(s) // 32 == 1),
            ("tx < 32", lambda s: at(s) < 32),
            (f"tx < {name}", lambda s: at(s) < s.numbers[name]),
            (f"tx >= {name}", lambda s: at(s) >= s.numbers[name]),
            (f"{name} > tx", lambda s: at(s) < s.numbers[name]),
            (f"{name} > 40", lambda s: np.full(s.threads, s.numbers[name] > 40)),
        ]
        if self.loop is not None:
            kinds += [
                ("tx // 32 == k % 2", lambda s: at(s) // 32 == s.numbers["k"] % 2),
                ("tx // 32 == k", lambda s: at(s) // 32 == s.numbers["k"]),
                ("tx < k * 32", lambda s: at(s) < s.numbers["k"] * 32),
                ("k > 0", lambda s: np.full(s.threads, s.numbers["k"] > 0)),
            ]
        if self.variables and self.chance(30):
            one = f"v{int(self.random.integers(self.variables))}"
            return f"tx < {one}", lambda s: at(s) < s.numbers[one]
        return self.pick(kinds)  # type: ignore[no-any-return]

    def branch(
        self,
        condition: tuple[str, Callable[[State], Array]],
        indent: str,
        make: Callable[[str], Step],
        both: bool = False,
    ) -> Step:
        text, holds = condition
        begin: Step | None = None
        if not indent and self.variables < 2 and self.chance(10):
            begin = self.variable()
        self.lines.append(f"{indent}if {text}:")
        then = make(indent + "    ")
        other: Step | None = None
        if both or self.chance(50 if "and" not in text and "==" not in text else 10):
            if "and" not in text and self.chance(25):  # the other side on its own
                self.lines.append(f"{indent}if not ({text}):")
            else:
                self.lines.append(f"{indent}else:")
            other = make(indent + "    ")

        def run(state: State, who: Array) -> None:
            if begin:
                begin(state, who)
            chosen = holds(state)
            for step, comers in ((then, who & chosen), (other, who & ~chosen)):
                if step and comers.any():
                    step(state, comers)

        return run

    def variable(self) -> Step:
        """A variable that conditions may read; a second time, it changes."""
        name = f"v{self.pick([0, self.variables])}" if self.variables else "v0"
        value = int(self.pick([16, 40, 64]))
        if int(name[1:]) == self.variables:
            self.variables += 1
            self.lines.append(f'{name} = T.alloc_var("int32", init=n)')
            self.lines.append(f"{name} = {name} + {value}")
            return lambda state, _: state.numbers.update({name: state.numbers["n"] + value})
        self.lines.append(f"{name} = {value}")
        return lambda state, _: state.numbers.update({name: value})

    def turns(self, depth: int, indent: str) -> Step:
        self.loop = int(self.random.integers(2, 4))
        self.lines.append(f"{indent}for k in T.serial({self.loop}):")
        count, body = self.loop, self.block(depth + 1, indent + "    ")
        last = int(self.random.integers(3)) if self.chance(25) else None
        if last is not None:
            self.lines += [f"{indent}    if k == {last}:", f"{indent}        break"]
        self.loop = None

        def run(state: State, who: Array) -> None:
            for k in range(count if last is None else min(last + 1, count)):
                state.numbers["k"] = k
                body(state, who)

        return run
