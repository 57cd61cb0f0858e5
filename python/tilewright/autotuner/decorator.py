# SPDX-License-Identifier: Apache-2.0
"""`@tilelang.autotune`, above `@tilelang.jit`."""

from __future__ import annotations

import inspect
import sys
from contextlib import suppress
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from .. import _runtime
from ..errors import EagerJITBuildError, short_traceback
from ..front_key import digest, front_key, machine_stamp
from ..jit_factory import JITFunction
from ..options import remark
from ..suggestions import which_exist
from .inputs import get_autotune_inputs
from .tuner import AutoTuner, ProfileArgs, check_executor, check_settings, list_of_configs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor

    from ..kernel import JITKernel
    from .results import AutotuneResult

    Configs = Iterable[dict[str, Any]] | Callable[..., Iterable[dict[str, Any]]]


def autotune(
    func: Any = None,
    *,
    configs: Configs | None = None,
    warmup: float = 25,
    rep: float = 100,
    timeout: float = 100,
    do_not_specialize: Iterable[str] | None = None,
    executor: Executor | None = None,
    verbose: bool = False,
    **profile: Any,
) -> Any:
    """Calls of the function below pick the fastest of `configs`, dicts of keyword arguments (or a
    function that gives them, of the same arguments or of none).

    warmup, rep: milliseconds of warming up and measuring per candidate
    timeout: seconds that a candidate may take to compile, and again to run
    do_not_specialize: names of arguments that make no new tuning when they change
    executor: compiles the candidates (default: threads, one per core)
    verbose: prints the table of candidates
    profile: fields of ProfileArgs, such as ref_prog, supply_prog, rtol, skip_check, early_stop
    """
    unknown = [name for name in profile if name not in ProfileArgs.__slots__]
    if unknown:
        own = ("configs", "do_not_specialize", "executor", "verbose")
        raise TypeError(
            f"autotune() got an unexpected keyword argument {unknown[0]!r}"
            f"{which_exist(unknown[0], (*own, *ProfileArgs.__slots__))}"
        )
    if configs is None:
        raise TypeError("autotune() needs configs: a list of dicts, or a function that gives one")
    given = configs if callable(configs) else list_of_configs(configs)
    settings = {"warmup": warmup, "rep": rep, "timeout": timeout, **profile}
    check_settings(settings)
    check_executor(executor)
    ignored = frozenset(do_not_specialize or ())

    def decorate(function: Any) -> AutotunedFunction:
        if not isinstance(function, JITFunction):
            if not hasattr(function, "__code__"):
                raise TypeError(f"@autotune stands above @tilelang.jit, not above {function!r}")
            function = JITFunction(function)
        return AutotunedFunction(function, given, settings, ignored, executor, verbose)

    return decorate if func is None else decorate(func)


class AutotunedFunction:
    """A factory of kernels, or an eager kernel, whose configuration is found by measuring.

    A call that gives a name of the configurations itself is not tuned.
    """

    def __init__(
        self,
        function: JITFunction,
        configs: Configs,
        settings: dict[str, Any],
        ignored: frozenset[str],
        executor: Executor | None,
        verbose: bool,
    ) -> None:
        update_wrapper(self, function.function)
        self.function_to_tune = function
        self._configs = configs
        self._settings = settings
        self._ignored = ignored
        self._executor = executor
        self._verbose = verbose
        self._results: dict[Any, AutotuneResult] = {}

    @short_traceback
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        function = self.function_to_tune
        configs = self._configurations(args, keywords)
        given = self._given(args, keywords)
        if self._chooses_itself(given, configs):
            return function(*args, **keywords)
        result = self._tuned(args, keywords, given, configs)
        if function.is_eager:
            return function(*args, **{**keywords, **result.config})
        return result.kernel

    @short_traceback
    def compile(self, *args: Any, **keywords: Any) -> JITKernel | None:
        """The kernel for these arguments: tuned, with its `config` and `latency`, unless they hold
        a name of the configurations. An eager kernel that gets what stands for its tensors
        (`T.const` names by keyword, `T.Tensor((4, 8))`) is measured on inputs as a factory's."""
        configs = self._configurations(args, keywords)
        given = self._given(args, keywords)
        if self._chooses_itself(given, configs):
            return self.function_to_tune.compile(*args, **keywords)
        if self.function_to_tune.is_eager and configs:  # TypeError for a name that is none
            with suppress(EagerJITBuildError):
                self.function_to_tune.get_tir(*args, **{**configs[0], **keywords})
        return self._tuned(args, keywords, given, configs).kernel

    @short_traceback
    def tune(self, *args: Any, **keywords: Any) -> AutotuneResult:
        """The result of tuning for these arguments: the best configuration, and the table."""
        configs = self._configurations(args, keywords)
        return self._tuned(args, keywords, self._given(args, keywords), configs)

    def _chooses_itself(self, given: dict[str, Any], configs: list[dict[str, Any]]) -> bool:
        """Whether a call names what would be tuned, as TileLang sees it: one name is enough."""
        names = list(configs[0]) if configs else []
        chosen = [name for name in names if name in given]
        if 0 < len(chosen) < len(names):
            remark(
                f"{self.function_to_tune.__name__} is not tuned, as the call gives {chosen[0]!r}; "
                f"{next(n for n in names if n not in given)!r} has its default"
            )
        return bool(chosen)

    def _given(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name; an eager kernel's `T.const` names are no parameters."""
        signature = inspect.signature(self.function_to_tune.function)
        constants: dict[str, Any] = {}
        if self.function_to_tune.is_eager:
            constants = {n: v for n, v in keywords.items() if n not in signature.parameters}
        named = {n: v for n, v in keywords.items() if n not in constants}
        return {**signature.bind_partial(*args, **named).arguments, **constants}

    def _configurations(
        self, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> list[dict[str, Any]]:
        if not callable(self._configs):
            return list_of_configs(self._configs)
        takes = inspect.signature(self._configs).parameters
        return list_of_configs(self._configs(*args, **keywords) if takes else self._configs())

    def _tuned(
        self,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        given: dict[str, Any],
        configs: list[dict[str, Any]],
    ) -> AutotuneResult:
        described = [
            (name, _described(value)) for name, value in given.items() if name not in self._ignored
        ]
        inputs = [_described(value) for value in get_autotune_inputs() or ()]
        options = self.function_to_tune.options_key()
        here = repr((described, inputs, configs, options))
        known = self._results.get(here)
        if known is None:
            tuner = AutoTuner(self.function_to_tune, configs).set_profile_args(**self._settings)
            known = tuner.run(
                args=args, keywords=keywords, executor=self._executor, key=self._disk_key(here)
            )
            self._results[here] = known
            if self._verbose:
                sys.stderr.write(known.table() + "\n")
        return known

    def _disk_key(self, here: str) -> str | None:
        """Under what the result is kept on disk; None if what the kernel is can't be told."""
        front = front_key(self.function_to_tune.function, [here], "autotune 1")
        measured = {n: v for n, v in self._settings.items() if isinstance(v, (int, float, bool))}
        checked = self._settings.get("ref_prog") is not None
        parts = (
            front,
            machine_stamp(),
            _runtime.get_num_threads(),
            sorted(measured.items()),
            checked,
        )
        return front and digest(repr(parts))


def _described(value: Any) -> Any:
    """What of an argument decides which configuration is fast: of tensors shape and dtype."""
    shape = getattr(value, "shape", None)
    if shape is None:
        return (type(value).__name__, repr(value))
    return (tuple(int(extent) for extent in shape), str(getattr(value, "dtype", "")))
