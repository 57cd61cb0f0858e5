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
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
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
        _named(module, name).compile(*args, **keywords)

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
        if _has_name(function) and _can_travel(task):
            return pool.submit(compile_by_name, *task)
        if isinstance(pool, ProcessPoolExecutor):
            nobody: Future[Outcome] = Future()
            nobody.set_result(Outcome(0.0, _why_not_by_name(function)))
            return nobody
    return pool.submit(compile_apart, function, args, keywords, timeout)


def _named(module: str, name: str) -> Any:
    """What an importable name stands for: a decorated function, or what the tuner made of it."""
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return getattr(found, "function_to_tune", found)


def _has_name(function: JITFunction) -> bool:
    """Whether who imports its module finds the very function, and not what it was made of."""
    python = function.function
    if python.__module__ not in sys.modules:
        return False
    try:
        found = _named(python.__module__, python.__qualname__)
    except AttributeError:
        return False
    return hasattr(found, "compile") and getattr(found, "function", None) is python


def _can_travel(task: tuple[str, str, tuple[Any, ...], dict[str, Any]]) -> bool:
    """Whether its arguments pickle."""
    try:
        pickle.dumps(task)
    except Exception:  # pickle raises what it likes
        return False
    return True


def _why_not_by_name(function: JITFunction) -> str:
    python = function.function
    if _has_name(function):
        return "the kernel's arguments don't pickle, which a pool of processes needs"
    return (
        f"a pool of processes finds a kernel by its function's name, but "
        f"'{python.__module__}.{python.__qualname__}' is not this kernel; decorate the function "
        "where it is defined, or use threads"
    )


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
            except CancelledError:
                candidate.state, candidate.reason = "failed", "its compilation was cancelled"
            except FutureTimeoutError:
                candidate.state = "hung"
                candidate.reason = f"not compiled within {timeout:g} s"
            except Exception as failure:  # the executor itself: a broken pool, no pickling
                candidate.state, candidate.reason = "failed", one_line(failure)
            else:
                candidate.compile_time = outcome.milliseconds
                if outcome.error:
                    candidate.state, candidate.reason = "failed", outcome.error
            yield candidate
