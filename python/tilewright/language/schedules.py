# SPDX-License-Identifier: Apache-2.0
"""Schedulers: which block works on which tile."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..capture.tracer import current
from ..options import traced_for
from .math_ops import min as _min
from .memory import alloc_var
from .values import LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _grouped(number: Any, rows: Any, columns: Any, group: int) -> tuple[Any, Any]:
    """Row and column of a tile: `group` rows at a time, column by column."""
    per_group = columns * group
    first = number // per_group * group
    height = _min(rows - first, group)
    inside = number % per_group
    return first + inside % height, inside // height


class BaseTileScheduler(ABC):
    """What a scheduler of tiles offers: `init`, then while `valid`, work on a tile, `next_tile`."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or "scheduler"

    @abstractmethod
    def init(self, block: Any) -> None:
        """Starts at the block's first tile."""

    @abstractmethod
    def next_tile(self) -> None:
        """Goes on to the block's next tile."""

    @abstractmethod
    def valid(self) -> Any:
        """Whether there is a tile."""


class PersistentTileScheduler(BaseTileScheduler):
    """Gives each of `num_workers` blocks every `num_workers`-th tile, in groups of `swizzle_size`.

    `while scheduler.valid(): ... scheduler.m_idx, scheduler.n_idx ... scheduler.next_tile()`.
    """

    def __init__(
        self,
        num_m_tiles: Any,
        num_n_tiles: Any,
        num_workers: Any = None,
        swizzle_size: int = 1,
        column_major: bool = True,
        cluster_size: int = 1,
        stateful: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        if cluster_size != 1:
            raise LanguageError(
                f"cluster_size of a tile scheduler is unsupported on {traced_for.get()}; use 1"
            )
        self.tiles = (num_m_tiles, num_n_tiles)
        self.num_workers = num_workers
        self.swizzle_size = swizzle_size
        self.column_major = column_major
        self.stateful = stateful
        self._state: Any = None
        self._turn: Any = None

    def init(self, block: Any) -> None:
        tracer = current()
        tracer.pending_name = self.name
        self._state = alloc_var("int32", init=block)
        self._turn = alloc_var("int32", init=0)

    def _number(self) -> Any:
        if self._state is None:
            raise LanguageError("a tile scheduler is used before its init")
        return current().expression(self._state)

    def next_tile(self) -> None:
        if self.num_workers is None:
            raise LanguageError("a tile scheduler needs num_workers to go on to its next tile")
        tracer = current()
        tracer.store(self._state.element(), self._number() + self.num_workers)
        tracer.store(self._turn.element(), self.current_iter + 1)

    def valid(self) -> Any:
        return self._number() < self.tiles[0] * self.tiles[1]

    def coord(self, linear_index: Any = None) -> tuple[Any, Any]:
        """Row and column of the tile with this number; without one, of the block's tile."""
        rows, columns = self.tiles
        number = self._number() if linear_index is None else linear_index
        if self.column_major:
            return _grouped_columns(number, rows, columns, self.swizzle_size)
        n, m = _grouped_columns(number, columns, rows, self.swizzle_size)
        return m, n

    @property
    def current_iter(self) -> Any:
        """How many tiles the block has done."""
        if self._turn is None:
            raise LanguageError("a tile scheduler is used before its init")
        return current().expression(self._turn)

    @property
    def m_idx(self) -> Any:
        """The row of the block's tile."""
        return self.coord()[0]

    @property
    def n_idx(self) -> Any:
        """The column of the block's tile."""
        return self.coord()[1]


def _grouped_columns(number: Any, rows: Any, columns: Any, group: int) -> tuple[Any, Any]:
    """Down the columns, `group` columns at a time."""
    if group == 1:
        return number % rows, number // rows
    column, row = _grouped(number, columns, rows, group)
    return row, column
