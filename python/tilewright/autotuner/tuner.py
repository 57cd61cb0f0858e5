# SPDX-License-Identifier: Apache-2.0
"""Tunes one kernel: compiles all candidates, checks and measures one by one, keeps the best."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from ..language.annotations import PointerAnnotation, TensorAnnotation
from ..profiler import TensorSupplyType, compare_outputs, do_bench
from ..suggestions import which_exist
from . import results
from .compiling import compile_all, one_line
from .inputs import InputSupply, private_copy
from .progress import progress
from .results import AutotuneResult, Candidate, TuningError, format_table, why_none
from .time_limit import TimeLimit, TimeLimitReached

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from ..jit_factory import JITFunction
    from .progress import Progress


@dataclass(frozen=True, slots=True)
class ProfileArgs:
    """How candidates are checked and measured. `warmup` and `rep` are milliseconds, `timeout` is
    seconds per candidate for compiling and again for running."""

    warmup: float = 25
    rep: float = 100
    timeout: float = 30
    supply_type: TensorSupplyType = TensorSupplyType.Auto
    ref_prog: Callable[..., Any] | None = None
    supply_prog: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    rtol: float = 1e-2
    atol: float = 1e-2
    max_mismatched_ratio: float = 0.01
    skip_check: bool = False
    manual_check_prog: Callable[[Any, Any], object] | None = None
    cache_input_tensors: bool = False
    early_stop: bool = False
    early_stop_factor: float = 2.0


_NUMBERS = (
    *("warmup", "rep", "timeout", "early_stop_factor"),
    *("rtol", "atol", "max_mismatched_ratio"),
)
#: Of milliseconds and seconds: more is no time that a clock of the system waits for.
_LARGEST = 1e9


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuses values of ProfileArgs' fields that no candidate could be measured with."""
    for name in _NUMBERS:
        value: Any = settings.get(name, 1)
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= _LARGEST:
            raise ValueError(f"autotune: {name} must be a number from 0 to 1e9, not {value!r}")
    supply_type = settings.get("supply_type", TensorSupplyType.Auto)
    if not isinstance(supply_type, TensorSupplyType):
        raise TypeError(f"autotune: supply_type must be a TensorSupplyType, not {supply_type!r}")
    for name in ("ref_prog", "supply_prog", "manual_check_prog"):
        value = settings.get(name)
        if value is not None and not callable(value):
            raise TypeError(f"autotune: {name} must be a function, not {value!r}")


def list_of_configs(configs: object) -> list[dict[str, Any]]:
    """A list of its own; TypeError for what gives no configurations."""
    if not isinstance(configs, Iterable) or isinstance(configs, (str, bytes, Mapping)):
        raise TypeError(f"autotune: configs must be a list of dicts, not {configs!r}")
    made = []
    for number, config in enumerate(configs):
        if not isinstance(config, Mapping):
            raise TypeError(f"autotune: configs[{number}] must be a dict, not {config!r}")
        made.append(dict(config))
    return made


def check_executor(executor: object) -> None:
    """Refuses what can't compile the candidates."""
    if executor is not None and (
        isinstance(executor, type) or not callable(getattr(executor, "submit", None))
    ):
        raise TypeError(
            f"autotune: executor must be a concurrent.futures.Executor, not {executor!r}"
        )


class AutoTuner:
    """Tunes the kernel that a function makes of a configuration.

    AutoTuner.from_kernel(kernel, configs).set_compile_args(...).set_profile_args(...).run()
    """

    def __init__(self, function: Any, configs: Iterable[dict[str, Any]]) -> None:
        self._configs = list_of_configs(configs)
        self._function = function
        self._compile_args: dict[str, Any] | None = None
        self._profile = ProfileArgs()
        if not self._configs:
            raise ValueError(f"autotune: {_name(function)} has no configurations")

    @classmethod
    def from_kernel(
        cls, kernel: Callable[..., Any], configs: Iterable[dict[str, Any]]
    ) -> AutoTuner:
        """`kernel` is a function of the configuration's names, under `@tilelang.jit` or plain."""
        return cls(kernel, configs)

    def set_compile_args(self, **choices: Any) -> AutoTuner:
        """Options of `tilelang.jit`: out_idx, target, pass_configs and so on."""
        self._compile_args = choices
        return self

    def set_profile_args(self, **settings: Any) -> AutoTuner:
        """Fields of ProfileArgs."""
        unknown = [name for name in settings if name not in ProfileArgs.__slots__]
        if unknown:
            raise TypeError(
                f"autotune: there is no profile setting {unknown[0]!r}"
                f"{which_exist(unknown[0], ProfileArgs.__slots__)}"
            )
        check_settings(settings)
        self._profile = replace(self._profile, **settings)
        return self

    def run(
        self,
        warmup: float | None = None,
        rep: float | None = None,
        timeout: float | None = None,
        use_pipeline: bool = False,
        enable_grouped_compile: bool = False,
        group_compile_size: int = 2,
        benchmark_devices: list[int] | None = None,
        benchmark_multi_gpu: bool = False,
        early_stop: bool | None = None,
        early_stop_factor: float | None = None,
        *,
        args: tuple[Any, ...] = (),
        keywords: dict[str, Any] | None = None,
        executor: Executor | None = None,
        key: str | None = None,
    ) -> AutotuneResult:
        """The best configuration for these arguments of the function. With `key`, a result that was
        stored under it is taken, and what is found is stored. TuningError: none is left.

        Candidates are always compiled side by side and measured on this machine's CPU, whatever is
        said of pipelines, groups and devices.
        """
        given: dict[str, Any] = {
            "warmup": warmup,
            "rep": rep,
            "timeout": timeout,
            "early_stop": early_stop,
            "early_stop_factor": early_stop_factor,
        }
        given = {name: value for name, value in given.items() if value is not None}
        check_settings(given)
        settings = replace(self._profile, **given)
        check_executor(executor)
        function = self._jit_function()
        keywords = keywords or {}
        known = None if key is None else results.load(key)
        if known is None or known.config not in self._configs:
            known = _Run(function, args, keywords, self._configs, settings).best(executor)
            if key is not None:
                results.store(key, known)
        kernel = function.compile(*args, **{**keywords, **known.config})
        kernel.latency, kernel.ref_latency = known.latency, known.ref_latency
        kernel.config = known.config
        known.kernel = kernel
        known.func = function.function
        return known

    def _jit_function(self) -> JITFunction:
        from ..jit_factory import JITFunction, jit

        if not isinstance(self._function, JITFunction):
            made: JITFunction = jit(**(self._compile_args or {}))(self._function)
            return made
        if self._compile_args:
            return JITFunction(
                self._function.function, **{**self._function.choices, **self._compile_args}
            )
        return self._function


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def _can_run(function: JITFunction, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether these are the arguments of a call of an eager kernel, and not what stands for them:
    numbers for its T.const, or annotations such as `T.Tensor((4, 8))`."""
    signature = inspect.signature(function.function)
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError:
        return False
    stands_for = (TensorAnnotation, PointerAnnotation)
    return not any(isinstance(value, stands_for) for value in bound.arguments.values())


class _Run:
    """One tuning from beginning to end."""

    def __init__(
        self,
        function: JITFunction,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        configs: list[dict[str, Any]],
        settings: ProfileArgs,
    ) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords
        self.settings = settings
        self.candidates = [Candidate(config) for config in configs]
        self.supply = InputSupply(
            settings.supply_prog, settings.supply_type, settings.cache_input_tensors
        )
        self.best_latency: float | None = None
        self.ref_latency: float | None = None

    def best(self, executor: Executor | None) -> AutotuneResult:
        name, count = _name(self.function), len(self.candidates)
        with progress(count, f"{name}: compile") as bar:
            for _ in compile_all(
                self.function, self.args, self.keywords, self.candidates, executor,
                self.settings.timeout,
            ):  # fmt: skip
                bar.update()
        with progress(count, f"{name}: measure") as bar:
            for candidate in self.candidates:
                self._try(candidate, bar)
        measured = [c for c in self.candidates if c.state == "measured"]
        if not measured:
            raise TuningError(
                f"autotune: {name}: {why_none(self.candidates)}\n{format_table(self.candidates)}"
                f"{self._of_random_inputs()}"
            )
        best = min(measured, key=lambda c: c.latency or 0.0)
        best.state = "best"
        assert best.latency is not None
        return AutotuneResult(best.config, best.latency, self.ref_latency, self.candidates)

    def _of_random_inputs(self) -> str:
        """What helps if a kernel fails on inputs that it isn't made for."""
        ran = any(c.state == "failed" and c.compile_time is not None for c in self.candidates)
        if not ran or not self.supply.made_random:
            return ""
        return (
            "\nThey were run on random inputs; set_autotune_inputs(...) or supply_prog gives them "
            "others."
        )

    def _try(self, candidate: Candidate, bar: Progress) -> None:
        if candidate.state == "measured":
            self._guarded(candidate)
        if candidate.state == "measured" and candidate.latency is not None:
            if self.best_latency is None or candidate.latency < self.best_latency:
                self.best_latency = candidate.latency
            bar.set_postfix_str(f"best {self.best_latency:.3f} ms")
        bar.update()

    def _guarded(self, candidate: Candidate) -> None:
        try:
            with TimeLimit(self.settings.timeout):
                self._check_and_measure(candidate)
        except TimeLimitReached:
            candidate.state = "hung"
            candidate.reason = f"not done within {self.settings.timeout:g} s"
        except AssertionError as difference:
            candidate.state, candidate.reason = "wrong", one_line(difference)
        except Exception as failure:  # one candidate's failure is not the others'
            candidate.state, candidate.reason = "failed", one_line(failure)

    def _check_and_measure(self, candidate: Candidate) -> None:
        call, inputs = self._call(candidate.config)
        settings = self.settings
        if settings.ref_prog is not None:
            if not settings.skip_check:
                self._check(call(), settings.ref_prog(*inputs))
            if self.ref_latency is None:
                reference = settings.ref_prog
                self.ref_latency = self._milliseconds(lambda: reference(*inputs))
        limit = None
        if settings.early_stop and self.best_latency is not None:
            limit = settings.early_stop_factor * self.best_latency
        candidate.latency = self._milliseconds(call, limit, is_warm=True)
        if limit is not None and candidate.latency > limit:
            candidate.state = "slow"
            candidate.reason = f"over {settings.early_stop_factor:g} times the best; stopped early"

    def _call(self, config: dict[str, Any]) -> tuple[Callable[[], Any], list[Any]]:
        """What runs a candidate once, and its inputs."""
        keywords = {**self.keywords, **config}
        if self.function.is_eager and _can_run(self.function, self.args, keywords):
            # The caller's own tensors stay as they are: a kernel may change its arguments.
            copies: dict[int, Any] = {}
            own = [private_copy(value, copies) for value in self.args]
            named = {name: private_copy(value, copies) for name, value in keywords.items()}
            return lambda: self.function(*own, **named), [*self.args, *self.keywords.values()]
        kernel = self.function.compile(*self.args, **keywords)
        inputs = self.supply(kernel)
        return lambda: kernel(*inputs), inputs

    def _check(self, ours: Any, theirs: Any) -> None:
        settings = self.settings
        if settings.manual_check_prog is not None:
            settings.manual_check_prog(ours, theirs)
            return
        if ours is None:
            raise TypeError(
                "the kernel gives nothing to compare; use out_idx, manual_check_prog or skip_check"
            )
        compare_outputs(
            _name(self.function), ours, theirs, settings.atol, settings.rtol,
            settings.max_mismatched_ratio,
        )  # fmt: skip

    def _milliseconds(
        self, call: Callable[[], Any], limit: float | None = None, is_warm: bool = False
    ) -> float:
        time = do_bench(
            call, self.settings.warmup, self.settings.rep, return_mode="median",
            early_stop_baseline=limit, _is_warm=is_warm,
        )  # fmt: skip
        assert isinstance(time, float)
        return time
