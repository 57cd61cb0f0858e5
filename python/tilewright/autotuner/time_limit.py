# SPDX-License-Identifier: Apache-2.0
"""Ends what runs too long, kernels in machine code too."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType, TracebackType


class TimeLimitReached(Exception):
    """What ran within a TimeLimit took too long."""


class TimeLimit:
    """Raises TimeLimitReached in its body after `seconds`.

    It goes the way of Ctrl-C, which ends a kernel in its loops (docs/runtime.md), so it works on
    the main thread only; elsewhere nothing is limited. The user's own Ctrl-C keeps its meaning.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._is_over = False
        self._is_fired = False
        self._is_handled = False
        self._timer: threading.Timer | None = None
        self._previous: Any = None

    def __enter__(self) -> TimeLimit:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._handle)
            self._timer = threading.Timer(self._seconds, self._fire)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._is_over = True
        # A signal that is under way must still find our handler.
        while self._is_fired and not self._is_handled:
            time.sleep(0.001)
        signal.signal(signal.SIGINT, self._previous)

    def _fire(self) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_fired = True
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._is_fired and not self._is_handled:
            self._is_handled = True
            if not self._is_over:
                raise TimeLimitReached
            return
        if callable(self._previous):
            self._previous(number, frame)
