# SPDX-License-Identifier: Apache-2.0
"""Times every call of a kernel while it is installed."""

from __future__ import annotations

import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..kernel import JITKernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_MOST_TIMES = 100_000


@dataclass(slots=True)
class Row:
    """The calls of one kernel with one set of shapes. `milliseconds` holds the time of each call
    (of the first hundred thousand)."""

    kernel: JITKernel
    #: Per parameter: the shape of a tensor, the value of a scalar.
    arguments: list[tuple[int, ...] | Any]
    #: Per parameter: the bytes of a tensor, 0 of a scalar.
    sizes: list[int]
    calls: int = 0
    milliseconds: array[float] = field(default_factory=lambda: array("d"))

    def counted(self) -> array[float]:
        """The times without the first, which may load, compile or warm up, unless it is alone."""
        return self.milliseconds[1:] or self.milliseconds

    def shapes(self) -> str:
        """Of tensors, and the values of scalars: `32x64 4`."""
        return " ".join(_text(argument) for argument in self.arguments)

    def place(self) -> str:
        """Where the kernel stands: `gemm.py:12`, below the current folder with the folders between;
        empty if that can't be known."""
        try:
            code = self.kernel.prim_func.function.__code__
        except Exception:  # noqa: BLE001 - of a factory of the user's, which made it once
            return ""
        path = Path(code.co_filename)
        here = Path.cwd()
        name = path.relative_to(here) if path.is_relative_to(here) else path.name
        return f"{name}:{code.co_firstlineno}"

    def symbols(self) -> list[int | None]:
        """The values of the kernel's symbols, where a tensor has one as extent."""
        values: dict[str, int] = {}
        for param, argument in zip(self.kernel.params, self.arguments, strict=True):
            shape = argument if isinstance(argument, tuple) else ()
            for extent, given in zip(param.get("shape", ()), shape, strict=False):
                if isinstance(extent, str):
                    values[extent] = given
        return [values.get(name) for name in self.kernel.symbols]


class KernelRecorder:
    """A context: within it, `rows` grows by what is called. Calls run as they would without it.
    With `keeps_order`, `order` has the row of each call. A call is left out if `leaves_out()`."""

    def __init__(
        self, keeps_order: bool = False, leaves_out: Callable[[], bool] = lambda: False
    ) -> None:
        self.rows: list[Row] = []
        self.order: list[Row] = []
        self._keeps_order = keeps_order
        self._leaves_out = leaves_out
        self._known: dict[Any, Row] = {}
        self._call: Any = None
        self._own: Any = None

    def __enter__(self) -> KernelRecorder:
        self._own = vars(JITKernel).get("__call__")
        call = self._call = JITKernel.__call__

        def timed(kernel: JITKernel, *args: Any, **keywords: Any) -> Any:
            begin = time.perf_counter_ns()
            result = call(kernel, *args, **keywords)
            elapsed = time.perf_counter_ns() - begin
            if not self._leaves_out():
                self._record(kernel, args, keywords, result, elapsed / 1e6)
            return result

        JITKernel.__call__ = timed  # type: ignore[method-assign, assignment]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._own is None:
            del JITKernel.__call__
        else:
            JITKernel.__call__ = self._own  # type: ignore[method-assign]

    def _record(
        self,
        kernel: JITKernel,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        result: Any,
        milliseconds: float,
    ) -> None:
        values = _all_arguments(kernel, args, keywords, result)
        described = [_described(value) for value in values]
        key = (id(kernel), tuple(described))
        row = self._known.get(key)
        if row is None:
            row = Row(kernel, described, [_bytes(value) for value in values])
            self._known[key] = row
            self.rows.append(row)
        row.calls += 1
        if self._keeps_order:
            self.order.append(row)
        if len(row.milliseconds) < _MOST_TIMES:
            row.milliseconds.append(milliseconds)


def _text(argument: Any) -> str:
    if isinstance(argument, tuple):
        return "x".join(str(extent) for extent in argument) or "()"
    return "-" if argument is None else f"{argument:g}"


def _all_arguments(
    kernel: JITKernel, args: tuple[Any, ...], keywords: dict[str, Any], result: Any
) -> list[Any]:
    """The values of all parameters in order, with the outputs that the call made."""
    params = kernel.params
    outputs = kernel.made_idx
    if len(args) + len(keywords) == len(params):
        outputs = []
    made = list(result) if len(outputs) > 1 else [result] * len(outputs)
    given = iter(args)
    values: list[Any] = []
    for number, param in enumerate(params):
        if number in outputs:
            values.append(made[outputs.index(number)])
        elif param["name"] in keywords:
            values.append(keywords[param["name"]])
        else:
            values.append(next(given))
    return values


def _described(value: Any) -> Any:
    shape = getattr(value, "shape", None)
    if shape is None:
        return value if isinstance(value, (int, float)) else None
    return tuple(int(extent) for extent in shape)


def _bytes(value: Any) -> int:
    """Of the elements, not of the memory between them."""
    size = getattr(value, "nbytes", None)
    return int(size) if size is not None else 0
