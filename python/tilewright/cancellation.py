# SPDX-License-Identifier: Apache-2.0
"""How the compilations in a pool's threads are told to stop.

Apart from the pool, as who compiles one kernel should not wait for the import of
`concurrent.futures`.
"""

from __future__ import annotations

import atexit
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_here = threading.local()
#: The threads that are in the compiler.
_compiling: set[int] = set()
_is_ending = threading.Event()


def cancellation() -> Callable[[], bool] | None:
    """Whether this thread's compilations are to stop; None outside of a pool."""
    return getattr(_here, "is_cancelled", None)


def enter_pool(is_cancelled: Callable[[], bool]) -> None:
    """This thread is one of a pool from here on."""
    _here.is_cancelled = lambda: is_cancelled() or _is_ending.is_set()


@contextmanager
def in_compiler() -> Iterator[None]:
    """Around a call of the compiler: its thread must be out of there when the process ends."""
    if cancellation() is None:
        yield
        return
    thread = threading.get_ident()
    _compiling.add(thread)
    try:
        if _is_ending.is_set():  # looked at after the thread is known, so none slips through
            raise SystemExit
        yield
    finally:
        _compiling.discard(thread)


@atexit.register
def _stop() -> None:
    _is_ending.set()
    while _compiling:
        time.sleep(0.001)
