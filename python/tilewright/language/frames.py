# SPDX-License-Identifier: Apache-2.0
"""The objects behind `with T.Kernel(...)` and `for i in T.serial(...)`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from .launch_numbers import LaunchNumbers
from .values import POISON, Expr, LanguageError, Traced, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from ..capture.tracer import Tracer


#: The threads of a warp group.
_GROUP = 128


class RunTimeContext(ABC):
    """Something that a `with` statement of a kernel opens in the running kernel."""

    kind = "the with block"
    #: Whether what stands in it runs only where a condition holds.
    may_not_run = False

    def __init__(self) -> None:
        self.target: ast.expr | None = None

    def bound_to(self, target: ast.expr | None) -> RunTimeContext:
        """Remembers the names after `as`."""
        self.target = target
        return self

    @abstractmethod
    def enter(self, tracer: Tracer) -> Any:
        """Opens it, and gives what the names after `as` are bound to."""

    @abstractmethod
    def leave(self, tracer: Tracer) -> None:
        """Closes it."""


class KernelLaunch(RunTimeContext):
    """The grid and the threads of a kernel; gives one block id per grid extent."""

    kind = "the kernel launch"

    def __init__(
        self, grid: Sequence[Any], threads: Sequence[Any], attributes: dict[str, Any]
    ) -> None:
        super().__init__()
        self.grid = grid
        self.threads = threads
        self.attributes = attributes

    def refuse_names(self, count: int, names: int) -> None:
        """Raises where it gives `count` numbers to as many names after `as`."""
        if count == names:
            return
        if not self.attributes.get("npu"):
            extents = f"{count} grid extent{'s' * (count != 1)} gives {count}"
            gives = f"T.Kernel with {extents} number{'s' * (count != 1)}"
        elif self.threads:
            gives = (
                "T.Kernel with threads gives the number of the block alone (without threads it "
                "gives that of the vector core, too)"
            )
        else:
            gives = "T.Kernel with is_npu=True gives the numbers of the block and the vector core"
        bound = "1 name is" if names == 1 else f"{names} names are"
        # The form of an NPU's kernel, without the word that makes it one.
        forgot = not self.attributes.get("npu") and (count, names) == (1, 2)
        hint = "; is_npu=True gives the number of the vector core, too" if forgot else ""
        raise LanguageError(f"{gives}, but {bound} bound to it{hint}")

    def enter(self, tracer: Tracer) -> Any:
        grid = [tracer.index(e) for e in self.grid]
        threads = [tracer.index(t) for t in self.threads]
        tracer.launch = self
        tracer.begin_said()
        ids = tracer.builder.begin_launch(grid, threads, tracer.attributes(self.attributes))
        self._check_promises(tracer)
        variables = [variable_of(tracer, i, e) for i, e in zip(ids, grid, strict=True)]
        if self.attributes.get("npu") and len(grid) != 1:  # the builder has told it
            return POISON
        if self.attributes.get("npu") and not threads:
            variables.append(variable_of(tracer, tracer.builder.vector_id(), 2))
        return LaunchNumbers(variables, of_npu=bool(self.attributes.get("npu")))

    @staticmethod
    def _check_promises(tracer: Tracer) -> None:
        """What was asserted since the last launch."""
        here = tracer.place
        for condition, text, place in tracer.promises:
            tracer.at(place)
            tracer.builder.device_assert(condition, text)
        tracer.promises.clear()
        tracer.at(here)

    def leave(self, tracer: Tracer) -> None:
        tracer.launch = None
        tracer.end_said()
        tracer.builder.end_launch()


class WarpGroups(RunTimeContext):
    """What only the threads of some groups of 128 do."""

    kind = "T.ws"

    def __init__(self, groups: Sequence[Any]) -> None:
        super().__init__()
        self.groups = groups

    def enter(self, tracer: Tracer) -> None:
        from .launch import get_thread_binding

        launch = tracer.launch
        if launch is None:
            raise LanguageError("T.ws stands inside of T.Kernel", python=RuntimeError)
        if launch.attributes.get("npu"):
            raise unsupported(
                "an AI core has no warps, so T.ws is not supported with is_npu; T.Scope says which "
                "of its cores does what"
            )
        if not self.groups:
            raise LanguageError("T.ws needs the numbers of warp groups")
        self._check_numbers(launch)
        thread: Any = 0
        for dim in reversed(range(len(launch.threads))):
            thread = thread * launch.threads[dim] + get_thread_binding(dim)
        condition: Any = None
        for group in self.groups:
            is_this = thread // _GROUP == group
            condition = is_this if condition is None else condition | is_this
        self.branch = RandomBranch(tracer)
        tracer.builder.begin_if(tracer.value(condition))

    def _check_numbers(self, launch: KernelLaunch) -> None:
        if not all(isinstance(extent, int) for extent in launch.threads):
            return
        threads = math.prod(launch.threads)
        last = (threads - 1) // _GROUP
        for group in self.groups:
            if isinstance(group, int) and not 0 <= group <= last:
                raise LanguageError(
                    f"there is no warp group {group}: {threads} threads of the block make "
                    f"groups of {_GROUP}, 0 to {last}",
                    python=IndexError,
                )

    def leave(self, tracer: Tracer) -> None:
        tracer.builder.end_if()
        self.branch.leave()


class RandomBranch:
    """A branch that opens here, which some threads of the block may enter, or all. In it loops of
    T.Parallel may draw random numbers."""

    def __init__(self, tracer: Tracer) -> None:
        nests = getattr(tracer.hints.get("rng"), "nests", None)
        self.nests = nests if nests is not None and nests.are_here() else None
        if self.nests is not None:
            self.count, self.number = self.nests.count, self.nests.here()
            self.nests.depth += 1

    def leave(self) -> None:
        """Called behind it: what such loops draw from here on is the same in all threads."""
        if self.nests is None:
            return
        self.nests.depth -= 1
        if self.nests.count > self.count:
            self.nests.go_on_from(self.number)


class Loop:
    """A loop of the running kernel, used in a `for` statement."""

    def __init__(
        self,
        kind: str,
        ranges: Sequence[tuple[Any, Any, Any]],
        attributes: dict[str, Any] | None = None,
    ) -> None:
        #: serial, unroll, vectorized, pipelined, persistent or parallel
        self.kind = kind
        #: start, stop and step of each variable
        self.ranges = ranges
        self.attributes = attributes or {}
        #: The number of statements that a schedule of T.Pipelined by hand is of.
        self.scheduled: int | None = None
        #: Whether it is known to have no turn; `enter` finds that.
        self.is_empty = False
        #: The step as the kernel's text has it, if it does.
        self.written_step: str | None = None
        #: The generator of random numbers around a parallel loop.
        self.outer: Any = None
        #: Whether its body is another `for` statement and nothing else.
        self.holds_loop = False

    def __iter__(self) -> NoReturn:
        raise LanguageError(
            f"a {self.kind} loop can only be used in a kernel or a @T.macro, not in plain Python",
            python=TypeError,
        )

    def enter(self, tracer: Tracer, names: Sequence[str]) -> list[Any]:
        """Opens the loop and gives its variables."""
        names = [*names, *"ijklmn"][: len(self.ranges)] if len(names) != len(self.ranges) else names
        attributes = tracer.attributes(self.attributes)
        if self.kind == "parallel":
            extents = [tracer.index(stop) for _, stop, _ in self.ranges]
            self.is_empty = _have_no_turn(tracer, [[0, extent, 1] for extent in extents])
            self.outer = tracer.hints.get("rng")
            handles = tracer.builder.begin_parallel(extents, list(names), attributes)
            found = [variable_of(tracer, h, e) for h, e in zip(handles, extents, strict=True)]
            if self.outer is not None:
                tracer.hints["rng"] = self.outer.of_iteration(
                    found, [r[1] for r in self.ranges], self.holds_loop
                )
            return found
        if "rng" in tracer.hints:
            from .nest_generators import settle

            settle()  # what is drawn in this loop goes on from turn to turn
        variables = []
        kind = getattr(tracer.compiler.LoopKind, self.kind.capitalize())
        # All of them before the first loop is opened: what is refused leaves none open.
        ranges = [[tracer.index(bound) for bound in bounds] for bounds in self.ranges]
        self.is_empty = _have_no_turn(tracer, ranges)
        for bounds, name in zip(ranges, names, strict=True):
            self._warn_of_step(tracer, bounds[2])
            handle = tracer.builder.begin_for(kind, *bounds, name, attributes)
            counts = bounds[1] if bounds[0] == 0 and bounds[2] == 1 else None
            variables.append(variable_of(tracer, handle, counts))
        return variables

    def _warn_of_step(self, tracer: Tracer, step: Any) -> None:
        """As TileLang does, of one that only the call gives; but not where it can't be negative."""
        builder = tracer.builder
        if isinstance(step, int) or step.is_poison or builder.constant_value(step) is not None:
            return
        if not str(step.dtype).startswith(("int", "uint")) or builder.is_never_negative(step):
            return
        step_text = f"the step {self.written_step!r}" if self.written_step else "the step"
        tracer.report(
            f"{step_text} of this loop is not known while compiling: the loop has the turns of "
            "Python's range, up or down as the step's sign says",
            kind="warning",
        )

    def leave(self, tracer: Tracer) -> None:
        if self.kind == "parallel":
            tracer.builder.end_parallel()
            if self.outer is not None:
                tracer.hints["rng"] = self.outer.after_nest()
            else:
                tracer.hints.pop("rng", None)
            return
        for _ in self.ranges:
            tracer.builder.end_for()


def _have_no_turn(tracer: Tracer, ranges: Sequence[Sequence[Any]]) -> bool:
    """Whether one of these ranges is known to be empty."""
    known = filter(None, map(tracer.known_integers, ranges))
    return any(step and not range(start, stop, step) for start, stop, step in known)


class TileLoop(Loop):
    """T.Persistent: a loop over waves, with the tile of this block in each."""

    def __init__(self, domain: list[Any], wave_size: Any, index: Any, group_size: int) -> None:
        from .math_ops import ceildiv

        self.domain = domain
        self.wave_size, self.index = wave_size, index
        self.group_size = group_size
        self.total: Any = 1
        for extent in domain:
            self.total = self.total * extent
        waves = ceildiv(self.total, wave_size)
        super().__init__("persistent", [(0, waves, 1)], {"group_size": group_size})

    def enter(self, tracer: Tracer, names: Sequence[str]) -> list[Any]:
        (wave,) = super().enter(tracer, ["wave"])
        number = wave * self.wave_size + self.index
        tracer.builder.begin_if(tracer.value(number < self.total))
        return self._coordinates(number)

    def _coordinates(self, number: Any) -> list[Any]:
        from .math_ops import min as smaller

        if len(self.domain) == 1:
            return [number]
        if isinstance(self.total, int) and self.total == 0:  # no tile is ever reached
            return [0] * len(self.domain)
        columns = self.domain[-1]
        rows: Any = 1
        for extent in self.domain[:-1]:
            rows = rows * extent
        group = number // (rows * self.group_size)
        within = number % (rows * self.group_size)
        width: Any = self.group_size
        if not isinstance(columns, int) or columns % self.group_size != 0:
            width = smaller(self.group_size, columns - group * self.group_size)
        row, column = within // width, group * self.group_size + within % width
        coordinates = [column]
        for extent in reversed(self.domain[1:-1]):
            coordinates.insert(0, row % extent)
            row = row // extent
        return [row, *coordinates]

    def leave(self, tracer: Tracer) -> None:
        tracer.builder.end_if()
        super().leave(tracer)


class ThreadLoop(Loop):
    """T.thread_binding: no loop, but the number of the thread or block that runs."""

    def __init__(self, start: Any, stop: Any, thread: str) -> None:
        group, _, axis = thread.partition(".")
        if group not in ("threadIdx", "blockIdx") or axis not in ("x", "y", "z"):
            instead = "; a loop that each thread goes through itself is T.unroll or T.serial"
            raise LanguageError(
                f"T.thread_binding: there is no thread {thread!r}; it is threadIdx or blockIdx, "
                f"and .x, .y or .z{instead if 'vthread' in group or group == 'cthread' else ''}"
            )
        self.group, self.dim = group, "xyz".index(axis)
        self.count = stop - start
        super().__init__("thread binding", [(start, stop, 1)])

    def refuse_outside(self) -> NoReturn:
        """Raises for a loop outside of T.Kernel."""
        raise LanguageError(
            "T.thread_binding stands outside of T.Kernel, which says how many blocks and threads "
            "there are: put `with T.Kernel(blocks, threads=n) as bx:` around it, or make a loop of "
            "launches a T.serial",
            python=RuntimeError,
        )

    def number(self) -> Any:
        """The number that runs, for `t = T.thread_binding(..)` without a loop."""
        return self._from_start(self._number())

    def _from_start(self, number: Any) -> Any:
        """The number itself where it starts at 0: it stays the index of a thread."""
        start = self.ranges[0][0]
        return number if isinstance(start, int) and start == 0 else number + start

    def _number(self) -> Any:
        from .launch import (
            get_block_binding,
            get_block_extent,
            get_thread_binding,
            get_thread_extent,
        )

        is_thread = self.group == "threadIdx"
        extent = (get_thread_extent if is_thread else get_block_extent)(self.dim)
        if isinstance(extent, int) and isinstance(self.count, int) and extent < self.count:
            raise LanguageError(
                f"T.thread_binding over {self.count} needs as many of {self.group}."
                f"{'xyz'[self.dim]}, but the launch has {extent}"
            )
        if isinstance(self.count, Expr) or isinstance(extent, Expr):
            from .tile_ops import device_assert

            device_assert(
                self.count <= extent,
                f"T.thread_binding over more than the launch has of {self.group}.{'xyz'[self.dim]}",
            )
        return (get_thread_binding if is_thread else get_block_binding)(self.dim)

    def enter(self, tracer: Tracer, names: Sequence[str]) -> list[Any]:
        number = self._number()
        tracer.builder.begin_if(tracer.value(number < self.count))
        return [self._from_start(number)]

    def leave(self, tracer: Tracer) -> None:
        tracer.builder.end_if()


def variable_of(tracer: Tracer, handle: Any, extent: Any) -> Traced:
    """A loop variable or block id; `extent` is the number of its values from 0, if known."""
    return Traced(handle, tracer, extent=extent if isinstance(extent, int) else None)
