# SPDX-License-Identifier: Apache-2.0
"""What was measured, beside what the machine could do."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import load_compiler

if TYPE_CHECKING:
    from .recorder import Row


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the report. Times are milliseconds, rates per second; None: not known.

    `bytes` counts each tensor once per direction: what must at least be moved. `limit` is
    "compute" or "memory", and `fraction` the share of that limit's speed that was reached. `total`
    and `median` are without the first call, unless it is the only one.
    """

    kernel: str
    shapes: str
    place: str
    calls: int
    total: float
    median: float
    flops: float | None
    is_upper_bound: bool
    bytes: int
    limit: str | None
    fraction: float | None

    @property
    def flops_per_second(self) -> float | None:
        return None if self.flops is None else self.flops / self.median * 1e3

    @property
    def bytes_per_second(self) -> float:
        return self.bytes / self.median * 1e3

    def as_dict(self) -> dict[str, Any]:
        names = [name for name in self.__slots__ if not name.startswith("_")]
        rates = {n: getattr(self, n) for n in ("flops_per_second", "bytes_per_second")}
        return {name: getattr(self, name) for name in names} | rates


def evaluate(row: Row, peaks: dict[str, float]) -> Measured:
    """Sets a row against the machine's peaks (`_runtime.measure_peaks()`)."""
    work = _work(row)
    moved = 0
    for number, size in enumerate(row.sizes):
        directions = 1 if work is None else work.is_read[number] + work.is_written[number]
        moved += size * directions
    flops = None if work is None else work.flops
    counted = row.counted()
    median = statistics.median(counted)
    limit, fraction = None, None
    if flops is not None and peaks["bytes"] > 0:
        compute, memory = compute_seconds(work, peaks), moved / peaks["bytes"]
        limit = "compute" if compute >= memory else "memory"
        fraction = max(compute, memory) * 1e3 / median
    return Measured(
        kernel=row.kernel.name,
        shapes=row.shapes(),
        place=row.place(),
        calls=row.calls,
        total=sum(counted) / len(counted) * max(1, row.calls - 1),
        median=median,
        flops=flops,
        is_upper_bound=work is not None and work.is_upper_bound,
        bytes=moved,
        limit=limit,
        fraction=fraction,
    )


def _work(row: Row) -> Any:
    """What the kernel does with these arguments; None where its text can't be had or counted."""
    try:
        text = row.kernel.stage("tile")
    except KeyError:
        return None
    known = [a if type(a) is int else None for a in row.arguments]
    try:
        return load_compiler().count_work(text, [*known, *row.symbols()])
    except ValueError:
        return None


def compute_seconds(work: Any, peaks: dict[str, float]) -> float:
    """What the operations of a kernel take at least."""
    special = work.bfloat16_flops + work.byte_operations
    seconds = (work.flops - special) / peaks["flops"]
    seconds += work.bfloat16_flops / (peaks["bfloat16_flops"] or peaks["flops"])
    seconds += work.byte_operations / (peaks["byte_operations"] or peaks["flops"])
    return float(seconds)


def table(measured: list[Measured], peaks: dict[str, float]) -> str:
    """A line per kernel and set of shapes, the one with most time first."""
    heads = ("calls", "total ms", "median ms", "GFLOP/s", "GB/s", "of limit")
    rows = [("kernel", "shapes", *heads, "at")]
    for one in sorted(measured, key=lambda m: -m.total):
        rate = one.flops_per_second
        share = "-" if one.fraction is None else f"{one.fraction:.0%} of {one.limit}"
        rows.append(
            (
                one.kernel,
                one.shapes,
                str(one.calls),
                f"{one.total:.3f}",
                f"{one.median:.4f}",
                "-" if rate is None else f"{'<' * one.is_upper_bound}{rate / 1e9:.1f}",
                f"{one.bytes_per_second / 1e9:.1f}",
                share,
                one.place,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        left = [text.ljust(width) for text, width in zip(row[:2], widths, strict=False)]
        right = [text.rjust(width) for text, width in zip(row[2:-1], widths[2:-1], strict=True)]
        lines.append("  ".join([*left, *right, row[-1]]).rstrip())
    limits = [f"{peaks['flops'] / 1e9:.0f} GFLOP/s of float32"]
    if peaks["bfloat16_flops"]:
        limits.append(f"{peaks['bfloat16_flops'] / 1e9:.0f} of bfloat16")
    if peaks["byte_operations"]:
        limits.append(f"{peaks['byte_operations'] / 1e9:.0f} of int8")
    lines.append(f"machine: {', '.join(limits)}; {peaks['bytes'] / 1e9:.1f} GB/s of a large copy")
    return "\n".join(lines)
