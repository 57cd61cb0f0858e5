# SPDX-License-Identifier: Apache-2.0
"""Random numbers in loops of T.Parallel, whose iterations no thread is named for.

Each iteration has a sequence of its own: Philox counts, so that its key is the seed, and its
counter is made of the number of the loop since T.rng_init, of the iteration and of the draw.
"""

from __future__ import annotations

from ..capture.tracer import current
from .generators import Generator, low_word, philox, wide
from .math_ops import Select
from .memory import alloc_var

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Nests:
    """What T.rng_init leaves for the loops of T.Parallel after it."""

    def __init__(self, seed: Any, sequence: Any, offset: Any) -> None:
        tracer = current()
        seed, sequence, offset = (wide(tracer.expression(v)) for v in (seed, sequence, offset))
        self.key = [low_word(seed), low_word(seed >> 32)]
        self.sequence = [low_word(sequence), low_word(sequence >> 32)]
        self.offset = low_word(offset)
        self.frames = list(tracer.frames)
        #: Of this loop, from 1 on: 0 is for what threads draw themselves.
        self.number = alloc_var("uint32", init=1)
        #: How many of the loops were traced, and how many branches are open since.
        self.count = self.depth = 0

    def are_here(self) -> bool:
        """Whether what was allocated with them still is."""
        return self.frames == current().frames[: len(self.frames)]

    def leave(self) -> None:
        tracer = current()
        tracer.store(self.number.element(), tracer.expression(self.number) + 1)
        self.count += 1

    def here(self) -> Any:
        """The number, as a value."""
        return current().expression(self.number)

    def go_on_from(self, number: Any) -> None:
        """Behind a branch that began with the number: on, by more loops than it may have run, in
        threads that were in it and in those that weren't."""
        current().store(self.number.element(), number + (1 << max(16 - 4 * self.depth, 4)))


class OfIteration(Generator):
    """The sequence of an iteration."""

    def __init__(self, nests: Nests, indices: Sequence[Any], extents: Sequence[Any]) -> None:
        super().__init__()
        iteration: Any = 0
        for index, extent in zip(indices, extents, strict=True):
            iteration = iteration * extent + index
        low, high = nests.sequence
        self.key = nests.key
        self.iteration = low_word(iteration)
        self.sequence = [low, high ^ current().expression(nests.number)]
        self.position = alloc_var("uint32", init=nests.offset)

    def next(self) -> Any:
        tracer = current()
        position = tracer.expression(self.position)
        words = philox([position >> 2, self.iteration, *self.sequence], self.key)
        within = position & 3
        tracer.store(self.position.element(), position + 1)
        first = Select(within == 0, words[0], words[1])
        return Select(within < 2, first, Select(within == 2, words[2], words[3]))


class Deferred:
    """The sequence of an iteration that holds one loop only: if that is of T.Parallel, too, the two
    are one loop, between which no variable may stand."""

    def __init__(self, nests: Nests, indices: Sequence[Any], extents: Sequence[Any]) -> None:
        self.nests, self.indices, self.extents = nests, list(indices), list(extents)

    def of_iteration(
        self, indices: Sequence[Any], extents: Sequence[Any], holds_loop: bool
    ) -> Generator | Deferred:
        kind = Deferred if holds_loop else OfIteration
        return kind(self.nests, [*self.indices, *indices], [*self.extents, *extents])

    def after_nest(self) -> Deferred:
        return self


def settle() -> Any:
    """The generator here, which is made now if it was put off."""
    hints = current().hints
    if isinstance(hints.get("rng"), Deferred):
        put_off = hints["rng"]
        hints["rng"] = OfIteration(put_off.nests, put_off.indices, put_off.extents)
    return hints.get("rng")
