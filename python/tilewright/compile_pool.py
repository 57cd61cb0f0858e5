# SPDX-License-Identifier: Apache-2.0
"""Threads that compile, and end with whoever waits for them.

Python joins the threads of a `ThreadPoolExecutor` when the process ends, so one whose Python code
hangs would keep the process for ever. These threads are daemons instead: the end of the process
waits only for those in the compiler, which are told to stop and do.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from .cancellation import enter_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class CompilePool(Executor):
    """So many threads, which take one task after the other."""

    def __init__(self, workers: int | None = None, name: str = "tilewright-compile") -> None:
        self.most = workers or min(32, (os.cpu_count() or 1) + 4)
        self.name = name
        self.cancelled = threading.Event()
        self.tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self.threads: list[threading.Thread] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.cancelled.is_set():
            raise RuntimeError("the pool is shut down")
        future: Future[Any] = Future()
        self.tasks.put((future, lambda: fn(*args, **kwargs)))
        if len(self.threads) < self.most:
            name = f"{self.name}_{len(self.threads)}"
            self.threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self.threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """With `cancel_futures`, what compiles is cancelled, too."""
        if cancel_futures:
            self.cancelled.set()
            try:
                while task := self.tasks.get_nowait():
                    task[0].cancel()
            except Empty:
                pass
        for _ in self.threads:
            self.tasks.put(None)
        if wait:
            for thread in self.threads:
                thread.join()

    def _work(self) -> None:
        enter_pool(self.cancelled.is_set)
        while task := self.tasks.get():
            future, function = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = function()
            except BaseException as failure:  # whoever asks for the result gets it
                future.set_exception(failure)
            else:
                future.set_result(result)


@contextmanager
def compile_pool(workers: int | None, name: str = "tilewright-compile") -> Iterator[CompilePool]:
    """A pool of `workers` threads. At the end of the block what still compiles is cancelled."""
    pool = CompilePool(workers, name)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
