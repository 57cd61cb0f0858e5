# SPDX-License-Identifier: Apache-2.0
"""Two functions measured in turns, so that both meet the same state of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

PAIRS = 5
SAMPLES_PER_PAIR = 4  # 20 in all
SPIN_S = 0.25  # after so long without work, the peer's threads spin no longer


@dataclass
class Measured:
    """Seconds per call."""

    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def ratio(self, peer_share: float = 1.0) -> float | None:
        """Ours to the peer's speed: above 1, ours is faster. The peer did `peer_share` of our work
        in a call."""
        return statistics.median(self.ratios) / peer_share if self.ratios else None


def seconds_per_call(function: Callable[[], object], calls: int) -> float:
    """The mean of so many calls."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def calls_for(function: Callable[[], object], sample_s: float) -> int:
    """So many calls take about `sample_s`."""
    once = seconds_per_call(function, 1)
    if once > sample_s:
        return 1
    return max(1, int(sample_s / max(seconds_per_call(function, 3), 1e-8)))


def measure(
    ours: Callable[[], object],
    peer: Callable[[], object] | None,
    sample_s: float,
    budget_s: float,
    spin_s: float = SPIN_S,
) -> Measured:
    """PAIRS pairs (fewer, but one at least, when `budget_s` is over), each of medians of
    SAMPLES_PER_PAIR samples of about `sample_s`."""
    end = time.perf_counter() + budget_s
    our_calls = calls_for(ours, sample_s)
    peer_calls = calls_for(peer, sample_s) if peer else 0
    measured = Measured()
    for _ in range(PAIRS):
        time.sleep(spin_s if peer else 0)
        our_samples = _samples(ours, our_calls, end)
        measured.ours += our_samples
        if peer:
            peer_samples = _samples(peer, peer_calls, end)
            measured.peer += peer_samples
            ratio = statistics.median(peer_samples) / statistics.median(our_samples)
            measured.ratios.append(ratio)
        if time.perf_counter() > end:
            break
    return measured


def _samples(function: Callable[[], object], calls: int, end: float) -> list[float]:
    samples = [seconds_per_call(function, calls)]
    while len(samples) < SAMPLES_PER_PAIR and time.perf_counter() < end:
        samples.append(seconds_per_call(function, calls))
    return samples
