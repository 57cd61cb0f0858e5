# SPDX-License-Identifier: Apache-2.0
"""What tuning found: the table of candidates, and the best of them, kept on disk."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import cache

if TYPE_CHECKING:
    from ..kernel import JITKernel

#: What can become of a candidate.
STATES = ("best", "measured", "slow", "failed", "wrong", "hung")


class TuningError(RuntimeError):
    """No candidate is left; the message holds the table with the reason of each."""


@dataclass(slots=True)
class Candidate:
    """One configuration: `state` is one of STATES, `latency` and `compile_time` are milliseconds,
    and `reason` says why it was skipped."""

    config: dict[str, Any]
    state: str = "measured"
    latency: float | None = None
    compile_time: float | None = None
    reason: str = ""


@dataclass(slots=True)
class AutotuneResult:
    """`latency` and `ref_latency` are milliseconds per call; `candidates` holds all that was tried,
    in the order of `configs`. `kernel` is the best one, compiled."""

    config: dict[str, Any]
    latency: float
    ref_latency: float | None = None
    candidates: list[Candidate] = field(default_factory=list)
    kernel: JITKernel | None = None
    func: Any = None
    from_cache: bool = False

    @property
    def libcode(self) -> str:
        """The best kernel's source."""
        return self.kernel.get_kernel_source() if self.kernel is not None else ""

    def table(self) -> str:
        """All candidates, the fastest first, as text."""
        return format_table(self.candidates)


def why_none(candidates: list[Candidate]) -> str:
    """The head of an error: what became of all of them, and the reason where it is one."""
    states = [c.state for c in candidates]
    told = f"none of {len(candidates)} configurations"
    if set(states) <= {"wrong"}:
        return f"{told} is right"
    reasons = {c.reason for c in candidates}
    if len(reasons) == 1:
        return f"{told} runs: {reasons.pop()}"
    counts = [f"{states.count(s)} {s}" for s in STATES if s in states]
    return f"{told} can be used ({', '.join(counts)})"


def format_table(candidates: list[Candidate]) -> str:
    """A line per candidate: latency, compile time, state, configuration, reason."""
    order = sorted(candidates, key=lambda c: (c.latency is None, c.latency or 0.0))
    rows = [("latency ms", "compile ms", "state", "configuration", "reason")]
    for candidate in order:
        config = ", ".join(f"{name}={value}" for name, value in candidate.config.items())
        rows.append(
            (
                "-" if candidate.latency is None else f"{candidate.latency:.4f}",
                "-" if candidate.compile_time is None else f"{candidate.compile_time:.1f}",
                candidate.state,
                config,
                candidate.reason,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        numbers = "  ".join(text.rjust(width) for text, width in zip(row[:2], widths, strict=False))
        words = "  ".join(
            text.ljust(width) for text, width in zip(row[2:], widths[2:], strict=True)
        )
        lines.append(f"{numbers}  {words}".rstrip())
    return "\n".join(lines)


def _path(key: str) -> Path:
    return Path(cache.folder()) / "autotune" / f"{key}.json"


def load(key: str) -> AutotuneResult | None:
    """The result that was stored for this key; None where there is none, or it is damaged."""
    if not cache.is_enabled():
        return None
    try:
        stored = json.loads(_path(key).read_text(encoding="utf-8"))
        return AutotuneResult(
            config=dict(stored["config"]),
            latency=float(stored["latency"]),
            ref_latency=stored["ref_latency"],
            candidates=[Candidate(**candidate) for candidate in stored["candidates"]],
            from_cache=True,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(key: str, result: AutotuneResult) -> None:
    """Keeps a result. A disk that can't be written, or values that JSON can't hold, are no error:
    the result lives in memory only then."""
    if not cache.is_enabled():
        return
    kept = {
        "config": result.config,
        "latency": result.latency,
        "ref_latency": result.ref_latency,
        "candidates": [asdict(candidate) for candidate in result.candidates],
    }
    path = _path(key)
    try:
        text = json.dumps(kept)
        if json.loads(text)["config"] != result.config:
            return  # a tuple would come back as a list
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except (OSError, TypeError, ValueError):
        return
