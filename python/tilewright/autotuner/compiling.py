# SPDX-License-Identifier: Apache-2.0
"""Compiles candidates side by side, in any `concurrent.futures.Executor`.

A pool of threads gets the function itself. A pool of processes gets its name: the worker imports
it, compiles, and leaves the kernel in the cache on disk, where this process finds it.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compile_pool import CompilePool, compile_pool
from ..errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..jit_factory import JITFunction
    from .results import Candidate

_WORKER_SETTINGS = ("TILELANG_AUTO_TUNING_CPU_COUNTS", "TILELANG_AUTO_TUNING_MAX_CPU_COUNT")


@dataclass(slots=True)
class Outcome:
    """`error` is empty if the compilation went well."""

    milliseconds: float
    error: str = ""


def _timed(compile_it: Any) -> Outcome:
    started = time.perf_counter()
    error = ""
    try:
        compile_it()
    except Exception as failure:  # whatever is wrong with one candidate, the others go on
        error = one_line(failure)
    return Outcome((time.perf_counter() - started) * 1e3, error)


def compile_here(function: JITFunction, args: tuple[Any, ...], keywords: dict[str, Any]) -> Outcome:
    """Compiles in this process."""
    return _timed(lambda: function.compile(*args, **keywords))


def compile_apart(
    function: JITFunction, args: tuple[Any, ...], keywords: dict[str, Any], timeout: float
) -> Outcome:
    """Compiles in this process, in a thread that is left behind where it takes too long: whose pool
    this is gets its own thread back, which Python would wait for at the end."""
    with compile_pool(1, "tilewright-candidate") as pool:
        outcome: Outcome = pool.submit(compile_here, function, args, keywords).result(timeout)
    return outcome


def compile_by_name(
    module: str, name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Outcome:
    """Compiles in a process of its own, which needs to import the function."""

    def compile_it() -> None:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        getattr(found, "function_to_tune", found).compile(*args, **keywords)

    return _timed(compile_it)


def one_line(failure: BaseException) -> str:
    """The first line of an exception's message; of a kernel that is wrong, its first error."""
    text = str(failure).strip()
    if isinstance(failure, CompileError) and failure.errors:
        error = failure.errors[0]
        text = f"{Path(error.place.file).name}:{error.place.line}: {error.message}"
    first = text.splitlines()[0] if text else type(failure).__name__
    return first if len(first) <= 200 else first[:197] + "..."


def worker_count() -> int:
    """The threads that compile: TILELANG_AUTO_TUNING_CPU_COUNTS, else the cores we may use, at most
    TILELANG_AUTO_TUNING_MAX_CPU_COUNT."""
    wanted, most = (os.environ.get(name, "") for name in _WORKER_SETTINGS)
    count = int(wanted) if wanted.isdigit() and int(wanted) else len(os.sched_getaffinity(0))
    return min(count, int(most)) if most.isdigit() and int(most) else count


@contextmanager
def _pool(executor: Executor | None) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    with compile_pool(worker_count(), "tilewright-autotune") as pool:
        yield pool


def _submit(
    pool: Executor,
    function: JITFunction,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    timeout: float,
) -> Future[Outcome]:
    if isinstance(pool, CompilePool):
        return pool.submit(compile_here, function, args, keywords)
    if not isinstance(pool, ThreadPoolExecutor):
        python = function.function
        task = (python.__module__, python.__qualname__, args, keywords)
        if _can_travel(task):
            return pool.submit(compile_by_name, *task)
    return pool.submit(compile_apart, function, args, keywords, timeout)


def _can_travel(task: tuple[str, str, tuple[Any, ...], dict[str, Any]]) -> bool:
    """Whether another process can be told of it: an importable name, arguments that pickle."""
    module, name = task[:2]
    if "<locals>" in name or module not in sys.modules:
        return False
    try:
        pickle.dumps(task)
    except Exception:  # pickle raises what it likes
        return False
    return True


def compile_all(
    function: JITFunction,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    candidates: list[Candidate],
    executor: Executor | None,
    timeout: float,
) -> Iterator[Candidate]:
    """Compiles every candidate, and gives each with its `compile_time`, or the state failed or
    hung, in order. `timeout` is seconds per candidate."""
    with _pool(executor) as pool:
        futures = [
            _submit(pool, function, args, {**keywords, **c.config}, timeout) for c in candidates
        ]
        for candidate, future in zip(candidates, futures, strict=True):
            try:
                outcome = future.result(timeout)
            except (FutureTimeoutError, CancelledError):
                candidate.state = "hung"
                candidate.reason = f"not compiled within {timeout:g} s"
            except Exception as failure:  # the executor itself: a broken pool, no pickling
                candidate.state, candidate.reason = "failed", one_line(failure)
            else:
                candidate.compile_time = outcome.milliseconds
                if outcome.error:
                    candidate.state, candidate.reason = "failed", outcome.error
            yield candidate
