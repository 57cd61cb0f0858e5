# SPDX-License-Identifier: Apache-2.0
"""Threads that compile, and end with whoever waits for them.

Python joins the threads of every pool when the process ends, so a compilation that nobody waits
for any more, as after Ctrl-C, must be told to stop.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import ThreadPoolExecutor

_here = threading.local()


def cancellation() -> Callable[[], bool] | None:
    """Whether this thread's compilations are to stop; None outside of a pool."""
    return getattr(_here, "is_cancelled", None)


def _enter(is_cancelled: Callable[[], bool]) -> None:
    _here.is_cancelled = is_cancelled


@contextmanager
def compile_pool(
    workers: int | None, name: str = "tilewright-compile"
) -> Iterator[ThreadPoolExecutor]:
    """A pool of `workers` threads. At the end of the block what still compiles is cancelled."""
    from concurrent.futures import ThreadPoolExecutor

    cancelled = threading.Event()
    pool = ThreadPoolExecutor(workers, name, _enter, (cancelled.is_set,))
    try:
        yield pool
    finally:
        cancelled.set()
        pool.shutdown(wait=False, cancel_futures=True)
