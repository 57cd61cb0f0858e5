# SPDX-License-Identifier: Apache-2.0
"""How fast a kernel is, and whether it agrees with a reference program."""

from __future__ import annotations

import enum
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.errors import short_traceback

if TYPE_CHECKING:
    from tilewright.kernel import JITKernel


class TensorSupplyType(enum.Enum):
    """What the profiler fills inputs with. Auto: Normal for floats, Integer for integers."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


#: How a GPU's calls are timed; all of them mean the same here.
_BACKENDS = ["event", "cupti", "cudagraph"]


@short_traceback
def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    _n_warmup: int = 0,
    _n_repeat: int = 0,
    quantiles: Sequence[float] | None = None,
    fast_flush: bool = True,
    backend: str = "event",
    return_mode: str = "mean",
    device: object = None,
    cache_size: int | None = None,
    early_stop_baseline: float | None = None,
    _is_warm: bool = False,
) -> float | list[float]:
    """Milliseconds per call of `fn`: warms up for about `warmup` ms (or `_n_warmup` calls), then
    measures for about `rep` ms (or `_n_repeat` calls), each call by itself.

    `return_mode` is mean, median, min or max; with `quantiles`, a list of those is given instead.
    With `early_stop_baseline` (ms), a first estimate above it is given as it is. On the CPU, caches
    stay as `fn` leaves them, so `fast_flush`, `cache_size`, `backend` and `device` change nothing.

    If `fn` launches Ascend kernels on the host, its time is what the model of the chip says of
    them (docs/ascend-timing.md), which is the same each time: how long the host takes for them
    says nothing. The second call counts, as a first one may tune or fill caches; if `fn` is known
    to be warm, the first.
    """
    modes: dict[str, Callable[[list[float]], float]] = {
        "mean": statistics.fmean, "median": statistics.median, "min": min, "max": max
    }  # fmt: skip
    if return_mode not in modes:
        raise ValueError(f"do_bench: return_mode is '{return_mode}' but one of {[*modes]} expected")
    if backend not in _BACKENDS:
        raise ValueError(f"do_bench: backend is '{backend}' but one of {_BACKENDS} expected")
    budgets = {"warmup": warmup, "rep": rep, "_n_warmup": _n_warmup, "_n_repeat": _n_repeat}
    for name, budget in budgets.items():
        if not budget >= 0:
            raise ValueError(f"do_bench: {name} is {budget} but can't be negative")
    modelled_ms = _modelled_ms(fn, _is_warm)
    if modelled_ms is not None:
        return modelled_ms if quantiles is None else [modelled_ms] * len(quantiles)
    started = time.perf_counter_ns()
    trials = 0
    while trials < 5 and (trials == 0 or time.perf_counter_ns() - started < rep * 1e6):
        fn()
        trials += 1
    estimate_ms = max((time.perf_counter_ns() - started) / trials / 1e6, 1e-6)
    if early_stop_baseline is not None and estimate_ms > early_stop_baseline:
        return estimate_ms if quantiles is None else [estimate_ms] * len(quantiles)
    for _ in range(_n_warmup or int(warmup / estimate_ms)):
        fn()
    times_ms = []
    for _ in range(_n_repeat or max(1, int(rep / estimate_ms))):
        begin = time.perf_counter_ns()
        fn()
        times_ms.append((time.perf_counter_ns() - begin) / 1e6)
    if quantiles is not None:
        return [_quantile(sorted(times_ms), quantile) for quantile in quantiles]
    return modes[return_mode](times_ms)


def _modelled_ms(fn: Callable[[], object], is_warm: bool) -> float | None:
    """The time of the Ascend kernels that a call launches on the host; None if it launches none."""
    from tilewright.profiling.ascend_time import recorded_times

    with recorded_times() as launches:
        fn()
    if launches and not is_warm:
        with recorded_times() as launches:
            fn()
    return sum(launch.task for launch in launches) / 1e3 if launches else None


def _quantile(ordered: list[float], quantile: float) -> float:
    """Between two neighbours, linearly."""
    at = quantile * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


class InputMaker:
    """Makes inputs: torch tensors where torch is loaded, else NumPy arrays."""

    def __init__(self, supply_type: TensorSupplyType = TensorSupplyType.Auto) -> None:
        self.supply_type = supply_type
        self._seed = 0

    def tensor(self, shape: list[int], dtype: str) -> Any:  # noqa: ANN401
        """The next input: random numbers of the supply's type, the same ones in each run."""
        import numpy as np

        self._seed += 1
        random = np.random.default_rng(self._seed)
        if dtype in ("int4", "uint4", "float4_e2m1fn"):
            packed = [*shape[:-1], (shape[-1] + 1) // 2]
            storage = "int8" if dtype == "int4" else "uint8"
            low, high = np.iinfo(storage).min, np.iinfo(storage).max
            return _in_framework(random.integers(low, high, packed, endpoint=True), storage)
        if dtype == "float4_e2m1_unpacked":
            return _in_framework(random.integers(0, 16, shape), "uint8")
        return _in_framework(self._values(random, shape, dtype), dtype)

    def _values(self, random: Any, shape: list[int], dtype: str) -> Any:  # noqa: ANN401
        import numpy as np

        is_float = "float" in dtype
        supply = self.supply_type
        if supply is TensorSupplyType.Auto:
            supply = TensorSupplyType.Normal if is_float else TensorSupplyType.Integer
        if supply is TensorSupplyType.Zero:
            return np.zeros(shape, np.float32)
        if supply is TensorSupplyType.One:
            return np.ones(shape, np.float32)
        if dtype == "bool":
            return random.integers(0, 2, shape)
        if supply is TensorSupplyType.Integer or not is_float:
            return random.integers(0 if dtype.startswith("u") else -2, 3, shape)
        if supply is TensorSupplyType.Uniform:
            return random.uniform(-1, 1, shape).astype(np.float32)
        return random.standard_normal(shape, np.float32)


class Profiler:
    """Runs a kernel on inputs of its own making. They are torch tensors where torch is loaded, else
    NumPy arrays. Symbols get their values by `dynamic_symbolic_constraints`, e.g. {"m": 128}."""

    def __init__(
        self, kernel: JITKernel, supply_type: TensorSupplyType = TensorSupplyType.Auto
    ) -> None:
        self.kernel = kernel
        self._maker = InputMaker(supply_type)

    @property
    def func(self) -> JITKernel:
        """The kernel."""
        return self.kernel

    def __call__(self, *args: object) -> Any:  # noqa: ANN401 - what the kernel gives
        return self.kernel(*args)

    def inputs(self, symbols: dict[str, int] | None = None) -> list[Any]:
        """New inputs: every parameter that is no output, in order."""
        manifest = json.loads(self.kernel.entry.manifest)
        values = self._symbol_values(manifest["symbols"], symbols or {})
        outputs = set(self.kernel.made_idx)
        made = []
        for number, param in enumerate(manifest["params"]):
            if number in outputs:
                continue
            if param["kind"] == "scalar":
                made.append(_scalar_one(param["dtype"]))
                continue
            shape = [_dim_value(dim, values) for dim in param["shape"]]
            made.append(self._maker.tensor(shape, param["dtype"]))
        return made

    @short_traceback
    def do_bench(
        self,
        func: Callable[..., object] | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: Sequence[Any] | None = None,
        backend: str = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        dynamic_symbolic_constraints: dict[str, int] | None = None,
        device: object = None,
        early_stop_baseline: float | None = None,
    ) -> float | list[float]:
        """Milliseconds per call of the kernel (or of `func` on the same inputs); see `do_bench`."""
        if input_tensors is None:
            input_tensors = self.inputs(dynamic_symbolic_constraints)
        called = func or self.kernel
        return do_bench(
            lambda: called(*input_tensors),
            warmup=warmup,
            rep=rep,
            _n_warmup=n_warmup,
            _n_repeat=n_repeat,
            quantiles=quantiles,
            backend=backend,
            return_mode=return_mode,
            early_stop_baseline=early_stop_baseline,
            _is_warm=func is None,
        )

    @short_traceback
    def run_once(self, func: Callable[..., object] | None = None) -> Any:  # noqa: ANN401
        """What the kernel (or `func`) gives on new inputs."""
        return (func or self.kernel)(*self.inputs())

    @short_traceback
    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
        dynamic_symbolic_constraints: dict[str, int] | None = None,
    ) -> None:
        """AssertionError if more than `max_mismatched_ratio` of an output's elements differ from
        the reference program's by more than atol + rtol * |reference|."""
        inputs = (
            self.inputs(dynamic_symbolic_constraints) if input_tensors is None else input_tensors
        )
        compare_outputs(
            self.kernel.name,
            self.kernel(*inputs),
            reference_program(*inputs),
            atol,
            rtol,
            max_mismatched_ratio,
        )

    @short_traceback
    def manual_assert_close(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        manual_check_prog: Callable[[Any, Any], object] | None = None,
    ) -> None:
        """Gives `manual_check_prog` the outputs of the kernel and of the reference, two lists."""
        if manual_check_prog is None:
            raise ValueError(f"{self.kernel.name}: manual_assert_close needs manual_check_prog")
        inputs = self.inputs() if input_tensors is None else input_tensors
        made = _as_list(self.kernel(*inputs))
        manual_check_prog(made, _as_list(reference_program(*inputs)))

    @short_traceback
    def assert_consistent(self, repeat: int = 10) -> None:
        """AssertionError if one of `repeat` more calls gives other values for the same inputs."""
        inputs = self.inputs()
        first = [_float64(output) for output in _as_list(self.kernel(*inputs))]
        for call in range(repeat):
            for number, output in enumerate(_as_list(self.kernel(*inputs))):
                same = (_float64(output) == first[number]) | (first[number] != first[number])
                if not same.all():
                    raise AssertionError(
                        f"{self.kernel.name}: output {number} differs in call {call + 2} at "
                        f"{int((~same).sum())} elements"
                    )

    def _symbol_values(self, names: list[str], given: dict[str, int]) -> list[int]:
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(
                f"{self.kernel.name}: the symbols {', '.join(missing)} need values: pass "
                f"dynamic_symbolic_constraints={{'{missing[0]}': ...}}, or input_tensors"
            )
        return [given[name] for name in names]


def compare_outputs(
    name: str,
    ours: object,
    theirs: object,
    atol: float = 1e-2,
    rtol: float = 1e-2,
    max_mismatched_ratio: float = 0.01,
) -> None:
    """AssertionError if what kernel `name` gave (a tensor, or several) isn't near what the
    reference gave: more than `max_mismatched_ratio` of an output's elements differ by more than
    atol + rtol * |reference|."""
    left, right = _as_list(ours), _as_list(theirs)
    if len(left) != len(right):
        raise AssertionError(f"{name}: gives {len(left)} outputs but the reference {len(right)}")
    for number, (our, their) in enumerate(zip(left, right, strict=True)):
        _compare(f"{name}: output {number}", our, their, atol, rtol, max_mismatched_ratio)


def _compare(
    subject: str, our: object, their: object, atol: float, rtol: float, allowed: float
) -> None:
    import numpy as np

    left, right = _float64(our), _float64(their)
    if left.shape != right.shape:
        raise AssertionError(f"{subject} has shape {left.shape} but the reference {right.shape}")
    near = np.isclose(left, right, rtol=rtol, atol=atol, equal_nan=True)
    wrong = int((~near).sum())
    if wrong <= allowed * max(1, left.size):
        return
    at = tuple(int(i) for i in np.argwhere(~near)[0])
    raise AssertionError(
        f"{subject} differs at {wrong} of {left.size} elements, first at {at}: "
        f"{left[at]} but the reference has {right[at]}"
    )


def _dim_value(dim: int | dict[str, Any], symbols: list[int]) -> int:
    if isinstance(dim, int):
        return dim
    if "product" in dim:
        return int(math.prod(symbols[number] for number in dim["product"]))
    terms: int = sum(coefficient * symbols[number] for coefficient, number in dim.get("terms", []))
    return int(dim.get("const", 0)) + terms


def _scalar_one(dtype: str) -> bool | int | float:
    if dtype == "bool":
        return True
    return 1.0 if "float" in dtype else 1


def _in_framework(values: Any, dtype: str) -> Any:  # noqa: ANN401 - arrays of any framework
    """The values as a torch tensor if torch is loaded, else as a NumPy array."""
    import numpy as np

    torch = sys.modules.get("torch")
    if torch is not None:
        kind = getattr(torch, dtype, None)
        if kind is None:
            raise ValueError(f"torch has no dtype {dtype}; pass input_tensors")
        return torch.from_numpy(np.ascontiguousarray(values)).to(kind)
    if dtype == "bfloat16" or dtype.startswith("float8"):
        import ml_dtypes

        return values.astype(getattr(ml_dtypes, dtype))
    return values.astype(dtype)


def _float64(tensor: Any) -> Any:  # noqa: ANN401 - arrays of any framework
    import numpy as np

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        if tensor.dtype == getattr(torch, "float4_e2m1fn_x2", None):
            return _pairs_of_4_bits(tensor.detach().cpu().view(torch.uint8).numpy())
        return tensor.detach().to("cpu", torch.float64).numpy()
    return np.asarray(tensor).astype(np.float64)


def _pairs_of_4_bits(codes: Any) -> Any:  # noqa: ANN401
    """The float4_e2m1fn of bytes, the one in the low half first; PyTorch converts none."""
    import numpy as np

    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    pairs = np.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], -1)
    return np.where(pairs & 8, -1, 1) * values[pairs & 7]


def _as_list(outputs: Any) -> list[Any]:  # noqa: ANN401 - what a kernel or a program gives
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
