# SPDX-License-Identifier: Apache-2.0
"""A stand-in for `tilewright._compiler` in tests of the capture: it writes down what it is told.

It knows no rule of the language. `Recording().lines` holds one line per call, as
`add(%i, 3) -> %1`; places are kept beside, in `places`.
"""

from __future__ import annotations

import sys
from enum import Enum
from types import SimpleNamespace
from typing import Any


class LoopKind(Enum):
    Serial = 0
    Unroll = 1
    Vectorized = 2
    Pipelined = 3
    Persistent = 4


class Place(SimpleNamespace):
    def __init__(self, file: str = "", line: int = 0, column: int = 0, end_column: int = 0) -> None:
        super().__init__(file=file, line=line, column=column, end_column=end_column)


class Handle:
    def __init__(self, name: str, dtype: str, known: int | None = None, **more: Any) -> None:
        self.name = name
        self.dtype = dtype
        self.known = known
        self.is_poison = False
        self.more = more

    def __repr__(self) -> str:
        return f"%{self.name}"


class Region:
    def __init__(self, buffer: Handle, offsets: Any, extents: Any = (), dropped: Any = ()) -> None:
        self.buffer, self.offsets, self.extents = buffer, list(offsets), list(extents)
        self.dropped = list(dropped)

    def __repr__(self) -> str:
        extents = f":{self.extents}" if self.extents else ""
        return f"{self.buffer!r}{self.offsets}{extents}"


_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or")


class KernelBuilder:
    def __init__(self, name: str, place: Place) -> None:
        self.lines: list[str] = []
        self.places: list[tuple[int, int]] = []
        self.diagnostics: list[Any] = []
        self.faults: list[str] = []
        self.has_errors = False
        self._place = (place.line, place.column)
        self._count = 0

    def at(self, file: str, line: int, column: int, end_column: int) -> None:
        self._place = (line, column)

    def _record(self, text: str) -> None:
        self.lines.append(text)
        self.places.append(self._place)

    def _value(self, text: str, dtype: str, known: int | None = None) -> Handle:
        self._count += 1
        made = Handle(str(self._count), dtype, known)
        self._record(f"{text} -> {made}")
        return made

    def _named(self, text: str, name: str, dtype: str, **more: Any) -> Handle:
        made = Handle(name, dtype, **more)
        self._record(f"{text} -> {made}")
        return made

    def name_value(self, value: Handle, name: str) -> None:
        value.more["called"] = value.more.get("called", name)

    def enter_macro(self, name: str, site: Place) -> None:
        self._record(f"enter_macro {name}")

    def leave_macro(self) -> None:
        self._record("leave_macro")

    def symbol(self, name: str, dtype: str) -> Handle:
        return self._named(f"symbol {dtype}", name, dtype)

    def tensor(self, name: str, shape: Any, dtype: str, strides: Any = ()) -> Handle:
        more = {"shape": list(shape), "scope": "global"}
        return self._named(f"tensor {list(shape)} {dtype}", name, dtype, **more)

    def scalar(self, name: str, dtype: str) -> Handle:
        return self._named(f"scalar {dtype}", name, dtype)

    def pointer(self, name: str, dtype: str | None = None) -> Handle:
        return self._named(f"pointer {dtype}" if dtype else "pointer", name, "uint64")

    def begin_launch(self, grid: Any, threads: Any, attributes: Any) -> list[Handle]:
        self._record(f"begin_launch {grid} {threads}")
        return [Handle(f"b{k}", "int32") for k in range(len(grid))]

    def end_launch(self) -> None:
        self._record("end_launch")

    def thread_binding(self, dim: int) -> Handle:
        return self._value(f"thread_binding {dim}", "int32")

    def alloc(self, shape: Any, dtype: str, scope: str, name: str) -> Handle:
        return self._named(f"alloc {shape} {dtype} {scope}", name, dtype, shape=shape, scope=scope)

    def alloc_sized(self, shape: Any, dtype: str, scope: str, name: str) -> Handle:
        return self.alloc(shape, dtype, scope, name)

    def alloc_var(self, dtype: str, init: Any, name: str) -> Handle:
        return self._named(f"alloc_var {dtype} {init}", name, dtype, shape=[], scope="local")

    def view(self, source: Handle, shape: Any, dtype: str) -> Handle:
        return self._named(
            f"view {source} {shape}", f"{source.name}_view", dtype, shape=shape, scope="shared"
        )

    def rank(self, buffer: Handle) -> int:
        return len(buffer.more["shape"])

    def shape(self, buffer: Handle) -> list[Any]:
        return list(buffer.more["shape"])

    def dtype(self, buffer: Handle) -> str:
        return buffer.dtype

    def scope(self, buffer: Handle) -> str:
        return str(buffer.more["scope"])

    def name(self, buffer: Handle) -> str:
        return buffer.name

    def constant(self, value: Any, dtype: str | None = None) -> Handle:
        name = f"{dtype}({value})" if dtype else str(value)
        known = int(value) if dtype != "float32" and isinstance(value, int) else None
        return Handle(name, dtype or "int32", known)

    def begin_assumption(self, condition: Handle, holds: bool) -> None:
        """What an index may be is no matter of the capture."""

    def end_assumption(self) -> None:
        """The same."""

    def is_constant(self, value: Handle) -> bool:
        return value.known is not None

    def constant_value(self, value: Handle) -> int | None:
        return value.known

    def binary(self, op: str, left: Any, right: Any) -> Handle:
        typed = left if isinstance(left, Handle) else right
        dtype = "bool" if op in _COMPARISONS else typed.dtype
        return self._value(f"{op}({left}, {right})", dtype)

    def unary(self, op: str, operand: Any) -> Handle:
        return self._value(f"{op}({operand})", getattr(operand, "dtype", "float32"))

    def cast(self, value: Any, dtype: str) -> Handle:
        return self._value(f"cast({value}, {dtype})", dtype)

    def select(self, condition: Any, when_true: Any, when_false: Any) -> Handle:
        dtype = getattr(when_true, "dtype", "int32")
        return self._value(f"select({condition}, {when_true}, {when_false})", dtype)

    def begin_select(self, condition: Any) -> None:
        self._record(f"begin_select {condition}")

    def else_select(self, value: Any) -> None:
        self._record(f"else_select {value}")

    def end_select(self, value: Any) -> Handle:
        return self._value(f"end_select {value}", "float32")

    def load(self, buffer: Handle, indices: Any) -> Handle:
        return self._value(f"load {buffer}{list(indices)}", buffer.dtype)

    def store(self, buffer: Handle, indices: Any, value: Any) -> None:
        self._record(f"store {buffer}{list(indices)} = {value}")

    def copy(self, source: Any, target: Any, attributes: Any) -> None:
        self._record(f"copy {source} -> {target}")

    def fill(self, target: Any, value: Any, name: str = "T.fill") -> None:
        self._record(f"fill {target} {value}")

    def gemm(self, a: Any, b: Any, c: Any, ta: bool, tb: bool, clear: Any, attributes: Any) -> None:
        flags = f"{'A' * ta}{'B' * tb}"
        self._record(f"gemm {a} {b} {c} {flags} {clear}".replace("  ", " "))

    def reduce(
        self, kind: str, source: Any, target: Any, dim: int, clear: bool, attributes: Any
    ) -> None:
        self._record(f"reduce_{kind} {source} -> {target} dim={dim} clear={clear}")

    def atomic(self, kind: str, target: Any, value: Any, attributes: Any) -> Handle:
        return self._value(f"atomic_{kind} {target} {value}", "float32")

    def print(self, what: Any, message: str, attributes: Any = None) -> None:
        self._record(f"print {what} {message!r}")

    def device_assert(self, condition: Any, message: str) -> None:
        self._record(f"assert {condition} {message!r}")

    def barrier(self, scope: str = "block", number: Any = None, thread_count: Any = None) -> None:
        self._record("barrier")

    def begin_for(
        self, kind: LoopKind, start: Any, stop: Any, step: Any, name: str, attributes: Any
    ) -> Handle:
        more = f" {attributes}" if attributes else ""
        text = f"for {kind.name} {start}..{stop} step {step}{more}"
        return self._named(text, name, "int32")

    def end_for(self) -> None:
        self._record("end_for")

    def begin_parallel(self, extents: Any, names: Any, attributes: Any) -> list[Handle]:
        self._record(f"parallel {extents} {list(names)}")
        return [Handle(n, "int32") for n in names]

    def end_parallel(self) -> None:
        self._record("end_parallel")

    def begin_if(self, condition: Any, of_some_threads: str = "") -> None:
        self._record(f"if {condition}")

    def begin_else(self) -> None:
        self._record("else")

    def end_if(self) -> None:
        self._record("end_if")

    def begin_while(self) -> None:
        self._record("while")

    def while_condition(self, condition: Any) -> None:
        self._record(f"do_while {condition}")

    def end_while(self) -> None:
        self._record("end_while")

    def break_loop(self) -> None:
        self._record("break")

    def continue_loop(self) -> None:
        self._record("continue")

    def finish(self) -> KernelBuilder:
        return self


def lines_of(kernel: Any) -> list[str]:
    """The calls that a kernel (@T.prim_func) makes."""
    recorded: list[str] = kernel.capture(sys.modules[__name__]).module.lines
    return recorded


def body_of(kernel: Any) -> list[str]:
    """The calls between the launch and its end."""
    recorded = lines_of(kernel)
    start = next(k for k, line in enumerate(recorded) if line.startswith("begin_launch"))
    return recorded[start + 1 : recorded.index("end_launch")]
